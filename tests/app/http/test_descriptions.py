"""Descriptions of categories over HTTP: versions of the corpus have them, and what cannot be meant is refused."""

from typing import Any

import pytest
from sqlalchemy import update
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.descriptions import MAX_DESCRIPTIONS, MAX_TEXT, descriptions_of
from app.core.tables import Corpus
from app.core.vectors import to_bytes
from tests.app.uploads.sending import new_corpus

REFUNDS = {"name": "refunds", "text": "Customers who want their money back."}
DELIVERY = {"name": "delivery", "text": "Where is my parcel?"}


@pytest.fixture
def corpus(client: TestClient) -> str:
    """Address of an empty corpus."""
    return new_corpus(client)


def put(client: TestClient, corpus: str, *descriptions: dict[str, Any]) -> Any:
    """What becomes of the descriptions."""
    answer = client.put(f"{corpus}/descriptions", json={"descriptions": descriptions})
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(client: TestClient, corpus: str, *descriptions: dict[str, Any]) -> tuple[str, list[str]]:
    """The kind of refusal, and the places at fault."""
    answer = client.put(f"{corpus}/descriptions", json={"descriptions": descriptions})
    assert answer.status_code in (409, 422), answer.text
    return answer.json()["type"].rpartition(":")[2], [each["where"] for each in answer.json()["errors"]]


def listed(client: TestClient, corpus: str) -> dict[str, str]:
    """The texts of the descriptions by name."""
    found = client.get(f"{corpus}/descriptions").json()["descriptions"]
    return {each["name"]: each["text"] for each in found}


def in_version(database: Database, corpus: str, version: int) -> list[tuple[str, str]]:
    """Names and texts that a version of the corpus has."""
    with database.readers.begin() as session:
        found = descriptions_of(session, corpus.rpartition("/")[2], version)
        return [(each.name, each.text) for each in found]


def test_each_change_is_a_version_of_the_corpus_and_earlier_ones_keep_theirs(
    client: TestClient, database: Database, corpus: str
) -> None:
    first = put(client, corpus, REFUNDS, DELIVERY)
    assert first == {"added": 2, "changed": 0, "removed": 0, "unchanged": 0, "version": 1}
    second = put(client, corpus, {**REFUNDS, "text": "Money back"}, {"name": "invoices"})
    assert second == {"added": 1, "changed": 1, "removed": 1, "unchanged": 0, "version": 2}
    assert client.get(corpus).json()["version"] == 2
    assert client.get(f"{corpus}/descriptions").json() == {
        "descriptions": [
            {"name": "invoices", "text": "", "has_vector": False, "version": 2},
            {"name": "refunds", "text": "Money back", "has_vector": False, "version": 2},
        ],
        "version": 2,
    }
    assert in_version(database, corpus, 0) == []
    assert in_version(database, corpus, 1) == [("delivery", DELIVERY["text"]), ("refunds", REFUNDS["text"])]
    assert in_version(database, corpus, 2) == [("invoices", ""), ("refunds", "Money back")]


def test_descriptions_that_are_there_already_change_nothing(client: TestClient, corpus: str) -> None:
    put(client, corpus, REFUNDS, DELIVERY)
    again = put(client, corpus, DELIVERY, REFUNDS)
    assert again == {"added": 0, "changed": 0, "removed": 0, "unchanged": 2, "version": 1}


def test_a_description_that_was_removed_may_come_back(client: TestClient, database: Database, corpus: str) -> None:
    for descriptions in ([REFUNDS], [], [REFUNDS], []):
        put(client, corpus, *descriptions)
    assert [len(in_version(database, corpus, version)) for version in range(5)] == [0, 1, 0, 1, 0]


def test_one_description_is_deleted_and_the_others_stay(client: TestClient, corpus: str) -> None:
    put(client, corpus, REFUNDS, {"name": "sales/returns"})
    assert client.delete(f"{corpus}/descriptions/sales/returns").status_code == 204
    assert listed(client, corpus) == {"refunds": REFUNDS["text"]}
    assert client.get(corpus).json()["version"] == 2
    gone = client.delete(f"{corpus}/descriptions/sales/returns")
    assert (gone.status_code, gone.json()["type"]) == (404, "urn:newfound:problem:description-not-found")
    assert client.delete(f"{corpus}/descriptions/a%00b").status_code == 404


