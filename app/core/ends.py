"""How a run ends, and what becomes of the jobs that wait for it.

A job that continues another one may be queued before that has ended: its first unit is `waiting` till then. What it
goes on from, and what was decided, is read when it begins.
"""

from collections.abc import Sequence
from functools import cache

from sqlalchemy import ColumnElement, select, update
from sqlalchemy.orm import Session, aliased

from app.core.db import now
from app.core.errors import JobNotResumable
from app.core.kinds import SideKind, UnitKind
from app.core.runs import LIVE, UNFINISHED, Run, change
from app.core.tables import Job, SideRun, Unit


def end_run(session: Session, run: Run, status: str, error: str | None = None, among: Sequence[str] = LIVE) -> bool:
    """End a run that is in one of the states; False if it is not. Jobs that wait for it begin, or fail with it."""
    if not change(session, run.update(among).values(status=status, error=error, finished_at=now())):
        return False
    if run.side is None and status != "succeeded":
        waiting = select(Job.id).where(Job.continues == run.job_id, Job.status.in_(UNFINISHED), waits())
        for heir in session.scalars(waiting.order_by(Job.id)).all():
            reason = f"{run}, which this one continues, {'was' if status == 'cancelled' else 'has'} {status}"
            end_run(session, Run(heir), "failed", f"{reason}: resume that one, then this one", UNFINISHED)
    elif run.side != SideKind.POWER_TEST:  # an extension that was stopped leaves the job as it was
        let_heirs_begin(session, run.job_id)
    return True


def let_heirs_begin(session: Session, source_id: str) -> None:
    """Make the first units of the jobs that wait for one ready, if it has succeeded; reapers call for workers."""
    source = session.get_one(Job, source_id, populate_existing=True)
    if source.status == "succeeded" and unfinished_run(session, source) is None:
        heirs = select(Job.id).where(Job.continues == source_id)
        is_first = (Unit.job_id.in_(heirs), Unit.kind == UnitKind.ENCODE, Unit.status == "waiting")
        change(session, update(Unit).where(*is_first).values(status="ready", lease_until=now() - 1))


@cache
def waits() -> ColumnElement[bool]:
    """The condition that a job waits for the one that it continues."""
    first = aliased(Unit)
    is_first = (first.job_id == Job.id, first.kind == UnitKind.ENCODE, first.status == "waiting")
    return select(first.id).where(*is_first).correlate(Job).exists()


def waits_for(session: Session, job_id: str) -> str | None:
    """The id of the job that this one continues and waits for; None if it waits for none."""
    return session.scalar(select(Job.continues).where(Job.id == job_id, waits()))


def check_source(session: Session, source_id: str) -> None:
    """Raise JobNotResumable if a job that is continued comes to nothing, so that one cannot wait for it."""
    status = session.scalar(select(Job.status).where(Job.id == source_id, Job.deleted_at.is_(None)))
    if status is None:
        raise JobNotResumable(f"job {source_id}, which this one continues, has been deleted; submit a new job")
    if status not in (*UNFINISHED, "succeeded"):
        raise JobNotResumable(f"job {source_id}, which this one continues, is {status}; resume that one first")


def unfinished_run(session: Session, job: Job) -> str | None:
    """What of a job has to end before another one can go on from it, as messages say it; None if nothing has."""
    if job.status in UNFINISHED:
        return f"{Run(job.id)} is {job.status}"
    extension = Run(job.id, SideKind.EXTENSION)
    status = session.scalar(select(SideRun.status).where(extension.is_mine))
    return f"{extension} is {status}" if status in UNFINISHED else None


def unfinished_heir(session: Session, job_id: str) -> str | None:
    """The id of a job that continues this one and has not ended, so that it may read it again; None if all have."""
    heir = select(Job.id).where(Job.continues == job_id, Job.status.in_(UNFINISHED), Job.deleted_at.is_(None))
    return session.scalar(heir.limit(1))
