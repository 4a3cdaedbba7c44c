"""The events of a job in Python: as they come, also over a restart of the service."""

import threading
from typing import Any

import pytest
from sqlalchemy import update

import newfound_client.events
from app.core import lifecycle
from app.core.db import Database
from app.core.runs import Run
from app.core.settings import Settings
from app.core.tables import Job
from app.http import event_streams
from newfound_client import Client, Refused
from newfound_client.events import parsed
from tests.app import rows
from tests.app.event_streams import sweep
from tests.app.server import running
from tests.waits import free_port, wait_for


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_streams, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(event_streams, "RETRY_MILLISECONDS", 50)


def test_events_go_on_over_a_restart_of_the_service(
    settings: Settings, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id, _ = rows.submit(database)
    sweep(database, job_id, 0, 3)
    client = Client("http://127.0.0.1:1")
    found: list[tuple[str, Any]] = []

    def listen() -> None:
        found.extend(event for event in client.events(job_id) if seen.append(event[0]) is None)

    seen: list[str] = []
    listening = threading.Thread(target=listen)
    with running(settings) as api:
        client.connection.url = f"http://127.0.0.1:{api.port}"
        listening.start()
        wait_for(lambda: "progress" in seen, "the first events are here")
    sweep(database, job_id, 0, 2)
    with running(settings) as api:
        client.connection.url = f"http://127.0.0.1:{api.port}"
        wait_for(lambda: seen.count("draws") == 2, "the draws of between are here")
        with database.sessions.begin() as session:
            lifecycle.cancel(session, Run(job_id))
        listening.join(timeout=60)
    assert [draw["sweep"] for name, data in found if name == "draws" for draw in data] == [1, 2, 3, 4, 5]
    assert found[-1] == ("end", {"status": "cancelled", "error": None})
    assert [data["status"] for name, data in found if name == "progress"][-1] == "cancelled"


def test_draws_may_be_left_out_and_a_job_that_is_not_there_is_refused(client: Client, database: Database) -> None:
    job_id, _ = rows.submit(database)
    sweep(database, job_id, 0, 3)
    with database.sessions.begin() as session:
        session.execute(update(Job).values(status="failed", error="it failed"))
    assert [name for name, _ in client.events(job_id, draws=False)] == ["progress", "end"]
    assert list(client.events(job_id))[-1] == ("end", {"status": "failed", "error": "it failed"})
    with pytest.raises(Refused, match="there is no job"):
        next(client.events(rows.CORPUS))


def test_a_service_that_does_not_come_back_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newfound_client.events, "PATIENCE", 0.2)
    monkeypatch.setattr(newfound_client.events, "RETRY", 0.05)
    with pytest.raises(newfound_client.NoAnswer):
        next(Client(f"http://127.0.0.1:{free_port()}").events(rows.CORPUS))


def test_events_are_parsed_as_the_standard_has_them() -> None:
    lines = b": comment\n\nretry: 9\n\nevent: a\r\ndata: 1\r\ndata:2\r\nid: x\r\n\r\nevent: b\ndata: broken off\n"
    assert list(parsed(lines.splitlines(keepends=True))) == [
        {"retry": "9"},
        {"event": "a", "data": "1\n2", "id": "x"},
    ]
