"""The view of the review: what was decided, in words and page by page, and what there is to choose from."""

import json

import pytest
from sqlalchemy import update
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.tables import Job
from app.page.views import review
from tests.app.http.answered_jobs import CATEGORIES, Given, Made, add_job
from tests.app.page.views import EVIL, Element, following, view

N = 30


@pytest.fixture
def made(database: Database) -> Made:
    """A job with answers; its categories have no ids, so decisions name them as they were called first."""
    return add_job(database, [Given(f"d/{n}", category=n % 4, probability=0.75) for n in range(N)])


def decide(client: TestClient, made: Made, *decisions: dict[str, object]) -> None:
    """Decide several things."""
    answer = client.post(f"{made.job}/decisions", json={"decisions": list(decisions), "author": "Ada"})
    assert answer.status_code == 201, answer.text


def seen_by(client: TestClient, made: Made) -> Element:
    """The review of the job."""
    return view(client, f"{made.job.removeprefix('/v1')}/review")


def lines(seen: Element) -> list[str]:
    """What was decided, in words."""
    return [line.text for line in seen.one("section", id="decided").all("span", class_="decision-words")]


def test_every_kind_of_decision_is_told_in_words_the_newest_first(client: TestClient, made: Made) -> None:
    decide(
        client,
        made,
        {"kind": "name", "category": "new 1", "name": "plasma"},
        {"kind": "pin", "documents": ["d/0", "d/1", "d/2", "d/3"], "category": "optics"},
        {"kind": "pin", "documents": ["d/4"], "new_category": "fusion"},
        {"kind": "none", "documents": ["d/5"], "note": "a table of contents"},
        {"kind": "promote", "category": "plasma"},
        {"kind": "split", "category": "optics", "documents": ["d/9"], "name": "lasers"},
        {"kind": "merge", "categories": ["astronomy", "new 2"], "name": "sky"},
        {"kind": "undo", "decision": 4},
    )
    assert lines(seen_by(client, made)) == [
        "Took back decision 4",
        "Merged astronomy and new 2 and named sky",
        "Split from optics and named lasers",
        "Promoted new 1 to a known category",
        "Set aside: no category",
        "Pinned to a category of its own, fusion",
        "Pinned to optics",
        "Renamed to plasma",
    ]
    told = seen_by(client, made).one("section", id="decided").text
    assert "d/0, d/1, d/2 and 1 other" in told
    assert "a table of contents" in told
    assert told.count("Ada,") == 8
    assert told.count("taken back") == 1


def test_all_pages_of_decisions_have_what_the_api_lists(
    client: TestClient, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(review, "ROWS", 7)
    monkeypatch.setattr("app.page.decided.MOST", 4)
    for n in range(N):
        decide(client, made, {"kind": "pin", "documents": [f"d/{n}"], "category": CATEGORIES[n % 2][0]})
    address: str | None = f"{made.job.removeprefix('/v1')}/review"
    numbers: list[int] = []
    while address is not None:
        seen = view(client, address)
        numbers += [int(line.attributes["value"]) for line in seen.one("ol", class_="decisions").all("li")]
        address = following(address, seen)
    assert numbers == [each["number"] for each in client.get(f"{made.job}/decisions").json()["decisions"]][::-1]


def test_the_categories_that_are_offered_are_those_of_the_api_with_their_ids(client: TestClient, made: Made) -> None:
    decide(client, made, {"kind": "name", "category": "new 1", "name": EVIL})
    decide(client, made, {"kind": "pin", "documents": ["d/4"], "new_category": "fusion"})
    offered = [
        (option.attributes["value"], int(option.attributes["data-category"]), option.attributes["data-id"])
        for option in seen_by(client, made).one("datalist", id="category-names").all("option")
    ]
    categories = client.get(f"{made.job}/categories").json()["categories"]
    expected = [(each["name"], each["category"], each["id"] or str(each["category"])) for each in categories]
    assert offered == expected
    assert EVIL in {name for name, _, _ in offered}


def test_continuing_says_how_many_decisions_go_along_and_what_the_corpus_has_since(
    client: TestClient, made: Made
) -> None:
    told = seen_by(client, made).one("section", id="continue")
    assert "Nothing was decided yet" in told.text
    assert "has not changed" in told.text
    decide(client, made, {"kind": "none", "documents": ["d/5"]}, {"kind": "promote", "category": "new 1"})
    decide(client, made, {"kind": "undo", "decision": 1})
    headers = {"Content-Type": "application/x-ndjson"}
    client.post(f"{made.corpus}/documents", content=json.dumps({"text": "one more"}), headers=headers)
    told = seen_by(client, made).one("section", id="continue")
    assert "with what was decided (1 decision)" in told.text
    assert "with what has changed since" in told.text
    assert told.one("form").attributes["data-api"] == f"POST {made.job}/continue"


def test_a_job_without_checkpoints_is_reviewed_and_not_continued(
    client: TestClient, database: Database, made: Made
) -> None:
    with database.sessions.begin() as session:
        session.execute(update(Job).values(expired_at=1_795_000_000.0))
    decide(client, made, {"kind": "none", "documents": ["d/5"]})
    told = seen_by(client, made).one("section", id="continue")
    assert "The checkpoints of this job expired" in told.text
    assert list(told.all("form")) == []
    assert client.post(f"{made.job}/continue", json={}).status_code == 409


def test_a_job_that_is_not_there_or_has_no_results_has_no_review(client: TestClient, database: Database) -> None:
    view(client, "/jobs/00000000-0000-4000-8000-000000000000/review", 404)
    live = add_job(database, [Given("a", category=0, probability=0.9)], is_over=False)
    assert "result" in view(client, f"{live.job.removeprefix('/v1')}/review", 409).text
