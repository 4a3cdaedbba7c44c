"""What the blocked sampler reads and writes: bags of words, categories of tokens, counts, drawn parameters.

Letters as in docs/model.md; U unlabeled documents that have a word, N_u their tokens, P their pairs of a document
and a word, S slots for categories, a multiple of LANES. Known categories have the first slots; a new one takes any
other. A slot is served, a candidate of this sweep, or unused.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from scipy.special import gammaln

from sampler.corpus import UNLABELED, Array
from sampler.numerics.ragged import ascend, sorted_words
from sampler.numerics.simd import aligned_rows

MIXED = np.uint16(65_535)  # of a document whose tokens are not all in one category
MAX_SLOTS = 65_504
MAX_COUNT = 255  # of a pair: more occurrences make further pairs
NOT_WRITTEN = -1  # a place in an array where nothing is to be written
FIXED_POINT = 2.0**20  # log factorials are summed as integers, which do not care in what order


class Bags(NamedTuple):
    """The unlabeled documents that have a word, as bags of words; made once from the corpus, never changed.

    A pair is a run of equal words in a document. Only its length is stored, so that corpus and state together take
    less than 8 bytes a token.
    """

    document: Array  # int32[U], index of each in the corpus, ascending
    first_word: Array  # int64[U], where its words begin in `words`
    first_token: Array  # int64[U + 1], where its tokens begin in Placements.token
    first_pair: Array  # int64[U + 1], where its pairs begin in `counts`
    words: Array  # int32[N], the corpus's own if they ascend within each document
    counts: Array  # uint8[P], occurrences


class Placements(NamedTuple):
    """The category of every token of the bags."""

    whole: Array  # uint16[U], category of all tokens of a document, or MIXED
    token: Array  # uint16[N_u], category of each token; holds only where whole is MIXED


class Sizes(NamedTuple):
    """Functions of a number of tokens n, for n up to the longest document."""

    harmonic: Array  # float64[n + 1], 1 + 1/2 + ... + 1/n
    log_seats: Array  # int64[n + 1], log (n - 1)! in fixed point


class Documents(NamedTuple):
    """The unlabeled documents and where they are, as the steps of a sweep take them."""

    bags: Bags
    placements: Placements
    sizes: Sizes
    one_table: Array  # bool[U], those that the documents' step has left at a single table


class WordTopics(NamedTuple):
    """Topics of each word with the number of its tokens, O_lw where it is not zero."""

    topic: Array  # uint16[V, L], the first `size[w]` of each row hold
    tokens: Array  # int32[V, L]
    size: Array  # int32[V]


class BlockedCounts(NamedTuple):
    """What follows from the placements, the tables and the topics; labeled documents are counted in."""

    category_word: Array  # int32[V, S], tokens of each word in each category
    category_tables: Array  # int64[S], m_k
    log_seats: Array  # int64[S], sum over a category's unlabeled tables of log (n - 1)!, times FIXED_POINT
    category_topic: Array  # int64[S, L], O_kl
    word_topics: WordTopics
    topic_tokens: Array  # int64[L], O_l


class Drawn(NamedTuple):
    """Parameters of one sweep, drawn explicitly.

    phi is sparse: of each word only the topics whose weight is not negligible, those with a count first.
    """

    stick: Array  # float64[S], b_k of a served or candidate category, 0 of an unused slot
    mixture: Array  # float32[L, S], theta_kl over the topic's norm, so that phi needs none
    topic: Array  # uint16[V, L], the first `size[w]` of each row hold
    weight: Array  # float32[V, L], phi_lw times the topic's norm, beside `topic`
    size: Array  # int32[V]
    counted: Array  # int32[V], how many of a row have a count O_lw > 0; they come first
    chance: Array  # float32[V, S], p(w | k) with topics summed out: M


class Categories(NamedTuple):
    """What moves between categories read and write."""

    counts: BlockedCounts
    drawn: Drawn
    norm: Array  # float64[L], what `drawn.mixture` was divided by
    labeled_tables: Array  # int64[S], labeled documents with a word
    numbers: Array  # int64[S], identity
    n_known: int  # of the slots, the first


@njit(cache=True, nogil=True)
def count_pairs(words, first, end, counts, p):
    """Write the runs of equal words of a document from counts[p] on, unless p is NOT_WRITTEN; return how many."""
    n, run = 0, 0
    for i in range(first, end):
        if i == first or words[i] != words[i - 1] or run == MAX_COUNT:
            n, run = n + 1, 0
        run += 1
        if p != NOT_WRITTEN:
            counts[p + n - 1] = run
    return n


@njit(cache=True, nogil=True)
def bags_of(corpus):
    """The bags of a corpus. O(N) time and O(P) space, but O(N log n) and O(N) if its documents are not sorted."""
    words = corpus.words if ascend(corpus) else sorted_words(corpus)
    lengths = np.diff(corpus.offsets)
    document = np.flatnonzero((corpus.labels == UNLABELED) & (lengths > 0)).astype(np.int32)
    first_pair, first_token = np.zeros(document.size + 1, np.int64), np.zeros(document.size + 1, np.int64)
    counts = np.empty(0, np.uint8)
    for u in range(document.size):
        first, end = corpus.offsets[document[u]], corpus.offsets[document[u] + 1]
        first_token[u + 1] = first_token[u] + end - first
        first_pair[u + 1] = first_pair[u] + count_pairs(words, first, end, counts, NOT_WRITTEN)
    counts = np.empty(first_pair[-1], np.uint8)
    for u in range(document.size):
        count_pairs(words, corpus.offsets[document[u]], corpus.offsets[document[u] + 1], counts, first_pair[u])
    return Bags(document, corpus.offsets[document], first_token, first_pair, words, counts)


def sizes_of(bags: Bags) -> Sizes:
    """Functions of sizes up to the longest document."""
    n = np.arange(int(np.diff(bags.first_token).max(initial=0)) + 1)
    harmonic = np.concatenate([[0.0], np.cumsum(1.0 / n[1:])])
    return Sizes(harmonic, np.rint(gammaln(np.maximum(n, 1)) * FIXED_POINT).astype(np.int64))


@njit(cache=True, nogil=True)
def count_words(corpus, bags, placements, n_slots):
    """int32[V, S]: tokens of each word in each category, labeled documents too."""
    category_word = aligned_rows(corpus.n_words, n_slots).view(np.int32)
    for d in range(corpus.labels.size):
        if corpus.labels[d] != UNLABELED:
            for i in range(corpus.offsets[d], corpus.offsets[d + 1]):
                category_word[corpus.words[i], corpus.labels[d]] += 1
    for u in range(bags.document.size):
        whole = placements.whole[u]
        for i in range(bags.first_token[u], bags.first_token[u + 1]):
            w = bags.words[bags.first_word[u] + i - bags.first_token[u]]
            category_word[w, whole if whole != MIXED else placements.token[i]] += 1
    return category_word


@njit(cache=True, nogil=True, inline="always")
def count_equal(tokens, first, end, category):
    """How many of the tokens are of a category: all at once, as one by one each would wait for the count it adds to."""
    n = np.int32(0)
    for i in range(first, end):
        n += np.int32(tokens[i] == category)
    return n


@njit(cache=True, nogil=True)
def relabel(placements, slot):
    """Give every category its new slot, uint16[S], in place."""
    for u in range(placements.whole.size):
        if placements.whole[u] != MIXED:
            placements.whole[u] = slot[placements.whole[u]]
    for i in range(placements.token.size):
        if placements.token[i] < slot.size:  # where the document is whole there may stand anything
            placements.token[i] = slot[placements.token[i]]


@njit(cache=True, nogil=True)
def word_topics(counts):
    """Rows of the counts int32[V, L] that are not zero."""
    n_words, n_topics = counts.shape
    rows = WordTopics(
        np.zeros((n_words, n_topics), np.uint16), np.zeros((n_words, n_topics), np.int32), np.zeros(n_words, np.int32)
    )
    for w in range(n_words):
        for topic in range(n_topics):
            if counts[w, topic] > 0:
                rows.topic[w, rows.size[w]] = topic
                rows.tokens[w, rows.size[w]] = counts[w, topic]
                rows.size[w] += 1
    return rows


def count_topics(rows: WordTopics) -> Array:
    """int64[V, L]: the counts whose rows these are; a topic that stands twice in a row counts once."""
    counts = np.zeros(rows.topic.shape, np.int64)
    held = np.arange(rows.topic.shape[1]) < rows.size[:, np.newaxis]
    counts[np.nonzero(held)[0], rows.topic[held]] = rows.tokens[held]
    return counts
