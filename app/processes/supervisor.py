"""The embedded service: an API and some workers as child processes that end with this one."""

import ctypes
import json
import logging
import os
import signal
import subprocess
import sys
import time
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType, TracebackType
from typing import BinaryIO

from app.core.settings import PREFIX, Settings, secrets
from app.processes.address import check_address, listens

logger = logging.getLogger(__name__)

API = "api"
ROOT = Path(__file__).resolve().parents[2]  # where this process has its code from
STOP_SECONDS = 20.0  # for a worker to end its sweep and save; then it is killed
POLL_SECONDS = 0.2
STEADY_SECONDS = 10.0  # a child that lived for so long is no quick end
LONGEST_PAUSE = 8.0  # seconds before a child is started again that ends at once each time
ENDED_BY_SIGNAL = 128  # exit codes above it say so, as negative ones do

PR_SET_PDEATHSIG = 1  # Linux: the signal that a process gets when its parent dies
LIBRARY = ctypes.CDLL(None) if sys.platform == "linux" else None  # loaded here, not between fork and exec


class ApiEnded(RuntimeError):
    """The API ended before it ever listened, so there is no service."""


@dataclass
class Child:
    """One of the processes, or the pause until the next one under its name is started."""

    process: "subprocess.Popen[bytes] | None" = None
    began: float = 0.0
    quick_ends: int = 0  # in a row
    due: float = 0.0  # when the next one is started, while there is no process


class Supervisor:
    """Within this context the embedded service runs.

    A child that dies is started again, at once, and with growing pauses if the next ones die young. Children have
    sessions of their own, so that Ctrl-C reaches them through this process alone and in order; should it be
    killed, the kernel tells them.
    """

    def __init__(self, settings: Settings, log_folder: Path | None = None, *, has_workers: bool = True) -> None:
        self.settings, self.log_folder = settings, log_folder
        n_workers = settings.workers if has_workers else 0
        self.children = {API: Child()} | {f"worker-{number + 1}": Child() for number in range(n_workers)}
        self.api_has_listened = False

    def __enter__(self) -> "Supervisor":
        try:
            for name in self.children:
                self.start(name)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def command(self, name: str) -> list[str]:
        """What runs as a child."""
        command = [sys.executable, "-m", "app", name.partition("-")[0]]
        return command if name == API else [*command, "--name", name]

    def start(self, name: str) -> None:
        """Start one child; its output goes to the terminal or, with a log folder, to a file there."""
        # A worker that loses its parent saves. The API has nothing to save, and must not keep the port.
        last_signal = signal.SIGKILL if name == API else signal.SIGTERM
        child = self.children[name]
        child.began = time.monotonic()
        with self.output(name) as output:
            child.process = subprocess.Popen(
                self.command(name),
                env=environment(self.settings),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=partial(end_with_parent, os.getpid(), last_signal),
            )

    def output(self, name: str) -> AbstractContextManager[BinaryIO | None]:
        """Where a child writes to; None is where this process does."""
        if self.log_folder is None:
            return nullcontext()
        self.log_folder.mkdir(parents=True, exist_ok=True)
        return (self.log_folder / f"{name}.log").open("ab")

    def check(self) -> None:
        """Start again what has ended. Raises ApiEnded or AddressError if the API ends before it ever listened."""
        for name, child in self.children.items():
            if child.process is None:
                if time.monotonic() >= child.due:
                    self.start_again(name)
                continue
            code = child.process.poll()
            if code is not None:
                self.after_end(name, child, child.process, code)
            elif name == API and not self.api_has_listened:
                self.api_has_listened = listens(child.process.pid, self.settings.port)

    def after_end(self, name: str, child: Child, process: "subprocess.Popen[bytes]", code: int) -> None:
        """Clean up after a child and decide when it is started again."""
        kill_session(process)  # children of its own, which it can look after no more
        child.process = None
        if name == API and not self.api_has_listened and 0 < code < ENDED_BY_SIGNAL:
            check_address(self.settings.host, self.settings.port)
            raise ApiEnded(f"the API exited with code {code} before it listened; its last output says why")
        child.quick_ends = child.quick_ends + 1 if time.monotonic() - child.began < STEADY_SECONDS else 0
        seconds = pause(child.quick_ends)
        child.due = time.monotonic() + seconds
        when = f"in {seconds:g} s" if seconds else "at once"
        logger.warning("%s %s and is restarted %s", name, told(code), when)
        if not seconds:
            self.start_again(name)

    def start_again(self, name: str) -> None:
        """Start a child; if the system has no room for it now, try again later."""
        try:
            self.start(name)
        except (OSError, subprocess.SubprocessError) as error:
            self.children[name].due = time.monotonic() + LONGEST_PAUSE
            logger.warning("%s could not be started, trying again in %g s: %s", name, LONGEST_PAUSE, error)

    def wait_until_listening(self) -> None:
        """Return when the API takes connections. Raises ApiEnded or AddressError if it never will."""
        while not self.api_has_listened:
            self.check()
            time.sleep(POLL_SECONDS)

    def watch(self) -> None:
        """Keep the service up until an exception, such as KeyboardInterrupt, ends it."""
        while True:
            self.check()
            time.sleep(POLL_SECONDS)

    def stop(self) -> None:
        """End every child: ask, wait, then kill. A second Ctrl-C kills at once."""
        running = [child.process for child in self.children.values() if child.process is not None]
        try:
            for process in running:
                if process.poll() is None:
                    process.terminate()
            until = time.monotonic() + STOP_SECONDS
            for process in running:
                process.wait(timeout=max(until - time.monotonic(), 0.0))
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            logger.warning("some processes did not stop in time and are killed")
        finally:
            for process in running:
                kill_session(process)


