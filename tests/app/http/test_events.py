"""Events of jobs: what a listener is sent on a real server, also after it was away, and how streams end."""

import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event as sql_event
from sqlalchemy.exc import OperationalError
from starlette.testclient import TestClient

from app.access import callers, keys
from app.core import lifecycle
from app.core.db import Database
from app.core.runs import Run
from app.core.settings import Settings
from app.http import event_streams
from app.uploads.removal import Removal
from tests.app import rows
from tests.app.event_streams import Event, Listener, draws_of, sweep
from tests.app.server import Running, running
from tests.faults.programs import Program
from tests.waits import free_port, wait_for

LOOK_SECONDS = 0.05


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks come faster than a test waits."""
    monkeypatch.setattr(event_streams, "LOOK_SECONDS", LOOK_SECONDS)


@pytest.fixture
def api(settings: Settings, quick: None) -> Iterator[Running]:
    """A service with room for many listeners, that soon cuts off silent clients."""
    with running(settings.model_copy(update={"client_seconds": 0.8})) as api:
        yield api


def streams_of(api: Running) -> event_streams.EventStreams:
    """What the service knows of its streams."""
    found: event_streams.EventStreams = api.server.config.app.state.event_streams  # type: ignore[union-attr]
    return found


def cancel(database: Database, job_id: str) -> None:
    with database.sessions.begin() as session:
        lifecycle.cancel(session, Run(job_id))


def all_of(n_chains: int, sweeps: int) -> list[tuple[int, int]]:
    return [(chain, number) for chain in range(n_chains) for number in range(1, sweeps + 1)]


def test_a_listener_is_sent_the_job_its_draws_and_its_end(api: Running, database: Database) -> None:
    job_id, _ = rows.submit(database)
    sweep(database, job_id, 0, 3)
    with Listener(api.port, job_id) as listener:
        assert listener.response.status == 200
        assert listener.response.getheader("Content-Type", "").partition(";")[0] == "text/event-stream"
        assert listener.response.getheader("Cache-Control") == "no-store"
        events = iter(listener)
        draws, progress = next(events), next(events)
        assert draws_of([draws]) == [(0, 1), (0, 2), (0, 3)]
        polled = TestClientOf(api).get(f"/v1/jobs/{job_id}")
        assert (progress.name, progress.data["progress"]["chains"]) == ("progress", polled["progress"]["chains"])
        assert progress.data.keys() == polled.keys()
        trace = TestClientOf(api).get(f"/v1/jobs/{job_id}/trace")
        assert draws.data == trace["draws"]
        sweep(database, job_id, 1, 2)
        assert draws_of([next(events)]) == [(1, 1), (1, 2)]
        assert next(events).data["progress"]["sweeps_done"] == 5
        cancel(database, job_id)
        *_, last, end = events
        assert last.data["status"] == "cancelled"
        assert (end.name, end.data) == ("end", {"status": "cancelled", "error": None})
    with Listener(api.port, job_id, listener.last_event_id) as again:
        assert (again.response.status, again.response.read()) == (204, b"")


class TestClientOf:
    """Asks a running service for JSON."""

    __test__ = False

    def __init__(self, api: Running) -> None:
        self.api = api

    def get(self, path: str) -> Any:
        return self.api.ask(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()).json()


def test_a_job_that_is_resumed_goes_on_for_a_client_that_has_seen_its_end(api: Running, database: Database) -> None:
    job_id, _ = rows.submit(database)
    sweep(database, job_id, 0, 2)
    cancel(database, job_id)
    with Listener(api.port, job_id) as listener:
        assert [event.name for event in listener] == ["draws", "progress", "end"]
    with database.sessions.begin() as session:
        lifecycle.resume(session, Run(job_id))
    sweep(database, job_id, 0, 1)
    cancel(database, job_id)
    with Listener(api.port, job_id, listener.last_event_id) as again:
        events = list(again)
    assert (draws_of(events), events[-1].name) == ([(0, 3)], "end")


@pytest.mark.parametrize("max_draws", [7, 1000])
def test_listeners_that_come_and_go_miss_no_draw_and_get_none_twice(
    api: Running, database: Database, monkeypatch: pytest.MonkeyPatch, max_draws: int
) -> None:
    """Each reads some events and breaks off, again and again, while chains run; two stay all the time."""
    monkeypatch.setattr(event_streams, "MAX_DRAWS", max_draws)
    monkeypatch.setattr("app.http.event_places.MAX_DRAWS", max_draws)
    job_id, _ = rows.submit(database)

    def listen(n_events: int | None) -> tuple[list[tuple[int, int]], int]:
        found: list[tuple[int, int]] = []
        last, n_connections = None, 0
        while True:
            n_connections += 1
            with Listener(api.port, job_id, last) as listener:
                for number, event in enumerate(listener):
                    found += draws_of([event])
                    assert event.name != "draws" or len(event.data) <= max_draws
                    if event.name == "end":
                        return found, n_connections
                    if n_events is not None and number == n_events:
                        break
                last = listener.last_event_id

    with ThreadPoolExecutor(5) as pool:
        listening = [pool.submit(listen, n_events) for n_events in (None, None, 0, 1, 3)]
        for number in range(60):
            sweep(database, job_id, number % 2, 1 + number % 9)
            time.sleep(0.01)
        reached = [sweep(database, job_id, chain, 1) for chain in range(2)]
        cancel(database, job_id)
        results = [each.result() for each in listening]
    expected = [(chain, number) for chain in range(2) for number in range(1, reached[chain] + 1)]
    for found, _ in results:
        assert Counter(found) == Counter(expected)
    assert [n for _, n in results[:2]] == [1, 1]
    assert results[2][1] > 3 and all(n > 1 for _, n in results[2:])
    wait_for(lambda: streams_of(api).n_open == 0, "all streams are closed")
    assert streams_of(api).watches == {}


def test_ten_listeners_cost_as_many_looks_as_one_and_none_costs_none(
    api: Running, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id, _ = rows.submit(database)
    streams, looks = streams_of(api), []
    look_now = streams.look_now

    def counted(job_id: str, since: Any) -> Any:
        looks.append(threading.current_thread() is not threading.main_thread())
        return look_now(job_id, since)

    monkeypatch.setattr(streams, "look_now", counted)
    with ExitStack() as stack:
        listening = [stack.enter_context(Listener(api.port, job_id)) for _ in range(10)]
        assert {next(iter(each)).name for each in listening} == {"progress"}
        n_before, began = len(looks), time.monotonic()
        wait_for(lambda: len(looks) >= n_before + 10, "ten more looks")
        assert time.monotonic() - began >= 9 * LOOK_SECONDS
    wait_for(lambda: streams.n_open == 0, "all have left")
    wait_for(lambda: not streams.watches, "nobody looks")
    n_after = len(looks)
    time.sleep(5 * LOOK_SECONDS)
    assert len(looks) == n_after


def test_listeners_who_come_and_go_make_no_more_looks_at_once_than_are_allowed(
    api: Running, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id, _ = rows.submit(database)
    streams, under_way, together, begun = streams_of(api), set[int](), [], threading.Event()
    look_now = streams.look_now

    def slow(job_id: str, since: Any) -> Any:
        if since is None:  # a request waits for it
            return look_now(job_id, since)
        under_way.add(threading.get_ident())
        together.append(len(under_way))
        begun.set()
        time.sleep(10 * LOOK_SECONDS)
        under_way.remove(threading.get_ident())
        return look_now(job_id, since)

    monkeypatch.setattr(streams, "look_now", slow)
    for _ in range(10):
        begun.clear()
        with Listener(api.port, job_id) as listener:
            assert next(iter(listener)).name == "progress"
            wait_for(begun.is_set, "its look is under way")
    wait_for(lambda: not under_way, "nobody looks")
    assert max(together) <= event_streams.LOOKS_AT_ONCE


def test_a_listener_that_hears_nothing_new_gets_comments_and_is_not_cut_off(
    api: Running, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service cuts off clients that are silent for 0.8 s; this one says nothing for three times as long."""
    monkeypatch.setattr(event_streams, "HEARTBEAT_SECONDS", 0.3)
    job_id, _ = rows.submit(database)
    with database.sessions.begin() as session:
        lifecycle.pause(session, Run(job_id))
    began, n_comments = time.monotonic(), 0
    with Listener(api.port, job_id) as listener:
        for event in listener:
            n_comments += event.name == "comment"
            if time.monotonic() - began > 2.4:
                break
        assert n_comments >= 3
        cancel(database, job_id)
        assert [event.name for event in listener if event.name != "comment"][-2:] == ["progress", "end"]


