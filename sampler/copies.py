"""Copies: documents with the words of another one, all of them or nearly. Each text is taken once by every model.

Copies are no independent evidence: n copies of a letter would look like a tight group of n, and a fold that leaves one
of them out would see its label at another. So models are given the distinct texts, and a document has the answer of its
text: equal texts have equal answers.

Near copies are found by MinHash (Broder 1997) and banding (Indyk and Motwani 1998), and held against the documents
themselves: two are near if the Jaccard index of their bags of words is NEAR or more,

    sum over words of min(n_w, m_w)  /  sum over words of max(n_w, m_w)

A document joins the text that it is most like among those of earlier documents, and is itself a text if it is like
none; so likeness is not passed on from copy to copy.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numba import njit

from sampler.corpus import UNLABELED, Array, Corpus
from sampler.numerics.ragged import distinct_words, entries_of
from sampler.numerics.streams import GOLDEN, mix
from sampler.numerics.threads import Threads, is_raised

NEAR = 0.8
# A pair with Jaccard index s of its sets of words meets in a band with the chance 1 - (1 - s^ROWS)^BANDS: .9996 for .8.
BANDS, ROWS = 20, 5
TRIED = 16  # texts of a band, the latest first, that a document is compared with: of boilerplate there are thousands
DOCUMENTS_AT_ONCE = 4_096  # between two looks at the flag


class Texts(NamedTuple):
    """The distinct texts of D documents."""

    corpus: Corpus  # of T texts; its labels are those that most of a text's labeled documents have
    text_of: Array  # int32[D], the text of each document
    first: Array  # int64[T], ascending: the document that each text is taken from
    labels: Array  # int32[D], of the documents themselves
    label_share: Array  # float64[T], share of a text's labeled documents that have its label; 1 if none is labeled


def texts_from(corpus: Corpus, copy_of: Array) -> Texts:
    """The texts of a corpus of which it is known which documents are copies, see `find_copies`.

    A corpus without copies is not copied.
    """
    is_text = copy_of == np.arange(copy_of.size)
    first = np.flatnonzero(is_text)
    text_of = (np.cumsum(is_text) - 1)[copy_of].astype(np.int32)
    words, offsets = corpus.words, corpus.offsets
    if first.size < copy_of.size:
        offsets, tokens = entries_of(corpus.offsets, first)
        words = corpus.words[tokens]
    return labeled_texts(words, offsets, text_of, corpus.labels, corpus.n_words, corpus.n_known)


def labeled_texts(words: Array, offsets: Array, text_of: Array, labels: Array, n_words: int, n_known: int) -> Texts:
    """Texts, words int32[N] with their offsets int64[T + 1], of the documents that have labels int32[D]."""
    n_texts = offsets.size - 1
    first = np.full(n_texts, text_of.size)
    np.minimum.at(first, text_of, np.arange(text_of.size))
    if n_texts == text_of.size:
        of_texts, share = labels, np.ones(n_texts)
    else:
        of_texts, share = most_frequent_labels(labels, text_of, n_texts, n_known)
    return Texts(Corpus(words, offsets, of_texts, n_words, n_known), text_of, first, labels, share)


def most_frequent_labels(labels: Array, text_of: Array, n_texts: int, n_known: int) -> tuple[Array, Array]:
    """int32[T]: the label of most of a text's labeled documents, the first of equally many; float64[T]: their share.

    UNLABELED and 1 if none is labeled.
    """
    found, share = np.full(n_texts, UNLABELED, np.int32), np.ones(n_texts)
    labeled = np.flatnonzero(labels != UNLABELED)
    pairs = text_of[labeled].astype(np.int64) * max(n_known, 1) + labels[labeled]
    pair, n = np.unique(pairs, return_counts=True)
    text, label = np.divmod(pair, max(n_known, 1))
    order = np.lexsort((-label, n))  # what is written last stays
    found[text[order]] = label[order]
    share[text[order]] = (n / np.bincount(text, n, n_texts)[text])[order]
    return found, share


def contradictions(texts: Texts) -> Iterator[tuple[int, float, int, float]]:
    """Labeled documents with a copy that has another label.

    Of each its number, the share of its text's labels that are like its own, the label that most of the others have,
    and its share.
    """
    labeled = np.flatnonzero((texts.labels != UNLABELED) & (texts.label_share[texts.text_of] < 1.0))
    held: dict[int, Counter[int]] = defaultdict(Counter)
    for text, label in zip(texts.text_of[labeled].tolist(), texts.labels[labeled].tolist(), strict=True):
        held[text][label] += 1
    for d in labeled.tolist():
        labels, own = held[int(texts.text_of[d])], int(texts.labels[d])
        other, n = max(
            ((label, n) for label, n in labels.items() if label != own), key=lambda held: (held[1], -held[0])
        )
        yield d, labels[own] / labels.total(), other, n / labels.total()


def find_copies(corpus: Corpus, threads: Threads | None = None) -> Array:
    """int32[D]: the document that each is a copy of, always an earlier one that is no copy; of the others, themselves.

    Documents without a word are copies of none. Without threads nothing interrupts it. O(N) time; O(D) memory: 400
    bytes a document with a word.
    """
    threads = threads or Threads()
    copy_of = np.arange(corpus.n_documents, dtype=np.int32)
    with_words = np.flatnonzero(corpus.lengths > 0)
    if with_words.size < 2:
        return copy_of
    bags = distinct_words(corpus)
    bands, marks = np.empty((BANDS, with_words.size), np.uint64), np.empty(with_words.size, np.uint64)

    def hash_some(thread: int, first: int, end: int) -> None:
        hash_documents(bags, with_words[first:end], bands[:, first:end], marks[first:end])

    ranges = [(n, min(n + DOCUMENTS_AT_ONCE, with_words.size)) for n in range(0, with_words.size, DOCUMENTS_AT_ONCE)]
    threads.share(hash_some, ranges)
    buckets = np.empty((with_words.size, BANDS), np.int32)
    n_buckets = 0

    def gather(thread: int, first: int, end: int) -> None:
        for band in range(first, end):
            buckets[:, band] = shared_buckets(bands[band])

    threads.share(gather, [(band, band + 1) for band in range(BANDS)])
    for band in range(BANDS):  # those of all bands are numbered one behind another
        column = buckets[:, band]
        column[column >= 0] += n_buckets
        n_buckets = max(n_buckets, int(column.max(initial=-1)) + 1)
    join_equal(bags, with_words, shared_buckets(marks), copy_of, threads.stop)
    threads.check()
    join_near(bags, with_words, buckets, n_buckets, copy_of, threads.stop)
    threads.check()
    return copy_of


def shared_buckets(keys: Array) -> Array:
    """int32[n]: a number for each key that several share, from 0; -1 for a key of its own."""
    inverse, n = np.unique(keys, return_inverse=True, return_counts=True)[1:]
    number = np.where(n > 1, np.cumsum(n > 1) - 1, -1).astype(np.int32)
    shared: Array = number[inverse]
    return shared


@njit(cache=True, nogil=True)
def hash_documents(bags, documents, bands, marks):
    """Write of each document the keys of its bands, from its set of words, and a mark of its whole bag."""
    n_hashes = BANDS * ROWS
    factor, least = np.empty(n_hashes, np.uint32), np.empty(n_hashes, np.uint32)
    for i in range(n_hashes):
        factor[i] = np.uint32(mix(np.uint64(i + 1))) | np.uint32(1)
    for place in range(documents.size):
        d, mark = documents[place], np.uint64(0)
        least[:] = np.uint32(0xFFFFFFFF)
        for e in range(bags.offsets[d], bags.offsets[d + 1]):
            word = mix(np.uint64(bags.words[e]) + GOLDEN)
            mark = mix(mark ^ word) + np.uint64(bags.counts[e])
            lower_all(least, factor, np.uint32(word))
        marks[place] = mark
        for band in range(BANDS):
            key = np.uint64(band)
            for row in range(ROWS):
                key = mix(key + np.uint64(least[band * ROWS + row]) + GOLDEN)
            bands[band, place] = key


@njit(cache=True, nogil=True)
def lower_all(least, factor, word):
    """The least hash of each kind uint32[n], one more word seen."""
    for i in range(least.size):
        product = np.uint32(factor[i] * word)
        hashed = np.uint32(product ^ (product >> np.uint32(15)))
        least[i] = min(least[i], hashed)


@njit(cache=True, nogil=True)
def join_equal(bags, documents, bucket, copy_of, stop):
    """Make documents copies of the first one with an equal bag; `bucket` int32[n] has those with the same mark."""
    head = np.full(bucket.max() + 1, -1)
    following = np.full(bucket.size, -1)
    for place in range(bucket.size):
        if place % DOCUMENTS_AT_ONCE == 0 and is_raised(stop):
            return
        if bucket[place] < 0:
            continue
        other = head[bucket[place]]
        while other >= 0 and jaccard(bags, documents[other], documents[place]) < 1.0:
            other = following[other]
        if other >= 0:
            copy_of[documents[place]] = documents[other]
        else:
            following[place], head[bucket[place]] = head[bucket[place]], place


@njit(cache=True, nogil=True)
def join_near(bags, documents, buckets, n_buckets, copy_of, stop):
    """Make texts near copies of the earlier text that they are most like, the latest of several; then carry it on.

    `buckets` int32[n, BANDS] has the documents that share the key of a band, or -1.
    """
    head = np.full(n_buckets, -1, np.int32)
    following = np.full(buckets.shape, -1, np.int32)
    for place in range(documents.size):
        if place % DOCUMENTS_AT_ONCE == 0 and is_raised(stop):
            return
        d = documents[place]
        if copy_of[d] != d:
            copy_of[d] = copy_of[copy_of[d]]  # of a text that has become a near copy itself
            continue
        best, likeness = -1, NEAR
        for band in range(BANDS):
            other = head[buckets[place, band]] if buckets[place, band] >= 0 else -1
            for _ in range(TRIED):
                if other < 0:
                    break
                alike = jaccard(bags, documents[other], d)
                if alike >= likeness and (alike > likeness or best < 0 or documents[other] > best):
                    best, likeness = documents[other], alike
                other = following[other, band]
        if best >= 0:
            copy_of[d] = best
            continue
        for band in range(BANDS):
            bucket = buckets[place, band]
            if bucket >= 0:
                following[place, band], head[bucket] = head[bucket], place


@njit(cache=True, nogil=True)
def jaccard(bags, a, b):
    """The Jaccard index of two bags of words."""
    i, j, both, either = bags.offsets[a], bags.offsets[b], 0, 0
    while i < bags.offsets[a + 1] and j < bags.offsets[b + 1]:
        if bags.words[i] == bags.words[j]:
            both += min(bags.counts[i], bags.counts[j])
            either += max(bags.counts[i], bags.counts[j])
            i += 1
            j += 1
        elif bags.words[i] < bags.words[j]:
            either += bags.counts[i]
            i += 1
        else:
            either += bags.counts[j]
            j += 1
    for e in range(i, bags.offsets[a + 1]):
        either += bags.counts[e]
    for e in range(j, bags.offsets[b + 1]):
        either += bags.counts[e]
    return both / either
