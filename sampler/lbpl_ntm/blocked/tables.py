"""Tables of a document whose tokens need not all be in one category: who sits where, and what each table serves."""

import math

import numpy as np
from numba import njit

from sampler.lbpl_ntm.blocked.arrays import MIXED
from sampler.lbpl_ntm.blocked.category_scores import choose, stays
from sampler.lbpl_ntm.blocked.document_scratch import AT_HAND, NOWHERE, PARTS
from sampler.numerics import simd
from sampler.numerics.simd import LANES
from sampler.numerics.streams import uniform
from sampler.numerics.variates import exponential


@njit(cache=True, nogil=True, inline="always")
def settle_tables(documents, scores, u, key, position, n_active, at, tallies):
    """Seat the document's tokens at tables, then resample the category of every table, in place.

    Leaves the scratch as it was before the document came.
    """
    bags, placements, log_seats = documents.bags, documents.placements, documents.sizes.log_seats
    position, n_tables = seat_tokens(documents, scores, u, key, position, n_active, at)
    for a in range(n_active):
        at.held[at.active[a]] = 0
        at.place[at.active[a]] = NOWHERE
    quanta = at.quanta if n_tables <= AT_HAND else np.empty((PARTS * n_tables, scores.weight.size), np.int32)
    weigh_tables(bags, scores, u, at.table, n_tables, quanta)
    moved, whole = False, True
    for t in range(n_tables):
        before = at.table_category[t]
        if scores.weight[before] > 0.0:
            number = uniform(key, position)
            position += 1
            if not stays(scores, quanta, PARTS * t, before, at.table_size[t], number):
                weigh_table(bags, scores, u, at.table, t, at.sums)
                at.table_category[t] = choose(at.sums, 0, before, number, at.weights)
        category = at.table_category[t]
        moved |= category != before
        whole &= category == at.table_category[0]
        tallies.category_tables[category] += 1
        tallies.log_seats[category] += log_seats[at.table_size[t]]
    if moved:
        move_tokens(documents, u, at.table, at.table_category, tallies.category_word)
    placements.whole[u] = at.table_category[0] if whole else MIXED
    documents.one_table[u] = n_tables == 1


@njit(cache=True, nogil=True, inline="always")
def weigh_tables(bags, scores, u, table, n_tables, sums):
    """Write the log weight of each category for each table of a document in quanta, int32[PARTS n_tables, S].

    A table's row is the first of its PARTS: tokens add to them in turn, so that few wait for the sum before theirs.
    """
    words, quanta = bags.words, scores.quanta
    first, n = bags.first_word[u], bags.first_token[u + 1] - bags.first_token[u]
    for block in range(0, sums.shape[1], LANES):
        for row in range(PARTS * n_tables):
            simd.store(simd.spread(np.int32(0)), sums, row, block)
        for j in range(n):
            row = PARTS * table[j] + j % PARTS
            total = simd.add(simd.load(sums, row, block), simd.load_short(quanta, words[first + j], block))
            simd.store(total, sums, row, block)
        for t in range(n_tables):
            total = simd.load(scores.stick_quanta, 0, block)
            for row in range(PARTS * t, PARTS * (t + 1)):
                total = simd.add(total, simd.load(sums, row, block))
            simd.store(total, sums, PARTS * t, block)


@njit(cache=True, nogil=True, inline="always")
def weigh_table(bags, scores, u, table, t, sums):
    """Write the log weight of each category for one table, float32[1, S]."""
    words, score = bags.words, scores.score
    first, n = bags.first_word[u], bags.first_token[u + 1] - bags.first_token[u]
    for block in range(0, sums.shape[1], LANES):
        total = simd.load(scores.log_stick, 0, block)
        for j in range(n):
            if table[j] == t:
                total = simd.add(total, simd.load(score, words[first + j], block))
        simd.store(total, sums, 0, block)


@njit(cache=True, nogil=True, inline="always")
def move_tokens(documents, u, table, table_category, category_word):
    """Give every token the category of its table."""
    bags, placements = documents.bags, documents.placements
    first, first_word = bags.first_token[u], bags.first_word[u]
    for j in range(bags.first_token[u + 1] - first):
        before, category = np.int64(placements.token[first + j]), table_category[table[j]]
        if category != before:
            w = bags.words[first_word + j]
            category_word[w, before] -= 1
            category_word[w, category] += 1
            placements.token[first + j] = category


@njit(cache=True, nogil=True, inline="always")
def seat_tokens(documents, scores, u, key, position, n_active, at):
    """Seat tokens of each category by a Chinese restaurant process; return the next position and the number of tables.

    All tokens of a category share a table with probability Π i / (i + alpha b_k): one exponential variable tells
    which token is the first to open a second one. The first table of a category has its place for a number.
    """
    bags, sizes, tokens = documents.bags, documents.sizes, documents.placements.token
    shared = True
    for a in range(n_active):
        k = at.active[a]
        at.second[k] = second_table(scores.seating[k], at.held[k], sizes, exponential(key, position + a))
        shared &= at.second[k] == at.held[k]
        at.seated[k] = 0
        at.table_category[a] = k
        at.table_size[a] = at.held[k]
    position += n_active
    if not shared:
        return seat_in_turn(documents, scores, u, key, position, n_active, at)
    first = bags.first_token[u]
    for j in range(bags.first_token[u + 1] - first):
        at.table[j] = at.place[tokens[first + j]]
    return position, n_active


@njit(cache=True, nogil=True, inline="always")
def seat_in_turn(documents, scores, u, key, position, n_active, at):
    """Seat the tokens of a document one after another, in one category of which at least a second table opens.

    Up to the token in `at.second` those of a category share its first table.
    """
    bags, tokens = documents.bags, documents.placements.token
    first, n = bags.first_token[u], bags.first_token[u + 1] - bags.first_token[u]
    n_tables = n_active
    at.table_size[:n_active] = 0
    for j in range(n):
        k = np.int64(tokens[first + j])
        t = np.int64(at.place[k])
        if at.seated[k] == at.second[k]:
            t = n_tables
        elif at.seated[k] > at.second[k]:
            rest = uniform(key, position) * (at.seated[k] + scores.seating[k])
            position += 1
            t = 0
            while t < n_tables and (at.table_category[t] != k or rest >= at.table_size[t]):
                if at.table_category[t] == k:
                    rest -= at.table_size[t]
                t += 1
        if t == n_tables:
            at.table_category[t] = k
            at.table_size[t] = 0
            n_tables += 1
        at.table[j] = t
        at.table_size[t] += 1
        at.seated[k] += 1
    return position, n_tables


@njit(cache=True, nogil=True, inline="always")
def second_table(concentration, n, sizes, patience):
    """The token, counted within its category, that is the first to open a second table, or n."""
    if patience >= concentration * sizes.harmonic[n - 1]:  # the sum of log(1 + a / i) is less
        return n
    for j in range(1, n):
        hazard = math.log1p(concentration / j)
        if patience < hazard:
            return j
        patience -= hazard
    return n
