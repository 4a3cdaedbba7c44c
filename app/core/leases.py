"""What legs and reapers do with units; app.core.lifecycle tells of the whole.

A unit is held for a lease, under a fresh token: every write of a leg carries it, so that a leg whose
lease was taken over writes nothing. Each change is one UPDATE whose WHERE asks and whose row count
decides; the database's clock says whose time is up.
"""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import ColumnElement, TextClause, Update, and_, case, func, or_, select, update
from sqlalchemy.orm import Session, aliased

from app.core.counters import counters
from app.core.db import now
from app.core.ends import end_run
from app.core.errors import LeaseLost
from app.core.kinds import UNIT_KINDS, SideKind, UnitKind
from app.core.runs import Run, change, goes_on, is_live, run_of
from app.core.tables import IS_AT_HAND, Job, SideRun, Unit

MAX_ATTEMPTS = 3  # claims without a save, after which a unit counts as poison
WAITS = "waits: "  # begins the error of a unit whose leg waits for better times
CALLS_AT_ONCE = 100  # of ready units, by one reaper
CALL_SECONDS = 30.0  # a ready unit that nobody claimed for so long calls again for a worker


def is_free() -> ColumnElement[bool]:
    """The condition that a worker may claim a unit: nobody holds it, and its run is live."""
    return and_(is_unclaimed(), is_live())


def is_unclaimed() -> ColumnElement[bool]:
    """The condition that a unit is ready, or its leg said nothing for longer than its lease.

    Not if too many legs have died of it: the reaper fails its run.
    """
    overdue = and_(Unit.status == "running", Unit.lease_until < now(), Unit.attempts < MAX_ATTEMPTS)
    return or_(Unit.status == "ready", overdue)


def claim(session: Session, unit_id: int, token: str, lease_seconds: float) -> Unit | None:
    """Take the unit for one leg under a fresh token; None if it is not free."""
    before = session.scalar(select(Unit.token).where(Unit.id == unit_id))  # of a leg that lost it, if there is one
    claimed = change(
        session,
        update(Unit)
        .where(Unit.id == unit_id, is_free())
        .values(
            status="running",
            token=token,
            lease_until=now() + lease_seconds,
            attempts=Unit.attempts + 1,
            saved_at=now(),
        ),
    )
    if not claimed:
        return None
    if before is not None:
        counters.add("lease_losses")
    unit = session.get_one(Unit, unit_id, populate_existing=True)
    change(session, update(Job).where(Job.id == unit.job_id).values(claimed_at=now(), waits_since=now()))
    run = run_of(unit)
    started = func.coalesce(run.table.started_at, now())
    change(session, run.update(("queued",)).values(status="running", started_at=started))
    return unit


def renew(session: Session, unit_id: int, token: str, lease_seconds: float) -> bool:
    """Extend the lease; False if the leg must stop, its lease lost or its job ended or paused.

    A leg that stops for its job's sake holds its lease on, so that it can save once more.
    """
    held = change(session, held_by(unit_id, token).values(lease_until=now() + lease_seconds))
    return bool(held) and goes_on(session, unit_id)


def is_held(session: Session, unit_id: int, token: str) -> bool:
    """Whether the leg with this token holds the unit and its run is live, as `renew` says, but without a write."""
    held = select(Unit.id).where(Unit.id == unit_id, Unit.token == token, Unit.status == "running", is_live())
    return session.scalar(held) is not None


class UnitProgress(NamedTuple):
    """How far a unit is, as one of its legs saves it."""

    n_sweeps: int  # done; of a stepwise unit its steps
    n_categories: int | None = None
    sweeps_per_second: float | None = None
    # None leaves what was saved last.
    digest: str | None = None  # of the chain's states or the unit's steps up to here
    n_steps: int | None = None  # how many there are
    seconds: float | None = None  # that all legs of the unit have worked


