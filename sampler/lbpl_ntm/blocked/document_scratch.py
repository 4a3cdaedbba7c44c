"""What one thread writes on while it goes through documents: which categories a document has, and where they stand."""

from typing import NamedTuple

import numpy as np
from numba import njit

from sampler.corpus import Array
from sampler.lbpl_ntm.blocked.arrays import count_equal
from sampler.numerics import simd
from sampler.numerics.simd import LANES

NOWHERE = -1  # place of a category that a document does not have: an index into a list of categories, not a category
PARTS = 4  # of the sum over a table's tokens
AT_HAND = 32  # tables of a document for which there is memory


class Tallies(NamedTuple):
    """What one thread counts."""

    category_word: Array  # int32[V, S], tokens that came less tokens that went
    category_tables: Array  # int64[S]
    log_seats: Array  # int64[S]


class DocumentScratch(NamedTuple):
    """What one thread writes on while it goes through its documents."""

    active: Array  # int64[S], the categories that the document has
    place: Array  # int32[S], where each stands in `active`, NOWHERE between documents
    held: Array  # int64[S], its tokens in each category, 0 between documents
    pull: Array  # float32[S], the same where a token may come and go
    second: Array  # int64[S], token that opens the second table, counted within the category
    seated: Array  # int64[S], tokens that have a table
    quanta: Array  # int32[PARTS AT_HAND, S], log weight of each category for a document or for each of its tables
    sums: Array  # float32[1, S], the same exactly, of one
    weights: Array  # float64[S]
    table: Array  # int32[n], table of each token
    table_category: Array  # int64[n]
    table_size: Array  # int64[n]
    near: Array  # float32[S, LANES], M of the block's tokens in each active category
    block: Array  # float32[2, LANES]: see FRESH and THRESHOLD
    own: Array  # int32[1, LANES], place of the category of each token
    word: Array  # uint32[LANES]
    moved: Array  # int64[3, LANES], words that changed their category in the block: MOVED_WORD, FROM and TO


MOVED_WORD, FROM, TO = range(3)
FRESH, THRESHOLD = range(2)  # weight of all categories by their stick alone, what the others' weight must exceed


@njit(cache=True, nogil=True)
def document_scratch(n_slots, longest):
    """Scratch for documents of up to so many tokens, on which nothing is written."""
    return DocumentScratch(
        np.zeros(n_slots, np.int64),
        np.full(n_slots, NOWHERE, np.int32),
        np.zeros(n_slots, np.int64),
        np.zeros(n_slots, np.float32),
        np.zeros(n_slots, np.int64),
        np.zeros(n_slots, np.int64),
        simd.aligned_rows(PARTS * AT_HAND, n_slots).view(np.int32),
        simd.aligned_rows(1, n_slots),
        np.zeros(n_slots, np.float64),
        np.zeros(longest, np.int32),
        np.zeros(longest, np.int64),
        np.zeros(longest, np.int64),
        simd.aligned_rows(n_slots, LANES),
        simd.aligned_rows(2, LANES),
        simd.aligned_rows(1, LANES).view(np.int32),
        np.zeros(LANES, np.uint32),
        np.zeros((3, LANES), np.int64),
    )


@njit(cache=True, nogil=True, inline="always")
def take_stock(documents, scores, u, at):
    """Count the categories of a document's tokens; return how many there are."""
    bags, tokens = documents.bags, documents.placements.token
    held, active, place, n_active = at.held, at.active, at.place, 0
    first, end = bags.first_token[u], bags.first_token[u + 1]
    unseen, rest = first, end - first
    while rest > 0:
        while place[tokens[unseen]] != NOWHERE:
            unseen += 1
        k = tokens[unseen]
        n = count_equal(tokens, first, end, k)
        held[k], active[n_active], place[k] = n, k, n_active
        at.pull[k] = n if scores.weight[k] > 0.0 else 0.0
        n_active += 1
        rest -= n
    return n_active


@njit(cache=True, nogil=True, inline="always")
def name_tokens(documents, scores, u, category, at):
    """Give each of a document's tokens its category, so that they can part."""
    first, end = documents.bags.first_token[u], documents.bags.first_token[u + 1]
    documents.placements.token[first:end] = category
    at.active[0] = category
    at.place[category] = 0
    at.held[category] = end - first
    at.pull[category] = end - first if scores.weight[category] > 0.0 else 0.0


@njit(cache=True, nogil=True, inline="always")
def recategorize(source, category, n_active, held, pull, active, place):
    """Count one token in another category, both of them candidates; return how many there are in `active`.

    A category that was left by its last token stays there, without pull, until `tidy`.
    """
    if place[category] == NOWHERE:
        place[category] = n_active
        active[n_active] = category
        n_active += 1
    held[category] += 1
    held[source] -= 1
    pull[category], pull[source] = held[category], held[source]
    return n_active


@njit(cache=True, nogil=True, inline="always")
def tidy(n_active, held, active, place):
    """Take the categories without a token out of `active`; return how many are left."""
    n = 0
    for a in range(n_active):
        k = active[a]
        place[k] = NOWHERE
        if held[k] > 0:
            active[n], place[k] = k, n
            n += 1
    return n
