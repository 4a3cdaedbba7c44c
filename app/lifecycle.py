"""Jobs and their units, from submit to the end: everything that changes a status.

    job:   queued -> running -> succeeded | failed | cancelled;  failed | cancelled -> queued by resume
    unit:  waiting -> ready -> running -> done;  running -> ready when a leg ends or its lease runs out

A unit's status tells how far its work is, whatever becomes of the job: under a job that has ended a
unit keeps its status, but is neither claimed nor sent. So a resumed job goes on from where it was.

Each change is one UPDATE whose WHERE asks and whose row count decides. On PostgreSQL rows are locked
in one order, units by id and then their job, so that no two of these functions wait for each other.
Nothing here commits: the caller does, and sends the returned unit ids afterwards.
"""

import uuid
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Update, and_, case, func, or_, select, update
from sqlalchemy.orm import Session, aliased

from app.db import now
from app.errors import CorpusNotFound, JobFinished, JobNotFound, JobNotResumable, LeaseLost
from app.models import Corpus, Job, Unit

LIVE = ("queued", "running")
RESUMABLE = ("failed", "cancelled")
NEXT_KIND = {"encode": "chain", "chain": "conclude"}  # what is ready once all units of a kind are done

MAX_ATTEMPTS = 3  # claims without a save, after which a unit counts as poison
RESEND_SECONDS = 30.0  # a ready unit that nobody claimed for so long is sent again


def submit(session: Session, corpus_id: str, settings: Mapping[str, Any]) -> tuple[Job, list[int]]:
    """Queue a job over the corpus as it is now; returns the job and the unit ids to send.

    `settings["chains"]` says how many chains there are. Raises CorpusNotFound.
    """
    # The shared lock keeps the corpus from being deleted between this look and the commit.
    version = session.scalar(
        select(Corpus.version).where(Corpus.id == corpus_id).with_for_update(read=True, key_share=True)
    )
    if version is None:
        raise CorpusNotFound(f"there is no corpus {corpus_id}")
    job = Job(
        id=str(uuid.uuid4()), corpus_id=corpus_id, corpus_version=version, settings=dict(settings), status="queued"
    )
    session.add(job)
    session.flush()
    encode = Unit(job_id=job.id, kind="encode", status="ready", lease_until=now() + RESEND_SECONDS)
    chains = [Unit(job_id=job.id, kind="chain", chain=c, status="waiting") for c in range(settings["chains"])]
    session.add_all([encode, *chains, Unit(job_id=job.id, kind="conclude", status="waiting")])
    session.flush()
    return job, [encode.id]


def claim(session: Session, unit_id: int, token: str, lease_seconds: float) -> Unit | None:
    """Take the unit for one leg under a fresh token; None if its job has ended or another leg holds it."""
    free = or_(Unit.status == "ready", and_(Unit.status == "running", Unit.lease_until < now()))
    claimed = changed(
        session,
        update(Unit)
        .where(Unit.id == unit_id, free, Unit.job_id.in_(select(Job.id).where(Job.status.in_(LIVE))))
        .values(status="running", token=token, lease_until=now() + lease_seconds, attempts=Unit.attempts + 1),
    )
    if not claimed:
        return None
    unit = session.get_one(Unit, unit_id, populate_existing=True)
    changed(
        session,
        update(Job)
        .where(Job.id == unit.job_id, Job.status == "queued")
        .values(status="running", started_at=func.coalesce(Job.started_at, now())),
    )
    return unit


def renew(session: Session, unit_id: int, token: str, lease_seconds: float) -> bool:
    """Extend the lease; False if the leg must stop, its lease lost or its job ended.

    A leg that stops for its job's sake holds its lease on, so that it can save once more.
    """
    held = changed(session, held_by(unit_id, token).values(lease_until=now() + lease_seconds))
    return bool(held) and is_live(session, unit_id)


