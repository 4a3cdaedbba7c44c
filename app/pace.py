"""How fast this service is, by the jobs that it has done: forecasts for the reference machine are scaled by it."""

import threading
import time
from collections.abc import Mapping

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.corpus_sizes import sizes_of
from app.forecast import forecast
from app.models import Job, Unit

N_JOBS = 3  # of each model that have succeeded, the newest
N_LOOKED_AT = 50  # jobs, for these
KINDS = ("calibrate", "chain", "conclude")  # whose work no earlier job can have done
LIMITS = (0.1, 20.0)
FRESH_SECONDS = 30.0  # for so long it is not measured again

LOCK = threading.Lock()
MEASURED: dict[str, tuple[float, dict[str, float]]] = {}  # by database: when it was measured, and the pace by model


def measured_paces(session: Session) -> dict[str, float]:
    """How many seconds a second of forecast takes here, by model, as far as that is known.

    It is that of the fastest of the last jobs: what held up the others, such as other programs, may have passed.
    """
    database = str(session.get_bind().engine.url)
    with LOCK:
        measured_at, paces = MEASURED.get(database, (-FRESH_SECONDS, {}))
    if time.monotonic() - measured_at < FRESH_SECONDS:
        return paces
    newest = newest_succeeded(session)
    paces = {model: min(pace_of(session, job) for job in jobs) for model, jobs in newest.items()}
    with LOCK:
        MEASURED[database] = (time.monotonic(), paces)
    return paces


def of_model(paces: Mapping[str, float], model: str) -> float:
    """The pace of a model; that of the fastest one if it has none yet, and 1 if none has."""
    return paces.get(model, min(paces.values(), default=1.0))


def newest_succeeded(session: Session) -> dict[str, list[Job]]:
    """Some of the last jobs that have succeeded, by model."""
    newest = select(Job.id, Job.status).order_by(Job.created_at.desc(), Job.id.desc()).limit(N_LOOKED_AT)
    ids = [job_id for job_id, status in session.execute(newest) if status == "succeeded"]
    jobs: dict[str, list[Job]] = {}
    for job in session.scalars(select(Job).where(Job.id.in_(ids)).order_by(Job.created_at.desc(), Job.id.desc())):
        jobs.setdefault(job.settings["model"], []).append(job)
    return {model: found[:N_JOBS] for model, found in jobs.items()}


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
