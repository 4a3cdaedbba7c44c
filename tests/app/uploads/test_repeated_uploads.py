"""Uploads that come again under their key, on both databases: stored once, and answered as before."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import func, select, update
from starlette.testclient import TestClient

from app.core import idempotency
from app.core.db import Database, now
from app.core.tables import Document, IdempotentRequest
from tests.app.uploads.sending import BATCH, REUSED, break_off, documents, ndjson, new_corpus, send, upload

pytestmark = pytest.mark.usefixtures("small_batches")


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


def test_a_key_holds_for_one_corpus(client: TestClient, database: Database, corpus: str) -> None:
    other = new_corpus(client)
    assert upload(client, corpus, b'{"text": "a"}\n').json()["accepted"] == 1
    answer = upload(client, other, b'{"text": "a"}\n')
    assert (answer.json()["accepted"], "Idempotent-Replayed" in answer.headers) == (1, False)
    assert len(documents(database, other)) == 1
