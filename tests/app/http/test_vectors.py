"""Vectors over HTTP, on both databases: brought with documents or afterwards, corrected, counted, and used by jobs."""

import io
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from sqlalchemy import event, func, select
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.document_vectors import brought_vectors, usable_vectors
from app.core.settings import Settings
from app.core.tables import FOREVER, Corpus, Document, DocumentVector, is_part_of
from app.core.vectors import to_bytes
from app.uploads import store, vector_uploads
from app.uploads.rows import Row
from tests.app import rows
from tests.app.uploads.sending import lines, new_corpus, send

A, B, C = [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]
TEXTS = "Galaxies at high redshift", "Solitons of a wave", "Torus knots"


@pytest.fixture
def corpus(client: TestClient) -> str:
    """Address of a corpus with three documents, of which two have brought a vector."""
    address = new_corpus(client)
    first, second, third = TEXTS
    given = (
        {"key": "a", "text": first, "label": "x", "vector": A},
        {"key": "b", "text": second, "vector": B},
        {"key": "c", "text": third},
    )
    told = send(client, address, lines(*given)).json()
    assert (told["added"], told["vectors"], told["columns"]["fields"]) == (3, 2, [])
    return address


def at(database: Database, corpus: str, version: int = FOREVER) -> dict[str, list[float]]:
    """The vectors of a version of a corpus by key, as rows have them; documents without one are left out."""
    mine = (Document.corpus_id == corpus[-36:], is_part_of(version if version < FOREVER else FOREVER - 1))
    with database.readers.begin() as session:
        keys = {row.id: row.key for row in session.execute(select(Document.id, Document.key).where(*mine))}
        found = brought_vectors(session, list(keys), version)
    return {keys[id_]: stored(data) for id_, (_, data) in found.items() if data}


def stored(data: bytes) -> list[float]:
    """A vector as numbers, rounded."""
    return [round(float(number), 2) for number in np.frombuffer(data, "<f2")]


def unit(vector: Sequence[float]) -> list[float]:
    """A vector made 1 long, rounded."""
    return stored(to_bytes(vector))


def put(client: TestClient, corpus: str, *given: dict[str, Any], **query: Any) -> Any:
    """Bring vectors as NDJSON."""
    headers = {"Content-Type": "application/x-ndjson"}
    return client.put(f"{corpus}/vectors", content=lines(*given), headers=headers, params=query)


def has_vector(client: TestClient, corpus: str) -> dict[str, bool]:
    """Which documents have one, by their list."""
    listed = client.get(f"{corpus}/documents").json()["documents"]
    for each in listed:
        assert client.get(f"{corpus}/documents/{each['key']}").json() == each
    return {each["key"]: each["has_vector"] for each in listed}


def test_vectors_come_with_documents_and_are_counted(client: TestClient, database: Database, corpus: str) -> None:
    assert at(database, corpus) == {"a": A, "b": B}
    told = client.get(corpus).json()
    assert told["vectors"] == {"documents": 2, "length": 4}
    assert client.get("/v1/corpora").json()["corpora"][0]["vectors"] == told["vectors"]
    assert has_vector(client, corpus) == {"a": True, "b": True, "c": False}
    other = client.get(new_corpus(client)).json()
    assert other["vectors"] == {"documents": 0, "length": None}


def test_a_vector_of_another_length_is_a_line_that_cannot_be_used(
    client: TestClient, database: Database, corpus: str
) -> None:
    told = send(client, corpus, lines({"key": "d", "text": "d", "vector": [1, 2, 3, 4, 5]}, {"text": "e"})).json()
    assert (told["added"], told["rejected"]) == (1, 1)
    assert told["errors"] == [
        {
            "line": 1,
            "reason": "`vector` has 5 numbers, but those of the corpus have 4: all must come from one model",
        }
    ]
    empty = new_corpus(client)
    given = lines({"text": "a", "vector": [1, 2, 3, 4, 5]}, {"text": "b", "vector": A}, {"text": "c", "vector": A * 2})
    aborted = client.post(f"{empty}/documents?on_error=abort", content=given)
    assert (aborted.status_code, len(aborted.json()["errors"])) == (422, 2)
    assert client.get(empty).json()["vectors"]["length"] is None, "nothing is stored, and nothing fixed"
    assert send(client, empty, given).json()["added"] == 1
    assert client.get(empty).json()["vectors"] == {"documents": 1, "length": 5}


