"""How fast this service is, by the jobs that it has done: forecasts for the reference machine are scaled by it."""

import math
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.core.kinds import UNIT_KINDS
from app.core.tables import Job, Unit
from app.forecasts.completion import REUSED
from app.forecasts.corpus_sizes import sizes_of
from app.forecasts.forecast import forecast

N_JOBS = 3  # whose paces a job is expected to have
N_LOOKED_AT, N_KEPT = 50, 12  # of the newest jobs; of those that have succeeded, of each model
LIMITS = (0.1, 20.0)
FRESH_SECONDS = 30.0  # for so long they are not looked at again

# How many seconds a second of forecast takes here, by kind of unit, as far as that is known.
Paces = Mapping[str, float]


class Shown(NamedTuple):
    """What a job has shown of this machine."""

    model: str
    seconds: float  # that were forecast
    paces: Paces


LOCK = threading.Lock()
SHOWN: dict[str, tuple[float, Sequence[Shown]]] = {}  # by database: when it was looked at, and what was found


def shown_by_jobs(session: Session) -> Sequence[Shown]:
    """What the last jobs that have succeeded have shown, the newest first."""
    database = str(session.get_bind().engine.url)
    with LOCK:
        looked_at, found = SHOWN.get(database, (-FRESH_SECONDS, []))
    if time.monotonic() - looked_at < FRESH_SECONDS:
        return found
    found = [shown_by(session, job) for job in newest(session)]
    with LOCK:
        SHOWN[database] = (time.monotonic(), found)
    return found


def expected_paces(shown: Sequence[Shown], model: str, seconds: float) -> Paces:
    """The paces that a job of so many forecast seconds is expected to have, by the jobs of its model most like it.

    Forecasts are off by another factor for small jobs than for large ones. Of each kind it is the middle one of a few
    jobs, the faster one of two: what held up a slower one, such as another program, may have passed.
    """
    alike = sorted(
        (each for each in shown if each.model == model), key=lambda each: abs(math.log(each.seconds / seconds))
    )  # the newest of those that are equally near
    return middle([each.paces for each in alike[:N_JOBS]])


def newest(session: Session) -> Sequence[Job]:
    """Some of the last jobs that have succeeded."""
    seen = select(Job.id, Job.status).order_by(Job.created_at.desc(), Job.id.desc()).limit(N_LOOKED_AT)
    ids = [job_id for job_id, status in session.execute(seen) if status == "succeeded"]
    jobs = session.scalars(select(Job).where(Job.id.in_(ids)).order_by(Job.created_at.desc(), Job.id.desc())).all()
    n_kept: Counter[str] = Counter()
    kept = []
    for job in jobs:
        n_kept[job.settings["model"]] += 1
        if n_kept[job.settings["model"]] <= N_KEPT:
            kept.append(job)
    return kept


def middle(found: Sequence[Paces]) -> Paces:
    """The middle one of the paces of some jobs, by kind."""
    by_kind = defaultdict(list)
    for paces in found:
        for kind, pace in paces.items():
            by_kind[kind].append(pace)
    return {kind: sorted(paces)[(len(paces) - 1) // 2] for kind, paces in by_kind.items()}


def shown_by(session: Session, job: Job) -> Shown:
    """What a job has shown."""
    expected = forecast(sizes_of(session, job), job.settings, goes_on=job.continues is not None)
    of_kinds = (
        select(Unit.kind, func.sum(Unit.seconds)).where(Unit.job_id == job.id, Unit.side.is_(None)).group_by(Unit.kind)
    )
    low, high = LIMITS
    paces = {}
    for kind, seconds in session.execute(of_kinds):
        ratio = float(seconds or 0.0) / expected.seconds(kind)
        if ratio > (REUSED if UNIT_KINDS[kind].is_shared else 0.0):
            paces[kind] = min(max(ratio, low), high)
    return Shown(job.settings["model"], expected.job_seconds, paces)
