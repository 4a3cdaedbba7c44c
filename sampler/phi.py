"""Rows of phi: the weights of words in topics, Gamma(beta + count) numbers, several words at a time.

A weight is a pure function of its word's key, its topic and its count, whatever else the row holds. Of the topics
without a count most weights are far below what a float32 can tell apart from nothing, and these are left out.

Words go through in steps, each a loop over all their topics: short loops without a branch, which LLVM keeps in vector
registers and whose many independent terms overlap in the processor. What such a loop cannot end is marked open, then
listed, then ended one by one.
"""

import math
from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from sampler.corpus import Array
from sampler.draws import (
    ENDS,
    HALF_WORD,
    INDEX_BITS,
    LOG_2,
    MAGNITUDE_SHIFT,
    SQUEEZE,
    STEPS,
    TO_UNIT_32,
    bits32,
    gamma,
    gamma_from,
    normal_from,
    plain_exp2,
    plain_log2,
    random_bits,
    small_gamma,
    unit32,
    with_sign,
)
from sampler.lanes import AHEAD, prefetch
from sampler.streams import branch, uniform

WORDS = 64  # at most so many at a time: their topics fill the vector registers, and stay in the first cache
GROUP = np.uint64(8)  # topics whose flags make a byte
CHUNK = np.uint64(32)  # most words have fewer topics that are kept
SECOND_NUMBER = np.uint64(0xD1B54A32D192ED03)  # flips a key: the second numbers of a row, apart from its first
THIRD_NUMBER = np.uint64(0xA0761D6478BD642F)
SECOND_LOW, SECOND_HIGH = np.uint32(SECOND_NUMBER & np.uint64(0xFFFFFFFF)), np.uint32(SECOND_NUMBER >> HALF_WORD)
THIRD_LOW, THIRD_HIGH = np.uint32(THIRD_NUMBER & np.uint64(0xFFFFFFFF)), np.uint32(THIRD_NUMBER >> HALF_WORD)
LEAST_LOG2 = -125.5  # 2 to this power is still a normal float32: a weight is never zero
LEAST = 2.0**LEAST_LOG2
TO_LOG2 = 1.0 / LOG_2


class Counted(NamedTuple):
    """Topics with a count, of one word after another; with room behind the last, which is written but never read."""

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


class Scratch(NamedTuple):
    """Room to draw the rows of up to WORDS words."""

    counts: Array  # int32, of one word; whole groups of topics, always zero between two words
    bits: Array  # uint32, of one word
    end: Array  # int64[WORDS, 2], where a word's entries end in `counted` and `rest`
    counted: Counted
    rest: Rest
    open: Open


def places_of_ones() -> np.ndarray:
    """Of each byte the places of its ones, ascending, then zeros; uint8[256, 8]."""
    places = np.zeros((256, 8), np.uint8)
    for byte in range(256):
        ones = [t for t in range(8) if byte >> t & 1]
        places[byte, : len(ones)] = ones
    return places


PLACES = places_of_ones()


@njit(cache=True, nogil=True)
def make_scratch(n_topics):
    """Room for rows of so many topics, of which little is used where few are kept; so it is not cleared."""
    width = (n_topics + 7) // 8 * 8
    size = WORDS * width + np.int64(CHUNK)
    return Scratch(
        np.zeros(width, np.int32),
        np.empty(width, np.uint32),
        np.empty((WORDS, 2), np.int64),
        Counted(
            np.empty(size, np.uint64),
            np.zeros(size, np.uint16),  # what stands behind the last entry is taken for a topic's number too
            np.empty(size, np.int32),
            np.empty(size, np.float32),
            np.empty(size, np.uint32),
        ),
        Rest(
            np.empty(size, np.uint32),
            np.empty(size, np.uint32),
            np.empty(size, np.uint16),
            np.empty(size, np.uint32),
            np.empty(size, np.uint32),
            np.empty(size, np.uint32),
            np.empty(size, np.float64),
            np.empty(size, np.float64),
            np.empty(size, np.float32),
            np.empty(size, np.uint32),
        ),
        Open(np.empty(size, np.uint32), np.empty(size, np.uint64), np.empty(size), np.empty(size)),
    )


@njit(cache=True, nogil=True, error_model="numpy")
def cut_uniform(shape: float, negligible: float) -> float:
    """The first uniform at or below which `small_gamma` proposes a value <= negligible < 1.

    A proposal x is accepted with probability exp(-x). Below the cut that is above 1 - negligible, so to take every
    such u for a value below the cut, without the test, errs with a probability under negligible times that of the
    cut. Above the cut nothing is changed: there the algorithm runs to its end.
    """
    return math.pow(negligible, shape) / (1.0 + shape / math.e)


