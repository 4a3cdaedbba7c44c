"""Health says what is true: without workers, with a dead broker, on a full disk, after a change of the schema."""

import threading
import time

import pytest
from sqlalchemy import text
from starlette.testclient import TestClient

from app.broker import queue
from app.core import disk, presence
from app.core.db import Database
from app.core.embedding_models import embedding_digest, waits_for
from app.core.schema import head_revision
from app.core.settings import Settings
from app.http import condition
from app.http.condition import Broker
from app.http.main import create_app
from tests.app.rows import NOBODY_LISTENS
from tests.embedding.tiny_model import FOLDER
from tests.waits import REQUEST_SECONDS, wait_for


def add_worker(database: Database) -> None:
    with database.sessions.begin() as session:
        presence.record(session, "worker-1")


def test_a_service_with_all_its_parts_is_ok_and_ready(client: TestClient, database: Database) -> None:
    add_worker(database)
    told = client.get("/health").json()
    assert told == {
        "status": "ok",
        "version": "0.1.0",
        "schema": head_revision(),
        "workers": 1,
        "embedding_model": None,
        "faults": {},
    }
    ready = client.get("/readyz")
    assert (ready.status_code, ready.json()) == (200, told)
    assert client.get("/livez").status_code == 204


def faults_of(client: TestClient) -> dict[str, str]:
    """What health and readiness say is wrong, which must be the same."""
    told, refused = client.get("/health"), client.get("/readyz")
    assert (told.status_code, told.json()["status"]) == (200, "degraded")
    assert (refused.status_code, refused.json()["type"]) == (503, "urn:newfound:problem:not-ready")
    faults: dict[str, str] = told.json()["faults"]
    assert {error["where"]: error["reason"] for error in refused.json()["errors"]} == faults
    assert client.get("/livez").status_code == 204
    return faults


def test_without_a_worker_the_service_is_degraded(client: TestClient) -> None:
    assert faults_of(client) == {"workers": condition.NO_WORKER}


def test_a_service_whose_workers_lack_its_embedding_model_is_degraded(database: Database, settings: Settings) -> None:
    digest = embedding_digest(named := settings.model_copy(update={"embedding_model_folder": FOLDER}))
    assert digest is not None
    with TestClient(create_app(named)) as client:
        assert faults_of(client) == {"workers": condition.NO_WORKER}
        add_worker(database)
        assert faults_of(client) == {"embedding_model": f"jobs with vectors wait: {waits_for(digest)}"}
        with database.sessions.begin() as session:
            presence.record(session, "worker-2", embedding_model=digest)
        told = client.get("/readyz").json()
        assert (told["status"], told["embedding_model"]) == ("ok", digest)


@pytest.mark.parametrize("kind", ["sqlite"])
def test_with_a_dead_broker_the_service_is_degraded(database: Database, settings: Settings) -> None:
    add_worker(database)
    nowhere = settings.model_copy(update={"broker_url": NOBODY_LISTENS})
    try:
        with TestClient(create_app(nowhere)) as client:
            assert faults_of(client) == {"broker": condition.NO_BROKER}
    finally:
        queue.configure(settings)


@pytest.mark.parametrize("kind", ["sqlite"])
def test_on_a_full_disk_the_service_is_degraded(
    client: TestClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_worker(database)
    monkeypatch.setattr(disk, "free_bytes", lambda folder: 2**20)
    [reason] = faults_of(client).values()
    assert "disk of the database is full: 1 MiB are free, 256 MiB are kept free" in reason


@pytest.mark.parametrize("kind", ["sqlite"])
def test_under_another_schema_the_service_is_degraded(client: TestClient, database: Database) -> None:
    add_worker(database)
    with database.sessions.begin() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '0001'"))
    assert "run `newfound migrate`" in faults_of(client)["schema"]


def test_nobody_waits_for_a_broker_that_does_not_answer_but_the_first_one(monkeypatch: pytest.MonkeyPatch) -> None:
    answers, asked = [3, None], threading.Event()
    slow = threading.Event()

    def look() -> int | None:
        if len(answers) == 1:
            asked.set()
            slow.wait(REQUEST_SECONDS)
        return answers.pop(0)

    broker = Broker(look)
    assert broker.is_there()
    monkeypatch.setattr(condition, "BROKER_SECONDS", -1.0)
    began = time.monotonic()
    assert broker.is_there(), "what was seen last"
    assert asked.wait(REQUEST_SECONDS)
    assert broker.is_there()
    assert time.monotonic() - began < REQUEST_SECONDS, "it did not wait"
    slow.set()
    wait_for(lambda: not broker.answers, "the look is over")
    monkeypatch.setattr(condition, "BROKER_SECONDS", 60.0)
    assert not broker.is_there()
