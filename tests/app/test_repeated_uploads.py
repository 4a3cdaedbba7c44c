"""Uploads under a key that break off, crash or come again, on both databases: as if undisturbed."""

import asyncio
import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import func, select, update
from sqlalchemy.exc import OperationalError
from starlette.testclient import TestClient

from app import intake
from app.db import Database, now
from app.models import Document, IdempotentRequest

NDJSON, CSV = "application/x-ndjson", "text/csv"
REUSED = "urn:newfound:problem:idempotency-key-reused"
BATCH = 4


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "BATCH_ROWS", BATCH)


def new_corpus(client: TestClient) -> str:
    """Address of an empty corpus."""
    return str(client.post("/v1/corpora", json={"name": "corpus"}).headers["Location"])


@pytest.fixture
def corpus(client: TestClient) -> str:
    return new_corpus(client)


def upload(client: TestClient, corpus: str, content: bytes, kind: str = NDJSON, key: str = "key") -> Any:
    headers = {"Content-Type": kind, "Idempotency-Key": key}
    return client.post(f"{corpus}/documents", content=content, headers=headers)


def break_off(client: TestClient, corpus: str, chunks: Iterable[bytes], kind: str = NDJSON) -> None:
    """Begin an upload as a server sees it, and leave before its end."""
    messages = [{"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks]
    messages.append({"type": "http.disconnect"})
    path = f"{corpus}/documents"
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [(b"host", b"testserver"), (b"content-type", kind.encode()), (b"idempotency-key", b"key")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
    }

    async def receive() -> Any:
        return messages.pop(0)

    async def send(message: Any) -> None:
        assert message.get("status", 422) == 422, "nobody is told that the upload has ended"

    asyncio.run(client.app(scope, receive, send))  # type: ignore[arg-type]
    assert messages == []


def ndjson() -> list[bytes]:
    """Lines with a key, without one, twice the same key, without text, and useless ones."""
    rows: list[Any] = []
    for n in range(8):
        rows += [
            {"text": f"keyed {n}", "key": f"k{n}", "label": "known" if n % 2 else None},
            {"text": f"numbered {n}"},
            {"text": f"again {n}", "key": f"k{n // 2}"},
            {"text": "", "year": n},
        ]
    lines = [json.dumps(row).encode() + b"\n" for row in rows]
    return [*lines[:9], b"nonsense\n", *lines[9:20], b"\n", b'{"text": 1}\n', *lines[20:]]


def csv() -> list[bytes]:
    """The same as records, some of which go over lines."""
    records = [f'"keyed\n{n}",k{n},known\n"numbered {n}",,\nagain {n},k{n // 2},\n,,\n' for n in range(8)]
    return [b"text,key,label\n", *(record.encode() for record in records), b"a,b\n"]


BODIES = {NDJSON: ndjson(), CSV: csv()}


def documents(database: Database, corpus: str) -> list[Any]:
    """What a corpus holds, by id."""
    columns = (Document.key, Document.text, Document.label, Document.line)
    with database.readers.begin() as session:
        rows = session.execute(select(*columns).where(Document.corpus_id == corpus[-36:]).order_by(Document.id))
        return [tuple(row) for row in rows]


@pytest.mark.parametrize("kind_of_file", BODIES)
@pytest.mark.parametrize("share", [0.0, 0.1, 0.4, 0.7])
def test_an_upload_that_broke_off_goes_on_where_it_stopped(
    client: TestClient, database: Database, corpus: str, kind_of_file: str, share: float
) -> None:
    lines = BODIES[kind_of_file]
    n_chunks = int(share * len(lines))
    calm_corpus = new_corpus(client)
    calm = upload(client, calm_corpus, b"".join(lines), kind_of_file)
    assert calm.json()["rejected"] > 0 < calm.json()["accepted"]

    break_off(client, corpus, lines[:n_chunks], kind_of_file)
    there = documents(database, corpus)
    assert len(there) < len(documents(database, calm_corpus)), "it did break off"
    assert (len(there) >= BATCH) == (share > 0.1), "and not before it had begun"
    break_off(client, corpus, lines[: n_chunks + 2], kind_of_file)
    answer = upload(client, corpus, b"".join(lines), kind_of_file)
    assert (answer.status_code, answer.content) == (200, calm.content)
    assert documents(database, corpus) == documents(database, calm_corpus)
    assert documents(database, corpus)[: len(there)] == there
    assert "Idempotent-Replayed" not in answer.headers
    again = upload(client, corpus, b"".join(lines), kind_of_file)
    assert (again.content, again.headers["Idempotent-Replayed"]) == (calm.content, "true")


def test_an_upload_goes_on_after_the_database_was_away(
    client: TestClient, database: Database, corpus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calm_corpus = new_corpus(client)
    body = b"".join(ndjson())
    calm = upload(client, calm_corpus, body)
    insert, n_batches = intake.Store.insert, 0

    def insert_twice_then_crash(*arguments: Any) -> None:
        nonlocal n_batches
        n_batches += 1
        insert(*arguments)
        if n_batches == 3:  # in the transaction, which is undone
            raise OperationalError("INSERT", {}, Exception("the server closed the connection"))

    with monkeypatch.context() as patch:
        patch.setattr(intake.Store, "insert", insert_twice_then_crash)
        assert upload(client, corpus, body).status_code == 503
    assert 0 < len(documents(database, corpus)) <= 2 * BATCH
    assert upload(client, corpus, body).content == calm.content
    assert documents(database, corpus) == documents(database, calm_corpus)


def test_other_uploads_in_between_take_nothing_and_lose_nothing(
    client: TestClient, database: Database, corpus: str
) -> None:
    break_off(client, corpus, [b'{"text": "a"}\n'] * 9)
    assert upload(client, corpus, b'{"text": "b"}\n' * 5, key="other").json()["accepted"] == 5
    assert upload(client, corpus, b'{"text": "a"}\n' * 10).json()["accepted"] == 10
    found = documents(database, corpus)
    assert sorted(text for _, text, _, _ in found) == ["a"] * 10 + ["b"] * 5
    assert {key for key, *_ in found} == {f"document-{n}" for n in range(1, 16)}


def test_a_finished_upload_is_answered_again_without_a_write(client: TestClient, corpus: str) -> None:
    body = b"".join(ndjson())
    first = upload(client, corpus, body)
    version = client.get(corpus).json()["version"]
    again = upload(client, corpus, body)
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert client.get(corpus).json()["version"] == version


def test_a_finished_upload_with_other_bytes_is_a_422_and_nothing_is_written(
    client: TestClient, database: Database, corpus: str
) -> None:
    upload(client, corpus, b'{"text": "a"}\n')
    for other in (b'{"text": "a"}\n{"text": "b"}\n', b'{"text": "a"}', b""):
        refused = upload(client, corpus, other)
        assert (refused.status_code, refused.json()["type"]) == (422, REUSED)
    assert upload(client, corpus, b" " * (2**20 + 1)).status_code == 413
    assert len(documents(database, corpus)) == 1


def test_an_upload_that_broke_off_takes_no_other_lines(client: TestClient, database: Database, corpus: str) -> None:
    break_off(client, corpus, [b'{"text": "a", "key": "%d"}\n' % n for n in range(5)])
    for other in (b'{"text": "b", "key": "0"}\n', b'{"text": "a", "key": "7"}\n', b'{"text": "a", "label": "x"}\n'):
        refused = upload(client, corpus, other * 6)
        assert (refused.status_code, refused.json()["type"]) == (422, REUSED)
        assert "line 1" in refused.json()["detail"]
    assert len(documents(database, corpus)) == BATCH


def test_the_same_upload_from_many_threads_is_stored_once(client: TestClient, database: Database, corpus: str) -> None:
    body = b"".join(ndjson())
    calm = upload(client, new_corpus(client), body)
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: upload(client, corpus, body), range(6)))
    assert {(answer.status_code, answer.content) for answer in answers} == {(200, calm.content)}
    assert len(documents(database, corpus)) == calm.json()["accepted"]


def test_other_uploads_under_one_key_from_many_threads_are_not_mixed(
    client: TestClient, database: Database, corpus: str
) -> None:
    def one(n: int) -> Any:
        return upload(client, corpus, b"".join(b'{"text": "%d"}\n' % n for _ in range(3 * BATCH)))

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(one, range(6)))
    assert sorted(answer.status_code for answer in answers) == [200] + [422] * 5
    assert len(documents(database, corpus)) == 3 * BATCH
    assert len({text for _, text, _, _ in documents(database, corpus)}) == 1


