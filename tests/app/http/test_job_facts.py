"""The names, the tags and the notes of jobs: given, changed, and searched; on both databases."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from app.core.db import Database
from tests.app.rows import CORPUS, add_corpus, submit

FACTS = {"name": "Ärger & Fragen, 100_%", "tags": ["Herbst", "büro"], "note": "Größe: XL\nzweite Zeile"}
NO_FACTS = {"name": None, "tags": [], "note": None}


def facts(job: dict[str, Any]) -> dict[str, Any]:
    return {name: job[name] for name in FACTS}


@pytest.fixture
def job(client: TestClient, database: Database) -> str:
    """The path of a job that was submitted with all of them."""
    with database.sessions.begin() as session:
        add_corpus(session)
    body = {"corpus_id": CORPUS, "discover": True, "text": {"min_document_frequency": 1}, **FACTS}
    answer = client.post("/v1/jobs", json=body)
    assert (answer.status_code, facts(answer.json())) == (202, FACTS)
    return str(answer.json()["links"]["self"])


def test_what_a_job_is_called_is_reported_in_full_and_in_short_form(client: TestClient, job: str) -> None:
    assert facts(client.get(job).json()) == FACTS
    assert [facts(summary) for summary in client.get("/v1/jobs").json()["jobs"]] == [FACTS]
    assert not set(FACTS) & set(client.get(job).json()["settings"]), "they are no settings"


def test_a_change_leaves_what_it_does_not_name(client: TestClient, job: str) -> None:
    expected: dict[str, Any] = dict(FACTS)
    for change in ({"name": "other"}, {"tags": ["z", "a"]}, {"note": ""}, {}, {"name": None}, {"tags": []}, FACTS):
        expected |= change
        changed = client.patch(job, json=change)
        assert (changed.status_code, facts(changed.json())) == (200, expected)
        assert facts(client.get(job).json()) == expected


def test_a_job_that_nobody_named_has_none_of_them(client: TestClient, database: Database) -> None:
    job_id, _ = submit(database)
    assert facts(client.get(f"/v1/jobs/{job_id}").json()) == NO_FACTS
    assert facts(client.get("/v1/jobs").json()["jobs"][0]) == NO_FACTS


@pytest.mark.parametrize(
    ("query", "is_found"),
    [
        ({"name": "ärger"}, True),
        ({"name": "A\u0308RGER & f"}, True),  # composed of two characters
        ({"name": "100_%"}, True),
        ({"name": "1%0"}, False),
        ({"name": "100__"}, False),
        ({"name": "Fragen Ärger"}, False),
        ({"tag": "HERBST"}, True),
        ({"tag": ["BÜRO", "herbst"]}, True),
        ({"tag": ["büro", "sommer"]}, False),
        ({"tag": "herb"}, False),
        ({"name": "fragen", "tag": "büro", "status": "queued"}, True),
        ({"name": "fragen", "tag": "büro", "status": "failed"}, False),
    ],
)
def test_jobs_are_found_by_a_part_of_their_name_and_by_each_of_their_tags(
    client: TestClient, database: Database, job: str, query: dict[str, Any], is_found: bool
) -> None:
    submit(database)  # another one, without a name
    found = client.get("/v1/jobs", params=query).json()["jobs"]
    assert [summary["links"]["self"] for summary in found] == [job] * is_found


def test_tags_that_differ_in_case_alone_are_one(client: TestClient, job: str) -> None:
    assert client.patch(job, json={"tags": ["b", "A", "a", "B", "straße", "STRASSE"]}).json()["tags"] == [
        "b",
        "A",
        "straße",
    ]


@pytest.mark.parametrize("query", [{"name": ""}, {"name": "a\0"}, {"tag": "a\0"}, {"tag": ["x"] * 51}])
def test_what_no_job_can_have_is_not_searched(client: TestClient, query: dict[str, Any]) -> None:
    assert client.get("/v1/jobs", params=query).status_code == 422


@pytest.mark.parametrize(
    "change",
    [
        {"name": ""},
        {"name": "x" * 201},
        {"name": "a\0b"},
        {"tags": None},
        {"tags": [""]},
        {"tags": ["x" * 101]},
        {"tags": [f"{n}" for n in range(51)]},
        {"note": "x" * 10_001},
        {"note": 7},
        {"status": "succeeded"},
    ],
)
def test_what_cannot_be_kept_is_refused_and_changes_nothing(
    client: TestClient, job: str, change: dict[str, Any]
) -> None:
    assert client.patch(job, json={"name": "new", **change}).status_code == 422
    assert facts(client.get(job).json()) == FACTS
