"""What is no HTTP, or too much of it, on a real server: large heads, endless bodies, requests that come at once."""

import asyncio
import time
from contextlib import suppress
from time import process_time

import pytest
from fastapi import Request

from app.http.protocol import MAX_HEAD_BYTES, MAX_HEADERS
from tests.app.http.raw_requests import HEALTH, JSON, check_refusal
from tests.app.server import Running
from tests.waits import wait_for

HEAD_TOO_LARGE = "urn:newfound:problem:head-too-large"


@pytest.fixture(params=["sqlite"])
def kind(request: pytest.FixtureRequest) -> str:
    """One database is enough here: it is asked next to nothing."""
    return str(request.param)


def head_of(n_bytes: int) -> bytes:
    """The head of a request to /health of so many bytes."""
    start, end = b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Long: ", b"\r\n\r\n"
    return start + b"x" * (n_bytes - len(start) - len(end)) + end


def test_a_head_of_64_kib_is_read_and_not_a_byte_more(api: Running) -> None:
    assert api.ask(head_of(MAX_HEAD_BYTES)).status == 200
    check_refusal(api.ask(head_of(MAX_HEAD_BYTES + 1)), 431, HEAD_TOO_LARGE)


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
        check_refusal(
            reply, reply.status, HEAD_TOO_LARGE if reply.status == 431 else "urn:newfound:problem:bad-request"
        )
        assert reply.status == 431 or more == b"0"  # a chunk's size cannot be long
        assert connection.is_closed()
    assert process_time() - begun < 2.0


def test_a_request_has_few_headers(api: Running) -> None:
    start = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
    assert api.ask(start + b"a:\r\n" * (MAX_HEADERS - 1) + b"\r\n").status == 200
    check_refusal(api.ask(start + b"a:\r\n" * MAX_HEADERS + b"\r\n"), 431, HEAD_TOO_LARGE)


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
        check_refusal(connection.reply(), 400, "urn:newfound:problem:bad-request")
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
