"""Normal forms of Unicode, of any text in a time that grows with its length."""

import unicodedata
from typing import Literal

import regex

NO_MARK = "\u034f"  # the combining grapheme joiner, which no mark is sorted across
# More in a row than any language has, as Unicode's stream-safe format counts them (UAX 15, section 13).
TOO_MANY_MARKS = regex.compile(rf"(?V1)[\p{{M}}--{NO_MARK}]{{30}}(?=[\p{{M}}--{NO_MARK}])")


def normal_form(form: Literal["NFC", "NFD", "NFKC"], text: str) -> str:
    """A text in a normal form.

    More than 30 marks in a row are parted by joiners: to sort them takes time that grows with the square of their
    number, minutes for a line of them.
    """
    if text.isascii():
        return text
    return unicodedata.normalize(form, TOO_MANY_MARKS.sub(rf"\g<0>{NO_MARK}", text))


def caseless_form(text: str) -> str:
    """A text without what makes no difference between names: case, width, composed letters."""
    return normal_form("NFKC", normal_form("NFKC", text).casefold())
