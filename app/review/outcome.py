"""What decisions leave of the categories of an answer.

Decisions are taken in their order. Each either applies, or speaks of what is not there: of a category that an earlier
decision has joined to another, or that a later edition of the answer does not have. Then it is idle, with the reason,
until its subject is there again.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_

from app.core.category_names import with_words
from app.core.decisions import DecisionKind
from app.core.tables import Answer, Category, DecidedDocument, Decision
from app.review.cuts import Tree, copy_of, name_without_words


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


class Outcome:
    """The categories of an answer once some decisions have been taken."""

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
        self.applied = [decision for decision in decisions if decision.number not in self.idle]
        self.counting = {decision.number for decision in self.applied}
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
        into.row.known = any(group.row.known for group in different)
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


def id_of(category: Category) -> str:
    """What decisions call a category: its short id, or its name where the results are from before there were ids."""
    return category.short_id or category.name


APPLY: Mapping[str, Callable[[Outcome, Decision], None]] = {
    DecisionKind.NAME: Outcome.apply_name,
    DecisionKind.MERGE: Outcome.apply_merge,
    DecisionKind.SPLIT: Outcome.apply_split,
    DecisionKind.PROMOTE: Outcome.apply_promote,
    DecisionKind.DISSOLVE: Outcome.apply_dissolve,
    DecisionKind.PIN: Outcome.apply_pin,
    DecisionKind.NONE: Outcome.apply_to_documents,
    DecisionKind.ACCEPT: Outcome.apply_to_documents,
}