def saved(
    session: Session,
    unit_id: int,
    token: str,
    lease_seconds: float,
    n_sweeps: int,
    n_categories: int | None,
    sweeps_per_second: float | None,
) -> bool:
    """Note a leg's progress and extend its lease; False if its job has ended, so that it must stop.

    The fence of every write of a leg: call it first in the transaction that writes. Raises LeaseLost,
    which undoes the transaction, if the unit is no longer held under this token.
    """
    held = changed(
        session,
        held_by(unit_id, token).values(
            lease_until=now() + lease_seconds,
            attempts=0,
            n_sweeps=n_sweeps,
            n_categories=n_categories,
            sweeps_per_second=sweeps_per_second,
        ),
    )
    if not held:
        raise LeaseLost(f"unit {unit_id} is no longer held under {token}")
    return is_live(session, unit_id)


def release(session: Session, unit_id: int, token: str) -> bool:
    """End a leg and make its unit ready for the next one; True if a message must be sent for it.

    False too if the unit is no longer held under this token: so it is always safe to call.
    """
    released = changed(
        session, held_by(unit_id, token).values(status="ready", token=None, lease_until=now() + RESEND_SECONDS)
    )
    return bool(released) and is_live(session, unit_id)


def finish(session: Session, unit_id: int, token: str) -> list[int]:
    """End the last leg of a unit; returns the ids of the units that are ready now, to be sent.

    All chains follow encode, conclude follows the last chain, and after conclude the job has succeeded.
    Raises LeaseLost, which undoes the transaction, if the unit is no longer held under this token, or
    if it concludes a job that has ended: its answer would come after the end.
    """
    done = session.execute(
        held_by(unit_id, token)
        .values(status="done", token=None, lease_until=None, attempts=0, error=None)
        .returning(Unit.job_id, Unit.kind),
    ).one_or_none()
    if done is None:
        raise LeaseLost(f"unit {unit_id} is no longer held under {token}")
    if done.kind == "conclude":
        if not end_job(session, done.job_id, "succeeded"):
            raise LeaseLost(f"job {done.job_id} ended before it was concluded")
        return []
    # Chains that finish at once pass here one by one, so that the last one sees all others done.
    status = session.scalar(select(Job.status).where(Job.id == done.job_id).with_for_update(key_share=True))
    ready = make_ready(session, done.job_id, done.kind)
    return ready if status in LIVE else []


def make_ready(session: Session, job_id: str, kind: str) -> list[int]:
    """Make the units ready that waited for all units of a kind; returns their ids."""
    other = aliased(Unit)
    unfinished = select(other.id).where(other.job_id == job_id, other.kind == kind, other.status != "done")
    ready = session.scalars(
        update(Unit)
        .where(Unit.job_id == job_id, Unit.kind == NEXT_KIND[kind], Unit.status == "waiting", ~unfinished.exists())
        .values(status="ready", lease_until=now() + RESEND_SECONDS)
        .returning(Unit.id)
        .execution_options(synchronize_session=False)
    )
    return sorted(ready)


def fail(session: Session, unit_id: int, token: str, error: str) -> None:
    """Keep a leg's error with its unit and fail the job, unless it has ended.

    The unit is ready again, for a resume. A leg that has lost its lease fails nothing.
    """
    error = error.replace("\0", "\N{REPLACEMENT CHARACTER}")  # PostgreSQL stores no NUL
    failed = session.execute(
        held_by(unit_id, token)
        .values(status="ready", token=None, lease_until=now() + RESEND_SECONDS, error=error)
        .returning(Unit.job_id)
    ).one_or_none()
    if failed is not None:
        end_job(session, failed.job_id, "failed", error)


def cancel(session: Session, job_id: str) -> Job:
    """Cancel a job; its legs stop within a sweep and keep what they have.

    Raises JobNotFound, or JobFinished if it has already ended.
    """
    cancelled = end_job(session, job_id, "cancelled")
    job = find_job(session, job_id)
    if not cancelled:
        raise JobFinished(f"job {job_id} has already ended: {job.status}")
    return job


