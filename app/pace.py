"""How fast this service is, by the jobs that it has done: forecasts for the reference machine are scaled by it."""

import threading
import time

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.corpus_sizes import sizes_of
from app.forecast import forecast
from app.models import Job, Unit

N_JOBS = 3  # that have succeeded, the newest
N_LOOKED_AT = 50  # jobs, for these
KINDS = ("calibrate", "chain", "conclude")  # whose work no earlier job can have done
LIMITS = (0.1, 20.0)
FRESH_SECONDS = 30.0  # for so long it is not measured again

LOCK = threading.Lock()
MEASURED: dict[str, tuple[float, float]] = {}  # by database: when it was measured, and the pace


def measured_pace(session: Session) -> float:
    """How many seconds a second of forecast takes here; 1 while that is not known.

    It is that of the fastest of the last jobs: what held up the others, such as other programs, may have passed.
    """
    database = str(session.get_bind().engine.url)
    with LOCK:
        measured_at, pace = MEASURED.get(database, (-FRESH_SECONDS, 1.0))
    if time.monotonic() - measured_at < FRESH_SECONDS:
        return pace
    pace = min((pace_of(session, job) for job in newest_succeeded(session)), default=1.0)
    with LOCK:
        MEASURED[database] = (time.monotonic(), pace)
    return pace


def newest_succeeded(session: Session) -> list[Job]:
    """Some of the last jobs that have succeeded."""
    newest = select(Job.id, Job.status).order_by(Job.created_at.desc(), Job.id.desc()).limit(N_LOOKED_AT)
    ids = [job_id for job_id, status in session.execute(newest) if status == "succeeded"][:N_JOBS]
    return list(session.scalars(select(Job).where(Job.id.in_(ids))))


def pace_of(session: Session, job: Job) -> float:
    """The pace of a job."""
    expected = forecast(sizes_of(session, job), job.settings)
    worked = due = 0.0
    of_kinds = (
        select(Unit.kind, func.sum(Unit.seconds))
        .where(Unit.job_id == job.id, Unit.kind.in_(KINDS), Unit.side.is_(None))
        .group_by(Unit.kind)
    )
    for kind, seconds in session.execute(of_kinds):
        if seconds:
            worked, due = worked + seconds, due + expected.seconds(kind)
    low, high = LIMITS
    return min(max(worked / due, low), high) if due else 1.0
