"""A job that is deleted while somebody else sets it going again: the first wins; on both databases."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait

import pytest
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from app.core import lifecycle
from app.core.db import Database
from app.core.errors import ServiceError
from app.core.runs import Run
from app.core.tables import Job, SideRun, Unit
from tests.app import rows
from tests.waits import slowness


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


@pytest.mark.parametrize("is_deletion_first", [True, False])
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
def test_of_a_deletion_and_a_new_start_at_once_the_first_wins(
    database: Database,
    made: Callable[[Database], str],
    set_going: Callable[[Session, str], object],
    is_deletion_first: bool,
) -> None:
    """The second comes while the transaction of the first is open: it waits, and then sees what the first one did."""
    job_id = made(database)
    acts = (lifecycle.delete, set_going) if is_deletion_first else (set_going, lifecycle.delete)

    def attempt() -> bool:
        try:
            with database.sessions.begin() as session:
                acts[1](session, job_id)
        except ServiceError:
            return False
        return True

    with ThreadPoolExecutor(1) as pool:
        with database.sessions.begin() as session:
            acts[0](session, job_id)
            session.flush()
            second = pool.submit(attempt)
            wait([second], timeout=0.3 * slowness())
            assert not second.done()
        assert not second.result()
    with database.readers.begin() as session:
        marked, status = session.execute(select(Job.deleted_at, Job.status).where(Job.id == job_id)).one()
        statuses = [status, *session.scalars(select(SideRun.status).where(SideRun.job_id == job_id))]
    assert (marked is not None) == is_deletion_first
    assert bool({"queued", "running"} & set(statuses)) != is_deletion_first
