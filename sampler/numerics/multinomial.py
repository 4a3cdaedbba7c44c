"""Binomial and multinomial counts by address.

Each is a pure function of a stream's key and a position in it (`sampler.numerics.streams`), and returns the position
after the last one it read. Draws of 32 bits are compared with bounds eight at a time in vector registers.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from sampler.corpus import Array
from sampler.numerics.streams import uniform
from sampler.numerics.variates import HALF_WORD, bits32, random_bits

NO_WEIGHT = -1  # index of none of the weights
FEW = 10.0  # expected successes below which a binomial is counted up from zero
COUNTED_DRAWS = 256  # up to here a multinomial compares each draw with all bounds, eight draws at a time


@njit(cache=True, nogil=True, error_model="numpy")
def stirling_rest(n: float) -> float:
    """log n! less Stirling's (n + 1/2) log(n + 1) - (n + 1) + log(2 pi) / 2, n >= 0 whole."""
    if n < 10.0:
        return math.lgamma(n + 1.0) - ((n + 0.5) * math.log(n + 1.0) - (n + 1.0) + 0.9189385332046727)
    m = n + 1.0
    q = 1.0 / (m * m)
    return (1.0 / 12.0 - q * (1.0 / 360.0 - q * (1.0 / 1260.0 - q / 1680.0))) / m


@njit(cache=True, nogil=True, error_model="numpy")
def few_successes(n, p, key, position):
    """A binomial with n p < FEW, p <= 1/2, by inversion of one uniform from zero upwards."""
    u = uniform(key, position)
    chance = math.exp(n * math.log1p(-p))
    odds = p / (1.0 - p)
    x = 0
    # the sum of all chances may round to less than u: past the mode a chance of 1e-20 ends the search
    while u >= chance and x < n and (chance > 1e-20 or x <= FEW):
        u -= chance
        x += 1
        chance *= odds * (np.float64(n - x + 1) / np.float64(x))
    return x, position + 1


