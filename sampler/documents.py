"""Categories and tables of the unlabeled documents, given what every category says of every word.

Steps 3 and 4 of the blocked sampler. Given the sticks b, theta and phi, documents are independent of one another, and
their topics are summed out. In each document: first the category of every token with the tables summed out,

    p(z = k) ∝ (n_dk + alpha b_k) M[w, k],

then the tables, the tokens of category k by a Chinese restaurant process of concentration alpha b_k, then the
category of every table as a whole, p(k) ∝ b_k Π M[w, k] over its tokens.

Most documents serve one category, and nothing happens to them. There one exponential variable says which token is the
first to leave, and one which token is the first to open a second table; nothing is drawn token by token.

Only candidates, categories with b_k above a fixed bound, are chosen from, and what sits in another one stays there
for this sweep. The bound depends on nothing that is drawn here, so the posterior stays as it is.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from sampler import lanes
from sampler.blocks import LANES, MIXED
from sampler.corpus import Array
from sampler.draws import exponential
from sampler.streams import branch, uniform

TINY_WEIGHT = -45.0  # log of a weight against the largest: below it a choice is beyond the 53 bits of a uniform


class Offers(NamedTuple):
    """What a document needs to know of the categories in this sweep."""

    log_stick: Array  # float32[1, S], log b_k of a candidate, else -inf
    weight: Array  # float32[S], alpha b_k of a candidate, else 0
    seating: Array  # float64[S], alpha b_k
    chance: Array  # float32[V, S], M
    score: Array  # float32[V, S], log(M / fresh): what a word says for each category, near zero, so that sums are exact
    fresh: Array  # float32[V], sum over candidates of alpha b_k M[w, k]
    leave: Array  # float32[S, V], fresh[w] / M[w, k] - weight[k]: odds that a token leaves k, times n_dk + alpha b_k


class Sizes(NamedTuple):
    """Functions of a number of tokens n, for n up to the longest document."""

    harmonic: Array  # float64[n + 1], 1 + 1/2 + ... + 1/n
    log_seats: Array  # int64[n + 1], log (n - 1)! in fixed point


class Desk(NamedTuple):
    """What one worker writes on while it goes through its documents."""

    held: Array  # int64[S], the document's tokens in each category, 0 between documents
    pull: Array  # float32[S], the same where a token may come and go
    active: Array  # int64[S], the categories that it has
    second: Array  # int64[S], token that opens the second table, counted within the category
    seated: Array  # int64[S], tokens that have a table
    first_table: Array  # int64[S]
    sums: Array  # float32[1, S], log weight of each category for a whole document
    weights: Array  # float64[S]
    table: Array  # int32[n], table of each token
    table_category: Array  # int64[n]
    table_size: Array  # int64[n]


class Tallies(NamedTuple):
    """What one worker counts."""

    category_word: Array  # int32[V, S], tokens that came less tokens that went
    category_tables: Array  # int64[S]
    log_seats: Array  # int64[S]


@njit(cache=True, nogil=True)
def desk(n_slots, longest):
    """An empty desk."""
    return Desk(
        np.zeros(n_slots, np.int64),
        np.zeros(n_slots, np.float32),
        np.zeros(n_slots, np.int64),
        np.zeros(n_slots, np.int64),
        np.zeros(n_slots, np.int64),
        np.zeros(n_slots, np.int64),
        np.zeros((1, n_slots), np.float32),
        np.zeros(n_slots, np.float64),
        np.zeros(longest, np.int32),
        np.zeros(longest, np.int64),
        np.zeros(longest, np.int64),
    )


@njit(cache=True, nogil=True)
def sample_documents(bags, placements, offers, sizes, key, first, end, tallies):
    """Resample categories and tables of the documents first .. end - 1 of the bags, in place.

    What the tallies gain are the changes of `category_word` and the tables of these documents.
    """
    at = desk(offers.weight.size, sizes.harmonic.size)
    for u in range(first, end):
        document_key = branch(key, bags.document[u])
        if placements.whole[u] == MIXED:
            start, position, n_active = 0, 0, take_stock(bags, placements, offers, u, at)
        else:
            start, position, n_active = visit_whole(bags, placements, offers, sizes, u, document_key, at, tallies)
        if n_active > 0:
            position, n_active = scan(bags, placements, offers, u, start, document_key, position, n_active, at, tallies)
            settle(bags, placements, offers, sizes, u, document_key, position, n_active, at, tallies)


@njit(cache=True, nogil=True, error_model="numpy")
def visit_whole(bags, placements, offers, sizes, u, key, at, tallies):
    """Resample a document all of whose tokens are in one category, in place, if nothing parts them.

    Otherwise return the token to go on with, the next position, and how many categories the document has now; 0 if it
    is done.
    """
    category = np.int64(placements.whole[u])
    first, n = bags.first_token[u], bags.first_token[u + 1] - bags.first_token[u]
    is_candidate = offers.weight[category] > 0.0
    if is_candidate:
        odds = 1.0 / (n - 1 + offers.seating[category])
        bound = weigh(bags, offers, u, category, at.sums) * odds
        patience = exponential(key, 0)
        if patience < bound:
            leaver = first_leaver(bags, offers, u, category, odds, patience)
            if leaver < n:
                spread(placements, offers, category, first, n, at)
                return leaver + 1, 4, leave(bags, placements, offers, u, leaver, key, 3, at, tallies)
    if exponential(key, 1) < offers.seating[category] * sizes.harmonic[n - 1]:
        spread(placements, offers, category, first, n, at)
        return n, 1, 1  # the same number says again where the second table opens, if it does
    if is_candidate:
        destination = choose(at.sums, 0, uniform(key, 2), at.weights)
        if destination != category:
            move_document(bags, u, category, destination, tallies.category_word)
            placements.whole[u] = destination
            category = destination
    tallies.category_tables[category] += 1
    tallies.log_seats[category] += sizes.log_seats[n]
    return n, 0, 0


@njit(cache=True, nogil=True)
def weigh(bags, offers, u, category, sums):
    """Write the log weight of each category for a whole document; return the sum of `leave` over its tokens."""
    words, counts, score, leave = bags.words, bags.counts, offers.score, offers.leave
    first, end = bags.first_pair[u], bags.first_pair[u + 1]
    bound = np.float32(0.0)
    for block in range(0, sums.shape[1], LANES):
        total, i = lanes.load(offers.log_stick, 0, block), bags.first_word[u]
        for p in range(first, end):
            w, n = words[i], np.float32(counts[p])
            total = lanes.add(total, lanes.multiply(lanes.spread(n), lanes.load(score, w, block)))
            if block == 0:
                bound += n * leave[category, w]
            i += counts[p]
        lanes.store(total, sums, 0, block)
    return bound


@njit(cache=True, nogil=True)
def first_leaver(bags, offers, u, category, odds, patience):
    """The token, counted within its document, that is the first to leave the category, or their number.

    While all n tokens are there, token i leaves with odds h = leave[k, w] / (n - 1 + alpha b_k); none does with
    probability Π 1 / (1 + h), which an exponential variable outlives that is larger than Σ log(1 + h).
    """
    first, n = bags.first_word[u], bags.first_token[u + 1] - bags.first_token[u]
    for j in range(n):
        hazard = math.log1p(offers.leave[category, bags.words[first + j]] * odds)
        if patience < hazard:
            return j
        patience -= hazard
    return n


@njit(cache=True, nogil=True)
def choose(log_weights, row, u, weights):
    """An index with probability proportional to exp(log_weights[row]), by inversion of u."""
    highest = log_weights[row, 0]
    for k in range(1, weights.size):
        highest = max(highest, log_weights[row, k])
    total, last, n_possible = 0.0, 0, 0
    for k in range(weights.size):
        gap = log_weights[row, k] - highest
        weights[k] = 0.0
        if gap > TINY_WEIGHT:
            weights[k] = math.exp(gap)
            total += weights[k]
            n_possible += 1
            last = k
    if n_possible == 1:
        return last
    rest = u * total
    for k in range(weights.size):
        if weights[k] > 0.0:
            last = k
            if rest < weights[k]:
                return k
            rest -= weights[k]
    return last


@njit(cache=True, nogil=True)
def move_document(bags, u, source, destination, category_word):
    """Count all tokens of a document in another category."""
    first = bags.first_word[u]
    for i in range(first, first + bags.first_token[u + 1] - bags.first_token[u]):
        category_word[bags.words[i], source] -= 1
        category_word[bags.words[i], destination] += 1


@njit(cache=True, nogil=True)
def take_stock(bags, placements, offers, u, at):
    """Count the categories of a document's tokens; return how many there are."""
    tokens, held, active, n_active = placements.token, at.held, at.active, 0
    for i in range(bags.first_token[u], bags.first_token[u + 1]):
        k = tokens[i]
        if held[k] == 0:
            active[n_active] = k
            n_active += 1
        held[k] += 1
    for a in range(n_active):
        k = active[a]
        at.pull[k] = held[k] if offers.weight[k] > 0.0 else 0.0
    return n_active


