"""Topics in bulk, word by word, given what every category says of every word.

Tokens of one word in one category are exchangeable, so their topics are one
multinomial draw. phi is sparse: of a word's topics without a token, whose weights are Gamma(beta), most are far below
what a float can tell apart from nothing, and these are never drawn (sampler.lbpl_ntm.blocked.phi).
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from sampler.corpus import Array
from sampler.numerics import simd
from sampler.numerics.memory import AHEAD, borrow, prefetch
from sampler.numerics.multinomial import multinomial
from sampler.numerics.simd import LANES
from sampler.numerics.streams import branch, uniform
from sampler.numerics.threads import take
from sampler.numerics.variates import lane_uniforms

NUMBERS_OF_ROUNDS = (4, 8, 16, 24, 32, 48, 64)  # in each of them LANES categories draw a token
COST_OF_MORE = 4  # of a category that has more tokens, in rounds
MOST_NUMBERED = 512  # tokens that have a number each
ABSENT = np.float32(-1.0)  # in place of the number of a token that is not there: it reaches no sum
STRIDE = 65_536  # positions of the tokens of a round: more than there are slots


class TopicScratch(NamedTuple):
    """What one thread writes on while it goes through its words."""

    numbers: Array  # float32[., LANES], one of each token
    sums: Array  # float32[L + 1, LANES], of chances in LANES categories
    ends: Array  # float32[1, LANES], what is reached by numbers of topics without a count
    column: Array  # float32[L], chances of a word's topics in one category
    parts: Array  # int64[L + 1], tokens of a multinomial
    found: Array  # int32[L], tokens at each place of a word's row


@njit(cache=True, nogil=True, error_model="numpy")
def sample_bulk_topics(category_word, changes, drawn, key, pieces, word_topics, category_topic):
    """Draw the topics of all tokens of words, given their categories, whose counts have yet to take over `changes`.

    Each token of a word in a category has a number of its own, and a topic takes those numbers that reach the sum of
    chances before it and not its own. So numbers are compared and counted, LANES at once: one of each of as many
    categories, or as many of one that has more tokens. The numbers are the same in either case. Only pairs of word and
    category with more than MOST_NUMBERED tokens are multinomials drawn otherwise.
    Writes the rows of `word_topics` and adds to `category_topic` int32[L, S].
    """
    first, end = take(pieces)
    while first < end:
        take_over(category_word, changes, first, end)
        throw_words(category_word, drawn, key, first, end, word_topics, category_topic)
        first, end = take(pieces)


@njit(cache=True, nogil=True, error_model="numpy")
def throw_words(category_word, drawn, key, first, end, word_topics, category_topic):
    """Draw the topics of all tokens of the words first .. end - 1.

    Where all that is written on is made here, LLVM knows that it overlaps with nothing.
    """
    n_topics, n_slots = category_topic.shape
    drawn, word_topics = borrow(drawn), borrow(word_topics)
    at = TopicScratch(
        simd.aligned_rows(MOST_NUMBERED // LANES + NUMBERS_OF_ROUNDS[-1], LANES),
        simd.aligned_rows(n_topics + 1, LANES),
        simd.aligned_rows(1, LANES),
        np.empty(n_topics, np.float32),
        np.empty(n_topics + 1, np.int64),
        np.zeros(n_topics, np.int32),
    )
    for w in range(first, end):
        fetch_rows(drawn, word_topics, w + AHEAD)
        word_key = branch(key, w)
        for block in range(0, n_slots, LANES):
            tokens = simd.load(category_word, w, block)
            n_rounds, n_more = plan(tokens)
            if n_rounds + n_more > 0:
                sum_counted(drawn, w, block, at.sums)
            if n_rounds > 0:
                throw_rounds(drawn, w, block, tokens, n_rounds, word_key, at, category_topic)
            lane = np.uint64(LANES)
            if n_more > 0:
                lane = simd.first(simd.greater(tokens, simd.spread(n_rounds)), np.uint64(0))
            while lane < np.uint64(LANES):
                n = np.int64(category_word[w, block + np.int64(lane)])
                if n <= MOST_NUMBERED:
                    throw_tokens(drawn, w, block, lane, n, word_key, at, category_topic)
                else:
                    throw_all(drawn, w, block + np.int64(lane), n, word_key, at, category_topic)
                lane = simd.first(simd.greater(tokens, simd.spread(n_rounds)), lane + np.uint64(1))
        keep_found(at.found, drawn.topic[w], drawn.size[w], w, word_topics)


@njit(cache=True, nogil=True, inline="always")
def fetch_rows(drawn, word_topics, w):
    """Ask for what will be read and written of a word."""
    prefetch(drawn.topic, w, 0)
    prefetch(drawn.weight, w, 0)
    prefetch(drawn.weight, w, 16)
    prefetch(word_topics.topic, w, 0)
    prefetch(word_topics.tokens, w, 0)


@njit(cache=True, nogil=True, inline="always")
def plan(tokens):
    """How many rounds the tokens of a word in LANES categories are drawn in, and how many categories have more.

    The number is that of NUMBERS_OF_ROUNDS whose cost is least, or what the categories need that have no more.
    """
    best, n_more = np.int32(0), np.int32(LANES + 1)
    for n_rounds in NUMBERS_OF_ROUNDS:
        n = simd.how_many(simd.greater(tokens, simd.spread(np.int32(n_rounds))))
        if n_rounds + COST_OF_MORE * n < best + COST_OF_MORE * n_more:
            best, n_more = np.int32(n_rounds), n
        if n == 0:
            break
    few = simd.where(simd.greater(tokens, simd.spread(best)), simd.spread(np.int32(0)), tokens)
    return simd.largest(few), n_more


@njit(cache=True, nogil=True, inline="always")
def sum_counted(drawn, w, block, sums):
    """Write sums of the chances of a word's topics with a count, in LANES categories, a row each after one of zeros."""
    reached = simd.spread(np.float32(0.0))
    for j in range(drawn.counted[w]):
        mixture = simd.load(drawn.mixture, drawn.topic[w, j], block)
        reached = simd.add(reached, simd.multiply(simd.spread(drawn.weight[w, j]), mixture))
        simd.store(reached, sums, j + 1, 0)


@njit(cache=True, nogil=True, inline="always")
def throw_rounds(drawn, w, block, tokens, n_rounds, word_key, at, category_topic):
    """Draw the topics of a word's tokens in those of LANES categories that have no more than there are rounds."""
    chance, absent = simd.load(drawn.chance, w, block), simd.spread(ABSENT)
    beyond = simd.where(simd.greater(tokens, simd.spread(n_rounds)), simd.spread(np.int32(0)), tokens)
    for r in range(n_rounds):
        place = simd.add(simd.numbered(), simd.spread(np.int32(r * STRIDE + block)))
        number = simd.multiply(lane_uniforms(word_key, place), chance)
        simd.store(simd.where(simd.greater(beyond, simd.spread(np.int32(r))), number, absent), at.numbers, r, 0)
    for j in range(drawn.counted[w]):
        reached, before, beyond = simd.load(at.sums, j + 1, 0), beyond, simd.spread(np.int32(0))
        for r in range(n_rounds):
            beyond = simd.add(beyond, simd.ones(simd.reached(simd.load(at.numbers, r, 0), reached)))
        taken, topic = simd.subtract(before, beyond), drawn.topic[w, j]
        simd.store(simd.add(simd.load(category_topic, topic, block), taken), category_topic, topic, block)
        at.found[j] += simd.total(taken)
    if simd.total(beyond) > 0:
        take_rare(drawn, w, block, 1, n_rounds, simd.load(at.sums, drawn.counted[w], 0), at, category_topic)


