"""From the answers of a job to a model that answers new documents.

One more regression learns the categories of all documents of the job, labeled and answered ones. How sure it is, and
how strongly some category must claim a document that is not novel, is told by the cross-fitted regressions before it:
they judged documents that they had not learned from.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sampler.answers.consensus import Consensus
from sampler.calibrated.bags import WordBags, inverse_frequency, tf_idf, word_bags
from sampler.calibrated.logistic_loss import energies
from sampler.calibrated.logistic_regression import RegressionTask, fit, no_weights
from sampler.calibrated.refinement import HIGHEST_RATE, Fits, learned_from, refine
from sampler.copies import Texts
from sampler.corpus import NO_CATEGORY, UNLABELED, Array, Corpus
from sampler.frozen.answering import NOVEL, novelty
from sampler.frozen.model import FrozenModel
from sampler.hyperparameters import CalibratedHyperparameters
from sampler.numerics.streams import Step, chosen
from sampler.numerics.threads import Threads

FEWEST_LABELED = 20  # documents; with fewer, all of them tell how strongly a category claims its own
LARGEST_REFERENCE = 10_000  # documents


class Judged(NamedTuple):
    """Cross-fitted regressions on the K categories of an answer, and what goes with them."""

    bags: WordBags
    fits: Fits
    column: Array  # int64[K], among the regressions' targets
    temperature: float
    rates: Array  # float64[n_known], labeling rates; NaN where they are not known
    chance: Array  # float64[K], that the category is as the answer has it


def judge(
    corpus: Corpus, consensus: Consensus, hyperparameters: CalibratedHyperparameters, seed: int, threads: Threads
) -> Judged | None:
    """Regressions for answers that were given without any. None without a category."""
    bags, once, n_categories = word_bags(corpus), replace(hyperparameters, n_refinements=0), consensus.n_categories
    refined = refine(bags, corpus.labels, consensus.category, n_categories, once, seed, threads)
    if refined.fits is None:
        return None
    rates = np.full(corpus.n_known, np.nan)
    return Judged(bags, refined.fits, np.arange(n_categories), refined.temperature, rates, np.ones(n_categories))


def freeze(
    texts: Texts, marks: Array, consensus: Consensus, judged: Judged, hyperparameters: CalibratedHyperparameters,
    seed: int, threads: Threads,
) -> FrozenModel:  # fmt: skip
    """The model of T texts with these answers, whose D documents have marks uint64[D].

    Its fit begins at the mean of the cross-fitted ones.
    """
    bags, labels = judged.bags, texts.corpus.labels
    rows, n_categories = bags.rows(tf_idf(bags)), consensus.n_categories
    weights = no_weights(rows, n_categories, 1)[0]
    weights[:, :n_categories] = judged.fits.weights[:, :, judged.column].mean(axis=0)
    is_told = learned_from(bags, labels, hyperparameters.sample_size, seed) & (consensus.category != NO_CATEGORY)
    task = RegressionTask(
        consensus.category, n_categories, is_told, hyperparameters.category_penalty, hyperparameters.balance
    )
    fit(rows, task.examples(np.flatnonzero(is_told)), weights, threads.stop)
    threads.check()
    energy = left_out_energies(judged, n_categories, threads)
    reference = np.sort(energy[reference_documents(labels, bags.is_empty, seed)])
    unlabeled = np.ones(n_categories)
    unlabeled[: judged.rates.size] = 1.0 - np.where(np.isnan(judged.rates), 0.0, np.minimum(judged.rates, HIGHEST_RATE))
    strange = novelty(reference, energy[(labels == UNLABELED) & ~bags.is_empty]) >= NOVEL
    return FrozenModel(
        weights=np.ascontiguousarray(weights[:, :n_categories]),
        inverse_frequency=inverse_frequency(bags),
        temperature=judged.temperature,
        unlabeled=unlabeled,
        chance=judged.chance,
        reference=reference,
        expected_novel=float(strange.mean()) if strange.size else 0.0,
        **answers_by_mark(texts, marks, consensus),
    )


def left_out_energies(judged: Judged, n_categories: int, threads: Threads) -> Array:
    """float32[T]: the energy of each text, by the fit that left it out; see `answering.energy_of`."""
    bags, fold = judged.bags, judged.fits.fold
    rows = bags.rows(tf_idf(bags))
    energy, weights = np.zeros(bags.n_documents, np.float32), no_weights(rows, n_categories, 1)[0]
    for number, of_fold in enumerate(judged.fits.weights):
        weights[:, :n_categories] = of_fold[:, judged.column]
        left_out = np.flatnonzero((fold == number) & ~bags.is_empty)
        energies(rows, left_out, weights, n_categories, energy, threads.stop)
        threads.check()
    return energy


def reference_documents(labels: Array, is_empty: Array, seed: int) -> Array:
    """int64[...]: those of known categories; all that have a word if there are few."""
    documents = np.flatnonzero((labels != UNLABELED) & ~is_empty)
    if documents.size < FEWEST_LABELED:
        documents = np.flatnonzero(~is_empty)
    return chosen(documents, LARGEST_REFERENCE, seed, Step.SAMPLE)


def answers_by_mark(texts: Texts, marks: Array, consensus: Consensus) -> dict[str, Array]:
    """The answers of texts as `FrozenModel` has them, and the text of each mark, the first of several.

    A text with a label is told that, as surely as its copies agree on it.
    """
    has_words = texts.corpus.lengths[texts.text_of] > 0
    distinct, first = np.unique(marks[has_words], return_index=True)
    return {
        "marks": distinct,
        "text_of_mark": texts.text_of[has_words][first].astype(np.int32),
        "category": consensus.category,
        "probability": consensus.probability * texts.label_share,
        "known": consensus.known,
        "runner_up": consensus.runner_up,
        "runner_up_probability": consensus.runner_up_probability,
        "others": consensus.others,
        "other_probability": consensus.other_probability,
    }
