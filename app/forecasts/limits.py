"""What the operator allows jobs to take: of each by its forecast, and of all that are live at once."""

from datetime import timedelta

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from app.core import disk
from app.core.errors import JobTooLarge, StorageFull, TooManyJobs
from app.core.kinds import Model, UnitKind
from app.core.quotas import NO_MORE, Live, check_live, live_of, n_owners
from app.core.runs import is_live
from app.core.settings import Settings
from app.core.tables import IS_LIVE, Job, SideRun, Unit
from app.forecasts.corpus_sizes import sizes_of

UNITS_BESIDES_CHAINS = len(UnitKind) - 1  # of a job, at most
SHARED = 0.8  # of all places may be taken by whoever comes first; the rest by owners who have less than an equal part


def check_size(
    what: str, seconds: float, peak_bytes: int, settings: Settings, model: str | None = None
) -> None:  # fmt: skip
    """Raise JobTooLarge if `what` is forecast to take more than one job, of this model, may."""
    if model == Model.COSC:
        what = f"{what}, whose model compares every two documents and holds what they have in common,"
    forecast = (
        f"{what} would take about {seconds:,.0f} seconds of work for one worker "
        f"({readable(seconds)}) and {peak_bytes:,} bytes of its memory"
    )
    if seconds > settings.max_job_seconds:
        raise JobTooLarge(
            f"{forecast}; NEWFOUND_MAX_JOB_SECONDS allows {settings.max_job_seconds:,.0f} seconds: "
            "request fewer sweeps or chains, or smaller constants of the model"
        )
    if peak_bytes > settings.max_job_bytes:
        raise JobTooLarge(
            f"{forecast}; NEWFOUND_MAX_JOB_BYTES allows {settings.max_job_bytes:,} bytes: "
            "request fewer topics or atoms, or a higher min_document_frequency"
        )


def readable(seconds: float) -> str:
    """The time in days, hours and minutes."""
    return str(timedelta(seconds=round(seconds)))


def check_room(session: Session, settings: Settings, job: Job) -> None:
    """Raise what `check_room_for` raises, once a request has made a job, or a side run of it, live."""
    note_tokens(session, job)
    check_room_for(session, settings, job.owner)


def note_tokens(session: Session, job: Job) -> None:
    """Note how many tokens the corpus of a job has, as far as is known now: its owner may have so many live."""
    job.n_tokens = sizes_of(session, job).n_tokens
    session.flush()


def check_room_for(
    session: Session, settings: Settings, owner: str, more: Live = NO_MORE, more_units: int = 0
) -> None:  # fmt: skip
    """Raise StorageFull if the disk has no room for what jobs write, TooManyJobs if more is live than may be.

    `more` and `more_units` are what would be live. Two requests at once may both find the last place of the service
    free: that limit is for its health, and it bears one more. Those of an owner are exact.
    """
    check_disk(settings)
    check_live(session, owner, settings, more)
    n_jobs = live_jobs(session) + more.jobs
    if n_jobs > settings.max_live_jobs:
        raise TooManyJobs(
            f"{n_jobs - 1:,} jobs are queued or running, and NEWFOUND_MAX_LIVE_JOBS allows {settings.max_live_jobs:,}: "
            "try again when one has ended"
        )
    shared_jobs, shared_units = (int(SHARED * most) for most in (settings.max_live_jobs, settings.max_live_units))
    n_units = live_units(session, shared_units - more_units) + more_units
    if n_jobs > shared_jobs or n_units > shared_units:
        check_share(session, settings, owner, more)
    if n_units > settings.max_live_units:
        raise TooManyJobs(
            f"with this job {n_units:,} units of work would be queued or running, and NEWFOUND_MAX_LIVE_UNITS allows "
            f"{settings.max_live_units:,}: try again later, or request fewer chains"
        )


def check_share(session: Session, settings: Settings, owner: str, more: Live) -> None:
    """Raise TooManyJobs if an owner has more than an equal part of all places: the last ones are kept for others."""
    places = {"jobs": settings.max_live_jobs, "units of work": settings.max_live_units}
    n = n_owners(session)
    if n < 2:
        return
    live = live_of(session, owner)
    n_jobs, n_chains = live.jobs + more.jobs, live.chains + more.chains
    used = {"jobs": n_jobs, "units of work": n_chains + UNITS_BESIDES_CHAINS * n_jobs}
    for what, most in places.items():
        if used[what] > most / n:
            raise TooManyJobs(
                f"with this {owner} would have {used[what]:,} of the {most:,} {what} that may be queued or running; "
                f"the last {1 - SHARED:.0%} of them are kept for owners who have no more than {most // n:,}: try again "
                "when a job has ended"
            )


def check_disk(settings: Settings) -> None:
    """Raise StorageFull if nothing new is to be taken in."""
    reason = disk.shortage(settings)
    if reason is not None:
        raise StorageFull(reason)


def live_jobs(session: Session) -> int:
    """Jobs and side runs that are queued or running."""
    return session.scalar(select(count_of_live())) or 0


def count_of_live() -> ColumnElement[int]:
    """The number of jobs and side runs that are queued or running, as a part of a query."""
    jobs, side_runs = (
        select(func.count()).select_from(table).where(IS_LIVE).scalar_subquery() for table in (Job, SideRun)
    )
    return jobs + side_runs


def live_units(session: Session, enough: int = 0) -> int:
    """Units that live jobs and side runs still have to do; or an upper bound, if that is not above `enough`.

    The bound is found in the indices of what is live, as if nothing of it had been done.
    """
    jobs = select(func.sum(Job.chains + UNITS_BESIDES_CHAINS)).where(IS_LIVE)
    sides = select(func.sum(Job.chains + 1)).where(Job.id.in_(select(SideRun.job_id).where(IS_LIVE)))
    bound = sum(session.scalar(query) or 0 for query in (jobs, sides))
    if bound <= enough:
        return bound
    return session.scalar(select(func.count(Unit.id)).where(Unit.status != "done", is_live())) or 0
