"""The rows of a long list in its order, as many as a page takes, in a time that does not depend on its length.

Conditions that an index knows are part of a stretch. Those that it does not know are asked row after row: of a window
of the list, then of the next, larger one, until the page is full or the time is up. A page whose time was up is
shorter, and the next one goes on where it ended.
"""

from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, tuple_
from sqlalchemy.orm import Session

FIRST_WINDOW, MAX_WINDOW = 1_000, 8_000  # rows
SECONDS = 0.1  # after which a page takes no further window

Key = tuple[Any, ...]


class Stretch(NamedTuple):
    """Rows of a list that an index has in order: by `keys`, all of which rise or fall, and under its conditions."""

    keys: tuple[Any, ...]
    conditions: tuple[ColumnElement[bool], ...] = ()
    is_falling: bool = False

    def after(self, key: Key | None) -> list[ColumnElement[bool]]:
        """The conditions that a row is of the stretch, and comes after a place in it."""
        if key is None:
            return list(self.conditions)
        is_after = tuple_(*self.keys) < tuple_(*key) if self.is_falling else tuple_(*self.keys) > tuple_(*key)
        return [*self.conditions, is_after]

    def up_to(self, key: Key) -> ColumnElement[bool]:
        """The condition that a row does not come after a place."""
        return tuple_(*self.keys) >= tuple_(*key) if self.is_falling else tuple_(*self.keys) <= tuple_(*key)

    @property
    def order(self) -> list[Any]:
        """What its rows are ordered by."""
        return [key.desc() if self.is_falling else key.asc() for key in self.keys]


class Place(NamedTuple):
    """A place in a list: the number of the stretch, and the key of the row; null at the stretch's beginning."""

    stretch: int
    key: Key | None


class Filters(NamedTuple):
    """What no index knows of a list's rows: conditions, and what is asked of a text."""

    conditions: Sequence[ColumnElement[bool]] = ()
    text: Any = None  # the column
    matches: Callable[[str], bool] | None = None

    def __bool__(self) -> bool:
        return bool(self.conditions) or self.matches is not None


class Walked(NamedTuple):
    """The places of rows, and where to go on if more of them may follow."""

    places: list[Place]
    following: Place | None


Source = Callable[[Sequence[Any]], Select[Any]]  # selects columns of the list's rows


def walk(
    session: Session,
    stretches: Sequence[Stretch],
    start: Place,
    n: int,
    sources: tuple[Source, Source],
    filters: Filters,
    clock: Callable[[], float] = monotonic,
) -> Walked:
    """Up to `n` rows from a place on, through all stretches.

    Of the two sources the first selects from the list alone, the second from whatever else the filters speak of.
    """
    until = clock() + SECONDS
    places: list[Place] = []
    size = FIRST_WINDOW if filters else n
    for number, stretch in list(enumerate(stretches))[start.stretch :]:
        key = start.key if number == start.stretch else None
        while True:
            began = clock()
            end = boundary(session, stretch, key, size, sources[0]) if filters else None
            left = n - len(places)
            for found in window(session, stretch, key, end, left, sources[bool(filters)], filters):
                places.append(Place(number, found))
            if len(places) >= n:
                return Walked(places, places[-1])
            if end is None:
                break
            key, now = end, clock()
            if now > until:
                return Walked(places, Place(number, key))
            if now - began < SECONDS / 4:  # else rows are slow, and the next window would end late
                size = min(2 * size, MAX_WINDOW)
    return Walked(places, None)


def boundary(session: Session, stretch: Stretch, key: Key | None, size: int, source: Source) -> Key | None:
    """The key of the last row of a window that follows a place; None if fewer rows are left."""
    query = source(stretch.keys).where(*stretch.after(key)).order_by(*stretch.order).offset(size - 1).limit(1)
    row = session.execute(query).first()
    return None if row is None else tuple(row)


def window(
    session: Session, stretch: Stretch, key: Key | None, end: Key | None, n: int, source: Source, filters: Filters
) -> list[Key]:
    """The keys of the first rows of a window that meet all filters."""
    matches = filters.matches
    query = source(stretch.keys if matches is None else (*stretch.keys, filters.text))
    query = query.where(*stretch.after(key), *filters.conditions).order_by(*stretch.order)
    if end is not None:
        query = query.where(stretch.up_to(end))
    if matches is None:
        return [tuple(row) for row in session.execute(query.limit(n))]
    found: list[Key] = []
    with session.execute(query.execution_options(yield_per=100)) as rows:
        for row in rows:
            if matches(row[-1]):
                found.append(tuple(row[:-1]))
                if len(found) == n:
                    break
    return found
