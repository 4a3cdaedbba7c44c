"""What a search means: the words and phrases that a text must and must not have.

A word is a run of letters and digits, in either case; Latin letters are the same with and without accents. SQLite
splits texts by this rule itself (`unicode61`); for PostgreSQL and for texts that no index holds, it stands here.
"""

import re
from typing import NamedTuple

from app.core.errors import MalformedRequest
from sampler.text.normal_forms import normal_form

MAX_SEARCH = 300  # characters; PostgreSQL takes words of up to 2,046 bytes

WORD = re.compile(r"[^\W_]+")
TERM = re.compile(r'-*"[^"]*"?|[^\s"]+')
ACCENTS = re.compile("([a-z])[\u0300-\u036f]+")

Phrase = tuple[str, ...]


class Search(NamedTuple):
    """Phrases, of one word or several, that a text must have, and those that it must not have."""

    needed: tuple[Phrase, ...]
    excluded: tuple[Phrase, ...] = ()

    def matches(self, text: str) -> bool:
        """Whether a text is found."""
        text = folded(text)
        if not all(phrase[0] in text for phrase in self.needed):  # most texts end here
            return False
        line = f" {' '.join(WORD.findall(text))} "
        return all(map(line.__contains__, map(spaced, self.needed))) and not any(
            map(line.__contains__, map(spaced, self.excluded))
        )


def spaced(phrase: Phrase) -> str:
    """A phrase as it stands in a line of words."""
    return f" {' '.join(phrase)} "


def folded(text: str) -> str:
    """A text in small letters, Latin ones without their accents."""
    if text.isascii():
        return text.lower()
    return normal_form("NFC", ACCENTS.sub(r"\1", normal_form("NFD", text).lower()))


def words(text: str) -> list[str]:
    """The words of a text, in order."""
    return WORD.findall(folded(text))


def parsed(search: str) -> Search:
    """A search as a request has it. Raises MalformedRequest if it names no word that a text must have."""
    needed: dict[Phrase, None] = {}
    excluded: dict[Phrase, None] = {}
    for term in TERM.findall(search):
        if phrase := tuple(words(term)):
            (excluded if term.startswith("-") else needed)[phrase] = None
    if not needed:
        reason = "no word is searched; name one at least that texts must have"
        raise MalformedRequest(f"the query cannot be used: {reason}", [{"where": "query.search", "reason": reason}])
    return Search(tuple(needed), tuple(excluded))
