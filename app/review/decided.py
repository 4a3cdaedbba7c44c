"""The answer of a job with what people have decided about it: there at once, and nothing is sampled for it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from sqlalchemy import ColumnElement, bindparam, case, false, not_, null, or_, select
from sqlalchemy.orm import Session

from app.core.decisions import SET_ASIDE, DecisionKind, decided_documents, decisions_of, in_force
from app.core.tables import Answer, Category, DecidedDocument, Job
from app.review.cuts import Tree, read_tree
from app.review.outcome import Idle, Outcome, Place, id_of
from app.review.shown import Conditions, Said

DISSOLVED = "its category was dissolved, and no other one is likely"


class Decided(Outcome):
    """An answer with decisions, as `app.review.shown.Shown` has it."""

    @cached_property
    def categories(self) -> Sequence[Category]:
        """The categories that are left, in index order; their sizes are counted by `count`."""
        return sorted((group.row for group in self.groups.values()), key=lambda row: row.category)

    def row_of(self, id_: str | None) -> Category | None:
        """The category that has the documents of one with this id now."""
        found = self.resolve(id_)
        return None if found is None else self.groups[found].row

    @cached_property
    def places_of(self) -> Mapping[int, Sequence[tuple[Place, Category | None]]]:
        """The places of each of the answer's categories, and what has their documents now."""
        found: dict[int, list[tuple[Place, Category | None]]] = defaultdict(list)
        for place, id_ in self.places:
            found[place.category].append((place, self.row_of(id_)))
        return found

    def at(self, answer: Any) -> Category | None:
        """The category of a document by its answer, in which nobody decided about the document itself."""
        if answer.category is None:
            return None
        for place, row in self.places_of[answer.category]:
            if place.has(answer):
                return row or self.home(answer.runner_up)
        return self.home(answer.category)  # a document of a split category that is in no leaf

    def home(self, category: int | None) -> Category | None:
        """What has the documents of one of the answer's categories, or the largest part of them."""
        places = [] if category is None else self.places_of.get(category, [])
        return places[0][1] if places else None

    def of_document(self, document_id: int, answer: Any) -> Category | None:
        """The category that a person said; else that of the answer, as decisions have left it."""
        row = self.moved.get(document_id)
        if row is None:
            return self.at(answer)
        return None if row.category is None else self.said_of(row) or self.at(answer)

    def said_of(self, row: DecidedDocument) -> Category | None:
        """The category that a person said a document to be of, unless it was dissolved."""
        try:
            id_ = row.category if row.category in self.became else self.find(str(row.category)).id
        except Idle:
            return None
        return self.row_of(id_)

    def other(self, category: int | None) -> Category | None:
        """What has all documents of one of the answer's categories, if anything has."""
        places = [] if category is None else self.places_of.get(category, [])
        return places[0][1] if len(places) == 1 else None

    def unchanged(self, category: int) -> Category | None:
        """One of the answer's categories of which there is no other part and which is no part of another."""
        found = self.other(category)
        return found if found is not None and self.groups[id_of(found)].origin == [category] else None

    def origin(self, category: int) -> list[int] | None:
        """The answer's categories that one has the documents of."""
        return self.origins[category]

    @cached_property
    def origins(self) -> Mapping[int, list[int]]:
        """The same of each category that is shown."""
        return {group.row.category: group.origin for group in self.groups.values()}

    def said(self, document_id: int, answer: Any) -> Said | None:
        """What is said of a document that somebody decided about, or whose category was dissolved."""
        shown, row = self.of_document(document_id, answer), self.moved.get(document_id)
        if row is not None and row.category is None:
            return Said(None, None, None, SET_ASIDE, row.number)
        if row is not None and shown is not None and self.said_of(row) is not None:
            return Said(shown, 1.0, float(shown.known), None, row.number)
        if answer.category is None or self.is_there(answer):
            return None
        if shown is None:
            return Said(None, None, None, DISSOLVED, None)
        return Said(shown, answer.runner_up_probability, answer.known_probability, None, None)

    def is_there(self, answer: Any) -> bool:
        """Whether the category of an answer was not dissolved."""
        return all(row is not None for place, row in self.places_of[answer.category] if place.has(answer))

    def column(self) -> ColumnElement[int | None]:
        """What a person said of a document; else the category of its answer, as decisions have left it."""
        said: dict[int | None, list[int]] = defaultdict(list)
        for document_id in self.counting_documents:
            shown = self.said_of(self.moved[document_id])
            said[None if shown is None else shown.category].append(document_id)
        # What decisions have left as it is goes without a condition: hundreds would be tried for each document.
        found: list[tuple[ColumnElement[bool], Any]] = [(is_one_of(ids), index) for index, ids in said.items()]
        for category, places in self.places_of.items():
            changed = [(place, row) for place, row in places if row is not None and not is_as_answered(place, row)]
            found += [(place.condition(), row.category) for place, row in changed]
            gone = [place.condition() for place, row in places if row is None]
            if gone:
                found.append((or_(*gone), self.second_column()))
            if len(places) > 1 and (home := self.home(category)) is not None:
                found.append((Answer.category == category, home.category))  # documents that are in no leaf
        return case(*found, else_=Answer.category) if found else Answer.category.expression

    def second_column(self) -> ColumnElement[int | None]:
        """The index of what has the documents of a document's runner-up now, in SQL."""
        homes = {category: self.home(category) for category in self.places_of}
        moved = {own: row for own, row in homes.items() if row is None or row.category != own}
        whens = [(Answer.runner_up == own, null() if row is None else row.category) for own, row in moved.items()]
        return case(*whens, else_=Answer.runner_up)

    def among(self, wanted: set[int | None] | None) -> tuple[Conditions, Conditions]:
        """An index finds the documents of a category that is a part of one of the answer's, if no document is moved."""
        if wanted is None:
            return [], []
        ids = {id_of(row) for row in self.categories if row.category in wanted}
        places = [place for place, id_ in self.places if self.resolve(id_) in ids]
        is_any_gone = any(self.resolve(id_) is None for _, id_ in self.places)
        if not self.moved and not is_any_gone and None not in wanted and len(places) == 1:
            [place] = places
            return [Answer.category == place.category], [] if place.leaves is None else [place.condition()]
        shown = self.column()
        is_none = [shown.is_(None)] if None in wanted else []
        return [], [or_(shown.in_([index for index in wanted if index is not None]), *is_none)]

    @cached_property
    def counting_documents(self) -> list[int]:
        """The documents that somebody decided about, but for those whose category was dissolved since."""
        return [each for each, row in self.moved.items() if row.category is None or self.said_of(row) is not None]

    def undecided(self) -> Conditions:
        """The condition that nobody has decided about a document, or that what was said is there no more."""
        return [not_(is_one_of(self.counting_documents))] if self.counting_documents else []

    def known_origins(self) -> list[int]:
        """The answer's categories all of whose documents are of a known one."""
        rows = {category.category: self.other(category.category) for category in self.own}
        return [category for category, row in rows.items() if row is not None and row.known]


