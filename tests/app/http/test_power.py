"""The power test of a job: who may ask for it, what becomes of the job, and what is told of it."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.errors import LeaseLost
from app.core.tables import PowerStep, SideRun
from tests.app import legs, rows
from tests.app.legs import cancel, claim, extend, fail, finish, pause, power_test, release, resume, save_step
from tests.app.rows import add_encoding, add_results, end, job_of, run, submit, succeed, units

SQLITE = pytest.mark.parametrize("kind", ["sqlite"])
PROBLEM = "urn:newfound:problem:"
FOUND = {"found": 0.5, "recall": 0.75, "taken_for": 1, "taken": 0.25, "probability": 0.875}
MISSED = {"found": 0.25, "recall": 0.25, "taken_for": -1, "taken": 0.0, "probability": 0.0}


def succeeded(database: Database, model: str = "calibrated") -> str:
    """Id of a job with results that knows two categories."""
    job_id, _ = submit(database, model=model)
    add_encoding(database, job_id)
    add_results(database, job_id)
    end(database, job_id)
    return job_id


def add_steps(database: Database, job_id: str, *found: dict[str, float]) -> None:
    """What a worker found."""
    with database.sessions.begin() as session:
        session.add_all(PowerStep(job_id=job_id, number=number, data=data) for number, data in enumerate(found))


@SQLITE
def test_a_succeeded_job_is_tested_once_and_stays_what_it_is(client: TestClient, database: Database) -> None:
    job_id = succeeded(database)
    job = f"/v1/jobs/{job_id}"
    before = client.get(job).json()
    assert before["links"]["power_test"] == f"{job}/power-test"
    assert before["progress"]["stage"] == "done"

    asked = client.post(f"{job}/power-test")
    assert (asked.status_code, asked.headers["Location"], asked.headers["Retry-After"]) == (202, job, "1")
    told = asked.json()
    assert {**told, "power_test": None, "forecast": None} == {**before, "forecast": None}, "the job stays what it is"
    test = told["power_test"]
    assert (test["status"], test["finished_at"], test["progress"]["stage"]) == ("queued", None, "power")
    again = client.post(f"{job}/power-test")
    assert (again.status_code, again.json()["power_test"]["status"]) == (200, "queued")

    [unit] = units(database, job_id, "power")
    claim(database, unit.id, "a")
    fractions = [test["progress"]["fraction"]]
    for n_done in (1, 2):
        save_step(database, unit.id, "a", n_done, 2)
        progress = client.get(job).json()["power_test"]["progress"]
        assert (progress["steps_done"], progress["steps_total"]) == (n_done, 2)
        fractions.append(progress["fraction"])
    assert fractions == sorted(fractions) and fractions[0] < fractions[-1] < 1.0
    assert finish(database, unit.id, "a") == []

    done = client.post(f"{job}/power-test")
    assert (done.status_code, "Retry-After" in done.headers) == (200, False)
    test = done.json()["power_test"]
    assert (test["status"], test["progress"]["stage"], test["progress"]["fraction"]) == ("succeeded", "done", 1.0)
    assert len(units(database, job_id, "power")) == 1


def test_of_many_who_ask_at_once_one_queues_the_test(database: Database) -> None:
    job_id = succeeded(database)

    def asks(_: int) -> int:
        return len(power_test(database, job_id))

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(asks, range(6))) == 1
    assert [unit.status for unit in units(database, job_id, "power")] == ["ready"]


@SQLITE
def test_results_can_be_read_while_the_test_runs_and_after_it_was_cancelled(
    client: TestClient, database: Database
) -> None:
    job_id = succeeded(database)
    parts = [f"/v1/jobs/{job_id}/{part}" for part in ("categories", "documents", "audit")]
    before = [client.get(part).json() for part in parts]
    power_test(database, job_id)
    assert [client.get(part).json() for part in parts] == before
    cancel(database, job_id, "power")
    assert [client.get(part).json() for part in parts] == before
    assert [client.get(part).status_code for part in parts] == [200] * 3


STOPS: dict[str, Callable[[Database, str, int], None]] = {
    "paused": lambda database, job_id, unit: pause(database, job_id, "power"),
    "cancelled": lambda database, job_id, unit: cancel(database, job_id, "power"),
    "failed": lambda database, job_id, unit: fail(database, unit, "a"),
}


def status_of_test(database: Database, job_id: str) -> str:
    with database.readers.begin() as session:
        return session.get_one(SideRun, (job_id, "power")).status


@SQLITE
@pytest.mark.parametrize("asks_again", [False, True])
@pytest.mark.parametrize("status", STOPS)
def test_a_test_that_was_stopped_goes_on_when_it_is_resumed_or_asked_for_again(
    database: Database, status: str, asks_again: bool
) -> None:
    job_id = succeeded(database)
    [unit] = power_test(database, job_id)
    claim(database, unit, "a")
    save_step(database, unit, "a", 1, 2)
    STOPS[status](database, job_id, unit)
    with pytest.raises(LeaseLost):
        finish(database, unit, "a")
    assert not release(database, unit, "a")
    assert (job_of(database, job_id).status, status_of_test(database, job_id)) == ("succeeded", status)
    how = power_test if asks_again else partial(resume, side="power")
    assert how(database, job_id) == [unit]
    run(database, unit)
    assert status_of_test(database, job_id) == "succeeded"
    assert units(database, job_id, "power")[0].n_sweeps == 1


@SQLITE
def test_an_extension_keeps_the_test(client: TestClient, database: Database) -> None:
    job_id = succeeded(database)
    run(database, *power_test(database, job_id))
    add_steps(database, job_id, FOUND)
    before = client.get(f"/v1/jobs/{job_id}/power-test").json()
    assert before["categories"]
    succeed(database, job_id, extend(database, job_id))
    assert client.get(f"/v1/jobs/{job_id}/power-test").json() == before
    assert client.post(f"/v1/jobs/{job_id}/power-test").status_code == 200
    assert [unit.status for unit in units(database, job_id, "power")] == ["done"]


@SQLITE
def test_each_category_is_told_of_by_name(client: TestClient, database: Database) -> None:
    job_id = succeeded(database)
    address = f"/v1/jobs/{job_id}/power-test"
    refused = client.get(address)
    assert (refused.status_code, refused.json()["type"]) == (409, f"{PROBLEM}no-power-test")
    power_test(database, job_id)
    assert client.get(address).json() == {"categories": []}
    add_steps(database, job_id, FOUND, MISSED)
    assert client.get(address).json()["categories"] == [
        {**FOUND, "category": 0, "name": "optics", "noticed": True, "taken_for": "physics"},
        {**MISSED, "category": 1, "name": "physics", "noticed": False, "taken_for": None},
    ]


def not_there(database: Database) -> str:
    return rows.CORPUS


def of_the_other_model(database: Database) -> str:
    return succeeded(database, model="lbpl-ntm")


def with_one_category(database: Database) -> str:
    job_id, _ = submit(database, model="calibrated")
    add_encoding(database, job_id, ["optics"])
    end(database, job_id)
    return job_id


def running(database: Database) -> str:
    job_id, [encode] = submit(database, model="calibrated")
    legs.claim(database, encode, "a")
    return job_id


def but_for_time(job: Any) -> Any:
    """The job without what changes with the time while a unit runs, or a refusal without the id of its request."""
    return {**job, "progress": None} if "progress" in job else {**job, "request_id": None}


@SQLITE
@pytest.mark.parametrize(
    ("make", "status", "kind_of_problem", "detail"),
    [
        (not_there, 404, "job-not-found", "there is no job"),
        (of_the_other_model, 409, "job-not-testable", "has the model lbpl-ntm, which has no power test"),
        (
            with_one_category,
            409,
            "job-not-testable",
            "has too few known categories for a power test: 1, at least 2 are needed",
        ),
        (running, 409, "job-not-testable", "is running; only a succeeded job can have a power test"),
    ],
)
def test_jobs_that_cannot_be_tested_say_why(
    client: TestClient,
    database: Database,
    make: Callable[[Database], str],
    status: int,
    kind_of_problem: str,
    detail: str,
) -> None:
    job = f"/v1/jobs/{make(database)}"
    before: Any = client.get(job).json()
    refused = client.post(f"{job}/power-test")
    assert (refused.status_code, refused.json()["type"]) == (status, PROBLEM + kind_of_problem)
    assert detail in refused.json()["detail"]
    assert but_for_time(client.get(job).json()) == but_for_time(before)
    if make is of_the_other_model:
        assert before["links"]["power_test"] is None
