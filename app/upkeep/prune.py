"""Retention: jobs go some time after their last use, or lose their checkpoints: what only their going on would need.

Derived rows that nobody needs then go with them. Steps of a power test stay with their job: they are its results.

What goes is marked in one short transaction a job, which looks once more whether it may; its rows are taken out a few
at a time, as those of deleted jobs are. So several processes may do it at once, beside clients that extend, continue
and resume: whoever comes second sees what the first one did.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, delete, select, update
from sqlalchemy.orm import Session

from app.core import idempotency, lifecycle, method_comparisons
from app.core.db import Database, now
from app.core.errors import JobNotFinished, ServiceError
from app.core.runs import change
from app.core.tables import ATOMS_OF_JOB, AtomRun, Base, CalibrationStep, Checkpoint, Job, SideRun, Unit, named_in
from app.upkeep import due, unneeded
from app.upkeep.due import DAY_SECONDS
from app.uploads.removal import FEW, Removal


class Ages(NamedTuple):
    """How many days after their last use things go; None: never."""

    jobs: float | None = None
    checkpoints: float | None = None


def ago(days: float) -> ColumnElement[float]:
    """The time, by the database's clock, so many days before now."""
    return now() - days * DAY_SECONDS


def prune(database: Database, ages: Ages, removal: Removal) -> None:
    """Take out all that is old enough, until the removal is told to stop."""
    if ages.jobs is not None:
        delete_jobs(database, ages.jobs, removal)
    if ages.checkpoints is not None:
        expire_jobs(database, ages.checkpoints, removal)
    clear_expired(database, removal)
    removal.run()
    unneeded.clear(database, removal.leaving)
    forget_requests(database, removal)


def delete_jobs(database: Database, days: float, removal: Removal) -> None:
    """Delete jobs unused for so long with their results, and comparisons of methods whose jobs all are."""
    with database.readers.begin() as session:
        job_ids = due.jobs_to_delete(session, ago(days))
        comparison_ids = due.comparisons_to_delete(session, ago(days))
    work = [partial(delete_job, job_id=job_id, time=ago(days)) for job_id in job_ids]
    of_comparisons = [partial(delete_comparison, comparison_id=id_, time=ago(days)) for id_ in comparison_ids]
    for delete_one in (*work, *of_comparisons):
        if not removal.leaving.is_set():
            attempt(database, delete_one)


def delete_job(session: Session, job_id: str, time: ColumnElement[float]) -> None:
    """Delete a job. Raises ServiceError if it may not go any more."""
    lock(session, job_id)
    if not session.scalar(select(Job.id).where(Job.id == job_id, due.may_be_deleted(time))):
        raise JobNotFinished(f"job {job_id} has been used meanwhile")
    lifecycle.delete(session, job_id)


def delete_comparison(session: Session, comparison_id: str, time: ColumnElement[float]) -> None:
    """Delete a comparison of methods with its jobs. Raises ServiceError if one of them may not go any more."""
    for job in method_comparisons.jobs_of(session, comparison_id):
        delete_job(session, job.id, time)
    method_comparisons.delete(session, comparison_id)


def attempt(database: Database, work: Callable[[Session], None]) -> None:
    """Do some work in a transaction; nothing of it if it is refused: somebody has come first."""
    try:
        with database.sessions.begin() as session:
            work(session)
    except ServiceError:
        return


def lock(session: Session, job_id: str) -> None:
    """Lock a job and its side runs: whoever resumes one of them meanwhile is seen, or sees what is done here."""
    lifecycle.lock(session, job_id)
    session.execute(select(SideRun.kind).where(SideRun.job_id == job_id).with_for_update())


def expire_jobs(database: Database, days: float, removal: Removal) -> None:
    """Let the checkpoints of jobs unused for so long expire: from now on these can only be read."""
    with database.readers.begin() as session:
        job_ids = due.jobs_to_expire(session, ago(days))
    for job_id in job_ids:
        if not removal.leaving.is_set():
            with database.sessions.begin() as session:
                expire(session, job_id, ago(days))


def expire(session: Session, job_id: str, time: ColumnElement[float]) -> bool:
    """Mark a job as one that can only be read; False if it may not be any more."""
    lock(session, job_id)
    return bool(change(session, update(Job).where(Job.id == job_id, due.may_expire(time)).values(expired_at=now())))


def clear_expired(database: Database, removal: Removal) -> None:
    """Take out what jobs that can only be read have no use for, also if another process died while it did so."""
    with database.readers.begin() as session:
        is_expired = Job.expired_at.is_not(None)
        heirs = session.execute(select(Job.id, Job.corpus_id).where(is_expired, Job.continues.is_not(None))).all()
        of_units = select(Checkpoint.unit_id).join(Unit, Unit.id == Checkpoint.unit_id).distinct()
        unit_ids = session.scalars(of_units.join(Job, Job.id == Unit.job_id).where(is_expired)).all()
        of_jobs = select(CalibrationStep.job_id).join(Job, Job.id == CalibrationStep.job_id).distinct()
        job_ids = session.scalars(of_jobs.where(is_expired)).all()
        atoms = [key for job_id, corpus_id in heirs for key in own_atoms(session, job_id, corpus_id)]
    checkpoints, steps = (Base.metadata.tables[kind.__tablename__] for kind in (Checkpoint, CalibrationStep))
    size = FEW
    for unit_id in unit_ids:
        size = removal.clear(checkpoints, checkpoints.c.unit_id, unit_id, size)
    for job_id in job_ids:
        size = removal.clear(steps, steps.c.job_id, job_id, size)
    for key in atoms:
        if not removal.leaving.is_set():
            with database.sessions.begin() as session:
                session.execute(delete(AtomRun).filter_by(**key))


def own_atoms(session: Session, job_id: str, corpus_id: str) -> list[dict[str, Any]]:
    """The keys of the atom runs that are of one job alone."""
    columns = (AtomRun.corpus_id, AtomRun.words_digest, AtomRun.options, AtomRun.number)
    mine = (AtomRun.corpus_id == corpus_id, AtomRun.options.contains(named_in(ATOMS_OF_JOB, job_id)))
    return [dict(row) for row in session.execute(select(*columns).where(*mine)).mappings()]


def forget_requests(database: Database, removal: Removal) -> None:
    """Take out the answers that repeated requests get no more, a few at a time."""
    while not removal.leaving.is_set():
        with database.sessions.begin() as session:
            if not idempotency.forget(session):
                return


def prune_once(database: Database, ages: Ages) -> None:
    """Take out all that is old enough, here and now."""
    prune(database, ages, Removal(database))
