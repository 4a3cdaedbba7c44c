"""A preview of texts over HTTP, on both databases."""

# ruff: noqa: RUF001  # Chinese has commas of its own

import json
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.forecasts import advice
from sampler.text import TextOptions, encode

NOBODY = "99999999-2222-4333-8444-555555555555"
SENTENCE = "the galaxies and the plasma of our solar neighbourhood were seen by telescopes in the night"
ANIMALS = "asp emu gnu ibex kiwi lynx okapi owl yak zebra ant bee"


def corpus(client: TestClient, texts: list[str], label: str | None = None) -> str:
    """The address of a corpus of these documents, every other one labeled."""
    made = client.post("/v1/corpora", json={"name": "corpus"}).headers["Location"]
    rows = [{"key": f"d{n:04}", "text": text, "label": label if n % 2 else None} for n, text in enumerate(texts)]
    content = "\n".join(map(json.dumps, rows)).encode()
    headers = {"Content-Type": "application/x-ndjson"}
    if rows:
        assert client.post(f"{made}/documents", content=content, headers=headers).status_code == 200
    return str(made)


def previewed(client: TestClient, address: str, **body: Any) -> Any:
    """What the service answers."""
    answer = client.post(f"{address}/preview", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_preview_of_a_small_corpus_is_what_a_job_would_make_of_it(client: TestClient) -> None:
    texts = [f"{SENTENCE} {ANIMALS} word{n % 3}" for n in range(30)]
    found = previewed(client, corpus(client, texts, "x"), text={"min_document_frequency": 10}, documents=3)
    expected = encode(texts, [None] * 30, TextOptions(min_document_frequency=10))
    assert found["vocabulary"] == len(expected.vocabulary)
    assert (found["corpus_documents"], found["sampled_documents"], found["empty"]) == (30, 30, 0)
    assert (found["language"], found["stop_words"], found["stemming"]) == ("en", ["en"], None)
    assert [document["key"] for document in found["documents"]] == ["d0000", "d0010", "d0020"]
    first = found["documents"][0]
    assert first["text"] == texts[0][:200]
    assert first["tokens"] == [expected.vocabulary[w] for w in expected.corpus.words[: expected.corpus.offsets[1]]]
    assert first["n_tokens"] == expected.corpus.offsets[1] == found["tokens_per_document"]["median"]
    assert {"word": "the", "count": 90, "reason": "stop word"} in found["dropped_words"]
    assert {"word": "plasma", "count": 30} in found["top_words"]
    assert found["scripts"] == [{"script": "Latin", "share": 1.0}]
    assert found["languages"] == [{"language": "en", "share": 1.0}]
    assert found["copies"] == 27 and found["distinct_texts"] == 3
    assert "The language of most texts is en; the stop words of en are left out." in found["warnings"]


def test_words_that_are_dropped_say_why(client: TestClient) -> None:
    texts = [f"{SENTENCE} {ANIMALS} q rare{n} {'z' * 120}" for n in range(10)]
    options = {"min_document_frequency": 2, "max_document_frequency": 0.9, "stop_words": "none"}
    found = previewed(client, corpus(client, texts), text=options)
    why = {dropped["word"]: dropped["reason"] for dropped in found["dropped_words"]}
    assert why["plasma"] == "in too many documents"
    few = previewed(client, corpus(client, ["q rare"] + [f"{'z' * 120} x"] * 3), text=options)
    assert {dropped["word"]: dropped["reason"] for dropped in few["dropped_words"]} == {
        "q": "too short",
        "x": "too short",
        "z" * 120: "too long",
        "rare": "in too few documents",
    }


@pytest.mark.parametrize(
    ("texts", "options", "warning"),
    [
        ([], {}, "The corpus has no documents: upload some first."),
        (
            [f"<p>{ANIMALS}</p>"] * 2 + [ANIMALS] * 18,
            {},
            '10 % of the sampled documents look like HTML: set text.markup to ["html"].',
        ),
        (
            [f"From: a\nTo: b\n\n<p>{ANIMALS}</p>"] * 20,
            {"markup": ["html"]},
            "100 % of the sampled documents look like mail with headers, quotes or signatures: "
            'set text.markup to ["html", "mail"].',
        ),
        (
            ["gnu ibex"] * 10,
            {},
            "Most documents keep fewer than 5 words, and short texts are told apart less well: lower "
            "text.min_document_frequency (now 5) or text.min_word_length (now 2).",
        ),
        (
            [ANIMALS] * 9 + ["the"],
            {"stop_words": "en"},
            "10 % of the sampled documents keep no word: lower text.min_document_frequency (now 5) or "
            "text.min_word_length (now 2), or set text.stop_words to auto.",
        ),
        (
            [f"see http://x.org {ANIMALS}"] * 10,
            {},
            "100 % of the sampled documents have URLs: set text.urls to drop or join.",
        ),
        (
            ["Der Hund und die Katze sind in dem Haus und das ist auch für uns so, wie wir es sehen"] * 3
            + [f"{SENTENCE} {ANIMALS}"] * 7,
            {},
            'Some sampled documents are in other languages: de (30 %); set text.stop_words to ["en", "de"].',
        ),
        (
            ["机器学习是人工智能的一个分支，研究算法如何从数据中学习。"] * 10,
            {},
            "100 % of the words are in scripts without spaces and are cut into pieces of 2 characters: set "
            "text.character_ngrams to none if they are segmented already.",
        ),
        (
            ["what is my balance"] * 10,
            {},
            "The language of most texts is en; the texts are so short that stop words are kept: name a language in "
            "text.stop_words to drop them.",
        ),
        ([ANIMALS] * 10, {}, "90 % of the documents are copies of others; copies count as one text."),
    ],
)
def test_warnings_say_what_to_do(client: TestClient, texts: list[str], options: dict[str, Any], warning: str) -> None:
    assert warning in previewed(client, corpus(client, texts), text=options)["warnings"]


@pytest.mark.parametrize("kind", ["sqlite"])
def test_an_ordinary_corpus_has_no_warning_but_its_language(client: TestClient) -> None:
    texts = [f"{SENTENCE} {ANIMALS} n{n}" for n in range(10)]
    assert previewed(client, corpus(client, texts))["warnings"] == [
        "The language of most texts is en; the stop words of en are left out."
    ]


@pytest.mark.parametrize("kind", ["sqlite"])
@pytest.mark.parametrize(
    ("text", "where"),
    [
        ({"min_document_frequency": 1.5}, "body.text.min_document_frequency"),
        ({"max_document_frequency": 0}, "body.text.max_document_frequency"),
        ({"min_document_frequency": 5, "max_document_frequency": 4}, "body.text"),
        ({"stop_words": ["en", "xx"]}, "body.text.stop_words"),
        ({"stop_words": ["en", 1]}, "body.text.stop_words"),
        ({"character_ngrams": 4}, "body.text.character_ngrams"),
        ({"markup": ["rtf"]}, "body.text.markup.0"),
        ({"urls": "hide"}, "body.text.urls"),
        ({"language": "tlh"}, "body.text.language"),
        ({"stemming": "xx"}, "body.text.stemming"),
        ({"stem": "en"}, "body.text.stem"),
    ],
)
def test_options_outside_their_limits_are_a_422_that_says_where(
    client: TestClient, text: dict[str, Any], where: str
) -> None:
    answer = client.post(f"/v1/corpora/{NOBODY}/preview", json={"text": text})
    assert (answer.status_code, answer.headers["Content-Type"]) == (422, "application/problem+json")
    assert [error["where"] for error in answer.json()["errors"]] == [where]


@pytest.mark.parametrize("kind", ["sqlite"])
def test_one_as_a_share_is_all_documents_and_as_a_number_one(client: TestClient) -> None:
    address = corpus(client, ["common gnu", "common ibex"])
    for written, n_words in (("1", 3), ("1.0", 1), ("2.0", 1), ("0.5", 3)):
        body = f'{{"text": {{"stop_words": "none", "min_document_frequency": {written}}}}}'
        answer = client.post(f"{address}/preview", content=body, headers={"Content-Type": "application/json"})
        assert answer.json()["vocabulary"] == n_words, written


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_corpus_that_is_not_there_has_no_preview(client: TestClient) -> None:
    for corpus_id in (NOBODY, "nonsense"):
        assert client.post(f"/v1/corpora/{corpus_id}/preview", json={}).status_code == 404


def test_shares_are_written_as_people_do() -> None:
    assert [advice.percent(share) for share in (0.001, 0.01, 0.125, 1.0)] == ["less than 1 %", "1 %", "12 %", "100 %"]
