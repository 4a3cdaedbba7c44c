"""What the tests of splits and merges share: the state that an attempt takes, written by hand, and read again."""

import itertools
from typing import NamedTuple

import numpy as np

from sampler.corpus import UNLABELED, Array, Corpus
from sampler.lbpl_ntm.blocked.arrays import (
    MIXED,
    BlockedCounts,
    Categories,
    Documents,
    Drawn,
    Placements,
    WordTopics,
    bags_of,
    count_words,
    sizes_of,
)
from sampler.numerics.simd import LANES
from tests.sampler import exact, harness

N_SLOTS = LANES


class Setting(NamedTuple):
    """What an attempt takes."""

    documents: Documents
    categories: Categories


def setting(corpus: Corpus, token_category: Array, theta: Array, phi: Array, rng: np.random.Generator) -> Setting:
    """Categories int[N] of the tokens, theta float[S, L] and phi float[L, V] as an attempt takes them.

    Each document has one table a category. Topics stand in any order in a word's row, and their norms are any.
    The words of unlabeled documents must ascend.
    """
    bags = bags_of(corpus)
    documents = np.array(exact.document_of(corpus), np.int64)
    is_labeled = corpus.labels[documents] != UNLABELED
    token = token_category[~is_labeled].astype(np.uint16)
    whole = np.full(bags.document.size, MIXED, np.uint16)
    for u in range(whole.size):
        own = token[bags.first_token[u] : bags.first_token[u + 1]]
        if (own == own[0]).all():
            whole[u] = own[0]
    placements = Placements(whole, token)
    labeled = np.unique(documents[is_labeled])
    labeled_tables = np.bincount(corpus.labels[labeled], minlength=N_SLOTS)
    pairs = {(int(d), int(k)) for d, k in zip(documents, token_category, strict=True)}
    n_topics = phi.shape[0]
    counts = BlockedCounts(
        count_words(corpus, bags, placements, N_SLOTS),
        np.bincount([k for _, k in pairs], minlength=N_SLOTS),
        np.zeros(N_SLOTS, np.int64),
        np.zeros((N_SLOTS, n_topics), np.int64),
        WordTopics(
            np.zeros((corpus.n_words, n_topics), np.uint16),
            np.zeros((corpus.n_words, n_topics), np.int32),
            np.zeros(corpus.n_words, np.int32),
        ),
        np.zeros(n_topics, np.int64),
    )
    norm = rng.uniform(0.5, 2.0, n_topics)
    topic = np.array([rng.permutation(n_topics) for _ in range(corpus.n_words)], np.uint16)
    stick = np.where(counts.category_tables > 0, 0.5 / N_SLOTS, 0.0)
    drawn = Drawn(
        stick,
        np.ascontiguousarray((theta / norm).T.astype(np.float32)),
        topic,
        np.take_along_axis((phi.T * norm).astype(np.float32), topic.astype(np.int64), axis=1),
        np.full(corpus.n_words, n_topics, np.int32),
        rng.integers(0, n_topics + 1, corpus.n_words).astype(np.int32),
        np.zeros((corpus.n_words, N_SLOTS), np.float32),
    )
    one_table, numbers = np.zeros(whole.size, np.bool_), np.arange(N_SLOTS)
    return Setting(
        Documents(bags, placements, sizes_of(bags), one_table),
        Categories(counts, drawn, norm, labeled_tables, numbers, corpus.n_known),
    )


def ascending(corpus: Corpus) -> Corpus:
    """The corpus with the words of each document in order."""
    documents = [sorted(corpus.words[a:b].tolist()) for a, b in itertools.pairwise(corpus.offsets)]
    return harness.corpus_of(documents, corpus.labels.tolist(), corpus.n_words, corpus.n_known)


def category_of_tokens(corpus: Corpus, at: Setting) -> Array:
    """int64[N]"""
    categories = np.empty(corpus.n_tokens, np.int64)
    u = 0
    for d, (first, end) in enumerate(itertools.pairwise(corpus.offsets)):
        if corpus.labels[d] != UNLABELED:
            categories[first:end] = corpus.labels[d]
        elif end > first:
            whole, own = (
                at.documents.placements.whole[u],
                slice(at.documents.bags.first_token[u], at.documents.bags.first_token[u + 1]),
            )
            categories[first:end] = at.documents.placements.token[own] if whole == MIXED else whole
            u += 1
    return categories
