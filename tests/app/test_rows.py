"""Rows that tests put into the tables are those that the service writes."""

from typing import Any

import pytest

from app.core.db import Database
from app.core.tables import Job, Unit
from tests.app.rows import OF_MODEL, end, job_of, submit, succeed

OWN = {"id", "job_id"}
TIMES = {"saved_at", "created_at", "claimed_at", "waits_since", "started_at", "finished_at"}


def told(row: Job | Unit) -> dict[str, Any]:
    """The columns of a row; of a time whether there is one."""
    names = [column.key for column in row.__table__.columns if column.key not in OWN]
    return {name: (getattr(row, name) is not None) if name in TIMES else getattr(row, name) for name in names}


@pytest.mark.parametrize("model", OF_MODEL)
def test_a_job_that_is_ended_at_once_is_as_one_that_workers_have_ended(database: Database, model: str) -> None:
    worked, unit_ids = submit(database, model=model)
    succeed(database, worked, unit_ids)
    ended, _ = submit(database, model=model)
    end(database, ended)
    assert told(job_of(database, ended)) == told(job_of(database, worked))
    with database.readers.begin() as session:
        by_worker, at_once = (
            [told(unit) for unit in session.query(Unit).filter_by(job_id=job_id).order_by(Unit.id)]
            for job_id in (worked, ended)
        )
    assert at_once == by_worker != []