def test_a_client_that_wants_no_draws_gets_none(api: Running, database: Database) -> None:
    job_id, _ = rows.submit(database)
    sweep(database, job_id, 0, 5)
    cancel(database, job_id)
    with Listener(api.port, job_id, query="?draws=false") as listener:
        assert [event.name for event in listener] == ["progress", "end"]
    with Listener(api.port, job_id, listener.last_event_id, query="?draws=false") as again:
        assert again.response.status == 204
    with Listener(api.port, job_id, listener.last_event_id) as other:
        assert draws_of(list(other)) == all_of(1, 5)


def test_a_job_that_is_deleted_meanwhile_ends_its_streams(
    api: Running, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Removal, "wake", lambda _: None)
    job_id, _ = rows.submit(database)
    with Listener(api.port, job_id) as listener:
        events = iter(listener)
        assert next(events).name == "progress"
        with database.sessions.begin() as session:
            lifecycle.cancel(session, Run(job_id))
            lifecycle.delete(session, job_id)
        *_, end = events
        assert (end.name, end.data["status"]) == ("end", "deleted")
    with Listener(api.port, job_id, listener.last_event_id) as again:
        assert again.response.status == 404


def test_a_stream_stays_while_the_database_is_away_and_goes_on_later(api: Running, database: Database) -> None:
    job_id, _ = rows.submit(database)
    is_away, n_failed = threading.Event(), 0

    def fail(_: Any, __: Any, statement: str, *___: object) -> None:
        nonlocal n_failed
        if is_away.is_set():
            n_failed += 1
            raise OperationalError(statement, {}, Exception("the server closed the connection"))

    engine = streams_of(api).database.engine
    sql_event.listen(engine, "before_cursor_execute", fail)
    with Listener(api.port, job_id) as listener:
        events = iter(listener)
        assert next(events).name == "progress"
        is_away.set()
        sweep(database, job_id, 0, 4)
        wait_for(lambda: n_failed >= 3, "looks have failed")
        is_away.clear()
        assert draws_of([next(events)]) == all_of(1, 4)
        cancel(database, job_id)
        assert list(events)[-1].name == "end"
    sql_event.remove(engine, "before_cursor_execute", fail)