@njit(cache=True, nogil=True, inline="always")
def throw_tokens(drawn, w, block, lane, n, word_key, at, category_topic):
    """Draw the topics of a word's n tokens in the category of one lane, LANES tokens at once."""
    k = block + np.int64(lane)
    n_rows = (n + LANES - 1) // LANES
    chance, absent = simd.spread(drawn.chance[w, k]), simd.spread(ABSENT)
    size, stride = simd.spread(np.int32(n)), simd.spread(np.int32(STRIDE))
    for r in range(n_rows):
        token = simd.add(simd.numbered(), simd.spread(np.int32(r * LANES)))
        place = simd.add(simd.multiply(token, stride), simd.spread(np.int32(k)))
        number = simd.multiply(lane_uniforms(word_key, place), chance)
        simd.store(simd.where(simd.greater(size, token), number, absent), at.numbers, r, 0)
    beyond = n
    for j in range(drawn.counted[w]):
        reached, before, beyond = simd.spread(at.sums[j + 1, lane]), beyond, 0
        for r in range(n_rows):
            beyond += simd.how_many(simd.reached(simd.load(at.numbers, r, 0), reached))
        at.found[j] += before - beyond
        category_topic[drawn.topic[w, j], k] += before - beyond
    if beyond > 0:
        take_rare(drawn, w, k, 0, n_rows, simd.spread(at.sums[drawn.counted[w], lane]), at, category_topic)


@njit(cache=True, nogil=True, inline="always")
def take_rare(drawn, w, first, step, n_rows, reached, at, category_topic):
    """Give the numbers that are beyond all topics with a count to one without; lane i is of category first + step i."""
    simd.store(reached, at.ends, 0, 0)
    for r in range(n_rows):
        is_beyond = simd.reached(simd.load(at.numbers, r, 0), reached)
        lane = simd.first(is_beyond, np.uint64(0))
        while lane < np.uint64(LANES):
            k = first + step * np.int64(lane)
            place = find_rare(drawn, w, k, at.numbers[r, lane] - at.ends[0, lane])
            at.found[place] += 1
            category_topic[drawn.topic[w, place], k] += 1
            lane = simd.first(is_beyond, lane + np.uint64(1))


@njit(cache=True, nogil=True, inline="always")
def throw_all(drawn, w, k, n, word_key, at, category_topic):
    """Draw the topics of a word's n tokens in one category as a multinomial."""
    counted, mass = drawn.counted[w], np.float32(0.0)
    for j in range(counted):
        at.column[j] = drawn.weight[w, j] * drawn.mixture[drawn.topic[w, j], k]
        mass += at.column[j]
    column_key, chance = branch(word_key, k), np.float64(drawn.chance[w, k])
    position = multinomial(n, at.column, counted, chance, column_key, 0, at.parts)
    for j in range(counted):
        at.found[j] += at.parts[j]
        category_topic[drawn.topic[w, j], k] += at.parts[j]
    for i in range(at.parts[counted]):
        place = find_rare(drawn, w, k, np.float32(uniform(column_key, position + i) * (chance - mass)))
        at.found[place] += 1
        category_topic[drawn.topic[w, place], k] += 1


@njit(cache=True, nogil=True, inline="always")
def keep_found(found, topic, size, w, word_topics):
    """Write a word's row from the tokens that were found at each place, and forget them."""
    n = 0
    for j in range(size):
        if found[j] > 0:
            word_topics.topic[w, n] = topic[j]
            word_topics.tokens[w, n] = found[j]
            found[j] = 0
            n += 1
    word_topics.size[w] = n


@njit(cache=True, nogil=True, inline="always")
def find_rare(drawn, w, k, u):
    """The place without a count at which the sum of their chances passes u; the last if rounding let u pass all."""
    for j in range(drawn.counted[w], drawn.size[w]):
        u -= drawn.weight[w, j] * drawn.mixture[drawn.topic[w, j], k]
        if u < 0.0:
            return np.int64(j)
    return np.int64(drawn.size[w] - 1)


@njit(cache=True, nogil=True)
def take_over_words(category_word, changes, pieces):
    """Have `category_word` take over all changes."""
    first, end = take(pieces)
    while first < end:
        take_over(category_word, changes, first, end)
        first, end = take(pieces)


@njit(cache=True, nogil=True)
def take_over(category_word, changes, first, end):
    """Add what the other threads changed, int32[n_threads - 1, V, S], for some words, and forget it."""
    for thread in range(changes.shape[0]):
        for w in range(first, end):
            for k in range(category_word.shape[1]):
                category_word[w, k] += changes[thread, w, k]
                changes[thread, w, k] = 0
