"""Portraits of categories: their words, the documents that stand for them and those at the edge, and their size."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from sampler.answers import words as of_words
from sampler.answers.consensus import Consensus
from sampler.answers.words import BACKGROUND, GroupWords, RankedWord
from sampler.corpus import NO_CATEGORY, UNLABELED, Array
from sampler.numerics.threads import Threads

N_WORDS, N_TELLING = 10, 5
N_DOCUMENTS = 5
ALIKE = (0.5, 0.8)  # Jaccard index of the words of two documents, of which one is shown; the first if there are enough
TRIED = 50  # documents, the best first, among which unlike ones are sought
LONGEST = 0.9  # quantile of the lengths of a category's documents: what is longer is not read
# Chosen on four benchmark problems, where the interval holds the true number of 49 categories of 52 (of 44 with 0.5);
# on four others it holds that of 32 of 37.
IN_COMMON = 0.75
NORMAL_90 = 1.6448536269514722  # from the 5 % to the 95 % quantile of a normal distribution, half of it


class Nearest(NamedTuple):
    """The category whose words are most like those of another one."""

    category: int
    distance: float  # see `words.distances`
    own_words: list[tuple[int, float, float]]  # that speak against it, see `words.telling_words`
    its_words: list[tuple[int, float, float]]  # that speak for it: share in it, then share here


class Portrait(NamedTuple):
    """What is told of a category beside its name."""

    by_probability: list[RankedWord]
    by_lift: list[RankedWord]
    representative: Array  # int64[...], documents that are most like what the category's others say
    edge: Array  # int64[...], unlabeled documents that are nearest to being of another category, the nearest first
    size_interval: tuple[int, int]  # that holds its number of unlabeled documents with 90 % probability
    nearest: Nearest | None  # none if there is no other category with a word


def portraits(
    counts: csr_array, words: GroupWords, distance: Array, labels: Array, consensus: Consensus, weight: Array,
    threads: Threads | None = None,
) -> list[Portrait]:  # fmt: skip
    """A portrait of each category of an answer.

    `counts` int32[D, V] are those of `word_counts`, `words` those of the categories, with their `distances` float64[K,
    K]; `weight` int64[D] is how many unlabeled documents each stands for. O(entries of counts + K^2) time. Without
    threads nothing interrupts it.
    """
    threads = threads or Threads()
    sizes = size_intervals(consensus, weight)
    found = []
    for category in range(consensus.n_categories):
        threads.check()
        members = np.flatnonzero(consensus.category == category)
        representative = representatives(counts, words, category, members, consensus.probability[members])
        others = np.setdiff1d(members[labels[members] == UNLABELED], representative)
        found.append(
            Portrait(
                of_words.most_probable(words, category, N_WORDS),
                of_words.most_lifted(words, category, N_WORDS),
                representative,
                at_the_edge(counts, others, consensus),
                sizes[category],
                nearest(words, category, distance),
            )
        )
    return found


def nearest(words: GroupWords, category: int, distance: Array) -> Nearest | None:
    """The category at the smallest distance, the first of several."""
    others = distance[category].copy()
    others[category] = np.nan
    if np.isnan(others).all():
        return None
    other = int(np.nanargmin(others))
    return Nearest(
        other,
        float(others[other]),
        of_words.telling_words(words, category, other, N_TELLING),
        of_words.telling_words(words, other, category, N_TELLING),
    )


def size_intervals(consensus: Consensus, weight: Array) -> list[tuple[int, int]]:
    """For each category the 90 % interval of its number of unlabeled documents, around the number that the answer has.

    Two errors add up, both by the probabilities of the answer. Each document may be wrongly in or out, independently
    of the others. And documents err together, when the category is another one than the answer has: IN_COMMON of
    those that the category has wrongly, sum of 1 - p, is taken for a standard deviation. A labeled text stands for
    its unlabeled copies, which are sure.
    """
    has_category = consensus.category != NO_CATEGORY
    size, wrong, variance = (np.zeros(consensus.n_categories) for _ in range(3))
    np.add.at(size, consensus.category[has_category], weight[has_category])
    np.add.at(wrong, consensus.category[has_category], (weight * (1.0 - consensus.probability))[has_category])
    for category, probability in (
        (consensus.category, consensus.probability),
        (consensus.runner_up, consensus.runner_up_probability),
    ):
        is_there = has_category & (category != NO_CATEGORY) & ~np.isnan(probability)
        p = probability[is_there]
        np.add.at(variance, category[is_there], p * (1.0 - p) * weight[is_there].astype(np.float64) ** 2)
    half = NORMAL_90 * np.sqrt(variance + (IN_COMMON * wrong) ** 2)
    low = np.floor(np.maximum(size - half, 0.0))
    high = np.ceil(np.minimum(size + half, float(weight[has_category].sum())))
    return [(int(a), int(b)) for a, b in zip(low, high, strict=True)]


def representatives(
    counts: csr_array, words: GroupWords, category: int, members: Array, probability: Array
) -> Array:  # fmt: skip
    """int64[N_DOCUMENTS or fewer]: the most typical of a category's documents, no two of them ALIKE.

    Not shorter than half of its documents nor longer than nearly all, and as probable as half of them, if there are
    such.
    """
    rows = counts[members]
    lengths = np.asarray(rows.sum(axis=1)).ravel()
    has_words = np.flatnonzero(lengths > 0)
    if has_words.size == 0:
        return members[:0]
    rows, lengths, members = rows[has_words], lengths[has_words], members[has_words]
    sure = np.where(np.isnan(probability[has_words]), 0.0, probability[has_words])
    is_usual = (lengths >= np.median(lengths)) & (lengths <= np.quantile(lengths, LONGEST)) & (sure >= np.median(sure))
    order = np.lexsort((-typicality(rows, lengths, words, category), ~is_usual))
    return members[order[unlike_ones(rows, order)]]


def typicality(rows: csr_array, lengths: Array, words: GroupWords, category: int) -> Array:
    """float64[n]: how well a category's other documents predict the words of each of these of its documents.

    The mean log lift of a document's words in the category without it, a word that it has c times weighing log(1 + c).
    So a word that the document alone has speaks against it.
    """
    document = np.repeat(np.arange(lengths.size), np.diff(rows.indptr))
    own, in_category, all_of_it = rows.data, np.zeros(rows.shape[1]), float(words.totals[category])
    word, tokens, _ = words.row(category)
    in_category[word] = tokens
    share = (in_category[rows.indices] - own) / np.maximum(all_of_it - lengths, 1.0)[document]
    log_lift = np.log(BACKGROUND + (1.0 - BACKGROUND) * share / words.background[rows.indices])
    weight = np.log1p(own)
    total = np.bincount(document, weight * log_lift, lengths.size)
    mean: Array = total / np.bincount(document, weight, lengths.size)
    return mean


def at_the_edge(counts: csr_array, members: Array, consensus: Consensus) -> Array:
    """int64[N_DOCUMENTS or fewer]: those of some documents whose runner-up is nearly as probable, no two ALIKE."""
    other = np.where(np.isnan(consensus.runner_up_probability[members]), 0.0, consensus.runner_up_probability[members])
    margin = consensus.probability[members] - other
    order = np.argsort(margin, kind="stable")[:TRIED]
    order = order[~np.isnan(margin[order])]
    nearest_ones = members[order]
    chosen: Array = nearest_ones[unlike_ones(counts[nearest_ones], np.arange(nearest_ones.size))]
    return chosen


def unlike_ones(rows: csr_array, order: Array) -> list[int]:
    """Places in `order`, ascending, of N_DOCUMENTS rows or fewer among the first TRIED.

    The first ones of which no two share half of their words; if those are too few, the first ones that are no copies.
    """
    tried = order[:TRIED].tolist()
    words = [rows.indices[rows.indptr[row] : rows.indptr[row + 1]] for row in tried]
    chosen: list[int] = []
    for limit in ALIKE:
        for place, own in enumerate(words):
            if len(chosen) < N_DOCUMENTS and all(jaccard(own, words[other]) < limit for other in chosen):
                chosen.append(place)
    return sorted(chosen)


def jaccard(first: Array, second: Array) -> float:
    """Jaccard index of two sets of words; 0 of empty ones."""
    shared = np.intersect1d(first, second, assume_unique=True).size
    either = first.size + second.size - shared
    return shared / either if either else 0.0
