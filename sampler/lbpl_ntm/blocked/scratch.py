"""What a sweep of the blocked sampler writes on besides the state, and how its work is cut into pieces.

Both take time to make, so a state keeps them from one sweep to the next, which depends on nothing that the last one has
written. Rows of categories begin with a cache line.
"""

from typing import NamedTuple

import numpy as np

from sampler.corpus import Array
from sampler.lbpl_ntm.blocked.arrays import Bags, Drawn
from sampler.lbpl_ntm.blocked.category_scores import CategoryScores
from sampler.lbpl_ntm.blocked.document_scratch import DocumentScratch, document_scratch
from sampler.lbpl_ntm.blocked.phi import N_WORD_BLOCKS
from sampler.numerics import simd
from sampler.numerics.threads import Threads


class Size(NamedTuple):
    """What scratch is made for."""

    n_words: int  # V
    n_topics: int  # L
    n_slots: int  # S
    n_documents: int  # U, unlabeled ones with a word
    longest: int  # tokens of the longest of them
    n_threads: int


class Cuts(NamedTuple):
    """How work is cut into pieces, by their bounds."""

    documents: Array  # of about as many tokens
    words: Array  # of about the same cost
    blocks: Array  # of words, for phi


class Scratch(NamedTuple):
    """Where the parameters of a sweep are written, and what its threads write on."""

    size: Size
    drawn: Drawn
    scores: CategoryScores
    norms: Array  # float64[N_WORD_BLOCKS, L]
    changes: Array  # int32[n_threads - 1, V, S], of all threads but the first, who counts at once; 0 between sweeps
    one_table: Array  # bool[U], documents that the documents' step has left at a single table
    of_documents: list[DocumentScratch]  # of each thread


class Workplace:
    """What the sweeps of a state hand on to the next: scratch of the size of the last one, cuts for its threads."""

    def __init__(self, bags: Bags, word_tokens: Array) -> None:
        """`word_tokens` int64[V] are the tokens of each word."""
        self.first_token = bags.first_token
        self.word_costs = np.concatenate([[0], np.cumsum(40 + 4 * np.minimum(word_tokens, 400))])
        self.scratches: dict[Size, Scratch] = {}
        self.cuts_made: dict[int, Cuts] = {}

    def scratch(self, size: Size) -> Scratch:
        """Scratch of this size; any other is forgotten."""
        if size not in self.scratches:
            self.keep(make(size))
        return self.scratches[size]

    def keep(self, scratch: Scratch) -> None:
        """Have this scratch at hand, and no other."""
        self.scratches = {scratch.size: scratch}

    def cuts(self, threads: Threads) -> Cuts:
        """The cuts for as many pieces as these threads take."""
        if threads.n_pieces not in self.cuts_made:
            self.cuts_made[threads.n_pieces] = Cuts(
                threads.cut(self.first_token),
                threads.cut(self.word_costs),
                threads.cut(np.arange(N_WORD_BLOCKS + 1)),
            )
        return self.cuts_made[threads.n_pieces]


def make(size: Size) -> Scratch:
    """Scratch in which nothing has been written."""
    n_words, n_topics, n_slots = size[:3]
    drawn = Drawn(
        stick=np.zeros(n_slots),
        mixture=simd.aligned((n_topics, n_slots), np.float32),
        topic=np.empty((n_words, n_topics), np.uint16),
        weight=np.empty((n_words, n_topics), np.float32),
        size=np.empty(n_words, np.int32),
        counted=np.empty(n_words, np.int32),
        chance=simd.aligned((n_words, n_slots), np.float32),
    )
    scores = CategoryScores(
        log_stick=simd.aligned((1, n_slots), np.float32),
        weight=np.zeros(n_slots, np.float32),
        seating=np.zeros(n_slots),
        chance=drawn.chance,
        score=simd.aligned((n_words, n_slots), np.float32),
        fresh=np.zeros(n_words, np.float32),
        leave=np.zeros((n_slots, n_words), np.float32),
        quanta=simd.aligned((n_words, n_slots), np.int16),
        stick_quanta=simd.aligned((1, n_slots), np.int32),
        slack=np.zeros(1),
    )
    return Scratch(
        size,
        drawn,
        scores,
        norms=np.zeros((N_WORD_BLOCKS, n_topics)),
        changes=simd.aligned((size.n_threads - 1, n_words, n_slots), np.int32),
        one_table=np.zeros(size.n_documents, np.bool_),
        of_documents=[document_scratch(n_slots, size.longest) for _ in range(size.n_threads)],
    )


def widen(scratch: Scratch, n_more: int) -> Scratch:
    """Scratch with so many more slots, which are unused; in the others stands what stood there."""
    wider = make(scratch.size._replace(n_slots=scratch.size.n_slots + n_more))
    wider.norms[:], wider.one_table[:] = scratch.norms, scratch.one_table
    for narrow, wide in ((scratch.drawn, wider.drawn), (scratch.scores, wider.scores)):
        for before, after in zip(narrow, wide, strict=True):
            after[tuple(slice(n) for n in before.shape)] = before
    return wider


def widened(array: Array, n_more: int, axis: int = 0, fill: int = 0) -> Array:
    """The array with so many more entries along an axis."""
    shape = (*array.shape[:axis], array.shape[axis] + n_more, *array.shape[axis + 1 :])
    wider = simd.aligned(shape, array.dtype.type)
    wider[...] = fill
    wider[tuple(slice(n) for n in array.shape)] = array
    return wider