def test_names_lose_the_blanks_at_their_ends_and_must_differ_in_more_than_case(client: TestClient, corpus: str) -> None:
    put(client, corpus, {"name": "  refunds "})
    assert listed(client, corpus) == {"refunds": ""}
    again = ({"name": "Refunds"}, DELIVERY, {"name": "refunds "}, {"name": "DELIVERY"})
    assert refused(client, corpus, *again) == ("malformed-request", ["descriptions.2.name", "descriptions.3.name"])
    assert listed(client, corpus) == {"refunds": ""}, "all of them or none"


@pytest.mark.parametrize(
    ("description", "place"),
    [
        ({"name": " "}, "name"),
        ({"name": "x" * 201}, "name"),
        ({"name": "a\0"}, "name"),
        ({"name": "a", "text": "x" * (MAX_TEXT + 1)}, "text"),
        ({"name": "a", "label": "b"}, "label"),
        ({"name": "a", "vector": [1.0]}, "vector"),
    ],
)
@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_description_that_breaks_a_limit_is_refused_with_its_place(
    client: TestClient, corpus: str, description: dict[str, Any], place: str
) -> None:
    kind, places = refused(client, corpus, REFUNDS, description)
    assert kind == "malformed-request"
    assert [where.split(".")[-2:] for where in places] == [["1", place]]


@pytest.mark.parametrize("kind", ["sqlite"])
def test_more_descriptions_than_a_corpus_may_have_are_refused(client: TestClient, corpus: str) -> None:
    many = [{"name": f"category {n}"} for n in range(MAX_DESCRIPTIONS + 1)]
    assert refused(client, corpus, *many)[0] == "malformed-request"
    assert put(client, corpus, *many[1:])["added"] == MAX_DESCRIPTIONS


def test_a_vector_that_is_no_number_is_refused(client: TestClient, corpus: str) -> None:
    body = '{"descriptions": [{"name": "a", "vector": [1.0, NaN, 0.0, 2.0]}]}'
    answer = client.put(f"{corpus}/descriptions", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422


def test_vectors_are_as_long_as_those_of_the_documents(client: TestClient, database: Database, corpus: str) -> None:
    with_vector = {**REFUNDS, "vector": [3.0, 0.0, 4.0, 0.0]}
    assert refused(client, corpus, DELIVERY, with_vector) == ("description-vectors-unfit", ["descriptions.1.vector"])
    with database.sessions.begin() as session:
        session.execute(update(Corpus).values(vector_length=5))
    assert refused(client, corpus, with_vector)[0] == "description-vectors-unfit"
    with database.sessions.begin() as session:
        session.execute(update(Corpus).values(vector_length=4))
    nothing = {**DELIVERY, "vector": [0.0] * 4}
    assert put(client, corpus, with_vector, nothing)["added"] == 2
    assert put(client, corpus, with_vector, nothing)["unchanged"] == 2
    assert put(client, corpus, {**with_vector, "vector": [0.0, 1.0, 0.0, 0.0]}, nothing)["changed"] == 1
    with database.readers.begin() as session:
        found = descriptions_of(session, corpus.rpartition("/")[2], 1)
    assert [each.vector for each in found] == [None, to_bytes([0.6, 0.0, 0.8, 0.0])]


def test_a_corpus_that_is_gone_has_no_descriptions(client: TestClient, corpus: str) -> None:
    put(client, corpus, REFUNDS)
    assert client.delete(corpus).status_code == 204
    for answer in (
        client.get(f"{corpus}/descriptions"),
        client.put(f"{corpus}/descriptions", json={"descriptions": []}),
        client.delete(f"{corpus}/descriptions/refunds"),
    ):
        assert (answer.status_code, answer.json()["type"]) == (404, "urn:newfound:problem:corpus-not-found")
