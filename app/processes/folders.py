"""The folders that a host's processes write to: made for this user alone, and refused in one line."""

import fcntl
import logging
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.processes.environment import WrongSetting

logger = logging.getLogger(__name__)

PRIVATE_UMASK = 0o077  # what our processes make is for their user alone
LOCK = "serve.lock"


class FolderInUse(RuntimeError):
    """Another `newfound serve` runs over the data folder."""


def prepare(setting: str, folder: Path) -> None:
    """Make a folder if it is not there. Raises WrongSetting, with the setting's name, if it cannot be used.

    One that is there keeps its permissions: an operator may have given it to a group.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise WrongSetting(f"{setting}: the folder {folder} cannot be made: {error.strerror}") from error
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise WrongSetting(f"{setting}: the folder {folder} cannot be written to by this user")


def warn_if_open(folder: Path) -> None:
    """Say so if other users of the host get into a folder that is there already."""
    mode = stat.S_IMODE(folder.stat().st_mode)
    if mode & stat.S_IRWXO:
        logger.warning("other users may enter %s (its mode is %o): `chmod -R o= %s` closes it", folder, mode, folder)


@contextmanager
def served_alone(folder: Path) -> Iterator[None]:
    """Within this context no other `newfound serve` runs over the folder. Raises FolderInUse if one does.

    The kernel takes the lock back however this process ends; its children do not hold it. The library filelock would
    replace the one line with flock, and leave its holder's number to us.
    """
    try:
        lock = (folder / LOCK).open("a+")
    except OSError as error:
        raise WrongSetting(f"NEWFOUND_DATA_FOLDER: {folder / LOCK} cannot be written to: {error.strerror}") from error
    with lock as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            raise FolderInUse(
                f"another `newfound serve` (process {holder}) runs over {folder}: "
                "end it, or set NEWFOUND_DATA_FOLDER to another folder"
            ) from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield
