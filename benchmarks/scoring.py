"""What a method answers, and what the answer is worth."""

from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from benchmarks.problems import Problem
from sampler.answers import metrics
from sampler.corpus import Array

N_BINS = 10  # of the calibration error
DIGITS = 3
NO_MATCH = -1


class Answer(NamedTuple):
    """The category of every document: known ones as in the corpus, new ones from n_known on, each a number of its own.

    Documents without a word have -1. What a method does not tell is None; a probability may be NaN for a document.
    """

    category: Array  # int[D]
    n_categories: int  # known and new
    interval: tuple[int, int] | None  # 90 % of the number of categories, both ends included
    probability: Array | None  # float64[D], of the category that is answered


def score(problem: Problem, answer: Answer) -> dict[str, object]:
    """The figures of an answer over the documents that the paper scores, ready for JSON."""
    true, found = problem.truth[problem.scored], answer.category[problem.scored]
    n_known = problem.corpus.n_known
    error = None
    if answer.probability is not None:
        error = calibration_error(is_right(true, found, n_known), answer.probability[problem.scored])
    return {
        "K_true": problem.n_true,
        "K": answer.n_categories,
        "NMI": round(metrics.nmi(true, found), DIGITS),
        "ARI": round(metrics.ari(true, found), DIGITS),
        "F1": round(metrics.mean_f1(true, found, np.arange(n_known)), DIGITS),
        "K_interval": None if answer.interval is None else list(answer.interval),
        "ECE": None if error is None else round(error, DIGITS),
    }


def calibration_error(right: Array, probability: Array) -> float | None:
    """Expected calibration error: mean over answers of |share of right ones - mean probability| in their bin.

    Bins are N_BINS equal parts of [0, 1]. Answers whose probability is NaN are left out; None if all are.
    """
    is_told = ~np.isnan(probability)
    right, probability = right[is_told], probability[is_told]
    if right.size == 0:
        return None
    bins = np.minimum((probability * N_BINS).astype(np.int64), N_BINS - 1)
    surplus = np.bincount(bins, right - probability, minlength=N_BINS)  # of a bin: answers times the difference
    return float(np.abs(surplus).sum() / right.size)


def is_right(true: Array, found: Array, n_known: int) -> Array:
    """bool[n]: whether each answer names the true category.

    A known category is itself. A new one, which has no name, stands for the true new category that it is matched to:
    each found one to at most one true one and the reverse, so that most documents are right. An answer of a new
    category without a match is wrong, and so is one for a document of a known category.
    """
    meant = np.arange(found.max(initial=0) + 1)
    meant[n_known:] = NO_MATCH
    for answer, category in match_new(true, found, n_known).items():
        meant[answer] = category
    return np.asarray(meant[found] == true)


def match_new(true: Array, found: Array, n_known: int) -> dict[int, int]:
    """The true new category of each found new one that has a match, by the assignment of maximum weight."""
    both_new = (true >= n_known) & (found >= n_known)
    if not both_new.any():
        return {}
    table = metrics.contingency(true[both_new], found[both_new])
    rows, columns = linear_sum_assignment(table, maximize=True)
    true_new, found_new = np.unique(true[both_new]), np.unique(found[both_new])
    return {int(found_new[column]): int(true_new[row]) for row, column in zip(rows, columns, strict=True)}
