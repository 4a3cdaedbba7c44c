"""What slow, silent and crowding clients get on a real server, and that the others are served."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from app.core.settings import Settings
from app.http.controls import MOST_POLL_SECONDS
from app.uploads import intake
from tests.app.http.raw_requests import HEALTH, JSON, check_refusal
from tests.app.server import Connection, Running, running
from tests.waits import REQUEST_SECONDS, slowness, wait_for

SECONDS = 1.0  # that a client may be silent for, where that is waited for
UPLOAD = (
    b"POST /v1/corpora/%b/documents HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)


@pytest.fixture(params=["sqlite"])
def kind(request: pytest.FixtureRequest) -> str:
    """One database is enough here: it is asked next to nothing."""
    return str(request.param)


@pytest.fixture
def hasty(settings: Settings) -> Iterator[Running]:
    """A service that soon cuts off silent clients."""
    with running(settings.model_copy(update={"client_seconds": SECONDS})) as api:
        yield api


def make_corpus(api: Running) -> bytes:
    """Id of a new corpus."""
    made = api.ask(JSON + b'Content-Length: 12\r\n\r\n{"name":"a"}')
    return str(made.json()["id"]).encode()


@pytest.mark.parametrize("start", [b"", b"GET /", HEALTH + b"GET /", HEALTH + b"\r\n"])
def test_a_head_that_does_not_end_in_time_is_a_408(hasty: Running, start: bytes) -> None:
    begun = time.monotonic()
    with hasty.connect() as connection:
        connection.send(start)
        if start.startswith(HEALTH):
            assert connection.reply().status == 200
        check_refusal(connection.reply(), 408, "urn:newfound:problem:request-timeout")
        assert connection.is_closed()
    assert time.monotonic() - begun >= SECONDS


def drip(connection: Connection, data: bytes, pause: float) -> None:
    """Send data byte by byte until the server hangs up."""
    for n in range(len(data)):
        try:
            connection.send(data[n : n + 1])
        except ConnectionError:
            return
        time.sleep(pause)


@pytest.mark.parametrize("start", [b"GET /health HTTP/1.1\r\nX: ", JSON + b"Content-Length: 1000\r\n\r\n"])
def test_a_client_that_drips_is_cut_off(hasty: Running, start: bytes) -> None:
    with hasty.connect() as connection:
        connection.send(start)
        drip(connection, b" " * 60, SECONDS / 20)
        check_refusal(connection.reply(), 408, "urn:newfound:problem:request-timeout")
    wait_for(lambda: hasty.n_connections == 0, "no connection is left")


def test_an_upload_that_is_slow_but_steady_goes_on(settings: Settings) -> None:
    """It takes more than twice as long as a client may be silent."""
    line = b'{"text": "' + b"slow " * 200 + b'"}\n'
    silence = 2.0 * slowness()
    with running(settings.model_copy(update={"client_seconds": silence})) as api:
        corpus = make_corpus(api)
        with api.connect() as connection:
            connection.send(UPLOAD % corpus)
            for _ in range(10):
                connection.send(b"%x\r\n%b\r\n" % (len(line), line))
                time.sleep(0.22 * silence)
            connection.send(b"0\r\n\r\n")
            reply = connection.reply()
    assert (reply.status, reply.json()["accepted"]) == (200, 10)


def test_an_upload_that_falls_silent_stores_nothing(hasty: Running) -> None:
    corpus = make_corpus(hasty)
    lines = b"".join(b'{"text": "line %d"}\n' % n for n in range(2000))
    with hasty.connect() as connection:
        connection.send(UPLOAD % corpus + b"%x\r\n%b\r\n" % (len(lines), lines))
        check_refusal(connection.reply(), 408, "urn:newfound:problem:request-timeout")
    counts = hasty.ask(b"GET /v1/corpora/%b HTTP/1.1\r\nHost: localhost\r\n\r\n" % corpus).json()
    assert counts["documents"] == 0


def test_a_client_is_not_silent_while_the_service_does_not_read(
    hasty: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service sleeps over batches for longer than a client may be silent; meanwhile the client waits."""
    corpus = make_corpus(hasty)
    write = intake.Store.write
    pauses = [2 * SECONDS, 0, 0, 2 * SECONDS]

    def slow(store: intake.Store, *arguments: Any) -> Any:
        time.sleep(pauses.pop(0) if pauses else 0)
        return write(store, *arguments)

    monkeypatch.setattr(intake.Store, "write", slow)
    lines = b'{"text": "galaxy"}\n' * 2000  # several batches in all
    with hasty.connect() as connection:
        connection.send((UPLOAD % corpus).replace(b"\r\n\r\n", b"\r\nExpect: 100-continue\r\n\r\n"))
        assert connection.reply().status == 100
        connection.send((b"%x\r\n%b\r\n" % (len(lines), lines)) * 10 + b"0\r\n\r\n")
        assert connection.reply().json()["accepted"] == 20_000


