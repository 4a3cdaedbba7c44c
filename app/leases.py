"""What legs and reapers do with units; app.lifecycle tells of the whole.

A unit is held for a lease, under a fresh token: every write of a leg carries it, so that a leg whose
lease was taken over writes nothing. Each change is one UPDATE whose WHERE asks and whose row count
decides; the database's clock says whose time is up.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Delete, Update, and_, case, func, or_, select, update
from sqlalchemy.orm import Session, aliased

from app.db import now
from app.errors import LeaseLost
from app.models import Job, Unit

LIVE = ("queued", "running")
KINDS = ("encode", "atoms", "calibrate", "chain", "conclude")  # of units, as they follow; not all jobs have all
LAST = ("conclude", "power")  # kinds after which the job has succeeded; the power test comes when it is asked for

MAX_ATTEMPTS = 3  # claims without a save, after which a unit counts as poison
RESEND_SECONDS = 30.0  # a ready unit that nobody claimed for so long is sent again


def claim(session: Session, unit_id: int, token: str, lease_seconds: float) -> Unit | None:
    """Take the unit for one leg under a fresh token; None if its job is not live or another leg holds it.

    Neither is a unit taken that too many legs have died of: the reaper fails its job.
    """
    overdue = and_(Unit.status == "running", Unit.lease_until < now(), Unit.attempts < MAX_ATTEMPTS)
    free = or_(Unit.status == "ready", overdue)
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
    """Extend the lease; False if the leg must stop, its lease lost or its job ended or paused.

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
    digest: str | None = None,
    n_steps: int | None = None,
) -> bool:
    """Note a leg's progress and extend its lease; False if its job is not live, so that it must stop.

    `digest` is that of the chain's states or the unit's steps up to here, `n_steps` how many steps there are;
    None leaves the last one. The fence of every write of a leg: call it first in the transaction that writes.
    Raises LeaseLost, which undoes the transaction, if the unit is no longer held under this token.
    """
    held = changed(
        session,
        held_by(unit_id, token).values(
            lease_until=now() + lease_seconds,
            attempts=0,
            error=None,
            n_sweeps=n_sweeps,
            n_categories=n_categories,
            sweeps_per_second=sweeps_per_second,
            digest=Unit.digest if digest is None else digest,
            n_steps=Unit.n_steps if n_steps is None else n_steps,
        ),
    )
    if not held:
        raise LeaseLost(f"unit {unit_id} is no longer held under {token}")
    return is_live(session, unit_id)


def release(session: Session, unit_id: int, token: str) -> bool:
    """End a leg and make its unit ready for the next one; True if a message must be sent for it.

    False too if the unit is no longer held under this token: so it is always safe to call. A leg that
    ends in order, saved or not, is no failed attempt: a worker may be stopped as often as one likes.
    """
    released = changed(
        session,
        held_by(unit_id, token).values(
            status="ready",
            token=None,
            lease_until=now() + RESEND_SECONDS,
            attempts=case((Unit.attempts > 0, Unit.attempts - 1), else_=0),
        ),
    )
    return bool(released) and is_live(session, unit_id)


def finish(session: Session, unit_id: int, token: str) -> list[int]:
    """End the last leg of a unit; returns the ids of the units that are ready now, to be sent.

    All chains follow encode or what a model has in between, conclude follows the last chain, and after conclude
    the job has succeeded, as it has again after a power test.
    Raises LeaseLost, which undoes the transaction, if the unit is no longer held under this token, or
    if it ends a job that is not live: an answer comes neither after the end nor under a pause.
    """
    done = session.execute(
        held_by(unit_id, token)
        .values(status="done", token=None, lease_until=None, attempts=0, error=None)
        .returning(Unit.job_id, Unit.kind),
    ).one_or_none()
    if done is None:
        raise LeaseLost(f"unit {unit_id} is no longer held under {token}")
    if done.kind in LAST:
        if not end_job(session, done.job_id, "succeeded"):
            raise LeaseLost(f"job {done.job_id} was stopped before its {done.kind} was done")
        return []
    # Chains that finish at once pass here one by one, so that the last one sees all others done.
    status = session.scalar(select(Job.status).where(Job.id == done.job_id).with_for_update(key_share=True))
    ready = make_ready(session, done.job_id, done.kind)
    return ready if status in LIVE else []


def make_ready(session: Session, job_id: str, kind: str) -> list[int]:
    """Make the units ready that waited for all units of a kind, those of the next kind that the job has.

    Returns their ids.
    """
    other = aliased(Unit)
    kinds = set(session.scalars(select(Unit.kind).where(Unit.job_id == job_id).distinct()))
    following = next(after for after in KINDS[KINDS.index(kind) + 1 :] if after in kinds)
    unfinished = select(other.id).where(other.job_id == job_id, other.kind == kind, other.status != "done")
    ready = session.scalars(
        update(Unit)
        .where(Unit.job_id == job_id, Unit.kind == following, Unit.status == "waiting", ~unfinished.exists())
        .values(status="ready", lease_until=now() + RESEND_SECONDS)
        .returning(Unit.id)
        .execution_options(synchronize_session=False)
    )
    return sorted(ready)


def fail(session: Session, unit_id: int, token: str, error: str) -> None:
    """Keep a leg's error with its unit and fail the job, unless it has been stopped.

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


def make_due(session: Session, unit_ids: Sequence[int]) -> None:
    """Let ready units whose messages could not be sent be sent by whoever reaps next."""
    changed(session, update(Unit).where(Unit.id.in_(unit_ids), Unit.status == "ready").values(lease_until=now() - 1))


def reap(session: Session) -> list[int]:
    """Free the units of live jobs whose time is up; returns the ids to send again.

    A running unit lost its leg, a ready one its message. Any number of reapers may run at once: each
    unit goes to the one whose UPDATE met it first. A unit claimed too often without a save fails its job.
    """
    late = and_(Unit.status.in_(("ready", "running")), Unit.lease_until < now())
    overdue = session.scalars(
        select(Unit).join(Job, Job.id == Unit.job_id).where(late, Job.status.in_(LIVE)).order_by(Unit.id),
        execution_options={"populate_existing": True},
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
        end_job(session, job_id, "failed", poisonous(unit))
    return [unit.id for unit in freed if unit.job_id not in poison]


def poisonous(unit: Unit) -> str:
    """Why a unit's job is given up, as its owner reads it."""
    name = unit.kind if unit.chain is None else f"{unit.kind} {unit.chain}"
    last = unit.error or "none was told, so its workers were killed or died, perhaps for want of memory"
    return f"{name} (unit {unit.id}) was claimed {unit.attempts} times without a save; its last error: {last}"


def end_job(session: Session, job_id: str, status: str, error: str | None = None, among: Sequence[str] = LIVE) -> bool:
    """End a job that is in one of the states; False if it is not."""
    ended = update(Job).where(Job.id == job_id, Job.status.in_(among))
    return bool(changed(session, ended.values(status=status, error=error, finished_at=now())))


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


def changed(session: Session, statement: Update | Delete) -> int:
    """How many rows the statement met. Objects of the session are not touched."""
    result: Any = session.execute(statement, execution_options={"synchronize_session": False})
    return int(result.rowcount)
