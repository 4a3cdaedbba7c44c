"""Cuts of the tree over a job's new categories: the answer with more or fewer of them, and what that loses."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, case, false, inspect, or_, select
from sqlalchemy.orm import Session

from app.core.category_names import with_words
from app.core.errors import MalformedRequest
from app.core.tables import Answer, Category, Job, TreeNode
from app.review.shown import Conditions, Said
from app.schemas.portraits import Cut as CutOut
from app.schemas.portraits import Loss

MOST_NAMED = 3  # categories in the name of one that joins more
NUMBERED = "new "  # a new category's name begins so, before its number


class Tree:
    """The tree over the new categories of an answer, from its rows."""

    def __init__(self, nodes: Sequence[TreeNode]) -> None:
        self.nodes = nodes
        self.n_leaves = (len(nodes) + 1) // 2
        self.parts: dict[int, list[int]] = defaultdict(list)
        for node in nodes:
            if node.parent is not None:
                self.parts[node.parent].append(node.node)

    @cached_property
    def n_own(self) -> int:
        """New categories of the answer."""
        return len({node.category for node in self.nodes if node.category is not None})

    def cut(self, n: int) -> list[TreeNode]:
        """The nodes of the cut into n: the first nodes that join others have done so."""
        end = 2 * self.n_leaves - n
        return [node for node in self.nodes[:end] if node.parent is None or node.parent >= end]

    def parts_of(self, category: int, n: int) -> list[TreeNode] | None:
        """The nodes below one category of the answer, cut into n, the largest first; None if it has fewer leaves."""
        own = [node for node in self.nodes if node.category == category]
        if not own:
            return None
        parts = [max(node.node for node in own)]  # parents come after their parts
        while len(parts) < n:
            last = max(parts)
            if not self.parts[last]:
                return None
            parts.remove(last)
            parts += self.parts[last]
        return sorted((self.nodes[part] for part in parts), key=lambda node: (-node.n_documents, node.node))

    def leaves(self, node: int) -> list[int]:
        """The leaves of a node."""
        found, open_nodes = [], [node]
        while open_nodes:
            each = open_nodes.pop()
            open_nodes += self.parts[each]
            if not self.parts[each]:
                found.append(each)
        return sorted(found)

    @cached_property
    def within(self) -> list[float]:
        """Of each node: how many pairs of its documents a draw joins, on average."""
        found: list[float] = []
        for node in self.nodes:
            together = node.together or 0.0
            if parts := self.parts[node.node]:
                first, second = (self.nodes[part].n_documents for part in parts)
                found.append(sum(found[part] for part in parts) + together * first * second)
            else:
                found.append(together * n_pairs(node.n_documents))
        return found

    def loss(self, n: int) -> Loss:
        """How far the cut into n contradicts the draws."""
        nodes = self.cut(n)
        joined = sum(n_pairs(node.n_documents) for node in nodes)
        parted = n_pairs(self.nodes[-1].n_documents) - joined
        joined_together = sum(self.within[node.node] for node in nodes)
        return Loss(
            categories=n,
            joined_pairs=joined,
            joined_apart=share_of(joined - joined_together, joined),
            parted_pairs=parted,
            parted_together=share_of(self.within[-1] - joined_together, parted),
        )


def n_pairs(n: int) -> int:
    """Pairs of n documents."""
    return n * (n - 1) // 2


def share_of(part: float, whole: int) -> float | None:
    """A part of a number of pairs; None of none. Rounding may leave a trace where there is nothing."""
    return min(max(part / whole, 0.0), 1.0) if whole else None


class Group(NamedTuple):
    """A category of a cut, which has rows of its own nowhere."""

    category: Category
    origin: list[int]  # categories of the answer that it is, joins, or is a part of
    leaves: list[int] | None  # None if it has all of its categories' documents


class Cut:
    """An answer with another number of new categories; known ones stay as they are."""

    def __init__(self, tree: Tree, n: int, categories: Sequence[Category]) -> None:
        self.tree, self.n, self.own = tree, n, categories
        known = [category for category in categories if category.known]
        self.groups = [Group(category, [category.category], None) for category in known]
        self.groups += new_groups(tree, n, categories, len(known))
        self.at_leaf: dict[int, Group] = {}
        self.whole = {origin: group for group in self.groups if group.leaves is None for origin in group.origin}
        for group in self.groups:
            self.at_leaf.update(dict.fromkeys(group.leaves or (), group))

    @property
    def categories(self) -> list[Category]:
        """All categories, in index order."""
        return [group.category for group in self.groups]

    def of_document(self, document_id: int, answer: Any) -> Category | None:
        """The category of a document, by that of its answer and by its leaf."""
        if answer.category is None:
            return None
        group = self.whole.get(answer.category) or self.at_leaf.get(-1 if answer.leaf is None else answer.leaf)
        return group and group.category

    def other(self, category: int | None) -> Category | None:
        """What has all documents of one of the answer's categories, if anything has."""
        group = None if category is None else self.whole.get(category)
        return group and group.category

    def unchanged(self, category: int) -> Category | None:
        """One of the answer's categories that the cut has as it is."""
        group = self.whole.get(category)
        return group.category if group is not None and len(group.origin) == 1 else None

    def origin(self, category: int) -> list[int] | None:
        """The answer's categories that one is, joins, or is a part of."""
        return next(group.origin for group in self.groups if group.category.category == category)

    def said(self, document_id: int, answer: Any) -> Said | None:
        """All that the answer says of a document is said, but for its category."""
        return None

    def undecided(self) -> Conditions:
        """A cut is of the answer as it is."""
        return []

    def known_origins(self) -> list[int]:
        """The known ones stay."""
        return [group.category.category for group in self.groups if group.category.known]

    def column(self) -> ColumnElement[int | None]:
        """The index of the group that a document is of."""
        return case(*((of_groups([group]), group.category.category) for group in self.groups), else_=None)

    def told(self) -> CutOut:
        """What the cut loses, as HTTP reports it."""
        most = self.tree.n_leaves
        return CutOut(loss=self.tree.loss(self.n), answer=self.tree.loss(self.tree.n_own), least=1, most=most)

    def among(self, wanted: set[int | None] | None) -> tuple[Conditions, Conditions]:
        """The condition that a document is of one of the cut's categories: what an index knows, and what it does not.

        None among them stands for documents without a category; None altogether for all.
        """
        if wanted is None:
            return [], []
        groups = [group for group in self.groups if group.category.category in wanted]
        if None not in wanted and len(groups) == 1 and len(groups[0].origin) == 1:
            [origin], leaves = groups[0].origin, groups[0].leaves
            return [Answer.category == origin], [] if leaves is None else [Answer.leaf.in_(leaves)]
        has_none = [Answer.category.is_(None)] if None in wanted else []
        return [], [or_(of_groups(groups), *has_none)]


