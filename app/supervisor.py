"""The embedded service: an API and some workers as child processes that end with this one."""

import ctypes
import logging
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from app.settings import Settings

logger = logging.getLogger(__name__)

STOP_SECONDS = 20.0  # for a worker to end its sweep and save; then it is killed
POLL_SECONDS = 0.2
PR_SET_PDEATHSIG = 1  # Linux: the signal that a process gets when its parent dies


class ApiEnded(RuntimeError):
    """The API ended by itself, so there is no service any more."""


class Supervisor:
    """Within this context the embedded service runs.

    A worker that dies is started again. Children have sessions of their own, so that Ctrl-C reaches them
    through this process alone and in order; should it be killed, the kernel tells them.
    """

    def __init__(self, settings: Settings, log_folder: Path | None = None) -> None:
        self.settings, self.log_folder = settings, log_folder
        self.children: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> "Supervisor":
        try:
            for name in ["api", *(f"worker-{number + 1}" for number in range(self.settings.workers))]:
                self.start(name)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self, name: str) -> None:
        """Start one child; its output goes to the terminal or, with a log folder, to a file there."""
        command = [sys.executable, "-m", "app.cli", name.partition("-")[0]]
        if name != "api":
            command += ["--name", name]
        output = None
        if self.log_folder is not None:
            self.log_folder.mkdir(parents=True, exist_ok=True)
            output = (self.log_folder / f"{name}.log").open("ab")
        self.children[name] = subprocess.Popen(
            command,
            env=environment(self.settings),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            preexec_fn=end_with_parent,
        )
        if output is not None:
            output.close()

    def check(self) -> None:
        """Start dead workers again. Raises ApiEnded if the API is no more."""
        for name, child in list(self.children.items()):
            code = child.poll()
            if code is None:
                continue
            if name == "api":
                raise ApiEnded(f"the API ended with code {code}; is port {self.settings.port} in use?")
            logger.warning("%s ended with code %d and is started again", name, code)
            self.start(name)

    def watch(self) -> None:
        """Keep the service up until an exception, such as KeyboardInterrupt, ends it."""
        while True:
            self.check()
            time.sleep(POLL_SECONDS)

    def stop(self) -> None:
        """End every child: ask, wait, then kill. A second Ctrl-C kills at once."""
        try:
            for child in self.children.values():
                if child.poll() is None:
                    child.terminate()
            until = time.monotonic() + STOP_SECONDS
            for child in self.children.values():
                child.wait(timeout=max(until - time.monotonic(), 0.0))
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            logger.warning("some processes did not end and are killed")
        finally:
            for child in self.children.values():
                kill_session(child)


def environment(settings: Settings) -> dict[str, str]:
    """The children's environment: these settings, and one thread a process for linear algebra."""
    values = settings.model_dump(mode="json", exclude_none=True)
    ours = {f"NEWFOUND_{name.upper()}": str(value) for name, value in values.items()}
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    return os.environ | threads | ours


def end_with_parent() -> None:
    """In a new child: ask the kernel for SIGTERM when the parent dies, where it can be asked."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def kill_session(child: subprocess.Popen[bytes]) -> None:
    """Kill whatever is left of a child and its own children."""
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def stop_on_signals() -> None:
    """Let SIGTERM end this process as Ctrl-C does, by KeyboardInterrupt.

    SIGINT is said too: a process that a script starts in the background inherits that it is ignored.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
