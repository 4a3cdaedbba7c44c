"""How much room is left on the disk that an embedded database grows on.

The API takes nothing new in when less than `min_free_bytes` is left; workers save until half of that is left. So
there is always room for what makes room: to delete a corpus, SQLite must write as well.
"""

import shutil
from pathlib import Path

from sqlalchemy.engine import make_url

from app.core.settings import Settings


def shortage(settings: Settings, share: float = 1.0) -> str | None:
    """Why nothing more is to be written; None if that share of `min_free_bytes` is free, or a server has the data."""
    url = make_url(settings.database)
    if url.get_backend_name() != "sqlite" or not url.database:
        return None
    least, free = settings.min_free_bytes * share, free_bytes(Path(url.database).parent)
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