def test_a_client_may_wait_for_its_answer_as_long_as_it_takes(hasty: Running) -> None:
    def sleep() -> None:
        time.sleep(2 * SECONDS)

    hasty.server.config.app.add_api_route("/sleep", sleep)
    assert hasty.ask(HEALTH.replace(b"/health", b"/sleep")).status == 200


def test_a_client_that_does_not_read_is_cut_off(hasty: Running) -> None:
    with hasty.connect() as connection:
        wait_for(lambda: hasty.n_connections == 1, "one is connected")
        connection.socket.settimeout(5 * SECONDS)
        asked = HEALTH.replace(b"/health", b"/openapi.json") * 1000
        with pytest.raises((ConnectionError, TimeoutError)):
            while True:
                connection.send(asked)
        wait_for(lambda: hasty.n_connections == 0, "no connection is left")


def test_after_an_answer_the_rest_of_a_body_is_thrown_away_for_a_while(hasty: Running) -> None:
    """As much as a client sends before it looks, that it may see the answer; not for ever."""
    with hasty.connect() as connection:
        connection.send(JSON + b"Content-Length: 10000000\r\n\r\n" + b"x" * 1_000_000)
        assert connection.reply().status == 413
        connection.send(b"x" * 9_000_000 + HEALTH)
        assert connection.reply().status == 200
    with hasty.connect() as connection:
        connection.send(JSON + b"Content-Length: 10000000000\r\n\r\n")
        assert connection.reply().status == 413
        begun = time.monotonic()
        with pytest.raises(ConnectionError):
            while time.monotonic() - begun < REQUEST_SECONDS:
                connection.send(b"x" * 10_000)
                time.sleep(SECONDS / 50)
        assert time.monotonic() - begun < 10 * SECONDS * slowness()


def test_idle_connections_are_closed(api: Running) -> None:
    api.server.config.timeout_keep_alive = 1
    with api.connect() as connection:
        connection.send(HEALTH)
        assert connection.reply().status == 200
        assert connection.is_closed()


def test_a_client_that_asks_as_seldom_as_it_is_told_keeps_its_connection(api: Running) -> None:
    """Else it would ask at times just when the service closes it, and get no answer."""
    assert api.server.config.timeout_keep_alive > 60 > MOST_POLL_SECONDS, "and so does a proxy"


def test_a_connection_too_many_is_a_503_and_the_others_go_on(api: Running) -> None:
    connections = [api.connect() for _ in range(8)]
    try:
        wait_for(lambda: api.n_connections == 8, "all are connected")
        refused = api.ask(HEALTH)
        check_refusal(refused, 503, "urn:newfound:problem:too-many-connections")
        assert int(refused.headers["retry-after"]) > 0
        connections[0].send(HEALTH)
        assert connections[0].reply().status == 200
        with api.connect() as silent:
            assert silent.is_closed()
    finally:
        for connection in connections:
            connection.__exit__()
    wait_for(lambda: api.n_connections == 0, "no connection is left")
    assert api.ask(HEALTH).status == 200


def test_a_crowd_beyond_that_is_not_even_answered(api: Running) -> None:
    connections = [api.connect() for _ in range(40)]
    try:
        wait_for(lambda: 8 <= api.n_connections <= 16, "no more than that are connected")
        assert sum(connection.is_closed() for connection in connections[16:]) == 24
    finally:
        for connection in connections:
            connection.__exit__()
