"""The answer of a job with what people have decided about it: there at once, and nothing is sampled for it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from sqlalchemy import ColumnElement, and_, bindparam, false, not_, or_
from sqlalchemy.orm import Session

from app.core.decisions import SET_ASIDE, decided_documents, decisions_of, in_force
from app.core.tables import Answer, Category, DecidedDocument, Job
from app.review.cuts import read_tree
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
        return next(group.origin for group in self.groups.values() if group.row.category == category)

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

    def among(self, wanted: set[int | None] | None) -> tuple[Conditions, Conditions]:
        """Documents that somebody decided about come beside those that an index finds."""
        if wanted is None:
            return [], []
        rows = [row for row in self.categories if row.category in wanted]
        ids = {id_of(row) for row in rows}
        places = [place for place, id_ in self.places if self.resolve(id_) in ids]
        gone = [place for place, id_ in self.places if self.resolve(id_) is None]
        homes = {category: self.home(category) for category in self.places_of}
        if not self.moved and not gone and None not in wanted and len(places) == 1:
            [place] = places
            return [Answer.category == place.category], [] if place.leaves is None else [place.condition()]
        found = [place.condition() for place in places]
        mine = [category for category, row in homes.items() if row is not None and id_of(row) in ids]
        found += [and_(place.condition(), Answer.runner_up.in_(mine)) for place in gone if mine]
        if None in wanted:
            found.append(Answer.category.is_(None))
            live = [category for category, row in homes.items() if row is not None]
            found += [
                and_(place.condition(), or_(Answer.runner_up.is_(None), Answer.runner_up.not_in(live)))
                for place in gone
            ]
        inside = [each for each, row in self.moved.items() if self.is_moved_into(row, ids, has_none=None in wanted)]
        return [], [or_(and_(or_(false(), *found), *self.undecided()), is_one_of(inside))]

    def is_moved_into(self, row: DecidedDocument, ids: set[str], *, has_none: bool) -> bool:
        """Whether a person said a document to be of one of some categories, or of none."""
        if row.category is None:
            return has_none
        shown = self.said_of(row)
        return shown is not None and id_of(shown) in ids

    def undecided(self) -> Conditions:
        """The condition that nobody has decided about a document, or that what was said is there no more."""
        counting = [each for each, row in self.moved.items() if row.category is None or self.said_of(row) is not None]
        return [not_(is_one_of(counting))] if counting else []

    def known_origins(self) -> list[int]:
        """The answer's categories all of whose documents are of a known one."""
        rows = {category.category: self.other(category.category) for category in self.own}
        return [category for category, row in rows.items() if row is not None and row.known]


def is_one_of(document_ids: Sequence[int]) -> ColumnElement[bool]:
    """The condition that an answer is for one of some documents, however many: their ids stand in the statement."""
    if not document_ids:
        return false()
    return Answer.document_id.in_(listed(document_ids))


def listed(document_ids: Iterable[int]) -> Any:
    """Some documents in a statement, however many: as numbers in its text, since parameters are limited."""
    return bindparam(None, sorted(document_ids), expanding=True, literal_execute=True)


def read_decided(session: Session, job: Job, own: Sequence[Category]) -> Decided | None:
    """The answer of a job with the decisions in force; None if there is none."""
    decisions = in_force(decisions_of(session, job.id))
    if not decisions:
        return None
    return Decided(own, read_tree(session, job), decisions, decided_documents(session, job.id))