@njit(cache=True, nogil=True, error_model="numpy")
def negligible(n_topics: int, beta: float) -> float:
    """The weight below which a topic without a count is left out of a word's row.

    Of L topics, all without a count, the weights below x < 1 have the expected sum
    L integral_0^x t^beta exp(-t) / Gamma(beta) dt < L x^(1 + beta) beta / Gamma(beta + 2) < L beta x^(1 + beta).
    With x = 2^-26 / (L beta) that is below 2^-26: less than the rounding of a float32 near 1, and the weights of a word
    that occurs sum to about 1 or more. Never above 1e-6, which also bounds the error of `cut_uniform`.
    """
    return min(1e-6, 2.0**-26 / (n_topics * beta))


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


@intrinsic
def copy_eight(typing_context, source, first, target, place):
    """Copy source[first : first + 8] to target[place : place + 8], arrays of one type."""

    def build(context, builder, signature, arguments):
        read, write = (
            builder.gep(context.make_array(kind)(context, builder, array).data, [index])
            for kind, array, index in zip(signature.args[::2], arguments[::2], arguments[1::2], strict=True)
        )
        eight = ir.VectorType(read.type.pointee, 8).as_pointer()
        align = signature.args[0].dtype.bitwidth // 8
        builder.store(
            builder.load(builder.bitcast(read, eight), align=align), builder.bitcast(write, eight), align=align
        )
        return context.get_dummy_value()

    return types.void(source, types.uint64, target, types.uint64), build


@njit(cache=True, nogil=True, error_model="numpy")
def list_topics(word_topics, threshold, key, first, end, drawn, scratch):
    """List the topics of some words: those with a count, and of the others those whose first number is large enough.

    Both ascend within a word; if a word would have none, the one with the largest number is kept.
    Eight topics give a byte of flags, and a table the places of its ones; all eight are written and only the end
    moves: a branch would be mispredicted for nearly each topic kept. Keys are written in chunks for the same reason.
    Rows are long and little of each is used, which no processor foresees, and since the last sweep other things have
    taken their place in the caches: the lines that most words need are asked for ahead, `write_rows` needs some too.
    """
    topic, tokens, size = word_topics.topic, word_topics.tokens, word_topics.size
    counts, bits, ends = scratch.counts, scratch.bits, scratch.end
    counted_key, counted_topic, counted_tokens, _, _ = scratch.counted
    rest_low, rest_high, rest_topic = scratch.rest.low, scratch.rest.high, scratch.rest.topic
    n_topics, n_groups = np.uint64(topic.shape[1]), np.uint64(counts.size) // GROUP
    counted_end, rest_end = np.uint64(0), np.uint64(0)
    for w in range(first, end):
        word_key = branch(key, w)
        low, high = np.uint32(word_key), np.uint32(word_key >> HALF_WORD)
        counted_first, rest_first = counted_end, rest_end
        prefetch(topic, w + AHEAD, 0)
        prefetch(tokens, w + AHEAD, 0)
        prefetch(drawn.topic, w, 0)
        prefetch(drawn.topic, w, 24)
        for place in range(0, 48, 16):
            prefetch(drawn.weight, w, place)
        for j in range(size[w]):
            counts[topic[w, j]] = tokens[w, j]
        for t in range(bits.size):
            bits[t] = bits32(low, high, np.uint32(t))
        for group in range(n_groups):
            place = group * GROUP
            has_count = flags_of_eight(counts, place, np.uint32(1))
            reaches = flags_of_eight(bits, place, threshold) & ~has_count
            counted_end += write_places(counted_topic, counted_end, place, PLACES, has_count)
            rest_end += write_places(rest_topic, rest_end, place, PLACES, reaches)
        while rest_end > rest_first and rest_topic[rest_end - np.uint64(1)] >= n_topics:  # fill up the last group
            rest_end -= np.uint64(1)
        if counted_end == counted_first and rest_end == rest_first:
            rest_topic[rest_end] = np.argmax(bits[:n_topics])
            rest_end += np.uint64(1)
        for j in range(counted_first, counted_end, GROUP):
            for t in range(GROUP):
                counted_key[j + t], counted_tokens[j + t] = word_key, counts[counted_topic[j + t]]
            for t in range(GROUP):
                counts[counted_topic[j + t]] = 0
        for j in range(rest_first, rest_end, CHUNK):
            for t in range(CHUNK):
                rest_low[j + t] = low
            for t in range(CHUNK):
                rest_high[j + t] = high
        ends[w - first, 0], ends[w - first, 1] = counted_end, rest_end


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
            x = settle(x, v, beta, cut, stream[i])
        rest.weight[entry[i]] = x


@njit(cache=True, nogil=True, error_model="numpy")
def settle(x, v, beta, cut, stream):
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