@njit(cache=True, nogil=True, error_model="numpy")
def many_successes(n, p, key, position):
    """A binomial with n p >= FEW, p <= 1/2: BTRS of Hormann (1993), transformed rejection with a squeeze."""
    spread = math.sqrt(n * p * (1.0 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    centre = n * p + 0.5
    quick = 0.92 - 4.2 / b
    while True:
        u = uniform(key, position) - 0.5
        v = uniform(key, position + 1)
        position += 2
        inside = 0.5 - abs(u)
        if inside <= 0.0:
            continue
        k = math.floor((2.0 * a / inside + b) * u + centre)
        if inside >= 0.07 and v <= quick:
            return np.int64(k), position
        if k < 0.0 or k > n:
            continue
        odds = p / (1.0 - p)
        mode = math.floor((n + 1.0) * p)
        scaled = v * (2.83 + 5.1 / b) * spread / (a / (inside * inside) + b)
        bound = (
            (mode + 0.5) * math.log((mode + 1.0) / (odds * (n - mode + 1.0)))
            + (n + 1.0) * math.log((n - mode + 1.0) / (n - k + 1.0))
            + (k + 0.5) * math.log(odds * (n - k + 1.0) / (k + 1.0))
            + (stirling_rest(mode) + stirling_rest(n - mode))
            - (stirling_rest(np.float64(k)) + stirling_rest(np.float64(n - k)))
        )
        if scaled <= 0.0 or math.log(scaled) <= bound:
            return np.int64(k), position


@njit(cache=True, nogil=True, error_model="numpy")
def binomial(n: int, p: float, key: np.uint64, position: int) -> tuple[int, int]:
    """Successes among n >= 0 trials of probability p in [0, 1]."""
    if n == 0 or p <= 0.0:
        return 0, position
    if p >= 1.0:
        return n, position
    q = p if p <= 0.5 else 1.0 - p
    if n * q < FEW:
        x, position = few_successes(n, q, key, position)
    else:
        x, position = many_successes(n, q, key, position)
    return (x if p <= 0.5 else n - x), position


@njit(cache=True, nogil=True, error_model="numpy")
def count_below(n, key, bounds):
    """How many of n draws of 32 bits lie below each of eight bounds; right where 0 < bound < 2^32.

    The eight counts stay in registers, eight draws go through one loop, and draws from n on are the largest number.
    """
    low, high = np.uint32(key), np.uint32(key >> HALF_WORD)
    last0, last1, last2 = last_below(bounds[0]), last_below(bounds[1]), last_below(bounds[2])
    last3, last4, last5 = last_below(bounds[3]), last_below(bounds[4]), last_below(bounds[5])
    last6, last7 = last_below(bounds[6]), last_below(bounds[7])
    none, end = np.uint32(0), np.uint32(n)
    n0, n1, n2, n3, n4, n5, n6, n7 = none, none, none, none, none, none, none, none
    for i in range((n + 7) // 8 * 8):
        beyond = np.uint32(none - np.uint32(np.uint32(i) >= end))
        draw = np.uint32(bits32(low, high, np.uint32(i)) | beyond)
        n0, n1 = np.uint32(n0 + np.uint32(draw <= last0)), np.uint32(n1 + np.uint32(draw <= last1))
        n2, n3 = np.uint32(n2 + np.uint32(draw <= last2)), np.uint32(n3 + np.uint32(draw <= last3))
        n4, n5 = np.uint32(n4 + np.uint32(draw <= last4)), np.uint32(n5 + np.uint32(draw <= last5))
        n6, n7 = np.uint32(n6 + np.uint32(draw <= last6)), np.uint32(n7 + np.uint32(draw <= last7))
    return n0, n1, n2, n3, n4, n5, n6, n7


@njit(cache=True, nogil=True, error_model="numpy")
def last_below(bound):
    """The largest 32 bits below a bound."""
    return np.uint32(bound - 1)


@njit(cache=True, nogil=True, error_model="numpy")
def weight_if(weight, j, size, taken):
    """The weight j, or nothing where there is none or it has had its draws."""
    return np.float64(weight) if j < size and j != taken else 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def bound32(start, mass, dither):
    """The share start / mass in parts of 2^32, rounded down or up by a uniform dither, so that its mean is exact.

    All of the mass is all parts, or a draw could fall upon a rest that is not there.
    """
    return np.int64(start * (2.0**32 / mass) + dither) if start < mass else np.int64(2**32)


@njit(cache=True, nogil=True, error_model="numpy")
def draws_below(below, bound, n):
    """The draws below a bound, also where none or all are."""
    return np.int64(0) if bound <= 0 else np.int64(n) if bound >= 2**32 else np.int64(below)


class RemainingWeights(NamedTuple):
    """The weights[first:size] without the one taken, and what else there is of `mass`."""

    weights: Array  # float32
    first: int
    size: int
    taken: int  # or NO_WEIGHT
    mass: float


@njit(cache=True, nogil=True, error_model="numpy")
def throw_draws(n, remaining, key, position, out):
    """Throw n draws of 32 bits upon the weights that remain and the rest of their mass.

    The bounds between weights are whole numbers of 2^-32 parts, dithered by one uniform: each draw alone has exactly
    its law, and that the draws share the dither changes their joint law by less than n^2 2^-64.
    Helpers get numbers, never an array: numba would count a reference for each call, which takes longer than the rest.
    One piece, though it is long: eight draws, bounds and counts side by side are what keeps them in registers.
    """
    weights, first, size, taken, mass = remaining
    dither = uniform(key, position)
    draws_key = random_bits(key, position + 1)
    last = size - 1
    start, before = 0.0, np.int64(0)
    for j in range(first, size, 8):
        start0 = start + weight_if(weights[j], j, size, taken)
        start1 = start0 + weight_if(weights[min(j + 1, last)], j + 1, size, taken)
        start2 = start1 + weight_if(weights[min(j + 2, last)], j + 2, size, taken)
        start3 = start2 + weight_if(weights[min(j + 3, last)], j + 3, size, taken)
        start4 = start3 + weight_if(weights[min(j + 4, last)], j + 4, size, taken)
        start5 = start4 + weight_if(weights[min(j + 5, last)], j + 5, size, taken)
        start6 = start5 + weight_if(weights[min(j + 6, last)], j + 6, size, taken)
        start = start6 + weight_if(weights[min(j + 7, last)], j + 7, size, taken)
        bound0, bound1 = bound32(start0, mass, dither), bound32(start1, mass, dither)
        bound2, bound3 = bound32(start2, mass, dither), bound32(start3, mass, dither)
        bound4, bound5 = bound32(start4, mass, dither), bound32(start5, mass, dither)
        bound6, bound7 = bound32(start6, mass, dither), bound32(start, mass, dither)
        bounds = (bound0, bound1, bound2, bound3, bound4, bound5, bound6, bound7)
        n0, n1, n2, n3, n4, n5, n6, n7 = count_below(n, draws_key, bounds)
        counts = (
            draws_below(n0, bound0, n),
            draws_below(n1, bound1, n),
            draws_below(n2, bound2, n),
            draws_below(n3, bound3, n),
            draws_below(n4, bound4, n),
            draws_below(n5, bound5, n),
            draws_below(n6, bound6, n),
            draws_below(n7, bound7, n),
        )
        for t in range(min(8, size - j)):
            out[j + t] = counts[t] - before
            before = counts[t]
    out[size] = n - before
    return position + 2


@njit(cache=True, nogil=True, error_model="numpy")
def multinomial(n, weights, size, total, key, position, out):
    """Throw n draws upon weights[0:size] and the rest of `total`; counts into out[0:size + 1]. Next position.

    A rest below zero, by rounding, is none. While the draws are many, weights take their parts by binomials, the
    heaviest first; the others are then few enough to be thrown one by one, eight at a time.
    """
    mass, heaviest, most = 0.0, NO_WEIGHT, np.float32(0.0)
    for j in range(size):
        mass += weights[j]
        if weights[j] > most:
            heaviest, most = j, weights[j]
    rest = max(total - mass, 0.0)
    if mass + rest <= 0.0:
        rest = 1.0
    left, first, taken, heavy = n, 0, NO_WEIGHT, 0
    if n > COUNTED_DRAWS:
        if heaviest != NO_WEIGHT:
            taken = heaviest
            heavy, position = binomial(n, most / (mass + rest), key, position)
            left -= heavy
        while left > COUNTED_DRAWS and first < size:
            x = 0
            if first != taken and weights[first] > 0.0:
                mass = rest
                for j in range(first, size):
                    mass += weight_if(weights[j], j, size, taken)
                x, position = binomial(left, min(weights[first] / mass, 1.0), key, position)
            out[first] = x
            left -= x
            first += 1
        mass = 0.0
        for j in range(first, size):
            mass += weight_if(weights[j], j, size, taken)
    position = throw_draws(left, RemainingWeights(weights, first, size, taken, mass + rest), key, position, out)
    if taken != NO_WEIGHT:
        out[taken] = heavy
    return position
