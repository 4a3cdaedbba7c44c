"""What each category says of each word in one sweep, and how a document or a table chooses a category by it.

A document of a hundred words is nearly always sure of its category, and so is a table. To see this no exact weights
are needed: `quanta` are what the words say in whole steps of QUANTUM nats, half as long to read as float32, and their
sums err by a known amount. Only where this could matter are the exact weights summed. In either case the choice is by
inversion of one uniform number, the present category first, so nothing depends on which way it was made.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from sampler.corpus import Array
from sampler.numerics import simd
from sampler.numerics.memory import AHEAD, prefetch
from sampler.numerics.simd import LANES
from sampler.numerics.threads import take
from sampler.numerics.variates import short_log

TINY_WEIGHT = -45.0  # log of a weight against the largest: below it a choice is beyond the 53 bits of a uniform
QUANTUM = 2.0**-9  # nats: int16 reach to 64 of them
QUANTA_OF_A_NAT = np.float32(1.0 / QUANTUM)
MOST_QUANTA = np.float32(32_767)
HIGHEST_SCORE = 63.0  # that quanta hold
MOST_TOKENS = 40_000  # whose quanta do not overflow
WORDS_OF_A_LINE = 16  # of each category they fill a cache line
NO_STICK = -(2**29)  # quanta of the log stick of what is no candidate
NOT_ASKED = np.int32(-(2**30))


class CategoryScores(NamedTuple):
    """What a document needs to know of the categories in this sweep."""

    log_stick: Array  # float32[1, S], log b_k of a candidate, else -inf
    weight: Array  # float32[S], alpha b_k of a candidate, else 0
    seating: Array  # float64[S], alpha b_k
    chance: Array  # float32[V, S], M
    score: Array  # float32[V, S], log(M / fresh): what a word says for each category, near zero, so that sums are exact
    fresh: Array  # float32[V], sum over candidates of alpha b_k M[w, k]
    leave: Array  # float32[S, V], fresh[w] / M[w, k] - weight[k]: odds that a token leaves k, times n_dk + alpha b_k
    quanta: Array  # int16[V, S], the score in whole quanta; at least -64 nats
    stick_quanta: Array  # int32[1, S], log_stick in whole quanta
    slack: Array  # float64[1], nats by which a difference of two quanta may err; infinite if there are no quanta


@njit(cache=True, nogil=True)
def write_all_chances(drawn, pieces):
    """Write M, the chance of each word in each category."""
    first, end = take(pieces)
    while first < end:
        write_chances(drawn, first, end)
        first, end = take(pieces)


@njit(cache=True, nogil=True)
def score_all_words(drawn, has_chances, scores, served, pieces):
    """Write M, unless it is there, and the scores that follow from it."""
    first, end = take(pieces)
    while first < end:
        if not has_chances:
            write_chances(drawn, first, end)
        score_words(scores, served, first, end)
        first, end = take(pieces)


@njit(cache=True, nogil=True)
def write_chances(drawn, first, end):
    """Write M, the chance of each word in each category, for the words first .. end - 1."""
    chance, mixture, topic, weight = drawn.chance, drawn.mixture, drawn.topic, drawn.weight
    for w in range(first, end):
        for place in range(0, 64, 16):
            prefetch(weight, w + AHEAD, place)
        prefetch(topic, w + AHEAD, 0)
        prefetch(topic, w + AHEAD, 32)
        for block in range(0, chance.shape[1], LANES):
            total = simd.spread(np.float32(0.0))
            for j in range(drawn.size[w]):
                share = simd.multiply(simd.spread(weight[w, j]), simd.load(mixture, topic[w, j], block))
                total = simd.add(total, share)
            simd.store(total, chance, w, block)


@njit(cache=True, nogil=True, error_model="numpy")
def score_words(scores, served, first, end):
    """Write `fresh`, `score`, `quanta` and `leave` for the words first .. end - 1 from chances and sticks.

    `served` int64 are the slots that hold a token or may come to. Where M is 0 a score is about -88. `leave` goes by
    categories, so that a block of words is written to each in turn.
    """
    chance, score, weight, leave, fresh = scores.chance, scores.score, scores.weight, scores.leave, scores.fresh
    for begin in range(first, end, WORDS_OF_A_LINE):
        for w in range(begin, min(begin + WORDS_OF_A_LINE, end)):
            total = np.float32(0.0)
            for s in range(served.size):
                total += weight[served[s]] * chance[w, served[s]]
            fresh[w] = total
            for k in range(weight.size):
                score[w, k] = short_log(chance[w, k] / total)
        for s in range(served.size):
            k = served[s]
            for w in range(begin, min(begin + WORDS_OF_A_LINE, end)):
                leave[k, w] = max(fresh[w] / chance[w, k] - weight[k], np.float32(0.0))
    quantize(scores, first, end)


@njit(cache=True, nogil=True)
def quantize(scores, first, end):
    """Write `quanta` for the words first .. end - 1 from their scores."""
    score, quanta = scores.score, scores.quanta
    for w in range(first, end):
        for k in range(quanta.shape[1]):
            steps = math.floor(score[w, k] * QUANTA_OF_A_NAT + np.float32(0.5))
            quanta[w, k] = np.int16(min(max(steps, -MOST_QUANTA), MOST_QUANTA))


@njit(cache=True, nogil=True, inline="always")
def stays(scores, sums, row, current, n, u):
    """Whether u chooses the present category whatever the exact weights are; sums[row] are quanta of n tokens, int32.

    A score below -64 nats counts for more than it is, which only makes this answer no. The present category has none:
    its tokens would not have stayed there. Overwrites the sum of the present category.
    """
    own, highest = sums[row, current], NOT_ASKED
    sums[row, current] = NOT_ASKED
    for k in range(scores.weight.size):
        highest = max(highest, sums[row, k])
    slack = scores.slack[0] * (n + 1)
    if n > MOST_TOKENS or not (highest - own) * QUANTUM + slack < 0.0:
        return False
    others = 0.0
    if (highest - own) * QUANTUM + slack > TINY_WEIGHT:
        for k in range(scores.weight.size):
            gap = (sums[row, k] - own) * QUANTUM + slack
            if gap > TINY_WEIGHT:
                others += math.exp(gap)
    return u * (1.0 + others) < 1.0


@njit(cache=True, nogil=True)
def choose(log_weights, row, current, u, weights):
    """An index with probability proportional to exp(log_weights[row]), by inversion of u; `current` comes first."""
    highest = log_weights[row, 0]
    for k in range(1, weights.size):
        highest = max(highest, log_weights[row, k])
    total = 0.0
    for k in range(weights.size):
        gap = log_weights[row, k] - highest
        weights[k] = math.exp(gap) if gap > TINY_WEIGHT else 0.0
        total += weights[k]
    rest, last = u * total - weights[current], current
    if rest < 0.0:
        return current
    for k in range(weights.size):
        if k != current and weights[k] > 0.0:
            last = k
            if rest < weights[k]:
                return k
            rest -= weights[k]
    return last
