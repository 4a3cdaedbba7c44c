"""Search in texts: what a request says, and whether the index answers it or the texts themselves.

The index answers as soon as it has all documents of the list, if few of them are found. A word that is in many is found
faster in the texts of the rows that the list comes to: a page of them has soon been read.
"""

from collections.abc import Callable
from typing import Annotated, NamedTuple

from fastapi import Query, Request
from sqlalchemy.orm import Session

from app.search import index, words
from app.search.indexing import Indexing
from app.search.words import MAX_SEARCH, Search

SearchText = Annotated[
    str | None,
    Query(
        max_length=MAX_SEARCH,
        description="Only documents whose text has all of these words, and each phrase in double quotes word for word; "
        "a word or phrase after `-` must not occur. Case makes no difference, nor do accents of Latin letters; other "
        "signs only separate words.",
        examples=['pin "change of address" -card'],
    ),
]


def search_of(search: str | None) -> Search | None:
    """What a request searches. Raises MalformedRequest."""
    return None if search is None else words.parsed(search)


def indexing(request: Request) -> Indexing:
    """What fills the index."""
    found: Indexing = request.app.state.indexing
    return found


class Scope(NamedTuple):
    """The documents that a list may come to: those of a corpus between two numbers."""

    corpus_id: str
    first: int | None
    last: int | None


def corpus_scope(session: Session, corpus_id: str) -> Scope:
    """All documents of a corpus, in all of its versions."""
    return Scope(corpus_id, index.first_document(session, corpus_id), index.last_document(session, corpus_id))


class Found(NamedTuple):
    """What a search comes to: the numbers of the documents if they are few, else what texts are asked."""

    document_ids: list[int] | None
    matches: Callable[[str], bool] | None


NOT_SEARCHED = Found(None, None)


def look_up(session: Session, search: Search | None, scope: Scope, wake: Callable[[str], None]) -> Found:
    """Ask the index, if it has all documents of the list; else have it filled."""
    if search is None:
        return NOT_SEARCHED
    if scope.first is None or scope.last is None:
        return Found([], None)
    if not index.is_whole(session, scope.corpus_id, scope.last):
        wake(scope.corpus_id)
        return Found(None, search.matches)
    few = index.few(session, search, scope.first, scope.last)
    return Found(few, None) if few is not None else Found(None, search.matches)
