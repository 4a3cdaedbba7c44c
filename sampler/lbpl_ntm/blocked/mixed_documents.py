"""Documents whose tokens are not all in one category: a scan of the tokens.

The scan looks at LANES tokens at once. Each has its own uniform number, so that it is known of all of them together
which is the first to leave its category under the present counts; those before it stay, and those behind it are asked
again under the new counts. It is the scan token by token, with the same outcome.
"""

import numpy as np
from numba import njit

from sampler.corpus import NO_CATEGORY
from sampler.lbpl_ntm.blocked.document_scratch import (
    FRESH,
    FROM,
    MOVED_WORD,
    NOWHERE,
    THRESHOLD,
    TO,
    recategorize,
    tidy,
)
from sampler.numerics import simd
from sampler.numerics.memory import prefetch
from sampler.numerics.simd import LANES
from sampler.numerics.streams import uniform
from sampler.numerics.variates import dense_lane_uniforms

NEVER = np.float32(2.0)  # in place of a uniform number: such a token stays
FAR = 2_000_000  # chances: more are not in a core's own caches, and rows are asked for ahead


@njit(cache=True, nogil=True, inline="always")
def let_leave(documents, scores, u, leaver, key, position, at, tallies):
    """Let one token leave the category that it shares with all others; return n_active."""
    bags, placements = documents.bags, documents.placements
    i, w = bags.first_token[u] + leaver, bags.words[bags.first_word[u] + leaver]
    source, total = np.int64(placements.token[i]), 0.0
    for k in range(scores.weight.size):
        if k != source:
            total += np.float64(scores.weight[k]) * scores.chance[w, k]
    category = draw_fresh(scores.weight, scores.chance, w, source, uniform(key, position) * total)
    if category == NO_CATEGORY:
        return 1
    placements.token[i] = category
    tallies.category_word[w, source] -= 1
    tallies.category_word[w, category] += 1
    return recategorize(source, category, 1, at.held, at.pull, at.active, at.place)


@njit(cache=True, nogil=True)
def draw_fresh(weight, chance, w, source, rest):
    """A category other than `source` with probability proportional to alpha b_k M[w, k], by inversion.

    `rest` is a uniform number times the sum of these weights. If rounding let it pass all: the last, or NO_CATEGORY.
    """
    last = NO_CATEGORY
    for k in range(weight.size):
        share = np.float64(weight[k]) * chance[w, k]
        if k != source and share > 0.0:
            last = k
            if rest < share:
                return k
            rest -= share
    return last


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def scan(documents, scores, u, start, key, n_active, at, tallies):
    """Resample the category of a document's tokens from `start` on; return n_active.

    p(k) ∝ (n_dk + alpha b_k) M[w, k] without the token itself. That it leaves is asked first, of a number near zero,
    where floats are dense: of a number near one, a token that never leaves would do so once in ten million visits.
    """
    bags, tokens, category_word = documents.bags, documents.placements.token, tallies.category_word
    chances, weights = scores.chance, scores.weight
    place, near, word, moved = at.place, at.near, at.word, at.moved
    first, n = bags.first_token[u], bags.first_token[u + 1] - bags.first_token[u]
    for begin in range(start, n, LANES):
        n_active, size = tidy(n_active, at.held, at.active, place), min(LANES, n - begin)
        gather_block(documents, scores, u, begin, size, n_active, at)
        if chances.size > FAR:
            fetch_ahead(bags, scores, u, begin, begin + size, min(begin + size + LANES, n))
        numbers, free = token_numbers(weights, key, begin, n_active, at), weight_by_sticks(weights, n_active, at)
        lane, n_moved = np.uint64(0), 0
        while True:
            others, all_of_them = weigh_block(weights, free, n_active, at)
            threshold = simd.multiply(numbers, all_of_them)
            lane = simd.first(simd.greater(others, threshold), lane)
            if lane >= np.uint64(LANES):
                break
            simd.store(threshold, at.block, THRESHOLD, 0)
            i, lane = np.int64(lane), lane + np.uint64(1)
            w, z = word[i], np.int64(tokens[first + begin + i])
            category = choose_other(scores, w, z, i, n_active, at)
            if category == NO_CATEGORY:
                continue
            if place[category] == NOWHERE:
                for other in range(i + 1, size):
                    near[n_active, other] = chances[word[other], category]
            n_active = recategorize(z, category, n_active, at.held, at.pull, at.active, place)
            tokens[first + begin + i] = category
            prefetch(category_word, w, z)
            prefetch(category_word, w, category)
            moved[MOVED_WORD, n_moved], moved[FROM, n_moved], moved[TO, n_moved] = w, z, category
            n_moved += 1
        count_moved(moved, n_moved, category_word)
    return tidy(n_active, at.held, at.active, place)


@njit(cache=True, nogil=True, inline="always")
def choose_other(scores, w, source, i, n_active, at):
    """The category to which the token in a lane leaves, NO_CATEGORY if rounding leaves none.

    By inversion of what is left of its number: first by the tokens that a category has, then by the stick.
    """
    rest, category = at.block[THRESHOLD, i], NO_CATEGORY
    for a in range(n_active):
        if a != at.own[0, i]:
            rest -= at.pull[at.active[a]] * at.near[a, i]
            if rest < np.float32(0.0):
                category = at.active[a]
                break
    if category == NO_CATEGORY:
        category = draw_fresh(scores.weight, scores.chance, w, source, rest)
    return category


@njit(cache=True, nogil=True, inline="always")
def count_moved(moved, n_moved, category_word):
    """Count the tokens that changed their category in a block."""
    for j in range(n_moved):
        category_word[moved[MOVED_WORD, j], moved[FROM, j]] -= 1
        category_word[moved[MOVED_WORD, j], moved[TO, j]] += 1


@njit(cache=True, nogil=True, inline="always")
def fetch_ahead(bags, scores, u, begin, end, ahead):
    """Ask for what `weigh_tables` reads of the words from `begin` on, and `gather_block` of those from `end` on."""
    first_word = bags.first_word[u]
    for i in range(begin, end):
        for block in range(0, scores.weight.size, LANES):
            prefetch(scores.quanta, bags.words[first_word + i], block)
    for i in range(end, ahead):
        for block in range(0, scores.weight.size, LANES // 2):
            prefetch(scores.chance, bags.words[first_word + i], block)


@njit(cache=True, nogil=True, inline="always")
def gather_block(documents, scores, u, begin, size, n_active, at):
    """Write what is asked of up to LANES tokens of a document: their words, categories, and chances in active ones."""
    bags, tokens = documents.bags, documents.placements.token
    first, first_word = bags.first_token[u] + begin, bags.first_word[u] + begin
    for i in range(size):
        w = np.uint32(bags.words[first_word + i])
        at.word[i], at.own[0, i], at.block[FRESH, i] = w, at.place[tokens[first + i]], scores.fresh[w]
    for i in range(size, LANES):
        at.word[i], at.own[0, i], at.block[FRESH, i] = 0, NOWHERE, np.float32(0.0)
    for a in range(n_active):
        k = at.active[a]
        for i in range(LANES):
            at.near[a, i] = scores.chance[at.word[i], k]


@njit(cache=True, nogil=True, inline="always")
def token_numbers(weights, key, begin, n_active, at):
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
