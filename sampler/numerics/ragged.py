"""Rows of varying lengths, one behind another: whether they ascend, and sorted and distinct ones."""

from typing import NamedTuple

import numpy as np
from numba import njit

from sampler.corpus import Array, Corpus


def entries_of(offsets: Array, chosen: Array) -> tuple[Array, Array]:
    """Of the rows that begin at offsets int64[n + 1], some: their own offsets, and int64 where their entries are."""
    lengths = np.diff(offsets)[chosen]
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return ends, np.repeat(offsets[chosen] - ends[:-1], lengths) + np.arange(ends[-1])


@njit(cache=True, nogil=True)
def ascend(corpus):
    """Whether the words of every document ascend."""
    for d in range(corpus.labels.size):
        for i in range(corpus.offsets[d] + 1, corpus.offsets[d + 1]):
            if corpus.words[i] < corpus.words[i - 1]:
                return False
    return True


@njit(cache=True, nogil=True)
def sorted_words(corpus):
    """int32[N]: the words of the corpus, in each document ascending."""
    words = corpus.words.copy()
    for d in range(corpus.labels.size):
        words[corpus.offsets[d] : corpus.offsets[d + 1]].sort()
    return words


class DistinctWords(NamedTuple):
    """Each word of a document once, ascending, with how often it is there; E in all."""

    offsets: Array  # int64[D + 1]
    words: Array  # int32[E]
    counts: Array  # int32[E]


def distinct_words(corpus: Corpus) -> DistinctWords:
    """The distinct words of D documents. Only a corpus whose words do not ascend yet is sorted."""
    in_order = corpus.words if ascend(corpus) else sorted_words(corpus)
    offsets = count_distinct(in_order, corpus.offsets)
    words, counts = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], np.int32)
    fill(in_order, corpus.offsets, offsets, words, counts)
    return DistinctWords(offsets, words, counts)


@njit(cache=True, nogil=True)
def count_distinct(words, offsets):
    """int64[D + 1]: where the distinct ones of each document's ascending words begin."""
    ends = np.zeros(offsets.size, np.int64)
    for d in range(offsets.size - 1):
        n_distinct = 0
        for i in range(offsets[d], offsets[d + 1]):
            n_distinct += i == offsets[d] or words[i] != words[i - 1]
        ends[d + 1] = ends[d] + n_distinct
    return ends


@njit(cache=True, nogil=True)
def fill(words, offsets, ends, distinct, counts):
    """Write the distinct ones of each document's ascending words, and their numbers."""
    for d in range(offsets.size - 1):
        e = ends[d] - 1
        for i in range(offsets[d], offsets[d + 1]):
            if i == offsets[d] or words[i] != words[i - 1]:
                e += 1
                distinct[e], counts[e] = words[i], 0
            counts[e] += 1
