"""How the service is, as the database knows it: read in one short transaction of few statements.

All of it is bounded by the number of jobs, of units that are not done, and of workers; nothing reads documents, answers
or checkpoints.
"""

from collections import Counter
from typing import NamedTuple

from sqlalchemy import ColumnElement, Select, and_, case, func, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.core.counters import Key, read_counts
from app.core.db import now
from app.core.kinds import UnitKind
from app.core.presence import living
from app.core.runs import LIVE
from app.core.settings import Settings
from app.core.tables import Checkpoint, Encoding, Job, SideRun, Unit

OTHER = "other"  # the model of a job whose settings name none


class ServiceState(NamedTuple):
    """What an operator wants to know of all jobs together."""

    jobs: Counter[tuple[str, str]]  # by status and model
    units: Counter[tuple[str, str]]  # by status and kind: those of live runs that are not done
    queue_age: float  # seconds that the longest waiting job with a ready unit has waited for a worker; 0: none waits
    workers: int  # seen recently, that take work
    starting_workers: int  # seen recently, that do not take work yet
    sweeps_per_second: float  # of the chains that are being worked at, all together
    tokens_per_second: float
    checkpoint_bytes: int  # the largest of the newest checkpoints of these chains
    save_age: float  # seconds since the save of that unit, of those that are worked at, that has saved longest ago
    counts: dict[Key, float]  # of all workers
    database_bytes: int | None  # of the database's own; None: it is a file, see `metrics`


def read_state(session: Session, settings: Settings) -> ServiceState:
    """The state of the service now."""
    workers = living(session, settings)
    sweeps, tokens = pace(session)
    units, queue_age = unfinished_units(session)
    return ServiceState(
        jobs=jobs_by_status(session),
        units=units,
        queue_age=queue_age,
        workers=sum(worker.note is None for worker in workers),
        starting_workers=sum(worker.note is not None for worker in workers),
        sweeps_per_second=sweeps,
        tokens_per_second=tokens,
        checkpoint_bytes=checkpoint_bytes(session),
        save_age=save_age(session),
        counts=read_counts(session),
        database_bytes=database_bytes(session),
    )


def jobs_by_status(session: Session) -> Counter[tuple[str, str]]:
    """How many jobs there are of each status and model."""
    asked = select(Job.status, Job.model, func.count()).where(Job.deleted_at.is_(None))
    rows = session.execute(asked.group_by(Job.model, Job.status))
    return Counter({(status, model or OTHER): count for status, model, count in rows})


def unfinished_units(session: Session) -> tuple[Counter[tuple[str, str]], float]:
    """How many units of live runs there are of each status and kind, and how long the longest waiting job has waited.

    It has a ready unit, and has waited since a worker last turned to it; since it, or its side run, was submitted, if
    that came later.
    """
    of_main = unfinished_of(Job.status, Job.created_at, Unit.side.is_(None))
    of_sides = unfinished_of(SideRun.status, SideRun.created_at, Unit.side == SideRun.kind)
    of_sides = of_sides.join(SideRun, SideRun.job_id == Job.id)
    rows = [*session.execute(of_main), *session.execute(of_sides)]
    found: Counter[tuple[str, str]] = Counter()
    for status, kind, count, _ in rows:
        found[status, kind] += count
    return found, max([0.0, *(waited for status, _, _, waited in rows if status == "ready")])


def unfinished_of(
    status: InstrumentedAttribute[str], submitted: InstrumentedAttribute[float], is_part: ColumnElement[bool]
) -> Select[str, str, int, float]:
    """Status, kind, number and longest wait of the units of live runs that are not done.

    From the few live runs to their units: of failed ones, however many, units may be ready for ever.
    """
    since = case((Job.claimed_at > submitted, Job.claimed_at), else_=submitted)
    asked = select(Unit.status, Unit.kind, func.count(), now() - func.min(since)).select_from(Job)
    asked = asked.join(Unit, Unit.job_id == Job.id)
    return asked.where(status.in_(LIVE), is_part, Unit.status != "done").group_by(Unit.status, Unit.kind)


def is_worked_at() -> ColumnElement[bool]:
    """The condition that a worker is at a unit."""
    return and_(Unit.status == "running", Unit.lease_until >= now())


def pace(session: Session) -> tuple[float, float]:
    """Sweeps and tokens a second of the chains that are being worked at, as each last saved them."""
    rate = func.coalesce(Unit.sweeps_per_second, 0.0)
    asked = select(func.sum(rate), func.sum(rate * Encoding.n_tokens)).select_from(Unit).join(Job)
    asked = asked.join(Encoding, Encoding.id == Job.encoding_id)
    sweeps, tokens = session.execute(asked.where(Unit.kind == UnitKind.CHAIN, is_worked_at())).one()
    return float(sweeps or 0.0), float(tokens or 0.0)


def checkpoint_bytes(session: Session) -> int:
    """The size of the largest of the newest checkpoints of these chains; their bytes are not read for it."""
    newest = select(func.max(Checkpoint.id)).join(Unit, Unit.id == Checkpoint.unit_id)
    newest = newest.where(Unit.kind == UnitKind.CHAIN, is_worked_at()).group_by(Checkpoint.unit_id)
    return session.scalar(select(func.max(func.length(Checkpoint.data))).where(Checkpoint.id.in_(newest))) or 0


def save_age(session: Session) -> float:
    """How long ago that unit has saved, of those that are being worked at, which has saved longest ago."""
    return max(session.scalar(select(now() - func.min(Unit.saved_at)).where(is_worked_at())) or 0.0, 0.0)


def database_bytes(session: Session) -> int | None:
    """The size of a database on a server."""
    if session.get_bind().dialect.name != "postgresql":
        return None
    return session.scalar(select(func.pg_database_size(func.current_database())))
