"""Answers as gzip: the same bytes for those who unpack them, in less on the way and in no more memory."""

import asyncio
import gzip
import json
import os
import tracemalloc
import zlib

import pytest
from starlette.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

from app.core.db import Database
from app.http.compression import LEAST_BYTES, Compression, takes_gzip
from tests.app import rows
from tests.app.exports.documents import documents, fill

CORPUS = f"/v1/corpora/{rows.CORPUS}"
GZIP, PLAIN = {"Accept-Encoding": "gzip"}, {"Accept-Encoding": "identity"}


@pytest.fixture(params=["sqlite"])
def kind(request: pytest.FixtureRequest) -> str:
    """One database is enough here: what is asked of it is asked elsewhere."""
    return str(request.param)


@pytest.fixture
def long_list(client: TestClient, database: Database) -> str:
    """Address of a list that is worth it."""
    rows.submit(database)
    fill(database, documents(50))
    return f"{CORPUS}/documents"


@pytest.mark.parametrize(
    "accepted, takes",
    [
        ("gzip", True), ("x-gzip", True), ("GZIP", True), ("br, gzip;q=0.5", True), ("*", True),
        ("gzip, identity", True), (None, False), ("", False), ("br", False), ("gzip;q=0", False),
        ("gzip; q=0.000", False), ("*;q=0", False),
        ("gzip;q=0, *", False), ("identity, gzip;q=0.5", False), ("gzip;q=nonsense", True),
    ],
)  # fmt: skip
def test_gzip_is_sent_to_those_who_take_it(accepted: str | None, takes: bool) -> None:
    assert takes_gzip(accepted) is takes


def test_a_long_answer_is_the_same_in_less_and_its_tag_is_another(client: TestClient, long_list: str) -> None:
    plain = client.get(long_list, headers=PLAIN)
    with client.stream("GET", long_list, headers=GZIP) as packed:
        raw = b"".join(packed.iter_raw())
    assert "content-encoding" not in plain.headers and packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(raw) == plain.content and len(raw) < len(plain.content) / 3
    assert packed.headers["Content-Length"] == str(len(raw))
    assert packed.headers["ETag"] == plain.headers["ETag"][:-1] + '-gzip"'
    assert "Accept-Encoding" in plain.headers["Vary"] and plain.headers["Vary"] == packed.headers["Vary"]


@pytest.mark.parametrize("encoding", [GZIP, PLAIN])
def test_each_of_both_tags_is_known_however_the_answer_would_come(
    client: TestClient, long_list: str, encoding: dict[str, str]
) -> None:
    for tag in (
        client.get(long_list, headers=GZIP).headers["ETag"],
        client.get(long_list, headers=PLAIN).headers["ETag"],
    ):
        again = client.get(long_list, headers={**encoding, "If-None-Match": tag})
        assert (again.status_code, again.headers["ETag"]) == (304, tag)
        assert "content-encoding" not in again.headers and "Accept-Encoding" in again.headers["Vary"]
        assert client.patch(CORPUS, json={"name": "a"}, headers={"If-Match": '"b-gzip"'}).status_code == 412


def test_what_was_read_as_gzip_is_changed_under_its_tag(client: TestClient, database: Database) -> None:
    rows.submit(database)
    fill(database, documents(1, text="a long text " * (LEAST_BYTES // 10)))
    path = f"{CORPUS}/documents/k0"
    tag = client.get(path, headers=GZIP).headers["ETag"]
    assert tag.endswith('-gzip"')
    assert client.patch(path, json={"label": "a"}, headers={"If-Match": tag}).status_code == 200
    assert client.patch(path, json={"label": "b"}, headers={"If-Match": tag}).status_code == 412


def test_a_decision_takes_the_tag_of_an_answer_that_came_as_gzip(client: TestClient, database: Database) -> None:
    job_id, _ = rows.submit(database)
    rows.add_results(database, job_id)
    path = f"/v1/jobs/{job_id}"
    tag = client.get(f"{path}/categories", headers=GZIP).headers["ETag"]
    assert tag.endswith('-gzip"')
    body = {"decisions": [{"kind": "none", "documents": ["document-1"]}]}
    assert client.post(f"{path}/decisions", json=body, headers={"If-Match": tag}).status_code == 201
    assert client.post(f"{path}/decisions", json=body, headers={"If-Match": tag}).status_code == 412


def test_short_answers_and_files_that_are_packed_already_stay_as_they_are(client: TestClient, long_list: str) -> None:
    export = f"{CORPUS}/export?format="
    for path in (f"{long_list}?limit=1", f"{export}xlsx", "/health", "/static-offline-docs/favicon.png"):
        assert "content-encoding" not in client.get(path, headers=GZIP).headers, path
    for path in (f"{export}csv", f"{export}ndjson", "/openapi.json", "/static-offline-docs/swagger-ui.css"):
        assert client.get(path, headers=GZIP).headers["Content-Encoding"] == "gzip", path


def test_a_stream_is_packed_as_it_comes_in_memory_that_does_not_grow() -> None:
    n_pieces, piece = 100, os.urandom(2**15).hex().encode()
    headers = [(b"content-type", b"application/x-ndjson"), (b"content-length", b"%d" % (n_pieces * len(piece)))]
    unpacker, sent, n_unpacked, peak, n_early = zlib.decompressobj(31), 0, 0, 0, 0
    start: Message = {}

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for number in range(n_pieces):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            nonlocal n_early
            n_early += sent > 0 and number < n_pieces / 2
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def send(message: Message) -> None:
        nonlocal sent, n_unpacked, peak, start
        if message["type"] == "http.response.start":
            start = message
            return
        unpacked = unpacker.decompress(message["body"])
        place = n_unpacked % len(piece)
        assert (3 * piece)[place : place + len(unpacked)] == unpacked
        n_unpacked += len(unpacked)
        sent += len(message["body"])
        peak = max(peak, tracemalloc.get_traced_memory()[1])

    async def receive() -> Message:
        return {"type": "http.request"}

    tracemalloc.start()
    try:
        scope = {"type": "http", "method": "GET", "headers": [(b"accept-encoding", b"gzip")]}
        asyncio.run(Compression(app)(scope, receive, send))
    finally:
        tracemalloc.stop()
    assert (
        unpacker.eof and n_unpacked == n_pieces * len(piece) and dict(start["headers"])[b"content-encoding"] == b"gzip"
    )
    assert b"content-length" not in dict(start["headers"])
    assert n_early > n_pieces / 4, "it is sent while it comes"
    assert peak < 2**21 < sent


def test_events_are_not_held_back() -> None:
    messages: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", b"text/event-stream; charset=utf-8")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        assert len(messages) == 1, "the head goes at once"
        await send({"type": "http.response.body", "body": b"data: 1\n\n", "more_body": True})
        assert messages[1]["body"] == b"data: 1\n\n"

    async def send(message: Message) -> None:
        messages.append(message)

    async def receive() -> Message:
        return {"type": "http.request"}

    scope = {"type": "http", "method": "GET", "headers": [(b"accept-encoding", b"gzip")]}
    asyncio.run(Compression(app)(scope, receive, send))
    assert b"content-encoding" not in dict(messages[0]["headers"])


def test_a_problem_of_some_length_is_packed_as_well(client: TestClient) -> None:
    path = "/v1/jobs?" + "&".join(f"name{n}=1" for n in range(50))
    with client.stream("GET", path, headers=GZIP) as answer:
        body = gzip.decompress(b"".join(answer.iter_raw()))
    assert (answer.status_code, json.loads(body)["type"]) == (422, "urn:newfound:problem:malformed-request")
