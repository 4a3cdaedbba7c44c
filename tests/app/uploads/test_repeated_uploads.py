"""Uploads under a key that break off, crash or come again, on both databases: as if undisturbed."""

import asyncio
import json
from collections.abc import Container, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

import pytest
from sqlalchemy import event, func, select, update
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session
from starlette.testclient import TestClient

from app.core import idempotency
from app.core.db import Database, now
from app.core.tables import Document, IdempotentRequest
from app.uploads import intake, store
from app.uploads.rows import Row
from app.uploads.store import Batch, Store

NDJSON, CSV = "application/x-ndjson", "text/csv"
REUSED = "urn:newfound:problem:idempotency-key-reused"
BATCH = 4


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "BATCH_ROWS", BATCH)


def new_corpus(client: TestClient) -> str:
    """Address of an empty corpus."""
    return str(client.post("/v1/corpora", json={"name": "corpus"}).headers["Location"])


@pytest.fixture
def corpus(client: TestClient) -> str:
    return new_corpus(client)


def upload(client: TestClient, corpus: str, content: bytes, kind: str = NDJSON, key: str = "key") -> Any:
    headers = {"Content-Type": kind, "Idempotency-Key": key}
    return client.post(f"{corpus}/documents", content=content, headers=headers)


def send(client: TestClient, corpus: str, content: bytes) -> Any:
    """Upload without a key."""
    return client.post(f"{corpus}/documents", content=content, headers={"Content-Type": NDJSON})


def break_off(client: TestClient, corpus: str, chunks: Iterable[bytes], kind: str = NDJSON) -> None:
    """Begin an upload as a server sees it, and leave before its end."""
    messages = [*map(chunk_message, chunks), {"type": "http.disconnect"}]
    answer = speak(client, corpus, messages, kind)
    assert answer.get("status", 422) == 422, "nobody is told that the upload has ended"
    assert messages == []


def chunk_message(chunk: bytes) -> dict[str, Any]:
    """A chunk as a server passes it on."""
    return {"type": "http.request", "body": chunk, "more_body": True}


def speak(client: TestClient, corpus: str, messages: list[Any], kind: str = NDJSON) -> dict[str, Any]:
    """Upload messages as a server sees them, those that are functions when they have been called; the answer's start.

    The test's own client sends an upload as a whole.
    """
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
    answers: list[Any] = []

    async def receive() -> Any:
        message = messages.pop(0)
        return message() if callable(message) else message

    async def send(message: Any) -> None:
        answers.append(message)

    asyncio.run(client.app(scope, receive, send))  # type: ignore[arg-type]
    return {key: value for message in reversed(answers) for key, value in message.items()}


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


@contextmanager
def failing(batches: Container[int]) -> Iterator[None]:
    """Let the transactions of some batches fail, counted from 1."""
    insert, n_batches = Store.insert, 0

    def insert_then_crash(*arguments: Any) -> Any:
        nonlocal n_batches
        n_batches += 1
        written = insert(*arguments)
        if n_batches in batches:  # in the transaction, which is undone
            raise OperationalError("INSERT", {}, Exception("the server closed the connection"))
        return written

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "insert", insert_then_crash)
        yield


def test_an_upload_goes_on_after_the_database_was_away(
    client: TestClient, database: Database, corpus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calm_corpus = new_corpus(client)
    body = b"".join(ndjson())
    calm = upload(client, calm_corpus, body)
    monkeypatch.setattr(intake, "PATIENCE_SECONDS", 0.0)
    with failing(batches=range(3, 4)):
        refused = upload(client, corpus, body)
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "5")
    n_documents = len(documents(database, corpus))
    assert 0 < n_documents <= 2 * BATCH
    assert (refused.json()["accepted"], refused.json()["rejected"]) == (n_documents, 2 * BATCH - n_documents)
    assert f"{n_documents} documents are stored" in refused.json()["detail"]
    assert upload(client, corpus, body).content == calm.content
    assert documents(database, corpus) == documents(database, calm_corpus)