def test_the_length_holds_over_batches(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "BATCH_ROWS", 4)
    corpus = new_corpus(client)
    given = [{"key": f"k{n}", "text": f"text {n}", "vector": A if n != 9 else A * 2} for n in range(12)]
    told = send(client, corpus, lines(*given)).json()
    assert (told["added"], [error["line"] for error in told["errors"]]) == (11, [10])


def test_of_two_uploads_at_once_the_first_that_stores_a_vector_says_how_long_all_are(
    client: TestClient, database: Database
) -> None:
    corpus = new_corpus(client)
    late = store.Store(database, corpus[-36:])
    late.look()
    given = [
        Row(1, "a", "a", None, vector=to_bytes(A * 2)),
        Row(2, "b", "b", None, vector=to_bytes(B)),
        Row(3, "c", "c", None),
    ]
    batch = late.named(store.Batch(given))
    assert [line for line, _ in batch.bad_lines] == [2], "beside the first one, which nobody has stored"
    send(client, corpus, lines({"key": "d", "text": "d", "vector": A}))
    written = late.write(batch)
    assert ([row.key for row in written.added], [line for line, _ in written.refused]) == (["c"], [1])
    assert client.get(corpus).json()["vectors"] == {"documents": 1, "length": 4}


def test_the_same_file_again_changes_nothing_and_another_vector_is_a_conflict(
    client: TestClient, database: Database, corpus: str
) -> None:
    same = lines({"key": "a", "text": TEXTS[0], "label": "x", "vector": [2 * number for number in A]})
    told = send(client, corpus, same).json()
    assert (told["unchanged"], told["vectors"]) == (1, 1), "as long as it points where it did"
    without = lines({"key": "a", "text": TEXTS[0], "label": "x"})
    assert send(client, corpus, without).json()["unchanged"] == 1, "a row without a vector says nothing of it"
    other = lines({"key": "a", "text": TEXTS[0], "label": "x", "vector": C})
    refused = send(client, corpus, other).json()
    assert "with another vector; on_conflict=replace" in refused["errors"][0]["reason"]
    new = lines({"key": "c", "text": TEXTS[2], "vector": C})
    assert "with a vector; on_conflict=replace" in send(client, corpus, new).json()["errors"][0]["reason"]
    told = client.post(f"{corpus}/documents?on_conflict=replace", content=other + new).json()
    assert (told["replaced"], told["vectors"]) == (2, 2)
    assert at(database, corpus) == {"a": unit(C), "b": B, "c": unit(C)}
    assert at(database, corpus, 1) == {"a": A, "b": B}, "the version before has what it had"


@pytest.mark.parametrize("by", ["patch", "upload"])
def test_a_corrected_document_keeps_its_vector_as_long_as_it_keeps_its_text(
    client: TestClient, database: Database, corpus: str, by: str
) -> None:
    def correct(key: str, text: str, **more: Any) -> None:
        if by == "patch":
            given = {**({} if text in TEXTS else {"text": text}), **more}
            assert client.patch(f"{corpus}/documents/{key}", json=given).json()["changed"] == 1
        else:
            row = lines({"key": key, "text": text, **more})
            assert client.post(f"{corpus}/documents?on_conflict=replace", content=row).json()["replaced"] == 1

    made = made_by_a_model(database, corpus)
    correct("a", TEXTS[0], label="y")
    assert at(database, corpus) == {"a": A, "b": B}
    assert made_vectors(database, corpus) == made, "what is made of a text stays with it, too"
    correct("a", "another text", label="y")
    correct("b", "one with a vector", vector=C)
    assert at(database, corpus) == {"b": unit(C)}
    assert made_vectors(database, corpus) == {}
    assert at(database, corpus, 1) == {"a": A, "b": B}
    assert client.get(corpus).json()["vectors"]["documents"] == 1


