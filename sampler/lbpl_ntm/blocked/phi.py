"""Rows of phi: the weights of words in topics, Gamma(beta + count) numbers, several words at a time.

A weight is a pure function of its word's key, its topic and its count, whatever else the row holds. Of the topics
without a count most weights are far below what a float32 can tell apart from nothing, and these are left out.

Words go through in steps, each a loop over all their topics (`sampler.lbpl_ntm.blocked.phi_gammas`).
"""

import math
from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from sampler.corpus import Array
from sampler.lbpl_ntm.blocked.phi_gammas import (
    GROUP,
    PLACES,
    Counted,
    Open,
    Rest,
    draw_counted,
    draw_rest,
    flags_of_eight,
    list_open,
    number_rest,
    propose_again,
    settle_counted,
    settle_rest,
    write_places,
)
from sampler.numerics.memory import AHEAD, prefetch
from sampler.numerics.streams import branch
from sampler.numerics.threads import take
from sampler.numerics.variates import HALF_WORD, TO_UNIT_32, bits32, gamma

N_WORD_BLOCKS = 256  # the topics' norms are summed within a block, then over the blocks, always in this order
WORDS = 64  # at most so many at a time: their topics fill the vector registers, and stay in the first cache
CHUNK = np.uint64(32)  # most words have fewer topics that are kept


class WordPrior(NamedTuple):
    """Of the words in a topic."""

    beta: float
    cut: float  # a uniform at or below it stands for a weight that is left out, see `cut_uniform`


class Entries(NamedTuple):
    """Topics and their weights, side by side."""

    topic: Array  # uint16
    weight: Array  # float32


class PhiScratch(NamedTuple):
    """What the rows of up to WORDS words are drawn on."""

    counts: Array  # int32, of one word; whole groups of topics, always zero between two words
    bits: Array  # uint32, of one word
    end: Array  # int64[WORDS, 2], where a word's entries end in `counted` and `rest`
    counted: Counted
    rest: Rest
    open: Open


@njit(cache=True, nogil=True)
def phi_scratch(n_topics):
    """Scratch for rows of so many topics, of which little is used where few are kept; so it is not cleared."""
    width = (n_topics + 7) // 8 * 8
    size = WORDS * width + np.int64(CHUNK)
    return PhiScratch(
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


@njit(cache=True, nogil=True)
def draw_weights(word_topics, prior, key, pieces, drawn, norms):
    """Draw phi, up to the topics' norms, for blocks of words.

    Writes rows of `topic`, `weight`, `size` and `counted`, and into `norms`, float64[N_WORD_BLOCKS, L], the sum of each
    topic's weights over a block.
    """
    n_words, n_topics = word_topics.topic.shape
    scratch = phi_scratch(n_topics)
    first, end = take(pieces)
    while first < end:
        for block in range(first, end):
            for topic in range(n_topics):
                norms[block, topic] = 0.0
            block_end = n_words * (block + 1) // N_WORD_BLOCKS
            for w in range(n_words * block // N_WORD_BLOCKS, block_end, WORDS):
                draw_rows(word_topics, prior, key, w, min(w + WORDS, block_end), drawn, norms[block], scratch)
        first, end = take(pieces)


@njit(cache=True, nogil=True, error_model="numpy")
def draw_rows(word_topics, prior, key, first, end, drawn, norm, scratch):
    """Draw the weights Gamma(beta + count) of the words first .. end - 1, at most WORDS.

    Writes rows of `topic`, `weight`, `size` and `counted` of `drawn`, topics with a count first; of the others only
    those whose first uniform is above the cut, but at least one topic a word. Adds the weights to
    `norm`, float64[L]. A weight without a count stems from 32 bits: neighbouring values differ by 2^-32 / beta of
    themselves, below the rounding of a float32 for beta from .004 on.
    Under a word's key, `branch(key, w)`, it reads the 32 bits at a topic's position, also under the key with two
    patterns of its bits flipped; 64 bits at two positions a topic; and a topic's stream, however far.
    """
    beta, cut = prior
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
    One piece, though it is long: what is counted here stays in registers from one word to the next.
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
def write_rows(first, end, scratch, drawn):
    """Write the rows of some words from their entries, those with a count first."""
    counted, rest, ends = scratch.counted, scratch.rest, scratch.end
    rows, n_topics = Entries(drawn.topic.reshape(-1), drawn.weight.reshape(-1)), np.uint64(drawn.topic.shape[1])
    of_counted, of_rest = Entries(counted.topic, counted.weight), Entries(rest.topic, rest.weight)
    counted_first, rest_first = np.uint64(0), np.uint64(0)
    for w in range(first, end):
        counted_end, rest_end = np.uint64(ends[w - first, 0]), np.uint64(ends[w - first, 1])
        n_counted, n_rest = counted_end - counted_first, rest_end - rest_first
        place = np.uint64(w) * n_topics
        copy_entries(of_counted, counted_first, n_counted, GROUP, rows, place, n_topics)
        copy_entries(of_rest, rest_first, n_rest, CHUNK, rows, place + n_counted, n_topics - n_counted)
        drawn.size[w], drawn.counted[w] = n_counted + n_rest, n_counted
        counted_first, rest_first = counted_end, rest_end


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def copy_entries(source, first, n, chunk, target, place, free):
    """Copy n entries to a row, in whole chunks if these are free: most rows need one, and no branch is mispredicted.

    What stands behind the row's end is never read.
    """
    if (n + chunk - np.uint64(1)) // chunk * chunk <= free:
        for j in range(np.uint64(0), n, chunk):
            for t in range(np.uint64(0), chunk, GROUP):
                copy_eight(source.topic, first + j + t, target.topic, place + j + t)
                copy_eight(source.weight, first + j + t, target.weight, place + j + t)
    else:
        for j in range(n):
            target.topic[place + j], target.weight[place + j] = source.topic[first + j], source.weight[first + j]


@njit(cache=True, nogil=True, error_model="numpy")
def add_weights(topic, weight, size, norm):
    """Add each entry's weight to its topic's norm."""
    for j in range(size):
        norm[topic[j]] += weight[j]


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
