"""The answer of a job with what people have decided about it: there at once, and nothing is sampled for it.

Decisions are taken in their order. Each either applies, or speaks of what is not there: of a category that an earlier
decision has joined to another, or that a later edition of the answer does not have. Then it is idle, with the reason,
until its subject is there again.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, bindparam, false, func, not_, or_, select
from sqlalchemy.orm import Session

from app.core.category_names import with_words
from app.core.decisions import DecisionKind, decided_documents, decisions_of, in_force
from app.core.tables import Answer, Category, DecidedDocument, Decision, Document, Job
from app.review.cuts import Tree, copy_of, name_without_words, read_tree
from app.review.shown import Conditions, Said

SET_ASIDE = "somebody decided that it is of none of the categories"
DISSOLVED = "its category was dissolved, and no other one is likely"


@dataclass
class Group:
    """A category as decisions have left it."""

    id: str
    row: Category  # of its own: the answer's stays as it is
    origin: list[int]  # the answer's categories whose documents it has, or a part of them


class Place(NamedTuple):
    """A part of the answer that decisions treat as one: a category, or the leaves of one that was split."""

    category: int
    leaves: frozenset[int] | None  # None: all of it

    def has(self, answer: Any) -> bool:
        """Whether a document with this answer is in it."""
        return bool(answer.category == self.category and (self.leaves is None or answer.leaf in self.leaves))

    def condition(self) -> ColumnElement[bool]:
        """The same in SQL."""
        is_category = Answer.category == self.category
        return is_category if self.leaves is None else and_(is_category, Answer.leaf.in_(sorted(self.leaves)))


class Idle(Exception):
    """Why a decision does not apply."""


class Decided:
    """An answer with decisions, see `app.review.shown.Shown`."""

    def __init__(
        self,
        own: Sequence[Category],
        tree: Tree,
        decisions: Sequence[Decision],
        documents: Sequence[DecidedDocument],
    ) -> None:
        """`decisions` are those in force; `documents` is what all decisions say of documents, in their order."""
        self.own, self.tree = own, tree
        self.groups: dict[str, Group] = {}
        self.places: list[tuple[Place, str]] = []
        self.became: dict[str, str | None] = {}  # of categories that are no more: that which has their documents now
        self.next_index = max((category.category for category in own), default=-1) + 1
        for category in own:
            id_ = id_of(category)
            self.groups[id_] = Group(id_, copy_of(category, category.category), [category.category])
            self.places.append((Place(category.category, None), id_))
        self.idle: dict[int, str] = {}  # numbers of decisions that do not apply, with the reason
        for decision in decisions:
            try:
                APPLY[decision.kind](self, decision)
            except Idle as reason:
                self.idle[decision.number] = str(reason)
        self.counting = {decision.number for decision in decisions} - self.idle.keys()
        self.moved = {row.document_id: row for row in documents if row.number in self.counting}  # what was said last

    # What decisions do.

    def find(self, named: str) -> Group:
        """The category with an id, or else with a name. Raises Idle."""
        group = self.groups.get(named)
        if group is not None:
            return group
        if named in self.became:
            other = self.resolve(named)
            fate = "was dissolved" if other is None else f"is part of {self.groups[other].row.name!r}"
            raise Idle(f"the category {named} {fate}")
        found = [group for group in self.groups.values() if group.row.name == named]
        if len(found) != 1:
            raise Idle(f"the answer has {'no category' if not found else 'several categories'} {named!r}")
        return found[0]

    def resolve(self, id_: str | None) -> str | None:
        """What has the documents of a category now; None if it was dissolved."""
        while id_ is not None and id_ in self.became:
            id_ = self.became[id_]
        return id_

    def rename(self, group: Group, name: str) -> None:
        """Give a category a name. Raises Idle if another one has it."""
        if any(other is not group and other.row.name == name for other in self.groups.values()):
            raise Idle(f"another category is called {name!r}")
        group.row.name, group.row.is_named = name, True

    def add(self, id_: str, name: str, top_words: Sequence[Any] = (), origin: Sequence[int] = ()) -> Group:
        """Another new category. Raises Idle if another one has its name."""
        row = Category(
            category=self.next_index,
            name=name,
            known=False,
            n_documents=0,
            n_labeled=0,
            share=0.0,
            top_words=list(top_words),
            short_id=id_,
            is_named=False,
        )
        group = Group(id_, row, list(origin))
        self.rename(group, name)
        self.groups[id_] = group
        self.next_index += 1
        return group

    def apply_name(self, decision: Decision) -> None:
        """Another name."""
        self.rename(self.find(decision.body["category"]), decision.body["name"])

    def apply_merge(self, decision: Decision) -> None:
        """All but one category are no more."""
        groups = [self.find(named) for named in decision.body["categories"]]
        different = list({group.id: group for group in groups}.values())
        into = self.find(decision.body["into"]) if decision.body.get("into") else None
        into = into or next((group for group in different if group.row.known), different[0])
        others = [group for group in different if group is not into]
        if not others:
            raise Idle("there is nothing to merge: the categories are one")
        if decision.body.get("name"):
            self.rename(into, decision.body["name"])
        words: Counter[str] = Counter()
        for group in (into, *others):
            words.update({word["word"]: word["documents"] for word in group.row.top_words})
        most = words.most_common(len(into.row.top_words) or None)
        into.row.top_words = [{"word": word, "documents": documents} for word, documents in most]
        into.origin = sorted({*into.origin, *(origin for group in others for origin in group.origin)})
        into.row.portrait = into.row.stability = into.row.topics = None
        for group in others:
            self.became[group.id] = into.id
            del self.groups[group.id]

    def apply_split(self, decision: Decision) -> None:
        """Some documents of a category are of another one, or the draws say which parts it has."""
        group = self.find(decision.body["category"])
        ids = decision.body["new"]
        if not decision.body.get("into"):
            self.add(ids[0], decision.body.get("name") or f"part of {group.row.name}")
            return
        places = [place for place, id_ in self.places if self.resolve(id_) == group.id]
        if group.row.known or len(places) != 1 or places[0].leaves is not None:
            raise Idle("the draws can only split a new category that is as the answer has it; name documents instead")
        parts = self.tree.parts_of(places[0].category, len(ids) + 1)
        if parts is None:
            raise Idle(f"the draws have not {len(ids) + 1} parts of {group.row.name!r}")
        of_parts = [frozenset(self.tree.leaves(part.node)) for part in parts]
        number = name_without_words(group.row)
        names = [with_words(f"{number}.{n}", [word["word"] for word in part.top_words]) for n, part in enumerate(parts)]
        origin = places[0].category
        for part, id_, name in zip(parts[1:], ids, names[1:], strict=True):
            self.add(id_, name, part.top_words, [origin])
        group.row.portrait = group.row.stability = group.row.topics = None
        group.row.top_words = parts[0].top_words
        self.places = [(place, id_) for place, id_ in self.places if place != places[0]]
        self.places += [(Place(origin, leaves), id_) for leaves, id_ in zip(of_parts, (group.id, *ids), strict=True)]

    def apply_promote(self, decision: Decision) -> None:
        """A new category is known."""
        group = self.find(decision.body["category"])
        if group.row.known:
            raise Idle(f"{group.row.name!r} is a known category already")
        if decision.body.get("name"):
            self.rename(group, decision.body["name"])
        group.row.known = True

    def apply_dissolve(self, decision: Decision) -> None:
        """A new category is no more, and documents are of their next likely one."""
        group = self.find(decision.body["category"])
        if group.row.known and group.row.n_labeled:
            raise Idle(f"{group.row.name!r} has labels; merge it with another category, or change its labels")
        self.became[group.id] = None
        del self.groups[group.id]

    def apply_pin(self, decision: Decision) -> None:
        """Documents are of a category, which may be one that nobody has found."""
        if decision.body.get("new"):
            self.add(decision.body["new"][0], decision.body["name"])
        else:
            self.find(decision.body["category"])

    def apply_to_documents(self, decision: Decision) -> None:
        """Which documents it is about, and what they are of, stands with each."""

    # What is shown.

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


def id_of(category: Category) -> str:
    """What decisions call a category: its short id, or its name where the results are from before there were ids."""
    return category.short_id or category.name


def is_one_of(document_ids: Sequence[int]) -> ColumnElement[bool]:
    """The condition that an answer is for one of some documents, however many: their ids stand in the statement."""
    if not document_ids:
        return false()
    return Answer.document_id.in_(listed(document_ids))


def listed(document_ids: Iterable[int]) -> Any:
    """Some documents in a statement, however many: as numbers in its text, since parameters are limited."""
    return bindparam(None, sorted(document_ids), expanding=True, literal_execute=True)


APPLY: Mapping[str, Callable[[Decided, Decision], None]] = {
    DecisionKind.NAME: Decided.apply_name,
    DecisionKind.MERGE: Decided.apply_merge,
    DecisionKind.SPLIT: Decided.apply_split,
    DecisionKind.PROMOTE: Decided.apply_promote,
    DecisionKind.DISSOLVE: Decided.apply_dissolve,
    DecisionKind.PIN: Decided.apply_pin,
    DecisionKind.NONE: Decided.apply_to_documents,
    DecisionKind.ACCEPT: Decided.apply_to_documents,
}


def read_decided(session: Session, job: Job, own: Sequence[Category]) -> Decided | None:
    """The answer of a job with the decisions in force; None if there is none."""
    decisions = in_force(decisions_of(session, job.id))
    if not decisions:
        return None
    return Decided(own, read_tree(session, job), decisions, decided_documents(session, job.id))


def count(session: Session, job: Job, decided: Decided) -> None:
    """Count the documents of the categories, labeled and not, into their rows."""
    sizes: Counter[int] = Counter()
    labels: Counter[int] = Counter()
    for category in decided.own:
        if (shown := decided.other(category.category)) is not None:
            sizes[shown.category] += category.n_documents
            labels[shown.category] += category.n_labeled
    for answer, n_documents in parted(session, job, decided):
        if (shown := decided.at(answer)) is not None:
            sizes[shown.category] += n_documents
    by_name: dict[str | None, Category] = {category.name: category for category in decided.own if category.known}
    for document_id, label, answer in rows_of_moved(session, job, decided):
        labeled = by_name.get(label)
        before = decided.other(labeled.category) if labeled else decided.at(answer)
        after = decided.of_document(document_id, answer)
        counter = labels if label is not None else sizes
        if before is not None:
            counter[before.category] -= 1
        if after is not None:
            counter[after.category] += 1
    n_answered = max(sum(sizes.values()), 1)
    for row in decided.categories:
        row.n_documents, row.n_labeled = sizes[row.category], labels[row.category]
        row.share = row.n_documents / n_answered


def parted(session: Session, job: Job, decided: Decided) -> Iterator[tuple[Any, int]]:
    """How many documents have each answer, of categories that have no whole counterpart: those split or dissolved."""
    own = [category.category for category in decided.own if decided.other(category.category) is None]
    if not own:
        return
    columns = (Answer.category, Answer.leaf, Answer.runner_up)
    mine = (Answer.job_id == job.id, Answer.edition == job.edition, Answer.category.in_(own))
    for row in session.execute(select(*columns, func.count()).where(*mine).group_by(*columns)):
        yield row, row[-1]


def rows_of_moved(session: Session, job: Job, decided: Decided) -> Iterator[tuple[int, str | None, Any]]:
    """The documents that somebody decided about, with their labels and their answers."""
    columns = (Document.id, Document.label, Answer.category, Answer.leaf, Answer.runner_up)
    of_job = and_(Answer.job_id == job.id, Answer.edition == job.edition, Answer.document_id == Document.id)
    query = select(*columns).outerjoin(Answer, of_job).where(Document.id.in_(listed(decided.moved)))
    for row in session.execute(query) if decided.moved else ():
        yield row.id, row.label, row