def made_by_a_model(database: Database, corpus: str) -> dict[str, bytes]:
    """Vectors that the service has made of the documents a and b."""
    with database.sessions.begin() as session:
        mine = (Document.corpus_id == corpus[-36:], Document.key.in_(("a", "b")))
        for document_id in session.scalars(select(Document.id).where(*mine)):
            session.add(DocumentVector(document_id=document_id, made_by="f" * 64, version=0, data=to_bytes(C)))
    return {"a": to_bytes(C), "b": to_bytes(C)}


def made_vectors(database: Database, corpus: str) -> dict[str, bytes]:
    """Vectors that the service has made of documents as they are now."""
    of_document = (Document.id == DocumentVector.document_id, Document.until == FOREVER)
    query = select(Document.key, DocumentVector.data).where(*of_document, DocumentVector.made_by == "f" * 64)
    with database.readers.begin() as session:
        return {row.key: row.data for row in session.execute(query.where(Document.corpus_id == corpus[-36:]))}


def test_rows_of_one_upload_that_correct_each_other_keep_the_vector(client: TestClient, database: Database) -> None:
    corpus = new_corpus(client)
    given = ({"key": "a", "text": "t", "vector": A}, {"key": "a", "text": "t", "label": "x"}, {"text": "u", "key": "b"})
    told = client.post(f"{corpus}/documents?on_conflict=replace", content=lines(*given)).json()
    assert (told["added"], told["replaced"]) == (2, 1)
    assert at(database, corpus) == {"a": A}


def test_a_vector_is_corrected_and_taken_away_by_patch(client: TestClient, database: Database, corpus: str) -> None:
    assert client.patch(f"{corpus}/documents/a", json={"vector": C}).json() == {
        "changed": 1,
        "unchanged": 0,
        "version": 2,
    }
    assert client.patch(f"{corpus}/documents/a", json={"vector": C}).json()["unchanged"] == 1
    changes = [{"key": "b", "vector": None}, {"key": "c", "vector": A, "label": "y"}]
    assert client.patch(f"{corpus}/documents", json={"changes": changes}).json()["changed"] == 2
    assert at(database, corpus) == {"a": unit(C), "c": A}
    assert at(database, corpus, 1) == {"a": A, "b": B}
    for wrong in ([1, 2, 3], [1, 2, 3, 4, 5], ["a"] * 4, "a", [None] * 4):
        assert client.patch(f"{corpus}/documents/a", json={"vector": wrong}).status_code == 422
    assert client.get(corpus).json()["version"] == 3


def test_a_job_s_version_keeps_the_vectors_of_documents_that_are_deleted(
    client: TestClient, database: Database, corpus: str
) -> None:
    client.delete(f"{corpus}/documents/a")
    assert client.get(corpus).json()["vectors"]["documents"] == 1
    assert at(database, corpus, 1) == {"a": A, "b": B}


def test_an_erased_document_loses_all_its_vectors_at_once(client: TestClient, database: Database, corpus: str) -> None:
    made_by_a_model(database, corpus)
    put(client, corpus, {"key": "a", "vector": C})
    client.patch(f"{corpus}/documents/a", json={"label": "other"})
    assert client.delete(f"{corpus}/documents/a?erase=true").status_code == 200
    with database.readers.begin() as session:
        mine = (Document.id == DocumentVector.document_id, Document.key == "a")
        assert (
            session.scalar(select(func.count()).select_from(DocumentVector).join(Document, mine[0]).where(*mine)) == 0
        )
    assert at(database, corpus) == {"b": B}


