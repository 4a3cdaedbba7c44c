"""Documents that are read, corrected, deleted and erased, on both databases, and what jobs keep of them."""

import sqlite3
from typing import Any

import pytest
from sqlalchemy import func, select, text
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.tables import Document, Encoding, Job, is_part_of
from tests.app import rows
from tests.app.uploads.sending import documents, lines, send

GIVEN = (
    {"key": "a", "text": "galaxy star", "label": "astronomy", "year": 2024, "is_open": True},
    {"key": "b/c d", "text": "soliton wave", "year": 2024, "note": "2024"},
    {"key": "ü", "text": "torus knot", "label": "topology", "year": 1999.5},
)


@pytest.fixture
def filled(client: TestClient, corpus: str) -> str:
    """Address of the documents of a corpus that has some."""
    assert send(client, corpus, lines(*GIVEN)).json()["added"] == 3
    return f"{corpus}/documents"


def listed(client: TestClient, address: str, **parameters: Any) -> list[Any]:
    """The documents that a corpus lists, page by page."""
    found: list[Any] = []
    cursor = None
    while True:
        page = client.get(address, params={**parameters, "limit": 2} | ({"cursor": cursor} if cursor else {})).json()
        found += page["documents"]
        cursor = page["next"]
        if cursor is None:
            return found


def test_documents_come_back_as_they_were_uploaded(client: TestClient, filled: str) -> None:
    told = listed(client, filled)
    for given, document in zip(GIVEN, told, strict=True):
        fields = {name: value for name, value in given.items() if name not in ("key", "text", "label")}
        assert document == {
            "key": given["key"],
            "text": given["text"],
            "label": given.get("label"),
            "fields": fields,
            "is_counts": False,
            "erased": False,
            "has_vector": False,
            "version": 1,
        }
        assert client.get(f"{filled}/{given['key']}").json() == document
    assert client.get(f"{filled}/none").json()["type"] == "urn:newfound:problem:document-not-found"


@pytest.mark.parametrize(
    ("parameters", "keys"),
    [
        ({"label": "topology"}, ["ü"]),
        ({"labeled": True}, ["a", "ü"]),
        ({"labeled": False}, ["b/c d"]),
        ({"field": "year:2024"}, ["a", "b/c d"]),
        ({"field": "year:1999.5"}, ["ü"]),
        ({"field": "is_open:true"}, ["a"]),
        ({"field": ["year:2024", "note:2024"]}, ["b/c d"]),
        ({"field": "no such field:"}, []),
    ],
)
def test_documents_are_found_by_label_and_by_field(
    client: TestClient, filled: str, parameters: dict[str, Any], keys: list[str]
) -> None:
    assert [document["key"] for document in listed(client, filled, **parameters)] == keys


def test_a_field_without_a_value_is_a_422_that_names_it(client: TestClient, filled: str) -> None:
    refused = client.get(filled, params={"field": "year"})
    assert (refused.status_code, refused.json()["errors"][0]["where"]) == (422, "query.field")


