"""Which of a job's answers a request wants: its parameters, and the conditions that they become.

Lists and exports take the same ones. Categories are few, so that their names, ids and kinds are looked up here, and no
query joins them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import Depends, Query
from pydantic import StringConstraints
from sqlalchemy import ColumnElement, and_, case, func, not_, or_

from app.core.certainty import UNSURE, Thresholds
from app.core.tables import MAX_KEY, MAX_NAME, Answer, Category, Document
from app.http.document_filters import Fields, field_conditions
from app.http.routers.results import Number
from app.http.searches import SearchText, search_of
from app.review.shown import Shown
from app.schemas.common import Storable
from app.search.words import Search

ShortId = Annotated[str, StringConstraints(pattern="^c-[0-9a-z]{1,18}$")]
Probability = Annotated[float, Query(ge=0.0, le=1.0)]


DEFAULTS = Thresholds()


@dataclass(frozen=True)
class AnswerFilters:
    """What a request says of the answers that it wants."""

    category: int | str | None = None  # index, short id, or `none`
    name: str | None = None
    known: bool | None = None
    unsure: bool | None = None
    thresholds: Thresholds = DEFAULTS
    min_probability: float | None = None
    max_probability: float | None = None
    key: str | None = None
    key_prefix: str | None = None
    copies: bool | None = None
    fields: Sequence[ColumnElement[bool]] = ()
    search: Search | None = None

    def categories(self, all_of_them: Sequence[Category]) -> set[int | None] | None:
        """The indices of the categories that are wanted, None for none; None altogether if all are."""
        if self.category is None and self.name is None and self.known is None:
            return None
        if self.category == "none":
            return {None} if self.name is None and self.known is None else set()
        return {
            each.category
            for each in all_of_them
            if self.category in (None, each.category, each.short_id)
            and self.name in (None, each.name)
            and self.known in (None, each.known)
        }

    @property
    def asks_documents(self) -> bool:
        """Whether conditions are on documents as well."""
        return bool(self.fields or self.key_prefix)

    def probabilities(self) -> list[ColumnElement[bool]]:
        """The conditions that are ranges of the probability."""
        found = []
        if self.min_probability is not None:
            found.append(Answer.probability >= self.min_probability)
        if self.max_probability is not None:
            found.append(Answer.probability <= self.max_probability)
        return found

    def bounds(self) -> list[ColumnElement[bool]]:
        """A range of the probability that has all answers which are wanted, but for those without one."""
        found = self.probabilities()
        if self.unsure is not None:
            limits = self.thresholds
            found.append(Answer.probability < max(limits) if self.unsure else Answer.probability >= min(limits))
        return found

    def allows_null(self) -> bool:
        """Whether answers without a probability may be wanted."""
        return not self.probabilities() and self.unsure is not False

    def others(self, shown: Shown) -> list[ColumnElement[bool]]:
        """The conditions on answers and documents that are neither of categories nor ranges of the probability.

        What somebody decided is sure.
        """
        found = list(self.fields)
        if self.unsure is not None or self.copies is not None:
            found.append(Answer.document_id.is_not(None))  # an export may have documents without an answer
        if self.unsure is not None:
            found.append(unsure_where(shown, self.thresholds, self.unsure))
        if self.copies is not None:
            found.append(Answer.copy_of.is_not(None) if self.copies else Answer.copy_of.is_(None))
        if self.key_prefix:
            found.append(func.substr(Document.key, 1, len(self.key_prefix)) == self.key_prefix)
        return found


def answer_filters(
    category: Annotated[
        Number | Literal["none"] | ShortId | None,
        Query(description="Only documents of the category with this index or id, or `none` for those without one."),
    ] = None,
    name: Annotated[
        Storable | None, Query(max_length=MAX_NAME, description="Only documents of the category with this name.")
    ] = None,
    known: Annotated[bool | None, Query(description="Only documents of known, or only of new categories.")] = None,
    unsure: Annotated[bool | None, Query(description="Only documents whose answer is unsure, or only others.")] = None,
    unsure_known: Annotated[
        Probability, Query(description="An answer with a known category is unsure below this probability.")
    ] = UNSURE,
    unsure_new: Annotated[
        Probability, Query(description="An answer with a new category is unsure below this probability.")
    ] = UNSURE,
    min_probability: Annotated[
        Probability | None, Query(description="Only documents whose category is at least so probable.")
    ] = None,
    max_probability: Annotated[
        Probability | None, Query(description="Only documents whose category is at most so probable.")
    ] = None,
    key: Annotated[Storable | None, Query(max_length=MAX_KEY, description="Only the document with this key.")] = None,
    key_prefix: Annotated[
        Storable | None, Query(max_length=MAX_KEY, description="Only documents whose key begins so.")
    ] = None,
    copies: Annotated[
        bool | None, Query(description="Only copies of documents that came before, or only documents that are none.")
    ] = None,
    field: Fields = [],  # noqa: B006 (FastAPI makes one for each request)
    search: SearchText = None,
) -> AnswerFilters:
    """What the parameters of a request say. Raises MalformedRequest."""
    return AnswerFilters(
        category=category,
        name=name,
        known=known,
        unsure=unsure,
        thresholds=Thresholds(unsure_known, unsure_new),
        min_probability=min_probability,
        max_probability=max_probability,
        key=key,
        key_prefix=key_prefix,
        copies=copies,
        fields=field_conditions(field),
        search=search_of(search),
    )


AskedAnswers = Annotated[AnswerFilters, Depends(answer_filters)]


def unsure_where(shown: Shown, thresholds: Thresholds, unsure: bool) -> ColumnElement[bool]:
    """The condition that an answer is unsure, or that it is not."""
    threshold = case((Answer.category.in_(shown.known_origins()), thresholds.known), else_=thresholds.new)
    undecided = shown.undecided()
    if unsure:
        is_unsure = or_(Answer.category.is_(None), Answer.probability.is_(None), Answer.probability < threshold)
        return and_(is_unsure, *undecided)
    is_sure = and_(Answer.category.is_not(None), Answer.probability >= threshold)
    return or_(is_sure, *map(not_, undecided))
