"""Known or new: how likely each document is of a known category, from which documents happen to bear a label.

If labels are missing at random within a known category k, a document x of it bears one with the same probability, the
category's labeling rate pi_k, whatever its text; one of a new category never does. So

    P(labeled | x) = pi_k P(known | x)        (Elkan and Noto 2008, here by category)

where k is the known category that x is most likely of. The left side can be learned: labeled against unlabeled
documents, by a cross-fitted regression on their words and on the atoms that they are in, made monotone and calibrated
by isotonic regression on the documents themselves. A category's rate is the labeled share of the documents that are
surely of it, shrunk to the common one as far as the rates differ by no more than chance lets them.

Vectors are further columns of the regressions. How long they are beside the words, which are 1 long, the labels say:
a longer one is taken if it foretells them better by more than chance lets it.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression

from sampler.calibrated.bags import TOO_SHORT, Rows, WordBags, brevity, tf_idf
from sampler.calibrated.directions import NO_COLUMNS, Columns
from sampler.calibrated.logistic_loss import predict
from sampler.calibrated.logistic_regression import RegressionTask, cross_fit, fit, folds, no_weights, with_indicators
from sampler.corpus import UNLABELED, Array
from sampler.hyperparameters import CalibratedHyperparameters
from sampler.numerics.streams import Step, chosen
from sampler.numerics.threads import Threads

BLOCK_DOCUMENTS = 10  # documents of like score that are judged together: of fewer, none may bear a label by chance
ATOM_SCALE = 0.69  # length of the part of a row that says which atoms a document is in; that of its words is 1
FEWEST_BY_ITSELF = 30  # documents of a category whose labels are calibrated by themselves
RATE_ERROR = 0.1  # part of a rate by which that of one category errs whatever its size
RATE_PRIOR = 2.0  # documents
LEAST_SUM = 1e-12
MOST_SURE = 0.9999  # no document is more surely known than this
SCALES = (0.0, 0.5, 1.0)  # of vectors, beside the words
ENOUGH_JUDGED = 2_000  # documents, by which a scale is chosen
FEWEST_JUDGED = 20  # of them chance is known well enough to be told from what is better
MARGIN = 2.0  # standard errors, by which a longer scale has to be better


class Propensity(NamedTuple):
    """What the labels say of each document."""

    rate: float  # pi, the share of documents of known categories that bear a label; NaN if none does
    rates: Array  # float64[n_known], pi_k
    known: Array  # float32[D], P(known | x, unlabeled); 1 for labeled documents
    category: Array  # int32[D], the most likely known category; the label of labeled ones
    scales: Array = np.zeros(2)  # float64[2], of the vectors where known or new is told, and where categories are


def propensity(
    bags: WordBags, labels: Array, n_known: int, atoms: list[Array], hyperparameters: CalibratedHyperparameters,
    seed: int, threads: Threads, places: Array | None = None,
) -> Propensity:  # fmt: skip
    """Learn the propensities of D documents from their words, their atoms, some arrays int[D], and their vectors."""
    is_labeled, counts = labels != UNLABELED, ~bags.is_empty
    if n_known == 0 or not (is_labeled & counts).any():
        nothing = np.zeros(labels.size, np.float32)
        return Propensity(
            np.nan, np.full(n_known, np.nan), nothing, np.where(is_labeled, labels, 0).astype(np.int32)
        )  # fmt: skip
    shorter = brevity(bags, is_labeled)
    rows = bags.rows((tf_idf(bags) * shorter[bags.document]).astype(np.float32))
    rows = with_indicators(rows, atoms, shorter * (ATOM_SCALE / np.sqrt(max(len(atoms), 1))))
    fold = folds(labels.size, hyperparameters.n_folds, seed, 0)
    counts &= is_labeled | (shorter >= TOO_SHORT)  # short ones would look new for want of short labeled ones
    trained = trained_on(is_labeled, ~counts, hyperparameters.sample_size, seed)
    target = np.where(is_labeled, labels, n_known)
    which_label = RegressionTask(target, n_known + 1, trained, hyperparameters.known_penalty, 0.0)
    which_category = RegressionTask(
        labels, n_known, trained & is_labeled, hyperparameters.category_penalty, hyperparameters.balance
    )
    columns, of_categories = chosen_columns(rows, places, which_label, which_category, fold, threads)
    told_by = columns.beside(rows)
    weights = no_weights(told_by, n_known + 1, hyperparameters.n_folds)
    found = cross_fit(told_by, which_label, fold, weights, threads)
    unlabeled = found[:, n_known].astype(np.float64)
    category = np.where(is_labeled, labels, among_known(of_categories.beside(rows), which_category, threads))
    rate, rates = labeling_rates(1.0 - unlabeled, is_labeled, counts, category, n_known)
    own_rate = rates[category]
    known = known_chances((1.0 - unlabeled) / own_rate, is_labeled, counts, own_rate)
    known = np.minimum(known, MOST_SURE)
    known = known * (1.0 - own_rate) / (1.0 - known * own_rate)
    return Propensity(
        rate,
        rates,
        np.where(is_labeled, 1.0, known).astype(np.float32),
        category.astype(np.int32),
        np.array([columns.scale, of_categories.scale]),
    )


def chosen_columns(
    rows: Rows, places: Array | None, which_label: RegressionTask, which_category: RegressionTask, fold: Array,
    threads: Threads,
) -> tuple[Columns, Columns]:  # fmt: skip
    """The vectors at the scale that foretells best whether documents bear a label, and at the one for which it is.

    With few labels the latter is the former: whether they are borne is known of all documents.
    """
    if places is None or places.shape[1] == 0:
        return NO_COLUMNS, NO_COLUMNS
    unlabeled = which_label.n_targets - 1
    bears = which_label.target != unlabeled
    scale = best_scale(
        rows, places, which_label, lambda p, d: loss_of_bearing(p[:, unlabeled], bears[d]), fold, threads
    )
    of_categories = scale
    if which_category.n_targets > 1 and np.count_nonzero(which_category.trained) >= FEWEST_JUDGED:
        labels = which_category.target
        of_categories = best_scale(
            rows, places, which_category, lambda p, d: loss_of_label(p, labels[d]), fold, threads
        )
    return Columns(places, scale), Columns(places, of_categories)


def best_scale(
    rows: Rows, places: Array, task: RegressionTask, loss: Callable[[Array, Array], Array], fold: Array,
    threads: Threads,
) -> float:  # fmt: skip
    """The scale under which regressions foretell best what they did not learn from; a larger one has to be better.

    `loss` takes probabilities float[n, T] of documents int64[n] and says how far each is from the truth, float64[n]. No
    more folds are tried than ENOUGH_JUDGED documents need.
    """
    n_folds = int(fold.max()) + 1
    n_tried = min(-(-ENOUGH_JUDGED * n_folds // max(int(np.count_nonzero(task.trained)), 1)), n_folds)
    judged = np.flatnonzero(task.trained & (fold < n_tried))
    best, least = 0.0, np.empty(0)
    for scale in SCALES:
        with_vectors = Columns(places, scale).beside(rows)
        weights = no_weights(with_vectors, task.n_targets, n_tried)
        own = loss(cross_fit(with_vectors, task, fold, weights, threads)[judged].astype(np.float64), judged)
        if least.size == 0 or is_surely_less(own, least):
            best, least = scale, own
    return best


def is_surely_less(losses: Array, others: Array) -> bool:
    """Whether losses float64[n] are less than others of the same documents, by MARGIN standard errors of their mean."""
    gain = others - losses
    return bool(gain.mean() > MARGIN * gain.std() / np.sqrt(gain.size))


def loss_of_bearing(unlabeled: Array, bears: Array) -> Array:
    """float64[n]: how unlikely it was that n documents bear a label, or do not; the latter had these probabilities."""
    unlabeled = np.clip(unlabeled, LEAST_SUM, 1.0 - LEAST_SUM)
    return np.asarray(-np.log(np.where(bears, 1.0 - unlabeled, unlabeled)))


def loss_of_label(probability: Array, labels: Array) -> Array:
    """float64[n]: how unlikely the label of each of n documents was."""
    return np.asarray(-np.log(np.maximum(probability[np.arange(labels.size), labels], LEAST_SUM)))


def among_known(rows: Rows, which_category: RegressionTask, threads: Threads) -> Array:
    """int64[D]: which known category it is, if it is one, as the labeled documents have it."""
    weights = no_weights(rows, which_category.n_targets, 1)[0]
    fit(rows, which_category.examples(np.flatnonzero(which_category.trained)), weights, threads.stop)
    probability = np.zeros((which_category.target.size, which_category.n_targets), np.float32)
    predict(rows, np.arange(which_category.target.size), weights, probability, threads.stop)
    threads.check()
    return np.asarray(probability.argmax(axis=1))


def trained_on(is_labeled: Array, is_out: Array, sample_size: int, seed: int) -> Array:
    """bool[D]: the documents that the regression learns from: up to half the sample labeled, the rest not."""
    trained = np.zeros(is_labeled.size, bool)
    for side, n_most in ((is_labeled & ~is_out, sample_size // 2), (~is_labeled & ~is_out, sample_size)):
        documents = np.flatnonzero(side)
        trained[chosen(documents, n_most - int(trained.sum()), seed, Step.SAMPLE)] = True
    return trained


def labeling_rates(
    score: Array, is_labeled: Array, counts: Array, category: Array, n_known: int
) -> tuple[float, Array]:  # fmt: skip
    """The common labeling rate, and those of the known categories float64[n_known].

    From scores float64[D] that rise with the probability of a label, and the category that each document is most likely
    of; only documents that count are looked at. A category's own rate has an error of its own, by chance and by
    documents of others among its own, and is trusted as far as the rates of all differ by more:

        pi_k = pi + (own_k - pi) tau^2 / (tau^2 + error_k^2)        (empirical Bayes)
    """
    labeled = known_chances(score, is_labeled, counts, np.ones(score.size))
    common = labeling_rate(labeled[counts], is_labeled[counts])
    own, n_surely = np.full(n_known, common), np.zeros(n_known)
    for k in range(n_known):
        of_category = counts & (category == k)
        if not of_category.any():
            continue
        by_itself = labeled
        if np.count_nonzero(of_category) >= FEWEST_BY_ITSELF:
            by_itself = known_chances(score, is_labeled, of_category, np.ones(score.size))
        own[k] = labeling_rate(by_itself[of_category], is_labeled[of_category], common)
        n_surely[k] = np.count_nonzero(by_itself[of_category] > own[k] / 2.0)
    error = common * (1.0 - common) / np.maximum(n_surely, 1.0) + (RATE_ERROR * common) ** 2
    spread = max(float(np.average((own - common) ** 2 - error, weights=1.0 / error)), 0.0)
    return common, common + (own - common) * spread / (spread + error)


def known_chances(score: Array, is_labeled: Array, counts: Array, rate: Array) -> Array:
    """float64[D]: P(known | score), rising with the score, fitted to the documents bool[D] that count.

    `rate` float64[D] is the probability of a label for a document if it is known: with 1, the answer is the
    probability of a label.
    """
    place, size = np.unique(score[counts], return_inverse=True, return_counts=True)[1:]
    n_blocks = max(place.size // BLOCK_DOCUMENTS, 1)
    first = np.cumsum(size) - size  # in the order of scores; equal ones stay together
    block = np.unique(first * n_blocks // max(place.size, 1), return_inverse=True)[1][place]
    n_blocks = int(block.max(initial=0)) + 1
    weight = np.bincount(block, rate[counts], minlength=n_blocks)
    share = np.bincount(block, is_labeled[counts], minlength=n_blocks) / weight
    center = np.bincount(block, score[counts], minlength=n_blocks) / np.bincount(block, minlength=n_blocks)
    fitted: Array = np.interp(score, center, isotonic_regression(share, weights=weight).x)
    return np.minimum(fitted, 1.0)


def labeling_rate(labeled: Array, is_labeled: Array, common: float | None = None) -> float:
    """pi: the labeled share of the documents whose own probability of a label is above pi / 2.

    Of a single category, RATE_PRIOR documents that are labeled at the common rate are added.
    """
    rate = float((labeled**2).sum() / max(labeled.sum(), LEAST_SUM))
    n_more = 0.0 if common is None else RATE_PRIOR
    for _ in range(100):
        known = labeled > rate / 2.0
        new_rate = (np.count_nonzero(is_labeled & known) + n_more * (common or 0.0)) / (known.sum() + n_more)
        if abs(new_rate - rate) < 1e-9:
            break
        rate = float(new_rate)
    return rate
