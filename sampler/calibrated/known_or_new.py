"""Known or new: how likely each document is of a known category, from which documents happen to bear a label.

If labels are missing at random within the known categories, a document x of a known category bears one with the same
probability, the labeling rate pi, whatever its text; one of a new category never does. So

    P(labeled | x) = pi P(known | x)        (Elkan and Noto 2008)

and the left side can be learned: labeled against unlabeled documents, by a cross-fitted regression on their words and
on the atoms that they are in, made monotone and calibrated by isotonic regression on the documents themselves.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression

from sampler.calibrated.bags import Rows, WordBags, tf_idf
from sampler.calibrated.logistic_loss import predict
from sampler.calibrated.logistic_regression import RegressionTask, cross_fit, fit, folds, no_weights, with_indicators
from sampler.corpus import UNLABELED, Array
from sampler.hyperparameters import CalibratedHyperparameters
from sampler.numerics.streams import Step, chosen
from sampler.numerics.threads import Threads

BLOCK_DOCUMENTS = 10  # documents of like score that are judged together: of fewer, none may bear a label by chance
ATOM_SCALE = 0.69  # length of the part of a row that says which atoms a document is in; that of its words is 1
MOST_SURE = 0.9999  # no document is more surely known than this


class Propensity(NamedTuple):
    """What the labels say of each document."""

    rate: float  # pi, the share of documents of known categories that bear a label; NaN if none does
    known: Array  # float32[D], P(known | x, unlabeled); 1 for labeled documents
    category: Array  # int32[D], the most likely known category; the label of labeled ones


def propensity(
    bags: WordBags, labels: Array, n_known: int, atoms: list[Array], hyperparameters: CalibratedHyperparameters,
    seed: int, threads: Threads,
) -> Propensity:  # fmt: skip
    """Learn the propensities of D documents from their words and their atoms, some arrays int[D]."""
    is_labeled = labels != UNLABELED
    if n_known == 0 or not (is_labeled & ~bags.is_empty).any():
        nothing = np.zeros(labels.size, np.float32)
        return Propensity(np.nan, nothing, np.where(is_labeled, labels, 0).astype(np.int32))
    scale = ATOM_SCALE / np.sqrt(max(len(atoms), 1))
    rows = with_indicators(bags.rows(tf_idf(bags)), atoms, scale)
    fold = folds(labels.size, hyperparameters.n_folds, seed, 0)
    trained = trained_on(is_labeled, bags.is_empty, hyperparameters.sample_size, seed)
    target = np.where(is_labeled, labels, n_known)
    weights = no_weights(rows, n_known + 1, hyperparameters.n_folds)
    which_label = RegressionTask(target, n_known + 1, trained, hyperparameters.known_penalty, 0.0)
    unlabeled = cross_fit(rows, which_label, fold, weights, threads)[:, n_known].astype(np.float64)
    labeled = label_chances(1.0 - unlabeled, is_labeled, ~bags.is_empty)
    rate = labeling_rate(labeled[~bags.is_empty], is_labeled[~bags.is_empty])
    known = np.minimum(labeled / rate, MOST_SURE)
    known = known * (1.0 - rate) / (1.0 - known * rate)
    which_category = RegressionTask(
        labels, n_known, trained & is_labeled, hyperparameters.category_penalty, hyperparameters.balance
    )
    return Propensity(
        rate,
        np.where(is_labeled, 1.0, known).astype(np.float32),
        np.where(is_labeled, labels, among_known(rows, which_category, threads)).astype(np.int32),
    )


def among_known(rows: Rows, which_category: RegressionTask, threads: Threads) -> Array:
    """int64[D]: which known category it is, if it is one, as the labeled documents have it."""
    weights = no_weights(rows, which_category.n_targets, 1)[0]
    fit(rows, which_category.examples(np.flatnonzero(which_category.trained)), weights, threads.stop)
    probability = np.zeros((which_category.target.size, which_category.n_targets), np.float32)
    predict(rows, np.arange(which_category.target.size), weights, probability, threads.stop)
    threads.check()
    return np.asarray(probability.argmax(axis=1))


def trained_on(is_labeled: Array, is_empty: Array, sample_size: int, seed: int) -> Array:
    """bool[D]: the documents that the regression learns from: up to half the sample labeled, the rest not."""
    trained = np.zeros(is_labeled.size, bool)
    for side, n_most in ((is_labeled & ~is_empty, sample_size // 2), (~is_labeled & ~is_empty, sample_size)):
        documents = np.flatnonzero(side)
        trained[chosen(documents, n_most - int(trained.sum()), seed, Step.SAMPLE)] = True
    return trained


def label_chances(score: Array, is_labeled: Array, counts: Array) -> Array:
    """float64[D]: P(labeled | score), rising with the score, fitted to the documents bool[D] that count."""
    place, size = np.unique(score[counts], return_inverse=True, return_counts=True)[1:]
    n_blocks = max(place.size // BLOCK_DOCUMENTS, 1)
    first = np.cumsum(size) - size  # in the order of scores; equal ones stay together
    block = np.unique(first * n_blocks // max(place.size, 1), return_inverse=True)[1][place]
    n_blocks = int(block.max(initial=0)) + 1
    weight = np.bincount(block, minlength=n_blocks)
    share = np.bincount(block, is_labeled[counts], minlength=n_blocks) / weight
    center = np.bincount(block, score[counts], minlength=n_blocks) / weight
    fitted: Array = np.interp(score, center, isotonic_regression(share, weights=weight).x)
    return fitted


def labeling_rate(labeled: Array, is_labeled: Array) -> float:
    """pi: the labeled share of the documents whose own probability of a label is above pi / 2."""
    rate = float((labeled**2).sum() / labeled.sum())
    for _ in range(100):
        known = labeled > rate / 2.0
        new_rate = float(is_labeled[known].mean())
        if abs(new_rate - rate) < 1e-9:
            break
        rate = new_rate
    return rate