def test_one_stream_too_many_is_a_503_that_says_when_to_come_again(
    settings: Settings, quick: None, database: Database
) -> None:
    job_id, _ = rows.submit(database)
    with running(settings.model_copy(update={"max_event_streams": 2})) as api:
        with Listener(api.port, job_id) as one, Listener(api.port, job_id) as two:
            assert {next(iter(each)).name for each in (one, two)} == {"progress"}
            with Listener(api.port, job_id) as three:
                assert (three.response.status, three.response.getheader("Retry-After")) == (503, "5")
                assert b"too-many-listeners" in three.response.read()
        wait_for(lambda: streams_of(api).n_open == 0, "both have left")
        with Listener(api.port, job_id) as three:
            assert three.response.status == 200


def test_what_is_no_id_of_an_event_or_of_a_job_is_refused(client: TestClient, database: Database) -> None:
    job_id, _ = rows.submit(database)
    for wrong in ("1", "bnVsbA", "W10", "W1tbMCwtMV1dLCIiLGZhbHNlXQ", "\xff", "x" * 5000):
        answer = client.get(f"/v1/jobs/{job_id}/events", headers={"Last-Event-ID": wrong.encode("latin-1")})  # type: ignore[dict-item]
        assert (answer.status_code, answer.json()["errors"][0]["where"]) == (422, "header.last-event-id")
    assert client.get(f"/v1/jobs/{rows.CORPUS}/events").status_code == 404
    assert client.get("/v1/jobs/1/events").status_code == 404


