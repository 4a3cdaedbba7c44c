"""The words of groups of documents: which ones stand for a group, and which tell two groups apart."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from sampler.corpus import Array, Corpus
from sampler.numerics.ragged import distinct_words
from sampler.numerics.threads import Threads

RELEVANCE = 0.6  # weight of a word's probability against its lift (Sievert and Shirley 2014)
BACKGROUND = 0.1  # of a smoothed distribution: so much is the corpus', so that a word that a group lacks has a chance
COMMON = 0.05  # share of a group's documents that hold a word which is listed for its lift: rarer ones are names
ENTRIES_AT_ONCE = 2**22  # of a dense table
DOCUMENTS_AT_ONCE = 2**16


class GroupWords(NamedTuple):
    """The words of G groups of documents, and of the corpus that they are taken from."""

    tokens: csr_array  # int64[G, V], ascending words in each row
    holders: csr_array  # int64[G, V], documents of the group that hold the word; of the same words
    sizes: Array  # int64[G], documents
    corpus: Array  # int64[V], tokens of all documents, of none of the groups as well

    @property
    def totals(self) -> Array:
        """int64[G], tokens of each group."""
        totals: Array = np.asarray(self.tokens.sum(axis=1)).ravel()
        return totals

    @property
    def background(self) -> Array:
        """float64[V], share of each word in the corpus."""
        share: Array = self.corpus / max(int(self.corpus.sum()), 1)
        return share

    def row(self, group: int) -> tuple[Array, Array, Array]:
        """The words of a group, its tokens of each, and how many of its documents hold it."""
        first, end = self.tokens.indptr[group : group + 2]
        return self.tokens.indices[first:end], self.tokens.data[first:end], self.holders.data[first:end]

    def smoothed(self, group: int) -> Array:
        """float64[V]: the distribution of words in a group, BACKGROUND of it the corpus'."""
        words, tokens, _ = self.row(group)
        share = BACKGROUND * self.background
        share[words] += (1.0 - BACKGROUND) * tokens / max(int(tokens.sum()), 1)
        return share


def word_counts(corpus: Corpus) -> csr_array:
    """int32[D, V]: how often each document has each word."""
    found = distinct_words(corpus)
    return csr_array((found.counts, found.words, found.offsets), shape=(corpus.n_documents, corpus.n_words))


def group_words(counts: csr_array, group: Array, n_groups: int, threads: Threads | None = None) -> GroupWords:
    """The words of groups int[D]; documents of a negative one are in none. `counts` are those of `word_counts`.

    Without threads nothing interrupts it.
    """
    shape = (n_groups, counts.shape[1])
    tokens, holders = csr_array(shape, dtype=np.int64), csr_array(shape, dtype=np.int64)
    documents = np.flatnonzero(group >= 0)
    for some in (threads or Threads()).slices(documents.size, DOCUMENTS_AT_ONCE):
        rows = counts[documents[some]]
        ones = np.ones(rows.shape[0], np.int64)
        belongs = csr_array((ones, (group[documents[some]], np.arange(ones.size))), shape=(n_groups, ones.size))
        tokens = tokens + belongs @ rows
        rows.data = np.ones(rows.data.size, np.int64)
        holders = holders + belongs @ rows
    tokens.sort_indices()
    holders.sort_indices()
    sizes = np.bincount(group[documents], minlength=n_groups)
    return GroupWords(tokens, holders, sizes, np.asarray(counts.sum(axis=0)).ravel())


def joined(words: GroupWords, members: csr_array) -> GroupWords:
    """The words of groups that consist of others, int64[G', G] with ones."""
    tokens, holders = members @ words.tokens, members @ words.holders
    tokens.sort_indices()
    holders.sort_indices()
    return GroupWords(tokens, holders, members @ words.sizes, words.corpus)


