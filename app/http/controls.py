"""What owners do to a run that is there: stop it or resume it. The answer is its job as it is then."""

from collections.abc import Callable
from http import HTTPStatus

from fastapi import Response
from sqlalchemy.orm import Session, sessionmaker

from app.broker import queue
from app.core import lifecycle
from app.core.idempotency import Answer, Once
from app.core.runs import LIVE, Run
from app.core.settings import Settings
from app.core.tables import Job
from app.forecasts.limits import check_room
from app.http.dependencies import answer
from app.http.progress import describe
from app.schemas.jobs import JobOut
from app.webhooks.sending import rearm

POLL_SECONDS = "1"  # when to ask for a job that was just queued
POLLS_OF_REST, MOST_POLL_SECONDS = 25, 10  # in the time left, which gets shorter: at last each second


def accepted(session: Session, once: Once, job: Job, settings: Settings, secret: str | None = None) -> Answer:
    """The answer to a request that has queued a job, or to the first one under its key. Raises TooManyJobs.

    `secret` is that of its webhook, if it was made here: no other answer has it.
    """
    check_room(session, settings, job)
    [told] = describe(session, [job], settings)
    if told.webhook is not None:
        told.webhook.secret = secret
    made = answer(HTTPStatus.ACCEPTED, told, Location=told.links.self, Retry_After=POLL_SECONDS)
    return once.end(session, made)


def stop(
    change: Callable[[Session, Run], Job], run: Run, sessions: sessionmaker[Session], settings: Settings
) -> JobOut:  # fmt: skip
    """Cancel or pause a run, as `change` does. Raises what that raises."""
    with sessions.begin() as session:
        job = change(session, run)
        [told] = describe(session, [job], settings)
    return told


def resume(run: Run, sessions: sessionmaker[Session], settings: Settings, response: Response) -> JobOut:
    """Queue a run again and wake workers. Raises what `lifecycle.resume` and `check_room` raise."""
    with sessions.begin() as session:
        job, unit_ids = lifecycle.resume(session, run)
        check_room(session, settings, job)
        if run.side is None:
            rearm(session, run.job_id)
        [told] = describe(session, [job], settings)
    queue.wake(sessions, unit_ids)
    return queued(told, response)


def poll_seconds(told: JobOut) -> str | None:
    """When to ask for a job again; None if neither it nor a side run is live."""
    runs = [run for run in (told, told.extension, told.power_test) if run is not None and run.status in LIVE]
    if not runs:
        return None
    soonest = min(run.progress.seconds_left or 0.0 for run in runs)
    return str(min(max(int(soonest / POLLS_OF_REST), 1), MOST_POLL_SECONDS))


def queued(told: JobOut, response: Response) -> JobOut:
    """Say where and when to follow a job that has work to do again."""
    response.headers["Location"] = told.links.self
    response.headers["Retry-After"] = POLL_SECONDS
    return told
