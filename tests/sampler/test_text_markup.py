"""Markup taken out of texts, and recognized in them."""

from time import process_time

import pytest
from hypothesis import given
from hypothesis.strategies import lists, sampled_from, text

from sampler.text import MARKUPS, TextOptions, markup_of, tokenize

MAIL = """\
From: Ann <ann@x.org>
Subject: Re: Galaxies
Date: Mon, 1 Jan 2024
 10:00:00

Dear Bob,

On Monday, Bob wrote:
> Which galaxies?
>> None.
All of them.
--\x20
Ann, Observatory
"""


def words(given_text: str, *markup: str) -> list[str]:
    """The words of a text without its markup."""
    [found] = tokenize([given_text], TextOptions("none", (), 1, 1, markup=markup))
    return found


@pytest.mark.parametrize(
    ("given_text", "expected"),
    [
        ("<p>Hello <b>wor</b>ld</p><p>next", ["hello", "world", "next"]),
        ("one<br>two<td>three</td><TD>four", ["one", "two", "three", "four"]),
        ("a<script type='x'>var b = 1 < 2;</script>c<style>p {d: e}</style>f", ["a", "c", "f"]),
        ("a<!-- b -->c<!DOCTYPE html><?php d ?>e<![CDATA[f]]>", ["a", "c", "e"]),
        ("caf&eacute; &amp; R&#38;D &#x41;B &lt;p&gt;", ["café", "r", "d", "ab", "p"]),
        ("<a href='http://x.org' title=y>link</a> <img alt=z>", ["link"]),
        ("1 < 2 and 3 > 2, a<b", ["and", "a", "b"]),  # no tag begins with a blank, and this one has no end
        ("<script>never closed", []),
        ("<!-- never closed", []),
    ],
)
def test_html_leaves_what_a_browser_shows(given_text: str, expected: list[str]) -> None:
    assert words(given_text, "html") == expected


@pytest.mark.parametrize(
    ("given_text", "expected"),
    [
        ("# Title\n\nSee [the page](http://x.org/y).", ["title", "see", "the", "page"]),
        ("![a plot](plot.png) and [ref][1]\n\n[1]: http://x.org", ["a", "plot", "and", "ref"]),
        ("an **im**portant *word* and `code`", ["an", "important", "word", "and", "code"]),
        ("```python\nx = y\n```\nend", ["x", "y", "end"]),
    ],
)
def test_markdown_leaves_what_is_read(given_text: str, expected: list[str]) -> None:
    assert words(given_text, "markdown") == expected


def test_of_a_mail_the_subject_and_what_its_sender_wrote_is_left() -> None:
    assert words(MAIL, "mail") == ["re", "galaxies", "dear", "bob", "all", "of", "them"]


@pytest.mark.parametrize(
    "given_text", ["Note: this is no header.\n\nText", "He wrote:\n\nText", "a -- b\n--- \nText", "Re: x\nText"]
)
def test_what_only_resembles_a_mail_is_left(given_text: str) -> None:
    assert words(given_text, "mail") == words(given_text)


def test_a_forwarded_mail_ends_what_is_read() -> None:
    assert words("See below.\n\n-----Original Message-----\nFrom: x\nold", "mail") == ["see", "below"]


def test_several_kinds_are_stripped_together() -> None:
    assert words("From: a\nTo: b\n\n<p>[x](y)</p>\n> z", "html", "markdown", "mail") == ["x"]


@pytest.mark.parametrize(
    ("given_text", "kinds"),
    [
        (MAIL, ["mail"]),
        ("<p>one</p>", ["html"]),
        ("A &amp; B&nbsp;C", ["html"]),
        ("# Title\n\n[x](y)", ["markdown"]),
        ("> a\n> b\nc", ["mail"]),
        ("Plain text, 1 < 2, a*b, and one > sign.", []),
        ("", []),
    ],
)
def test_markup_is_recognized(given_text: str, kinds: list[str]) -> None:
    assert markup_of(given_text) == kinds


PIECES = ["<p>", "</p>", "<", ">", "<!--", "-->", "<![", "<script>", "&amp;", "&#x110000;", "&#", "[", "](", ")", "*"]
PIECES += ["```", "\n", "> ", "-- ", "From: a", "To: b", "wrote:", " ", "\0", "\ud800", "a", "<!DOCTYPE", "<?"]


@given(lists(sampled_from(PIECES) | text()).map("".join))
def test_whatever_the_markup_is_words_come_out(given_text: str) -> None:
    assert all(words(given_text, *MARKUPS))
    assert set(markup_of(given_text)) <= set(MARKUPS)


@pytest.mark.parametrize("piece", [*PIECES, "<a ", "<script", "![a](b", "[a]: b\n", "a: b\n", "**a", "> a\nhe wrote"])
def test_damaged_markup_is_read_in_linear_time(piece: str) -> None:
    """It takes a second; what took the square of its length would take an hour."""
    start = process_time()
    words(piece * (2**19 // len(piece)), *MARKUPS)
    markup_of(piece * (2**19 // len(piece)))
    assert process_time() - start < 60.0
