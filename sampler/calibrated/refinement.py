"""From a partition to the last word on each document: regressions that learn the categories and judge every document.

Each round fits a cross-fitted logistic regression on the words, with the labels and the present categories of unlabeled
documents as targets, and gives every unlabeled document its most likely category. No document is judged by a fit that
saw its own target; in the end unlabeled ones are judged by fits that know all labels. A temperature, fitted to the
labels in the same way, makes the probabilities mean what they say.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array

from sampler.answers.consensus import Consensus, index_categories
from sampler.answers.others import MATTERS, N_OTHERS, no_others
from sampler.calibrated.bags import TOO_SHORT, Rows, WordBags, brevity, tf_idf
from sampler.calibrated.directions import NO_COLUMNS, Columns
from sampler.calibrated.logistic_regression import RegressionTask, cross_fit, folds, no_weights
from sampler.corpus import NO_CATEGORY, UNLABELED, Array
from sampler.hyperparameters import CalibratedHyperparameters
from sampler.numerics.streams import Step, chosen
from sampler.numerics.threads import Threads

TEMPERATURES = (0.25, 8.0)
LEAST_PROBABILITY = 1e-12
HIGHEST_RATE = 0.95
DRAWS_WEIGHT, LEAST_SHARE = 0.25, 0.01
DOCUMENTS_AT_ONCE = 16_384
IN_EVERY_FIT = -1  # the fold that no fit leaves out


class Fits(NamedTuple):
    """Cross-fitted regressions on the rows `tf_idf`, and vectors beside them if they count."""

    fold: Array  # int64[D], that the fit of each document left out
    weights: Array  # float32[folds, V + 1, K'], or V + p + 1, see `logistic_regression.no_weights`


class Refined(NamedTuple):
    """Categories and how sure they are."""

    category: Array  # int32[D], NO_CATEGORY for a document without a word
    probability: Array  # float32[D, K], by fits that left the document out; rows of documents without a word are 0
    temperature: float
    fits: Fits | None  # of the last round; None without a category


def refine(
    bags: WordBags, labels: Array, category: Array, n_categories: int, hyperparameters: CalibratedHyperparameters,
    seed: int, threads: Threads, division: int = 1, more: Columns = NO_COLUMNS,
) -> Refined:  # fmt: skip
    """Refine the categories int[D] of a partition; labeled documents keep their labels. The folds go by `division`."""
    if n_categories == 0:  # no label, and no document with a word
        return Refined(np.full(labels.size, NO_CATEGORY, np.int32), np.zeros((labels.size, 0), np.float32), 1.0, None)
    rows = more.beside(bags.rows(tf_idf(bags)))
    is_labeled, has_words = labels != UNLABELED, ~bags.is_empty
    trained = learned_from(bags, labels, hyperparameters.sample_size, seed)
    probability = np.zeros((labels.size, n_categories), np.float32)
    category = np.where(is_labeled, labels, category)
    # The same folds in every round: a fit never sees the targets of the documents that it judges, nor begins at one's
    # that did.
    fold = folds(labels.size, hyperparameters.n_folds, seed, division)
    weights = no_weights(rows, n_categories, hyperparameters.n_folds)
    n_rounds = max(hyperparameters.n_refinements, 1)
    for number in range(1, n_rounds + 1):
        is_told = trained & (category != NO_CATEGORY)
        task = RegressionTask(
            category, n_categories, is_told, hyperparameters.category_penalty, hyperparameters.balance
        )  # fmt: skip
        probability = cross_fit(rows, task, fold, weights, threads)
        if number == n_rounds and is_labeled.any():  # in every round it would draw documents to known categories
            by_all_labels = fit_to_all_labels(rows, task, fold, weights, is_labeled, threads)
            probability[~is_labeled] = by_all_labels[~is_labeled]
        if number <= hyperparameters.n_refinements:
            category = np.where(is_labeled, labels, probability.argmax(axis=1))
    probability[~has_words] = 0.0
    temperature = fit_temperature(probability, labels, is_labeled & has_words, threads)
    category = np.where(has_words, category, NO_CATEGORY).astype(np.int32)
    return Refined(category, cooled(probability, temperature), temperature, Fits(fold, weights))


def fit_to_all_labels(
    rows: Rows, task: RegressionTask, fold: Array, weights: Array, is_labeled: Array, threads: Threads
) -> Array:
    """float32[D, K]: the probabilities of unlabeled documents by fits that leave out those of their fold alone.

    What a fit must not have seen is the target of the document that it judges, which is a guess. Labels of others are
    no guesses. The fits begin at `weights`, those without the labels of the fold, and leave them as they are.
    """
    own = no_weights(rows, task.n_targets, len(weights))
    own[:] = weights
    return cross_fit(rows, task, np.where(is_labeled, IN_EVERY_FIT, fold), own, threads)


def learned_from(bags: WordBags, labels: Array, sample_size: int, seed: int) -> Array:
    """bool[D]: documents that regressions learn from, a sample of those that are not much shorter than labeled ones."""
    is_labeled, trained = labels != UNLABELED, np.zeros(labels.size, bool)
    is_usual = ~bags.is_empty & (is_labeled | (brevity(bags, is_labeled) >= TOO_SHORT))
    trained[chosen(np.flatnonzero(is_usual), sample_size, seed, Step.SAMPLE)] = True
    return trained


def fit_temperature(probability: Array, labels: Array, held_back: Array, threads: Threads | None = None) -> float:
    """The t for which p^(1/t), made to sum to 1, gives the labels of documents bool[D] the least log loss."""
    own, rows = labels[held_back], np.log(np.maximum(probability[held_back].astype(np.float64), LEAST_PROBABILITY))
    if own.size == 0:
        return 1.0
    threads = threads or Threads()

    def log_loss(log_t: float) -> float:
        threads.check()
        scaled = rows / np.exp(log_t)
        scaled -= scaled.max(axis=1, keepdims=True)
        normalized = scaled[np.arange(own.size), own] - np.log(np.exp(scaled).sum(axis=1))
        return float(-normalized.mean())

    return float(np.exp(minimize_scalar(log_loss, bounds=np.log(TEMPERATURES), method="bounded").x))


def cooled(probability: Array, temperature: float) -> Array:
    """p^(1/t), rows made to sum to 1 where they are not 0."""
    powered = probability ** np.float32(1.0 / temperature)
    total = powered.sum(axis=1, keepdims=True)
    scaled: Array = np.divide(powered, total, out=powered, where=total > 0)
    return scaled


def refine_with_draws(
    bags: WordBags, labels: Array, agreed: Consensus, shares: csr_array, rates: Array,
    hyperparameters: CalibratedHyperparameters, seed: int, threads: Threads, more: Columns = NO_COLUMNS,
) -> Refined:  # fmt: skip
    """Refine what chains agreed on by regressions and the chains' draws together, see `with_draws`.

    Regressions learn once more from the categories that both find, with other folds, as if that were the partition.
    """
    n_categories = agreed.n_categories
    refined = refine(bags, labels, agreed.category, n_categories, hyperparameters, seed, threads, more=more)
    found = among_unlabeled(with_draws(refined, shares, labels, threads), labels, rates, threads)
    once = replace(hyperparameters, n_refinements=0)
    refined = refine(bags, labels, found.category, n_categories, once, seed, threads, division=2, more=more)
    return with_draws(refined, shares, labels, threads)


def with_draws(refined: Refined, shares: csr_array, labels: Array, threads: Threads) -> Refined:
    """The probabilities of unlabeled documents, and what the chains' draws say of them: a weighed geometric mean.

    `shares` float64[D, K] are those of draws in each category. Draws know the words of whole categories, regressions
    what tells them apart; they err on different documents.
    """
    probability, category = refined.probability.copy(), refined.category.copy()
    free = np.flatnonzero((labels == UNLABELED) & (category != NO_CATEGORY))
    for some in threads.slices(free.size, DOCUMENTS_AT_ONCE):
        rows = free[some]
        share = shares[rows].toarray().astype(np.float32) + np.float32(LEAST_SHARE)
        both = probability[rows] ** np.float32(1.0 - DRAWS_WEIGHT) * share ** np.float32(DRAWS_WEIGHT)
        probability[rows] = both / both.sum(axis=1, keepdims=True)
        category[rows] = probability[rows].argmax(axis=1)
    return refined._replace(category=category, probability=probability)


def join_starved(refined: Refined, labels: Array, n_known: int) -> tuple[Refined, Array]:
    """Join new categories to known ones whose labeled documents look like theirs; and int64[...], these known ones.

    Labels are a sample of their category. If fits that leave them out find most of them likelier of a new category than
    of their own, it is not the labels that are wrong: the new category is the known one, whose documents were hardly
    labeled.
    """
    joined, probability, category = [], refined.probability.copy(), refined.category.copy()
    for k in range(n_known):
        own = np.flatnonzero((labels == k) & (category != NO_CATEGORY))
        if not own.size:
            continue
        likeliest = np.bincount(probability[own].argmax(axis=1), minlength=probability.shape[1])
        likeliest[:n_known] = 0
        other = int(likeliest.argmax())
        if 2 * likeliest[other] > own.size:
            joined.append(k)
            category[category == other] = k
            probability[:, k] += probability[:, other]
            probability[:, other] = 0.0
    return refined._replace(category=category, probability=probability), np.array(joined, np.int64)


def among_unlabeled(refined: Refined, labels: Array, rates: Array, threads: Threads | None = None) -> Refined:
    """Categories and probabilities of unlabeled documents, given too that they bear no label.

    They were learned from labeled and unlabeled documents together. One of known category k has no label with
    probability 1 - pi_k, `rates` float64[n_known]; one of a new category never has one. Without threads nothing
    interrupts it.
    """
    unlabeled = chances_without_label(rates, refined.probability.shape[1])
    is_free, probability, category = labels == UNLABELED, refined.probability.copy(), refined.category.copy()
    for some in (threads or Threads()).slices(labels.size if unlabeled.size else 0, DOCUMENTS_AT_ONCE):
        weighed = probability[some] * np.where(is_free[some, None], unlabeled, 1.0)
        total = weighed.sum(axis=1, keepdims=True)
        probability[some] = np.divide(weighed, total, out=np.zeros_like(weighed), where=total > 0)
        answered = is_free[some] & (category[some] != NO_CATEGORY)
        category[some] = np.where(answered, probability[some].argmax(axis=1), category[some])
    return refined._replace(probability=probability, category=category)


def chances_without_label(rates: Array, n_categories: int) -> Array:
    """float64[K]: the chance that a document of each category bears no label; 1 where the rate is not known."""
    chances = np.ones(n_categories)
    chances[: rates.size] = 1.0 - np.where(np.isnan(rates), 0.0, np.minimum(rates, HIGHEST_RATE))
    return chances


def consensus_of_refined(refined: Refined, labels: Array, n_known: int) -> tuple[Consensus, Array]:
    """The answers, and the column of `probability` that each of the K categories that exist is.

    Known categories keep their index, new ones follow by falling number of documents; a new one exists only if it is
    the answer for a document.
    """
    is_free = labels == UNLABELED
    answers = refined.category[is_free & (refined.category != NO_CATEGORY)]
    index = index_categories(n_known, answers, np.arange(refined.probability.shape[1]))
    exists = np.flatnonzero(index != NO_CATEGORY)
    column = exists[np.argsort(index[exists])]
    category = index[refined.category]
    has_words = np.flatnonzero(category != NO_CATEGORY)
    others = refined.probability[:, column]
    first, second_probability, known = (np.full(labels.size, np.nan) for _ in range(3))
    second = np.full(labels.size, NO_CATEGORY)
    first[has_words] = others[has_words, category[has_words]]
    known[has_words] = others[has_words, :n_known].sum(axis=1)
    if column.size > 1:
        others[has_words, category[has_words]] = -1.0
        second[has_words] = others[has_words].argmax(axis=1)
        second_probability[has_words] = others[has_words, second[has_words]]
        others[has_words, second[has_words]] = -1.0
    further, further_probability = likeliest(others, is_free & (category != NO_CATEGORY))
    return (
        Consensus(
            n_categories=column.size,
            category=np.where(is_free, category, labels).astype(np.int32),
            probability=np.where(is_free, first, 1.0),
            runner_up=np.where(is_free, second, NO_CATEGORY).astype(np.int32),
            runner_up_probability=np.where(is_free, second_probability, np.nan),
            known=np.where(is_free, known, 1.0),
            others=further,
            other_probability=further_probability,
        ),
        column,
    )


def likeliest(probability: Array, is_asked: Array) -> tuple[Array, Array]:
    """The fields `others` and `other_probability` of a consensus, of the documents bool[D] that are asked.

    `probability` float[D, K] is below 0 for categories that are told already.
    """
    others, shares = no_others(is_asked.size)
    n = min(N_OTHERS, probability.shape[1])
    documents = np.flatnonzero(is_asked)
    for first in range(0, documents.size if n else 0, DOCUMENTS_AT_ONCE):
        some = documents[first : first + DOCUMENTS_AT_ONCE]
        found = np.argsort(-probability[some], axis=1, kind="stable")[:, :n]
        share = np.take_along_axis(probability[some], found, axis=1)
        matters = share >= MATTERS
        others[some, :n] = np.where(matters, found, NO_CATEGORY)
        shares[some, :n] = np.where(matters, share, np.nan)
    return others, shares
