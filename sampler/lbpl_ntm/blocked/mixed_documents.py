"""Documents whose tokens are not all in one category: a scan of the tokens, then tables, then the tables' categories.

The scan looks at LANES tokens at once. Each has its own uniform number, so that it is known of all of them together
which is the first to leave its category under the present counts; those before it stay, and those behind it are asked
again under the new counts. It is the scan token by token, with the same outcome.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from sampler.corpus import Array
from sampler.lbpl_ntm.blocked.arrays import MIXED, count_equal
from sampler.lbpl_ntm.blocked.category_scores import choose, stays
from sampler.numerics import simd
from sampler.numerics.simd import LANES
from sampler.numerics.streams import uniform
from sampler.numerics.variates import dense_lane_uniforms, exponential

NOWHERE = -1  # the place of a category that a document does not have
NEVER = np.float32(2.0)  # in place of a uniform number: such a token stays
FAR = 2_000_000  # chances: more are not in a core's own caches, and rows are asked for ahead
PARTS = 4  # of the sum over a table's tokens
AT_HAND = 32  # tables of a document that need no more room


class Tallies(NamedTuple):
    """What one thread counts."""

    category_word: Array  # int32[V, S], tokens that came less tokens that went
    category_tables: Array  # int64[S]
    log_seats: Array  # int64[S]
    one_table: Array  # bool[U], whether all tokens of a document share a table; each thread writes its own documents


class Desk(NamedTuple):
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
    moved: Array  # int64[3, LANES], words that changed their category in the block: WORD, FROM and TO


WORD, FROM, TO = range(3)
FRESH, THRESHOLD = range(2)  # weight of all categories by their stick alone, what the others' weight must exceed


@njit(cache=True, nogil=True)
def desk(n_slots, longest):
    """An empty desk."""
    return Desk(
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
def take_stock(bags, placements, offers, u, at):
    """Count the categories of a document's tokens; return how many there are."""
    tokens, held, active, place, n_active = placements.token, at.held, at.active, at.place, 0
    first, end = bags.first_token[u], bags.first_token[u + 1]
    unseen, rest = first, end - first
    while rest > 0:
        while place[tokens[unseen]] != NOWHERE:
            unseen += 1
        k = tokens[unseen]
        n = count_equal(tokens, first, end, k)
        held[k], active[n_active], place[k] = n, k, n_active
        at.pull[k] = n if offers.weight[k] > 0.0 else 0.0
        n_active += 1
        rest -= n
    return n_active


@njit(cache=True, nogil=True, inline="always")
def spread(placements, offers, category, first, n, at):
    """Give each of a document's tokens its category, so that they can part."""
    placements.token[first : first + n] = category
    at.active[0] = category
    at.place[category] = 0
    at.held[category] = n
    at.pull[category] = n if offers.weight[category] > 0.0 else 0.0


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


@njit(cache=True, nogil=True)
def draw_fresh(weight, chance, w, source, rest):
    """A category other than `source` with probability proportional to alpha b_k M[w, k], by inversion.

    `rest` is a uniform number times the sum of these weights. If rounding let it pass them all: the last, or -1.
    """
    last = -1
    for k in range(weight.size):
        share = np.float64(weight[k]) * chance[w, k]
        if k != source and share > 0.0:
            last = k
            if rest < share:
                return k
            rest -= share
    return last


@njit(cache=True, nogil=True, inline="always")
def leave(bags, placements, offers, u, leaver, key, position, at, tallies):
    """Let one token leave the category that it shares with all others; return n_active."""
    i, w = bags.first_token[u] + leaver, bags.words[bags.first_word[u] + leaver]
    source, total = np.int64(placements.token[i]), 0.0
    for k in range(offers.weight.size):
        if k != source:
            total += np.float64(offers.weight[k]) * offers.chance[w, k]
    category = draw_fresh(offers.weight, offers.chance, w, source, uniform(key, position) * total)
    if category < 0:
        return 1
    placements.token[i] = category
    tallies.category_word[w, source] -= 1
    tallies.category_word[w, category] += 1
    return recategorize(source, category, 1, at.held, at.pull, at.active, at.place)


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def scan(bags, placements, offers, u, start, key, n_active, at, tallies):
    """Resample the category of a document's tokens from `start` on; return n_active.

    p(k) ∝ (n_dk + alpha b_k) M[w, k] without the token itself. That it leaves is asked first, of a number near zero,
    where floats are dense: of a number near one, a token that never leaves would do so once in ten million visits.
    """
    tokens, category_word, chances, weights = placements.token, tallies.category_word, offers.chance, offers.weight
    active, place, pull, near, own, word, moved = at.active, at.place, at.pull, at.near, at.own, at.word, at.moved
    first, n = bags.first_token[u], bags.first_token[u + 1] - bags.first_token[u]
    for begin in range(start, n, LANES):
        n_active, size = tidy(n_active, at.held, active, place), min(LANES, n - begin)
        gather(bags, placements, offers, u, begin, size, n_active, at)
        if chances.size > FAR:
            fetch(bags, offers, u, begin, begin + size, min(begin + size + LANES, n))
        numbers, free = numbers_of(weights, key, begin, n_active, at), weight_by_sticks(weights, n_active, at)
        lane, n_moved = np.uint64(0), 0
        while True:
            others, all_of_them = weigh_block(weights, free, n_active, at)
            threshold = simd.multiply(numbers, all_of_them)
            lane = simd.first(simd.greater(others, threshold), lane)
            if lane >= np.uint64(LANES):
                break
            simd.store(threshold, at.block, THRESHOLD, 0)
            i = np.int64(lane)
            lane += np.uint64(1)
            w, z, rest = word[i], np.int64(tokens[first + begin + i]), at.block[THRESHOLD, i]
            category = -1
            for a in range(n_active):
                if a != own[0, i]:
                    rest -= pull[active[a]] * near[a, i]
                    if rest < np.float32(0.0):
                        category = active[a]
                        break
            if category < 0:
                category = draw_fresh(weights, chances, w, z, rest)
            if category < 0:
                continue
            if place[category] == NOWHERE:
                for other in range(i + 1, size):
                    near[n_active, other] = chances[word[other], category]
            n_active = recategorize(z, category, n_active, at.held, pull, active, place)
            tokens[first + begin + i] = category
            simd.prefetch(category_word, w, z)
            simd.prefetch(category_word, w, category)
            moved[WORD, n_moved], moved[FROM, n_moved], moved[TO, n_moved] = w, z, category
            n_moved += 1
        for j in range(n_moved):
            category_word[moved[WORD, j], moved[FROM, j]] -= 1
            category_word[moved[WORD, j], moved[TO, j]] += 1
    return tidy(n_active, at.held, active, place)


