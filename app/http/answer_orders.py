"""In which order the answers of a job are listed, and where in it a page ends."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Literal

from fastapi import Query
from pydantic import Field, FiniteFloat, TypeAdapter
from sqlalchemy import ColumnElement, false

from app.core.errors import MalformedRequest
from app.core.tables import Answer
from app.http.pages import from_cursor, to_cursor
from app.http.walks import Key, Place, Stretch


class Sort(StrEnum):
    """The orders that can be asked for besides that of the upload."""

    PROBABILITY = "probability"
    UNSURE = "unsure"


SortBy = Annotated[
    Sort | None,
    Query(
        description="`probability`: the most probable answers first, documents without a category last. `unsure`: the "
        "other way round, so that documents without a category come first. Without it, documents come in the order of "
        "their upload."
    ),
]

RowNumber = Annotated[int, Field(ge=0, le=2**63 - 1)]
InOrder = tuple[Literal["probability", "unsure"], FiniteFloat | None, RowNumber]
AnyCursor: TypeAdapter[int | InOrder] = TypeAdapter(RowNumber | InOrder)


Conditions = Sequence[ColumnElement[bool]]


def stretches(sort: Sort | None, conditions: Conditions, bounds: Conditions, *, has_null: bool) -> list[Stretch]:
    """The stretches of an order, of the answers that meet conditions which an index knows.

    Bounds are of the probability; `has_null` says whether answers without one are listed.
    """
    if sort is None:
        return [Stretch((Answer.document_id,), tuple(conditions))]
    is_falling = sort is Sort.PROBABILITY
    is_null = Answer.probability.is_(None) if has_null else false()
    without = Stretch((Answer.document_id,), (*conditions, is_null), is_falling)
    has_one = (*conditions, *bounds, Answer.probability.is_not(None))
    with_one = Stretch((Answer.probability, Answer.document_id), has_one, is_falling)
    return [with_one, without] if is_falling else [without, with_one]


def place_of(sort: Sort | None, probability: float | None, document_id: int) -> Place:
    """The place of an answer in an order."""
    if sort is None:
        return Place(0, (document_id,))
    is_last = (probability is None) == (sort is Sort.PROBABILITY)
    return Place(int(is_last), (document_id,) if probability is None else (probability, document_id))


def sort_key(sort: Sort | None, place: Place) -> Key:
    """What places of an order are sorted by in Python."""
    assert place.key is not None
    return (place.stretch, *(tuple(-value for value in place.key) if sort is Sort.PROBABILITY else place.key))


def cursor_at(sort: Sort | None, place: Place) -> str:
    """The cursor of the page that follows a place."""
    assert place.key is not None
    *probability, document_id = place.key
    return to_cursor(document_id if sort is None else (sort, probability[0] if probability else None, document_id))


def place_after(cursor: str | None, sort: Sort | None) -> Place:
    """Where a page begins. Raises MalformedRequest for the cursor of another order."""
    found = from_cursor(cursor, AnyCursor)
    if found is None:
        return Place(0, None)
    own, probability, document_id = (None, None, found) if isinstance(found, int) else found
    if own != sort:
        of = "in the order of the upload" if own is None else f"with sort={own}"
        reason = f"this is a cursor of the list {of}; go on in that order, or begin without a cursor"
        raise MalformedRequest(f"the query cannot be used: {reason}", [{"where": "query.cursor", "reason": reason}])
    return place_of(sort, probability, document_id)
