"""The view of one document: its text with the words that speak, and what was decided about it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some
from starlette.testclient import TestClient

from app.core.db import Database
from app.page.filters import document_address
from app.page.tints import N_TINTS, pieces, speaking, strength_of, tint_of
from tests.app.http.answered_jobs import Given, Made, add_job
from tests.app.page.views import EVIL, view
from tests.app.rows import CORPUS, add_results, submit, succeed

KEYS = ("plain", "a/b", "a b?c#d", "x/../y", "ü/", EVIL)
NAMES = {0: "astronomy", 3: "new 2", 5: "new 1"}


@pytest.fixture
def made(database: Database) -> Made:
    """A job over documents with all kinds of keys."""
    return add_job(
        database,
        [
            *(Given(key, category=n % 4, probability=0.75, known_probability=0.5) for n, key in enumerate(KEYS)),
            Given("nowhere"),
            Given("taught", label="optics", quality=0.2),
        ],
    )


def spoken(**others: Any) -> dict[str, Any]:
    """A document whose words speak."""
    return {
        "text": "Plasma & <b>gas</b>: plasma",
        "likely": [{"category": 3, "name": "new 2"}, {"category": 0, "name": "astronomy"}],
        "words": [
            {"word": "plasma", "category": 3, "weight": 2.0},
            {"word": "gas", "category": 0, "weight": 0.6},
            {"word": "b", "category": 0, "weight": 0.0},
        ],
        "spans": [(0, 6, 0), (10, 11, 2), (12, 15, 1), (21, 27, 0)],
        **others,
    }


def test_words_have_the_tint_of_the_category_that_they_speak_for() -> None:
    told = [(piece.text, piece.tint, piece.strength) for piece in pieces(spoken(), NAMES)]
    assert told == [("Plasma", 1, 3), (" & <b>", 0, 0), ("gas", 2, 2), ("</b>: ", 0, 0), ("plasma", 1, 3)]
    assert [(each.tint, each.name, each.words) for each in speaking(spoken(), NAMES)] == [
        (1, "new 2", ["plasma"]),
        (2, "astronomy", ["gas"]),
    ]


def test_words_of_a_document_without_likely_categories_have_tints_in_their_order() -> None:
    assert tint_of(spoken(likely=[])) == {3: 1, 0: 2}
    assert tint_of(spoken(likely=[], words=None)) == {}
    assert [each.text for each in pieces(spoken(words=None, spans=None), NAMES)] == [spoken()["text"]]
    many = spoken(likely=[{"category": n, "name": str(n)} for n in range(9)])
    assert set(tint_of(many).values()) == set(range(1, N_TINTS + 1))


@given(
    text=some.text(max_size=60),
    spans=some.lists(some.tuples(some.integers(0, 60), some.integers(0, 60), some.integers(0, 2)), max_size=12),
    weights=some.lists(some.floats(0, 9), min_size=3, max_size=3),
)
def test_the_pieces_of_a_text_together_are_the_text_whatever_overlaps(
    text: str, spans: list[tuple[int, int, int]], weights: list[float]
) -> None:
    inside = sorted((min(start, end, len(text)), min(max(start, end), len(text)), n) for start, end, n in spans)
    words = [{"word": "w", "category": n, "weight": weight} for n, weight in enumerate(weights)]
    found = spoken(text=text, spans=inside, words=words)
    assert "".join(piece.text for piece in pieces(found, NAMES)) == text


def test_a_word_is_shown_the_more_strongly_the_more_it_speaks() -> None:
    assert [strength_of(weight, 2.0) for weight in (0.0, 0.1, 0.2, 0.6, 1.3, 2.0)] == [0, 0, 1, 2, 3, 3]
    assert strength_of(0.0, 0.0) == 0


def test_a_document_is_found_whatever_its_key_has(client: TestClient, made: Made) -> None:
    at = f"{made.job.removeprefix('/v1')}/documents"
    links = {link.attributes["href"] for link in view(client, at).one("tbody").all("a")}
    for n, key in enumerate(KEYS):
        assert document_address(at, key) in links
        seen = view(client, document_address(at, key))
        assert seen.one("article").attributes["data-key"] == key
        assert seen.one("div", class_="whole-text").raw == f"text of {key}"
        assert seen.one("h2", class_="sentence").text.startswith(("astronomy", "optics", "new 1", "new 2")[n % 4])


def test_a_document_says_what_the_api_says_of_it(client: TestClient, made: Made) -> None:
    at = f"{made.job.removeprefix('/v1')}/documents"
    facts = view(client, f"{at}/plain").one("dl", class_="facts")
    assert [(fact.one("dt").text, fact.one("dd").text) for fact in facts.all("div")] == [
        ("Probability of this category", "75.0 %"),
        ("Of any known category", "50.0 %"),
    ]
    nowhere = view(client, f"{at}/nowhere")
    assert nowhere.one("h2", class_="sentence").text == "No category"
    labels = [button.text for button in nowhere.one("section", class_="decide").all("button")]
    assert labels == ["No category", "Pin to it", "Make it"], "there is nothing to accept"
    taught = view(client, f"{at}/taught")
    assert "labeled optics" in taught.one("article").text
    view(client, f"{at}/unheard-of", 404)


def test_a_model_without_probabilities_and_topics_has_documents_all_the_same(
    client: TestClient, database: Database
) -> None:
    job_id, unit_ids = submit(database, model="dpgm")
    succeed(database, job_id, unit_ids)
    add_results(database, job_id, CORPUS)
    assert len(list(view(client, f"/jobs/{job_id}/documents").one("tbody").all("tr"))) == 5
    for n in range(1, 6):
        assert view(client, f"/jobs/{job_id}/documents/document-{n}").one("div", class_="whole-text").raw == f"text {n}"
    view(client, f"/jobs/{job_id}/review")


def test_a_document_tells_what_was_decided_about_it(client: TestClient, made: Made) -> None:
    told = client.post(
        f"{made.job}/decisions",
        json={
            "author": EVIL,
            "decisions": [
                {"kind": "pin", "documents": ["plain"], "category": "optics", "note": EVIL},
                {"kind": "none", "documents": ["a/b"]},
                {"kind": "undo", "decision": 1},
                {"kind": "pin", "documents": ["plain"], "new_category": "fusion"},
            ],
        },
    )
    assert told.status_code == 201, told.text
    seen = view(client, f"{made.job.removeprefix('/v1')}/documents/plain")
    assert "decided" in seen.one("h2", class_="sentence").text
    lines = [line.one("span", class_="decision-words").text for line in seen.one("ol", class_="decisions").all("li")]
    assert lines == ["Pinned to a category of its own, fusion", "Took back decision 1", "Pinned to optics"]
    assert EVIL in seen.one("ol", class_="decisions").text
    forms = [form.attributes for form in seen.all("form")]
    undo = [each["data-json"] for each in forms if each.get("data-decision") == "undo"]
    assert undo == ['{"decision": 4}', '{"decision": 3}']
