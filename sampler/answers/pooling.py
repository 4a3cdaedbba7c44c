"""The pooled answer of several chains, and how stable it is.

New categories have names within one chain only. Those of the chain that agrees best with the others are the reference:
other chains' are carried over to them by the documents that they share.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array, csr_array, lil_array

from sampler.answers.consensus import Consensus, consensus_of, index_categories, most_frequent_answers
from sampler.answers.metrics import ari
from sampler.answers.tally import Tally
from sampler.corpus import NO_CATEGORY, UNLABELED, Array, Corpus
from sampler.numerics.threads import Threads

SIMILAR = 0.5  # Jaccard index from which on a new category is carried over to another chain's
SMALLEST_SHARE = 0.1  # a smaller part of a category's documents is chance, and would fill a row of K entries a document
SHARES = 10**9  # a document's hits in the pooled tally: fits int32, and is finer than the draws of any chain


class Pooled(NamedTuple):
    """The answer of all chains together, and how far each of them would have given it.

    Agreement and stability are those of unlabeled documents: the labeled ones are where they are in every chain.
    """

    consensus: Consensus
    reference: int  # what agrees best with all others: a chain, or what is beside them
    agreement: Array  # float64[C, C], see `agreement`
    stability: Array  # float64[D], see `stability`; 1 for labeled documents, NaN without a category
    category_stability: Array  # float64[K], see `stability`; NaN for a category without unlabeled documents
    shares: csr_array  # float64[D, K], pooled share of the draws in each category; nothing for labeled documents


class SideBySide(NamedTuple):
    """How far each chain would have given an answer that is one chain's."""

    agreement: Array  # float64[C, C]
    stability: Array  # float64[D]
    category_stability: Array  # float64[K]


class Answers(NamedTuple):
    """What one chain says of the unlabeled documents. Of new categories only those exist that are an answer."""

    n_categories: int  # K_c, known ones first, new ones by age
    category: Array  # int64[D], or NO_CATEGORY
    probability: Array  # float64[D], share of the kept draws; 0 without a category
    shares: csr_array  # float64[D, K_c], share of the kept draws in each category


class Overlap(NamedTuple):
    """Pairs of categories of two partitions that have documents in common."""

    first: Array  # int32[P]
    second: Array  # int32[P]
    shared: Array  # float64[P], weight of the documents in both
    jaccard: Array  # float64[P], that weight over the one of the documents in either


def pool(corpus: Corpus, tallies: Sequence[Tally], threads: Threads | None = None) -> Pooled:
    """The answer of the chains that kept these tallies, see `pool_answers`. Without threads nothing interrupts it."""
    threads = threads or Threads()
    return pool_answers(corpus, read_answers(corpus, tallies, threads), threads)


def pool_answers(corpus: Corpus, chains: Sequence[Answers], threads: Threads, beside: Sequence[Answers] = ()) -> Pooled:
    """The answer of the chains that gave these: each probability is the mean over chains.

    What was found `beside` them has a say in the answer as one chain more, where it has one of a document; agreement
    and stability are those of chains. One chain, or equal ones, answer as `consensus_of` does. O(entries of all tallies
    + K_c K) time and memory.
    """
    voices, n_chains = [*chains, *beside], len(chains)
    agreed = agreement([voice.category for voice in voices], threads)
    order = np.argsort(-np.round(agreed.mean(axis=1), 12), kind="stable")  # rounded: equal means may differ in a bit
    tally = merge([voices[c] for c in order], corpus.n_known, threads)
    consensus = consensus_of(corpus, tally)
    of_documents, of_categories = stability(corpus, consensus, chains, threads)
    reference, agreed = int(order[0]), agreed[:n_chains, :n_chains]
    return Pooled(consensus, reference, agreed, of_documents, of_categories, shares_of(corpus, tally, consensus))


def side_by_side(corpus: Corpus, consensus: Consensus, chains: Sequence[Answers], threads: Threads) -> SideBySide:
    """An answer next to those that all chains give."""
    agreed = agreement([chain.category for chain in chains], threads)
    return SideBySide(agreed, *stability(corpus, consensus, chains, threads))