def test_vectors_go_with_their_corpus(client: TestClient, database: Database, corpus: str) -> None:
    client.delete(corpus)
    client.app.state.removal.stop()  # type: ignore[attr-defined]
    client.app.state.removal.leaving.clear()  # type: ignore[attr-defined]
    client.app.state.removal.run()  # type: ignore[attr-defined]
    with database.readers.begin() as session:
        assert session.scalar(select(func.count()).select_from(DocumentVector)) == 0


# Vectors for documents that are there.


def test_documents_that_are_there_are_given_vectors_as_one_version(
    client: TestClient, database: Database, corpus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_uploads, "AT_ONCE", 1)
    known = ({"key": "a", "vector": C}, {"key": "b", "vector": None}, {"key": "c", "vector": A})
    given = (*known, {"key": 7, "vector": A})
    told = put(client, corpus, *given)
    assert told.status_code == 200, told.text
    assert told.json() == {
        "changed": 2,
        "removed": 1,
        "unchanged": 0,
        "rejected": 1,
        "errors": [{"line": 4, "reason": "no document of the corpus has the key '7'"}],
        "length": 4,
        "format": "ndjson",
        "version": 2,
    }
    assert at(database, corpus) == {"a": unit(C), "c": A}
    assert at(database, corpus, 1) == {"a": A, "b": B}
    assert has_vector(client, corpus) == {"a": True, "b": False, "c": True}
    again = put(client, corpus, *known).json()
    assert (again["changed"], again["removed"], again["unchanged"], again["version"]) == (0, 0, 3, 2)
    assert client.get(f"{corpus}/documents/a").json()["version"] == 1, "the document itself is as it was"


def test_of_vectors_nothing_is_stored_if_one_cannot_be_used_and_that_is_wanted(
    client: TestClient, database: Database, corpus: str
) -> None:
    given = ({"key": "c", "vector": A}, {"key": "none", "vector": A}, {"vector": A}, {"key": "b", "vector": [1, 2]})
    refused = put(client, corpus, *given, on_error="abort")
    assert (refused.status_code, refused.json()["type"]) == (422, "urn:newfound:problem:upload-aborted")
    assert [error["where"] for error in refused.json()["errors"]] == ["line 2", "line 3", "line 4"]
    assert at(database, corpus) == {"a": A, "b": B}
    assert client.get(corpus).json()["version"] == 1
    told = put(client, corpus, *given).json()
    assert (told["changed"], [error["line"] for error in told["errors"]]) == (1, [2, 3, 4])


def test_a_key_that_comes_again_with_another_vector_is_refused(
    client: TestClient, database: Database, corpus: str
) -> None:
    given = ({"key": "c", "vector": A}, {"key": "c", "vector": A}, {"key": "c", "vector": B})
    told = put(client, corpus, *given).json()
    assert (told["changed"], told["unchanged"], told["errors"][0]["line"]) == (1, 1, 3)
    assert at(database, corpus)["c"] == A


