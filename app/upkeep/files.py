"""The files of an SQLite database: the write-ahead log, which is to be short, and free pages, which are to go.

What is deleted leaves free pages in the file, which new rows take. VACUUM writes the file anew without them. A file
whose pages were given back one by one (`auto_vacuum`) would have each upload keep account of where every page is.
"""

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.engine import make_url

from app.core.db import Database
from app.core.disk import free_bytes
from app.core.runs import LIVE
from app.core.tables import Job, SideRun

logger = logging.getLogger(__name__)

COPIES = 2  # of what is in use, that VACUUM writes: one beside the file, one into the log
BUSY_SECONDS = 10.0
LONG_LOG_BYTES = 2**26  # as `journal_size_limit` of app.core.db, to which SQLite cuts it when it can


class CannotCompact(RuntimeError):
    """The file cannot be made smaller now."""


class Compacted(NamedTuple):
    """The bytes of a file before and after."""

    before: int
    after: int


def file_of(url: str) -> Path | None:
    """The file of an SQLite database; None for a server's."""
    parsed = make_url(url)
    return Path(parsed.database or "").absolute() if parsed.get_backend_name() == "sqlite" else None


@contextmanager
def opened(file: Path, busy_seconds: float = BUSY_SECONDS) -> Iterator[sqlite3.Connection]:
    """A connection outside of all transactions, closed at the end."""
    with closing(sqlite3.connect(file, timeout=busy_seconds, isolation_level=None)) as connection:
        yield connection


def cut_log(file: Path) -> bool:
    """Cut the write-ahead log of a database to nothing if it is long; False if others are at it, and it stays."""
    log = file.with_name(f"{file.name}-wal")
    try:
        if log.stat().st_size <= LONG_LOG_BYTES:
            return True
    except FileNotFoundError:
        return True
    with opened(file, busy_seconds=0.0) as connection:  # nobody is kept waiting for readers
        try:
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            return False
    return not busy


def compact(database: Database, file: Path) -> Compacted:
    """Write the file anew without free pages. Raises CannotCompact while a job is live, or for lack of room."""
    with database.readers.begin() as session:
        live = session.scalar(select(Job.id).where(Job.status.in_(LIVE)).limit(1))
        live = live or session.scalar(select(SideRun.job_id).where(SideRun.status.in_(LIVE)).limit(1))
    if live:
        raise CannotCompact(f"job {live} is at work, and nobody can write meanwhile: pause or cancel it, or wait")
    before = file.stat().st_size
    with opened(file) as connection:
        needed, free = COPIES * used_bytes(connection), free_bytes(file.parent)
        if free < needed:
            raise CannotCompact(
                f"it needs {needed / 2**20:.0f} MiB on the disk of {file} for a while, and {free / 2**20:.0f} are free"
            )
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return Compacted(before, file.stat().st_size)


def used_bytes(connection: sqlite3.Connection) -> int:
    """The bytes of a database but for its free pages."""
    pages, free, size = (
        connection.execute(f"PRAGMA {fact}").fetchone()[0] for fact in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)
