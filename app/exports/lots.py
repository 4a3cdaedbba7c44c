"""Rows of a long list, a lot at a time, each in a short transaction of its own: nothing stays open between two."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from sqlalchemy import ColumnElement, Row, Select
from sqlalchemy.orm import Session, sessionmaker

LOT_ROWS = 1_000
LOT_CHARACTERS = 2**21  # of the texts in a lot; it ends with the row that reaches it
FETCHED = 50  # rows that are held unread; a text has up to a mebibyte


def lots(
    readers: sessionmaker[Session],
    check: Callable[[Session], object],
    query: Select[Any],
    place: Callable[[Any], Any],
    after: Callable[[Any], ColumnElement[bool]],
) -> Iterator[list[Row[Any]]]:
    """The rows of an ordered query. `place` is a row's, `after` the condition that a row comes after a place.

    `check` raises ServiceError if what is listed is no longer there.
    """
    query = query.limit(LOT_ROWS).execution_options(yield_per=FETCHED)
    following = query
    while True:
        with readers.begin() as session:
            check(session)
            with session.execute(following) as found:
                rows, is_last = taken(found)
        if rows:
            yield rows
        if is_last:
            return
        following = query.where(after(place(rows[-1])))


def taken(found: Iterable[Row[Any]]) -> tuple[list[Row[Any]], bool]:
    """The rows of a lot, and whether none comes after them."""
    rows: list[Row[Any]] = []
    n_characters = 0
    for row in found:
        rows.append(row)
        n_characters += sum([len(value) for value in row if type(value) is str])
        if n_characters >= LOT_CHARACTERS:
            return rows, False
    return rows, len(rows) < LOT_ROWS
