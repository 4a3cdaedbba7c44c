"""The vocabulary under each option, against words that are counted by hand or in another way."""

# ruff: noqa: RUF001  # letters that look like others are what this is about

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import booleans, lists, sampled_from, tuples

from sampler.copies import find_copies
from sampler.corpus import UNLABELED, fingerprint
from sampler.text import Encoded, Text, TextFacts, TextOptions, encode, has_usable_word, stemming

ALL = {"stop_words": "none", "min_word_length": 1, "min_document_frequency": 1}


def encoded(texts: list[Text], **options: Any) -> Encoded:
    """Unlabeled documents under options that leave every word unless they say otherwise."""
    return encode(texts, [None] * len(texts), TextOptions(**ALL | options))


def words_of_documents(found: Encoded) -> list[list[str]]:
    """The words that are left of each document, in order."""
    ends = found.corpus.offsets
    return [[found.vocabulary[w] for w in found.corpus.words[start:end]] for start, end in pairwise(ends)]


@pytest.mark.parametrize(
    ("options", "vocabulary"),
    [
        ({"min_document_frequency": 2}, ["all", "three", "two"]),
        ({"min_document_frequency": 0.5}, ["all", "three", "two"]),
        ({"min_document_frequency": 0.51}, ["all", "three"]),
        ({"min_document_frequency": 1}, ["all", "one", "three", "two"]),
        ({"min_document_frequency": 1.0}, ["all"]),
        ({"max_document_frequency": 3}, ["one", "three", "two"]),
        ({"max_document_frequency": 0.75}, ["one", "three", "two"]),
        ({"max_document_frequency": 0.74}, ["one", "two"]),
        ({"max_document_frequency": 1.0}, ["all", "one", "three", "two"]),
        ({"min_document_frequency": 0.5, "max_document_frequency": 3}, ["three", "two"]),
    ],
)
def test_a_word_is_in_so_many_documents_or_in_such_a_share_of_them(
    options: dict[str, Any], vocabulary: list[str]
) -> None:
    texts: list[Text] = ["all all one two three", "all two three", "all three", "all"]
    assert encoded(texts, **options).vocabulary == vocabulary


def test_shares_are_exact() -> None:
    texts: list[Text] = [f"w{d} {'often' if d < 7 else ''}" for d in range(100)]
    assert "often" in encoded(texts, min_document_frequency=0.07).vocabulary  # 0.07 * 100 is above 7 in floats
    assert "often" in encoded(texts, max_document_frequency=0.07).vocabulary


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"min_word_length": 3}, ["long", "나", "中", "ไท", "ทย"]),
        ({"max_word_length": 1}, ["x", "나", "中"]),
        ({"max_word_length": 3}, ["x", "ab", "나", "中", "ไท", "ทย"]),
    ],
)
def test_lengths_count_characters_but_not_of_scripts_whose_characters_are_words(
    options: dict[str, Any], words: list[str]
) -> None:
    assert words_of_documents(encoded(["x ab long 나 中 ไทย"], **options)) == [words]


def test_sequences_of_words_are_words_once_stop_words_are_out() -> None:
    texts: list[Text] = ["state of the art methods", "the state art of methods", "art state"]
    found = encoded(texts, word_ngrams=3, extra_stop_words=("of", "the"), min_document_frequency=2)
    assert words_of_documents(found) == [
        ["state", "art", "methods", "state art", "art methods", "state art methods"],
        ["state", "art", "methods", "state art", "art methods", "state art methods"],
        ["art", "state"],
    ]


@given(lists(lists(sampled_from("abcd"), max_size=6), max_size=6), sampled_from([1, 2, 3]), sampled_from([1, 2, 3]))
def test_sequences_are_those_of_a_count_by_hand(documents: list[list[str]], longest: int, least: int) -> None:
    sequences = [
        [" ".join(words[i : i + n]) for n in range(1, longest + 1) for i in range(len(words) - n + 1)]
        for words in documents
    ]
    frequency = Counter(sequence for found in sequences for sequence in set(found))
    expected = [sorted(sequence for sequence in found if frequency[sequence] >= least) for found in sequences]
    texts: list[Text] = [" ".join(words) for words in documents]
    found = encoded(texts, word_ngrams=longest, min_document_frequency=least)
    assert [sorted(words) for words in words_of_documents(found)] == expected
    assert found.vocabulary == sorted(word for word, n in frequency.items() if n >= least)


