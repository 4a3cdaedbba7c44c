"""Where words stand in texts of many scripts, beside the words that the same options read from the whole text."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.frozen.word_spans import Span, occurrences, spans_of
from sampler.text import Reader, TextFacts, TextOptions, tokenize


def reader_of(text: str, options: TextOptions, facts: TextFacts | None = None) -> Reader:
    """A reader that knows all words of a text."""
    [words] = tokenize([text], options)
    return Reader(sorted(set(words)), options, facts or TextFacts(None, (), None))


def found_in(text: str, **options: Any) -> tuple[list[str], list[str], list[str]]:
    """The words that the options read, those that have places, and what of the text stands there."""
    chosen = TextOptions(**options)
    [words], reader = tokenize([text], chosen), reader_of(text, chosen)
    spans = list(occurrences(text, reader))
    return words, [reader.names[word] for _, _, word in spans], [text[start:end] for start, end, _ in spans]


EXACT: dict[str, tuple[str, dict[str, Any]]] = {
    "English": ("Tokamak plasmas don't; it\u2019s the dog's, O'Brien's and 'quoted' foo_bar x-ray", {}),
    "signs that fold to more or fewer": ("Die Größe der STRASSE: naïve cafe\u0301 co\u00adope\u00adrate ﬁnal mc²", {}),
    "Chinese and Japanese": ("等离子体物理学。東京タワーの高さは333mです iPhone用户", {}),
    "longer pieces": ("等离子体物理学。iPhone用户", {"character_ngrams": 3}),
    "whole runs": ("等离子体物理学。iPhone用户", {"character_ngrams": "none"}),
    "Thai": ("สวัสดีครับ โลก", {}),
    "Hebrew and Arabic": ("שָׁלוֹם עולם كِتَاب كتــاب", {}),
    "Greek": ("ΛΟΓΟΣ λόγος Σίσυφος", {}),
    "Turkish by its letters": ("IŞIK \u0131l\u0131k İstanbul \u0131ğd\u0131r ISPARTA", {}),
    "Turkish that is said": ("DIR KIZ", {"language": "tr"}),
    "Korean and Hindi": ("한국어 텍스트 हिन्दी भाषा", {}),
    "addresses that are one word": ("See https://x.org/a, me@site.de or WWW.x.de now", {"urls": "join"}),
    "addresses that are dropped": ("See https://x.org/a, me@site.de or www.x.de now", {"urls": "drop"}),
    "numbers that are one word": ("In 1999, 10:30 and 12.5km 3d b2b", {"numbers": "join"}),
    "numbers": ("In 1999, 10:30 and 12.5km 3d b2b", {"numbers": "keep"}),
    "words of some lengths": ("a an the plasma", {"min_word_length": 3, "max_word_length": 5}),
    "stop words": ("the plasma and the laser", {"stop_words": "en"}),
}


@pytest.mark.parametrize("text, options", EXACT.values(), ids=EXACT)
def test_every_word_has_its_place(text: str, options: dict[str, Any]) -> None:
    words, placed, _ = found_in(text, **options)
    assert words and placed == words


def test_a_place_has_the_word_as_it_is_written() -> None:
    _, _, written = found_in("Die GRÖSSE (mm), cafe\u0301; 东京都!")
    assert written == ["Die", "GRÖSSE", "mm", "cafe\u0301", "东京", "京都"]


@given(
    text=st.text(st.sampled_from("ab'\u2019I12 ,.:@-\u00ad\u0301é東京ースสวשה"), max_size=30),
    numbers=st.sampled_from(["drop", "keep"]),
    ngrams=st.sampled_from([2, 3, "none"]),
)
def test_whatever_the_text_is_its_words_have_their_places_in_order(text: str, numbers: str, ngrams: Any) -> None:
    options = TextOptions(min_word_length=1, numbers=numbers, character_ngrams=ngrams)  # type: ignore[arg-type]
    [words], reader = tokenize([text], options), reader_of(text, options)
    spans = list(occurrences(text, reader))
    assert [reader.names[word] for _, _, word in spans] == words
    assert all(0 <= start < end <= len(text) for start, end, _ in spans)
    assert [span[0] for span in spans] == sorted(span[0] for span in spans)


def test_forms_of_a_word_are_places_of_it() -> None:
    options = TextOptions(stemming="en", min_document_frequency=1)
    reader = Reader(["plasma"], options, TextFacts("en", (), "en"))
    assert list(occurrences("Plasmas, a plasma", reader)) == [(0, 7, 0), (11, 17, 0)]


def test_only_so_many_places_of_words_that_are_wanted_are_given_with_their_numbers() -> None:
    reader = reader_of("red green blue", TextOptions())
    wanted = {reader.number_of["red"]: 7, reader.number_of["blue"]: 3}
    expected: list[Span] = [(0, 3, 7), (10, 14, 3), (15, 18, 7)]
    assert spans_of("red green blue red blue", reader, wanted, 3) == expected


def test_markup_is_no_hindrance() -> None:
    words, placed, written = found_in("<p>Hot <b>plasma</b> &amp; laser</p>", markup=("html",))
    assert placed == words == ["hot", "plasma", "laser"]
    assert written == ["Hot", "plasma", "laser"]
