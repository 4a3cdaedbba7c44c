"""Gamma numbers of words and topics, many at once, in steps: each a loop over all of them.

Short loops without a branch, which LLVM keeps in vector registers and whose many independent terms overlap in the
processor. What such a loop cannot end is marked open, then listed, then ended one by one. Shapes are beta plus a
count, or beta alone: then a number is often tiny, and of the tiniest only the place is taken.
"""

import math
from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from sampler.corpus import Array
from sampler.numerics.streams import branch, uniform
from sampler.numerics.variates import (
    ENDS,
    HALF_WORD,
    INDEX_BITS,
    LOG_2,
    MAGNITUDE_SHIFT,
    SQUEEZE,
    STEPS,
    TO_UNIT_32,
    bits32,
    gamma_from,
    normal_from,
    plain_exp2,
    plain_log2,
    random_bits,
    small_gamma,
    unit32,
    with_sign,
)

GROUP = np.uint64(8)  # topics whose flags make a byte
SECOND_NUMBER = np.uint64(0xD1B54A32D192ED03)  # flips a key: the second numbers of a row, apart from its first
THIRD_NUMBER = np.uint64(0xA0761D6478BD642F)
SECOND_LOW, SECOND_HIGH = np.uint32(SECOND_NUMBER & np.uint64(0xFFFFFFFF)), np.uint32(SECOND_NUMBER >> HALF_WORD)
THIRD_LOW, THIRD_HIGH = np.uint32(THIRD_NUMBER & np.uint64(0xFFFFFFFF)), np.uint32(THIRD_NUMBER >> HALF_WORD)
LEAST_LOG2 = -125.5  # 2 to this power is still a normal float32: a weight is never zero
LEAST = 2.0**LEAST_LOG2
TO_LOG2 = 1.0 / LOG_2


class Counted(NamedTuple):
    """Topics with a count, of one word after another; some entries behind the last are written but never read."""

    key: Array  # uint64, of the word
    topic: Array  # uint16
    tokens: Array  # int32, the count
    weight: Array  # float32
    is_open: Array  # uint32, 1 if the weight is not yet drawn


class Rest(NamedTuple):
    """Topics without a count whose first number is above the cut, likewise."""

    low: Array  # uint32, half of the word's key
    high: Array  # uint32
    topic: Array  # uint16
    first: Array  # uint32, three random numbers of word and topic
    second: Array
    third: Array
    log2: Array  # float64, of the proposed weight
    proposal: Array  # float64
    weight: Array  # float32
    is_open: Array  # uint32


class Open(NamedTuple):
    """Entries whose weight is not yet drawn."""

    entry: Array  # uint32
    stream: Array  # uint64, its own
    weight: Array  # float64, a proposal
    number: Array  # float64 in [0, 1), decides on it


def places_of_ones() -> np.ndarray:
    """Of each byte the places of its ones, ascending, then zeros; uint8[256, 8]."""
    places = np.zeros((256, 8), np.uint8)
    for byte in range(256):
        ones = [t for t in range(8) if byte >> t & 1]
        places[byte, : len(ones)] = ones
    return places


PLACES = places_of_ones()


@njit(cache=True, nogil=True, error_model="numpy")
def negligible(n_topics: int, beta: float) -> float:
    """The weight below which a topic without a count is left out of a word's row.

    Of L topics, all without a count, the weights below x < 1 have the expected sum
    L integral_0^x t^beta exp(-t) / Gamma(beta) dt < L x^(1 + beta) beta / Gamma(beta + 2) < L beta x^(1 + beta).
    With x = 2^-26 / (L beta) that is below 2^-26: less than the rounding of a float32 near 1, and the weights of a word
    that occurs sum to about 1 or more. Never above 1e-6, which also bounds the error of `cut_uniform`.
    """
    return min(1e-6, 2.0**-26 / (n_topics * beta))


@njit(cache=True, nogil=True, error_model="numpy")
def cut_uniform(shape: float, negligible: float) -> float:
    """The first uniform at or below which `small_gamma` proposes a value <= negligible < 1.

    A proposal x is accepted with probability exp(-x). Below the cut that is above 1 - negligible, so to take every
    such u for a value below the cut, without the test, errs with a probability under negligible times that of the
    cut. Above the cut nothing is changed: there the algorithm runs to its end.
    """
    return math.pow(negligible, shape) / (1.0 + shape / math.e)


