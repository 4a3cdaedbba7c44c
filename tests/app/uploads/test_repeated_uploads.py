"""Uploads that come again, with an idempotency key or without one, on both databases: nothing is stored twice."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import func, select, update
from starlette.testclient import TestClient

from app.core.db import Database, now
from app.core.tables import IdempotentRequest
from tests.app.uploads.sending import BATCH, BODIES, REUSED, documents, lines, ndjson, new_corpus, send, upload

pytestmark = pytest.mark.usefixtures("small_batches")


@pytest.mark.parametrize("kind_of_file", BODIES)
def test_the_same_file_twice_changes_nothing_and_says_so(
    client: TestClient, database: Database, corpus: str, kind_of_file: str
) -> None:
    body = b"".join(BODIES[kind_of_file])
    first = send(client, corpus, body, kind_of_file).json()
    before = client.get(corpus).json(), documents(database, corpus)
    again = send(client, corpus, body, kind_of_file).json()
    assert (again["accepted"], again["added"], again["unchanged"]) == (first["accepted"], 0, first["accepted"])
    assert any("changed nothing" in sentence for sentence in again["warnings"])
    assert (client.get(corpus).json(), documents(database, corpus)) == before


def test_the_order_of_documents_without_a_key_does_not_matter(
    client: TestClient, database: Database, corpus: str
) -> None:
    rows = [{"text": f"text {n % 9}"} for n in range(30)]
    other = new_corpus(client)
    send(client, corpus, lines(*rows))
    send(client, other, lines(*sorted(rows, key=lambda row: row["text"][::-1], reverse=True)))
    assert sorted(documents(database, corpus)) == sorted(documents(database, other))
    assert len({key for key, *_ in documents(database, corpus)}) == 30


def test_a_finished_upload_is_answered_again_without_a_write(client: TestClient, corpus: str) -> None:
    body = b"".join(ndjson())
    first = upload(client, corpus, body)
    version = client.get(corpus).json()["version"]
    again = upload(client, corpus, body)
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert client.get(corpus).json()["version"] == version


def test_a_finished_upload_with_other_bytes_or_choices_is_a_422_and_nothing_is_written(
    client: TestClient, database: Database, corpus: str
) -> None:
    upload(client, corpus, b'{"text": "a"}\n')
    for other in (b'{"text": "a"}\n{"text": "b"}\n', b'{"text": "a"}', b""):
        refused = upload(client, corpus, other)
        assert (refused.status_code, refused.json()["type"]) == (422, REUSED)
    headers = {"Idempotency-Key": "key"}
    with_choice = client.post(f"{corpus}/documents?on_error=abort", content=b'{"text": "a"}\n', headers=headers)
    assert (with_choice.status_code, with_choice.json()["type"]) == (422, REUSED)
    assert upload(client, corpus, b" " * (2**20 + 1)).status_code == 413
    assert len(documents(database, corpus)) == 1


def test_the_same_upload_from_many_threads_is_stored_once(client: TestClient, database: Database, corpus: str) -> None:
    body = b"".join(ndjson())
    calm = upload(client, new_corpus(client), body).json()
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: upload(client, corpus, body), range(6)))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1
    assert answers[0].json()["accepted"] == calm["accepted"]
    assert len(documents(database, corpus)) == calm["added"]


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
    for _ in range(2):
        assert upload(client, corpus, b'{"text": 1, "key": []}\n').json()["type"].endswith("nothing-accepted")
    assert upload(client, corpus, b'{"text": "a"}\n').json()["accepted"] == 1


def test_a_key_that_is_a_day_old_is_free(client: TestClient, database: Database, corpus: str) -> None:
    upload(client, corpus, b'{"text": "a"}\n')
    with database.sessions.begin() as session:
        session.execute(update(IdempotentRequest).values(created_at=now() - 86_500))
    answer = upload(client, corpus, b'{"text": "a"}\n{"text": "b"}\n')
    assert "Idempotent-Replayed" not in answer.headers
    assert (answer.json()["added"], answer.json()["unchanged"]) == (1, 1)
    with database.readers.begin() as session:
        assert session.scalar(select(func.count()).where(IdempotentRequest.scope != "")) == 1


def test_an_upload_into_a_corpus_that_was_deleted_is_told_so(client: TestClient, corpus: str) -> None:
    body = b"".join(ndjson())
    assert upload(client, corpus, body).status_code == 200
    assert upload(client, corpus, b"", key="other").status_code == 422
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
