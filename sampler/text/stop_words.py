"""Lists of stop words by language."""

import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from functools import cache

import regex
import stopwordsiso

from sampler.text.normal_forms import normal_form
from sampler.text.words import words_of

STOP_WORD_LANGUAGES = tuple(sorted(stopwordsiso.langs()))
TURKIC = ("tr", "az")  # languages with a dotless i
GREEK_LETTER = regex.compile(r"\p{Greek}")


@cache
def stop_list(language: str) -> frozenset[str]:
    """The stop words of a language, folded as texts are."""
    listed = folded(stopwordsiso.stopwords(language), turkish=language in TURKIC)
    return listed | {unaccented(word) for word in listed} if language == "el" else listed


def folded(listed: Iterable[str], turkish: bool | None = None) -> frozenset[str]:
    """The words of a list of stop words, folded as texts are; a run in a script without spaces is one."""
    return frozenset(
        word for phrase in listed for word in words_of(phrase, turkish=turkish, ngram_length=None) or [phrase]
    )


@cache
def languages_by_stop_word() -> dict[str, tuple[str, ...]]:
    """The languages that list a word, for each word that any lists."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for language in STOP_WORD_LANGUAGES:
        for word in stop_list(language):
            found[word].append(language)
    return {word: tuple(languages) for word, languages in found.items()}


def is_greek(word: str) -> bool:
    """Whether a word has a Greek letter."""
    return not word.isascii() and GREEK_LETTER.search(word) is not None


def unaccented(word: str) -> str:
    """A Greek word without its accents, as capitals are written; any other word as it is."""
    if not is_greek(word):
        return word
    apart = normal_form("NFD", word)
    return normal_form("NFC", "".join(c for c in apart if not unicodedata.combining(c) or c == "\u0308"))
