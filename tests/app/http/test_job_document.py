"""One document of a job: its answer or its label, and what its words say; of jobs that workers have run, too."""

from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import select, update
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.settings import Settings
from app.core.tables import Document, FrozenModel
from app.frozen.models import OpenModels
from app.frozen.spoken_words import loudest, spoken_words
from sampler.frozen.answering import tf_idf
from tests.app.http.answered_jobs import Given, add_job
from tests.worker import jobs

ANY = {"min_document_frequency": 1}


@pytest.fixture
def job(database: Database, settings: Settings) -> str:
    """The address of a calibrated job that has succeeded."""
    return f"/v1/jobs/{jobs.finished(database, settings, jobs.submit_calibrated, text=ANY)}"


def read(client: TestClient, job: str, key: str, **query: Any) -> Any:
    answer = client.get(f"{job}/documents/{key}", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def listed(client: TestClient, job: str, **query: Any) -> list[Any]:
    found: list[Any] = client.get(f"{job}/documents", params={"evidence": True, "limit": 1000, **query}).json()[
        "documents"
    ]
    return found


def categories_of(document: Any) -> set[int]:
    return {each["category"] for each in document["likely"]}


def test_a_document_is_that_of_the_list_with_what_its_words_say(client: TestClient, job: str) -> None:
    for document in listed(client, job):
        told = read(client, job, document["key"])
        words, spans = told.pop("words"), told.pop("spans")
        assert told.pop("label") is None
        assert told == document
        assert bool(words) == (document["category"] is not None)
        assert [each["weight"] for each in words] == sorted((each["weight"] for each in words), reverse=True)
        assert all(each["weight"] >= 0.0 and each["category"] in categories_of(document) for each in words)
        assert len({each["word"] for each in words}) == len(words)
        assert {words[n]["word"] for _, _, n in spans} == {each["word"] for each in words}
        for start, end, n in spans:
            assert told["text"][start:end].casefold() == words[n]["word"]
        assert [span[0] for span in spans] == sorted(span[0] for span in spans)


def check_evidence(words: Sequence[Any], evidence: Sequence[Any]) -> None:
    """The evidence is the strongest words. It is computed with 24 bits and they with 53, so ties may be told apart."""
    weights = {each["word"]: each["weight"] for each in words}
    assert len(evidence) == min(len(words), 5)
    assert [weights[each["word"]] for each in evidence] == pytest.approx([w["weight"] for w in evidence], abs=1e-6)
    assert [each["weight"] for each in words][:5] == pytest.approx([w["weight"] for w in evidence], abs=1e-6)


def test_of_two_likely_categories_words_speak_for_the_first_as_the_evidence_does(client: TestClient, job: str) -> None:
    n_compared = 0
    for document in listed(client, job):
        if len(document["likely"]) == 2:
            own = [each for each in read(client, job, document["key"])["words"]
                   if each["category"] == document["category"]]  # fmt: skip
            check_evidence([each for each in own if each["weight"] > 0], document["evidence"])
            n_compared += 1
    assert n_compared > 5


def test_a_labeled_document_is_of_the_category_of_its_label(client: TestClient, job: str, database: Database) -> None:
    with database.readers.begin() as session:
        key, label, text = session.execute(
            select(Document.key, Document.label, Document.text)
            .where(Document.label.is_not(None))
            .order_by(Document.key)
        ).first() or ("", "", "")
    told = read(client, job, key)
    assert (told["label"], told["name"], told["known"], told["text"]) == (label, label, True, text)
    assert (told["probability"], told["known_probability"], told["likely"], told["unsure"]) == (None, None, [], False)
    assert told["words"] and {each["category"] for each in told["words"]} == {told["category"]}
    check_evidence(told["words"], told["evidence"])


def test_words_speak_for_categories_as_they_are_shown(client: TestClient, job: str) -> None:
    """In a cut, and after decisions, words name the categories that are shown; a decision moves no word."""
    [first, *_] = [each for each in listed(client, job) if each["known"] is False]
    key, cut = first["key"], read(client, job, first["key"], categories=2)
    assert cut["words"] and {each["category"] for each in cut["words"]} <= categories_of(cut)
    known = client.get(f"{job}/categories").json()["categories"][0]
    decision = {"kind": "pin", "documents": [key], "category": known["id"]}
    made = client.post(f"{job}/decisions", json={"decisions": [decision]})
    assert made.status_code in (200, 201), made.text
    decided, undecided = read(client, job, key), read(client, job, key, decisions=False)
    assert (decided["category"], decided["probability"], decided["likely"]) == (known["category"], 1.0, [])
    assert decided["decision"] == 1 and undecided["decision"] is None
    assert decided["words"] == undecided["words"] != []
    aside = {"kind": "none", "documents": [key]}
    client.post(f"{job}/decisions", json={"decisions": [aside]})
    told = read(client, job, key)
    assert (told["category"], told["words"], told["spans"]) == (None, [], [])


@pytest.mark.parametrize("kind", ["sqlite"])
def test_joined_categories_speak_with_the_louder_voice(client: TestClient, job: str, database: Database) -> None:
    with database.readers.begin() as session:
        stored = session.scalars(select(FrozenModel)).one()
        model = OpenModels(2**30).get(session, stored)
        text = session.scalars(select(Document.text).where(Document.text != "")).first() or ""
    read_ = model.reader.read(text)
    weights = model.arrays.weights[read_.words].astype(float)
    category, ahead = loudest(weights, {0: 5, 1: 5, 2: 9})
    for row, shown, margin in zip(weights, category, ahead, strict=True):
        joined, other = max(row[0], row[1]), row[2]
        assert (shown, margin) == ((5, joined - other) if joined >= other else (9, other - joined))
    spoken = spoken_words(model, text, {0: 5, 1: 5, 2: 9}).words
    values = tf_idf(model.arrays, read_.words, read_.counts)
    expected = {model.reader.names[w]: a * v for w, a, v in zip(read_.words, ahead, values, strict=True)}
    assert {each.word: each.weight for each in spoken} == pytest.approx(expected, abs=1e-9)
    assert spoken_words(model, text, {}).words == []


@pytest.mark.parametrize("kind", ["sqlite"])
def test_words_and_places_are_limited(client: TestClient, job: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.frozen.spoken_words.MAX_WORDS", 2)
    monkeypatch.setattr("app.frozen.spoken_words.MAX_SPANS", 3)
    told = read(client, job, next(each["key"] for each in listed(client, job) if each["category"] is not None))
    assert len(told["words"]) == 2 and len(told["spans"]) <= 3
    assert {n for _, _, n in told["spans"]} <= {0, 1}


def test_an_erased_document_and_a_ready_bag_say_nothing(client: TestClient, job: str, database: Database) -> None:
    erased, bag, *_ = [each for each in listed(client, job) if each["category"] is not None]
    with database.sessions.begin() as session:
        of_key = update(Document).where(Document.key == erased["key"])
        session.execute(of_key.values(text="", fields=None, erased=True))
        of_key = update(Document).where(Document.key == bag["key"])
        session.execute(of_key.values(text='{"danube": 2}', is_counts=True))
    for key in (erased["key"], bag["key"]):
        told = read(client, job, key)
        assert told["category"] is not None and (told["words"], told["spans"]) == ([], [])
    assert read(client, job, erased["key"])["erased"]


def test_without_a_model_documents_are_read_without_words(client: TestClient, database: Database) -> None:
    given = [
        Given("a/b", category=0, probability=0.9),
        Given("export", category=2, probability=0.6),
        Given("labeled", label="optics", fields={"year": 2024}),
        Given("nothing"),
        Given("Ü ?&#%", category=1, probability=0.7),
    ]
    job = add_job(database, given).job
    assert read(client, job, "a/b")["name"] == "astronomy"
    for key in ("a%2Fb", "nothing", "labeled", "%C3%9C%20%3F%26%23%25"):
        told = read(client, job, key)
        assert (told["words"], told["spans"], told["evidence"]) == (None, None, None)
    labeled = read(client, job, "labeled")
    assert (labeled["category"], labeled["name"], labeled["label"]) == (1, "optics", "optics")
    assert labeled["fields"] == {"year": 2024}
    assert client.get(f"{job}/documents/export").headers["content-type"].startswith("text/csv"), "the file"


def test_a_document_that_the_job_has_not_is_not_found(client: TestClient, database: Database) -> None:
    made = add_job(database, [Given("a", category=0, probability=0.9)])
    late = b'{"key": "late", "text": "came later"}\n'
    client.post(f"{made.corpus}/documents", content=late, headers={"Content-Type": "application/x-ndjson"})
    for key in ("b", "late", "a/a"):
        refused = client.get(f"{made.job}/documents/{key}")
        assert (refused.status_code, refused.json()["type"]) == (404, "urn:newfound:problem:document-not-found")
    live = add_job(database, [Given("a")], is_over=False).job
    assert client.get(f"{live}/documents/a").json()["type"].endswith("results-not-ready")


def test_the_document_is_that_of_the_version_of_the_job(client: TestClient, database: Database) -> None:
    made = add_job(database, [Given("a", category=0, probability=0.9)])
    client.patch(f"{made.corpus}/documents/a", json={"text": "another text", "label": "optics"})
    told = read(client, made.job, "a")
    assert (told["text"], told["label"], told["category"]) == ("text of a", None, 0)


def test_an_answered_document_has_no_label_though_its_row_bears_one(client: TestClient, database: Database) -> None:
    """So it is with the labels that a comparison of methods hides."""
    made = add_job(database, [Given("a", category=0, probability=0.9)])
    with database.sessions.begin() as session:
        session.execute(update(Document).where(Document.key == "a").values(label="optics"))
    told = read(client, made.job, "a")
    assert (told["label"], told["name"], told["probability"]) == (None, "astronomy", 0.9)


def test_a_labeled_document_whose_suggestion_was_accepted_is_of_the_suggested_category(
    client: TestClient, database: Database
) -> None:
    doubtful = Given("doubtful", label="optics", quality=0.1, suggested=0, probability=0.8)
    made = add_job(database, [Given("a", category=0, probability=0.9), doubtful])
    accept = {"kind": "accept", "documents": ["doubtful"]}
    answer = client.post(f"{made.job}/decisions", json={"decisions": [accept]})
    assert answer.status_code in (200, 201), answer.text
    told, before = read(client, made.job, "doubtful"), read(client, made.job, "doubtful", decisions=False)
    assert (told["label"], told["name"], told["probability"], told["decision"]) == ("optics", "astronomy", 1.0, 1)
    assert (before["label"], before["name"], before["probability"], before["decision"]) == (
        "optics",
        "optics",
        None,
        None,
    )
