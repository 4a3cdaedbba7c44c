"""Atoms: many more categories than there can be, found with all labels hidden.

A document is a bag of effective counts v_dw; an atom a has a word distribution psi_a ~ Dir(beta_1, ..., beta_V),
integrated out. Documents move to atom a with the probability

    p(a) ∝ m_a exp sum_w v_dw [ log(beta_w + N_aw) - log(beta. + N_a) ]        (counts without the document)

A start seeds the atoms by spherical k-means; then a fixed number of sweeps. A sweep takes the documents in batches:
those of one batch see the same counts and move at the same time, on any number of threads to the same atoms. It is an
optimizer: what atoms it ends with is tried, not integrated over, so there are several starts of every setting.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from sampler.calibrated.bags import Bags
from sampler.corpus import Array
from sampler.numerics import simd, streams
from sampler.numerics.simd import LANES, padded
from sampler.numerics.streams import Step
from sampler.numerics.threads import Threads, is_raised

N_BATCHES = 8  # of a sweep; with one, neighbors swap places for ever; more gain nothing
K_MEANS_ROUNDS = 4
NEGLIGIBLE = 40.0  # nats: what is less likely by so much is not drawn in the life of a corpus
TINY = 1e-300
PIECE, COLUMNS = 512, 64  # documents that a thread takes at once, where each is compared with so many atoms
AT_ONCE = 2_000_000  # numbers whose logarithms are taken without a look at the flag


class Atoms(NamedTuple):
    """Counts of A atoms, for documents that are in them."""

    words: Array  # float32[V, A], N_aw
    total: Array  # float64[A], N_a
    size: Array  # float64[A], m_a, documents


def share(threads: Threads, size: int, n_columns: int, kernel: Callable[..., None], *arguments: Any) -> None:
    """Let the threads call kernel(*arguments, first, end) for all ranges of documents, numbers below size.

    The more columns a document is compared with, the fewer are taken at once: between two pieces the flag is seen.
    """
    piece = max(PIECE * COLUMNS // max(n_columns, COLUMNS), 1)
    pieces = [(first, min(first + piece, size)) for first in range(0, size, piece)]
    threads.share(lambda thread, first, end: kernel(*arguments, first, end), pieces)


def seed_atoms(bags: Bags, unit_rows: Array, n_atoms: int, key: np.uint64, threads: Threads) -> Array:
    """int32[D]: atoms of documents by spherical k-means over rows of length 1, float32[E].

    Each center is a document drawn with probability proportional to (1 - s)^2, where s is its cosine to the nearest
    center so far (k-means++, Arthur and Vassilvitskii 2007). Empty documents go to atom 0.
    """
    nearest = np.zeros(bags.n_documents, np.int32)
    cosine = np.zeros(bags.n_documents, np.float32)
    column = np.zeros(bags.n_words, np.float32)
    is_empty = bags.is_empty
    rows = (bags.offsets, bags.words, unit_rows)
    for atom in range(n_atoms):
        distance = np.where(is_empty, 0.0, np.maximum(1.0 - cosine.astype(np.float64), 0.0) ** 2)
        cumulative = np.cumsum(distance)
        drawn = np.searchsorted(cumulative, streams.uniform(key, atom) * cumulative[-1], side="right")
        center = min(int(drawn), bags.n_documents - 1)
        own = slice(bags.offsets[center], bags.offsets[center + 1])
        column[bags.words[own]] = unit_rows[own]
        share(threads, bags.n_documents, 1, approach_center, *rows, column, atom, cosine, nearest)
        column[bags.words[own]] = 0.0
    even = np.zeros(n_atoms, np.float32)
    for _ in range(K_MEANS_ROUNDS):
        centers = simd.aligned((bags.n_words, padded(n_atoms)), np.float32)
        add_rows(bags.offsets, bags.words, unit_rows, nearest, centers, threads.stop)
        scale_columns(centers, threads.stop)
        share(threads, bags.n_documents, n_atoms, find_best, *rows, centers, even, nearest)
    return nearest


@njit(cache=True, nogil=True, error_model="numpy")
def approach_center(offsets, words, values, column, atom, cosine, nearest, first, end):
    """Note the new center for documents that are nearer to it than to all before."""
    for d in range(first, end):
        s = np.float32(0.0)
        for e in range(offsets[d], offsets[d + 1]):
            s += values[e] * column[words[e]]
        if s > cosine[d]:
            cosine[d], nearest[d] = s, atom


@njit(cache=True, nogil=True, error_model="numpy")
def scale_columns(table, stop):
    """Divide every column of float32[V, A] by its Euclidean length, unless the flag `stop` is raised."""
    squares = np.zeros(table.shape[1])
    for w in range(table.shape[0]):
        if is_raised(stop):
            return
        for a in range(table.shape[1]):
            squares[a] += np.float64(table[w, a]) * np.float64(table[w, a])
    lengths = np.maximum(np.sqrt(squares), 1e-12).astype(np.float32)
    for w in range(table.shape[0]):
        if is_raised(stop):
            return
        for a in range(table.shape[1]):
            table[w, a] /= lengths[a]


@njit(cache=True, nogil=True, error_model="numpy")
def add_rows(offsets, words, values, atom, table, stop):
    """Add the entries of each document to its atom's column of float32[V, A], unless the flag `stop` is raised."""
    for d in range(atom.size):
        if is_raised(stop):
            return
        for e in range(offsets[d], offsets[d + 1]):
            table[words[e], atom[d]] += values[e]