def test_an_upload_of_which_nothing_was_accepted_may_be_mended_under_its_key(client: TestClient, corpus: str) -> None:
    assert upload(client, corpus, b"nonsense\n").status_code == 422
    assert upload(client, corpus, b"nonsense\n").json()["type"] == "urn:newfound:problem:nothing-accepted"
    assert upload(client, corpus, b'{"text": "a"}\n').json()["accepted"] == 1


def test_an_upload_past_the_limit_is_cut_at_the_same_place_again(
    client: TestClient, database: Database, corpus: str
) -> None:
    body = (b'{"text": "' + b"x" * 2000 + b'"}\n') * 600
    first, again = upload(client, corpus, body), upload(client, corpus, body)
    assert first.status_code == again.status_code == 413
    assert first.json()["detail"] == again.json()["detail"]
    assert f"{len(documents(database, corpus))} rows" in first.json()["detail"]


def test_a_key_that_is_a_day_old_no_longer_holds_its_lines(client: TestClient, database: Database, corpus: str) -> None:
    upload(client, corpus, b'{"text": "a"}\n')
    break_off(client, corpus, [])
    with database.sessions.begin() as session:
        session.execute(update(IdempotentRequest).values(created_at=now() - 86_500))
    answer = upload(client, corpus, b'{"text": "a"}\n')
    assert "Idempotent-Replayed" not in answer.headers
    assert len(documents(database, corpus)) == 2
    with database.readers.begin() as session:
        assert session.scalar(select(func.count()).where(Document.upload_id.is_(None))) == 1
        assert session.scalar(select(func.count()).select_from(IdempotentRequest)) == 1


def test_a_key_holds_for_one_corpus(client: TestClient, database: Database, corpus: str) -> None:
    other = new_corpus(client)
    assert upload(client, corpus, b'{"text": "a"}\n').json()["accepted"] == 1
    answer = upload(client, other, b'{"text": "a"}\n')
    assert (answer.json()["accepted"], "Idempotent-Replayed" in answer.headers) == (1, False)
    assert len(documents(database, other)) == 1