def test_an_upload_waits_for_a_database_that_is_away(
    client: TestClient, database: Database, corpus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calm_corpus = new_corpus(client)
    body = b"".join(ndjson())
    calm = send(client, calm_corpus, body)
    monkeypatch.setattr(intake, "PAUSE_SECONDS", 0.0)
    with failing(batches={1, 2, 4, 6, 7, 8}):
        answer = send(client, corpus, body)
    assert (answer.status_code, answer.content) == (200, calm.content)
    assert documents(database, corpus) == documents(database, calm_corpus)
    assert client.get(corpus).json()["version"] == client.get(calm_corpus).json()["version"]


@pytest.mark.parametrize("kind", ["sqlite"])
def test_an_upload_that_a_full_disk_breaks_off_is_a_507_that_says_what_is_stored(
    client: TestClient, database: Database, corpus: str
) -> None:
    rows = [json.dumps({"text": "x" * 1000 + str(n)}).encode() + b"\n" for n in range(100 * BATCH)]
    with database.engine.connect() as connection:
        n_pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()

    def fill_disk(connection: Any, _: Any) -> None:
        connection.execute(f"PRAGMA max_page_count = {n_pages + 60}")

    engine = client.app.state.database.engine  # type: ignore[attr-defined]
    engine.dispose()
    event.listen(engine, "connect", fill_disk)
    refused = send(client, corpus, b"".join(rows))
    assert (refused.status_code, refused.json()["type"]) == (507, "urn:newfound:problem:storage-full")
    n_documents = len(documents(database, corpus))
    assert 0 < n_documents < len(rows)
    assert refused.json()["accepted"] == n_documents
    assert f"{n_documents} documents are stored" in refused.json()["detail"]
    assert client.delete(corpus).status_code == 204, "room can be made"


class LosesTheNews:
    """Sessions whose commits come through, while nobody hears of it."""

    def __init__(self, database: Database) -> None:
        self.database = database

    @contextmanager
    def begin(self) -> Iterator[Session]:
        with self.database.sessions.begin() as session:
            yield session
        raise OperationalError("COMMIT", {}, Exception("the server closed the connection"))


def test_a_batch_whose_commit_nobody_heard_of_is_stored_once(
    client: TestClient, database: Database, corpus: str
) -> None:
    store = Store(database, corpus[-36:])
    for number in range(3):
        batch = Batch([Row(1, f"numbered {number}", None, None), Row(2, "keyed", f"key {number}", None)])
        store.database = replace(database, sessions=cast(Any, LosesTheNews(database)))
        with pytest.raises(OperationalError):
            store.write(batch)
        store.database = database
        assert [row.text for row in store.write(batch).stored] == [f"numbered {number}", "keyed"]
        assert len(documents(database, corpus)) == 2 * number + 2
    assert {key for key, *_ in documents(database, corpus)} >= {"document-1", "document-3", "document-5"}
    assert client.get(corpus).json()["version"] == 3


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
    assert f"{len(documents(database, corpus))} documents are stored" in first.json()["detail"]


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


def test_documents_let_go_of_an_old_key_a_few_at_a_time(
    client: TestClient, database: Database, corpus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idempotency, "MAX_RELEASED", 5)
    body = b"".join(b'{"text": "%d"}\n' % n for n in range(13))
    upload(client, corpus, body)
    with database.sessions.begin() as session:
        session.execute(update(IdempotentRequest).values(created_at=now() - 86_500))
    assert upload(client, corpus, body).json()["accepted"] == 13, "its key is free at once"
    held = select(func.count()).where(Document.upload_id.is_not(None))
    left = []
    for n in range(3):
        with database.readers.begin() as session:
            left.append((session.scalar(held), session.scalar(select(func.count(IdempotentRequest.id)))))
        client.post("/v1/corpora", json={"name": "corpus"}, headers={"Idempotency-Key": f"{n}"})
    assert left == [(13 + 7, 2), (13 + 1, 3), (13, 3)]


def test_an_upload_into_a_corpus_that_was_deleted_is_told_so(client: TestClient, corpus: str) -> None:
    body = b"".join(ndjson())
    assert upload(client, corpus, body).status_code == 200
    break_off_key = upload(client, corpus, b"nonsense", key="other")
    assert break_off_key.status_code == 422
    client.delete(corpus)
    gone = upload(client, corpus, body)
    assert (gone.status_code, gone.json()["type"]) == (410, "urn:newfound:problem:resource-deleted")
    assert upload(client, corpus, b'{"text": "a"}\n', key="other").status_code == 404
    assert upload(client, corpus, b'{"text": "a"}\n').json()["type"] == REUSED
    assert send(client, corpus, body).status_code == 404


def test_an_upload_under_way_ends_when_its_corpus_is_deleted(
    client: TestClient, database: Database, corpus: str
) -> None:
    def after_the_deletion() -> dict[str, Any]:
        assert len(documents(database, corpus)) == 2 * BATCH
        assert client.delete(corpus).status_code == 204
        return chunk_message(b'{"text": "b"}\n' * BATCH)

    answer = speak(client, corpus, [chunk_message(b'{"text": "a"}\n' * 2 * BATCH), after_the_deletion])
    assert answer["status"] == 404
    assert json.loads(answer["body"])["type"] == "urn:newfound:problem:corpus-not-found"


def test_a_key_holds_for_one_corpus(client: TestClient, database: Database, corpus: str) -> None:
    other = new_corpus(client)
    assert upload(client, corpus, b'{"text": "a"}\n').json()["accepted"] == 1
    answer = upload(client, other, b'{"text": "a"}\n')
    assert (answer.json()["accepted"], "Idempotent-Replayed" in answer.headers) == (1, False)
    assert len(documents(database, other)) == 1
