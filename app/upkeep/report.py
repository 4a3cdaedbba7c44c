"""What a prune would take out, counted and not touched."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Column, ColumnElement, FromClause, LargeBinary, Select, func, select
from sqlalchemy.orm import Session

from app.core.db import Database
from app.core.tables import AtomRun, Base, CalibrationStep, Checkpoint, EncodingPart, Job, Unit, VectorStep
from app.upkeep import due, unneeded
from app.upkeep.prune import Ages, ago
from app.uploads.removal import parent_key, tables

AT_ONCE = 500  # ids in a statement


class Share(NamedTuple):
    """Some of what goes."""

    what: str  # after a number
    n: int
    rows: int
    n_bytes: int  # in columns of bytes: checkpoints, models, encodings, atoms


class Report(NamedTuple):
    """What goes, and how many jobs that are old enough stay."""

    shares: list[Share]
    n_kept: int


def report(database: Database, ages: Ages) -> Report:
    """What a prune would take out now."""
    with database.readers.begin() as session:
        shares, kept = [], 0
        going: Sequence[str] = []
        if ages.jobs is not None:
            going = [*due.jobs_to_delete(session, ago(ages.jobs)), *of_comparisons(session, ages.jobs)]
            shares.append(measured("jobs with all their results", len(going), of_jobs(session, going)))
            kept = due.n_kept(session, ago(ages.jobs))
        if ages.checkpoints is not None:
            found = due.jobs_to_expire(session, ago(ages.checkpoints))
            expiring = [job_id for job_id in found if job_id not in set(going)]
            name = "jobs that can only be read afterwards, without checkpoints"
            shares.append(measured(name, len(expiring), of_expiring(session, expiring)))
            kept = max(kept, due.n_kept(session, ago(ages.checkpoints)))
        encodings = [encoding_id for encoding_id, _ in unneeded.encodings(session)]
        of_encodings = [(table, table.c.encoding_id, encodings) for table in map(table_of, (EncodingPart, VectorStep))]
        shares.append(measured("encoded corpora that no job needs", len(encodings), counted(session, of_encodings)))
        runs = unneeded.atom_runs(session)
        shares.append(measured("sets of atoms that no job needs", len(runs), counted_atoms(session)))
    return Report(shares, kept)


def measured(what: str, n: int, parts: Iterator[tuple[int, int]]) -> Share:
    """The rows and bytes of some parts together."""
    found = list(parts)
    return Share(what, n, sum(rows for rows, _ in found), sum(n_bytes for _, n_bytes in found))


def of_comparisons(session: Session, days: float) -> Sequence[str]:
    """The ids of the jobs of comparisons of methods that go."""
    comparison_ids = due.comparisons_to_delete(session, ago(days))
    return session.scalars(select(Job.id).where(Job.comparison_id.in_(comparison_ids))).all()


def of_jobs(session: Session, job_ids: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Rows and bytes of all tables that hang on some jobs, and of these."""
    yield len(job_ids), 0
    for some in lots(job_ids):
        for table in tables(Job.__table__):
            key = parent_key(table)
            yield sizes(session, table, key.parent.in_(hanging(key.column.table, some)))


def hanging(table: FromClause, job_ids: Sequence[str]) -> Select[Any]:
    """The query for the ids of a table's rows that hang on some jobs, or are these."""
    if table is Job.__table__:
        return select(Job.id).where(Job.id.in_(job_ids))
    key = parent_key(table)
    return select(table.c.id).where(key.parent.in_(hanging(key.column.table, job_ids)))


def of_expiring(session: Session, job_ids: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Rows and bytes of what jobs lose that can only be read afterwards."""
    for some in lots(job_ids):
        units = select(Unit.id).where(Unit.job_id.in_(some))
        yield sizes(session, table_of(Checkpoint), Checkpoint.unit_id.in_(units))
        yield sizes(session, table_of(CalibrationStep), CalibrationStep.job_id.in_(some))


def counted(session: Session, parts: Sequence[tuple[Any, Column[Any], Sequence[Any]]]) -> Iterator[tuple[int, int]]:
    """Rows and bytes of tables under some parents."""
    for table, parent, ids in parts:
        for some in lots(ids):
            yield sizes(session, table, parent.in_(some))


def counted_atoms(session: Session) -> Iterator[tuple[int, int]]:
    """Rows and bytes of atoms that nobody needs."""
    yield sizes(session, table_of(AtomRun), ~unneeded.is_needed_run())


def sizes(session: Session, table: Any, condition: ColumnElement[bool]) -> tuple[int, int]:
    """How many rows of a table meet a condition, and the bytes in them."""
    blobs = [func.sum(func.length(column)) for column in table.columns if isinstance(column.type, LargeBinary)]
    n_rows, *n_bytes = session.execute(select(func.count(), *blobs).select_from(table).where(condition)).one()
    return int(n_rows), sum(int(n or 0) for n in n_bytes)


def table_of(kind: type[Base]) -> Any:
    """The table of a kind of rows."""
    return Base.metadata.tables[kind.__tablename__]


def lots(ids: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Ids, not too many at once."""
    return (ids[first : first + AT_ONCE] for first in range(0, len(ids), AT_ONCE))
