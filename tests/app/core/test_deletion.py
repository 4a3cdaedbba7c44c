"""A job that is deleted while somebody else sets it going again: one of the two wins; on both databases."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from app.core import lifecycle
from app.core.db import Database
from app.core.errors import ServiceError
from app.core.runs import Run
from app.core.tables import Job, SideRun, Unit
from tests.app import rows
from tests.waits import REQUEST_SECONDS

ROUNDS = 6


def cancelled_job(database: Database) -> str:
    job_id, _ = rows.submit(database)
    with database.sessions.begin() as session:
        lifecycle.cancel(session, Run(job_id))
    return job_id


def succeeded_job(database: Database) -> str:
    job_id, _ = rows.submit(database)
    with database.sessions.begin() as session:
        session.execute(update(Unit).where(Unit.job_id == job_id).values(status="done"))
        session.execute(update(Job).where(Job.id == job_id).values(status="succeeded"))
    return job_id


def job_whose_extension_was_cancelled(database: Database) -> str:
    job_id = succeeded_job(database)
    with database.sessions.begin() as session:
        lifecycle.extend(session, job_id, 5)
        lifecycle.cancel(session, Run(job_id, "extension"))
    return job_id


def resume_extension(session: Session, job_id: str) -> None:
    lifecycle.resume(session, Run(job_id, "extension"))


@pytest.mark.parametrize(
    ("made", "set_going"),
    [
        (cancelled_job, lambda session, job_id: lifecycle.resume(session, Run(job_id))),
        (succeeded_job, lambda session, job_id: lifecycle.extend(session, job_id, 5)),
        (
            job_whose_extension_was_cancelled,
            lambda session, job_id: lifecycle.resume(session, Run(job_id, "extension")),
        ),
    ],
)
def test_of_a_deletion_and_a_new_start_at_once_one_wins(
    database: Database, made: Callable[[Database], str], set_going: Callable[[Session, str], object]
) -> None:
    def attempt(act: Callable[[Session, str], object], job_id: str, start: Barrier) -> bool:
        start.wait(REQUEST_SECONDS)
        try:
            with database.sessions.begin() as session:
                act(session, job_id)
        except ServiceError:
            return False
        return True

    for _ in range(ROUNDS):
        job_id, start = made(database), Barrier(2)
        with ThreadPoolExecutor(2) as pool:
            deleted = pool.submit(attempt, lifecycle.delete, job_id, start)
            going = pool.submit(attempt, set_going, job_id, start)
        assert deleted.result() != going.result()
        with database.readers.begin() as session:
            marked, status = session.execute(select(Job.deleted_at, Job.status).where(Job.id == job_id)).one()
            statuses = [status, *session.scalars(select(SideRun.status).where(SideRun.job_id == job_id))]
        assert (marked is not None) == deleted.result()
        assert bool({"queued", "running"} & set(statuses)) == going.result()
