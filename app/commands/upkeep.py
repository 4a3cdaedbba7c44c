"""newfound prune | backup | restore: what an operator does by hand to keep the database small and safe."""

import argparse
from pathlib import Path

from app.commands import CommandFailed
from app.core.db import connect
from app.core.schema import check_schema
from app.core.settings import Settings
from app.processes.environment import masked
from app.processes.folders import served_alone
from app.upkeep import backups
from app.upkeep.backups import BackupRefused
from app.upkeep.files import CannotCompact, compact, file_of
from app.upkeep.keeper import ages_of
from app.upkeep.prune import Ages, prune_once
from app.upkeep.report import Share, report

UNITS = ("B", "kB", "MB", "GB", "TB")


def prune(settings: Settings, parsed: argparse.Namespace) -> int:
    """Say what is old enough to go, and take it out."""
    by_default = ages_of(settings)
    ages = Ages(
        by_default.jobs if parsed.jobs_older_than is None else parsed.jobs_older_than,
        by_default.checkpoints if parsed.checkpoints_older_than is None else parsed.checkpoints_older_than,
    )
    database = connect(settings.database)
    check_schema(database)
    found = report(database, ages)
    for share in found.shares:
        print(told(share))
    if found.n_kept:
        print(f"{found.n_kept} jobs that ended as long ago stay: they were used since, or another job needs them")
    if parsed.dry_run:
        print("nothing was taken out (--dry-run)")
        return 0
    prune_once(database, ages)
    print("taken out")
    if parsed.compact:
        print(compacted(settings))
    database.engine.dispose()
    return 0


def told(share: Share) -> str:
    """A line about some of what goes."""
    return f"{share.n} {share.what}: {share.rows:,} rows, {size(share.n_bytes)}"


def compacted(settings: Settings) -> str:
    """Make the database's file smaller, and say by how much. Raises CommandFailed."""
    file = file_of(settings.database)
    if file is None:
        return "PostgreSQL's autovacuum frees the space for new rows; there is no file to make smaller"
    try:
        before, after = compact(connect(settings.database), file)
    except CannotCompact as error:
        raise CommandFailed(f"{file} is not made smaller: {error}") from error
    return f"{file}: {size(before)} before, {size(after)} now"


def size(n_bytes: float) -> str:
    """A number of bytes for people."""
    for unit in UNITS:
        if n_bytes < 1_000 or unit == UNITS[-1]:
            break
        n_bytes /= 1_000
    return f"{n_bytes:.0f} {unit}" if unit == UNITS[0] else f"{n_bytes:.1f} {unit}"


def backup(settings: Settings, parsed: argparse.Namespace) -> int:
    """Copy the embedded database to a file, while the service runs or not."""
    file = embedded(settings, "pg_dump --format=custom --file FILE")
    try:
        held = backups.back_up(file, parsed.file.absolute())
    except BackupRefused as error:
        raise CommandFailed(str(error)) from error
    print(f"{parsed.file}: {size(parsed.file.stat().st_size)}, checked: {held}")
    return 0


def restore(settings: Settings, parsed: argparse.Namespace) -> int:
    """Make a backup the embedded database of a data folder that has none."""
    file = embedded(settings, "pg_restore --no-owner --dbname DATABASE")
    with served_alone(settings.data_folder.absolute()):
        try:
            held = backups.restore(parsed.file.absolute(), file)
        except BackupRefused as error:
            raise CommandFailed(str(error)) from error
    print(f"{file}: {held}. Jobs that were at work go on when the service starts.")
    return 0


def embedded(settings: Settings, instead: str) -> Path:
    """The file of the embedded database. Raises CommandFailed, with what to use for one on a server."""
    file = file_of(settings.database)
    if file is None:
        raise CommandFailed(f"{masked(settings.database)} is a server's: use `{instead}`, see docs/operations.md")
    return file
