"""How good labels are, and suggestions that become labels, on both databases."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from app.core.db import Database
from app.http.routers import labels
from app.uploads import corrections
from tests.app.http.answered_jobs import Given, Made, add_job
from tests.app.http.test_calibrated import pages

GIVEN = (
    Given("good", label="optics", quality=0.97),
    Given("bad 1", label="optics", quality=0.1, suggested=0, probability=0.85),
    Given("bad 2", label="optics", quality=0.1, suggested=0, probability=0.8),
    Given("other way", label="astronomy", quality=0.3, suggested=1, probability=0.6),
    Given("copies", label="astronomy", quality=0.5, suggested=1, probability=0.5, by_copies=True),
    Given("is new", label="optics", quality=0.2, suggested=2, probability=0.7),
    Given("not understood", label="optics", quality=0.05),
    Given("blank", label="optics"),
    Given("answered", category=0),
)
OPTICS_ASTRONOMY = {"label": "optics", "suggested": "astronomy"}
ASTRONOMY_OPTICS = {"label": "astronomy", "suggested": "optics"}


@pytest.fixture
def made(database: Database) -> Made:
    return add_job(database, GIVEN)


def apply(client: TestClient, made: Made, **body: Any) -> Any:
    answer = client.post(f"{made.job}/labels/apply", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def labels_now(client: TestClient, made: Made) -> dict[str, Any]:
    """The label of each document of the corpus."""
    return {row["key"]: row["label"] for row in client.get(f"{made.corpus}/documents").json()["documents"]}


def test_labels_are_listed_by_their_quality_the_worst_first(client: TestClient, made: Made) -> None:
    for limit in (1, 3, 100):
        found = pages(client, f"{made.job}/labels", "labels", limit=limit)
        keys = [row["key"] for row in found]
        assert keys == ["not understood", "bad 1", "bad 2", "is new", "other way", "copies", "good"]
    by_key = {row["key"]: row for row in found}
    assert by_key["bad 1"] == {
        "key": "bad 1",
        "label": "optics",
        "quality": 0.1,
        "doubtful": True,
        "reason": "words",
        "suggestion": {"category": 0, "name": "astronomy", "probability": 0.85},
    }
    assert by_key["copies"]["reason"] == "copies"
    for key in ("good", "not understood"):
        assert (by_key[key]["doubtful"], by_key[key]["reason"], by_key[key]["suggestion"]) == (False, None, None)
    audited = [row["key"] for row in pages(client, f"{made.job}/audit", "documents", limit=2)]
    assert audited == [row["key"] for row in found if row["doubtful"]]


def test_pairs_of_label_and_suggestion_are_counted(client: TestClient, made: Made) -> None:
    told = client.get(f"{made.job}/labels/pairs").json()
    assert (told["labeled"], told["scored"], told["doubtful"]) == (8, 7, 5)
    assert [(row["label"], row["suggested"], row["known"], row["documents"]) for row in told["pairs"]] == [
        ("astronomy", "optics", True, 2),
        ("optics", "astronomy", True, 2),
        ("optics", "new 1", False, 1),
    ]
    assert told["pairs"][0]["mean_quality"] == pytest.approx(0.4)
    assert told["pairs"][0]["mean_probability"] == pytest.approx(0.55)


def test_suggestions_are_applied_by_key_and_undone_by_a_correction(client: TestClient, made: Made) -> None:
    before = labels_now(client, made)
    told = apply(client, made, keys=["bad 1", "good", "nobody", "is new", "other way"], min_probability=0.7)
    assert told == {
        "applied": [{"key": "bad 1", "label": "optics", "suggested": "astronomy"}],
        "left": [
            {"key": "good", "reason": "no-suggestion", "label": None},
            {"key": "nobody", "reason": "no-suggestion", "label": None},
            {"key": "is new", "reason": "new-category", "label": None},
            {"key": "other way", "reason": "less-probable", "label": None},
        ],
        "remaining": 0,
        "version": 2,
    }
    assert labels_now(client, made) == {**before, "bad 1": "astronomy"}
    changed = client.get(f"{made.corpus}/documents/bad 1").json()
    assert (changed["text"], changed["version"]) == ("text of bad 1", 2)
    undo = {"changes": [{"key": each["key"], "label": each["label"]} for each in told["applied"]]}
    assert client.patch(f"{made.corpus}/documents", json=undo).json() == {"changed": 1, "unchanged": 0, "version": 3}
    assert labels_now(client, made) == before


def test_suggestions_are_applied_by_pair_and_a_repeat_changes_nothing(client: TestClient, made: Made) -> None:
    told = apply(client, made, pairs=[OPTICS_ASTRONOMY, ASTRONOMY_OPTICS], min_probability=0.6)
    assert [each["key"] for each in told["applied"]] == ["bad 1", "bad 2", "other way"]
    assert (told["left"], told["version"]) == ([], 2)
    again = apply(client, made, pairs=[OPTICS_ASTRONOMY, ASTRONOMY_OPTICS], min_probability=0.6)
    assert again == {"applied": [], "left": [], "remaining": 0, "version": 2}
    listed = {row["key"]: row["label"] for row in client.get(f"{made.job}/labels").json()["labels"]}
    assert listed["bad 1"] == "optics", "the job keeps the labels that it learned from"


def test_documents_that_have_changed_since_the_job_are_left_alone_and_listed(client: TestClient, made: Made) -> None:
    client.patch(f"{made.corpus}/documents/bad 1", json={"label": "plasma"})
    client.delete(f"{made.corpus}/documents/bad 2")
    client.patch(f"{made.corpus}/documents/other way", json={"label": None})
    client.patch(f"{made.corpus}/documents/copies", json={"text": "another text, the same label"})
    changed = [
        {"key": "bad 1", "reason": "changed", "label": "plasma"},
        {"key": "bad 2", "reason": "deleted", "label": None},
        {"key": "other way", "reason": "changed", "label": None},
    ]
    keys = ["bad 1", "bad 2", "other way"]
    assert apply(client, made, keys=keys) == {"applied": [], "left": changed, "remaining": 0, "version": 5}
    told = apply(client, made, pairs=[OPTICS_ASTRONOMY, ASTRONOMY_OPTICS])
    assert [each["key"] for each in told["applied"]] == ["copies"]
    assert told["left"] == changed
    assert client.get(f"{made.corpus}/documents/copies").json()["text"] == "another text, the same label"


def test_a_label_that_changes_while_suggestions_are_applied_is_kept(
    client: TestClient, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    relabel = corrections.relabel

    def late(*given: Any) -> Any:
        client.patch(f"{made.corpus}/documents/bad 1", json={"label": "plasma"})
        client.delete(f"{made.corpus}/documents/bad 2")
        return relabel(*given)

    monkeypatch.setattr(corrections, "relabel", late)
    told = apply(client, made, keys=["bad 1", "bad 2", "other way"])
    assert [each["key"] for each in told["applied"]] == ["other way"]
    assert told["left"] == [
        {"key": "bad 1", "reason": "changed", "label": "plasma"},
        {"key": "bad 2", "reason": "deleted", "label": None},
    ]
    assert labels_now(client, made)["bad 1"] == "plasma"


def test_of_many_suggestions_the_most_probable_come_first_and_the_rest_remains(
    client: TestClient, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(labels, "MAX_APPLIED", 3)
    monkeypatch.setattr(corrections, "RELABELED_AT_ONCE", 2)
    both = [OPTICS_ASTRONOMY, ASTRONOMY_OPTICS]
    first, second = apply(client, made, pairs=both), apply(client, made, pairs=both)
    assert ([each["key"] for each in first["applied"]], first["remaining"]) == (["bad 1", "bad 2", "other way"], 1)
    assert ([each["key"] for each in second["applied"]], second["remaining"]) == (["copies"], 0)
    assert (first["version"], second["version"]) == (2, 3), "each request makes one version"


@pytest.mark.parametrize(
    ("body", "status", "detail"),
    [
        ({}, 422, "either keys of documents or pairs"),
        ({"keys": ["bad 1"], "pairs": [OPTICS_ASTRONOMY]}, 422, "either keys of documents or pairs"),
        ({"keys": ["bad 1"], "min_probability": 1.5}, 422, "min_probability"),
        ({"keys": ["bad 1"], "labels": 1}, 422, "labels"),
        ({"pairs": [{"label": "optics", "suggested": "plasma"}]}, 409, "does not suggest 'plasma'"),
        ({"pairs": [OPTICS_ASTRONOMY, {"label": "optics", "suggested": "new 1"}]}, 409, "'new 1' is a new category"),
    ],
)
def test_what_cannot_be_applied_is_refused_as_a_whole(
    client: TestClient, made: Made, body: dict[str, Any], status: int, detail: str
) -> None:
    before = labels_now(client, made)
    answer = client.post(f"{made.job}/labels/apply", json=body)
    assert (answer.status_code, detail in answer.text) == (status, True), answer.text
    assert labels_now(client, made) == before


def test_a_job_without_results_has_no_labels_to_read_or_apply(client: TestClient, database: Database) -> None:
    made = add_job(database, GIVEN, is_over=False)
    assert client.get(f"{made.job}/labels").status_code == 409
    assert client.get(f"{made.job}/labels/pairs").status_code == 409
    assert client.post(f"{made.job}/labels/apply", json={"keys": ["bad 1"]}).status_code == 409
