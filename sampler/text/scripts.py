"""Scripts: which one a word is written in, and which are written without spaces."""

import re
from functools import lru_cache

import regex

# Scripts whose words nothing parts. The mark of long vowels belongs to both kana.
SPACELESS = r"[\p{Han}\p{Hiragana}\p{Katakana}\u30fc\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]&&\p{L}"
SPACELESS_LETTER = regex.compile(f"(?V1)[{SPACELESS}]")
WITHOUT_LEAST_LENGTH = regex.compile(f"(?V1)[{SPACELESS}||\\p{{Hangul}}]")
# The same letters and some marks among them, which a search passes over faster than properties.
MAYBE_SPACELESS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u19e0-\u19ff\u2e80-\u30ff\u31f0-\u31ff\u3400-\u9fff\ua9e0-\ua9ff"
    "\uaa60-\uaa7f\uf900-\ufaff\U0001aff0-\U0001b16f\U00020000-\U0003ffff]"
)
CHARACTER = regex.compile(r"\P{M}\p{M}*")  # with its marks

FIRST_LETTER = regex.compile(r"\p{L}")
OTHER = "Other"
SCRIPT = regex.compile(
    "|".join(
        rf"(?P<{name}>\p{{{name}}})"
        for name in (
            *("Latin", "Cyrillic", "Greek", "Arabic", "Hebrew", "Armenian", "Georgian", "Ethiopic"),
            *("Devanagari", "Bengali", "Gujarati", "Gurmukhi", "Tamil", "Telugu", "Kannada", "Malayalam", "Sinhala"),
            *("Han", "Hiragana", "Katakana", "Hangul", "Thai", "Lao", "Khmer", "Myanmar"),
        )
    )
)


def script_of(word: str) -> str:
    """The script of a word's first letter; OTHER for none that languages are told by."""
    first = word[:1]
    if not first.isalpha():
        letter = FIRST_LETTER.search(word)
        first = letter[0] if letter else ""
    return script_of_letter(first)


@lru_cache(2**14)
def script_of_letter(letter: str) -> str:
    """The script of a letter."""
    found = SCRIPT.match(letter)
    return str(found.lastgroup) if found else OTHER


def character_ngrams(run: str, length: int) -> list[str]:
    """The pieces of so many characters of a run, each character with its marks; a shorter run is a piece."""
    characters = run if run.isalpha() else CHARACTER.findall(run)  # marks are not alphabetic
    if len(characters) <= length:
        return [run]
    return ["".join(characters[start : start + length]) for start in range(len(characters) - length + 1)]
