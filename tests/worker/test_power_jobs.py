"""The power test leg by leg: what it finds, and that whatever befalls it, it ends in the same rows."""

from typing import Any

import pytest
from sqlalchemy import select
from starlette.testclient import TestClient

from app.core import leases, lifecycle
from app.core.db import Database
from app.core.kinds import SideKind
from app.core.runs import Run
from app.core.settings import Settings
from app.core.tables import PowerStep, Unit
from tests.app.rows import expire
from tests.worker import jobs
from worker import runner, steps


@pytest.fixture
def kind() -> str:
    """What both databases have in common is proved by the tests of other stepwise units."""
    return "sqlite"


@pytest.fixture
def job_id(database: Database, settings: Settings) -> str:
    """A job that has succeeded."""
    return succeeded(database, settings, jobs.upload(database, jobs.rows(40)))


def succeeded(database: Database, settings: Settings, corpus_id: str) -> str:
    """Id of a job over the corpus after its end."""
    job_id, unit_ids = jobs.submit_calibrated(database, corpus_id, sweeps=4, chains=1)
    jobs.run_to_the_end(database, settings, unit_ids)
    return job_id


def begin(database: Database, job_id: str) -> int:
    """Ask for the test; its unit."""
    with database.sessions.begin() as session:
        [unit_id] = lifecycle.begin_power_test(session, job_id)[1]
    return unit_id


def outcome(database: Database, job_id: str) -> Any:
    """The rows that the test left, and how its unit ended."""
    with database.readers.begin() as session:
        rows = select(PowerStep.number, PowerStep.data).where(PowerStep.job_id == job_id).order_by(PowerStep.number)
        unit = select(Unit.status, Unit.n_sweeps, Unit.n_steps, Unit.digest)
        return (
            [tuple(row) for row in session.execute(rows)],
            tuple(session.execute(unit.where(Unit.job_id == job_id, Unit.kind == "power")).one()),
        )


def test_each_known_category_is_found_again_and_the_answers_stay(
    database: Database, settings: Settings, client: TestClient, job_id: str
) -> None:
    before = jobs.outcome(database, job_id)
    jobs.run_to_the_end(database, settings, [begin(database, job_id)])
    assert (jobs.job(database, job_id).status, jobs.job(database, job_id).error) == ("succeeded", None)
    after = jobs.outcome(database, job_id)
    after["units"] = [unit for unit in after["units"] if unit[0] != "power"]
    assert after == before
    told = client.get(f"/v1/jobs/{job_id}/power-test").json()["categories"]
    assert [(row["category"], row["name"], row["noticed"]) for row in told] == [
        (0, "fruit", True),
        (1, "metal", True),
    ]
    assert all(row["found"] > 0.8 and row["recall"] > 0.8 for row in told)


def test_a_killed_test_loses_one_step_and_ends_with_the_same_digest(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch, job_id: str
) -> None:
    with database.readers.begin() as session:
        corpus_id = lifecycle.find_job(session, job_id).corpus_id
    calm_id = succeeded(database, settings, corpus_id)
    jobs.run_to_the_end(database, settings, [begin(database, calm_id)])
    made: list[int] = []
    step = steps.power_step

    def die_at_the_second(*arguments: Any) -> Any:
        made.append(0)
        if len(made) == 2:
            raise jobs.Killed
        return step(*arguments)

    monkeypatch.setattr(steps, "power_step", die_at_the_second)
    unit_id = begin(database, job_id)
    with pytest.raises(jobs.Killed):
        runner.run(database, settings, unit_id, lambda: False)
    rows, unit = outcome(database, job_id)
    assert (len(rows), unit[:3]) == (1, ("running", 1, 2)), "the step before is kept"
    expire(database, unit_id)
    with database.sessions.begin() as session:
        assert leases.reap(session) == [unit_id]
    jobs.run_to_the_end(database, settings, [unit_id])
    assert len(made) == 3, "one step was made twice"
    assert outcome(database, job_id) == outcome(database, calm_id)
    assert jobs.job(database, job_id).status == "succeeded"


def test_a_cancelled_test_stops_after_its_step_and_goes_on_when_it_is_resumed(
    database: Database, settings: Settings, job_id: str
) -> None:
    unit_id = begin(database, job_id)
    assert runner.run(database, settings, unit_id, jobs.Asked(True)) == [unit_id], "a worker that leaves"
    assert outcome(database, job_id)[1][:3] == ("ready", 1, 2)
    with database.sessions.begin() as session:
        lifecycle.cancel(session, Run(job_id, SideKind.POWER_TEST))
    assert runner.run(database, settings, unit_id, lambda: False) == []
    with database.sessions.begin() as session:
        unit_ids = lifecycle.resume(session, Run(job_id, SideKind.POWER_TEST))[1]
    assert unit_ids == [unit_id]
    jobs.run_to_the_end(database, settings, unit_ids)
    rows, unit = outcome(database, job_id)
    assert (len(rows), unit[:3]) == (2, ("done", 2, 2))
    assert jobs.job(database, job_id).status == "succeeded"