def test_a_head_request_is_answered_at_once(api: Running, database: Database) -> None:
    job_id, _ = rows.submit(database)
    with api.connect() as connection:
        for _ in range(2):  # on one connection: nothing follows the head
            connection.send(f"HEAD /v1/jobs/{job_id}/events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            reply = connection.reply(with_body=False)
            assert (reply.status, reply.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    assert streams_of(api).n_open == 0


def test_a_listener_whose_key_is_revoked_is_sent_away_soon_and_the_others_stay(
    settings: Settings, database: Database, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(callers, "KEPT_SECONDS", 0.0)
    monkeypatch.setattr(event_streams, "KEY_SECONDS", 0.1)
    monkeypatch.setattr(event_streams, "HEARTBEAT_SECONDS", 0.05)
    job_id, _ = rows.submit(database)
    with database.sessions.begin() as session:
        revoked, kept = (keys.create(session, "ada", ("admin",)) for _ in range(2))
    with (
        running(settings.model_copy(update={"api_keys": "required"})) as api,
        Listener(api.port, job_id, key=revoked) as first,
        Listener(api.port, job_id, key=kept) as second,
    ):
        events = iter(first)
        assert next(events).name == "progress"
        with database.sessions.begin() as session:
            keys.revoke(session, revoked.split("_")[1])
        assert {event.name for event in events} == {"comment", "bye"}
        with Listener(api.port, job_id, first.last_event_id, key=revoked) as again:
            assert again.response.status == 401
        cancel(database, job_id)
        assert [event.name for event in second if event.name != "comment"] == ["progress", "progress", "end"]


def test_a_service_that_ends_says_goodbye_to_fifty_listeners_who_go_on_with_the_next_one(
    settings: Settings, database: Database, tmp_path: Path
) -> None:
    job_id, _ = rows.submit(database)
    sweep(database, job_id, 0, 3)
    port = free_port()
    environment = {
        "NEWFOUND_DATABASE_URL": settings.database,
        "NEWFOUND_DATA_FOLDER": str(tmp_path),
        "NEWFOUND_PORT": str(port),
    }
    program = Program("api", ["api"], environment, tmp_path / "api.log")

    def start() -> None:
        program.start()
        wait_for(lambda: listens(program, port), "the API is up")

    start()
    try:
        with ExitStack() as stack:
            listening = [stack.enter_context(Listener(port, job_id)) for _ in range(50)]
            streams = [iter(each) for each in listening]
            assert {(next(events).name, next(events).name) for events in streams} == {("draws", "progress")}
            began = time.monotonic()
            assert program.process is not None
            program.process.send_signal(signal.SIGTERM)
            rest = [names_but_progress(events) for events in streams]
            assert program.process.wait(timeout=60) == 0
            assert time.monotonic() - began < 3
        assert rest == [["bye"]] * 50
        log = (tmp_path / "api.log").read_text()
        assert "Traceback" not in log and "ERROR" not in log
        start()
        sweep(database, job_id, 0, 2)
        cancel(database, job_id)
        for each in listening[:3]:
            with Listener(port, job_id, each.last_event_id) as again:
                assert draws_of(list(again)) == [(0, 4), (0, 5)]
    finally:
        program.stop()


def listens(program: Program, port: int) -> bool:
    """Whether a process accepts connections."""
    assert program.is_running(), program.log.read_text()
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def names_but_progress(events: Iterator[Event]) -> list[str]:
    """The names of what is left of a stream; progress may have come at any time."""
    return [event.name for event in events if event.name != "progress"]
