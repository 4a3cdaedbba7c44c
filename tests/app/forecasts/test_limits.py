"""What one request may ask for, and what is told with a refusal; over HTTP and both databases."""

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import insert
from starlette.testclient import TestClient

from app.core import disk
from app.core.db import Database
from app.core.settings import Settings
from app.core.tables import Document
from app.http.main import create_app
from app.http.routers import jobs
from tests.app import rows
from tests.app.legs import cancel
from tests.app.rows import CORPUS, add_corpus, add_encoding, add_results, end, submit, units
from tests.waits import REQUEST_SECONDS

PROBLEM = "urn:newfound:problem:"


@pytest.fixture
def limited(settings: Settings, request: pytest.FixtureRequest) -> Iterator[TestClient]:
    """A client of a service with the limits of the test."""
    with TestClient(create_app(settings.model_copy(update=request.param))) as client:
        yield client


def limits(**given: Any) -> pytest.MarkDecorator:
    """The limits of a test's service."""
    return pytest.mark.parametrize("limited", [given], indirect=True, ids=[""])


def make_corpus(database: Database) -> None:
    """A corpus whose documents share their words."""
    with database.sessions.begin() as session:
        add_corpus(session, documents=0)
        given = [
            {"corpus_id": CORPUS, "version": 1, "key": f"k{n}", "text": "galaxy plasma neutron", "label": None}
            for n in range(20)
        ]
        session.execute(insert(Document), given)


def post(client: TestClient, **settings: Any) -> Any:
    return client.post("/v1/jobs", json={"corpus_id": CORPUS, "discover": True, **settings})


def is_refused(answer: Any, status: int, kind: str) -> str:
    """The detail of a refusal of this kind."""
    assert (answer.status_code, answer.json()["type"]) == (status, PROBLEM + kind)
    if status == 429:
        assert int(answer.headers["Retry-After"]) > 0
    return str(answer.json()["detail"])


def test_a_job_is_answered_with_its_forecast_which_stays_until_it_is_encoded(
    client: TestClient, database: Database
) -> None:
    make_corpus(database)
    made = post(client, chains=4).json()
    told = made["forecast"]
    assert told["seconds_on_workers"] > 0.0
    assert 0.0 < told["seconds"] < 60.0
    assert (told["workers"], told["peak_bytes"] > 2**27) == (1, True)
    assert client.get(made["links"]["self"]).json()["forecast"] == told
    more = post(client, chains=64, sweeps=1_000_000).json()["forecast"]
    assert more["seconds"] > 1_000 * told["seconds"]
    assert more["peak_bytes"] == told["peak_bytes"]


def test_the_forecast_is_that_of_the_encoding_once_there_is_one(client: TestClient, database: Database) -> None:
    job_id, _ = submit(database)
    before = client.get(f"/v1/jobs/{job_id}").json()["forecast"]
    add_encoding(database, job_id)
    with database.sessions.begin() as session:
        session.get_one(rows.Encoding, session.get_one(rows.Job, job_id).encoding_id).n_tokens = 10**8
    after = client.get(f"/v1/jobs/{job_id}").json()["forecast"]
    assert after["seconds"] > 10 * before["seconds"]
    assert after["peak_bytes"] > 2**30 > before["peak_bytes"]


@limits(max_job_seconds=100.0)
def test_a_job_beyond_the_seconds_of_a_job_is_refused_with_its_forecast(
    limited: TestClient, database: Database
) -> None:
    make_corpus(database)
    detail = is_refused(post(limited, chains=64, sweeps=1_000_000), 409, "job-too-large")
    assert "seconds of work" in detail and "bytes of its memory" in detail
    assert "NEWFOUND_MAX_JOB_SECONDS allows 100 seconds" in detail
    assert limited.get("/v1/jobs").json()["jobs"] == []
    assert post(limited, chains=2, sweeps=10).status_code == 202


@limits(max_job_bytes=2**29)
def test_a_job_beyond_the_memory_of_a_worker_is_refused_with_its_forecast(
    limited: TestClient, database: Database
) -> None:
    make_corpus(database)
    assert post(limited).status_code == 202
    with database.sessions.begin() as session:
        texts = [" ".join(f"word{n:05d}" for n in range(first, first + 1_600)) for first in (0, 1_600)]
        given = [
            {"corpus_id": CORPUS, "version": 1, "key": f"l{n}", "text": texts[n % 2], "label": None} for n in range(100)
        ]
        session.execute(insert(Document), given)
        session.get_one(rows.Corpus, CORPUS).version = 2
    detail = is_refused(post(limited, calibrated={"n_topics": 4096, "n_atoms": 4096}), 409, "job-too-large")
    assert "NEWFOUND_MAX_JOB_BYTES allows 536,870,912 bytes" in detail


