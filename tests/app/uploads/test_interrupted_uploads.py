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
from tests.app.uploads.sending import BATCH, BODIES, break_off, documents, ndjson, new_corpus, send, upload

pytestmark = pytest.mark.usefixtures("small_batches")


@pytest.mark.parametrize("kind_of_file", BODIES)
@pytest.mark.parametrize("share", [0.0, 0.1, 0.7])
def test_an_upload_that_breaks_off_stores_nothing_and_is_sent_again(
    client: TestClient, database: Database, corpus: str, kind_of_file: str, share: float
) -> None:
    lines = BODIES[kind_of_file]
    break_off(client, corpus, lines[: int(share * len(lines))], kind_of_file)
    assert documents(database, corpus) == []
    answer = upload(client, corpus, b"".join(lines), kind_of_file)
    assert answer.status_code == 200
    assert "Idempotent-Replayed" not in answer.headers
    again = upload(client, corpus, b"".join(lines), kind_of_file)
    assert (again.content, again.headers["Idempotent-Replayed"]) == (answer.content, "true")


@contextmanager
def failing(batches: Container[int]) -> Iterator[None]:
    """Let the transactions of some batches fail, counted from 1."""
    put, n_batches = Store.put, 0

    def put_then_crash(*arguments: Any) -> Any:
        nonlocal n_batches
        n_batches += 1
        written = put(*arguments)
        if n_batches in batches:  # in the transaction, which is undone
            raise OperationalError("INSERT", {}, Exception("the server closed the connection"))
        return written

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "put", put_then_crash)
        yield


def test_an_upload_that_lost_the_database_says_what_is_stored_and_ends_when_it_is_sent_again(
    client: TestClient, database: Database, corpus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calm_corpus = new_corpus(client)
    body = b"".join(ndjson())
    calm = upload(client, calm_corpus, body).json()
    monkeypatch.setattr(intake, "PATIENCE_SECONDS", 0.0)
    with failing(batches=range(3, 4)):
        refused = upload(client, corpus, body)
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "5")
    n_documents = len(documents(database, corpus))
    assert 0 < n_documents <= 2 * BATCH
    assert (refused.json()["accepted"], refused.json()["rejected"]) == (n_documents, 2 * BATCH - n_documents)
    assert f"{n_documents} documents are stored" in refused.json()["detail"]
    again = upload(client, corpus, body).json()
    assert (again["accepted"], again["rejected"]) == (calm["accepted"], calm["rejected"])
    assert again["unchanged"] == calm["unchanged"] + n_documents
    assert again["errors"] == calm["errors"]
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
        batch = store.named(Batch([Row(1, f"without a key {number}", None, None), Row(2, "text", f"{number}", None)]))
        store.database = replace(database, sessions=cast(Any, LosesTheNews(database)))
        with pytest.raises(OperationalError):
            store.write(batch)
        store.database = database
        written = store.write(batch)
        assert ([row.text for row in written.added], written.unchanged) == ([f"without a key {number}", "text"], [])
        assert len(documents(database, corpus)) == 2 * number + 2
    assert client.get(corpus).json()["version"] == 3


def test_an_upload_under_way_ends_when_its_corpus_is_deleted(
    client: TestClient, database: Database, corpus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, n_batches = Store.write, 0

    def write_then_delete(*arguments: Any) -> Any:
        nonlocal n_batches
        n_batches += 1
        written = write(*arguments)
        if n_batches == 2:
            assert client.delete(corpus).status_code == 204
        return written

    monkeypatch.setattr(Store, "write", write_then_delete)
    answer = send(client, corpus, b'{"text": "a"}\n' * 5 * BATCH)
    assert (answer.status_code, answer.json()["type"]) == (404, "urn:newfound:problem:corpus-not-found")
    assert n_batches == 3