def record_progress(
    session: Session, unit_id: int, token: str, lease_seconds: float, progress: UnitProgress
) -> bool:  # fmt: skip
    """Note a leg's progress and extend its lease; False if its run is not live, so that it must stop.

    The fence of every write of a leg: call it first in the transaction that writes. Raises LeaseLost, which undoes
    the transaction, if the unit is no longer held under this token.
    """
    held = change(
        session,
        held_by(unit_id, token).values(
            lease_until=now() + lease_seconds,
            attempts=0,
            error=None,
            n_sweeps=progress.n_sweeps,
            n_categories=progress.n_categories,
            sweeps_per_second=progress.sweeps_per_second,
            digest=Unit.digest if progress.digest is None else progress.digest,
            saved_at=now(),
            n_steps=Unit.n_steps if progress.n_steps is None else progress.n_steps,
            seconds=Unit.seconds if progress.seconds is None else progress.seconds,
        ),
    )
    if not held:
        raise LeaseLost(f"unit {unit_id} is no longer held under {token}")
    return goes_on(session, unit_id)


def release(session: Session, unit_id: int, token: str) -> bool:
    """End a leg and make its unit ready for the next one; True if it waits for a worker now.

    False too if the unit is no longer held under this token: so it is always safe to call. A leg that
    ends in order, saved or not, is no failed attempt: a worker may be stopped as often as one likes.
    """
    released = change(
        session,
        held_by(unit_id, token).values(
            status="ready",
            token=None,
            lease_until=now() + CALL_SECONDS,
            attempts=case((Unit.attempts > 0, Unit.attempts - 1), else_=0),
        ),
    )
    return bool(released) and goes_on(session, unit_id)


def finish(session: Session, unit_id: int, token: str, seconds: float | None = None) -> list[int]:
    """End the last leg of a unit; returns the ids of the units that are ready now and call for workers.

    All chains follow encode or what a model has in between, conclude follows the last chain, and after conclude
    the run has succeeded. A power test is a single unit. `seconds` are those of `UnitProgress`.
    Raises LeaseLost, which undoes the transaction, if the unit is no longer held under this token, or
    if it ends a run that is not live: an answer comes neither after the end nor under a pause.
    """
    worked = Unit.seconds if seconds is None else seconds
    done = session.execute(
        held_by(unit_id, token)
        .values(status="done", token=None, lease_until=None, attempts=0, error=None, seconds=worked)
        .returning(Unit.job_id, Unit.kind, Unit.side),
    ).one_or_none()
    if done is None:
        raise LeaseLost(f"unit {unit_id} is no longer held under {token}")
    run = Run(done.job_id, done.side)
    if UNIT_KINDS[done.kind].ends_run:
        if not end_run(session, run, "succeeded"):
            raise LeaseLost(f"{run} was stopped before its {done.kind} was done")
        if run.side == SideKind.EXTENSION:
            settle_extension(session, run)
        return []
    # Chains that finish at once pass here one by one, so that the last one sees all others done.
    session.execute(select(Job.id).where(Job.id == done.job_id).with_for_update(key_share=True))
    ready = make_ready(session, done.job_id, done.kind)
    return ready if goes_on(session, unit_id) else []


def settle_extension(session: Session, run: Run) -> None:
    """An extension that has succeeded is part of the job: as if it had been submitted with all these sweeps."""
    job = session.get_one(Job, run.job_id, populate_existing=True)
    sweeps = session.scalars(select(SideRun.sweeps).where(run.is_mine)).one()
    change(session, update(Job).where(Job.id == job.id).values(settings={**job.settings, "sweeps": sweeps}))
    change(session, update(Unit).where(Unit.job_id == job.id, Unit.side == run.side).values(side=None))


def make_ready(session: Session, job_id: str, kind: str) -> list[int]:
    """Make the units ready that waited for all units of a kind, those of the next kind that the job has.

    Returns their ids.
    """
    other = aliased(Unit)
    kinds = set(session.scalars(select(Unit.kind).where(Unit.job_id == job_id).distinct()))
    order = list(UnitKind)
    following = next(after for after in order[order.index(UnitKind(kind)) + 1 :] if after in kinds)
    unfinished = select(other.id).where(other.job_id == job_id, other.kind == kind, other.status != "done")
    ready = session.scalars(
        update(Unit)
        .where(Unit.job_id == job_id, Unit.kind == following, Unit.status == "waiting", ~unfinished.exists())
        .values(status="ready", lease_until=now() + CALL_SECONDS)
        .returning(Unit.id)
        .execution_options(synchronize_session=False)
    )
    return sorted(ready)


