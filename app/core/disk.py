"""How much room is left for an embedded database: on its disk, and in its own file.

The API takes nothing new in when less than `min_free_bytes` is left; workers save until half of that is left. So
there is always room for what makes room: to delete a corpus, SQLite must write as well.
"""

import shutil
import sqlite3
from pathlib import Path

from sqlalchemy.engine import make_url

from app.core.settings import Settings

# What was deleted leaves free pages in the database's file, which do as well as free bytes on the disk, so long as
# this share of `min_free_bytes` is on the disk for the log that each write goes through first.
LOG_SHARE = 0.25


def shortage(settings: Settings, share: float = 1.0) -> str | None:
    """Why nothing more is to be written; None if that share of `min_free_bytes` is free, or a server has the data."""
    url = make_url(settings.database)
    if url.get_backend_name() != "sqlite" or not url.database:
        return None
    file = Path(url.database)
    least, free = settings.min_free_bytes * share, free_bytes(file.parent)
    if LOG_SHARE * settings.min_free_bytes <= free < least:
        free += reusable_bytes(file)
    if free >= least:
        return None
    return (
        f"the disk of the database is full: {free / 2**20:.0f} MiB are free, {least / 2**20:.0f} MiB are kept free "
        "(NEWFOUND_MIN_FREE_BYTES); deleting a corpus frees space"
    )


def free_bytes(folder: Path) -> int:
    """The bytes that are free where a folder is, or will be."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def reusable_bytes(file: Path) -> int:
    """The bytes of an SQLite file that hold nothing any more; 0 if it is not there or cannot be read just now."""
    try:
        connection = sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)
    except sqlite3.DatabaseError:
        return 0
    try:
        [pages], [size] = (connection.execute(f"PRAGMA {fact}").fetchone() for fact in ("freelist_count", "page_size"))
    except sqlite3.DatabaseError:
        return 0
    finally:
        connection.close()
    return int(pages * size)
