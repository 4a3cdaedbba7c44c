"""The jobs that have a category, oldest first, and what was decided about it."""

from typing import Any

from starlette.testclient import TestClient

from app.core.db import Database
from app.core.tables import Decision, Job
from tests.app import rows
from tests.app.http.compared_jobs import add_corpus, add_job

NEW, OPTICS = "c-1new1", "c-10ptjcs"
OTHER = "11111111-2222-4333-8444-666666666666"


def lineage(client: TestClient, category: str, **parameters: Any) -> list[Any]:
    """All pages of the lineage of a category."""
    found: list[Any] = []
    cursor: str | None = ""
    while cursor is not None:
        given = {**parameters, "cursor": cursor} if cursor else parameters
        answer = client.get(f"/v1/categories/{category}/lineage", params=given)
        assert answer.status_code == 200, answer.text
        assert answer.json()["id"] == category
        found += answer.json()["jobs"]
        cursor = answer.json()["next"]
    return found


def decide(database: Database, job: Job, number: int, kind: str, **body: Any) -> None:
    """A decision about a job."""
    with database.sessions.begin() as session:
        session.add(Decision(job_id=job.id, number=number, kind=kind, body=body, author="Ada", made_at=86_400.0))


def test_the_jobs_of_a_category_come_oldest_first_and_say_what_each_continues(
    client: TestClient, database: Database
) -> None:
    add_corpus(database, {1: "optics", 2: None, 3: None})
    first = add_job(database, ["optics", "new 1"], {2: 1, 3: 1}, created_at=1.0, name="first week")
    second = add_job(database, ["new 1"], {2: 0, 3: None}, created_at=2.0, continues=first.id, edition=2)
    without = add_job(database, ["optics", "new 2"], {2: 1, 3: 1}, created_at=3.0, continues=second.id)
    fourth = add_job(database, ["optics", "new 1"], {2: 1, 3: 0}, created_at=4.0, continues=without.id)
    found = lineage(client, NEW)
    assert [each["job"] for each in found] == [first.id, second.id, fourth.id]
    assert [each["continues"] for each in found] == [None, first.id, None], "what it continues has no such category"
    assert [each["category"] for each in found] == [1, 0, 1]
    assert [each["documents"] for each in found] == [2, 1, 1]
    assert found[0] == {
        "job": first.id,
        "job_name": "first week",
        "corpus_id": rows.CORPUS,
        "corpus_version": 1,
        "created_at": "1970-01-01T00:00:01Z",
        "continues": None,
        "category": 1,
        "name": "new 1",
        "known": False,
        "documents": 2,
        "labeled": 0,
        "stability": None,
        "decisions": [],
    }
    assert [each["job"] for each in lineage(client, NEW, limit=1)] == [first.id, second.id, fourth.id]
    assert [each["continues"] for each in lineage(client, NEW, limit=1)] == [None, first.id, None]


def test_jobs_without_results_and_deleted_ones_are_not_in_it(client: TestClient, database: Database) -> None:
    add_corpus(database, {1: None})
    shown = add_job(database, ["new 1"], {1: 0}, created_at=1.0)
    add_job(database, ["new 1"], {1: 0}, created_at=2.0, deleted_at=5.0)
    stale = add_job(database, ["new 1"], {1: 0}, created_at=4.0)
    with database.sessions.begin() as session:
        session.get_one(Job, stale.id).edition = 2  # the category is of results that nobody reads any more
    assert [each["job"] for each in lineage(client, NEW)] == [shown.id]


def test_a_known_category_is_in_jobs_over_all_corpora_unless_one_is_named(
    client: TestClient, database: Database
) -> None:
    add_corpus(database, {1: "optics", 2: None})
    add_corpus(database, {3: "optics", 4: None}, corpus_id=OTHER)
    here = add_job(database, ["optics"], {2: 0}, created_at=1.0)
    there = add_job(database, ["optics"], {4: 0}, created_at=1.0, corpus_id=OTHER)
    assert {each["job"] for each in lineage(client, OPTICS)} == {here.id, there.id}
    assert [each["job"] for each in lineage(client, OPTICS, corpus_id=OTHER)] == [there.id]
    assert {each["job"] for each in lineage(client, OPTICS, limit=1)} == {here.id, there.id}, "submitted at once"


def test_decisions_in_force_that_name_the_category_are_told(client: TestClient, database: Database) -> None:
    add_corpus(database, {1: None, 2: None})
    job = add_job(database, ["new 1", "new 2"], {1: 0, 2: 1})
    decide(database, job, 1, "name", category=NEW, name="Rivers")
    decide(database, job, 2, "name", category="c-1new2", name=f"not {NEW}")
    decide(database, job, 3, "merge", categories=["c-1new2", NEW])
    decide(database, job, 4, "dissolve", category=NEW)
    decide(database, job, 5, "undo", decision=4)
    decide(database, job, 6, "split", category="c-1new2", parts=[{"category": NEW}])
    [found] = lineage(client, NEW)
    assert [(each["number"], each["kind"]) for each in found["decisions"]] == [(1, "name"), (3, "merge"), (6, "split")]
    assert found["decisions"][0] == {"number": 1, "kind": "name", "author": "Ada", "made_at": "1970-01-02T00:00:00Z"}


def test_an_id_that_no_job_has_is_not_found(client: TestClient, database: Database) -> None:
    add_corpus(database, {1: None})
    add_job(database, ["new 1"], {1: 0})
    for named, parameters, kind in (
        ("c-zzzzzz", {}, "category-not-found"),
        ("new 1", {}, "category-not-found"),
        ("c-1new1\0", {}, "category-not-found"),
        (NEW, {"corpus_id": OTHER}, "category-not-found"),
        (NEW, {"corpus_id": "corpus"}, "corpus-not-found"),
    ):
        answer = client.get(f"/v1/categories/{named.replace(chr(0), '%00')}/lineage", params=parameters)
        assert (answer.status_code, answer.json()["type"]) == (404, f"urn:newfound:problem:{kind}")
    answer = client.get(f"/v1/categories/{NEW}/lineage", params={"cursor": "nonsense"})
    assert answer.status_code == 422
