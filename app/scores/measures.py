"""What answers are worth against gold labels; a score that is not defined says why."""

from typing import NamedTuple

import numpy as np

from app.schemas.scores import CellOut, KnownScore, NewMatch, NumbersOfCategories, NumbersOut, ScoresOut
from app.scores.gold import Answered, Names
from sampler.corpus import Array

NOTHING = "no document has both a gold label and an answer"
LARGEST_CELLS = 100
NOBODY = -1  # the label that a category without a match stands for


class Measured(NamedTuple):
    """All scores, and the tables beneath them."""

    scores: ScoresOut
    undefined: dict[str, str]
    categories: NumbersOfCategories
    known: list[KnownScore]
    new: list[NewMatch]
    confusion: list[CellOut]
    n_cells: int


class Scores:
    """Scores that are defined, and the reasons why the others are not."""

    def __init__(self) -> None:
        self.values: dict[str, float] = {}
        self.undefined: dict[str, str] = {}

    def put(self, value: float, *names: str) -> None:
        """A score, under its name."""
        for name in names:
            self.values[name] = float(value)

    def leave_out(self, reason: str, *names: str) -> None:
        """Scores that are not defined."""
        for name in names:
            self.undefined[name] = reason

    def told(self) -> ScoresOut:
        """All scores."""
        return ScoresOut(**{name: self.values.get(name) for name in ScoresOut.model_fields})


def measure(answered: Answered, categories: Names, *, all_cells: bool = False) -> Measured:
    """Score answers. Known categories are those of the job, whatever labels the file has."""
    # With scipy's optimization, half a second and 30 MB: only who scores pays for it.
    from sampler.answers import metrics

    n_known, gold, found = categories.n_known, answered.gold, answered.category
    table = Table(answered, categories)
    scores = Scores()
    if gold.size == 0:
        scores.leave_out(NOTHING, *ScoresOut.model_fields)
        matches: dict[int, int] = {}
    else:
        matches = metrics.match_new(gold, found, n_known)
        right = metrics.is_right(gold, found, n_known)
        score_partitions(scores, answered)
        score_accuracy(scores, answered, right, n_known)
        score_sides(scores, answered, n_known)
        score_probabilities(scores, answered, right)
    known = table.known_scores()
    defined = [each.f1 for each in known if each.f1 is not None]
    if defined:
        scores.put(sum(defined) / len(defined), "mean_f1")
    elif gold.size:
        nothing_known = "the job knows no category" if n_known == 0 else "no scored document is of a known category"
        scores.leave_out(nothing_known, "mean_f1")
    return Measured(
        scores.told(),
        scores.undefined,
        NumbersOfCategories(gold=numbers(gold, n_known), answer=numbers(found, n_known)),
        known,
        table.new_matches(matches),
        table.cells(None if all_cells else LARGEST_CELLS),
        table.documents.size,
    )


def numbers(category: Array, n_known: int) -> NumbersOut:
    """How many known and how many new categories there are among some."""
    found = np.unique(category)
    return NumbersOut(known=int((found < n_known).sum()), new=int((found >= n_known).sum()))


def score_partitions(scores: Scores, answered: Answered) -> None:
    """Compare the answers with the gold labels as two ways to divide the documents, whatever the names."""
    from scipy.optimize import linear_sum_assignment

    from sampler.answers import metrics

    gold, found = answered.gold, answered.category
    table = metrics.contingency(gold, found)
    rows, columns = linear_sum_assignment(table, maximize=True)
    scores.put(table[rows, columns].sum() / gold.size, "matched_accuracy")
    scores.put(table.max(axis=0).sum() / gold.size, "purity")
    if table.shape[0] == 1:
        scores.leave_out("all scored documents have the same gold label, so there is nothing to divide", "nmi", "ari")
    else:
        scores.put(metrics.nmi(gold, found), "nmi")
        scores.put(metrics.ari(gold, found), "ari")


def score_accuracy(scores: Scores, answered: Answered, right: Array, n_known: int) -> None:
    """The share of right answers, in all and on each side."""
    scores.put(right.mean(), "accuracy")
    is_known = answered.gold < n_known
    for name, side, reason in (
        ("accuracy_of_known", is_known, "no scored document has a gold label that the job knew"),
        ("accuracy_of_new", ~is_known, "no scored document has a gold label that is new to the job"),
    ):
        if side.any():
            scores.put(right[side].mean(), name)
        else:
            scores.leave_out(reason, name)


