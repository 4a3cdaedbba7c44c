"""Nothing that tests start outlives them, however they end: a process of its own sees to it.

What a test process starts inherits a mark in its environment, and its folders in /tmp are named by that mark. The guard
waits until the test process is gone, by whatever signal, kills all that bears the mark, and deletes the folders. Each
test process has a guard of its own. That of pytest also ends the processes of pytest-xdist, whose guards end the rest.
"""

import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

import psutil

MARK = "TESTS_MARK"  # the variable; no setting of the service, which would refuse one that it does not know
PREFIX = "newfound-"
START_SECONDS = 0.5  # in which a process that was just being started has got its mark
END_SECONDS = 5.0  # for PostgreSQL to free what it shares with its processes
SHORT = Path("/tmp")  # a socket's path must be short, and PostgreSQL, as another user, must get there


@cache
def start() -> str:
    """Guard this process from now on; returns its mark."""
    mark = f"{os.getpid()}-{secrets.token_hex(4)}"
    os.environ.pop(MARK, None)  # no guard bears a mark: it must outlive the test process, and pytest's guard
    subprocess.run([sys.executable, __file__, str(os.getpid()), mark], check=True, start_new_session=True)
    os.environ[MARK] = mark
    return mark


def marked() -> dict[str, str]:
    """The mark, for a process that is given an environment of its own."""
    return {MARK: start()}


def make_folder(name: str) -> Path:
    """A new folder that is deleted at the latest when this process ends."""
    return Path(tempfile.mkdtemp(prefix=f"{PREFIX}{start()}-{name}-", dir=SHORT))


def folders(mark: str) -> list[Path]:
    """The folders that bear a mark."""
    return list(SHORT.glob(f"{PREFIX}{mark}-*"))


def processes(mark: str) -> list[psutil.Process]:
    """The processes that bear a mark."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.status() != psutil.STATUS_ZOMBIE and bears(process, mark):
                found.append(process)
    return found


def bears(process: psutil.Process, mark: str) -> bool:
    """Whether a process has the mark. Servers write over their environment, but work in the folder of their data."""
    return process.environ().get(MARK) == mark or process.cwd().startswith(f"{SHORT}/{PREFIX}{mark}-")


def end(victims: list[psutil.Process]) -> None:
    """End processes at once: nothing of a test needs to be saved."""
    for process in victims:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGQUIT if process.name() == "postgres" else signal.SIGKILL)
    _, alive = psutil.wait_procs(victims, timeout=END_SECONDS)
    for process in alive:
        with suppress(psutil.NoSuchProcess):
            process.kill()


def remove(folder: Path) -> None:
    """Delete a folder, though parts may be read-only or still vanish by themselves."""
    for path in (folder, *folder.rglob("*")):
        with suppress(OSError):
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)


def guard(pid: int, mark: str) -> None:
    """Wait for the end of a process, then leave nothing of it."""
    with suppress(psutil.NoSuchProcess):
        psutil.Process(pid).wait()
    for _ in range(2):
        while victims := processes(mark):
            end(victims)
        time.sleep(START_SECONDS)
    for folder in folders(mark):
        remove(folder)


def main() -> None:
    """Go on in a child, that is nobody's child then: tests count their own."""
    if os.fork() == 0:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)  # whoever ends all that is Python ends the tests, not their guard
        silent = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):  # whoever reads what the tests say does not wait for the guard
            os.dup2(silent, stream)
        guard(int(sys.argv[1]), sys.argv[2])


if __name__ == "__main__":
    main()
