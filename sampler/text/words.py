"""Texts to words: normalization, and where words begin and end."""

import re
from functools import cache

import regex

from sampler.text.normal_forms import normal_form
from sampler.text.scripts import MAYBE_SPACELESS, SPACELESS, SPACELESS_LETTER, character_ngrams

NUMBER_WORD, URL_WORD, EMAIL_WORD = "<number>", "<url>", "<email>"

# A letter, then letters, combining marks, joiners and digits; an apostrophe holds parts of one word together.
WORD = r"{first}[\p{{L}}\p{{M}}\p{{Nd}}\u200c\u200d]*(?:'{first}[\p{{L}}\p{{M}}\p{{Nd}}]*)*"
ASCII_WORD = re.compile(r"[a-z][a-z0-9]*(?:'[a-z][a-z0-9]*)*")  # the same, where it is most and fastest
# The characters of a URL are ASCII: what follows one without a space may be Chinese. Bounds keep a long text of dots
# from costing the square of its length.
URL = r"(?:https?|ftp)://[!#-;=?-~]+|www\.[!#-;=?-~]+"
EMAIL = r"[\p{L}\p{N}._%+\-]{1,64}+@[\p{L}\p{N}\-]{1,63}+(?:\.[\p{L}\p{N}\-]{1,63}+)+"
ADDRESS = regex.compile(f"{URL}|{EMAIL}")
ADDRESS_SIGNS = ("@", "://", "www.")
NUMBER = rf"\p{{Nd}}++(?:[.,:/\-]\p{{Nd}}++)*+(?![[\p{{L}}\p{{M}}]--[{SPACELESS}]])"

SPELLINGS = (("\u2019", "'"), ("\u00ad", ""))  # typographic apostrophe; soft hyphen
# Signs that writers may leave out: Hebrew points and accents, Arabic vowel signs, those of the Quran, tatweel.
OPTIONAL_SIGNS = re.compile(
    "[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u0652\u0656-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4"
    "\u06e7\u06e8\u06ea-\u06ed\u08d3-\u08e1\u08e3-\u08ff]"
)
FINAL_SIGMA = regex.compile(r"(?<=\p{L}\p{M}*)\u03c3(?![\p{L}\p{M}\p{Nd}'])")
TURKISH_LETTERS = "ıİğĞ"
TURKISH_SHARE = 0.03  # of the characters of a text: they are about 6 % of Turkish, and occur in names elsewhere


@cache
def word_pattern(numbers: str) -> "regex.Pattern[str]":
    """What is a word of a folded text, or a number that has a name."""
    word = WORD.format(first=r"\p{L}" if numbers == "drop" else r"[\p{L}\p{Nd}]")
    return regex.compile(f"(?V1){NUMBER}|{word}" if numbers == "join" else word)


@cache
def run_pattern(numbers: str) -> "regex.Pattern[str]":
    """The parts of a word that has letters of a script without spaces: runs of them, and other words."""
    letter = rf"[\p{{L}}--[{SPACELESS}]]"
    first = letter if numbers == "drop" else rf"[{letter}\p{{Nd}}]"
    run = rf"[{SPACELESS}](?:[{SPACELESS}]|\p{{M}})*"
    return regex.compile(rf"(?V1){run}|{first}[{letter}\p{{M}}\p{{Nd}}']*(?<!')")


def is_turkish(text: str) -> bool:
    """Whether a text has so many dotless and dotted letters that its I is the capital of ı."""
    if not any(letter in text for letter in TURKISH_LETTERS):
        return False
    return sum(map(text.count, f"{TURKISH_LETTERS}şŞ")) >= TURKISH_SHARE * len(text)


def folded(text: str, turkish: bool | None = None) -> str:
    """A text in NFKC, case-folded, with straight apostrophes and without optional signs.

    `turkish` says whether its I is the capital of ı; None sees it by its letters.
    """
    if text.isascii() and not turkish:
        return text.casefold()
    text = normal_form("NFKC", text)
    if turkish or (turkish is None and is_turkish(text)):
        text = text.replace("I", "\u0131").replace("İ", "i")
    n_characters = len(text)
    text = text.casefold()
    for written, kept in SPELLINGS:
        text = text.replace(written, kept)
    text = OPTIONAL_SIGNS.sub("", text)
    if len(text) != n_characters or "\u0307" in text:  # characters were taken apart, or came together
        text = normal_form("NFKC", text.replace("i\u0307", "i"))
    return FINAL_SIGMA.sub("ς", text) if "\u03c3" in text else text  # case folding knows no final one


def words_of(
    text: str, *, turkish: bool | None = None, ngram_length: int | None = 2, urls: str = "keep", numbers: str = "drop"
) -> list[str]:
    """The words of a text in order, normalized and case-folded; see `TextOptions` for what may be chosen."""
    text = folded(text, turkish)
    if urls == "keep" or not any(sign in text for sign in ADDRESS_SIGNS):
        return words_of_folded(text, ngram_length, numbers)
    found: list[str] = []
    start = 0
    for address in ADDRESS.finditer(text):
        found += words_of_folded(text[start : address.start()], ngram_length, numbers)
        if urls == "join":
            found.append(URL_WORD if "://" in address[0] or address[0].startswith("www.") else EMAIL_WORD)
        start = address.end()
    return found + words_of_folded(text[start:], ngram_length, numbers)


def words_of_folded(text: str, ngram_length: int | None, numbers: str) -> list[str]:
    """The words of a folded text without addresses that have a name."""
    if numbers == "drop" and text.isascii():
        found = ASCII_WORD.findall(text)
    else:
        found = word_pattern(numbers).findall(text)
        if ngram_length is not None and MAYBE_SPACELESS.search(text):
            found = [piece for word in found for piece in pieces(word, ngram_length, numbers)]
        if numbers == "join":
            found = [NUMBER_WORD if is_number(word) else word for word in found]
    return [word.removesuffix("'s") for word in found] if "'s" in text else found


def is_number(word: str) -> bool:
    """Whether a word has digits and signs alone."""
    return word[0].isdecimal() and not any(map(str.isalpha, word))


def pieces(word: str, ngram_length: int, numbers: str) -> list[str]:
    """Runs of a script without spaces in their n-grams, and what stands between them; any other word as it is."""
    if not MAYBE_SPACELESS.search(word):
        return [word]
    return [
        piece
        for part in run_pattern(numbers).findall(word)
        for piece in (character_ngrams(part, ngram_length) if SPACELESS_LETTER.match(part) else [part])
    ]