def pause(quick_ends: int) -> float:
    """Seconds until a child is started again that has ended young so many times in a row: 0, 0.5, 1, 2, 4, 8, 8 ..."""
    return 0.0 if quick_ends <= 1 else min(0.5 * 2.0 ** (quick_ends - 2), LONGEST_PAUSE)


def told(code: int) -> str:
    """An exit code in words."""
    if code >= 0:
        return f"ended with code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


def environment(settings: Settings) -> dict[str, str]:
    """The children's environment: these settings and no others, and one thread a process for linear algebra.

    What is in the secrets folder is not put there: they read it themselves. They run the code that this process runs:
    Python's `-m` would first look for a package `app` in the folder that somebody happens to work in.
    """
    values = settings.model_dump(mode="json", exclude_none=True)
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in values.items()}
    kept = secrets(settings.secrets_folder)
    ours = {f"{PREFIX}{name.upper()}": text for name, text in texts.items() if kept.get(name) != text}
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    code = {"PYTHONSAFEPATH": "1", "PYTHONPATH": path}
    others = {name: value for name, value in os.environ.items() if not name.upper().startswith(PREFIX)}
    return others | threads | code | ours


def end_with_parent(parent: int, number: signal.Signals = signal.SIGTERM) -> None:
    """In a new child: ask the kernel for a signal when the parent dies, where it can be asked."""
    if LIBRARY is not None:
        LIBRARY.prctl(PR_SET_PDEATHSIG, number)
        if os.getppid() != parent:  # it died before it could be asked
            os._exit(1)


def kill_session(process: "subprocess.Popen[bytes]") -> None:
    """Kill whatever is left of a child and its own children."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def stop_on_signals() -> None:
    """Let SIGTERM and a closed terminal end this process as Ctrl-C does, by KeyboardInterrupt.

    Only a second Ctrl-C interrupts the end itself: a terminal that closes may say so twice. SIGINT is set too: a
    process that a script starts in the background inherits that it is ignored. Under nohup SIGHUP stays ignored.
    """
    has_come = False

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal has_come
        if not has_come or number == signal.SIGINT:
            has_come = True
            raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, interrupt)
