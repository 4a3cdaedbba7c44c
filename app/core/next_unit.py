"""Turns: which unit a free worker claims next, and when a leg gives way to a job on which nobody works.

What is asked here must not take longer the more jobs are queued. So the first job in turn of each owner is looked up
in the index of live jobs, and these few are compared.
"""

from collections import Counter
from collections.abc import Collection
from math import inf
from typing import NamedTuple

from sqlalchemy import CTE, ColumnElement, Text, case, cast, func, or_, select, true
from sqlalchemy.orm import Session, aliased

from app.core.db import now
from app.core.kinds import UnitKind
from app.core.leases import is_free, is_unclaimed
from app.core.runs import LIVE
from app.core.tables import IS_AT_HAND, IS_LIVE, Job, SideRun, Unit, named_in

EMBEDDING_MODEL = "embedding_model"  # in the settings of a job whose vectors are made


def is_possible(embedding_model: str | None) -> ColumnElement[bool]:
    """The condition that a worker with this embedding model, or none, can do a unit of a job: make its vectors, if so.

    Settings are looked at as text, since what is damaged there must not spoil the search; and only where a unit makes
    vectors, since they may be long.
    """
    settings = cast(Job.settings, Text)
    possible = ~settings.contains(f'"{EMBEDDING_MODEL}": "', autoescape=True)
    if embedding_model is not None:
        possible = or_(possible, settings.contains(named_in(EMBEDDING_MODEL, embedding_model), autoescape=True))
    return case((Unit.kind != UnitKind.VECTORS, true()), else_=possible)


class Free(NamedTuple):
    """A unit that may be claimed: no more of its row than it takes to find it, so that no row can spoil the search."""

    unit_id: int
    job_id: str
    side: str | None


class Waiting(NamedTuple):
    """A job with a unit that may be claimed."""

    job_id: str
    owner: str
    waits_since: float
    turned_to: float | None  # when a worker last turned to any job of its owner


class AtWork(NamedTuple):
    """How many workers are at work now."""

    by_job: Counter[str]
    by_owner: Counter[str]


def next_unit(session: Session, turn_of: str | None = None, embedding_model: str | None = None) -> Free | None:
    """The unit that a worker that is free, with this embedding model, should claim; None if there is none for it.

    Owners take turns, and so do the jobs of each owner. First comes the owner for whom the fewest workers are at work,
    then the one of the job whose turn it still is for the worker that asks (`turn_of`), then the one to whom no worker
    has turned for the longest time. The same three rules put the jobs of an owner in order, and within a job the units
    that have been ready for longest come first.
    """
    at_work = workers_at_work(session)
    found = waiting_jobs(session, {*at_work.by_job, *([turn_of] if turn_of else [])}, at_work, embedding_model)
    if not found:
        return None
    keeps_turn = next((job.owner for job in found if job.job_id == turn_of), None)

    def turn(job: Waiting) -> tuple[float | str, ...]:
        turned_to = -inf if job.turned_to is None else job.turned_to
        of_owner = (at_work.by_owner[job.owner], job.owner != keeps_turn, turned_to, job.owner)
        return (*of_owner, at_work.by_job[job.job_id], job.job_id != turn_of, job.waits_since, job.job_id)

    unit = select(Unit.id, Unit.job_id, Unit.side).join(Job, Job.id == Unit.job_id)
    unit = unit.where(Unit.job_id == min(found, key=turn).job_id, is_free(), is_possible(embedding_model))
    claimed = session.execute(unit.order_by(Unit.lease_until, Unit.id).limit(1)).one_or_none()
    return None if claimed is None else Free(*claimed)


def others_wait(session: Session, job_id: str, embedding_model: str | None = None) -> bool:
    """Whether a worker that left this job would turn to another one, which has no worker at all.

    That is one of the same owner, or of an owner who has fewer workers than this one.
    """
    at_work = workers_at_work(session)
    mine = session.scalar(select(Job.owner).where(Job.id == job_id))
    n_mine = max(at_work.by_owner[str(mine)], 1)  # the worker that asks is one
    return any(
        job.owner == mine or at_work.by_owner[job.owner] < n_mine
        for job in waiting_jobs(session, set(), at_work, embedding_model, but_for=job_id)
        if not at_work.by_job[job.job_id] and job.job_id != job_id
    )


def workers_at_work(session: Session) -> AtWork:
    """How many workers hold a unit, under a lease that has not run out."""
    held = (IS_AT_HAND, Unit.status == "running", Unit.lease_until >= now())
    query = select(Unit.job_id, Job.owner, func.count()).join(Job, Job.id == Unit.job_id).where(*held)
    found = AtWork(Counter(), Counter())
    for job_id, owner, n_workers in session.execute(query.group_by(Unit.job_id, Job.owner)):
        found.by_job[job_id] += n_workers
        found.by_owner[owner] += n_workers
    return found


def waiting_jobs(
    session: Session, asked_for: set[str], at_work: AtWork, embedding_model: str | None, but_for: str = ""
) -> list[Waiting]:
    """Jobs with a unit that is free and possible, among them whatever is next.

    Of each owner it is the one that has waited for longest of those without a worker, `but_for` one of them, and all
    with side runs; and those that are asked for.
    """
    ids = asked_for.union(first_jobs(session, {*at_work.by_job, but_for}, embedding_model))
    other = aliased(Job)
    turned_to = select(func.max(other.claimed_at)).where(other.owner == Job.owner).correlate(Job).scalar_subquery()
    unit = select(Unit.id).where(Unit.job_id == Job.id, is_free(), is_possible(embedding_model)).correlate(Job)
    waiting = select(Job.id, Job.owner, Job.waits_since, turned_to).where(unit.exists())
    aside = waiting.join(SideRun, SideRun.job_id == Job.id).where(SideRun.status.in_(LIVE))
    found = (
        [*session.execute(waiting.where(Job.id.in_(ids))), *session.execute(aside)] if ids else session.execute(aside)
    )
    return [Waiting(*row) for row in found]


def first_jobs(session: Session, but_for: Collection[str], embedding_model: str | None) -> list[str]:
    """The ids of live jobs with a unit that is free and possible, of each owner that which has waited for longest."""
    of_main = (Unit.job_id == Job.id, Unit.side.is_(None), is_unclaimed(), is_possible(embedding_model))
    unit = select(Unit.id).where(*of_main).correlate(Job)
    every = owners()
    mine = (IS_LIVE, Job.owner == every.c.owner, Job.id.not_in(but_for), unit.exists())
    first = select(Job.id).where(*mine).order_by(Job.waits_since, Job.id).limit(1).correlate(every).scalar_subquery()
    found = session.scalars(select(first).select_from(every).where(every.c.owner.is_not(None)))
    return [job_id for job_id in found if job_id is not None]


def owners() -> CTE:
    """Who has a live job, one after the other looked up in an index: it does not matter how many jobs each has."""
    first = select(func.min(Job.owner).label("owner")).where(IS_LIVE).cte("owners", recursive=True)
    after = select(func.min(Job.owner)).where(IS_LIVE, Job.owner > first.c.owner).correlate(first).scalar_subquery()
    return first.union_all(select(after).where(first.c.owner.is_not(None)))
