"""Backups of an SQLite database: one file, as the database was at one moment, while the service goes on.

All else in a data folder follows from it, or is of a moment: encodings, kernels, messages of the broker.
"""

import os
import shutil
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from app.core.disk import free_bytes
from app.core.schema import head_revision, migrate
from app.upkeep.files import opened

PRIVATE = 0o600
BESIDE = ("", "-wal", "-shm", "-journal")  # what lies beside a database, and is part of it
COUNTED = ("corpora", "jobs", "models")  # a database without any of these is empty
PROBLEMS_SHOWN = 3


class BackupRefused(RuntimeError):
    """The backup cannot be made, or not be restored here."""


class Held(NamedTuple):
    """What a database holds."""

    revision: str  # of its schema
    counts: dict[str, int]  # rows of COUNTED

    def __str__(self) -> str:
        """As messages name it."""
        return ", ".join(f"{n} {name}" for name, n in self.counts.items()) + f", schema {self.revision}"


def back_up(database: Path, target: Path) -> Held:
    """Copy a database that may be in use to a file that is not there yet. Raises BackupRefused.

    It is copied in one go, as one reader sees it: writers go on meanwhile, into the write-ahead log. In several goes
    each write in between would have it begin again.
    """
    if not database.exists():
        raise BackupRefused(f"there is no database {database}")
    if target.exists():
        raise BackupRefused(f"{target} is already there, and is not written over")
    needed = database.stat().st_size
    if free_bytes(target.parent) < needed:
        raise BackupRefused(f"{needed / 2**20:.0f} MiB are needed at {target.parent}, and fewer are free")
    part = target.with_name(f".{target.name}.part")
    try:
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE))
    except OSError as error:
        raise BackupRefused(f"{part} cannot be written: {error.strerror}") from error
    try:
        with opened(database) as source, opened(part) as copy:
            source.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE")  # one file, whoever opens it
        held = check(part)
        publish(part, target)
    finally:
        remove(part)
    return held


def publish(part: Path, target: Path) -> None:
    """Give a whole file its name, unless somebody has taken it meanwhile; it survives a loss of power then."""
    with part.open("rb") as file:
        os.fsync(file.fileno())
    try:
        os.link(part, target)
    except FileExistsError:
        raise BackupRefused(f"{target} is already there, and is not written over") from None
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def check(file: Path) -> Held:
    """See that a file is a whole database of this service; what it holds. Raises BackupRefused."""
    try:
        with opened(file) as connection:
            problems = [row[0] for row in connection.execute(f"PRAGMA integrity_check({PROBLEMS_SHOWN})")]
            if problems != ["ok"]:
                raise BackupRefused(f"{file} is damaged: {'; '.join(problems)}")
            [broken] = connection.execute("SELECT count(*) FROM pragma_foreign_key_check").fetchone()
            if broken:
                raise BackupRefused(f"{file} is damaged: {broken} rows refer to rows that are not there")
            [revision] = connection.execute("SELECT version_num FROM alembic_version").fetchone()
            return Held(revision, counts(connection))
    except sqlite3.DatabaseError as error:
        raise BackupRefused(f"{file} is no database of this service: {error}") from error


def counts(connection: sqlite3.Connection) -> dict[str, int]:
    """How many corpora, jobs and models there are; those of revisions that had none of a kind are left out."""
    there = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    return {name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in COUNTED if name in there}


def restore(file: Path, database: Path) -> Held:
    """Put a backup in the place of a database that is not there, or is empty and not in use. Raises BackupRefused.

    Its schema is brought up to date first. What the place had stays until the new one is whole.
    """
    if not file.exists():
        raise BackupRefused(f"there is no file {file}")
    check_free(database)
    held = check(file)
    if held.revision > head_revision():
        raise BackupRefused(f"{file} has schema {held.revision}, of a newer version than this one ({head_revision()})")
    if free_bytes(database.parent) < 2 * file.stat().st_size:  # migrations write as well
        raise BackupRefused(f"{2 * file.stat().st_size / 2**20:.0f} MiB are needed at {database.parent} for a while")
    part = database.with_name(f".{database.name}.part")
    try:
        remove(part)
        shutil.copyfile(file, part)
        part.chmod(PRIVATE)
        migrate(f"sqlite:///{part}")
        restored = check(part)
        remove(database)
        os.replace(part, database)
    finally:
        remove(part)
    return restored


def check_free(database: Path) -> None:
    """Raise BackupRefused unless a database is not there, or is empty and nobody has it open."""
    if not database.exists():
        return
    try:
        with opened(database, busy_seconds=0.0) as connection:
            if any(counts(connection).values()):
                raise BackupRefused(f"{database} has corpora, jobs or models; move it away, or restore elsewhere")
            # A database changes its kind of journal for nobody who is not alone with it.
            connection.execute("PRAGMA journal_mode=DELETE")
    except sqlite3.OperationalError as error:
        raise BackupRefused(f"{database} is in use: end the service first ({error})") from error
    except sqlite3.DatabaseError as error:
        raise BackupRefused(f"{database} is there, and no database: {error}") from error


def remove(database: Path) -> None:
    """Delete a database's files, as far as they are there."""
    for ending in BESIDE:
        with suppress(FileNotFoundError):
            database.with_name(database.name + ending).unlink()
