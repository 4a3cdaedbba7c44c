"""What a corpus has in common with the one that a source job was made for: where a continued job goes on from.

Documents have arrived, were corrected or removed since, words come and go, and decisions of reviewers have become
labels, so that known categories have other indices. Whatever is not carried over begins as in any other job.
"""

import hashlib
from typing import NamedTuple

import numpy as np
from numba import njit

from sampler.corpus import NO_CATEGORY, UNLABELED, Array, Corpus

ABSENT = -1  # what has no counterpart in the other corpus
SEED_BYTES = 7  # of a hash: a seed that fits any integer of 64 bits


class Carried(NamedTuple):
    """How T texts, with V words and some known categories, were named in the source, which had T0, V0 and others."""

    source: Corpus
    text_before: Array  # int32[T], the source's text that each text is, or ABSENT for an arrival
    word_now: Array  # int32[V0], the index that each word of the source has now, or ABSENT
    known_now: Array  # int32[n_known0], the index that each known category of the source has now, or ABSENT

    def check(self, corpus: Corpus) -> None:
        """Raise ValueError, naming the values that met, unless these are of this corpus and the source."""
        source = self.source
        for name, array, size, n_others in (
            ("text_before", self.text_before, corpus.n_documents, source.n_documents),
            ("word_now", self.word_now, source.n_words, corpus.n_words),
            ("known_now", self.known_now, source.n_known, corpus.n_known),
        ):
            if array.shape != (size,) or array.min(initial=ABSENT) < ABSENT or array.max(initial=-1) >= n_others:
                raise ValueError(f"{name} are not {size} numbers below {n_others}, or {ABSENT}")

    def of_texts(self, values: Array, fill: int = NO_CATEGORY) -> Array:
        """What each text had in the source by values [T0], or `fill`; [T]."""
        return before(values, self.text_before, fill)

    def digest(self) -> str:
        """SHA-256 in hex of what is carried; the source's corpus is known by its fingerprint in the checkpoint."""
        hashed = hashlib.sha256()
        for array in (self.text_before, self.word_now, self.known_now):
            hashed.update(np.ascontiguousarray(array, np.int32).data)
        return hashed.hexdigest()


def before(values: Array, index: Array, fill: int) -> Array:
    """values[index], or `fill` where the index is ABSENT."""
    found = np.full(index.size, fill, values.dtype)
    is_there = index != ABSENT
    found[is_there] = values[index[is_there]]
    return found


def seed_from(seed: int, data: bytes) -> int:
    """The seed of a chain that goes on from a checkpoint.

    The source's own numbers have led to where it stands: they must not be drawn once more, whatever the job's seed.
    """
    hashed = hashlib.sha256(f"continued {seed} ".encode() + data)
    return int.from_bytes(hashed.digest()[:SEED_BYTES], "big")


def known_categories_now(corpus: Corpus, carried: Carried, category_before: Array, n_before: int) -> Array:
    """int64[n_before]: the known category that each category of the source is now, or NO_CATEGORY for a new one.

    `category_before` int[T] is where each text was in the source, or NO_CATEGORY. A new category becomes the known one
    whose label most of its newly labeled documents bear; but one that the source knew already only if it has most of
    all its documents: a single document that was put right must not take the others along. Where no document with a
    word bears the label, nothing may be of a known category.
    """
    has_words = corpus.lengths > 0
    is_served = np.bincount(corpus.labels[(corpus.labels != UNLABELED) & has_words], minlength=corpus.n_known) > 0
    now = np.full(n_before, NO_CATEGORY)
    now[: carried.known_now.size] = carried.known_now
    is_new = has_words & (category_before >= carried.known_now.size)
    n_of = np.bincount(category_before[is_new], minlength=n_before)
    labeled = np.zeros((n_before, max(corpus.n_known, 1)), np.int64)
    newly = is_new & (corpus.labels != UNLABELED)
    np.add.at(labeled, (category_before[newly], corpus.labels[newly]), 1)
    label = labeled.argmax(axis=1)
    n_bear = labeled[np.arange(n_before), label]
    needed = np.where(np.isin(label, carried.known_now), n_of, labeled.sum(axis=1))
    now = np.where(2 * n_bear > needed, label, now)
    now[now != NO_CATEGORY] = np.where(is_served[now[now != NO_CATEGORY]], now[now != NO_CATEGORY], NO_CATEGORY)
    return now


def slots_now(known: Array, is_held: Array, n_known: int) -> tuple[Array, int]:
    """int64[C0]: the slot of each category of the source, NO_CATEGORY for those that hold nothing; and how many.

    `known` are the known ones, see `known_categories_now`. New ones that are held, bool[C0], have the slots behind.
    """
    fresh = is_held & (known == NO_CATEGORY)
    slots = known.copy()
    slots[fresh] = n_known + np.arange(np.count_nonzero(fresh))
    return slots, n_known + int(np.count_nonzero(fresh))


def tokens_before(corpus: Corpus, carried: Carried) -> Array:
    """int64[N]: the source's token that each token is, or ABSENT.

    Of a word that occurs several times in a text the first token is the first one there, and so on.
    """
    source = carried.source
    mapped = carried.word_now[source.words]
    order, source_order = in_order(corpus.offsets, corpus.words), in_order(source.offsets, mapped)
    return np.asarray(match_tokens(corpus, order, source, source_order, mapped, carried.text_before))


def in_order(offsets: Array, words: Array) -> Array:
    """int64[N]: the tokens, document after document, with the words of each ascending."""
    order: Array = np.lexsort((words, np.repeat(np.arange(offsets.size - 1), np.diff(offsets))))
    return order


@njit(cache=True, nogil=True)
def match_tokens(corpus, order, source, source_order, source_words, text_before):  # type: ignore[no-untyped-def]
    """See `tokens_before`; the orders are those of `in_order`, `source_words` int32[N0] are words of the corpus."""
    found = np.full(corpus.words.size, ABSENT)
    for d in range(text_before.size):
        if text_before[d] == ABSENT:
            continue
        j, end = source.offsets[text_before[d]], source.offsets[text_before[d] + 1]
        for i in range(corpus.offsets[d], corpus.offsets[d + 1]):
            word = corpus.words[order[i]]
            while j < end and source_words[source_order[j]] < word:
                j += 1
            if j < end and source_words[source_order[j]] == word:
                found[order[i]] = source_order[j]
                j += 1
    return found
