"""Brings Debian's Chromium, which the tests of the page drive: python -m tests.browser.chromium.

Nothing happens where there is one. Root gets it from apt; everybody else is told what to install. There is no way on
without it: a page that nobody has looked at is not tested.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NAME = "chromium"  # of the program, and of Debian's package
LOCK = Path(tempfile.gettempdir()) / "newfound-chromium.lock"  # processes of pytest-xdist ask at the same time
APT = ("apt-get", "-qq", "-o", "DPkg::Lock::Timeout=600")
STEPS = ((*APT, "update"), (*APT, "install", "--yes", "--no-install-recommends", NAME))
TAIL = 2_000  # characters of what apt says, shown if it fails


class ChromiumMissing(Exception):
    """Tests of the page need Chromium, and it cannot be installed from here."""


def bring() -> Path:
    """The path of Chromium, which is installed if need be. Raises ChromiumMissing."""
    with alone():
        found = shutil.which(NAME)
        if found is None:
            install()
            found = shutil.which(NAME)
        if found is None:
            raise ChromiumMissing(f"Debian's package {NAME} is installed, but no program {NAME} is on the PATH")
        return Path(found)


@contextmanager
def alone() -> Iterator[None]:
    """Within this context no other process is here."""
    with LOCK.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def install() -> None:
    """Install Debian's package. Raises ChromiumMissing."""
    if os.geteuid() != 0 or shutil.which(APT[0]) is None:
        raise ChromiumMissing(
            f"tests of the page need Chromium, and there is no program {NAME} on the PATH; "
            f"on Debian: sudo apt-get install {NAME}"
        )
    print("Installing Chromium for the tests of the page (once, about a minute)", flush=True)
    for step in STEPS:
        done = subprocess.run(
            step,
            env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        if done.returncode:
            raise ChromiumMissing(f"tests of the page need Chromium; {' '.join(step)} failed: {done.stdout[-TAIL:]}")


def main() -> int:
    """Bring it; returns the exit code."""
    try:
        bring()
    except ChromiumMissing as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