def score_sides(scores: Scores, answered: Answered, n_known: int) -> None:
    """How well new documents were told from known ones."""
    is_new, said_new = answered.gold >= n_known, answered.category >= n_known
    hits, n_new, n_said = int((is_new & said_new).sum()), int(is_new.sum()), int(said_new.sum())
    if n_new:
        scores.put(hits / n_new, "new_recall")
        scores.put(2 * hits / (n_new + n_said), "new_f1")
    else:
        scores.leave_out("no scored document has a gold label that is new to the job", "new_recall", "new_f1")
    if n_said:
        scores.put(hits / n_said, "new_precision")
    else:
        scores.leave_out("no scored document was answered with a new category", "new_precision")
    is_told = ~np.isnan(answered.known_probability)
    if not is_told.any():
        scores.leave_out("the answers of the job have no `known_probability`", "known_auroc")
    elif is_new[is_told].all():
        scores.leave_out("no scored document has a gold label that the job knew", "known_auroc")
    elif not is_new[is_told].any():
        scores.leave_out("no scored document has a gold label that is new to the job", "known_auroc")
    else:
        scores.put(auroc(~is_new[is_told], answered.known_probability[is_told]), "known_auroc")


def auroc(is_positive: Array, score: Array) -> float:
    """The probability that a positive one has a higher score than a negative one; equal ones count half."""
    _, place, sizes = np.unique(score, return_inverse=True, return_counts=True)
    ends = np.cumsum(sizes)
    mean_rank = (ends - (sizes - 1) / 2)[place.reshape(score.shape)]  # from 1
    n_positive = int(is_positive.sum())
    n_pairs = n_positive * (is_positive.size - n_positive)
    return float((mean_rank[is_positive].sum() - n_positive * (n_positive + 1) / 2) / n_pairs)


def score_probabilities(scores: Scores, answered: Answered, right: Array) -> None:
    """Whether the probabilities of answers come true."""
    from sampler.answers import metrics

    error = metrics.calibration_error(right, answered.probability)
    if error is None:
        scores.leave_out("the answers of the job have no probabilities", "calibration_error")
    else:
        scores.put(error, "calibration_error")


class Table:
    """The confusion table, of which only the cells that hold a document are kept."""

    def __init__(self, answered: Answered, categories: Names) -> None:
        self.labels, self.names, self.n_known = answered.labels, categories.names, categories.n_known
        width = max(len(self.names), 1)
        cells, self.documents = np.unique(answered.gold * width + answered.category, return_counts=True)
        self.gold, self.category = np.divmod(cells, width)
        self.of_gold = np.bincount(answered.gold, minlength=len(self.labels))
        self.of_category = np.bincount(answered.category, minlength=len(self.names))

    def known_scores(self) -> list[KnownScore]:
        """How well each known category was answered."""
        right = np.zeros(self.n_known, np.int64)
        is_right = (self.gold == self.category) & (self.gold < self.n_known)
        right[self.gold[is_right]] = self.documents[is_right]
        return [
            known_score(k, self.names[k], int(self.of_gold[k]), int(self.of_category[k]), int(right[k]))
            for k in range(self.n_known)
        ]

    def new_matches(self, matches: dict[int, int]) -> list[NewMatch]:
        """Which gold label each new category stands for; one that no document supports is none."""
        shared = {
            (int(k), int(label)): int(n)
            for k, label, n in zip(self.category, self.gold, self.documents, strict=True)
            if matches.get(int(k)) == label
        }
        found = []
        for k in np.flatnonzero(self.of_category[self.n_known :]).tolist():
            category = self.n_known + k
            label = matches.get(category, NOBODY)
            right = shared.get((category, label), 0)
            match = NewMatch(
                category=category,
                name=self.names[category],
                documents=int(self.of_category[category]),
                stands_for=self.labels[label] if right else None,
                right=right,
                gold=int(self.of_gold[label]) if right else 0,
            )
            found.append(match)
        return sorted(found, key=lambda match: (-match.documents, match.category))

    def cells(self, most: int | None) -> list[CellOut]:
        """The largest cells, or all of them."""
        order = np.lexsort((self.category, self.gold, -self.documents))[:most]
        return [
            CellOut(
                label=self.labels[label],
                label_known=label < self.n_known,
                category=category,
                name=self.names[category],
                known=category < self.n_known,
                documents=documents,
            )
            for label, category, documents in zip(
                self.gold[order].tolist(), self.category[order].tolist(), self.documents[order].tolist(), strict=True
            )
        ]


def known_score(category: int, name: str, gold: int, answered: int, right: int) -> KnownScore:
    """How well a known category was answered."""
    return KnownScore(
        category=category,
        name=name,
        gold=gold,
        answered=answered,
        right=right,
        precision=right / answered if answered else None,
        recall=right / gold if gold else None,
        f1=2 * right / (gold + answered) if gold + answered else None,
    )
