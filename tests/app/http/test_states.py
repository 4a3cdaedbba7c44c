"""What may be asked of a job in each state: all pairs, over HTTP and both databases."""

import logging
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.core.db import Database
from app.http.controls import poll_seconds
from app.schemas.jobs import JobOut, Progress, SideRunOut
from tests.app.legs import cancel, claim, fail, pause
from tests.app.rows import add_encoding, add_results, end, submit

PROBLEM = "urn:newfound:problem:"
FINISHED, NOT_PAUSABLE = f"{PROBLEM}job-finished", f"{PROBLEM}job-not-pausable"
NOT_RESUMABLE, NOT_EXTENDABLE = f"{PROBLEM}job-not-resumable", f"{PROBLEM}job-not-extendable"

# state: what becomes of the job by each verb, or why nothing does.
TABLE: dict[str, dict[str, tuple[int, str]]] = {
    "queued": {
        "cancel": (200, "cancelled"),
        "pause": (200, "paused"),
        "resume": (409, NOT_RESUMABLE),
        "extend": (409, NOT_EXTENDABLE),
    },
    "running": {
        "cancel": (200, "cancelled"),
        "pause": (200, "paused"),
        "resume": (409, NOT_RESUMABLE),
        "extend": (409, NOT_EXTENDABLE),
    },
    "paused": {
        "cancel": (200, "cancelled"),
        "pause": (409, NOT_PAUSABLE),
        "resume": (202, "queued"),
        "extend": (409, NOT_EXTENDABLE),
    },
    "succeeded": {
        "cancel": (409, FINISHED),
        "pause": (409, NOT_PAUSABLE),
        "resume": (409, NOT_RESUMABLE),
        "extend": (202, "succeeded"),
    },
    "failed": {
        "cancel": (409, FINISHED),
        "pause": (409, NOT_PAUSABLE),
        "resume": (202, "queued"),
        "extend": (409, NOT_EXTENDABLE),
    },
    "cancelled": {
        "cancel": (409, FINISHED),
        "pause": (409, NOT_PAUSABLE),
        "resume": (202, "queued"),
        "extend": (409, NOT_EXTENDABLE),
    },
}
PAIRS = [(state, verb, *outcome) for state, verbs in TABLE.items() for verb, outcome in verbs.items()]


def job_in(database: Database, state: str) -> str:
    """Address of a job in a state."""
    job_id, [encode] = submit(database)
    if state in ("running", "failed"):
        claim(database, encode, "a")
    if state == "failed":
        fail(database, encode, "a")
    if state == "cancelled":
        cancel(database, job_id)
    if state == "paused":
        pause(database, job_id)
    if state == "succeeded":
        add_results(database, job_id)
        end(database, job_id)
    return f"/v1/jobs/{job_id}"


def ask(client: TestClient, job: str, verb: str) -> Any:
    return client.post(f"{job}/{verb}", json={"sweeps": 5} if verb == "extend" else None)


@pytest.mark.parametrize(("state", "verb", "status", "outcome"), PAIRS)
def test_each_verb_in_each_state(
    client: TestClient, database: Database, state: str, verb: str, status: int, outcome: str
) -> None:
    job = job_in(database, state)
    assert client.get(job).json()["status"] == state
    answer = ask(client, job, verb)
    assert answer.status_code == status
    assert answer.json()["type" if status == 409 else "status"] == outcome
    after = client.get(job)
    assert after.json()["status"] == (state if status == 409 else outcome)
    is_at_work = after.json()["status"] in ("queued", "running") or (verb == "extend" and status == 202)
    assert ("Retry-After" in after.headers) == is_at_work
    if status == 202:
        assert (answer.headers["Location"], answer.headers["Retry-After"]) == (job, "1")


def test_a_paused_job_is_listed_and_holds_its_corpus(client: TestClient, database: Database) -> None:
    job = job_in(database, "paused")
    [listed] = client.get("/v1/jobs", params={"status": "paused"}).json()["jobs"]
    assert listed["links"]["self"] == job
    corpus = f"/v1/corpora/{listed['corpus_id']}"
    assert client.delete(corpus).json()["type"] == f"{PROBLEM}corpus-in-use"
    ask(client, job, "cancel")
    assert client.delete(corpus).status_code == 204