def shares_of(corpus: Corpus, tally: Tally, consensus: Consensus) -> csr_array:
    """float64[D, K]: the share of a tally's draws that each document was in each category of the answer."""
    best, _ = most_frequent_answers(corpus.n_documents, tally.document, tally.identity, tally.hits)
    index = index_categories(corpus.n_known, best[best != NO_CATEGORY], tally.identity)[tally.identity]
    exists = index != NO_CATEGORY
    share = tally.hits[exists] / max(tally.n_draws, 1)
    shape = (corpus.n_documents, consensus.n_categories)
    return csr_array((share, (tally.document[exists], index[exists])), shape=shape)


def read_answers(corpus: Corpus, tallies: Sequence[Tally], threads: Threads) -> list[Answers]:
    """The answers of all chains, without the labels.

    Raises ValueError for no chain, and for one without a kept draw.
    """
    without = [number for number, tally in enumerate(tallies) if tally.n_draws == 0]
    if without or not tallies:
        raise ValueError(f"of {len(tallies)} chains those numbered {without} have kept no draw")
    chains = []
    for tally in tallies:
        threads.check()
        chains.append(answers_of(corpus, tally))
    return chains


def answers_of(corpus: Corpus, tally: Tally) -> Answers:
    """The answers of one chain, without the labels."""
    best, hits = most_frequent_answers(corpus.n_documents, tally.document, tally.identity, tally.hits)
    existing = np.union1d(np.arange(corpus.n_known), best[best != NO_CATEGORY])  # by age, for ties go to the older one
    exists = np.isin(tally.identity, existing)
    entries = (tally.document[exists], np.searchsorted(existing, tally.identity[exists]))
    shares = csr_array((tally.hits[exists] / tally.n_draws, entries), shape=(corpus.n_documents, existing.size))
    category = np.where(best == NO_CATEGORY, NO_CATEGORY, np.searchsorted(existing, best))
    return Answers(existing.size, category, hits / tally.n_draws, shares)


def overlap(first: Array, second: Array, weight: Array) -> Overlap:
    """What two partitions int[D] have in common, over the documents that are NO_CATEGORY in neither. O(D) time."""
    both = (first != NO_CATEGORY) & (second != NO_CATEGORY)
    shape = (int(first.max(initial=0)) + 1, int(second.max(initial=0)) + 1)
    table = coo_array((weight[both], (first[both], second[both])), shape=shape).tocsr().tocoo()  # sums duplicates
    row, column = table.coords
    rows, columns = np.bincount(row, table.data), np.bincount(column, table.data)
    return Overlap(row, column, table.data, table.data / (rows[row] + columns[column] - table.data))


def agreement(partitions: Sequence[Array], threads: Threads) -> Array:
    """float64[C, C]: likeness of each two partitions int[D]."""
    agreed = np.eye(len(partitions))
    for a, b in combinations(range(len(partitions)), 2):
        threads.check()
        agreed[a, b] = agreed[b, a] = likeness(partitions[a], partitions[b])
    return agreed


def likeness(first: Array, second: Array) -> float:
    """Adjusted Rand index of two partitions int[D], blind to names.

    A document that is NO_CATEGORY in either is left out; 1 if none is left.
    """
    both = (first != NO_CATEGORY) & (second != NO_CATEGORY)
    return ari(first[both], second[both]) if both.any() else 1.0


def pairs_of(agreed: Array) -> Array:
    """float64[C (C - 1) / 2]: the agreement of each two chains, of `agreement`."""
    pairs: Array = agreed[np.triu_indices_from(agreed, k=1)]
    return pairs


def merge(chains: Sequence[Answers], n_known: int, threads: Threads) -> Tally:
    """The mean over chains of their shares, the reference first, as a tally of SHARES draws.

    Of a document it is that over the chains that say something of it.
    """
    divisions, counts = carry(chains, n_known, threads)
    n_answers = np.sum([chain.category != NO_CATEGORY for chain in chains], axis=0)
    total = chains[0].shares @ divisions[0]
    for chain, division in zip(chains[1:], divisions[1:], strict=True):
        threads.check()
        total = total + chain.shares @ division
    total.sort_indices()
    document = np.repeat(np.arange(total.shape[0], dtype=np.int32), np.diff(total.indptr))
    hits = np.rint(total.data * (SHARES / n_answers[document])).astype(np.int32)
    kept = (hits > 0) & counts[total.indices]
    return Tally(SHARES, document[kept], total.indices[kept].astype(np.int64), hits[kept])