def is_as_answered(place: Place, row: Category) -> bool:
    """Whether a place is a whole category of the answer that is still there."""
    return place.leaves is None and row.category == place.category


def is_one_of(document_ids: Sequence[int]) -> ColumnElement[bool]:
    """The condition that an answer is for one of some documents, however many: their ids stand in the statement."""
    if not document_ids:
        return false()
    return Answer.document_id.in_(listed(document_ids))


def listed(document_ids: Iterable[int]) -> Any:
    """Some documents in a statement, however many: as numbers in its text, since parameters are limited."""
    return bindparam(None, sorted(document_ids), expanding=True, literal_execute=True)


def categories_of(session: Session, job: Job) -> Sequence[Category]:
    """The categories of the job's present results, in index order."""
    present = select(Category).where(Category.job_id == job.id, Category.edition == job.edition)
    return session.scalars(present.order_by(Category.category)).all()


def read_decided(session: Session, job: Job, own: Sequence[Category]) -> Decided | None:
    """The answer of a job with the decisions in force; None if there is none."""
    decisions = in_force(decisions_of(session, job.id))
    if not decisions:
        return None
    # Only a split looks into the tree, whose hundreds of nodes take longer to read than most answers.
    has_split = any(decision.kind == DecisionKind.SPLIT for decision in decisions)
    tree = read_tree(session, job) if has_split else Tree([])
    return Decided(own, tree, decisions, decided_documents(session, job.id))
