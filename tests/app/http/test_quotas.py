"""Quotas: what corpora say they store is what is there, and no owner stores or has live more than is allowed."""

import json
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import select, text
from starlette.testclient import TestClient

from app.access import keys
from app.core.db import Database
from app.core.settings import Settings
from app.core.tables import IS_CURRENT, Corpus, Document, DocumentVector
from app.http.main import create_app
from app.uploads import store
from tests.app import rows
from tests.app.rows import CORPUS
from tests.worker.splits import LBPL

WORDS = ("galaxy", "plasma", "neutron", "π", "größe", "日本語")


@contextmanager
def service(settings: Settings, **given: Any) -> Iterator[TestClient]:
    """A client of a service with these limits."""
    with TestClient(create_app(settings.model_copy(update=given))) as client:
        yield client


def new_corpus(client: TestClient, **options: Any) -> str:
    """The address of a new corpus."""
    return f"/v1/corpora/{client.post('/v1/corpora', json={'name': 'corpus'}, **options).json()['id']}"


def upload(client: TestClient, corpus: str, rows: list[dict[str, Any]], **options: Any) -> Any:
    """Upload documents."""
    body = "".join(json.dumps(row) + "\n" for row in rows)
    return client.post(f"{corpus}/documents", content=body, **options)


def documents(n: int, first: int = 0, of: str = "galaxy plasma neutron") -> list[dict[str, Any]]:
    """Rows with keys."""
    return [{"key": f"k{number}", "text": of} for number in range(first, first + n)]


def usage(client: TestClient, **options: Any) -> dict[str, Any]:
    """What is used."""
    found = client.get("/v1/usage", **options).json()
    return {name: value["used"] for name, value in found.items() if isinstance(value, dict)}


def recounted(database: Database) -> tuple[int, int]:
    """What is stored, row by row: of each text, of fields as they are kept, of vectors and of descriptions."""
    with database.readers.begin() as session:
        kept = session.execute(text("SELECT text, CAST(fields AS text) FROM documents")).all()
        vectors = session.scalars(select(DocumentVector.data)).all()
        described = session.execute(text("SELECT text, vector FROM category_descriptions")).all()
    n_bytes = sum(len(str(part).encode()) for row in kept for part in row if part is not None)
    n_bytes += sum(map(len, vectors)) + sum(len(each.text.encode()) + len(each.vector or b"") for each in described)
    return len(kept), n_bytes


def test_what_is_stored_equals_a_recount_after_any_operation(client: TestClient, database: Database) -> None:
    random_ = random.Random(5)
    corpora = [new_corpus(client) for _ in range(2)]

    def row(number: int) -> dict[str, Any]:
        found: dict[str, Any] = {"key": f"k{number}", "text": " ".join(random_.choices(WORDS, k=random_.randint(0, 5)))}
        if random_.random() < 0.5:
            found["field"] = random_.choice([1, 2.5, "ö", None])
        if random_.random() < 0.5:
            found["vector"] = [random_.random(), 1.0, 2.0, 3.0]
        return found

    def some_keys() -> list[str]:
        with database.readers.begin() as session:
            current = (Document.corpus_id == corpus[-36:], IS_CURRENT)
            found = sorted(session.scalars(select(Document.key).where(*current)))
        return random_.sample(found, min(2, len(found)))

    for _ in range(60):
        corpus = random_.choice(corpora)
        params = {"key": some_keys()}
        match random_.randrange(8):
            case 0 | 1:
                upload(client, corpus, [row(random_.randrange(20)) for _ in range(6)])
            case 2:
                again = [row(random_.randrange(20)) for _ in range(6)]
                upload(client, corpus, again, params={"on_conflict": "replace"})
            case 3:
                changes = [{"key": key, "text": "größer", "vector": [1, 2, 3, 4]} for key in params["key"]]
                client.patch(f"{corpus}/documents", json={"changes": changes})
            case 4 if params["key"]:
                client.delete(f"{corpus}/documents", params=params)
            case 5 if params["key"]:
                client.delete(f"{corpus}/documents", params={**params, "erase": True})
            case 6:
                vectors = "".join(json.dumps({"key": key, "vector": [4, 3, 2, 1]}) + "\n" for key in params["key"])
                client.put(f"{corpus}/vectors", content=vectors)
            case 7:
                described = [{"name": name, "text": "über " + name} for name in random_.sample(WORDS, 2)]
                client.put(f"{corpus}/descriptions", json={"descriptions": described})
        used = usage(client)
        assert (used["documents"], used["bytes"]) == recounted(database)
    assert used["documents"] > 50 and used["bytes"] > 1_000
    client.delete(corpora[0])
    client.delete(corpora[1])
    assert usage(client)["documents"] == usage(client)["bytes"] == 0, "at once, before rows are taken out"


