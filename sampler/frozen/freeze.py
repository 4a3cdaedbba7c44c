"""From the answers of a job to a model that answers new documents.

One more regression learns the categories of all documents of the job, labeled and answered ones. How sure it is, and
how strongly some category must claim a document that is not novel, is told by the cross-fitted regressions before it:
they judged documents that they had not learned from.
"""

from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sampler.answers.consensus import Consensus
from sampler.calibrated.bags import WordBags, inverse_frequency, select, tf_idf, word_bags
from sampler.calibrated.directions import NO_COLUMNS, Columns
from sampler.calibrated.logistic_loss import energies
from sampler.calibrated.logistic_regression import RegressionTask, fit, no_weights
from sampler.calibrated.refinement import Fits, chances_without_label, learned_from, refine
from sampler.copies import Texts
from sampler.corpus import NO_CATEGORY, UNLABELED, Array, Corpus
from sampler.frozen.answering import NOVEL, novelty_among
from sampler.frozen.model import FrozenModel, VectorsOf
from sampler.hyperparameters import CalibratedHyperparameters
from sampler.numerics.streams import Step, chosen, numbers_of, stream
from sampler.numerics.threads import Threads
from sampler.vectors import Axes

FEWEST_LABELED = 20  # documents; with fewer, all of them tell how strongly a category claims its own
LARGEST_REFERENCE = 2_000  # documents
ENOUGH_OF_SIZE = 50  # documents
# Distinct words from which on documents are compared with each other, up to the next size.
SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)


class Judged(NamedTuple):
    """Cross-fitted regressions on the K categories of an answer, and what goes with them."""

    bags: WordBags
    fits: Fits
    column: Array  # int64[K], among the regressions' targets
    temperature: float
    rates: Array  # float64[n_known], labeling rates; NaN where they are not known
    chance: Array  # float64[K], that the category is as the answer has it
    columns: Columns = NO_COLUMNS  # the vectors, as the regressions see them


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
    seed: int, threads: Threads, axes: Axes | None = None,
) -> FrozenModel:  # fmt: skip
    """The model of T texts with these answers, whose D documents have marks uint64[D].

    `axes` are those of the vectors, if the texts have any. Its fit begins at the mean of the cross-fitted ones.
    """
    bags, labels = judged.bags, texts.corpus.labels
    rows, n_categories = judged.columns.beside(bags.rows(tf_idf(bags))), consensus.n_categories
    weights = no_weights(rows, n_categories, 1)[0]
    weights[:, :n_categories] = judged.fits.weights[:, :, judged.column].mean(axis=0)
    is_told = learned_from(bags, labels, hyperparameters.sample_size, seed) & (consensus.category != NO_CATEGORY)
    task = RegressionTask(
        consensus.category, n_categories, is_told, hyperparameters.category_penalty, hyperparameters.balance
    )
    fit(rows, task.examples(np.flatnonzero(is_told)), weights, threads.stop)
    threads.check()
    known = known_documents(labels, np.diff(bags.offsets), seed)
    sizes, references = energies_by_size(judged, known, seed, threads)
    free = np.flatnonzero((labels == UNLABELED) & ~bags.is_empty)
    is_novel = novelty_of(judged, free, sizes, references, threads) >= NOVEL
    return FrozenModel(
        weights=np.ascontiguousarray(weights[:, :n_categories]),
        inverse_frequency=frequencies_of_new(bags),
        temperature=judged.temperature,
        unlabeled=chances_without_label(judged.rates, n_categories),
        chance=judged.chance,
        sizes=sizes,
        starts=np.concatenate([[0], np.cumsum([each.size for each in references])]),
        reference=np.concatenate(references),
        expected_novel=float(is_novel.mean()) if free.size else 0.0,
        vectors=None if axes is None else VectorsOf(axes.mean, axes.axes, judged.columns.scale),
        **answers_by_mark(texts, marks, consensus),
    )


def frequencies_of_new(bags: WordBags) -> Array:
    """float64[V], such that 1 more is what a word counts in a new document, of which nobody knows the source.

    That is 1 + the inverse frequency, as in the job's documents; times the least that it counts in any source.
    """
    counted = inverse_frequency(bags)
    if bags.weights is not None:
        least = np.ones(bags.n_words)
        np.minimum.at(least, bags.words, bags.weights)
        counted = (1.0 + counted) * least - 1.0
    return counted


