"""Room for a sweep of the blocked sampler: where its parameters are written, and what its threads write on.

Made once, and anew only when the slots or the threads change. Rows of categories begin with a cache line.
"""

from typing import NamedTuple

import numpy as np

from sampler.corpus import Array
from sampler.lbpl_ntm.blocked.arrays import Drawn
from sampler.lbpl_ntm.blocked.bulk_topics import N_BLOCKS
from sampler.lbpl_ntm.blocked.category_scores import Offers
from sampler.lbpl_ntm.blocked.mixed_documents import Desk, desk
from sampler.numerics import simd


class Size(NamedTuple):
    """What room is made for."""

    n_words: int  # V
    n_topics: int  # L
    n_slots: int  # S
    n_documents: int  # U, unlabeled ones with a word
    longest: int  # tokens of the longest of them
    n_threads: int


class Room(NamedTuple):
    """Where a sweep's parameters are written."""

    size: Size
    drawn: Drawn
    offers: Offers
    norms: Array  # float64[N_BLOCKS, L]
    changes: Array  # int32[n_threads - 1, V, S], of all threads but the first, who counts at once; 0 between sweeps
    one_table: Array  # bool[U], documents that the documents' step has left at a single table
    desks: list[Desk]  # of each thread


def make(size: Size) -> Room:
    """Room in which nothing has been written."""
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
    offers = Offers(
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
    return Room(
        size,
        drawn,
        offers,
        norms=np.zeros((N_BLOCKS, n_topics)),
        changes=simd.aligned((size.n_threads - 1, n_words, n_slots), np.int32),
        one_table=np.zeros(size.n_documents, np.bool_),
        desks=[desk(n_slots, size.longest) for _ in range(size.n_threads)],
    )


def widen(room: Room, n_more: int) -> Room:
    """Room with so many more slots, which are unused; in the others stands what stood there."""
    wider = make(room.size._replace(n_slots=room.size.n_slots + n_more))
    wider.norms[:], wider.one_table[:] = room.norms, room.one_table
    for narrow, wide in ((room.drawn, wider.drawn), (room.offers, wider.offers)):
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