@limits(max_live_jobs=2)
def test_more_live_jobs_than_allowed_are_refused_until_one_has_ended(limited: TestClient, database: Database) -> None:
    make_corpus(database)
    first, second = post(limited).json(), post(limited).json()
    assert "NEWFOUND_MAX_LIVE_JOBS allows 2" in is_refused(post(limited), 429, "too-many-jobs")
    assert len(limited.get("/v1/jobs").json()["jobs"]) == 2
    limited.post(f"{first['links']['self']}/pause")
    third = post(limited)
    assert third.status_code == 202, "a paused job is not live"
    is_refused(limited.post(f"{first['links']['self']}/resume"), 429, "too-many-jobs")
    assert limited.get(first["links"]["self"]).json()["status"] == "paused"
    limited.post(f"{second['links']['self']}/cancel")
    assert limited.post(f"{first['links']['self']}/resume").status_code == 202


@limits(max_live_units=20)
def test_more_units_than_allowed_are_refused(limited: TestClient, database: Database) -> None:
    make_corpus(database)
    assert post(limited, chains=8).status_code == 202  # with encode, atoms, calibrate and conclude 12 units
    detail = is_refused(post(limited, chains=8), 429, "too-many-jobs")
    assert "24 units of work" in detail and "NEWFOUND_MAX_LIVE_UNITS allows 20" in detail
    assert post(limited, chains=4).status_code == 202


def done(database: Database, model: str = "lbpl-ntm") -> str:
    """Address of a job that has succeeded."""
    job_id, _ = submit(database, model=model)
    add_encoding(database, job_id)
    add_results(database, job_id)
    end(database, job_id)
    return f"/v1/jobs/{job_id}"


@limits(max_job_seconds=60.0, max_live_jobs=1)
def test_extensions_and_power_tests_are_bounded_as_jobs_are(limited: TestClient, database: Database) -> None:
    job, tested = done(database), done(database, "calibrated")
    before = limited.get(job).json()
    detail = is_refused(limited.post(f"{job}/extend", json={"sweeps": 900_000}), 409, "job-too-large")
    assert detail.startswith("the extension would take about")
    assert limited.get(job).json() == before
    other, _ = submit(database)
    is_refused(limited.post(f"{job}/extend", json={"sweeps": 5}), 429, "too-many-jobs")
    is_refused(limited.post(f"{tested}/power-test"), 429, "too-many-jobs")
    assert limited.get(job).json()["status"] == limited.get(tested).json()["status"] == "succeeded"
    cancel(database, other)
    assert limited.post(f"{job}/extend", json={"sweeps": 5}).status_code == 202
    assert units(database, tested.rpartition("/")[2], "power") == []


@pytest.mark.parametrize("kind", ["sqlite"])
def test_checks_of_jobs_wait_for_each_other_without_keeping_threads_from_others(
    client: TestClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_corpus(database)
    at_once, most, gate, lock = 0, 0, threading.Event(), threading.Lock()
    check = jobs.check_job

    def slow_check(*arguments: Any) -> Any:
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
        gate.wait(REQUEST_SECONDS)
        with lock:
            at_once -= 1
        return check(*arguments)

    monkeypatch.setattr(jobs, "check_job", slow_check)
    statuses: list[int] = []
    threads = [threading.Thread(target=lambda: statuses.append(post(client).status_code)) for _ in range(60)]
    for thread in threads:
        thread.start()
    try:
        # More of them than there are threads that answer: yet others are answered.
        assert client.get("/health").status_code == 200
        assert json.loads(client.get("/v1/jobs").content)["jobs"] == []
    finally:
        gate.set()
        for thread in threads:
            thread.join()
    assert statuses == [202] * 60
    assert most <= jobs.CHECKS_AT_ONCE


@pytest.mark.parametrize("kind", ["sqlite"])
def test_on_a_full_disk_no_job_is_taken_in_and_the_reason_is_told(
    client: TestClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id, _ = submit(database)
    end(database, job_id)
    monkeypatch.setattr(disk, "free_bytes", lambda folder: 2**20)
    for path, body in (
        ("/v1/jobs", {"corpus_id": CORPUS, "discover": True}),
        (f"/v1/jobs/{job_id}/extend", {"sweeps": 3}),
    ):
        refused = client.post(path, json=body)
        assert (refused.status_code, refused.json()["type"]) == (507, "urn:newfound:problem:storage-full")
        assert "1 MiB are free" in refused.json()["detail"]
