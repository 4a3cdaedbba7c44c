"""Which jobs retention may touch: those that have ended, that nobody has used for a while, and that no other one needs.

A job is used when it or a side run of it ends, and when somebody decides about its answers; to delete it, its model
must not have answered new documents either. Each condition is asked again by the statement that acts on it.
"""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, and_, not_, or_, select
from sqlalchemy.orm import Session, aliased

from app.core.runs import UNFINISHED
from app.core.tables import CategorizedDay, Decision, FrozenModel, Job, SideRun, is_visible_job

DAY_SECONDS = 86_400.0
MIDNIGHT = 1.0  # days: the use of a model is counted by whole days


def is_ended() -> ColumnElement[bool]:
    """The condition that nobody has deleted a job, and neither it nor a side run of it is queued, running or paused."""
    side = select(SideRun.job_id).where(SideRun.job_id == Job.id, SideRun.status.in_(UNFINISHED))
    return and_(is_visible_job(), Job.status.not_in(UNFINISHED), ~side.exists())


def is_unused_since(time: ColumnElement[float]) -> ColumnElement[bool]:
    """The condition that a job that has ended did so before a time, as did what was decided about it."""
    side = select(SideRun.job_id).where(SideRun.job_id == Job.id, SideRun.finished_at >= time)
    decision = select(Decision.job_id).where(Decision.job_id == Job.id, Decision.made_at >= time)
    return and_(Job.finished_at < time, ~side.exists(), ~decision.exists())


def is_needed() -> ColumnElement[bool]:
    """The condition that a job that continues this one has not succeeded, and may come to read its chains again."""
    heir = aliased(Job)
    may_read = (heir.continues == Job.id, heir.deleted_at.is_(None), heir.expired_at.is_(None))
    return select(heir.id).where(*may_read, heir.status != "succeeded").exists()


def has_answered_since(time: ColumnElement[float]) -> ColumnElement[bool]:
    """The condition that a model of a job has answered new documents since a time."""
    since = time / DAY_SECONDS - MIDNIGHT
    answered = select(CategorizedDay.day).join(FrozenModel, FrozenModel.id == CategorizedDay.model_id)
    return answered.where(FrozenModel.job_id == Job.id, CategorizedDay.day > since).exists()


def may_be_deleted(time: ColumnElement[float]) -> ColumnElement[bool]:
    """The condition that a job unused since a time may go, with all its results."""
    return and_(is_ended(), is_unused_since(time), not_(is_needed()), not_(has_answered_since(time)))


def may_expire(time: ColumnElement[float]) -> ColumnElement[bool]:
    """The condition that a job unused since a time may lose its checkpoints."""
    return and_(is_ended(), is_unused_since(time), not_(is_needed()), Job.expired_at.is_(None))


def jobs_to_delete(session: Session, time: ColumnElement[float]) -> Sequence[str]:
    """The ids of jobs that are of no comparison of methods and may go, the oldest first."""
    found = select(Job.id).where(Job.comparison_id.is_(None), may_be_deleted(time))
    return session.scalars(found.order_by(Job.created_at, Job.id)).all()


def comparisons_to_delete(session: Session, time: ColumnElement[float]) -> Sequence[str]:
    """The ids of comparisons of methods all of whose jobs may go: they are worth something beside each other."""
    of_comparison = (Job.comparison_id.is_not(None), is_visible_job())
    staying = select(Job.comparison_id).where(*of_comparison, not_(may_be_deleted(time)))
    found = select(Job.comparison_id).where(*of_comparison, Job.comparison_id.not_in(staying)).distinct()
    return [str(each) for each in session.scalars(found.order_by(Job.comparison_id))]


def jobs_to_expire(session: Session, time: ColumnElement[float]) -> Sequence[str]:
    """The ids of jobs that may lose their checkpoints, the oldest first."""
    return session.scalars(select(Job.id).where(may_expire(time)).order_by(Job.created_at, Job.id)).all()


def n_kept(session: Session, time: ColumnElement[float]) -> int:
    """How many jobs ended before a time, and yet stay: they have been used since, or another one needs them."""
    is_kept = or_(not_(is_unused_since(time)), is_needed(), has_answered_since(time))
    return len(session.scalars(select(Job.id).where(is_ended(), Job.finished_at < time, is_kept)).all())