def test_an_upload_beyond_the_documents_of_an_owner_says_what_is_stored(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "BATCH_ROWS", 4)
    with service(settings, owner_documents=10) as client:
        corpus = new_corpus(client)
        refused = upload(client, corpus, documents(11))
        problem = refused.json()
        assert (refused.status_code, problem["type"]) == (403, "urn:newfound:problem:quota-exceeded")
        assert "Retry-After" not in refused.headers, "to wait is no help"
        assert "11 documents" in problem["detail"] and "NEWFOUND_OWNER_DOCUMENTS allows 10" in problem["detail"]
        assert "8 documents are stored of this upload" in problem["detail"]
        assert {name: problem[name] for name in ("would_use", "allowed", "accepted")} == {
            "would_use": 11,
            "allowed": 10,
            "accepted": 8,
        }
        assert usage(client)["documents"] == client.get(corpus).json()["documents"] == 8
        other = new_corpus(client)
        assert upload(client, other, documents(3)).status_code == 403, "all corpora of the owner count"
        assert upload(client, other, documents(2)).status_code == 200
        client.delete(corpus)
        assert upload(client, other, documents(8, 2)).status_code == 200, "a corpus that is deleted is gone at once"


def test_bytes_of_texts_vectors_and_descriptions_are_bounded_together(settings: Settings) -> None:
    with service(settings, owner_bytes=100) as client:
        corpus = new_corpus(client)
        assert upload(client, corpus, [{"key": "k", "text": "x" * 60}]).status_code == 200
        vector = json.dumps({"key": "k", "vector": [1.0] * 64})
        answers = [
            client.put(f"{corpus}/vectors", content=vector),
            client.put(f"{corpus}/descriptions", json={"descriptions": [{"name": "a", "text": "x" * 41}]}),
            client.patch(f"{corpus}/documents", json={"changes": [{"key": "k", "text": "y" * 41}]}),
            upload(client, corpus, [{"key": "l", "text": "x", "field": "x" * 40}]),
        ]
        assert [answer.status_code for answer in answers] == [403] * 4
        assert usage(client)["bytes"] == 60
        assert client.delete(f"{corpus}/documents", params={"key": "k", "erase": True}).status_code == 200
        assert usage(client)["bytes"] == 0
        assert upload(client, corpus, [{"key": "m", "text": "x" * 100}]).status_code == 200


