"""Bounds of a connection, on a real server: large heads, silent clients, crowds."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import suppress
from time import process_time
from typing import Any

import pytest
from fastapi import Request

from app.core.errors import PROBLEM
from app.core.settings import Settings
from app.http.protocol import MAX_HEAD_BYTES, MAX_HEADERS
from app.uploads import intake
from tests.app.server import Connection, Reply, Running, running
from tests.waits import REQUEST_SECONDS, slowness, wait_for

SECONDS = 1.0  # that a client may be silent for, where that is waited for
HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
UPLOAD = (
    b"POST /v1/corpora/%b/documents HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)
JSON = b"POST /v1/corpora HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
HEAD_TOO_LARGE = "urn:newfound:problem:head-too-large"


@pytest.fixture(params=["sqlite"])
def kind(request: pytest.FixtureRequest) -> str:
    """One database is enough here: it is asked next to nothing."""
    return str(request.param)


@pytest.fixture
def api(settings: Settings) -> Iterator[Running]:
    """A service that takes eight connections, and waits for clients longer than any test does."""
    with running(settings.model_copy(update={"client_seconds": 60.0, "max_connections": 8})) as api:
        yield api


@pytest.fixture
def hasty(settings: Settings) -> Iterator[Running]:
    """A service that soon cuts off silent clients."""
    with running(settings.model_copy(update={"client_seconds": SECONDS})) as api:
        yield api


def check(reply: Reply, status: int, type_: str) -> None:
    """Check that an answer is a problem that ends the connection."""
    assert reply.status == status
    assert reply.headers["content-type"] == PROBLEM
    assert reply.headers["connection"] == "close"
    assert reply.json()["type"] == type_
    assert {"type", "title", "status", "detail", "instance"} <= reply.json().keys()


def make_corpus(api: Running) -> bytes:
    """Id of a new corpus."""
    made = api.ask(JSON + b'Content-Length: 12\r\n\r\n{"name":"a"}')
    return str(made.json()["id"]).encode()


def head_of(n_bytes: int) -> bytes:
    """The head of a request to /health of so many bytes."""
    start, end = b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Long: ", b"\r\n\r\n"
    return start + b"x" * (n_bytes - len(start) - len(end)) + end


def test_a_head_of_64_kib_is_read_and_not_a_byte_more(api: Running) -> None:
    assert api.ask(head_of(MAX_HEAD_BYTES)).status == 200
    check(api.ask(head_of(MAX_HEAD_BYTES + 1)), 431, HEAD_TOO_LARGE)


@pytest.mark.parametrize("piece", [1, 3, 1000])
def test_a_head_may_come_in_pieces_of_any_size(api: Running, piece: int) -> None:
    with api.connect() as connection:
        for start in range(0, len(HEALTH), piece):
            connection.send(HEALTH[start : start + piece])
            time.sleep(0.002)
        assert connection.reply().status == 200


@pytest.mark.parametrize(
    "start, more",
    [
        (b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Long: ", b"x"),
        (b"GET /health HTTP/1.1\r\nHost: localhost\r\n", b"X"),
        (b"GET /health HTTP/1.1\r\nHost: localhost\r\n", b"X-Short: 1\r\n"),
        (b"GET /", b"x"),
        (b"GET /?", b"limit=1&"),
        (b"", b"\r\n"),
        (HEALTH + b"GET /", b"x"),
        (JSON + b"Transfer-Encoding: chunked\r\n\r\n1;x=", b"x"),
        (JSON + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Long: ", b"x"),
        (JSON + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n", b"X-Short: 1\r\n"),
        (JSON + b"Transfer-Encoding: chunked\r\n\r\n", b"0"),
    ],
    ids=["value", "name", "many", "path", "query", "empty-lines", "second", "extension", "trailer", "trailers", "size"],
)
def test_an_endless_head_is_refused_at_little_cost(api: Running, start: bytes, more: bytes) -> None:
    begun = process_time()
    with api.connect() as connection:
        with suppress(ConnectionError):  # if it is cut off before it has sent all
            connection.send(start + more * (2**25 // len(more)))
        if start.startswith(HEALTH):
            assert connection.reply().status == 200
        reply = connection.reply()
        check(reply, reply.status, HEAD_TOO_LARGE if reply.status == 431 else "urn:newfound:problem:bad-request")
        assert reply.status == 431 or more == b"0"  # a chunk's size cannot be long
        assert connection.is_closed()
    assert process_time() - begun < 2.0


def test_a_request_has_few_headers(api: Running) -> None:
    start = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
    assert api.ask(start + b"a:\r\n" * (MAX_HEADERS - 1) + b"\r\n").status == 200
    check(api.ask(start + b"a:\r\n" * MAX_HEADERS + b"\r\n"), 431, HEAD_TOO_LARGE)


@pytest.mark.parametrize(
    "data",
    [
        b"nonsense\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost localhost\r\n\r\n",
        b"GET /health HTTP/1.1\nHost: localhost\n\n",
        b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /health?\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        JSON + b"Content-Length: 1\r\nContent-Length: 1\r\n\r\na",
        JSON + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\na",
        JSON + b"Content-Length: x\r\n\r\na",
        JSON + b"Transfer-Encoding: chunked\r\n\r\nx",
        JSON + b"Content-Length: 2\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n{}",
    ],
)
def test_what_is_not_http_is_a_400_that_ends_the_connection(api: Running, data: bytes) -> None:
    with api.connect() as connection:
        connection.send(data)
        check(connection.reply(), 400, "urn:newfound:problem:bad-request")
        assert connection.is_closed()


def test_an_upgrade_is_not_taken_up(api: Running) -> None:
    with api.connect() as connection:
        connection.send(HEALTH[:-2] + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n" + HEALTH)
        assert connection.reply().status == 200
        assert connection.is_closed()


def test_requests_that_come_at_once_are_answered_one_after_the_other(api: Running) -> None:
    body = b'{"name": "x"}'
    asked = HEALTH + JSON + b"Content-Length: %d\r\n\r\n" % len(body) + body + HEALTH
    with api.connect() as connection:
        connection.send(asked * 100)
        assert [connection.reply().status for _ in range(300)] == [200, 201, 200] * 100


def test_what_a_client_sends_before_it_has_its_answer_is_not_read(api: Running) -> None:
    """Not even while the application listens whether the client is still there."""

    async def listen(request: Request) -> None:
        for _ in range(40):
            await request.is_disconnected()
            await asyncio.sleep(0.05)

    api.server.config.app.add_api_route("/listen", listen)
    with api.connect() as connection:
        connection.send(HEALTH.replace(b"/health", b"/listen"))
        wait_for(lambda: api.n_connections == 1, "one is connected")
        connection.socket.settimeout(1.0)
        with pytest.raises(TimeoutError):
            connection.send(HEALTH * 1_000_000)
        [served] = api.server.server_state.connections
        assert len(served.unread) < 2**20


def test_what_follows_a_chunked_body_at_once_is_left_to_be_sent_again(api: Running) -> None:
    with api.connect() as connection:
        connection.send(
            JSON + b'Transfer-Encoding: chunked\r\n\r\nd\r\n{"name": "x"}\r\n0\r\nX: y\r\n\r\n' + HEALTH * 100
        )
        assert connection.reply().status == 201
        assert connection.is_closed()


def test_trailers_are_not_taken_for_headers(api: Running) -> None:
    start = JSON.replace(b"Content-Type: application/json\r\n", b"")
    trailer = b"Content-Type: application/json\r\n"
    body = b'Transfer-Encoding: chunked\r\n\r\nd\r\n{"name": "x"}\r\n0\r\n'
    assert api.ask(start + body + trailer + b"\r\n").status == 415


@pytest.mark.parametrize("start", [b"", b"GET /", HEALTH + b"GET /", HEALTH + b"\r\n"])
def test_a_head_that_does_not_end_in_time_is_a_408(hasty: Running, start: bytes) -> None:
    begun = time.monotonic()
    with hasty.connect() as connection:
        connection.send(start)
        if start.startswith(HEALTH):
            assert connection.reply().status == 200
        check(connection.reply(), 408, "urn:newfound:problem:request-timeout")
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
        check(connection.reply(), 408, "urn:newfound:problem:request-timeout")
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


def test_an_upload_that_falls_silent_keeps_what_had_come(hasty: Running) -> None:
    corpus = make_corpus(hasty)
    lines = b"".join(b'{"text": "line %d"}\n' % n for n in range(2000))
    with hasty.connect() as connection:
        connection.send(UPLOAD % corpus + b"%x\r\n%b\r\n" % (len(lines), lines))
        check(connection.reply(), 408, "urn:newfound:problem:request-timeout")
    counts = hasty.ask(b"GET /v1/corpora/%b HTTP/1.1\r\nHost: localhost\r\n\r\n" % corpus).json()
    assert counts["documents"] >= 1000  # whole batches


def test_a_client_is_not_silent_while_the_service_does_not_read(
    hasty: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service sleeps over batches for longer than a client may be silent; meanwhile the client cannot send."""
    corpus = make_corpus(hasty)
    write = intake.Store.write
    pauses = [2 * SECONDS, 0, 0, 2 * SECONDS]

    def slow(store: intake.Store, *arguments: Any) -> Any:
        time.sleep(pauses.pop(0) if pauses else 0)
        return write(store, *arguments)

    monkeypatch.setattr(intake.Store, "write", slow)
    lines = b'{"text": "galaxy"}\n' * 2000
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


def test_a_connection_too_many_is_a_503_and_the_others_go_on(api: Running) -> None:
    connections = [api.connect() for _ in range(8)]
    try:
        wait_for(lambda: api.n_connections == 8, "all are connected")
        refused = api.ask(HEALTH)
        check(refused, 503, "urn:newfound:problem:too-many-connections")
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
