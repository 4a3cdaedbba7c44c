"""How fast this service is, by the jobs that it has done: forecasts for the reference machine are scaled by it."""

import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.completion import REUSED
from app.corpus_sizes import sizes_of
from app.forecast import KINDS, forecast
from app.models import Job, Unit

N_JOBS = 3  # of each model that have succeeded, the newest
N_LOOKED_AT = 50  # jobs, for these
SHARED = ("encode", "atoms")  # kinds whose work an earlier job may have done
LIMITS = (0.1, 20.0)
FRESH_SECONDS = 30.0  # for so long it is not measured again

# How many seconds a second of forecast takes here, by model and kind of unit, as far as that is known.
Paces = Mapping[str, Mapping[str, float]]

LOCK = threading.Lock()
MEASURED: dict[str, tuple[float, Paces]] = {}  # by database: when it was measured, and what was found


def measured_paces(session: Session) -> Paces:
    """The paces of the last jobs.

    Of each kind it is that of the middle one of the last jobs, the faster one of two: what held up a slower one, such
    as another program, may have passed.
    """
    database = str(session.get_bind().engine.url)
    with LOCK:
        measured_at, paces = MEASURED.get(database, (-FRESH_SECONDS, {}))
    if time.monotonic() - measured_at < FRESH_SECONDS:
        return paces
    paces = {model: middle([paces_of(session, job) for job in jobs]) for model, jobs in newest(session).items()}
    with LOCK:
        MEASURED[database] = (time.monotonic(), paces)
    return paces


def newest(session: Session) -> Mapping[str, Sequence[Job]]:
    """Some of the last jobs that have succeeded, by model."""
    seen = select(Job.id, Job.status).order_by(Job.created_at.desc(), Job.id.desc()).limit(N_LOOKED_AT)
    ids = [job_id for job_id, status in session.execute(seen) if status == "succeeded"]
    jobs = defaultdict(list)
    for job in session.scalars(select(Job).where(Job.id.in_(ids)).order_by(Job.created_at.desc(), Job.id.desc())):
        jobs[job.settings["model"]].append(job)
    return {model: found[:N_JOBS] for model, found in jobs.items()}


def middle(found: Sequence[Mapping[str, float]]) -> Mapping[str, float]:
    """The middle one of the paces of some jobs, by kind."""
    by_kind = defaultdict(list)
    for paces in found:
        for kind, pace in paces.items():
            by_kind[kind].append(pace)
    return {kind: sorted(paces)[(len(paces) - 1) // 2] for kind, paces in by_kind.items()}


def paces_of(session: Session, job: Job) -> Mapping[str, float]:
    """The paces of a job, by kind of unit."""
    expected = forecast(sizes_of(session, job), job.settings)
    of_kinds = (
        select(Unit.kind, func.sum(Unit.seconds))
        .where(Unit.job_id == job.id, Unit.kind.in_(KINDS), Unit.side.is_(None))
        .group_by(Unit.kind)
    )
    low, high = LIMITS
    paces = {}
    for kind, seconds in session.execute(of_kinds):
        ratio = float(seconds or 0.0) / expected.seconds(kind)
        if ratio > (REUSED if kind in SHARED else 0.0):
            paces[kind] = min(max(ratio, low), high)
    return paces