@njit(cache=True, nogil=True, inline="always")
def fetch(bags, offers, u, begin, end, ahead):
    """Ask for what `weigh_tables` reads of the words from `begin` on, and `gather` of those from `end` on."""
    first_word = bags.first_word[u]
    for i in range(begin, end):
        for block in range(0, offers.weight.size, LANES):
            simd.prefetch(offers.quanta, bags.words[first_word + i], block)
    for i in range(end, ahead):
        for block in range(0, offers.weight.size, LANES // 2):
            simd.prefetch(offers.chance, bags.words[first_word + i], block)


@njit(cache=True, nogil=True, inline="always")
def gather(bags, placements, offers, u, begin, size, n_active, at):
    """Write what is asked of up to LANES tokens of a document: their words, categories, and chances in active ones."""
    first, first_word = bags.first_token[u] + begin, bags.first_word[u] + begin
    for i in range(size):
        w = np.uint32(bags.words[first_word + i])
        at.word[i], at.own[0, i], at.block[FRESH, i] = w, at.place[placements.token[first + i]], offers.fresh[w]
    for i in range(size, LANES):
        at.word[i], at.own[0, i], at.block[FRESH, i] = 0, NOWHERE, np.float32(0.0)
    for a in range(n_active):
        k = at.active[a]
        for i in range(LANES):
            at.near[a, i] = offers.chance[at.word[i], k]


@njit(cache=True, nogil=True, inline="always")
def numbers_of(weights, key, begin, n_active, at):
    """A uniform number of each token, NEVER where none is or where it is in no candidate."""
    numbers = dense_lane_uniforms(key, simd.add(simd.numbered(), simd.spread(np.int32(begin))))
    own, never = simd.load(at.own, 0, 0), simd.spread(NEVER)
    numbers = simd.where(simd.equal(own, simd.spread(np.int32(NOWHERE))), never, numbers)
    for a in range(n_active):
        if weights[at.active[a]] == np.float32(0.0):
            numbers = simd.where(simd.equal(own, simd.spread(np.int32(a))), never, numbers)
    return numbers


@njit(cache=True, nogil=True, inline="always")
def weight_by_sticks(weights, n_active, at):
    """What all categories but a token's own weigh by their sticks alone, Σ alpha b_k M[w, k]."""
    free, own, none = simd.load(at.block, FRESH, 0), simd.load(at.own, 0, 0), simd.spread(np.float32(0.0))
    for a in range(n_active):
        share = simd.multiply(simd.spread(-weights[at.active[a]]), simd.load(at.near, a, 0))
        free = simd.add(free, simd.where(simd.equal(own, simd.spread(np.int32(a))), share, none))
    return simd.where(simd.greater(free, none), free, none)


@njit(cache=True, nogil=True, inline="always")
def weigh_block(weights, free, n_active, at):
    """What all categories but its own weigh for each token under the present counts, and what all weigh."""
    own, none = simd.load(at.own, 0, 0), simd.spread(np.float32(0.0))
    others, staying = free, none
    for a in range(n_active):
        pull, weight = at.pull[at.active[a]], weights[at.active[a]]
        is_own, chance = simd.equal(own, simd.spread(np.int32(a))), simd.load(at.near, a, 0)
        stay = simd.spread(max(pull - np.float32(1.0) + weight, np.float32(0.0)))
        others = simd.add(others, simd.where(is_own, none, simd.multiply(simd.spread(pull), chance)))
        staying = simd.add(staying, simd.where(is_own, simd.multiply(stay, chance), none))
    return others, simd.add(others, staying)


@njit(cache=True, nogil=True, inline="always")
def settle(bags, placements, offers, sizes, u, key, position, n_active, at, tallies):
    """Seat the document's tokens at tables, then resample the category of every table, in place.

    Leaves the desk as it was before the document came.
    """
    position, n_tables = seat(bags, placements, offers, sizes, u, key, position, n_active, at)
    for a in range(n_active):
        at.held[at.active[a]] = 0
        at.place[at.active[a]] = NOWHERE
    quanta = at.quanta if n_tables <= AT_HAND else np.empty((PARTS * n_tables, offers.weight.size), np.int32)
    weigh_tables(bags, offers, u, at.table, n_tables, quanta)
    moved, whole = False, True
    for t in range(n_tables):
        before = at.table_category[t]
        if offers.weight[before] > 0.0:
            number = uniform(key, position)
            position += 1
            if not stays(offers, quanta, PARTS * t, before, at.table_size[t], number):
                weigh_table(bags, offers, u, at.table, t, at.sums)
                at.table_category[t] = choose(at.sums, 0, before, number, at.weights)
        category = at.table_category[t]
        moved |= category != before
        whole &= category == at.table_category[0]
        tallies.category_tables[category] += 1
        tallies.log_seats[category] += sizes.log_seats[at.table_size[t]]
    if moved:
        move_tables(bags, placements, u, at.table, at.table_category, tallies.category_word)
    placements.whole[u] = at.table_category[0] if whole else MIXED
    tallies.one_table[u] = n_tables == 1


@njit(cache=True, nogil=True, inline="always")
def weigh_tables(bags, offers, u, table, n_tables, sums):
    """Write the log weight of each category for each table of a document in quanta, int32[PARTS n_tables, S].

    A table's row is the first of its PARTS: tokens add to them in turn, so that few wait for the sum before theirs.
    """
    words, quanta = bags.words, offers.quanta
    first, n = bags.first_word[u], bags.first_token[u + 1] - bags.first_token[u]
    for block in range(0, sums.shape[1], LANES):
        for row in range(PARTS * n_tables):
            simd.store(simd.spread(np.int32(0)), sums, row, block)
        for j in range(n):
            row = PARTS * table[j] + j % PARTS
            total = simd.add(simd.load(sums, row, block), simd.load_short(quanta, words[first + j], block))
            simd.store(total, sums, row, block)
        for t in range(n_tables):
            total = simd.load(offers.stick_quanta, 0, block)
            for row in range(PARTS * t, PARTS * (t + 1)):
                total = simd.add(total, simd.load(sums, row, block))
            simd.store(total, sums, PARTS * t, block)


@njit(cache=True, nogil=True, inline="always")
def weigh_table(bags, offers, u, table, t, sums):
    """Write the log weight of each category for one table, float32[1, S]."""
    words, score = bags.words, offers.score
    first, n = bags.first_word[u], bags.first_token[u + 1] - bags.first_token[u]
    for block in range(0, sums.shape[1], LANES):
        total = simd.load(offers.log_stick, 0, block)
        for j in range(n):
            if table[j] == t:
                total = simd.add(total, simd.load(score, words[first + j], block))
        simd.store(total, sums, 0, block)


@njit(cache=True, nogil=True, inline="always")
def move_tables(bags, placements, u, table, table_category, category_word):
    """Give every token the category of its table."""
    first, first_word = bags.first_token[u], bags.first_word[u]
    for j in range(bags.first_token[u + 1] - first):
        before, category = np.int64(placements.token[first + j]), table_category[table[j]]
        if category != before:
            w = bags.words[first_word + j]
            category_word[w, before] -= 1
            category_word[w, category] += 1
            placements.token[first + j] = category


@njit(cache=True, nogil=True, inline="always")
def seat(bags, placements, offers, sizes, u, key, position, n_active, at):
    """Seat tokens of each category by a Chinese restaurant process; return the next position and the number of tables.

    All tokens of a category share a table with probability Π i / (i + alpha b_k): one exponential variable tells
    which token is the first to open a second one. The first table of a category has its place for a number.
    """
    shared = True
    for a in range(n_active):
        k = at.active[a]
        at.second[k] = second_table(offers.seating[k], at.held[k], sizes, exponential(key, position + a))
        shared &= at.second[k] == at.held[k]
        at.seated[k] = 0
        at.table_category[a] = k
        at.table_size[a] = at.held[k]
    position += n_active
    first, n = bags.first_token[u], bags.first_token[u + 1] - bags.first_token[u]
    if shared:
        for j in range(n):
            at.table[j] = at.place[placements.token[first + j]]
        return position, n_active
    n_tables = n_active
    at.table_size[:n_active] = 0
    for j in range(n):
        k = np.int64(placements.token[first + j])
        t = np.int64(at.place[k])
        if at.seated[k] == at.second[k]:
            t = n_tables
        elif at.seated[k] > at.second[k]:
            rest = uniform(key, position) * (at.seated[k] + offers.seating[k])
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