@intrinsic
def flags_of_eight(typing_context, array, first, bound):
    """A byte whose bit t says whether the 32 bits of array[first + t], unsigned, are at least `bound`."""

    def build(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        eight = ir.VectorType(ir.IntType(32), 8)
        start = builder.bitcast(builder.gep(data, [arguments[1]]), eight.as_pointer())
        lane = builder.insert_element(ir.Constant(eight, ir.Undefined), arguments[2], ir.IntType(32)(0))
        bounds = builder.shuffle_vector(lane, lane, ir.Constant(eight, [0] * 8))
        flags = builder.icmp_unsigned(">=", builder.load(start, align=4), bounds)
        return builder.zext(builder.bitcast(flags, ir.IntType(8)), ir.IntType(64))

    return types.uint64(array, types.uint64, types.uint32), build


@intrinsic
def write_places(typing_context, array, end, first, places, flags):
    """Write first + places[flags, t] to array[end + t] for t < 8; return how many bits of flags are set."""

    def build(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        table = context.make_array(signature.args[3])(context, builder, arguments[3]).data
        element = data.type.pointee
        eight = ir.VectorType(element, 8)
        row = builder.gep(table, [builder.shl(arguments[4], ir.IntType(64)(3))])
        row = builder.bitcast(row, ir.VectorType(ir.IntType(8), 8).as_pointer())
        lane = builder.insert_element(
            ir.Constant(eight, ir.Undefined), builder.trunc(arguments[2], element), ir.IntType(32)(0)
        )
        firsts = builder.shuffle_vector(lane, lane, ir.Constant(ir.VectorType(ir.IntType(32), 8), [0] * 8))
        values = builder.add(firsts, builder.zext(builder.load(row, align=8), eight))
        target = builder.bitcast(builder.gep(data, [arguments[1]]), eight.as_pointer())
        builder.store(values, target, align=element.width // 8)
        return builder.ctpop(arguments[4])

    return types.uint64(array, types.uint64, types.uint64, places, types.uint64), build


@njit(cache=True, nogil=True, error_model="numpy")
def list_open(is_open, size, entry):
    """Write the entries below `size` that are open; how many."""
    n = np.uint64(0)
    for group in range(np.uint64(size + 7) // GROUP):
        place = group * GROUP
        n += write_places(entry, n, place, PLACES, flags_of_eight(is_open, place, np.uint32(1)))
    while n > 0 and entry[n - np.uint64(1)] >= size:
        n -= np.uint64(1)
    return np.int64(n)


@njit(cache=True, nogil=True, error_model="numpy")
def draw_counted(beta, size, counted):
    """First attempts at the gammas with a count, by the positions 2 l and 2 l + 1 of the word's stream.

    An attempt ends here if its normal needs 64 bits only and the squeeze accepts it, as 19 of 20 do.
    """
    key, topic, tokens, weight, is_open = counted
    for j in range((size + 7) // 8 * 8):
        d = beta + tokens[j] - 1.0 / 3.0
        square_of_c = 1.0 / (9.0 * d)
        position = np.uint64(topic[j]) << np.uint64(1)
        bits = random_bits(key[j], position)
        u = 1.0 - uniform(key[j], position + np.uint64(1))
        layer = bits & INDEX_BITS
        magnitude = np.float64(bits >> MAGNITUDE_SHIFT) * STEPS[layer]
        square = magnitude * magnitude
        root = 1.0 + math.sqrt(square_of_c) * with_sign(magnitude, bits)
        weight[j] = np.float32(d * (root * root * root))
        is_normal = np.uint32(magnitude < ENDS[layer + np.uint64(1)])
        is_open[j] = np.uint32(1) - (is_normal & np.uint32(u < 1.0 - SQUEEZE * square_of_c * (square * square)))


@njit(cache=True, nogil=True, error_model="numpy")
def settle_counted(beta, n, entry, counted):
    """End the attempts of n open entries, and make others if they are refused, by the entry's own stream."""
    key, topic, tokens, weight, _ = counted
    for i in range(n):
        j = entry[i]
        position = np.int64(topic[j]) * 2
        stream = branch(key[j], topic[j])
        x, next_position = normal_from(random_bits(key[j], position), stream, 0)
        u = 1.0 - uniform(key[j], position + 1)
        weight[j] = gamma_from(beta + tokens[j], x, u, stream, next_position)[0]


@njit(cache=True, nogil=True, error_model="numpy")
def number_rest(size, rest):
    """Three random numbers for each entry: apart from all else, since 32 bits fill a register twice as well as 64."""
    low, high, topic, first, second, third, _, _, _, _ = rest
    for j in range((size + 15) // 16 * 16):
        place = np.uint32(topic[j])
        first[j] = bits32(low[j], high[j], place)
        second[j] = bits32(low[j] ^ SECOND_LOW, high[j] ^ SECOND_HIGH, place)
        third[j] = bits32(low[j] ^ THIRD_LOW, high[j] ^ THIRD_HIGH, place)


@njit(cache=True, nogil=True, error_model="numpy")
def propose(p, inverse):
    """log2 of the proposal p^(1 / beta), but not below the least weight."""
    return max(plain_log2(p) * inverse, LEAST_LOG2)


@njit(cache=True, nogil=True, error_model="numpy")
def draw_rest(beta, cut, size, rest):
    """GS of Ahrens and Dieter (1974), see `small_gamma`, as far as it goes without a branch.

    Open is left a proposal of the upper branch, p > 1, and one that was refused if the next, by the third number, is
    above the cut. Else the next is as good as none: the topic's place is taken, its weight is not.
    """
    _, _, _, first, second, third, log2, proposal, weight, is_open = rest
    scale, inverse = (1.0 + beta / math.e) * TO_UNIT_32, 1.0 / beta
    # three loops: the shorter a chain of operations that wait for one another, the more of these chains overlap
    for j in range((size + 7) // 8 * 8):
        log2[j] = propose((np.float64(first[j]) + 0.5) * scale, inverse)
    for j in range((size + 7) // 8 * 8):
        proposal[j] = plain_exp2(log2[j])
    for j in range((size + 7) // 8 * 8):
        is_taken = unit32(second[j]) <= plain_exp2(-TO_LOG2 * proposal[j])
        is_last = np.uint32(is_taken) | np.uint32(unit32(third[j]) <= cut)
        weight[j] = np.float32(proposal[j] if is_taken else LEAST)
        is_open[j] = (np.uint32(1) - is_last) | np.uint32(log2[j] > 0.0)


@njit(cache=True, nogil=True, error_model="numpy")
def propose_again(beta, n, rest, open_entries):
    """For n open entries their own streams, a proposal and the number that decides on it.

    Of p in the upper branch only p > 1 is known: there it is uniform up to 1 + beta / e, so the proposal
    -log((1 + beta / e - p) / beta) is 1 and a number of Exp(1).
    """
    low, high, topic, _, _, third, log2, _, _, _ = rest
    entry, stream, weight, number = open_entries
    area, inverse = 1.0 + beta / math.e, 1.0 / beta
    for i in range(n):
        j = entry[i]
        stream[i] = branch(np.uint64(high[j]) << HALF_WORD | np.uint64(low[j]), topic[j])
    for i in range(n):
        j = entry[i]
        p = unit32(third[j]) * area
        lower = plain_exp2(propose(p, inverse))
        upper = 1.0 - LOG_2 * plain_log2(1.0 - uniform(stream[i], 0))
        weight[i] = upper if (log2[j] > 0.0) | (p > 1.0) else lower
        number[i] = uniform(stream[i], 1)


@njit(cache=True, nogil=True, error_model="numpy")
def settle_rest(beta, cut, n, rest, open_entries):
    """End GS for n open entries."""
    entry, stream, weight, number = open_entries
    for i in range(n):
        x, v = weight[i], number[i]
        if v > (1.0 - x if x <= 1.0 else 1.0 / x):  # the squeeze of either branch
            x = settle_refused(x, v, beta, cut, stream[i])
        rest.weight[entry[i]] = x


@njit(cache=True, nogil=True, error_model="numpy")
def settle_refused(x, v, beta, cut, stream):
    """End GS for a proposal that the squeeze did not accept."""
    if x <= 1.0:
        if v <= math.exp(-x):
            return x
    # x^beta is below 1 + beta (x - 1), and dear
    elif v * x <= 1.0 + beta * (x - 1.0) and v * x <= x**beta:
        return x
    u = uniform(stream, 2)
    if u <= cut:
        return LEAST
    return max(small_gamma(beta, u, stream, 3)[0], LEAST)