def test_two_uploads_at_once_do_not_exceed_a_quota_together(settings: Settings) -> None:
    with service(settings, owner_documents=20) as client:
        corpora = [new_corpus(client) for _ in range(8)]
        statuses: list[int] = []
        threads = [
            threading.Thread(target=lambda c=corpus: statuses.append(upload(client, c, documents(6)).status_code))
            for corpus in corpora
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(statuses) == [200] * 3 + [403] * 5
        assert usage(client)["documents"] == 18


@pytest.mark.parametrize(
    "limit, allowed, what",
    [("owner_live_jobs", 2, "jobs"), ("owner_live_chains", 5, "chains"), ("owner_tokens", 100, "tokens")],
)
def test_what_an_owner_has_live_is_bounded_until_a_job_has_ended(
    settings: Settings, database: Database, limit: str, allowed: int, what: str
) -> None:
    with service(settings, **{limit: allowed}) as client:
        corpus = new_corpus(client)
        upload(client, corpus, documents(15))  # 45 tokens
        body = {"corpus_id": corpus[-36:], "discover": True, "chains": 2, "text": {"min_document_frequency": 1}}
        first, second = (client.post("/v1/jobs", json=body) for _ in range(2))
        assert (first.status_code, second.status_code) == (202, 202)
        dry, refused = (client.post("/v1/jobs", json=body, params={"validate_only": dry}) for dry in (True, False))
        for answer in (dry, refused):
            assert (answer.status_code, answer.json()["type"]) == (429, "urn:newfound:problem:too-many-jobs")
            assert int(answer.headers["Retry-After"]) > 0
            assert f"live {what}" in answer.json()["detail"] and f"NEWFOUND_{limit.upper()}" in answer.json()["detail"]
        assert usage(client)["live_jobs"] == 2 and usage(client)["live_chains"] == 4
        assert usage(client)["tokens"] == 90
        client.post(f"{first.json()['links']['self']}/pause")
        assert client.post("/v1/jobs", json=body).status_code == 202
        assert client.post(f"{first.json()['links']['self']}/resume").status_code == 429


def test_a_comparison_is_held_to_the_quota_as_a_whole(settings: Settings, database: Database) -> None:
    with service(settings, owner_live_jobs=3) as client:
        corpus = new_corpus(client)
        upload(client, corpus, [{**row, "label": f"l{n % 4}"} for n, row in enumerate(documents(40))])
        body = {"corpus_id": corpus[-36:], "methods": [LBPL, {**LBPL, "name": "other"}], "splits": 2}
        refused = client.post("/v1/comparisons", json=body)
        assert (refused.status_code, refused.json()["type"]) == (429, "urn:newfound:problem:too-many-jobs")
        assert client.get("/v1/jobs").json()["jobs"] == [], "none of its jobs is queued"
        assert client.post("/v1/comparisons", json={**body, "splits": 1}).status_code == 202


def test_one_owner_does_not_use_what_another_one_may(settings: Settings, database: Database) -> None:
    with database.sessions.begin() as session:
        ada, bob = ({"Authorization": f"Bearer {keys.create(session, name, ('write',))}"} for name in ("ada", "bob"))
    with service(settings, owner_documents=5) as client:
        of_ada, of_bob = new_corpus(client, headers=ada), new_corpus(client, headers=bob)
        assert upload(client, of_ada, documents(5), headers=ada).status_code == 200
        assert upload(client, of_bob, documents(5), headers=bob).status_code == 200
        assert upload(client, of_ada, documents(1, 9), headers=ada).status_code == 403
        assert client.get("/v1/usage", headers=bob).json()["owner"] == "bob"
        assert usage(client, headers=bob)["documents"] == 5


@pytest.mark.parametrize(
    ("limit", "allowed", "most"),
    # Of ten jobs eight may be anybody's; how many jobs 100 units are depends on what each has to do.
    [("max_live_jobs", 10, 8), ("max_live_units", 100, None)],
)
def test_one_owner_leaves_room_in_the_queue_for_the_others(
    settings: Settings, database: Database, limit: str, allowed: int, most: int | None
) -> None:
    with database.sessions.begin() as session:
        ada, bob = ({"Authorization": f"Bearer {keys.create(session, name, ('write',))}"} for name in ("ada", "bob"))
    with service(settings, **{limit: allowed}) as client:
        queued = {}
        for name, key in (("ada", ada), ("bob", bob)):
            corpus = new_corpus(client, headers=key)
            upload(client, corpus, documents(15), headers=key)
            body = {"corpus_id": corpus[-36:], "discover": True, "chains": 2, "text": {"min_document_frequency": 1}}
            answers = [client.post("/v1/jobs", json=body, headers=key) for _ in range(allowed)]
            queued[name] = sum(answer.status_code == 202 for answer in answers)
            assert {answer.json()["type"] for answer in answers if answer.status_code != 202} == {
                "urn:newfound:problem:too-many-jobs"
            }
            if name == "ada":
                assert "are kept for owners who have no more than" in answers[-1].json()["detail"]
        assert queued["ada"] > queued["bob"] > 0
        if most is not None:
            assert queued == {"ada": most, "bob": allowed - most}


def test_the_only_owner_may_fill_the_queue(settings: Settings, database: Database) -> None:
    with database.sessions.begin() as session:
        key = {"Authorization": f"Bearer {keys.create(session, 'ada', ('write',))}"}
    with service(settings, max_live_jobs=4) as client:
        corpus = new_corpus(client, headers=key)
        upload(client, corpus, documents(15), headers=key)
        body = {"corpus_id": corpus[-36:], "discover": True, "text": {"min_document_frequency": 1}}
        statuses = [client.post("/v1/jobs", json=body, headers=key).status_code for _ in range(5)]
        assert statuses == [202] * 4 + [429]


def test_a_job_of_an_older_corpus_is_counted_as_it_is_queued(client: TestClient, database: Database) -> None:
    rows.submit(database)
    assert usage(client)["live_jobs"] == 1 and usage(client)["live_chains"] == 2
    with database.readers.begin() as session:
        assert session.get_one(Corpus, CORPUS).stored_documents == 0, "its rows were put there by hand"
