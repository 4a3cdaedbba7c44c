"""Requests that are sent again under their key, on both databases: one answer, one job."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import func, select, update
from starlette.testclient import TestClient

from app.core import lifecycle
from app.core.db import Database, now
from app.core.runs import Run
from app.core.tables import Corpus, IdempotentRequest, Job
from tests.app.rows import CORPUS, add_corpus

REUSED = "urn:newfound:problem:idempotency-key-reused"
JOB = {"corpus_id": CORPUS, "discover": True, "sweeps": 10, "text": {"stop_words": "none", "min_document_frequency": 1}}


@pytest.fixture(autouse=True)
def corpus(database: Database) -> None:
    """A corpus that a job can be run over."""
    with database.sessions.begin() as session:
        add_corpus(session)


def submit(client: TestClient, key: str | None, **changes: Any) -> Any:
    headers = {} if key is None else {"Idempotency-Key": key}
    return client.post("/v1/jobs", json={**JOB, **changes}, headers=headers)


def count(database: Database, table: Any) -> int:
    with database.readers.begin() as session:
        return session.scalar(select(func.count()).select_from(table)) or 0


def age(database: Database, seconds: float) -> None:
    """Let all keys be so old."""
    with database.sessions.begin() as session:
        session.execute(update(IdempotentRequest).values(created_at=now() - seconds))


def test_a_submit_that_is_sent_again_gets_the_same_answer_and_makes_one_job(
    client: TestClient, database: Database
) -> None:
    first, again = submit(client, "key 1"), submit(client, "key 1")
    assert first.status_code == again.status_code == 202
    assert first.content == again.content
    for name in ("Location", "Retry-After", "Content-Type"):
        assert first.headers[name] == again.headers[name]
    assert "Idempotent-Replayed" not in first.headers
    assert again.headers["Idempotent-Replayed"] == "true"
    assert count(database, Job) == 1
    assert client.get(first.headers["Location"]).json() == first.json()


def test_a_repeat_gets_the_first_answer_whatever_became_of_the_job(client: TestClient) -> None:
    first = submit(client, "key")
    client.post(f"{first.headers['Location']}/cancel")
    assert submit(client, "key").content == first.content


def test_a_repeat_after_the_deletion_is_told_so_and_makes_nothing(client: TestClient, database: Database) -> None:
    made = client.post("/v1/corpora", json={"name": "once"}, headers={"Idempotency-Key": "key"})
    job = submit(client, "key").json()
    client.post(f"/v1/jobs/{job['id']}/cancel")
    for path in (f"/v1/corpora/{CORPUS}", made.headers["Location"]):
        assert client.delete(path).status_code == 204
    for _ in range(2):
        answers = {
            job["id"]: submit(client, "key"),
            made.json()["id"]: client.post("/v1/corpora", json={"name": "once"}, headers={"Idempotency-Key": "key"}),
        }
        for name, answer in answers.items():
            assert (answer.status_code, answer.json()["type"]) == (410, "urn:newfound:problem:resource-deleted")
            assert name in answer.json()["detail"]
            assert "Location" not in answer.headers
    assert client.get("/v1/corpora").json()["corpora"] == []
    assert client.get("/v1/jobs").json()["jobs"] == []
    assert submit(client, "key", seed=1).json()["type"] == REUSED
    assert submit(client, "new").status_code == 404


def test_a_repeat_wakes_up_no_worker(client: TestClient) -> None:
    folder = client.app.state.settings.broker_folder / "messages"  # type: ignore[attr-defined]
    for _ in range(3):
        submit(client, "key")
    assert len(list(folder.iterdir())) == 1


def test_without_a_key_each_submit_is_a_job(client: TestClient, database: Database) -> None:
    assert submit(client, None).json()["id"] != submit(client, None).json()["id"]
    assert (count(database, Job), count(database, IdempotentRequest)) == (2, 0)


def test_the_same_submit_from_many_threads_makes_one_job(client: TestClient, database: Database) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: submit(client, "key"), range(16)))
    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.content for answer in answers}) == 1
    assert sum("Idempotent-Replayed" not in answer.headers for answer in answers) == 1
    assert count(database, Job) == 1


def test_other_submits_from_many_threads_under_one_key_make_one_job(client: TestClient, database: Database) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: submit(client, "key", seed=n), range(8)))
    assert sorted(answer.status_code for answer in answers) == [202] + [422] * 7
    assert count(database, Job) == 1


def test_a_key_with_another_body_is_a_422_and_makes_nothing(client: TestClient, database: Database) -> None:
    submit(client, "key")
    refused = submit(client, "key", seed=1)
    assert (refused.status_code, refused.json()["type"]) == (422, REUSED)
    assert "'key'" in refused.json()["detail"]
    assert count(database, Job) == 1
    assert submit(client, "another key", seed=1).status_code == 202


def test_a_corpus_is_made_once(client: TestClient, database: Database) -> None:
    headers = {"Idempotency-Key": "key"}
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: client.post("/v1/corpora", json={"name": "once"}, headers=headers), range(8)))
    assert {answer.status_code for answer in answers} == {201}
    [(location, _)] = {(answer.headers["Location"], answer.content) for answer in answers}
    assert location == f"/v1/corpora/{answers[0].json()['id']}"
    assert count(database, Corpus) == 2
    refused = client.post("/v1/corpora", json={"name": "other"}, headers=headers)
    assert (refused.status_code, refused.json()["type"]) == (422, REUSED)


def test_a_key_belongs_to_a_path(client: TestClient, database: Database) -> None:
    body = json.dumps({**JOB})
    headers = {"Idempotency-Key": "key", "Content-Type": "application/json"}
    assert client.post("/v1/corpora", json={"name": "corpus"}, headers=headers).status_code == 201
    assert client.post("/v1/jobs", content=body, headers=headers).status_code == 202
    assert count(database, IdempotentRequest) == 2


def test_a_refusal_is_not_kept(client: TestClient, database: Database) -> None:
    frequent = {"min_document_frequency": 100}
    assert submit(client, "key", text=frequent).status_code == 409
    assert submit(client, "key", sweeps=0).status_code == 422
    assert submit(client, "key").status_code == 202, "no job came of the key so far"


def test_a_crash_in_the_middle_leaves_neither_job_nor_key(
    client: TestClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object, **__: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr("app.http.controls.describe", crash)  # after the job was written, before the commit
        with pytest.raises(MemoryError):
            submit(client, "key")
    assert (count(database, Job), count(database, IdempotentRequest)) == (0, 0)
    assert "Idempotent-Replayed" not in submit(client, "key").headers
    assert count(database, Job) == 1


def test_a_key_is_kept_for_a_day(client: TestClient, database: Database) -> None:
    first = submit(client, "key")
    age(database, 86_300)
    assert submit(client, "key").content == first.content
    age(database, 86_500)
    other = submit(client, "key", seed=1)
    assert other.status_code == 202 and other.json()["id"] != first.json()["id"]
    assert submit(client, "key", seed=1).content == other.content


@pytest.mark.parametrize("key", ["", "k" * 201, "Schl\u00fcssel", "a\tb"])
def test_a_key_that_is_none_is_a_422_that_says_where(client: TestClient, database: Database, key: str) -> None:
    headers = {"Idempotency-Key": key.encode("latin-1")}
    answers = [
        client.post("/v1/jobs", json=JOB, headers=headers),
        client.post("/v1/corpora", json={"name": "corpus"}, headers=headers),
        client.post(
            f"/v1/corpora/{CORPUS}/documents",
            content=b'{"text": "a"}',
            headers={**headers, "Content-Type": "application/x-ndjson"},
        ),
    ]
    for answer in answers:
        assert answer.status_code == 422
        assert [error["where"] for error in answer.json()["errors"]] == ["header.idempotency-key"]
    assert (count(database, Job), count(database, Corpus)) == (0, 1)
    assert submit(client, "k" * 200).status_code == 202


def test_a_repeated_submit_of_a_job_that_was_resumed_changes_nothing(client: TestClient, database: Database) -> None:
    job_id = submit(client, "key").json()["id"]
    with database.sessions.begin() as session:
        lifecycle.pause(session, Run(job_id))
    assert submit(client, "key").json()["status"] == "queued", "as it was then"
    assert client.get(f"/v1/jobs/{job_id}").json()["status"] == "paused"
