"""One process of the service with its children, and the signals that it is sent."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import psutil

from tests.waits import PATIENCE, slowness

ROOT = Path(__file__).resolve().parent.parent.parent
ROUTINE = " status=200 "  # in a log line that says that a request was answered well
TAIL = 1_500  # characters of a log, shown when a test fails


class Program:
    """`newfound <arguments>` as a process in a session of its own, with a log."""

    def __init__(self, name: str, arguments: list[str], environment: Mapping[str, str], log: Path) -> None:
        self.name, self.arguments, self.environment, self.log = name, arguments, environment, log
        self.process: subprocess.Popen[bytes] | None = None
        self.log_before = 0  # bytes in the log when the process was started

    def start(self) -> None:
        """Start it; nothing happens if it runs."""
        if self.is_running():
            return
        with self.log.open("ab") as log:
            self.log_before = log.tell()
            self.process = subprocess.Popen(
                [sys.executable, "-m", "app", *self.arguments],
                cwd=ROOT,
                env=os.environ | dict(self.environment),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    @property
    def pid(self) -> int | None:
        """Of the process, if it was ever started."""
        return self.process.pid if self.process is not None else None

    def is_running(self) -> bool:
        """Whether the process is there; one that has ended is waited for."""
        return self.process is not None and self.process.poll() is None

    def takes_messages(self) -> bool:
        """Whether the process, a worker, has said that it is ready."""
        return b"@newfound is ready" in self.log.read_bytes()[self.log_before :]

    def has_ended(self) -> bool:
        """Whether the process is gone."""
        return not self.is_running()

    def children(self) -> list[psutil.Process]:
        """The processes that it has started; a worker may have none."""
        if self.process is None or not self.is_running():
            return []
        return psutil.Process(self.process.pid).children(recursive=True)

    def tree(self) -> list[psutil.Process]:
        """The process, then its children."""
        if self.process is None or not self.is_running():
            return []
        return [psutil.Process(self.process.pid), *self.children()]

    def kill(self) -> None:
        """SIGKILL to the process and its children, at once."""
        victims = self.tree()
        send(victims, signal.SIGKILL)
        self.reap(victims)

    def freeze(self) -> None:
        """SIGSTOP to the process and its children."""
        send(self.tree(), signal.SIGSTOP)

    def thaw(self) -> None:
        """SIGCONT to the process and its children."""
        send(self.tree(), signal.SIGCONT)

    def terminate(self, seconds: float = PATIENCE) -> tuple[int, float]:
        """SIGTERM to the process: its exit code, and the seconds that it took."""
        assert self.process is not None
        began, victims = time.monotonic(), self.tree()
        self.process.terminate()
        code = self.process.wait(timeout=seconds)
        took = time.monotonic() - began
        self.reap(victims)
        return code, took

    def reap(self, victims: list[psutil.Process]) -> None:
        """Wait until the processes are gone."""
        if self.process is not None:
            self.process.wait(timeout=PATIENCE)
        _, alive = psutil.wait_procs(victims, timeout=30 * slowness())
        assert alive == [], f"{self.name} left {alive}"

    def stop(self) -> None:
        """End it for good, however it is."""
        self.thaw()
        self.kill()

    def tail(self) -> str:
        """The end of its log."""
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        told = "\n".join(line for line in lines if ROUTINE not in line)
        return f"--- {self.name} ---\n{told[-TAIL:]}"


def send(processes: list[psutil.Process], number: signal.Signals) -> None:
    """Send a signal to each process that is still there."""
    for process in processes:
        try:
            process.send_signal(number)
        except psutil.NoSuchProcess:
            continue  # it has just ended
