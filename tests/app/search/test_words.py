"""What a search means: the words and phrases that texts must and must not have."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.errors import MalformedRequest
from app.search.words import Search, folded, parsed, words


@pytest.mark.parametrize(
    ("written", "search"),
    [
        ("pin", Search((("pin",),))),
        ("Pin CARD pin", Search((("pin",), ("card",)))),
        ('pin "change of address" -card', Search((("pin",), ("change", "of", "address")), (("card",),))),
        ('-"lost card" pin', Search((("pin",),), (("lost", "card"),))),
        ('"an open phrase', Search((("an", "open", "phrase"),))),
        ("e-mail", Search((("e", "mail"),))),  # a hyphen within a word excludes nothing
        ("a -- b", Search((("a",), ("b",)))),
        ('Café "" … *', Search((("cafe",),))),
        ('pin"card"', Search((("pin",), ("card",)))),
        ("a OR b NEAR(c) text:d", Search((("a",), ("or",), ("b",), ("near", "c"), ("text", "d")))),
    ],
)
def test_a_search_is_words_phrases_and_what_must_not_occur(written: str, search: Search) -> None:
    assert parsed(written) == search


@pytest.mark.parametrize("written", ["", "  ", "-pin", '"', '""', "…", "\0", '-"lost card" -pin'])
def test_a_search_without_a_word_that_texts_must_have_is_refused_with_the_place(written: str) -> None:
    with pytest.raises(MalformedRequest) as refused:
        parsed(written)
    assert [error["where"] for error in refused.value.errors] == ["query.search"]


@pytest.mark.parametrize(
    ("written", "text", "is_found"),
    [
        ("pin", "Change my PIN, please", True),
        ("pin", "a spinning wheel", False),
        ("pin card", "pin", False),
        ('"change pin"', "change, pin", True),  # signs only separate words
        ('"change pin"', "change my pin", False),
        ('"change pin"', "exchange pin", False),
        ('"change pin"', "change pins", False),
        ("pin -card", "pin and card", False),
        ("pin -card", "pin and cards", True),
        ("naïve", "a naive text", True),
        ("naive", "nai\u0308ve", True),
        ("й", "и", False),  # another letter, not an accent
        ("snake", "snake_case", True),
    ],
)
def test_texts_are_found_by_whole_words(written: str, text: str, is_found: bool) -> None:
    assert parsed(written).matches(text) is is_found


@given(st.text(), st.text(max_size=5), st.data())
def test_a_text_is_found_by_any_run_of_its_words(before: str, after: str, data: st.DataObject) -> None:
    found = words(f"{before} word {after}")
    first = data.draw(st.integers(0, len(found) - 1))
    last = data.draw(st.integers(first, len(found) - 1))
    assert Search((tuple(found[first : last + 1]),)).matches(f"{before} word {after}")
    assert not Search((("word",),), (tuple(found[first : last + 1]),)).matches(f"{before} word {after}")


@given(st.text())
def test_folding_twice_is_folding_once(text: str) -> None:
    assert folded(folded(text)) == folded(text)
