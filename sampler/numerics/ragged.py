"""Rows of varying lengths, one behind another: whether they ascend, and sorted ones."""

from numba import njit


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
