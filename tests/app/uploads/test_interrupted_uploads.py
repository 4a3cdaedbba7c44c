"""Uploads that break off, lose the database or fill the disk, on both databases: as if undisturbed, or told so."""

import json
from collections.abc import Container, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

import pytest
from sqlalchemy import event
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session
from starlette.testclient import TestClient

from app.core.db import Database
from app.uploads import intake
from app.uploads.rows import Row
from app.uploads.store import Batch, Store
from tests.app.uploads.sending import (
    BATCH,
    BODIES,
    break_off,
    chunk_message,
    documents,
    ndjson,
    new_corpus,
    send,
    speak,
    upload,
)

pytestmark = pytest.mark.usefixtures("small_batches")


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
