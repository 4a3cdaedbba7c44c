"""Which documents a person should be asked about: those whose answer would teach most. Pure, without SQL.

The benchmark's simulated reviewer takes these functions as they are, so that what is measured is what is served.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from heapq import heapify, heappop, heapreplace
from math import sqrt
from typing import Literal, NamedTuple

Why = Literal["unsure", "edge", "label", "representative"]
Pair = tuple[int, int]  # of categories

LABELS = 0.5  # worth of a question about a label: in a clean corpus most doubtful labels are right

N_CANDIDATES = 2_000  # unsure documents that are considered, spread over the categories
LEAST_OF_CATEGORY = 5  # of them of each category


class Answered(NamedTuple):
    """An unlabeled document with its answer."""

    document: int
    text: int  # the first document with its text, maybe itself
    category: int
    probability: float | None  # none in the answers of a method without probabilities, which have no runner-up
    other: int | None  # the runner-up
    other_probability: float  # 0 without one


class Doubted(NamedTuple):
    """A labeled document whose label is doubtful."""

    document: int
    category: int  # that the label names
    probability: float
    other: int  # that is suggested
    other_probability: float


class CategorySize(NamedTuple):
    """What is asked of a category."""

    is_known: bool
    n_documents: int  # unlabeled ones that are answered with it


class Candidate(NamedTuple):
    """A document that a person may be asked about."""

    document: int
    text: int  # of several candidates with one text, at most one is chosen
    why: Why
    category: int  # answered, or that of the label
    is_known: bool
    other: int | None  # what it may be instead
    probability: float | None
    other_probability: float
    documents: int  # that the decision speaks for


class Found(NamedTuple):
    """What candidates are made of."""

    categories: Mapping[int, CategorySize]
    unsure: Iterable[Answered]
    edge: Iterable[Answered]
    representative: Iterable[Answered]  # of new categories
    doubted: Iterable[Doubted]
    unsure_pairs: Mapping[Pair, int]  # how many unsure documents there are of each category and runner-up
    label_pairs: Mapping[Pair, int]  # how many doubtful labels there are of each label and suggestion


def unsure_of_each(n_categories: int) -> int:
    """How many documents of each category, the least probable ones, are candidates."""
    return max(N_CANDIDATES // max(n_categories, 1), LEAST_OF_CATEGORY)


def candidates(found: Found) -> Iterator[Candidate]:
    """All that a person may be asked about."""
    either: Counter[Pair] = Counter()
    for (first, second), n in found.unsure_pairs.items():
        either[ordered(first, second)] += n
    for answered in found.representative:
        size = found.categories[answered.category]
        yield candidate(answered, "representative", size, size.n_documents)
    close: tuple[tuple[Why, Iterable[Answered]], ...] = (("edge", found.edge), ("unsure", found.unsure))
    for why, documents in close:
        for answered in documents:
            if answered.other is not None:
                alike = either[ordered(answered.category, answered.other)]
                yield candidate(answered, why, found.categories[answered.category], max(alike, 1))
    for doubted in found.doubted:
        alike = found.label_pairs.get((doubted.category, doubted.other), 1)
        known = found.categories[doubted.category].is_known
        yield Candidate(
            doubted.document, doubted.document, "label", doubted.category, known, doubted.other,
            doubted.probability, doubted.other_probability, alike,
        )  # fmt: skip


def candidate(answered: Answered, why: Why, size: CategorySize, documents: int) -> Candidate:
    """An unlabeled document as a candidate."""
    return Candidate(
        answered.document, answered.text, why, answered.category, size.is_known, answered.other,
        answered.probability, answered.other_probability, documents,
    )  # fmt: skip


def ordered(first: int, second: int) -> Pair:
    """Two categories, whichever is the runner-up."""
    return (first, second) if first <= second else (second, first)


def gain(each: Candidate) -> float:
    """How much a decision is expected to teach, before others are made.

    The chance that it is another one than the present answer, times the square root of the documents that it speaks
    for: it says less of the last of many documents than of the first. Nobody has said yet what a new category is, so
    the chance of its representatives is 1.
    """
    if each.why == "representative":
        chance = 1.0
    elif each.why == "label":
        chance = LABELS * each.other_probability
    else:
        own = each.probability or 0.0
        both = own + each.other_probability
        chance = 2.0 * min(own, each.other_probability) / both if both else 1.0
    return chance * sqrt(each.documents)


def choose(offered: Iterable[Candidate], budget: int) -> list[Candidate]:
    """Up to `budget` candidates, the most useful first, whatever the order in which they are offered.

    Known and new categories take turns. What is left to be learned of a category, and of two categories, falls with
    each decision about them, so that no category gets all. O(n log n) time.
    """
    taken = Taken()
    known: list[Entry] = []
    new: list[Entry] = []
    for each in offered:
        (known if each.is_known else new).append(Entry(-taken.value(each), each.document, each.why, each))
    heapify(known)
    heapify(new)
    chosen: list[Candidate] = []
    while len(chosen) < budget:
        settle(known, taken)
        settle(new, taken)
        if not known and not new:
            break
        turn = known if known and (not new or is_turn_of_known(known[0], new[0], taken)) else new
        each = heappop(turn).candidate
        taken.add(each)
        chosen.append(each)
    return chosen


class Entry(NamedTuple):
    """A candidate in a heap: the most useful first, then the oldest document."""

    minus_value: float  # when it was last looked at: it can only have fallen since
    document: int
    why: Why
    candidate: Candidate


class Taken:
    """The candidates that have been chosen."""

    def __init__(self) -> None:
        self.texts: set[int] = set()
        self.of_side: Counter[bool] = Counter()  # known or not
        self.of_category: Counter[tuple[Why, int]] = Counter()
        self.of_pair: Counter[Pair] = Counter()

    def add(self, each: Candidate) -> None:
        """Know that a candidate was chosen."""
        self.texts.add(each.text)
        self.of_side[each.is_known] += 1
        self.of_category[each.why, each.category] += 1
        self.of_pair[pair_of(each)] += 1

    def value(self, each: Candidate) -> float:
        """What a decision still teaches after those that have been chosen."""
        of_category, of_pair = self.of_category[each.why, each.category], self.of_pair[pair_of(each)]
        return gain(each) / ((1 + of_category) * sqrt(1 + of_pair))


def pair_of(each: Candidate) -> Pair:
    """The two categories that a decision is between; a category with itself if the question is whether it is one."""
    other = each.category if each.other is None or each.why == "representative" else each.other
    return ordered(each.category, other)


def settle(heap: list[Entry], taken: Taken) -> None:
    """Bring the most useful candidate to the top of a heap, and take out those whose text was chosen, in place."""
    while heap:
        top = heap[0]
        if top.candidate.text in taken.texts:
            heappop(heap)
            continue
        minus_value = -taken.value(top.candidate)
        if minus_value == top.minus_value:
            return
        heapreplace(heap, top._replace(minus_value=minus_value))


def is_turn_of_known(known: Entry, new: Entry, taken: Taken) -> bool:
    """Whether a document of a known category comes next; of equally many, the more useful one."""
    return (taken.of_side[True], known) <= (taken.of_side[False], new)


def settles(each: Candidate, name: str, other: str | None) -> str:
    """A sentence: what a decision about a document would settle, between categories of these names."""
    if each.why == "representative":
        return f"whether {name} is a category of its own: it stands for {counted(each.documents, 'document')}"
    if each.why == "label":
        alike = "no other label does" if each.documents == 1 else f"{each.documents:,} labels look the same way"
        return f"the label {name}, which looks like {other}: {alike}"
    return f"{name} or {other}"


def counted(n: int, noun: str) -> str:
    """A number of things."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"