@njit(cache=True, nogil=True)
def spread(placements, offers, category, first, n, at):
    """Give each of a document's tokens its category, so that they can part."""
    placements.token[first : first + n] = category
    at.active[0] = category
    at.held[category] = n
    at.pull[category] = n if offers.weight[category] > 0.0 else 0.0


@njit(cache=True, nogil=True)
def recategorize(source, category, n_active, held, pull, active):
    """Count one token in another category, both of them candidates; return how many the document has now."""
    if held[category] == 0:
        active[n_active] = category
        n_active += 1
    held[category] += 1
    held[source] -= 1
    pull[category], pull[source] = held[category], held[source]
    if held[source] > 0:
        return n_active
    place = 0
    while active[place] != source:
        place += 1
    active[place] = active[n_active - 1]
    return n_active - 1


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


@njit(cache=True, nogil=True)
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
    return recategorize(source, category, 1, at.held, at.pull, at.active)


@njit(cache=True, nogil=True)
def scan(bags, placements, offers, u, start, key, position, n_active, at, tallies):
    """Resample the category of a document's tokens from `start` on; return the next position and n_active.

    p(k) ∝ (n_dk + alpha b_k) M[w, k] without the token itself. That it leaves is asked first, of a number near zero,
    where floats are dense: of a number near one, a token that never leaves would do so once in ten million visits.
    """
    words, tokens, category_word = bags.words, placements.token, tallies.category_word
    chances, weights, fresh = offers.chance, offers.weight, offers.fresh
    held, pull, active, nothing = at.held, at.pull, at.active, np.float32(0.0)
    first, first_word, n = bags.first_token[u], bags.first_word[u], bags.first_token[u + 1] - bags.first_token[u]
    for j in range(start, n):
        w, z = words[first_word + j], np.int64(tokens[first + j])
        others = max(fresh[w] - weights[z] * chances[w, z], nothing)
        for a in range(n_active):
            others += pull[active[a]] * chances[w, active[a]] if active[a] != z else nothing
        total = others + (pull[z] - np.float32(1.0) + weights[z]) * chances[w, z]
        rest = np.float32(uniform(key, position)) * total
        position += 1
        if rest >= others or weights[z] == 0.0:
            continue
        category = -1
        for a in range(n_active):
            k = active[a]
            if k != z:
                rest -= pull[k] * chances[w, k]
                if rest < 0.0:
                    category = k
                    break
        if category < 0:
            category = draw_fresh(weights, chances, w, z, rest)
        if category >= 0:
            n_active = recategorize(z, category, n_active, held, pull, active)
            tokens[first + j] = category
            category_word[w, z] -= 1
            category_word[w, category] += 1
    return position, n_active


