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

import numpy as np
from numba import njit

from sampler.lbpl_ntm.blocked.arrays import MIXED
from sampler.lbpl_ntm.blocked.category_scores import choose, stays
from sampler.lbpl_ntm.blocked.document_scratch import name_tokens, take_stock
from sampler.lbpl_ntm.blocked.mixed_documents import let_leave, scan
from sampler.lbpl_ntm.blocked.tables import settle_tables
from sampler.numerics import simd
from sampler.numerics.memory import borrow
from sampler.numerics.simd import LANES
from sampler.numerics.streams import branch, uniform
from sampler.numerics.threads import is_raised, take


@njit(cache=True, nogil=True)
def sample_documents(documents, scores, key, pieces, at, tallies):
    """Resample categories and tables of documents, in place.

    What the tallies gain are the changes of `category_word` and the tables of these documents.
    With thousands of categories a single document takes a hundredth of a second: the flag is looked at before each.
    """
    documents, scores, at, tallies = borrow(documents), borrow(scores), borrow(at), borrow(tallies)
    first, end = take(pieces)
    while first < end:
        for u in range(first, end):
            if is_raised(pieces.stop):
                break
            document_key = branch(key, documents.bags.document[u])
            documents.one_table[u] = True
            if documents.placements.whole[u] == MIXED:
                start, position, n_active = 0, 0, take_stock(documents, scores, u, at)
            else:
                start, position, n_active = visit_whole(documents, scores, u, document_key, at, tallies)
            if n_active > 0:
                n_active = scan(documents, scores, u, start, document_key, n_active, at, tallies)
                settle_tables(documents, scores, u, document_key, position, n_active, at, tallies)
        first, end = take(pieces)


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def visit_whole(documents, scores, u, key, at, tallies):
    """Resample a document all of whose tokens are in one category, in place, if nothing parts them.

    Otherwise return the token to go on with, the next position, and how many categories the document has now; 0 if it
    is done.
    """
    bags, placements, sizes = documents.bags, documents.placements, documents.sizes
    category = np.int64(placements.whole[u])
    n = bags.first_token[u + 1] - bags.first_token[u]
    is_candidate = scores.weight[category] > 0.0
    if is_candidate:
        odds = 1.0 / (n - 1 + scores.seating[category])
        bound = weigh_document(bags, scores, u, category, at.quanta) * odds
        u_leave = uniform(key, 0)
        if not outlives(u_leave, bound):
            leaver = first_leaver(bags, scores, u, category, odds, -math.log(1.0 - u_leave))
            if leaver < n:
                name_tokens(documents, scores, u, category, at)
                return leaver + 1, 4, let_leave(documents, scores, u, leaver, key, 3, at, tallies)
    if not outlives(uniform(key, 1), scores.seating[category] * sizes.harmonic[n - 1]):
        name_tokens(documents, scores, u, category, at)
        return n, 1, 1  # the same number says again where the second table opens, if it does
    if is_candidate:
        u_choice = uniform(key, 2)
        if not stays(scores, at.quanta, 0, category, n, u_choice):
            weigh_document_exactly(bags, scores.score, scores.log_stick, u, at.sums)
            destination = choose(at.sums, 0, category, u_choice, at.weights)
            if destination != category:
                move_words(bags, u, category, destination, tallies.category_word)
                placements.whole[u] = destination
                category = destination
    tallies.category_tables[category] += 1
    tallies.log_seats[category] += sizes.log_seats[n]
    return n, 0, 0


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def outlives(u, bound):
    """Whether the exponential variable -log(1 - u) is at least the bound; it is never below u."""
    return u >= bound or -math.log(1.0 - u) >= bound


@njit(cache=True, nogil=True, inline="always")
def weigh_document(bags, scores, u, category, sums):
    """Write the log weight of each category for a whole document, in quanta; return the sum of `leave` over its tokens.

    `sums` is int32[1, S].
    """
    words, counts, quanta, odds = bags.words, bags.counts, scores.quanta, scores.leave
    first, end = bags.first_pair[u], bags.first_pair[u + 1]
    bound = np.float32(0.0)
    for block in range(0, sums.shape[1], LANES):
        total, i = simd.load(scores.stick_quanta, 0, block), bags.first_word[u]
        for p in range(first, end):
            w, n = np.uint32(words[i]), np.int32(counts[p])
            total = simd.add(total, simd.multiply(simd.spread(n), simd.load_short(quanta, w, block)))
            if block == 0:
                bound += np.float32(n) * odds[category, w]
            i += counts[p]
        simd.store(total, sums, 0, block)
    return bound


@njit(cache=True, nogil=True, inline="always")
def weigh_document_exactly(bags, score, log_prior, u, sums):
    """Write the log weight of each category for a whole document, float32[1, S], whose `log_prior` is such a row."""
    words, counts = bags.words, bags.counts
    for block in range(0, sums.shape[1], LANES):
        total, i = simd.load(log_prior, 0, block), bags.first_word[u]
        for p in range(bags.first_pair[u], bags.first_pair[u + 1]):
            n = simd.spread(np.float32(counts[p]))
            total = simd.add(total, simd.multiply(n, simd.load(score, words[i], block)))
            i += counts[p]
        simd.store(total, sums, 0, block)


@njit(cache=True, nogil=True, inline="always")
def first_leaver(bags, scores, u, category, odds, patience):
    """The token, counted within its document, that is the first to leave the category, or their number.

    While all n tokens are there, token i leaves with odds h = leave[k, w] / (n - 1 + alpha b_k); none does with
    probability Π 1 / (1 + h), which an exponential variable outlives that is larger than Σ log(1 + h).
    """
    first, n = bags.first_word[u], bags.first_token[u + 1] - bags.first_token[u]
    for j in range(n):
        hazard = math.log1p(scores.leave[category, bags.words[first + j]] * odds)
        if patience < hazard:
            return j
        patience -= hazard
    return n


@njit(cache=True, nogil=True, inline="always")
def move_words(bags, u, source, destination, category_word):
    """Count all tokens of a document in another category."""
    first = bags.first_word[u]
    for i in range(first, first + bags.first_token[u + 1] - bags.first_token[u]):
        category_word[bags.words[i], source] -= 1
        category_word[bags.words[i], destination] += 1