@pytest.mark.parametrize("method", ["PUT", "POST"])
def test_arrays_of_numpy_are_vectors_of_documents(
    client: TestClient, database: Database, corpus: str, method: str
) -> None:
    out = io.BytesIO()
    np.savez_compressed(out, keys=np.array(["c", "a"]), vectors=np.array([C, B], np.float32))
    request: dict[str, Any] = (
        {"content": out.getvalue()} if method == "PUT" else {"files": {"file": ("vectors.npz", out.getvalue())}}
    )
    told = client.request(method, f"{corpus}/vectors", **request).json()
    assert (told["changed"], told["format"]) == (2, "npz")
    assert at(database, corpus) == {"a": B, "b": B, "c": unit(C)}
    lone = io.BytesIO()
    np.save(lone, np.array([C]))
    refused = client.put(f"{corpus}/vectors", content=lone.getvalue())
    assert refused.status_code == 415
    assert "numpy.savez" in refused.json()["detail"]
    assert client.post(f"{corpus}/documents", content=out.getvalue()).status_code == 415


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"some plain text\n", 422),
        (b"", 422),
        (b'{"key": "none", "vector": [1, 2, 3, 4]}\n', 422),
        (b'{"key": "a"}\n', 422),
        (b"1 1:2 3:4\n", 422),
        (b"%PDF-1", 415),
    ],
)
def test_what_holds_no_usable_vector_is_refused_as_a_whole(
    client: TestClient, database: Database, corpus: str, content: bytes, status: int
) -> None:
    assert client.put(f"{corpus}/vectors", content=content).status_code == status
    assert at(database, corpus) == {"a": A, "b": B}
    assert client.get(corpus).json()["version"] == 1


def test_vectors_of_no_corpus_are_refused(client: TestClient) -> None:
    for nobody in ("11111111-2222-4333-8444-555555555555", "x"):
        assert put(client, f"/v1/corpora/{nobody}", {"key": "a", "vector": A}).status_code == 404
        assert client.delete(f"/v1/corpora/{nobody}/vectors").status_code == 404


def test_when_all_are_taken_away_others_may_have_another_length(
    client: TestClient, database: Database, corpus: str
) -> None:
    assert put(client, corpus, {"key": "a", "vector": A * 2}).status_code == 422
    gone = client.delete(f"{corpus}/vectors").json()
    assert (gone["removed"], gone["length"], gone["version"]) == (2, None, 2)
    assert client.get(corpus).json()["vectors"] == {"documents": 0, "length": None}
    assert (at(database, corpus), at(database, corpus, 1)) == ({}, {"a": A, "b": B})
    assert client.delete(f"{corpus}/vectors").json()["version"] == 2, "nothing is left to take away"
    assert put(client, corpus, {"key": "a", "vector": A * 2}).json()["length"] == 8
    assert client.get(corpus).json()["vectors"] == {"documents": 1, "length": 8}


# Jobs.


def test_a_job_uses_vectors_if_its_version_has_any_and_nobody_says_that_it_should_not(
    client: TestClient, corpus: str
) -> None:
    given = {"corpus_id": corpus[-36:], "text": {"min_document_frequency": 1}}
    found = [client.post("/v1/jobs", json={**given, **more}) for more in ({}, {"vectors": "auto"}, {"vectors": "none"})]
    assert [answer.json()["settings"]["vectors"] for answer in found] == ["brought", "brought", None]
    other = client.post("/v1/jobs", json={**given, "model": "lbpl-ntm"}).json()
    assert other["settings"]["vectors"] is None
    assert client.post("/v1/jobs", json={**given, "model": "lbpl-ntm", "vectors": "auto"}).status_code == 422
    assert client.post("/v1/jobs", json={**given, "vectors": "brought"}).status_code == 422
    client.delete(f"{corpus}/vectors")
    assert client.post("/v1/jobs", json=given).json()["settings"]["vectors"] is None


def test_a_job_with_vectors_is_followed_listed_and_forecast(
    client: TestClient, database: Database, corpus: str
) -> None:
    given = {"corpus_id": corpus[-36:], "text": {"min_document_frequency": 1}}
    told = client.post("/v1/jobs", json=given).json()
    assert client.get(told["links"]["self"]).json()["progress"]["fraction"] == 0.0
    assert [job["id"] for job in client.get("/v1/jobs").json()["jobs"]] == [told["id"]]
    kinds = ("encode", "vectors", "atoms", "calibrate", "chain", "conclude")
    assert tuple(dict.fromkeys(unit.kind for kind in kinds for unit in rows.units(database, told["id"], kind))) == kinds
    [encode] = rows.units(database, told["id"], "encode")
    [following] = rows.run(database, encode.id)
    progress = client.get(told["links"]["self"]).json()["progress"]
    assert (progress["stage"], progress["steps_done"]) == ("vectors", 0)
    assert following == rows.units(database, told["id"], "vectors")[0].id
    assert rows.run(database, following) == [rows.units(database, told["id"], "atoms")[0].id]
    assert client.get(told["links"]["self"]).json()["progress"]["stage"] == "atoms"


