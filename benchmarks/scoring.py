"""What a method answers, and what the answer is worth."""

from typing import NamedTuple

import numpy as np

from benchmarks.problems import Problem
from sampler.answers import metrics
from sampler.corpus import Array

DIGITS = 3


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
        error = metrics.calibration_error(metrics.is_right(true, found, n_known), answer.probability[problem.scored])
    return {
        "K_true": problem.n_true,
        "K": answer.n_categories,
        "NMI": round(metrics.nmi(true, found), DIGITS),
        "ARI": round(metrics.ari(true, found), DIGITS),
        "F1": round(metrics.mean_f1(true, found, np.arange(n_known)), DIGITS),
        "K_interval": None if answer.interval is None else list(answer.interval),
        "ECE": None if error is None else round(error, DIGITS),
    }