def count(bags: Bags, values: Array, atom: Array, n_atoms: int, threads: Threads | None = None) -> Atoms:
    """The counts of n_atoms atoms under an assignment int32[D]; empty documents count for nothing."""
    threads, words = threads or Threads(), np.zeros((bags.n_words, n_atoms), np.float32)
    add_rows(bags.offsets, bags.words, values, atom, words, threads.stop)
    threads.check()
    total = np.bincount(np.repeat(atom, np.diff(bags.offsets)), values, minlength=n_atoms).astype(np.float64)
    size = np.bincount(atom[~bags.is_empty], minlength=n_atoms).astype(np.float64)
    return Atoms(words, total, size)


def settle(
    bags: Bags, values: Array, atom: Array, prior: Array, n_sweeps: int, address: tuple[int, int], threads: Threads
) -> Array:
    """int32[D]: the atoms after the sweeps, numbered without a gap; `atom` is where the documents start.

    `values` are effective counts float32[E], `prior` is beta_w float64[V]; `address` is seed and number of the run, for
    the random streams.
    O(sweeps (E A + V A)) time.
    """
    atom, n_atoms = atom.copy(), int(atom.max(initial=0)) + 1
    counts = count(bags, values, atom, n_atoms, threads)
    length = np.bincount(bags.document, values, minlength=bags.n_documents)
    rows = (bags.offsets, bags.words, values)
    logs = simd.aligned((bags.n_words, padded(n_atoms)), np.float32)
    smoothing, all_smoothing = prior.astype(np.float32), float(prior.sum())
    for some in threads.slices(bags.n_words, AT_ONCE // n_atoms):
        logs[some, :n_atoms] = np.log(counts.words[some] + smoothing[some, None])
    with_words = np.flatnonzero(~bags.is_empty)
    for sweep in range(n_sweeps):
        seed, run = address
        key = streams.stream(seed, run, sweep, Step.ATOMS)
        order = streams.generator(seed, run, sweep, Step.ATOM_ORDER).permutation(with_words)
        for b in range(N_BATCHES):
            batch = np.sort(order[b::N_BATCHES])
            chosen = np.empty(batch.size, np.int32)
            log_total = np.log(all_smoothing + np.maximum(counts.total, 0.0))
            log_size = np.log(np.maximum(counts.size, TINY))
            share(
                threads, batch.size, n_atoms, choose_atoms, *rows, length, batch, atom,
                *counts, logs, log_total, log_size, smoothing, all_smoothing, key, chosen,
            )  # fmt: skip
            move(*rows, length, batch, chosen, atom, *counts, smoothing, logs, threads.stop)
            threads.check()
    return without_gaps(atom, with_words)


def without_gaps(atom: Array, documents: Array) -> Array:
    """int32[D]: the atoms of these documents numbered from 0 in their order; all others are in atom 0."""
    numbered = np.zeros(atom.size, np.int32)
    numbered[documents] = np.unique(atom[documents], return_inverse=True)[1]
    return numbered


@njit(cache=True, nogil=True, error_model="numpy")
def products(words, values, first, end, table, score):
    """Write the row between two entries times a table float32[V, A'], A' of whole lanes, to float32[1, A']."""
    for place in range(0, table.shape[1], LANES):
        total = simd.spread(np.float32(0.0))
        for e in range(first, end):
            total = simd.add(total, simd.multiply(simd.spread(values[e]), simd.load(table, words[e], place)))
        simd.store(total, score, 0, place)


@njit(cache=True, nogil=True, error_model="numpy")
def choose_atoms(
    offsets, words, values, length, batch, atom, counts, total, size, logs, log_total, log_size, smoothing,
    all_smoothing, key, chosen, first, end,
):  # fmt: skip
    """Draw an atom for each document of the batch; counts are those without the document itself."""
    n_atoms = counts.shape[1]
    score, weight = np.empty((1, logs.shape[1]), np.float32), np.empty(n_atoms)
    for i in range(first, end):
        d = batch[i]
        own = atom[d]
        products(words, values, offsets[d], offsets[d + 1], logs, score)
        own_score = 0.0
        for e in range(offsets[d], offsets[d + 1]):
            w = words[e]
            own_score += values[e] * math.log(max(counts[w, own] - values[e], np.float32(0.0)) + smoothing[w])
        best = -math.inf
        for a in range(n_atoms):
            if a == own:
                rest, others = max(total[a] - length[d], 0.0), size[a] - 1.0
                # an atom of its own: as a new one with gamma = 1
                weight[a] = own_score - length[d] * math.log(all_smoothing + rest) + math.log(max(others, 1.0))
            else:
                weight[a] = score[0, a] - length[d] * log_total[a] + log_size[a]
            best = max(best, weight[a])
        for a in range(n_atoms):
            weight[a] = math.exp(weight[a] - best) if size[a] > 0.0 and weight[a] > best - NEGLIGIBLE else 0.0
        chosen[i] = streams.pick(weight, n_atoms, streams.uniform(key, d))


@njit(cache=True, nogil=True, error_model="numpy")
def move(offsets, words, values, length, batch, chosen, atom, counts, total, size, smoothing, logs, stop):
    """Move the documents of the batch to their chosen atoms, one after the other, so that sums have one order.

    The first A columns of `logs` stay log(beta_w + N_aw). Gives up when the flag `stop` is raised.
    """
    for i in range(batch.size):
        d = batch[i]
        old, new = atom[d], chosen[i]
        if is_raised(stop):
            return
        if old == new:
            continue
        atom[d] = new
        size[old] -= 1.0
        size[new] += 1.0
        total[old] -= length[d]
        total[new] += length[d]
        for e in range(offsets[d], offsets[d + 1]):
            w, x = words[e], values[e]
            counts[w, old] = max(counts[w, old] - x, np.float32(0.0))
            counts[w, new] += x
            logs[w, old] = math.log(counts[w, old] + smoothing[w])
            logs[w, new] = math.log(counts[w, new] + smoothing[w])


def assign(bags: Bags, values: Array, atoms: Atoms, prior: Array, threads: Threads) -> Array:
    """int32[D]: the most likely atom, under beta_w float64[V], of documents that are in none; 0 for empty ones."""
    n_atoms = atoms.size.size
    logs = simd.aligned((bags.n_words, padded(n_atoms)), np.float32)
    smoothing, log_total = prior.astype(np.float32), np.log(prior.sum() + atoms.total)
    for some in threads.slices(bags.n_words, AT_ONCE // n_atoms):
        logs[some, :n_atoms] = np.log(atoms.words[some] + smoothing[some, None]) - log_total
    log_size = np.log(np.maximum(atoms.size, 1e-9)).astype(np.float32)
    found = np.zeros(bags.n_documents, np.int32)
    share(threads, bags.n_documents, n_atoms, find_best, bags.offsets, bags.words, values, logs, log_size, found)
    return found


@njit(cache=True, nogil=True, error_model="numpy")
def find_best(offsets, words, values, table, head_start, found, first, end):
    """For documents that have a word the column whose product with them, and head start float32[A], is the highest."""
    score = np.empty((1, table.shape[1]), np.float32)
    for d in range(first, end):
        if offsets[d] < offsets[d + 1]:
            products(words, values, offsets[d], offsets[d + 1], table, score)
            found[d] = np.argmax(score[0, : head_start.size] + head_start)