def test_results_of_an_extended_job_stay_readable(client: TestClient, database: Database) -> None:
    job = job_in(database, "succeeded")
    before = [client.get(f"{job}/{part}").json() for part in ("categories", "documents")]
    extended = ask(client, job, "extend").json()
    assert (extended["settings"]["sweeps"], extended["settings"]["burn_in"]) == (10, 5)
    assert (extended["progress"]["fraction"], extended["progress"]["stage"]) == (1.0, "done")
    side = extended["extension"]
    assert (side["status"], side["sweeps"], side["finished_at"]) == ("queued", 15, None)
    assert (side["progress"]["sweeps_total"], side["progress"]["stage"]) == (30, "sample")
    assert [client.get(f"{job}/{part}").json() for part in ("categories", "documents")] == before


def test_an_extension_without_sweeps_is_malformed_and_one_beyond_the_limit_a_conflict(
    client: TestClient, database: Database
) -> None:
    job = job_in(database, "succeeded")
    for body in ({}, {"sweeps": 0}, {"sweeps": -1}, {"sweeps": "5"}, {"sweeps": 10**6}, {"sweeps": 1, "seed": 3}):
        assert client.post(f"{job}/extend", json=body).status_code == 422, body
    refused = client.post(f"{job}/extend", json={"sweeps": 999_999})
    assert refused.status_code == 409
    assert "1000009 sweeps, more than 1000000" in refused.json()["detail"]
    assert client.get(job).json()["status"] == "succeeded"


SIDE_RUNS = {"extension": "extend", "power-test": "power-test"}


@pytest.mark.parametrize("name", SIDE_RUNS)
def test_a_side_run_is_stopped_and_resumed_alone(client: TestClient, database: Database, name: str) -> None:
    job_id, _ = submit(database, model="calibrated")
    add_encoding(database, job_id)
    add_results(database, job_id)
    end(database, job_id)
    job, key = f"/v1/jobs/{job_id}", name.replace("-", "_")
    for verb in ("cancel", "pause", "resume"):
        refused = client.post(f"{job}/{name}/{verb}")
        assert (refused.status_code, refused.json()["type"]) == (404, f"{PROBLEM}side-run-not-found")
    before = client.get(job).json()
    assert ask(client, job, SIDE_RUNS[name]).status_code == 202
    for verb, status in (("pause", "paused"), ("resume", "queued"), ("cancel", "cancelled"), ("resume", "queued")):
        told = client.post(f"{job}/{name}/{verb}").json()
        assert told[key]["status"] == status
        assert {**told, key: None, "forecast": None} == {**before, "forecast": None}, "the job stays what it is"
    assert client.post(f"{job}/{name}/resume").json()["type"] == f"{PROBLEM}job-not-resumable"
    assert client.post(f"{job}/cancel").json()["type"] == f"{PROBLEM}job-finished"
    assert client.delete(f"/v1/corpora/{before['corpus_id']}").json()["type"] == f"{PROBLEM}corpus-in-use"


@pytest.mark.parametrize(
    ("seconds_left", "wait"),
    [(None, "1"), (0.0, "1"), (49.0, "1"), (50.0, "2"), (224.0, "8"), (250.0, "10"), (1e6, "10")],
)
def test_a_live_job_is_to_be_asked_again_when_a_25th_of_the_time_left_is_over(
    seconds_left: float | None, wait: str
) -> None:
    progress = Progress.model_construct(seconds_left=seconds_left)
    ended = JobOut.model_construct(status="succeeded", progress=progress, extension=None, power_test=None)
    assert poll_seconds(ended) is None
    assert poll_seconds(ended.model_copy(update={"status": "running"})) == wait
    extension = SideRunOut.model_construct(status="queued", progress=progress)
    assert poll_seconds(ended.model_copy(update={"extension": extension})) == wait


def test_a_poll_that_goes_well_is_no_line_in_the_log(
    client: TestClient, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    job = job_in(database, "running")
    with caplog.at_level(logging.DEBUG, "app.http.access"):
        client.get(job)
        client.get(f"{job}0")
        client.post(f"{job}/cancel")
    told = [
        (record.levelname, record.__dict__["fields"]["status"])
        for record in caplog.records
        if record.name == "app.http.access"
    ]
    assert told == [("DEBUG", 200), ("INFO", 404), ("INFO", 200)]