def known_documents(labels: Array, n_distinct: Array, seed: int) -> Array:
    """int64[...]: some documents of known categories, or of all if few bear a label."""
    documents = np.flatnonzero((labels != UNLABELED) & (n_distinct > 0))
    if documents.size < FEWEST_LABELED:
        documents = np.flatnonzero(n_distinct)
    return chosen(documents, LARGEST_REFERENCE, seed, Step.SAMPLE)


def energies_by_size(judged: Judged, known: Array, seed: int, threads: Threads) -> tuple[Array, list[Array]]:
    """Sizes in distinct words, int64[B], and of each the energies of known documents, ascending.

    Those that are of a size stand for it; where they are few, longer ones do, cut to it.
    """
    fold, bags, place = judged.fits.fold[known], *shuffled(judged.bags, known, seed)
    size_of = np.diff(bags.offsets)
    sizes = [size for size in SIZES if size == 1 or (size_of >= size).sum() >= FEWEST_LABELED]
    chosen_ones, cuts = [], []
    for size, following in pairwise([*sizes, int(size_of.max()) + 1]):
        documents, longest = np.flatnonzero((size_of >= size) & (size_of < following)), following
        if documents.size < ENOUGH_OF_SIZE:
            documents, longest = np.flatnonzero(size_of >= size), int(np.sqrt(size * following))
        chosen_ones.append(documents)
        cuts.append(cut_to(bags, place, documents, longest))
    taken = np.concatenate(chosen_ones)
    energy = energies_of(judged, joined(cuts), known[taken], fold[taken], threads)
    ends = np.cumsum([documents.size for documents in chosen_ones])
    return np.array(sizes), [np.sort(of_size) for of_size in np.split(energy, ends[:-1])]


def shuffled(bags: WordBags, documents: Array, seed: int) -> tuple[WordBags, Array]:
    """The bags of some documents, and the place int64[E] of each distinct word in a random order of its document's."""
    some, entries = select(bags, documents)
    numbers = numbers_of(stream(seed, 0, 0, Step.CUTS), entries)
    order = np.lexsort((numbers, some.document))
    place = np.empty(entries.size, np.int64)
    place[order] = np.arange(entries.size) - some.offsets[some.document[order]]
    return some, place


def cut_to(bags: WordBags, place: Array, documents: Array, longest: int) -> WordBags:
    """Some documents, each with at most so many of its distinct words: the first ones by their places."""
    some, entries = select(bags, documents)
    stays = np.flatnonzero(place[entries] < longest)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(some.document[stays], minlength=documents.size))])
    weights = None if some.weights is None else some.weights[stays]
    return WordBags(offsets, some.words[stays], some.counts[stays], bags.n_words, weights)


def joined(parts: list[WordBags]) -> WordBags:
    """Bags over the same words, one part behind the other."""
    lengths = np.concatenate([np.diff(part.offsets) for part in parts])
    words, counts = (np.concatenate([getattr(part, name) for part in parts]) for name in ("words", "counts"))
    weights = None if parts[0].weights is None else np.concatenate([part.weights for part in parts])
    return WordBags(np.concatenate([[0], np.cumsum(lengths)]), words, counts, parts[0].n_words, weights)


def energies_of(judged: Judged, some: WordBags, documents: Array, fold: Array, threads: Threads) -> Array:
    """float32[n]: the energies of bags by the fits that left out their folds int64[n], see `answering.energy_of`.

    The bags are of these documents int64[n], whose vectors are beside their words.
    """
    rows, n_categories = some.rows(tf_idf(some, inverse_frequency(judged.bags))), judged.column.size
    rows = judged.columns.of(documents).beside(rows)
    energy, weights = np.zeros(some.n_documents, np.float32), no_weights(rows, n_categories, 1)[0]
    for number, of_fold in enumerate(judged.fits.weights):
        weights[:, :n_categories] = of_fold[:, judged.column]
        energies(rows, np.flatnonzero(fold == number), weights, n_categories, energy, threads.stop)
        threads.check()
    return energy


def novelty_of(judged: Judged, documents: Array, sizes: Array, references: list[Array], threads: Threads) -> Array:
    """float64[n]: the novelty of documents by the fits that left them out."""
    some, _ = select(judged.bags, documents)
    energy = energies_of(judged, some, documents, judged.fits.fold[documents], threads)
    size = np.searchsorted(sizes, np.diff(some.offsets), side="right") - 1
    found = np.zeros(documents.size)
    for number, reference in enumerate(references):
        found[size == number] = novelty_among(reference, energy[size == number])
    return found


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