def of_groups(groups: Iterable[Group]) -> ColumnElement[bool]:
    """The condition that a document is of one of some groups."""
    found: list[ColumnElement[bool]] = [false()]
    for group in groups:
        in_leaves = [] if group.leaves is None else [Answer.leaf.in_(group.leaves)]
        found.append(and_(Answer.category.in_(group.origin), *in_leaves))
    return or_(*found)


def new_groups(tree: Tree, n: int, categories: Sequence[Category], n_known: int) -> list[Group]:
    """The new categories of the cut into n, by falling size; one that the answer has stays as it is."""
    own_ones = by_index(categories)
    nodes = sorted(tree.cut(n), key=lambda node: (-node.n_documents, node.node))
    n_parts: dict[int, int] = defaultdict(int)
    found = []
    for index, node in enumerate(nodes, start=n_known):
        leaves = tree.leaves(node.node)
        origin = sorted({int(tree.nodes[leaf].category or 0) for leaf in leaves})
        own = own_ones[origin[0]]
        is_whole = node.parent is None or tree.nodes[node.parent].category is None
        if len(origin) > 1:
            name = joined_name([own_ones[each] for each in origin])
        else:
            n_parts[origin[0]] += 1
            name = f"{name_without_words(own)}.{n_parts[origin[0]]}"
        group = copy_of(own, index) if is_whole and len(origin) == 1 else group_of(node, index, name, categories)
        found.append(Group(group, origin, None if is_whole else leaves))
    return found


def name_without_words(category: Category) -> str:
    """The name that somebody gave to a new category, or its number: "new 4"."""
    return category.name if category.is_named else category.name.partition(":")[0]


def joined_name(categories: Sequence[Category]) -> str:
    """The name, without words, of what joins several new categories: "new 1, 3 and 5", or "rivers, new 3 and 5"."""
    given = [each.name for each in categories if each.is_named]
    numbered = [name_without_words(each) for each in categories if not each.is_named]
    names = given + numbered[:1] + [name.removeprefix(NUMBERED) for name in numbered[1:]]
    if len(names) > MOST_NAMED + 1:
        names = [*names[:MOST_NAMED], f"{len(names) - MOST_NAMED} more"]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def copy_of(category: Category, index: int) -> Category:
    """A category of the answer under its index in a cut, with what was read of it; the row itself must not change."""
    columns = {column.key for column in Category.__table__.columns} - inspect(category).unloaded
    return Category(**{**{name: getattr(category, name) for name in columns}, "category": index})


def group_of(node: TreeNode, index: int, name: str, categories: Sequence[Category]) -> Category:
    """A category that is a node of the tree, as a row would have it."""
    n_answered = max(sum(category.n_documents for category in categories), 1)
    return Category(
        job_id=node.job_id,
        edition=node.edition,
        category=index,
        name=with_words(name, [word["word"] for word in node.top_words]),
        known=False,
        n_documents=node.n_documents,
        n_labeled=0,
        share=node.n_documents / n_answered,
        top_words=node.top_words,
    )


def read_tree(session: Session, job: Job) -> Tree:
    """The tree over the new categories of the job's present results; without a node if they have none."""
    present = select(TreeNode).where(TreeNode.job_id == job.id, TreeNode.edition == job.edition)
    return Tree(session.scalars(present.order_by(TreeNode.node)).all())


def find_cut(session: Session, job: Job, n: int, categories: Sequence[Category]) -> Cut:
    """The job's answer with n new categories. Raises MalformedRequest."""
    tree = read_tree(session, job)
    if not tree.nodes:
        has_new = any(not category.known for category in categories)
        reason = "these results are from before there was a tree" if has_new else "the answer has no new category"
    elif n > tree.n_leaves:
        reason = f"{n} new categories are not between 1 and {tree.n_leaves}, the leaves of the tree"
    else:
        return Cut(tree, n, categories)
    raise MalformedRequest(f"the query cannot be used: {reason}", [{"where": "query.categories", "reason": reason}])


def by_index(categories: Iterable[Category]) -> Mapping[int, Category]:
    """Categories by their indices."""
    return {category.category: category for category in categories}