def fail(session: Session, unit_id: int, token: str, error: str) -> None:
    """Keep a leg's error with its unit and fail its run, unless that has been stopped.

    The unit is ready again, for a resume. A leg that has lost its lease fails nothing.
    """
    error = error.replace("\0", "\N{REPLACEMENT CHARACTER}")  # PostgreSQL stores no NUL
    failed = session.execute(
        held_by(unit_id, token)
        .values(status="ready", token=None, lease_until=now() + CALL_SECONDS, error=error)
        .returning(Unit.job_id, Unit.side)
    ).one_or_none()
    if failed is not None:
        end_run(session, Run(*failed), "failed", error)


def refuse(session: Session, unit_id: int, error: str) -> None:
    """Fail the run of a unit that cannot even be read, with the reason."""
    run = Run(*session.execute(select(Unit.job_id, Unit.side).where(Unit.id == unit_id)).one())
    change(session, update(Unit).where(Unit.id == unit_id).values(status="ready", token=None, error=error))
    end_run(session, run, "failed", error)


def note(session: Session, unit_id: int, token: str, reason: str) -> None:
    """Say why the leg that holds a unit does not get on; its next save takes that back."""
    error = WAITS + reason.replace("\0", "\N{REPLACEMENT CHARACTER}")
    change(session, held_by(unit_id, token).values(error=error))


def make_due(session: Session, unit_ids: Sequence[int]) -> None:
    """Let ready units that could not call for a worker call again with whoever reaps next."""
    change(session, update(Unit).where(Unit.id.in_(unit_ids), Unit.status == "ready").values(lease_until=now() - 1))


def reap(session: Session) -> list[int]:
    """Free the units of live runs whose time is up; returns the ids of those that call for a worker.

    A running unit lost its leg, a ready one its message. Any number of reapers may run at once: each
    unit goes to the one whose UPDATE met it first. A unit claimed too often without a save fails its run.
    """
    overdue = session.scalars(
        select(Unit).where(*is_late("running"), is_live()).order_by(Unit.id),
        execution_options={"populate_existing": True},
    ).all()
    freed = [unit for unit in overdue if change(session, freeing(Unit.id == unit.id, *is_late("running")))]
    counters.add("lease_losses", len(freed))
    poison = {run_of(unit): unit for unit in freed if unit.attempts >= MAX_ATTEMPTS}
    for run, unit in sorted(poison.items(), key=lambda item: item[1].id):
        end_run(session, run, "failed", poisonous(unit))
    return sorted([*(unit.id for unit in freed if run_of(unit) not in poison), *call_again(session)])


def is_late(status: str) -> tuple[ColumnElement[bool] | TextClause, ...]:
    """The conditions that the time of a unit with this status is up."""
    return IS_AT_HAND, Unit.status == status, Unit.lease_until < now()


def freeing(*which: ColumnElement[bool] | TextClause) -> Update:
    """An UPDATE that makes units ready for whoever comes."""
    return update(Unit).where(*which).values(status="ready", token=None, lease_until=now() + CALL_SECONDS)


def call_again(session: Session) -> list[int]:
    """The ids of ready units whose calls nobody has heard, which call again; some of them, where the queue is long.

    A call wakes any worker, and that goes on until nothing is ready: more calls than workers are of no use.
    """
    late = select(Unit.id).where(*is_late("ready"), is_live()).order_by(Unit.lease_until).limit(CALLS_AT_ONCE)
    unit_ids = sorted(session.scalars(late.with_for_update(of=Unit, skip_locked=True)))
    change(session, freeing(Unit.id.in_(unit_ids)))
    return unit_ids


def poisonous(unit: Unit) -> str:
    """Why a unit's job is given up, as its owner reads it."""
    name = unit.kind if unit.chain is None else f"{unit.kind} {unit.chain}"
    last = unit.error or "none was recorded, so its workers were killed or died, perhaps for lack of memory"
    return f"{name} (unit {unit.id}) was claimed {unit.attempts} times without a save; its last error: {last}"


def held_by(unit_id: int, token: str) -> Update:
    """An UPDATE of the unit that meets it only while the leg with this token holds it."""
    return (
        update(Unit)
        .where(Unit.id == unit_id, Unit.token == token, Unit.status == "running")
        .execution_options(synchronize_session=False)
    )
