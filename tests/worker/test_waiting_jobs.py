"""Jobs that continue one which has not ended: they wait for it, and begin with what was decided, or fail with it."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from app.broker import queue
from app.core import leases
from app.core.db import Database
from app.core.settings import Settings
from tests.app.rows import units as units_of
from tests.worker import jobs

PATIENT = {"wait": True}


@pytest.fixture(autouse=True)
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is called: the tests are the workers."""
    monkeypatch.setattr(queue, "wake", lambda *_: None)


def source_of(database: Database) -> tuple[str, list[int]]:
    """A job that is queued, and its first unit."""
    return jobs.submit(database, jobs.upload(database, jobs.rows()), sweeps=8, chains=1)


def ask(client: TestClient, path: str, status: int, **body: Any) -> dict[str, Any]:
    """The answer to a request about a job, which has this status."""
    answer = client.post(f"/v1/jobs/{path}", json=body or None)
    assert answer.status_code == status, answer.text
    return dict(answer.json())


def work(database: Database, settings: Settings, unit_ids: list[int] | None = None) -> None:
    """Workers and their reapers, until nothing is left to do."""
    units = list(unit_ids or [])
    while units:
        jobs.run_to_the_end(database, settings, units)
        with database.sessions.begin() as session:
            units = leases.reap(session)


def begin(database: Database, settings: Settings) -> None:
    """What is ready and calls for a worker is done, with all that follows."""
    with database.sessions.begin() as session:
        units = leases.reap(session)
    work(database, settings, units)


def status(client: TestClient, job_id: str) -> str:
    return str(client.get(f"/v1/jobs/{job_id}").json()["status"])


def test_a_job_that_waits_begins_with_what_was_decided_when_its_source_has_succeeded(
    client: TestClient, database: Database, settings: Settings
) -> None:
    source, units = source_of(database)
    refused = ask(client, f"{source}/continue", 409, sweeps=4)
    assert "is queued; ask again when it has ended, or with `wait`" in refused["detail"]
    heir = ask(client, f"{source}/continue", 202, sweeps=4, **PATIENT)
    assert heir["progress"]["note"] == f"it begins when job {source}, which it continues, has succeeded"
    [listed] = [each for each in client.get("/v1/jobs").json()["jobs"] if each["id"] == heir["id"]]
    assert listed["progress"]["note"] == heir["progress"]["note"]
    begin(database, settings)  # of what waits nobody does anything
    assert (status(client, source), status(client, heir["id"])) == ("queued", "queued")
    ask(client, f"{source}/decisions", 201, decisions=[{"kind": "pin", "documents": ["fruit-0"], "category": "metal"}])
    assert client.delete(f"/v1/jobs/{source}").status_code == 409
    work(database, settings, units)
    assert (status(client, source), status(client, heir["id"])) == ("succeeded", "succeeded")
    documents = client.get(f"/v1/jobs/{heir['id']}/documents?limit=1000").json()["documents"]
    found = {each["key"]: each for each in documents}
    assert (found["fruit-0"]["name"], found["fruit-0"]["probability"]) == ("metal", 1.0)
    assert client.get(f"/v1/jobs/{heir['id']}").json()["progress"]["sweeps_total"] == 4


@pytest.mark.parametrize("verb", ["cancel", "fail"])
def test_a_job_that_waits_fails_with_its_source_and_is_resumed_after_it(
    client: TestClient, database: Database, settings: Settings, verb: str
) -> None:
    source, [encode] = source_of(database)
    heir = ask(client, f"{source}/continue", 202, **PATIENT)["id"]
    last = ask(client, f"{heir}/continue", 202, **PATIENT)["id"]
    if verb == "cancel":
        ask(client, f"{source}/cancel", 200)
    else:
        with database.sessions.begin() as session:
            assert leases.claim(session, encode, "token", 30)
        with database.sessions.begin() as session:
            leases.fail(session, encode, "token", "no reason")
    told = client.get(f"/v1/jobs/{heir}").json()
    assert told["status"] == "failed"
    what = "was cancelled" if verb == "cancel" else "has failed"
    assert told["error"] == f"job {source}, which this one continues, {what}: resume that one, then this one"
    assert status(client, last) == "failed"
    refused = ask(client, f"{heir}/resume", 409)
    assert refused["detail"].endswith("resume that one first")
    for job_id in (source, heir, last):
        ask(client, f"{job_id}/resume", 202)
    work(database, settings, [encode])
    assert [status(client, each) for each in (source, heir, last)] == ["succeeded"] * 3


@pytest.mark.parametrize("verb", ["cancel", "extend"])
def test_a_job_that_waits_for_an_extension_begins_however_that_ends(
    client: TestClient, database: Database, settings: Settings, verb: str
) -> None:
    source, units = source_of(database)
    work(database, settings, units)
    ask(client, f"{source}/extend", 202, sweeps=4)
    assert "the extension of job" in ask(client, f"{source}/continue", 409, sweeps=4)["detail"]
    heir = ask(client, f"{source}/continue", 202, sweeps=4, **PATIENT)["id"]
    if verb == "cancel":
        ask(client, f"{source}/extension/cancel", 200)
        begin(database, settings)
    else:
        with database.sessions.begin() as session:
            chains = leases.reap(session)
        assert chains == [], "they were called for just now"
        work(database, settings, [unit.id for unit in units_of(database, source, "chain")])
    assert (status(client, source), status(client, heir)) == ("succeeded", "succeeded")


def test_a_job_that_waits_is_paused_and_goes_on_after_its_source(
    client: TestClient, database: Database, settings: Settings
) -> None:
    source, units = source_of(database)
    heir = ask(client, f"{source}/continue", 202, sweeps=4, **PATIENT)["id"]
    ask(client, f"{heir}/pause", 200)
    work(database, settings, units)
    begin(database, settings)
    assert (status(client, source), status(client, heir)) == ("succeeded", "paused")
    ask(client, f"{heir}/resume", 202)
    work(database, settings, [unit.id for unit in units_of(database, heir, "encode")])
    assert status(client, heir) == "succeeded"


def test_a_job_that_waits_has_the_documents_of_when_it_was_asked_for(
    client: TestClient, database: Database, settings: Settings
) -> None:
    source, units = source_of(database)
    heir = ask(client, f"{source}/continue", 202, sweeps=4, **PATIENT)["id"]
    jobs.arrive(database, [{"key": "later", "text": "apple pear plum"}])
    ask(client, f"{source}/decisions", 201, decisions=[{"kind": "none", "documents": ["fruit-0"]}])
    work(database, settings, units)
    documents = client.get(f"/v1/jobs/{heir}/documents?limit=1000").json()["documents"]
    found = {each["key"]: each["reason"] for each in documents}
    assert "later" not in found and found["fruit-0"].startswith("somebody decided")
