"""Processes of a test run: started with an environment of their own, logged, and ended by their id."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tests import guard
from tests.waits import PATIENCE

TAIL = 4_000  # characters of a log, shown when something fails


class Process:
    """A command in a session of its own; of the test's environment nothing but the guard's mark comes with it."""

    def __init__(self, name: str, command: Sequence[str | Path], environment: Mapping[str, str], folder: Path) -> None:
        self.name, self.path = name, folder / f"{name}.log"
        with self.path.open("ab") as log:
            self.process = subprocess.Popen(
                [str(part) for part in command],
                cwd=folder,
                env=dict(environment) | guard.marked(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def log(self) -> str:
        """What it has said."""
        return self.path.read_text(errors="replace")

    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self.process.poll() is None

    def wait(self, seconds: float = PATIENCE) -> int:
        """Wait for its end; returns the exit code."""
        return self.process.wait(timeout=seconds)

    def terminate(self, seconds: float = PATIENCE) -> tuple[int, float]:
        """SIGTERM to the process alone, as an init sends it: the exit code, and the seconds that it took."""
        began = time.monotonic()
        self.process.terminate()
        return self.wait(seconds), time.monotonic() - began

    def kill(self) -> None:
        """SIGKILL to whatever is left of its session."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def tail(self) -> str:
        """The end of its log, with a headline."""
        return f"--- {self.name} ---\n{self.log()[-TAIL:]}"