def resume(session: Session, job_id: str) -> tuple[Job, list[int]]:
    """Queue a cancelled or failed job again, to go on from where it was; returns the unit ids to send.

    A leg that still winds down keeps its unit: it goes on if it has not yet seen the job's end, or else
    its release sends the unit again. Should it be dead, its lease runs out. Raises JobNotFound, or
    JobNotResumable for a job that is live or has succeeded.
    """
    unit_ids = list(
        session.scalars(
            select(Unit.id)
            .where(Unit.job_id == job_id, Unit.status.in_(("ready", "running")))
            .order_by(Unit.id)
            .with_for_update()
        )
    )
    changed(
        session,
        update(Unit)
        .where(Unit.id.in_(unit_ids))
        .values(
            attempts=0,
            error=None,
            lease_until=case((Unit.status == "ready", now() + RESEND_SECONDS), else_=Unit.lease_until),
        ),
    )
    resumed = changed(
        session,
        update(Job)
        .where(Job.id == job_id, Job.status.in_(RESUMABLE))
        .values(status="queued", error=None, finished_at=None),
    )
    job = find_job(session, job_id)
    if not resumed:
        raise JobNotResumable(f"job {job_id} is {job.status}, neither cancelled nor failed")
    return job, unit_ids


def reap(session: Session) -> list[int]:
    """Free the units of live jobs whose time is up; returns the ids to send again.

    A running unit lost its leg, a ready one its message. Any number of reapers may run at once: each
    unit goes to the one whose UPDATE met it first. A unit claimed too often without a save fails its job.
    """
    late = and_(Unit.status.in_(("ready", "running")), Unit.lease_until < now())
    overdue = session.execute(
        select(Unit.id, Unit.job_id, Unit.status, Unit.attempts, Unit.error)
        .join(Job, Job.id == Unit.job_id)
        .where(late, Job.status.in_(LIVE))
        .order_by(Unit.id)
    ).all()
    freed = [
        unit
        for unit in overdue
        if changed(
            session,
            update(Unit)
            .where(Unit.id == unit.id, late)
            .values(status="ready", token=None, lease_until=now() + RESEND_SECONDS),
        )
    ]
    poison = {unit.job_id: unit for unit in freed if unit.status == "running" and unit.attempts >= MAX_ATTEMPTS}
    for job_id, unit in sorted(poison.items()):
        end_job(
            session, job_id, "failed", unit.error or f"unit {unit.id} was claimed {unit.attempts} times and never saved"
        )
    return [unit.id for unit in freed if unit.job_id not in poison]


def end_job(session: Session, job_id: str, status: str, error: str | None = None) -> bool:
    """End a live job; False if it has already ended."""
    ended = update(Job).where(Job.id == job_id, Job.status.in_(LIVE))
    return bool(changed(session, ended.values(status=status, error=error, finished_at=now())))


def find_job(session: Session, job_id: str) -> Job:
    """The job as it is now. Raises JobNotFound."""
    job = session.get(Job, job_id, populate_existing=True)
    if job is None:
        raise JobNotFound(f"there is no job {job_id}")
    return job


def is_live(session: Session, unit_id: int) -> bool:
    """Whether the unit's job is queued or running."""
    status = session.scalar(select(Job.status).join(Unit, Unit.job_id == Job.id).where(Unit.id == unit_id))
    return status in LIVE


def held_by(unit_id: int, token: str) -> Update:
    """An UPDATE of the unit that meets it only while the leg with this token holds it."""
    return (
        update(Unit)
        .where(Unit.id == unit_id, Unit.token == token, Unit.status == "running")
        .execution_options(synchronize_session=False)
    )


def changed(session: Session, statement: Update) -> int:
    """How many rows the UPDATE met. Objects of the session are not touched."""
    result: Any = session.execute(statement, execution_options={"synchronize_session": False})
    return int(result.rowcount)
