"""Scores against scikit-learn, a test-only dependency, and by hand."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import (
    adjusted_rand_score,
    confusion_matrix,
    f1_score,
    normalized_mutual_info_score,
    precision_score,
    recall_score,
    roc_auc_score,
)

from app.schemas.scores import ScoresOut
from app.scores.gold import Answered, Names
from app.scores.measures import NOTHING, Measured, auroc, measure

NAN = float("nan")


def answered(
    gold: list[int], found: list[int], probability: list[float] | None = None, known: list[float] | None = None
) -> Answered:
    """Answers as numbers; gold labels are called by theirs."""
    unknown = [NAN] * len(gold)
    return Answered(
        np.array(gold, np.int64),
        np.array(found, np.int64),
        np.array(probability or unknown),
        np.array(known or unknown),
        [f"gold {label}" for label in range(max(gold, default=0) + 10)],
    )


def measured(given: Answered, n_known: int, *, all_cells: bool = True) -> Measured:
    """The scores where new categories are called by their number."""
    n_categories = max(int(given.category.max(initial=0)) + 1, n_known)
    return measure(given, Names([f"category {k}" for k in range(n_categories)], n_known), all_cells=all_cells)


@st.composite
def partitions(draw: st.DrawFn) -> tuple[Answered, int]:
    """Two ways to divide documents, with probabilities, some of which are equal, and the number of known categories."""
    n_known = draw(st.integers(0, 4))
    n = draw(st.integers(1, 40))
    gold = draw(st.lists(st.integers(0, n_known + 3), min_size=n, max_size=n))
    found = draw(st.lists(st.integers(0, n_known + 3), min_size=n, max_size=n))
    shares = st.lists(st.integers(0, 8).map(lambda eighths: eighths / 8), min_size=n, max_size=n)
    return answered(gold, found, draw(shares), draw(shares)), n_known


@given(partitions())
def test_scores_are_those_of_scikit_learn(case: tuple[Answered, int]) -> None:
    given, n_known = case
    gold, found = given.gold, given.category
    told = measured(given, n_known)
    scores, undefined = told.scores, told.undefined
    if np.unique(gold).size > 1:
        assert scores.nmi == pytest.approx(normalized_mutual_info_score(gold, found), abs=1e-9)
        assert scores.ari == pytest.approx(adjusted_rand_score(gold, found), abs=1e-9)
    else:
        assert "same gold label" in undefined["nmi"] and undefined["ari"] == undefined["nmi"]
    there = [k for k in range(n_known) if (gold == k).any() or (found == k).any()]
    if there:
        expected = f1_score(gold, found, labels=there, average="macro", zero_division=0)
        assert scores.mean_f1 == pytest.approx(expected, abs=1e-12)
    else:
        assert scores.mean_f1 is None and undefined["mean_f1"]
    is_new, said_new = gold >= n_known, found >= n_known
    pairs = {"new_precision": precision_score, "new_recall": recall_score, "new_f1": f1_score}
    for name, function in pairs.items():
        if getattr(scores, name) is None:
            assert not (said_new if name == "new_precision" else is_new).any() and undefined[name]
        else:
            assert getattr(scores, name) == pytest.approx(function(is_new, said_new, zero_division=0), abs=1e-12)
    if is_new.any() and not is_new.all():
        expected = roc_auc_score(~is_new, given.known_probability)
        assert scores.known_auroc == pytest.approx(expected, abs=1e-12)
    else:
        assert "no scored document" in undefined["known_auroc"]


@given(partitions())
def test_a_score_is_either_defined_or_says_why_not(case: tuple[Answered, int]) -> None:
    told = measured(*case)
    for name in ScoresOut.model_fields:
        assert (getattr(told.scores, name) is None) == (name in told.undefined), name
        assert name == "ari" or 0.0 <= (getattr(told.scores, name) or 0.0) <= 1.0, name


@given(partitions())
def test_accuracies_are_those_of_the_best_matching_by_trying_all(case: tuple[Answered, int]) -> None:
    given, n_known = case
    gold, found = given.gold, given.category
    told = measured(given, n_known)
    labels, categories = range(int(gold.max()) + 1), range(int(found.max()) + 1)
    table = np.zeros((max(len(labels), len(categories)),) * 2, int)
    np.add.at(table, (gold, found), 1)
    new = table[n_known:, n_known:]

    def most(part: np.ndarray) -> int:
        """Documents on the diagonal, the columns put into the best order."""
        size = len(part)
        return max((int(part[range(size), order].sum()) for order in permutations(range(size))), default=0)

    right = int(np.trace(table[:n_known, :n_known]))
    assert told.scores.accuracy == pytest.approx((right + most(new)) / gold.size)
    if len(table) <= 7:  # 8! orders take a second
        assert told.scores.matched_accuracy == pytest.approx(most(table) / gold.size)
    assert sum(match.right for match in told.new) == most(new)


@given(partitions())
def test_the_confusion_table_is_that_of_scikit_learn_the_largest_cells_first(case: tuple[Answered, int]) -> None:
    given, n_known = case
    told = measured(given, n_known)
    expected = confusion_matrix(given.gold, given.category, labels=range(10))
    found = np.zeros_like(expected)
    for cell in told.confusion:
        found[int(cell.label.removeprefix("gold ")), cell.category] = cell.documents
        assert (cell.label_known, cell.known) == (
            int(cell.label.removeprefix("gold ")) < n_known,
            cell.category < n_known,
        )
    np.testing.assert_array_equal(found, expected)
    sizes = [cell.documents for cell in told.confusion]
    assert sizes == sorted(sizes, reverse=True) and len(sizes) == told.n_cells == np.count_nonzero(expected)


def test_a_tiny_case_is_scored_as_by_hand() -> None:
    # Known: 0 and 1. Gold 2 is new; the job calls it 2 for two of three documents, and 0 for the third.
    given = answered([0, 0, 1, 2, 2, 2], [0, 1, 1, 2, 2, 0], [0.95] * 6, [0.9, 0.8, 0.7, 0.1, 0.2, 0.75])
    told = measured(given, n_known=2)
    scores = told.scores
    assert scores.accuracy == pytest.approx(4 / 6)
    assert (scores.accuracy_of_known, scores.accuracy_of_new) == (pytest.approx(2 / 3), pytest.approx(2 / 3))
    assert scores.mean_f1 == pytest.approx((2 / 4 + 2 / 3) / 2)
    assert scores.purity == pytest.approx(4 / 6)  # of 0 one of two, of 1 one of two, of 2 both
    assert scores.known_auroc == pytest.approx(8 / 9)  # 0.75 of a new one is above 0.7 of a known one
    assert (scores.new_precision, scores.new_recall) == (1.0, pytest.approx(2 / 3))
    assert scores.new_f1 == pytest.approx(0.8)
    assert scores.calibration_error == pytest.approx(0.95 - 4 / 6)
    assert told.categories.model_dump() == {"gold": {"known": 2, "new": 1}, "answer": {"known": 2, "new": 1}}
    [match] = told.new
    assert (match.category, match.stands_for, match.documents, match.right, match.gold) == (2, "gold 2", 2, 2, 3)
    assert [(each.gold, each.answered, each.right) for each in told.known] == [(2, 2, 1), (1, 2, 1)]


def test_without_a_document_nothing_is_defined() -> None:
    told = measured(answered([], []), n_known=2)
    assert told.undefined == dict.fromkeys(ScoresOut.model_fields, NOTHING)
    assert told.confusion == [] and [each.f1 for each in told.known] == [None, None]


def test_without_probabilities_neither_ranks_nor_calibration_are_defined() -> None:
    told = measured(answered([0, 1], [0, 1]), n_known=1)
    assert set(told.undefined) == {"known_auroc", "calibration_error"}


def test_the_best_of_scores_are_one() -> None:
    told = measured(answered([0, 1, 2, 2], [0, 1, 3, 3], [1.0] * 4, [1.0, 1.0, 0.0, 0.0]), n_known=2)
    expected = dict.fromkeys(ScoresOut.model_fields, 1.0) | {"calibration_error": 0.0}
    assert told.scores.model_dump() == expected


def test_auroc_counts_equal_scores_half() -> None:
    assert auroc(np.array([True, False]), np.array([0.5, 0.5])) == 0.5
    assert auroc(np.array([True, True, False]), np.array([0.5, 0.2, 0.2])) == 0.75


def test_only_the_largest_cells_are_reported_unless_all_are_requested() -> None:
    numbers = list(range(150))
    given = answered([*numbers, 7], [*numbers, 7])
    few, every = (measured(given, 150, all_cells=all_cells) for all_cells in (False, True))
    assert (len(few.confusion), few.n_cells, len(every.confusion)) == (100, 150, 150)
    assert (few.confusion[0].label, few.confusion[0].documents) == ("gold 7", 2)
