"""The face of whatever is shown of an answer: which categories there are, and of which of them each document is."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from sqlalchemy import ColumnElement

from app.core.tables import Answer, Category
from app.review.unindexed import unindexed

Conditions = list[ColumnElement[bool]]


class Said(NamedTuple):
    """What is said of a document, where that is not what its answer says."""

    category: Category | None
    probability: float | None
    known_probability: float | None
    reason: str | None
    decision: int | None  # the number of the one by which a person said it


class Shown(Protocol):
    """An answer, or what is made of it. Indices of categories are its own; rows have those of the answer."""

    own: Sequence[Category]  # those of the answer, in index order

    @property
    def categories(self) -> Sequence[Category]:
        """Those that are shown, in index order."""

    def of_document(self, document_id: int, answer: Any) -> Category | None:
        """The category of a document whose answer, or row of one, has `category`, `leaf` and `runner_up`."""

    def other(self, category: int | None) -> Category | None:
        """What has all documents of one of the answer's categories, if anything has."""

    def unchanged(self, category: int) -> Category | None:
        """One of the answer's categories that is shown as it is."""

    def origin(self, category: int) -> list[int] | None:
        """The answer's categories that one is, joins, or is a part of; None where all are as they are."""

    def said(self, document_id: int, answer: Any) -> Said | None:
        """What is said of a document instead of what its answer says; None for all that the answer says."""

    def column(self) -> ColumnElement[int | None]:
        """The index of a document's category, in SQL, of its row of `answers`."""

    def among(self, wanted: set[int | None] | None) -> tuple[Conditions, Conditions]:
        """The condition that a document is of one of some categories: what an index knows, and what it does not.

        None among them stands for documents without a category; None altogether for all.
        """

    def undecided(self) -> Conditions:
        """The condition that nobody has decided about a document."""

    def known_origins(self) -> list[int]:
        """The answer's categories whose documents are shown as of a known one."""


class Own:
    """The answer as it is."""

    def __init__(self, categories: Sequence[Category]) -> None:
        self.own = categories
        self.by_index: Mapping[int | None, Category] = {category.category: category for category in categories}

    @property
    def categories(self) -> Sequence[Category]:
        """Those of the answer."""
        return self.own

    def of_document(self, document_id: int, answer: Any) -> Category | None:
        """The category of the answer."""
        return self.by_index.get(answer.category)

    def other(self, category: int | None) -> Category | None:
        """The category itself."""
        return self.by_index.get(category)

    def unchanged(self, category: int) -> Category | None:
        """The category itself."""
        return self.by_index.get(category)

    def origin(self, category: int) -> list[int] | None:
        """Nothing is to be told of it."""
        return None

    def said(self, document_id: int, answer: Any) -> Said | None:
        """Nothing else."""
        return None

    def column(self) -> ColumnElement[int | None]:
        """That of the answer."""
        return Answer.category.expression

    def among(self, wanted: set[int | None] | None) -> tuple[Conditions, Conditions]:
        """With several, an index has answers in another order than a list: it would sort all of them for each page."""
        if wanted is None:
            return [], []
        if len(wanted) == 1:
            [category] = wanted
            return [Answer.category.is_(None) if category is None else Answer.category == category], []
        return [], [unindexed(Answer.category).in_(sorted(category for category in wanted if category is not None))]

    def undecided(self) -> Conditions:
        """No condition."""
        return []

    def known_origins(self) -> list[int]:
        """The known ones."""
        return [category.category for category in self.categories if category.known]
