"""What decisions are as labels of a job that continues: held to the rows that they become."""

from typing import Any

import pytest
from sqlalchemy import insert, select, update
from starlette.testclient import TestClient

from app.broker import queue
from app.core.db import Database
from app.core.tables import Answer, Category, ClampedLabel, Corpus, Document, Job, Summary
from app.review.clamped import FEWEST
from tests.app.http.answered_jobs import Given, add_job

NEW = "c-aaaaaa"
N_SURE, N_UNSURE = 60, 30


@pytest.fixture(autouse=True)
def nobody_works(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs stay queued."""
    monkeypatch.setattr(queue, "wake", lambda *_: None)


@pytest.fixture
def large(database: Database) -> str:
    """A job with a new category of sure and unsure documents."""
    given = [Given(f"sure-{n}", category=2, probability=0.9, known_probability=0.1) for n in range(N_SURE)]
    given += [Given(f"unsure-{n}", category=2, probability=0.3, known_probability=0.4) for n in range(N_UNSURE)]
    given += [Given("star", category=0, probability=0.9), Given("mirror", label="optics", quality=0.9)]
    made = add_job(database, given)
    with database.sessions.begin() as session:
        session.execute(update(Category).where(Category.category == 2).values(short_id=NEW))
        for category, short_id in ((0, "c-k00000"), (1, "c-k11111"), (3, "c-bbbbbb")):
            session.execute(update(Category).where(Category.category == category).values(short_id=short_id))
    return made.job


def set_rate(database: Database, rate: float) -> None:
    """Let the job have learned a labeling rate."""
    data = {"n_new": {"2": 1}, "n_new_with_documents": {"2": 1}, "calibration": {"labeling_rate": rate}}
    with database.sessions.begin() as session:
        session.execute(update(Summary).values(data=data))


def decide(client: TestClient, job: str, *decisions: dict[str, Any]) -> None:
    answer = client.post(f"{job}/decisions", json={"decisions": decisions})
    assert answer.status_code == 201, answer.text


def labels(client: TestClient, database: Database, job: str) -> dict[str, tuple[str | None, bool]]:
    """The labels that the job which continues has for itself, and whether they were drawn, by key."""
    answer = client.post(f"{job}/continue", json={})
    assert answer.status_code == 202, answer.text
    with database.readers.begin() as session:
        rows = (
            select(Document.key, ClampedLabel.label, ClampedLabel.is_drawn)
            .join(ClampedLabel, ClampedLabel.document_id == Document.id)
            .where(ClampedLabel.job_id == answer.json()["id"])
        )
        return {key: (label, drawn) for key, label, drawn in session.execute(rows)}


@pytest.mark.parametrize(("rate", "n_drawn"), [(0.5, 30), (0.1, FEWEST), (1.0, 60)])
def test_a_promoted_category_has_labels_as_often_as_known_ones_have(
    client: TestClient, database: Database, large: str, rate: float, n_drawn: int
) -> None:
    set_rate(database, rate)
    decide(client, large, {"kind": "promote", "category": NEW, "name": "plasma"})
    found = labels(client, database, large)
    assert set(found.values()) == {("plasma", True)}
    assert len(found) == n_drawn
    assert all(key.startswith("sure-") for key in found), "of its documents that are not unsure"
    assert found == labels(client, database, large), "the same ones each time"


def test_a_category_that_documents_are_pinned_to_is_known_and_one_that_has_a_name_alone_is_not(
    client: TestClient, database: Database, large: str
) -> None:
    set_rate(database, 0.5)
    decide(client, large, {"kind": "name", "category": NEW, "name": "plasma"})
    assert labels(client, database, large) == {}
    decide(client, large, {"kind": "pin", "documents": ["star"], "category": NEW})
    found = labels(client, database, large)
    assert found.pop("star") == ("plasma", False)
    assert set(found.values()) == {("plasma", True)} and len(found) == 30


def test_what_was_undone_is_no_label(client: TestClient, database: Database, large: str) -> None:
    decide(client, large, {"kind": "pin", "documents": ["star"], "category": "optics"}, {"kind": "undo", "decision": 1})
    assert labels(client, database, large) == {}


def test_documents_of_none_are_set_aside_and_labels_of_the_corpus_give_way(
    client: TestClient, database: Database, large: str
) -> None:
    decide(
        client,
        large,
        {"kind": "none", "documents": ["star"]},
        {"kind": "pin", "documents": ["mirror"], "category": "astronomy"},
    )
    assert labels(client, database, large) == {"star": (None, False), "mirror": ("astronomy", False)}
    with database.readers.begin() as session:
        assert session.scalars(select(Document.label).where(Document.key == "mirror")).one() == "optics"


def test_a_corrected_document_keeps_what_was_said_unless_it_bears_a_label_now(
    client: TestClient, database: Database, large: str
) -> None:
    decide(client, large, {"kind": "pin", "documents": ["sure-0", "sure-1", "sure-2"], "category": "optics"})
    with database.sessions.begin() as session:
        corpus = session.scalars(select(Corpus)).one()
        corpus.version = 2
        corrected = Document.key.in_(("sure-0", "sure-1"))
        session.execute(update(Document).where(corrected | (Document.key == "sure-2")).values(until=2))
        rows = [("sure-0", None), ("sure-1", "astronomy")]  # and sure-2 was taken out
        session.execute(
            insert(Document),
            [{"corpus_id": corpus.id, "version": 2, "key": key, "text": "x", "label": label} for key, label in rows],
        )
    assert labels(client, database, large) == {"sure-0": ("optics", False)}


def test_labels_go_on_to_the_next_job_but_for_drawn_ones_that_have_become_unsure(
    client: TestClient, database: Database, large: str
) -> None:
    set_rate(database, 0.5)
    decide(client, large, {"kind": "promote", "category": NEW, "name": "plasma"})
    decide(client, large, {"kind": "pin", "documents": ["star"], "category": "optics"})
    first = labels(client, database, large)
    with database.sessions.begin() as session:  # as if the next job had succeeded, and had its doubts
        job = session.scalars(select(Job).where(Job.continues.is_not(None))).one()
        job.status, job.edition = "succeeded", 1
        session.add(Summary(job_id=job.id, data={"n_new": {"1": 1}, "n_new_with_documents": {"1": 1}}))
        for index, (name, known) in enumerate((("astronomy", True), ("optics", True), ("plasma", True))):
            row = Category(job_id=job.id, category=index, name=name, known=known, n_documents=1, n_labeled=0)
            row.share, row.top_words, row.short_id = 0.3, [], f"c-{index}"
            session.add(row)
        session.flush()
        drawn = sorted(key for key, (_, is_drawn) in first.items() if is_drawn)
        ids = dict(session.execute(select(Document.key, Document.id)).all())
        session.execute(
            insert(Answer),
            [
                {
                    "job_id": job.id,
                    "edition": 1,
                    "document_id": ids[key],
                    "category": 2,
                    "probability": 0.2 + 0.7 * (n > 4),
                }
                for n, key in enumerate([*drawn, "star"])
            ],
        )
        job_id = job.id
    second = labels(client, database, f"/v1/jobs/{job_id}")
    assert second == {key: label for key, label in first.items() if key not in drawn[:5]}
    assert second["star"] == ("optics", False)