def test_a_job_that_continues_another_one_uses_vectors_as_that_one_did(
    client: TestClient, database: Database, corpus: str
) -> None:
    given = {"corpus_id": corpus[-36:], "text": {"min_document_frequency": 1}}
    for vectors, used in (("auto", "brought"), ("none", None)):
        job = client.post("/v1/jobs", json={**given, "vectors": vectors}).json()
        rows.end(database, job["id"])
        continued = client.post(f"{job['links']['self']}/continue", json={})
        assert continued.status_code == 202, continued.text
        assert continued.json()["settings"]["vectors"] == used


def test_the_methods_of_a_comparison_use_vectors_as_jobs_do(client: TestClient) -> None:
    corpus = new_corpus(client)
    documents = [{"text": f"galaxy {n}", "label": "xyz"[n % 3], "vector": A} for n in range(12)]
    send(client, corpus, lines(*documents))
    methods = [{"model": "calibrated"}, {"model": "calibrated", "vectors": "none"}, {"model": "lbpl-ntm"}]
    given = {"corpus_id": corpus[-36:], "methods": methods, "splits": 1}
    given["methods"] = [{**method, "text": {"min_document_frequency": 1}} for method in methods]
    answer = client.post("/v1/comparisons", json=given)
    assert answer.status_code == 202, answer.text
    jobs = [client.get(f"/v1/jobs/{row['cells'][0]['job']}").json() for row in answer.json()["table"]]
    assert [job["settings"]["vectors"] for job in jobs] == ["brought", None, None]


def test_vectors_of_a_version_are_those_that_it_had(database: Database, settings: Settings, client: TestClient) -> None:
    corpus = new_corpus(client)
    send(client, corpus, lines({"key": "a", "text": "a"}))
    put(client, corpus, {"key": "a", "vector": A})
    put(client, corpus, {"key": "a", "vector": None})
    with database.readers.begin() as session:
        found = [usable_vectors(session, corpus[-36:], version, settings) for version in (1, 2, 3)]
        assert session.scalar(select(Corpus.vector_length).where(Corpus.id == corpus[-36:])) == 4
    assert found == [{}, {"vectors": "brought"}, {}]


# Exports and costs.


@pytest.mark.parametrize("format", ["ndjson", "csv", "parquet"])
def test_an_export_uploaded_again_leaves_vectors_as_they_are(
    client: TestClient, database: Database, corpus: str, format: str
) -> None:
    field = json.dumps({"key": "d", "text": "with a field", "vector": [1, 2, 3, 4]}).encode()
    client.post(f"{corpus}/documents?vector=", content=field)
    export = client.get(f"{corpus}/export?format={format}")
    query = export.headers["upload-query"]
    told = client.post(f"{corpus}/documents?{query}&on_conflict=replace", content=export.content).json()
    assert (told["unchanged"], told["replaced"], told["vectors"]) == (4, 0, 0)
    assert at(database, corpus) == {"a": A, "b": B}


def test_an_upload_without_vectors_asks_nothing_of_them(client: TestClient, database: Database) -> None:
    corpus = new_corpus(client)
    asked: list[str] = []
    engine = client.app.state.database.engine  # type: ignore[attr-defined]
    event.listen(engine, "before_cursor_execute", lambda _, __, statement, *___: asked.append(statement))
    assert send(client, corpus, lines({"text": "a"}, {"text": "b"})).json()["added"] == 2
    assert asked
    assert not [statement for statement in asked if "document_vectors" in statement]