def test_a_page_of_long_texts_is_short(client: TestClient, corpus: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.http.pages.MAX_PAGE_CHARACTERS", 4_500)
    assert send(client, corpus, lines(*({"text": str(n) * 1_000} for n in range(9)))).json()["added"] == 9
    page = client.get(f"{corpus}/documents").json()
    assert len(page["documents"]) == 4
    assert len(listed(client, f"{corpus}/documents")) == 9


def test_a_document_is_corrected_under_a_new_version(client: TestClient, database: Database, filled: str) -> None:
    answer = client.patch(f"{filled}/b/c d", json={"label": " physics ", "text": "soliton"})
    assert answer.json() == {"changed": 1, "unchanged": 0, "version": 2}
    changed = client.get(f"{filled}/b/c d").json()
    assert (changed["text"], changed["label"], changed["fields"]) == (
        "soliton",
        "physics",
        {"year": 2024, "note": "2024"},
    )
    assert client.patch(f"{filled}/b/c d", json={"label": "physics"}).json()["unchanged"] == 1
    assert client.patch(f"{filled}/b/c d", json={"label": None, "fields": None}).json()["version"] == 3
    assert client.get(f"{filled}/b/c d").json()["label"] is None
    corpus = client.get(filled.removesuffix("/documents")).json()
    assert (corpus["version"], corpus["documents"], corpus["labeled"]) == (3, 3, 2)


@pytest.mark.parametrize(
    "change", [{}, {"key": "x"}, {"text": None}, {"text": "\0"}, {"label": "x" * 201}, {"fields": []}, {"label": 3}]
)
def test_a_correction_that_cannot_be_is_a_422(client: TestClient, filled: str, change: dict[str, Any]) -> None:
    assert client.patch(f"{filled}/a", json=change).status_code == 422
    assert client.get(f"{filled}/a").json()["version"] == 1


def test_many_documents_are_corrected_or_none(client: TestClient, database: Database, filled: str) -> None:
    before = documents(database, filled.removesuffix("/documents"))
    missing = {"changes": [{"key": "a", "label": "x"}, {"key": "none", "label": "x"}]}
    refused = client.patch(filled, json=missing)
    assert (refused.status_code, [error["where"] for error in refused.json()["errors"]]) == (404, ["none"])
    twice = {"changes": [{"key": "a", "label": "x"}, {"key": "a", "label": "y"}]}
    assert client.patch(filled, json=twice).status_code == 422
    assert documents(database, filled.removesuffix("/documents")) == before
    good = {"changes": [{"key": "a", "label": "x"}, {"key": "ü", "label": "topology"}]}
    assert client.patch(filled, json=good).json() == {"changed": 1, "unchanged": 1, "version": 2}


def test_documents_are_deleted_by_key_by_label_and_by_field(client: TestClient, filled: str) -> None:
    assert client.delete(filled).status_code == 422, "not all of them by mistake"
    assert client.delete(filled, params={"key": ["a", "none"]}).status_code == 404
    assert client.delete(f"{filled}/b/c d").json() == {"deleted": 1, "erased": False, "version": 2}
    assert client.delete(f"{filled}/b/c d").status_code == 404
    assert client.delete(filled, params={"label": "topology"}).json()["deleted"] == 1
    assert client.delete(filled, params={"label": "topology"}).json() == {"deleted": 0, "erased": False, "version": 3}
    assert client.delete(filled, params={"field": "year:2024"}).json()["deleted"] == 1
    assert client.get(filled.removesuffix("/documents")).json()["documents"] == 0


@pytest.mark.parametrize("erase", ["false", "true"])
def test_more_documents_than_a_statement_has_parameters_are_deleted_at_once(
    client: TestClient, database: Database, filled: str, erase: str
) -> None:
    n = 70_000  # PostgreSQL takes 65,535
    numbers = f"WITH RECURSIVE numbers(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < {n})"
    values = "SELECT :corpus, 1, 'many-' || i, 'a text', 'many' FROM numbers"
    with database.sessions.begin() as session:
        columns = "INSERT INTO documents (corpus_id, version, key, text, label)"
        session.execute(text(f"{columns} {numbers} {values}"), {"corpus": filled.split("/")[3]})
    answer = client.delete(filled, params={"label": "many", "erase": erase})
    assert answer.json() == {"deleted": n, "erased": erase == "true", "version": 2}
    assert client.get(filled.removesuffix("/documents")).json()["documents"] == 3
    with database.readers.begin() as session:
        left = select(func.count()).where(Document.label == "many", Document.text != "")
        assert session.scalar(left) == (0 if erase == "true" else n)


def test_a_job_keeps_the_documents_that_it_was_submitted_over(
    client: TestClient, database: Database, filled: str
) -> None:
    corpus_id = filled.split("/")[3]

    def part_of(version: int) -> set[tuple[str, str, str | None]]:
        mine = (Document.corpus_id == corpus_id, is_part_of(version))
        with database.readers.begin() as session:
            return {
                tuple(row) for row in session.execute(select(Document.key, Document.text, Document.label).where(*mine))
            }

    first = part_of(1)
    client.patch(f"{filled}/a", json={"label": "physics"})
    client.delete(f"{filled}/ü")
    send(client, filled.removesuffix("/documents"), lines({"key": "ü", "text": "again"}))
    assert part_of(1) == first == {(row["key"], row["text"], row.get("label")) for row in GIVEN}
    assert part_of(2) == first - {("a", "galaxy star", "astronomy")} | {("a", "galaxy star", "physics")}
    assert {key for key, *_ in part_of(3)} == {"a", "b/c d"}
    assert ("ü", "again", None) in part_of(4)


def test_an_erased_text_is_nowhere_any_more(client: TestClient, database: Database) -> None:
    job_id, _ = rows.submit(database)
    rows.add_encoding(database, job_id)
    rows.add_results(database, job_id)
    address = f"/v1/corpora/{rows.CORPUS}/documents"
    client.patch(f"{address}/document-1", json={"text": "a secret", "fields": {"name": "a secret"}})
    in_use = client.delete(f"{address}/document-1?erase=true")
    assert (in_use.status_code, in_use.json()["type"]) == (409, "urn:newfound:problem:corpus-in-use")
    rows.end(database, job_id)
    client.patch(f"{address}/document-1", json={"text": "no longer a secret"})
    assert client.delete(f"{address}/document-1?erase=true").json() == {"deleted": 1, "erased": True, "version": 4}
    with database.readers.begin() as session:
        texts = session.execute(select(Document.text, Document.fields).where(Document.key == "document-1")).all()
        assert {tuple(row) for row in texts} == {("", None)}
        assert session.scalar(select(func.count()).select_from(Encoding)) == 0
        assert session.get_one(Job, job_id).encoding_id is None
    assert client.get(f"{address}/document-1").status_code == 404
    told = client.get(f"/v1/jobs/{job_id}/documents").json()["documents"][0]
    assert (told["key"], told["name"], told["erased"]) == ("document-1", "physics", True)
    refused = client.post(f"/v1/jobs/{job_id}/extend", json={"sweeps": 5})
    assert refused.status_code == 409
    assert "erased" in refused.json()["detail"]


@pytest.mark.parametrize("kind", ["sqlite"])
def test_an_erased_text_is_not_in_the_file_of_the_database(client: TestClient, database: Database, filled: str) -> None:
    client.patch(f"{filled}/a", json={"text": "whisper of a secret name", "label": None})
    assert client.delete(f"{filled}/a?erase=true").status_code == 200
    file = database.engine.url.database
    assert file is not None
    client.app.state.database.engine.dispose()  # type: ignore[attr-defined]
    database.engine.dispose()  # the last connection writes what is left of the log
    sqlite3.connect(file).execute("PRAGMA wal_checkpoint(TRUNCATE)").connection.close()
    with open(file, "rb") as raw:
        content = raw.read()
    assert b"soliton wave" in content
    assert b"secret name" not in content
    assert b"galaxy star" not in content


def test_a_deleted_document_can_still_be_erased(client: TestClient, database: Database, filled: str) -> None:
    client.delete(f"{filled}/a")
    assert client.delete(f"{filled}/a?erase=true").json() == {"deleted": 0, "erased": True, "version": 2}
    with database.readers.begin() as session:
        assert session.scalar(select(Document.text).where(Document.key == "a")) == ""


def test_a_corpus_gets_another_name(client: TestClient, corpus: str) -> None:
    assert client.patch(corpus, json={"name": "other"}).json()["name"] == "other"
    assert client.get(corpus).json()["name"] == "other"
    assert client.patch(corpus, json={"name": ""}).status_code == 422
    assert client.patch("/v1/corpora/11111111-2222-4333-8444-555555555555", json={"name": "x"}).status_code == 404