@njit(cache=True, nogil=True, error_model="numpy")
def write_rows(first, end, scratch, drawn):
    """Write the rows of some words from their entries, those with a count first."""
    counted, rest, ends = scratch.counted, scratch.rest, scratch.end
    topic, weight, n_topics = drawn.topic.reshape(-1), drawn.weight.reshape(-1), np.uint64(drawn.topic.shape[1])
    counted_first, rest_first = np.uint64(0), np.uint64(0)
    for w in range(first, end):
        counted_end, rest_end = np.uint64(ends[w - first, 0]), np.uint64(ends[w - first, 1])
        n_counted, n_rest = counted_end - counted_first, rest_end - rest_first
        place = np.uint64(w) * n_topics
        copy(counted.topic, counted.weight, counted_first, n_counted, GROUP, topic, weight, place, n_topics)
        place, room = place + n_counted, n_topics - n_counted
        copy(rest.topic, rest.weight, rest_first, n_rest, CHUNK, topic, weight, place, room)
        drawn.size[w], drawn.counted[w] = n_counted + n_rest, n_counted
        counted_first, rest_first = counted_end, rest_end


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def copy(from_topic, from_weight, first, n, chunk, topic, weight, place, room):
    """Copy n entries to a row, in whole chunks if there is room: most rows need one, so that no branch is mispredicted.

    What stands behind the row's end is never read.
    """
    if (n + chunk - np.uint64(1)) // chunk * chunk <= room:
        for j in range(np.uint64(0), n, chunk):
            for t in range(np.uint64(0), chunk, GROUP):
                copy_eight(from_topic, first + j + t, topic, place + j + t)
                copy_eight(from_weight, first + j + t, weight, place + j + t)
    else:
        for j in range(n):
            topic[place + j], weight[place + j] = from_topic[first + j], from_weight[first + j]


@njit(cache=True, nogil=True, error_model="numpy")
def add_weights(topic, weight, size, norm):
    """Add each entry's weight to its topic's norm."""
    for j in range(size):
        norm[topic[j]] += weight[j]


@njit(cache=True, nogil=True, error_model="numpy")
def draw_rows(word_topics, beta, cut, key, first, end, drawn, norm, scratch):
    """Draw the weights Gamma(beta + count) of the words first .. end - 1, at most WORDS.

    Writes rows of `topic`, `weight`, `size` and `counted` of `drawn`, topics with a count first; of the others only
    those whose first uniform is above `cut`, see `cut_uniform`, but at least one topic a word. Adds the weights to
    `norm`, float64[L]. A weight without a count stems from 32 bits: neighbouring values differ by 2^-32 / beta of
    themselves, below the rounding of a float32 for beta from .004 on.
    Under a word's key, `branch(key, w)`, it reads the 32 bits at a topic's position, also under the key with two
    patterns of its bits flipped; 64 bits at two positions a topic; and a topic's stream, however far.
    """
    if beta >= 1.0:
        draw_full_rows(word_topics, beta, key, first, end, drawn, norm, scratch.counts)
        return
    counted, rest, open_entries = scratch.counted, scratch.rest, scratch.open
    threshold = np.uint32(math.ceil(cut / TO_UNIT_32 - 0.5))
    list_topics(word_topics, threshold, key, first, end, drawn, scratch)
    n_counted, n_rest = scratch.end[end - first - 1, 0], scratch.end[end - first - 1, 1]
    draw_counted(beta, n_counted, counted)
    settle_counted(beta, list_open(counted.is_open, n_counted, open_entries.entry), open_entries.entry, counted)
    number_rest(n_rest, rest)
    draw_rest(beta, cut, n_rest, rest)
    n_open = list_open(rest.is_open, n_rest, open_entries.entry)
    propose_again(beta, n_open, rest, open_entries)
    settle_rest(beta, cut, n_open, rest, open_entries)
    write_rows(first, end, scratch, drawn)
    add_weights(counted.topic, counted.weight, n_counted, norm)
    add_weights(rest.topic, rest.weight, n_rest, norm)


@njit(cache=True, nogil=True, error_model="numpy")
def draw_full_rows(word_topics, beta, key, first, end, drawn, norm, counts):
    """Rows of beta >= 1: every topic has its gamma."""
    topic, tokens, size = word_topics.topic, word_topics.tokens, word_topics.size
    n_topics = topic.shape[1]
    for w in range(first, end):
        for j in range(size[w]):
            counts[topic[w, j]] = tokens[w, j]
        drawn.size[w], drawn.counted[w] = full_row(
            counts[:n_topics], beta, branch(key, w), 0, drawn.topic[w], drawn.weight[w]
        )
        counts[:] = 0
        add_weights(drawn.topic[w], drawn.weight[w], drawn.size[w], norm)


@njit(cache=True, nogil=True, error_model="numpy")
def full_row(counts, beta, key, position, topics, weights):
    """One such row; how many topics there are and how many have a count."""
    counted = 0
    for i in range(counts.size):
        if counts[i] > 0:
            topics[counted] = i
            counted += 1
    size = counted
    for i in range(counts.size):
        if counts[i] == 0:
            topics[size] = i
            size += 1
    for j in range(size):
        weight, position = gamma(beta + counts[topics[j]], key, position)
        weights[j] = weight
    return size, counted