def relevant_words(words: GroupWords, n: int, threads: Threads | None = None) -> Iterator[list[tuple[int, int]]]:
    """For each group up to `n` words with the number of its documents that hold them, best first.

    Words are ranked by relevance, RELEVANCE log p(w | k) + (1 - RELEVANCE) log p(w | k) / p(w); words of one document
    in a group of several are left out. Without threads nothing interrupts it.
    """
    threads = threads or Threads()
    n_tokens = max(int(words.corpus.sum()), 1)
    for group in range(words.sizes.size):
        threads.check()
        word, tokens, holders = words.row(group)
        total = max(int(tokens.sum()), 1)
        held = holders >= min(2, max(int(words.sizes[group]), 1))
        word, tokens, holders = word[held], tokens[held], holders[held]
        log_share = np.log(tokens / total)
        log_lift = log_share - np.log(words.corpus[word] / n_tokens)
        relevance = RELEVANCE * log_share + (1.0 - RELEVANCE) * log_lift
        best = np.lexsort((word, -relevance))[:n]
        yield [(int(word[i]), int(holders[i])) for i in best]


class RankedWord(NamedTuple):
    """A word of a group."""

    word: int
    share: float  # of the group's tokens
    lift: float  # that share over the word's share of the corpus' tokens


def most_probable(words: GroupWords, group: int, n: int) -> list[RankedWord]:
    """Up to `n` words of a group, the most frequent first."""
    word, tokens, _ = words.row(group)
    return ranked(words, group, np.lexsort((word, -tokens))[:n])


def most_lifted(words: GroupWords, group: int, n: int) -> list[RankedWord]:
    """Up to `n` words of a group that are more frequent in it than elsewhere, by how much.

    Only words that COMMON of its documents hold, and in a group of several at least two.
    """
    word, tokens, holders = words.row(group)
    size = int(words.sizes[group])
    held = np.flatnonzero(holders >= max(COMMON * size, min(2, size)))
    lift = tokens[held] / words.corpus[word[held]]
    return ranked(words, group, held[np.lexsort((word[held], -tokens[held], -lift))][:n])


def ranked(words: GroupWords, group: int, chosen: Array) -> list[RankedWord]:
    """Some of a group's words, by their places in its row."""
    word, tokens, _ = words.row(group)
    n_tokens, total = int(words.corpus.sum()), int(tokens.sum())
    share = tokens[chosen] / max(total, 1)
    lift = share / (words.corpus[word[chosen]] / max(n_tokens, 1))
    return [RankedWord(*found) for found in zip(word[chosen].tolist(), share.tolist(), lift.tolist(), strict=True)]


def distances(words: GroupWords, threads: Threads | None = None) -> Array:
    """float64[G, G]: Hellinger distance of each two groups' smoothed distributions, 0 if they are equal, below 1.

    sqrt(1 - sum over words of sqrt(p_w q_w)). O(G^2 V) time. NaN for groups without a token.
    """
    threads = threads or Threads()
    n_groups = words.sizes.size
    columns, totals = words.tokens.tocsc(), np.maximum(words.totals, 1)[:, None]
    background, affinity = BACKGROUND * words.background, np.zeros((n_groups, n_groups))
    step = max(ENTRIES_AT_ONCE // max(n_groups, 1), 1)
    for first in range(0, background.size, step):
        threads.check()
        share = (1.0 - BACKGROUND) * columns[:, first : first + step].toarray() / totals
        root = np.sqrt(share + background[first : first + step])
        affinity += root @ root.T
    distance = np.sqrt(np.clip(1.0 - affinity, 0.0, 1.0))
    is_empty = words.totals == 0
    distance[is_empty, :] = distance[:, is_empty] = np.nan
    return np.round(distance, 6)  # the last bits depend on the library


def telling_words(words: GroupWords, group: int, other: int, n: int) -> list[tuple[int, float, float]]:
    """Up to `n` words that speak for a group rather than another, with their share of the tokens of either.

    Ranked by what they add to the divergence, p_w log(p_w / q_w), of the smoothed distributions; words of one document
    in a group of several are left out.
    """
    word, tokens, holders = words.row(group)
    own, others = words.smoothed(group)[word], words.smoothed(other)[word]
    told = own * np.log(own / others)
    told[(holders < min(2, int(words.sizes[group]))) | (told <= 0.0)] = -1.0
    best = np.lexsort((word, -told))[:n]
    best = best[told[best] > 0.0]
    theirs = words.tokens[[other]].toarray().ravel()
    share, their_share = tokens / max(int(tokens.sum()), 1), theirs[word] / max(int(theirs.sum()), 1)
    return [(int(word[i]), float(share[i]), float(their_share[i])) for i in best]