@njit(cache=True, nogil=True)
def settle(bags, placements, offers, sizes, u, key, position, n_active, at, tallies):
    """Seat the document's tokens at tables, then resample the category of every table, in place.

    Leaves the counts of the desk at zero.
    """
    position, n_tables = seat(bags, placements, offers, sizes, u, key, position, n_active, at)
    for a in range(n_active):
        at.held[at.active[a]] = 0
    sums = np.empty((n_tables, offers.weight.size), np.float32)
    weigh_tables(bags, offers, u, at.table, n_tables, sums)
    moved, whole = False, True
    for t in range(n_tables):
        category = at.table_category[t]
        if offers.weight[category] > 0.0:
            at.table_category[t] = choose(sums, t, uniform(key, position), at.weights)
            position += 1
        moved |= at.table_category[t] != category
        category = at.table_category[t]
        whole &= category == at.table_category[0]
        tallies.category_tables[category] += 1
        tallies.log_seats[category] += sizes.log_seats[at.table_size[t]]
    if moved:
        move_tables(bags, placements, u, at.table, at.table_category, tallies.category_word)
    placements.whole[u] = at.table_category[0] if whole else MIXED


@njit(cache=True, nogil=True)
def weigh_tables(bags, offers, u, table, n_tables, sums):
    """Write the log weight of each category for each table of a document, float32[n_tables, S]."""
    words, score = bags.words, offers.score
    first, n = bags.first_word[u], bags.first_token[u + 1] - bags.first_token[u]
    for block in range(0, sums.shape[1], LANES):
        for t in range(n_tables):
            lanes.store(lanes.load(offers.log_stick, 0, block), sums, t, block)
        for j in range(n):
            total = lanes.add(lanes.load(sums, table[j], block), lanes.load(score, words[first + j], block))
            lanes.store(total, sums, table[j], block)


@njit(cache=True, nogil=True)
def move_tables(bags, placements, u, table, table_category, category_word):
    """Give every token the category of its table."""
    first, first_word = bags.first_token[u], bags.first_word[u]
    for j in range(bags.first_token[u + 1] - first):
        w, category = bags.words[first_word + j], table_category[table[j]]
        category_word[w, placements.token[first + j]] -= 1
        category_word[w, category] += 1
        placements.token[first + j] = category


@njit(cache=True, nogil=True)
def seat(bags, placements, offers, sizes, u, key, position, n_active, at):
    """Seat tokens of each category by a Chinese restaurant process; return the next position and the number of tables.

    All tokens of a category share a table with probability Π i / (i + alpha b_k): one exponential variable tells
    which token is the first to open a second one.
    """
    shared = True
    for a in range(n_active):
        k = at.active[a]
        at.second[k] = second_table(offers.seating[k], at.held[k], sizes, exponential(key, position + a))
        shared &= at.second[k] == at.held[k]
        at.first_table[k] = a
        at.seated[k] = 0
        at.table_category[a] = k
        at.table_size[a] = at.held[k]
    position += n_active
    first, n = bags.first_token[u], bags.first_token[u + 1] - bags.first_token[u]
    if shared:
        for j in range(n):
            at.table[j] = at.first_table[placements.token[first + j]]
        return position, n_active
    n_tables = n_active
    at.table_size[:n_active] = 0
    for j in range(n):
        k = np.int64(placements.token[first + j])
        t = at.first_table[k]
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


@njit(cache=True, nogil=True)
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
