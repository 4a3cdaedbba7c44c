"""Whether a folder can be believed: what lies there was put there by this user or by root, and by nobody else.

Numba keeps compiled kernels as pickles, which are code. Whoever can put a file into their folder, or another folder in
its place, runs code as the user of the worker.
"""

import grp
import os
import pwd
import stat
from pathlib import Path

from app.processes.environment import WrongSetting

ROOT = 0
ENTER, WRITE = stat.S_IXOTH, stat.S_IWOTH


def check_trusted(setting: str, folder: Path, *, with_group: bool = False) -> None:
    """Raise WrongSetting, with the setting's name, if another user could put something into a folder that is there.

    With `with_group` the members of a group that may write there are trusted: an operator may have given it to them.
    """
    reason = intrusion(folder.resolve(), with_group)
    if reason is not None:
        raise WrongSetting(
            f"{setting}: the folder {folder} is not trusted, as {reason}; "
            "give it to this user alone (`chown`, `chmod go-w`), or name another one"
        )


def check_files(setting: str, folder: Path) -> None:
    """Raise WrongSetting if a folder that is trusted holds what another user has put there earlier, or may change."""
    for path in folder.rglob("*"):
        try:
            found = path.lstat()
        except FileNotFoundError:  # a process that compiles has just renamed it
            continue
        if is_strangers(found) or (not stat.S_ISLNK(found.st_mode) and strangers_may(found, WRITE)):
            raise WrongSetting(f"{setting}: {path} belongs to another user, or can be changed by one; empty {folder}")


def intrusion(folder: Path, with_group: bool) -> str | None:
    """How another user could put something into a folder; None if none could.

    From the root downwards: whoever may write to a folder above can put another one in its place, unless it is sticky,
    as /tmp is. What lies below a folder that strangers cannot enter is out of their reach, whatever its mode.
    """
    is_reached = True
    for path in (*reversed(folder.parents), folder):
        found = path.stat()
        if is_strangers(found):
            return f"{path} belongs to another user"
        is_kept = path != folder and bool(found.st_mode & stat.S_ISVTX)
        if is_reached and not is_kept and strangers_may(found, WRITE, with_group):
            return f"other users may write to {path}"
        is_reached = is_reached and strangers_may(found, ENTER, with_group)
    return None


def is_strangers(found: os.stat_result) -> bool:
    """Whether something belongs to neither this user nor root."""
    return found.st_uid not in (os.geteuid(), ROOT)


def strangers_may(found: os.stat_result, right: int, with_group: bool = False) -> bool:
    """Whether somebody besides this user and root has a right (ENTER or WRITE)."""
    by_group = found.st_mode >> 3 & right and not with_group and not is_private(found.st_gid)
    return bool(found.st_mode & right or by_group)


def is_private(group: int) -> bool:
    """Whether a group has no member but this user or root, as the one that many systems make for each user."""
    try:
        user, of_group = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(group)
    except KeyError:  # an id without a name, as containers may have
        return group in (os.getegid(), ROOT)
    return of_group.gr_name in (user, "root") and set(of_group.gr_mem) <= {user, "root"}