def carry(chains: Sequence[Answers], n_known: int, threads: Threads) -> tuple[list[csr_array], Array]:
    """How the categories of each chain are divided over the n of all, float64[K_c, n], and which of these count.

    Known categories are themselves. A new category is compared with the new ones of one earlier chain after another,
    and divided over those of the first that has a SIMILAR one. Where none has, it keeps a number of its own, to which
    later chains' may be carried. So what a chain calls new never counts for a known category. Beside those of the first
    chain only new categories that two chains have count: chains that hardly agree would else answer with a patchwork.
    """
    offsets = np.cumsum([0] + [chain.n_categories - n_known for chain in chains])
    counts = np.arange(n_known + offsets[-1]) < chains[0].n_categories
    known = np.arange(n_known)
    kept: list[Array] = []  # of each chain so far, the new categories that keep their numbers
    divisions = []
    for c, chain in enumerate(chains):
        division = lil_array((chain.n_categories, counts.size))
        rest = np.arange(n_known, chain.n_categories)
        for earlier, offset, offered in zip(chains, offsets, kept, strict=False):
            threads.check()
            category, other, share = divide(chain, earlier, rest, offered)
            division[category, other + offset] = share
            counts[other + offset] = True
            rest = np.setdiff1d(rest, category)
        division[known, known] = 1.0
        division[rest, rest + offsets[c]] = 1.0
        kept.append(rest)
        divisions.append(division.tocsr())
    return divisions, counts


def divide(chain: Answers, earlier: Answers, categories: Array, offered: Array) -> tuple[Array, Array, Array]:
    """How some categories are divided over those that an earlier chain offers, if any of these is SIMILAR.

    Returns categories, the earlier chain's categories, and shares that sum to 1 for each of the former. A document
    weighs the probability that two draws, one of each chain, both have its answers.
    """
    table = overlap(chain.category, earlier.category, chain.probability * earlier.probability)
    counts = np.isin(table.first, categories) & np.isin(table.second, offered)
    counts &= np.isin(table.first, table.first[counts & (table.jaccard >= SIMILAR)])
    weight = np.bincount(table.first, table.shared * counts)
    counts &= table.shared >= SMALLEST_SHARE * weight[table.first]
    category, other, shared = table.first[counts], table.second[counts], table.shared[counts]
    return category, other, shared / np.bincount(category, shared)[category]


def stability(corpus: Corpus, consensus: Consensus, chains: Sequence[Answers], threads: Threads) -> tuple[Array, Array]:
    """How much of its company a document keeps, float64[D], and a category of its documents, float64[K].

    Let J be the Jaccard index of the documents that have a pooled category as their answer, and of those that have one
    of a chain's; 0 between a known category and any but itself. A document's stability is the mean over chains and
    kept draws of J between its pooled category and the one that it is in; 0 in a draw in which that is nobody's
    answer. A category's is the mean over chains of its greatest J.
    """
    is_labeled = corpus.labels != UNLABELED
    pooled = np.where(is_labeled, NO_CATEGORY, consensus.category)
    of_document, of_category = np.zeros(corpus.n_documents), np.zeros(consensus.n_categories)
    for chain in chains:
        threads.check()
        table = overlap(pooled, chain.category, np.ones(pooled.size))
        may_match = (table.first == table.second) | (np.minimum(table.first, table.second) >= corpus.n_known)
        alike = np.zeros((consensus.n_categories, chain.n_categories))
        alike[table.first, table.second] = table.jaccard * may_match
        of_category += alike.max(axis=1, initial=0.0)
        document = np.repeat(np.arange(corpus.n_documents), np.diff(chain.shares.indptr))
        kept = chain.shares.data * alike[pooled[document], chain.shares.indices]
        of_document += np.bincount(document, kept, corpus.n_documents)
    of_document[consensus.category == NO_CATEGORY] = np.nan
    of_category[~np.isin(np.arange(consensus.n_categories), pooled)] = np.nan
    return np.where(is_labeled, 1.0, of_document / len(chains)), of_category / len(chains)