def test_a_sequence_may_be_rare_enough_though_its_words_are_not() -> None:
    texts: list[Text] = ["new york", "york new", "new york"]
    assert encoded(texts, word_ngrams=2, max_document_frequency=2).vocabulary == ["new york", "york new"]


def test_greek_with_and_without_accents_is_one_word_shown_as_most_often() -> None:
    found = encoded(["Ο λόγος", "ΛΟΓΟΣ λόγος", "ΛΌΓΟΣ ΛΟΓΟΣ Ϊ"], min_document_frequency=3)
    assert words_of_documents(found) == [["λόγος"], ["λόγος"] * 2, ["λόγος"] * 2]
    assert encoded(["α άλφα αλφα"]).vocabulary == ["άλφα", "α"]  # of two equally frequent the first by code points


def test_words_with_a_stem_are_one_word_shown_as_most_often() -> None:
    texts: list[Text] = ["connection connected", "connections connection", "cats"]
    found = encoded(texts, stemming="en")
    assert words_of_documents(found) == [["connection"] * 2, ["connection"] * 2, ["cats"]]
    assert found.facts == TextFacts("en" if found.facts.language else None, (), "en")
    assert encoded(texts, stemming="en", min_document_frequency=2).vocabulary == ["connection"]


def test_stemming_follows_the_language_of_the_corpus() -> None:
    german = "Die Häuser stehen in der Stadt und das Haus ist auch in der Stadt, wo wir sind"
    found = encoded([german] * 5, stemming="auto", stop_words="auto", min_document_frequency=5)
    assert (found.facts.language, found.facts.stemming) == ("de", "de")
    assert ("haus" in found.vocabulary) != ("häuser" in found.vocabulary)
    assert encoded(["gnu ibex"], stemming="auto").facts.stemming is None


def test_stop_words_have_no_stem_in_common_with_other_words() -> None:
    texts: list[Text] = ["the have haves asp emu gnu ibex kiwi lynx okapi owl yak zebra"] * 5
    found = encoded(texts, stemming="en", stop_words="auto")
    assert found.facts.stop_words == ("en",)
    assert "haves" in found.vocabulary and "have" not in found.vocabulary


def test_order_changes_neither_stems_nor_sequences() -> None:
    rng = np.random.default_rng(61)
    pieces = ["connected", "connection", "λόγος", "ΛΟΓΟΣ", "中文字", "the", "cats", "cat"]
    texts: list[Text] = [" ".join(rng.choice(pieces, 8)) for _ in range(50)]
    options = {"stemming": "en", "word_ngrams": 2, "min_document_frequency": 3}
    straight, backward = encoded(texts, **options), encoded(texts[::-1], **options)
    assert straight.vocabulary == backward.vocabulary
    assert words_of_documents(straight) == words_of_documents(backward)[::-1]
    assert fingerprint(straight.corpus) == fingerprint(encoded(texts, **options).corpus)


def test_without_the_extra_a_stemmer_is_refused_with_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    stemming.can_stem.cache_clear()
    monkeypatch.setattr(stemming, "find_spec", lambda name: None)
    try:
        with pytest.raises(ValueError, match=r"needs the extra `stemming`: pip install 'newfound\[stemming\]'"):
            TextOptions(stemming="en")
    finally:
        stemming.can_stem.cache_clear()


@pytest.mark.parametrize("language", stemming.STEMMED_LANGUAGES)
def test_every_language_that_is_offered_has_a_stemmer(language: str) -> None:
    stem = stemming.stemmer(language)
    assert isinstance(stem("word"), str)


