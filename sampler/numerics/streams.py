"""Counter-based random streams: a number depends on its address, never on who draws it.

The address of a number is (seed, chain, sweep, step, position). A stream's key mixes the first four;
position is a counter. The mixing function is the finalizer of SplitMix64 (Steele, Lea and Flood 2014).
"""

from enum import IntEnum

import numpy as np
from numba import njit

from sampler.corpus import Array

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST = np.uint64(0xBF58476D1CE4E5B9)
SECOND = np.uint64(0x94D049BB133111EB)
TO_UNIT = 2.0**-53
SUMMED_TOGETHER = (
    16  # weights of a block, whose sum is made before a choice: short chains of additions overlap in the processor
)


class Step(IntEnum):
    """What a stream is drawn for; part of its address."""

    START = 0
    START_NOVELTY = 1
    START_ORDER = 2
    START_TOPICS = 3
    TABLES = 4
    CATEGORIES = 5
    TOPICS = 6
    CONCENTRATIONS = 7
    WEIGHTS = 8  # phi, a stream a word
    PARAMETERS = 9  # theta and the sticks
    DOCUMENTS = 10  # a stream a document
    SPLIT_MERGE = 11
    BULK_TOPICS = 12  # a stream a word
    START_DOCUMENTS = 13
    ATOMS = 14  # a number a document
    ATOM_SEEDS = 15
    ATOM_ORDER = 16
    GROUPS = 17
    FOLDS = 18  # a number a document
    SETTINGS = 19
    CALIBRATED_DOCUMENTS = 20  # a number a document
    SAMPLE = 21  # a number a document
    NUMBERS = 22
    BIRTHS = 23  # a stream a document
    CUTS = 24  # a number a word of a document
    METHOD = 25  # of a method in baselines
    SOURCES = 26


@njit(cache=True, nogil=True)
def mix(x: np.uint64) -> np.uint64:
    """A bijection of 64 bits in which every bit of x changes about half of the bits."""
    x = (x ^ (x >> np.uint64(30))) * FIRST
    x = (x ^ (x >> np.uint64(27))) * SECOND
    return x ^ (x >> np.uint64(31))


@njit(cache=True, nogil=True)
def uniform(key: np.uint64, position: int) -> float:
    """The number at a position of a stream, uniform on [0, 1)."""
    bits = mix(key + GOLDEN * (np.uint64(position) + np.uint64(1)))
    return np.float64(bits >> np.uint64(11)) * TO_UNIT


@njit(cache=True, nogil=True)
def branch(key: np.uint64, number: int) -> np.uint64:
    """The key of one of many streams under a key: of a document, or of a word."""
    return mix(key ^ mix(GOLDEN * (np.uint64(number) + np.uint64(1))))


@njit(cache=True, nogil=True)
def uniforms(key, size):  # type: ignore[no-untyped-def]
    """The first `size` numbers of a stream, float64[size]."""
    numbers = np.empty(size)
    for position in range(size):
        numbers[position] = uniform(key, position)
    return numbers


@njit(cache=True, nogil=True)
def pick(weights, size, u):  # type: ignore[no-untyped-def]
    """An index below size with probability proportional to its weight, by inversion of u in [0, 1).

    Sums are made in blocks of fixed bounds, so the choice depends on the weights alone.
    """
    n_blocks = (size + SUMMED_TOGETHER - 1) // SUMMED_TOGETHER
    sums = np.empty(n_blocks)
    total = 0.0
    for b in range(n_blocks):
        block = 0.0
        for j in range(b * SUMMED_TOGETHER, min((b + 1) * SUMMED_TOGETHER, size)):
            block += weights[j]
        sums[b] = block
        total += block
    rest = u * total
    last = 0
    for b in range(n_blocks):
        if rest >= sums[b]:
            rest -= sums[b]
            continue
        for j in range(b * SUMMED_TOGETHER, min((b + 1) * SUMMED_TOGETHER, size)):
            if weights[j] > 0.0:
                last = j
                if rest < weights[j]:
                    return j
                rest -= weights[j]
        return last  # rounding: the block's sum passed rest, its parts did not
    for j in range(size):  # rounding: rest was not below the sum of all blocks
        if weights[j] > 0.0:
            last = j
    return last


def stream(seed: int, chain: int, sweep: int, step: Step) -> np.uint64:
    """The key of the stream at this address."""
    key = np.uint64(seed & 0xFFFFFFFFFFFFFFFF)
    with np.errstate(over="ignore"):
        for part in (chain, sweep, int(step)):
            key = np.uint64(mix(key + GOLDEN * np.uint64(part + 1)))
    return key


def generator(seed: int, chain: int, sweep: int, step: Step) -> np.random.Generator:
    """A numpy generator at this address, for the few draws that need a gamma or a beta distribution."""
    return np.random.Generator(np.random.Philox(key=int(stream(seed, chain, sweep, step))))


def chosen(documents: Array, size: int, seed: int, step: Step) -> Array:
    """int[...]: up to `size` of the documents, by the numbers that they have in the stream; in their order."""
    if documents.size <= size:
        return documents
    numbers = numbers_of(stream(seed, 0, 0, step), documents)
    picked: Array = documents[np.sort(np.argsort(numbers, kind="stable")[: max(size, 0)])]
    return picked


@njit(cache=True, nogil=True)
def numbers_of(key, positions):  # type: ignore[no-untyped-def]
    """The numbers at some positions of a stream, float64[size]."""
    numbers = np.empty(positions.size)
    for i in range(positions.size):
        numbers[i] = uniform(key, positions[i])
    return numbers
