"""Turns: which unit a free worker claims next, and when a leg gives way to a job on which nobody works."""

from typing import NamedTuple

from sqlalchemy import ColumnElement, Select, Text, case, cast, func, literal, or_, select
from sqlalchemy.orm import Session, aliased

from app.core.db import now
from app.core.kinds import UnitKind
from app.core.leases import is_free
from app.core.tables import Job, Unit, named_in

EMBEDDING_MODEL = "embedding_model"  # in the settings of a job whose vectors are made


def at_work(what: ColumnElement[int]) -> Select[int]:
    """What is asked of the units, of the same job as a unit of the query around, at which a worker is now."""
    other = aliased(Unit)
    is_held = (other.job_id == Unit.job_id, other.status == "running", other.lease_until >= now())
    return select(what).select_from(other).where(*is_held).correlate(Unit)


def is_possible(embedding_model: str | None) -> ColumnElement[bool]:
    """The condition that a worker with this embedding model, or none, can do a unit of a job: make its vectors, if so.

    Settings are looked at as text, since what is damaged there must not spoil the search.
    """
    settings = cast(Job.settings, Text)
    possible = [Unit.kind != UnitKind.VECTORS, ~settings.contains(f'"{EMBEDDING_MODEL}": "', autoescape=True)]
    if embedding_model is not None:
        possible.append(settings.contains(named_in(EMBEDDING_MODEL, embedding_model), autoescape=True))
    return or_(*possible)


class Free(NamedTuple):
    """A unit that may be claimed: no more of its row than it takes to find it, so that no row can spoil the search."""

    unit_id: int
    job_id: str
    side: str | None


def next_unit(session: Session, turn_of: str | None = None, embedding_model: str | None = None) -> Free | None:
    """The unit that a worker that is free, with this embedding model, should claim; None if there is none for it.

    Jobs take turns. First comes the job on which the fewest workers are at work, then the job whose turn it still
    is for the worker that asks (`turn_of`), then the one that no worker has turned to for the longest time. Within
    a job the units that have been ready for longest come first.
    """
    n_at_work = at_work(func.count()).scalar_subquery()
    waits_since = func.coalesce(Job.claimed_at, Job.created_at)
    in_turn = (n_at_work, case((Unit.job_id == turn_of, 0), else_=1), waits_since, Unit.lease_until, Unit.id)
    found = session.execute(
        select(Unit.id, Unit.job_id, Unit.side)
        .join(Job, Job.id == Unit.job_id)
        .where(is_free(), is_possible(embedding_model))
        .order_by(*in_turn)
        .limit(1)
    ).one_or_none()
    return None if found is None else Free(*found)


def others_wait(session: Session, job_id: str, embedding_model: str | None = None) -> bool:
    """Whether another job has no worker at all, and a unit that is free and possible with this embedding model."""
    waiting = select(Unit.id).join(Job, Job.id == Unit.job_id).where(is_free(), is_possible(embedding_model))
    waiting = waiting.where(Unit.job_id != job_id, ~at_work(literal(1)).exists())
    return session.scalar(waiting.limit(1)) is not None