def test_words_of_a_ready_bag_are_taken_as_they_are() -> None:
    bag = {"The": 2, "x": 1, "New York": 1, "λόγος": 1, "λογος": 1, "42": 3, "none": 0}
    found = encode([bag, {"The": 1}], [None] * 2, TextOptions("en", ("x",), 3, 1, word_ngrams=2, stemming="en"))
    assert words_of_documents(found) == [["42", "42", "42", "New York", "The", "The", "x", "λογος", "λόγος"], ["The"]]
    frequent = encode([bag, {"The": 1}], [None] * 2, TextOptions(min_document_frequency=2))
    assert words_of_documents(frequent) == [["The", "The"], ["The"]]


def test_bags_and_texts_stand_side_by_side() -> None:
    texts: list[Text] = ["plasma of the sun", {"plasma": 1, "of": 2}, "plasma"]
    found = encode(texts, ["a", None, None], TextOptions("none", min_document_frequency=2), find_copies)
    assert words_of_documents(found) == [["plasma", "of"], ["of", "of", "plasma"], ["plasma"]]
    assert found.corpus.labels.tolist() == [0, UNLABELED, UNLABELED]


def test_copies_are_found_among_joined_forms() -> None:
    found = encode(["cats run", "cat runs", "dogs"], [None] * 3, TextOptions(**ALL | {"stemming": "en"}), find_copies)
    assert found.copy_of.tolist() == [0, 0, 2]


WRONG: list[dict[str, Any]] = [
    {"stop_words": ("en", "xx")},
    {"stop_words": ("auto",)},
    {"language": "xx"},
    {"stemming": "xx"},
    {"urls": "x"},
    {"numbers": "x"},
    {"markup": ("x",)},
    {"character_ngrams": 4},
    {"word_ngrams": 0},
    {"word_ngrams": 4},
    {"max_word_length": 1},
    {"min_document_frequency": 0.0},
    {"min_document_frequency": 1.5},
    {"max_document_frequency": 0},
    {"max_document_frequency": 4},
    {"max_document_frequency": float("nan")},
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_options_outside_their_limits_are_refused_by_name(wrong: dict[str, Any]) -> None:
    (name, _), *_ = wrong.items()
    with pytest.raises(ValueError, match=f"^{name} = "):
        TextOptions(**wrong)


def test_lists_may_come_as_json_has_them() -> None:
    given_options = {"stop_words": ["en", "de"], "extra_stop_words": ["x"], "markup": ["html"]}
    assert TextOptions(**given_options) == TextOptions(("en", "de"), ("x",), markup=("html",))
    assert hash(TextOptions(**given_options)) == hash(TextOptions(("en", "de"), ("x",), markup=("html",)))


WORDS = ["The", "it's", "a1", "gnu", "Ibex", "yak's", "connected", "connection", "中文", "λόγος", "ΛΟΓΟΣ", "42", "x"]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"stop_words": "auto"},
    {"stop_words": "none", "stemming": "en"},
    {"stop_words": "none", "max_document_frequency": 0.5, "word_ngrams": 2},
    {"stop_words": "none", "max_document_frequency": 0.6, "min_document_frequency": 0.2},
    {"stop_words": "en", "min_document_frequency": 2, "min_word_length": 3},
    {"stop_words": "none", "numbers": "keep", "min_document_frequency": 3},
]


@given(
    lists(
        tuples(
            lists(sampled_from(WORDS), max_size=4).map(" ".join) | sampled_from([{"gnu": 1}, {"The": 2}]), booleans()
        )
    ),
    sampled_from(OPTIONS),
)
def test_has_usable_word_says_what_encoding_shows_under_all_options(
    documents: list[tuple[Text, bool]], options: dict[str, Any]
) -> None:
    chosen = TextOptions(**options)
    texts = [text for text, _ in documents]
    corpus = encode(texts, [None if is_unlabeled else "known" for _, is_unlabeled in documents], chosen).corpus
    expected = bool((corpus.lengths[corpus.labels == UNLABELED] > 0).any())
    assert has_usable_word(documents, chosen) == expected
