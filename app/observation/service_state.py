"""How the service is, as the database knows it: read in one short transaction of few statements.

All of it is bounded by the number of jobs, of units that are not done, and of workers; nothing reads documents, answers
or checkpoints.
"""

from collections import Counter
from typing import NamedTuple

from sqlalchemy import ColumnElement, Text, and_, case, cast, func, literal, select
from sqlalchemy.orm import Session

from app.core.counters import Key, read_counts
from app.core.db import now
from app.core.kinds import MODELS, UnitKind
from app.core.presence import notes
from app.core.runs import is_live
from app.core.settings import Settings
from app.core.tables import Checkpoint, Encoding, Job, SideRun, Unit, is_visible_job

UNFINISHED = ("waiting", "ready", "running")  # of units
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
    checkpoint_age: float  # seconds since the save of that chain of them that has saved longest ago
    counts: dict[Key, float]  # of all workers
    database_bytes: int | None  # of the database's own; None: it is a file, see `metrics`


def read_state(session: Session, settings: Settings) -> ServiceState:
    """The state of the service now."""
    of_workers = notes(session, settings)
    sweeps, tokens = pace(session)
    checkpoint_bytes, checkpoint_age = checkpoints(session)
    return ServiceState(
        jobs=jobs_by_status(session),
        units=units_by_status(session),
        queue_age=queue_age(session),
        workers=sum(note is None for note in of_workers),
        starting_workers=sum(note is not None for note in of_workers),
        sweeps_per_second=sweeps,
        tokens_per_second=tokens,
        checkpoint_bytes=checkpoint_bytes,
        checkpoint_age=checkpoint_age,
        counts=read_counts(session),
        database_bytes=database_bytes(session),
    )


def jobs_by_status(session: Session) -> Counter[tuple[str, str]]:
    """How many jobs there are of each status and model.

    Settings are looked at as text, since what is damaged there must not spoil the rest.
    """
    settings = cast(Job.settings, Text)
    names = [(settings.contains(f'"model": "{name}"', autoescape=True), literal(str(name))) for name in MODELS]
    model = case(*names, else_=OTHER)
    rows = session.execute(select(Job.status, model, func.count()).where(is_visible_job()).group_by(Job.status, model))
    return Counter({(status, name): count for status, name, count in rows})


def units_by_status(session: Session) -> Counter[tuple[str, str]]:
    """How many units of live runs there are of each status and kind, without those that are done."""
    asked = select(Unit.status, Unit.kind, func.count()).where(Unit.status.in_(UNFINISHED), is_live())
    rows = session.execute(asked.group_by(Unit.status, Unit.kind))
    return Counter({(status, kind): count for status, kind, count in rows})


def queue_age(session: Session) -> float:
    """How long the job has waited that has a ready unit and has waited longest: since a worker last turned to it.

    Since it, or its side run, was submitted, if that came later.
    """
    submitted = func.coalesce(SideRun.created_at, Job.created_at)
    since = case((Job.claimed_at > submitted, Job.claimed_at), else_=submitted)
    oldest = session.scalar(
        select(now() - func.min(since))
        .select_from(Unit)
        .join(Job, Job.id == Unit.job_id)
        .outerjoin(SideRun, and_(SideRun.job_id == Unit.job_id, SideRun.kind == Unit.side))
        .where(Unit.status == "ready", is_live())
    )
    return max(float(oldest or 0.0), 0.0)


def is_swept() -> list[ColumnElement[bool]]:
    """The conditions that a unit is a chain at which a worker is."""
    return [Unit.kind == UnitKind.CHAIN, Unit.status == "running", Unit.lease_until >= now()]


def pace(session: Session) -> tuple[float, float]:
    """Sweeps and tokens a second of the chains that are being worked at, as each last saved them."""
    rate = func.coalesce(Unit.sweeps_per_second, 0.0)
    asked = select(func.sum(rate), func.sum(rate * Encoding.n_tokens)).select_from(Unit).join(Job)
    sweeps, tokens = session.execute(asked.join(Encoding, Encoding.id == Job.encoding_id).where(*is_swept())).one()
    return float(sweeps or 0.0), float(tokens or 0.0)


def checkpoints(session: Session) -> tuple[int, float]:
    """Of the newest checkpoints of the chains that are being worked at: the largest size, and the greatest age."""
    newest = select(func.max(Checkpoint.id)).join(Unit, Unit.id == Checkpoint.unit_id).where(*is_swept())
    size, age = session.execute(
        select(func.max(func.length(Checkpoint.data)), now() - func.min(Checkpoint.created_at)).where(
            Checkpoint.id.in_(newest.group_by(Checkpoint.unit_id))
        )
    ).one()
    return int(size or 0), max(float(age or 0.0), 0.0)


def database_bytes(session: Session) -> int | None:
    """The size of a database on a server."""
    if session.get_bind().dialect.name != "postgresql":
        return None
    return session.scalar(select(func.pg_database_size(func.current_database())))
