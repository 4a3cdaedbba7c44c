"""Which documents a person is asked about: the choice by itself, and over HTTP on both databases."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select, update
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.tables import Answer, Category, Document, Job
from app.review.triage import Answered, Candidate, CategorySize, Doubted, Found, candidates, choose, settles
from tests.app import rows
from tests.app.http.answered_jobs import Given, Made, add_job

N_KNOWN, N_CATEGORIES = 3, 6
DOUBTS = {0: "astronomy", 1: "optics"}


@st.composite
def one_candidate(draw: st.DrawFn) -> Candidate:
    """Any candidate there can be."""
    category = draw(st.integers(0, N_CATEGORIES - 1))
    why = draw(st.sampled_from(["unsure", "edge", "label"] if category < N_KNOWN else ["unsure", "representative"]))
    probability = draw(st.floats(0.01, 1.0))
    return Candidate(
        document=draw(st.integers(0, 60)),
        text=draw(st.integers(0, 20)),
        why=why,  # type: ignore[arg-type]
        category=category,
        is_known=category < N_KNOWN,
        other=draw(st.integers(0, N_CATEGORIES - 1)),
        probability=probability,
        other_probability=draw(st.floats(0.0, probability)),
        documents=draw(st.integers(1, 1_000)),
    )


ANY = st.lists(one_candidate(), max_size=60, unique_by=lambda each: (each.document, each.why))


@given(ANY, st.integers(1, 70), st.randoms())
def test_the_choice_does_not_depend_on_the_order_in_which_documents_are_offered(
    offered: list[Candidate], budget: int, dice: Any
) -> None:
    chosen = choose(offered, budget)
    dice.shuffle(offered)
    assert choose(offered, budget) == chosen


@given(ANY, st.integers(1, 70))
def test_each_text_is_chosen_once_until_the_budget_is_spent_or_none_is_left(
    offered: list[Candidate], budget: int
) -> None:
    chosen = choose(offered, budget)
    assert len({each.text for each in chosen}) == len(chosen)
    assert len(chosen) == min(budget, len({each.text for each in offered}))


@given(ANY, st.integers(1, 70))
def test_a_smaller_budget_has_the_first_documents_of_a_larger_one(offered: list[Candidate], budget: int) -> None:
    assert choose(offered, budget) == choose(offered, 70)[:budget]


def unsure(document: int, category: int, other: int | None, probability: float) -> Candidate:
    """An unsure document; its runner-up has the rest of the probability."""
    return Candidate(
        document, document, "unsure", category, category < N_KNOWN, other, probability, 1.0 - probability, 100
    )


def test_known_and_new_categories_have_the_same_number_of_documents_while_both_have_some() -> None:
    offered = [unsure(n, 0, 1, 0.5) for n in range(100)] + [unsure(100 + n, 4, 5, 0.9) for n in range(100)]
    assert Counter(each.is_known for each in choose(offered, 30)) == {True: 15, False: 15}
    assert Counter(each.is_known for each in choose(offered[:105], 30)) == {True: 25, False: 5}


def test_no_category_gets_all_though_its_documents_are_the_least_sure() -> None:
    offered = [unsure(100 * k + n, k, (k + 1) % N_KNOWN, 0.5 + 0.1 * k) for k in range(N_KNOWN) for n in range(50)]
    of_each = Counter(each.category for each in choose(offered, 30))
    assert min(of_each.values()) >= 4
    assert of_each[0] == max(of_each.values())


def test_of_documents_between_the_same_two_categories_the_closest_call_comes_first() -> None:
    chosen = choose([unsure(1, 0, 1, 0.9), unsure(2, 0, 1, 0.55), unsure(3, 0, 1, 0.7)], 3)
    assert [each.document for each in chosen] == [2, 3, 1]


def test_a_decision_that_speaks_for_more_documents_comes_first() -> None:
    few, many = unsure(1, 0, 1, 0.6)._replace(documents=4), unsure(2, 1, 2, 0.6)._replace(documents=400)
    assert [each.document for each in choose([few, many], 2)] == [2, 1]


def found(**fields: Any) -> Found:
    """What candidates are made of: two known categories and a new one, and nothing else unless it is given."""
    sizes = {0: CategorySize(True, 10), 1: CategorySize(True, 20), 2: CategorySize(False, 203)}
    nothing = {"unsure": [], "edge": [], "representative": [], "doubted": [], "unsure_pairs": {}, "label_pairs": {}}
    return Found(**{"categories": sizes, **nothing, **fields})


def test_a_decision_speaks_for_the_unsure_documents_between_the_same_two_categories_whichever_comes_first() -> None:
    answered = Answered(5, 5, 0, 0.4, 1, 0.3)
    [each] = candidates(found(unsure=[answered], unsure_pairs={(0, 1): 4, (1, 0): 3, (0, 2): 9}))
    assert (each.why, each.documents) == ("unsure", 7)
    assert settles(each, "astronomy", "optics") == "astronomy or optics"


def test_a_decision_about_a_representative_speaks_for_its_category() -> None:
    [each] = candidates(found(representative=[Answered(5, 4, 2, 0.9, None, 0.0)]))
    assert (each.text, each.is_known, each.documents) == (4, False, 203)
    assert settles(each, '"new 4: pin, change"', None) == (
        'whether "new 4: pin, change" is a category of its own: it stands for 203 documents'
    )


@pytest.mark.parametrize("alike, sentence", [(12, "12 labels look the same way"), (1, "no other label does")])
def test_a_decision_about_a_label_speaks_for_those_that_look_the_same_way(alike: int, sentence: str) -> None:
    doubted = Doubted(5, 1, 0.1, 0, 0.8)
    [each] = candidates(found(doubted=[doubted], label_pairs={(1, 0): alike, (0, 1): 99}))
    assert (each.is_known, each.documents) == (True, alike)
    assert settles(each, "optics", "astronomy") == f"the label optics, which looks like astronomy: {sentence}"


def test_without_a_second_choice_there_is_nothing_to_be_unsure_of() -> None:
    assert not list(candidates(found(unsure=[Answered(5, 5, 0, 0.4, None, 0.0)])))


DOCUMENTS = [
    *(Given(f"a{n}", category=0, probability=0.3 + 0.01 * n, known_probability=0.9) for n in range(6)),
    *(Given(f"n{n}", category=2, probability=0.95, known_probability=0.01) for n in range(6)),
    Given("nothing"),
    Given("wrong", label="optics", quality=0.1, suggested=0, probability=0.8),
    Given("also wrong", label="optics", quality=0.2, suggested=0, probability=0.7),
    Given("right", label="optics", quality=0.9),
]


def reviewed(database: Database) -> Made:
    """A job over DOCUMENTS: a* between astronomy and optics, n* in the new category, three of which stand for it."""
    made = add_job(database, DOCUMENTS)
    job_id = made.job.rpartition("/")[2]
    with database.sessions.begin() as session:
        of_job = (Answer.job_id == job_id, Answer.edition == 1)
        second = {"runner_up": 1, "runner_up_probability": 0.25}
        session.execute(update(Answer).where(*of_job, Answer.category == 0).values(**second))
        category = session.get_one(Category, (job_id, 1, 2))
        category.n_documents, category.portrait = 6, {"representative": ["n0", "n1", "n2"], "edge": ["n5"]}
        known = session.get_one(Category, (job_id, 1, 0))
        known.n_documents, known.portrait = 6, {"representative": ["a5"], "edge": ["a4"]}
    return made


def keys(answer: Any) -> list[str]:
    """The keys of the documents of an answer."""
    return [each["key"] for each in answer.json()["documents"]]


def test_the_documents_come_with_their_texts_and_what_a_decision_would_settle(
    client: TestClient, database: Database
) -> None:
    answer = client.get(f"{reviewed(database).job}/triage")
    assert answer.status_code == 200
    body = answer.json()
    assert body["found"] == {"unsure": 6, "edge": 2, "label": 2, "representative": 3}
    by_key = {each["key"]: each for each in body["documents"]}
    assert len(by_key) == len(body["documents"]), "one that is of two kinds is there once"
    assert set(by_key) == {*(f"a{n}" for n in range(6)), "n0", "n1", "n2", "wrong", "also wrong"}
    assert by_key["n0"] == {
        "key": "n0",
        "text": "text of n0",
        "shortened": False,
        "label": None,
        "category": 2,
        "name": "new 1",
        "known": False,
        "probability": 0.95,
        "runner_up": None,
        "why": "representative",
        "settles": 'whether "new 1" is a category of its own: it stands for 6 documents',
        "documents": 6,
    }
    assert by_key["wrong"] == {
        "key": "wrong",
        "text": "text of wrong",
        "shortened": False,
        "label": "optics",
        "category": 1,
        "name": "optics",
        "known": True,
        "probability": 0.1,
        "runner_up": {"category": 0, "name": "astronomy", "probability": 0.8},
        "why": "label",
        "settles": "the label optics, which looks like astronomy: 2 labels look the same way",
        "documents": 2,
    }
    assert (by_key["a0"]["settles"], by_key["a0"]["documents"]) == ("astronomy or optics", 6)


def test_a_budget_and_keys_to_be_skipped_are_kept_to(client: TestClient, database: Database) -> None:
    triage = f"{reviewed(database).job}/triage"
    everything = keys(client.get(triage))
    assert keys(client.get(triage, params={"budget": 4})) == everything[:4]
    skipped = ["n0", "wrong", "a0", "not there"]
    assert set(keys(client.get(triage, params={"skip": skipped}))) == set(everything) - set(skipped)


def test_one_of_two_copies_is_asked_about_and_none_whose_text_was_erased(
    client: TestClient, database: Database
) -> None:
    made = reviewed(database)
    with database.sessions.begin() as session:
        ids = dict(session.execute(select(Document.key, Document.id)).all())
        session.execute(update(Answer).where(Answer.document_id == ids["a1"]).values(copy_of=ids["a0"]))
        session.execute(update(Document).where(Document.key == "n1").values(erased=True, text=""))
    found = keys(client.get(f"{made.job}/triage"))
    assert len({"a0", "a1"} & set(found)) == 1
    assert "n1" not in found and {"n0", "n2"} <= set(found)


def test_a_long_text_is_shortened(client: TestClient, database: Database) -> None:
    made = reviewed(database)
    with database.sessions.begin() as session:
        session.execute(update(Document).where(Document.key == "n0").values(text="x" * 501))
    [long] = [each for each in client.get(f"{made.job}/triage").json()["documents"] if each["key"] == "n0"]
    assert (long["text"], long["shortened"]) == ("x" * 500, True)


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_job_without_portraits_and_doubts_asks_about_its_unsure_answers(
    client: TestClient, database: Database
) -> None:
    job_id, _ = rows.submit(database)
    assert client.get(f"/v1/jobs/{job_id}/triage").json()["type"] == "urn:newfound:problem:results-not-ready"
    rows.add_results(database, job_id)
    rows.end(database, job_id)
    body = client.get(f"/v1/jobs/{job_id}/triage").json()
    assert {each["why"] for each in body["documents"]} == {"unsure"}
    assert body["found"] == {"unsure": 0, "edge": 0, "label": 0, "representative": 0}
    assert len(body["documents"]) == 4, "the least probable ones, though none is below one half"
    assert client.get(f"/v1/jobs/{rows.CORPUS}/triage").status_code == 404
    for wrong in ("budget=0", "budget=501", "buget=5", "skip=%00"):
        assert client.get(f"/v1/jobs/{job_id}/triage?{wrong}").status_code == 422


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_method_without_probabilities_asks_what_its_new_categories_are(
    client: TestClient, database: Database
) -> None:
    job = add_job(database, [Given(f"document-{n}", category=2) for n in range(4)])
    portrait = {"representative": ["document-1"], "edge": [], "size_interval_90": None, "nearest": None}
    ranked = {"by_probability": [], "by_lift": []}
    with database.sessions.begin() as session:
        session.execute(update(Category).where(Category.category == 2).values(portrait={**portrait, **ranked}))
    answer = client.get(f"{job.job}/triage")
    assert answer.status_code == 200
    [asked] = answer.json()["documents"]
    assert (asked["key"], asked["why"], asked["probability"], asked["runner_up"]) == (
        "document-1", "representative", None, None,
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["sqlite"])
def test_an_answer_of_another_edition_is_nobodys_question(client: TestClient, database: Database) -> None:
    made = reviewed(database)
    with database.sessions.begin() as session:
        session.execute(update(Job).values(edition=2))
        session.execute(update(Category).values(edition=2))
    body = client.get(f"{made.job}/triage").json()
    assert {each["category"] for each in body["documents"]} <= {1, 3}, "what the answers of edition 2 say"
