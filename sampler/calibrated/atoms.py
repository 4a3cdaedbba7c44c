"""Atoms: many more categories than there can be, found with all labels hidden.

A document is a bag of effective counts v_dw; an atom a has a word distribution psi_a ~ Dir(beta_1, ..., beta_V),
integrated out. Documents move to atom a with the probability

    p(a) ∝ m_a exp sum_w v_dw [ log(beta_w + N_aw) - log(beta. + N_a) ]        (counts without the document)

times exp [ E(s_a + x_d) - E(s_a) ] under settings with vectors, see `directions`.

A start seeds the atoms by spherical k-means; then a fixed number of sweeps. A sweep takes the documents in batches:
those of one batch see the same counts and move at the same time, on any number of threads to the same atoms. It is an
optimizer: what atoms it ends with is tried, not integrated over, so there are several starts of every setting.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from sampler.calibrated.bags import Rows, WordBags
from sampler.calibrated.directions import Directions, gain_of_roots, no_directions, sum_places
from sampler.corpus import Array
from sampler.numerics import simd, streams
from sampler.numerics.simd import LANES, padded
from sampler.numerics.streams import Step
from sampler.numerics.threads import Threads, is_raised

N_BATCHES = 8  # of a sweep; with one, neighbors swap places for ever; more gain nothing
K_MEANS_ROUNDS = 4
NEGLIGIBLE = 40.0  # nats: what is less likely by so much is not drawn in the life of a corpus
LEAST_SIZE = 1e-300  # so that an empty atom has a logarithm
PIECE, COLUMNS = 512, 64  # documents that a thread takes at once, where each is compared with so many atoms
LOGS_AT_ONCE = 2_000_000  # numbers whose logarithms are taken without a look at the flag


class Atoms(NamedTuple):
    """Counts of A atoms, for documents that are in them."""

    words: Array  # float32[V, A], N_aw
    total: Array  # float64[A], N_a
    size: Array  # float64[A], m_a, documents
    sums: Array  # float64[A, p], s_a, of the documents' vectors; p is 0 without them
    kappa: float  # how close to each other the vectors of a group lie


class Settling(NamedTuple):
    """Documents on their way to atoms: what a batch reads, and what its moves change."""

    rows: Rows  # of D documents, with their effective counts
    length: Array  # float64[D], the sum of each row
    smoothing: Array  # float32[V], beta_w
    all_smoothing: float  # beta.
    atom: Array  # int32[D]
    counts: Atoms  # of these atoms
    logs: Array  # float32[V, A'], A' of whole lanes: log(beta_w + N_aw) in the first A columns
    directions: Directions
    axes: Array  # float32[p, A'], the sums of the atoms' vectors once more, as documents are multiplied with them


class Batch(NamedTuple):
    """Documents that choose their atoms at the same time, from the same counts."""

    documents: Array  # int64[n]
    log_total: Array  # float64[A], log(beta. + N_a)
    log_size: Array  # float64[A], log m_a
    roots: Array  # float64[A], r(s_a)
    key: np.uint64  # of the stream, in which every document has a number
    chosen: Array  # int32[n]: the atoms, once they are chosen


def share(threads: Threads, size: int, n_columns: int, kernel: Callable[..., None], *arguments: Any) -> None:
    """Let the threads call kernel(*arguments, first, end) for all ranges of documents, numbers below size.

    The more columns a document is compared with, the fewer are taken at once: between two pieces the flag is seen.
    """
    piece = max(PIECE * COLUMNS // max(n_columns, COLUMNS), 1)
    pieces = [(first, min(first + piece, size)) for first in range(0, size, piece)]
    threads.share(lambda thread, first, end: kernel(*arguments, first, end), pieces)


def seed_atoms(rows: Rows, n_atoms: int, key: np.uint64, threads: Threads) -> Array:
    """int32[D]: atoms of documents by spherical k-means over rows of length 1.

    Each center is a document drawn with probability proportional to (1 - s)^2, where s is its cosine to the nearest
    center so far (k-means++, Arthur and Vassilvitskii 2007). Empty documents go to atom 0.
    """
    nearest = first_centers(rows, np.diff(rows.offsets) == 0, n_atoms, key, threads)
    even = np.zeros(n_atoms, np.float32)
    for _ in range(K_MEANS_ROUNDS):
        centers = simd.aligned((rows.n_columns, padded(n_atoms)), np.float32)
        add_rows(rows, nearest, centers, threads.stop)
        scale_columns(centers, threads.stop)
        share(threads, nearest.size, n_atoms, find_best, rows, centers, even, nearest)
    return nearest


def first_centers(rows: Rows, is_empty: Array, n_atoms: int, key: np.uint64, threads: Threads) -> Array:
    """int32[D]: the nearest of the drawn centers to each document."""
    nearest, cosine = np.zeros(is_empty.size, np.int32), np.zeros(is_empty.size, np.float32)
    column = np.zeros(rows.n_columns, np.float32)
    for atom in range(n_atoms):
        distance = np.where(is_empty, 0.0, np.maximum(1.0 - cosine.astype(np.float64), 0.0) ** 2)
        cumulative = np.cumsum(distance)
        drawn = np.searchsorted(cumulative, streams.uniform(key, atom) * cumulative[-1], side="right")
        center = min(int(drawn), is_empty.size - 1)
        own = slice(rows.offsets[center], rows.offsets[center + 1])
        column[rows.columns[own]] = rows.values[own]
        share(threads, is_empty.size, 1, approach_center, rows, column, atom, cosine, nearest)
        column[rows.columns[own]] = 0.0
    return nearest


@njit(cache=True, nogil=True, error_model="numpy")
def approach_center(rows, column, atom, cosine, nearest, first, end):
    """Note the new center for documents that are nearer to it than to all before."""
    for d in range(first, end):
        s = np.float32(0.0)
        for e in range(rows.offsets[d], rows.offsets[d + 1]):
            s += rows.values[e] * column[rows.columns[e]]
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
def add_rows(rows, atom, table, stop):
    """Add the entries of each document to its atom's column of float32[V, A], unless the flag `stop` is raised."""
    for d in range(atom.size):
        if is_raised(stop):
            return
        for e in range(rows.offsets[d], rows.offsets[d + 1]):
            table[rows.columns[e], atom[d]] += rows.values[e]


def count_atoms(
    bags: WordBags, values: Array, atom: Array, n_atoms: int, threads: Threads | None = None,
    directed: Directions | None = None,
) -> Atoms:  # fmt: skip
    """The counts of n_atoms atoms under an assignment int32[D]; empty documents count for nothing."""
    threads, words = threads or Threads(), np.zeros((bags.n_words, n_atoms), np.float32)
    add_rows(bags.rows(values), atom, words, threads.stop)
    threads.check()
    total = np.bincount(np.repeat(atom, np.diff(bags.offsets)), values, minlength=n_atoms).astype(np.float64)
    size = np.bincount(atom[~bags.is_empty], minlength=n_atoms).astype(np.float64)
    places, kappa = directed or no_directions(atom.size)
    sums = np.zeros((n_atoms, places.shape[1]))
    sum_places(places, atom, sums)
    return Atoms(words, total, size, sums, kappa)


def settle_atoms(
    bags: WordBags, values: Array, atom: Array, prior: Array, n_sweeps: int, address: tuple[int, int], threads: Threads,
    directed: Directions | None = None,
) -> Array:  # fmt: skip
    """int32[D]: the atoms after the sweeps, numbered without a gap; `atom` is where the documents start.

    `values` are effective counts float32[E], `prior` is beta_w float64[V]; `address` is seed and number of the run, for
    the random streams; `directed` are the documents' vectors, if they count.
    O(sweeps (E A + V A + D p A)) time.
    """
    settling, with_words = begin_settling(bags, values, atom, prior, threads, directed), np.flatnonzero(~bags.is_empty)
    sweep_atoms(settling, with_words, range(n_sweeps), address, threads)
    return without_gaps(settling.atom, with_words)


def sweep_atoms(
    settling: Settling, moving: Array, sweeps: range, address: tuple[int, int], threads: Threads
) -> None:  # fmt: skip
    """Let documents int64[n], which have words, move in the sweeps of these numbers; all others stay."""
    n_atoms = settling.counts.size.size
    for sweep in sweeps:
        seed, run = address
        key = streams.stream(seed, run, sweep, Step.ATOMS)
        order = streams.generator(seed, run, sweep, Step.ATOM_ORDER).permutation(moving)
        for b in range(N_BATCHES):
            documents = np.sort(order[b::N_BATCHES])
            log_total = np.log(settling.all_smoothing + np.maximum(settling.counts.total, 0.0))
            log_size = np.log(np.maximum(settling.counts.size, LEAST_SIZE))
            roots = settling.directions.roots(settling.counts.sums)
            batch = Batch(documents, log_total, log_size, roots, key, np.empty(documents.size, np.int32))
            share(threads, documents.size, n_atoms, choose_atoms, settling, batch)
            move_documents(settling, batch, threads.stop)
            threads.check()


def begin_settling(
    bags: WordBags, values: Array, atom: Array, prior: Array, threads: Threads, directed: Directions | None = None
) -> Settling:
    """The documents before their first sweep, see `settle_atoms`."""
    atom, n_atoms, directed = atom.copy(), int(atom.max(initial=0)) + 1, directed or no_directions(atom.size)
    counts = count_atoms(bags, values, atom, n_atoms, threads, directed)
    length = np.bincount(bags.document, values, minlength=bags.n_documents)
    logs = simd.aligned((bags.n_words, padded(n_atoms)), np.float32)
    smoothing = prior.astype(np.float32)
    for some in threads.slices(bags.n_words, LOGS_AT_ONCE // n_atoms):
        logs[some, :n_atoms] = np.log(counts.words[some] + smoothing[some, None])
    axes = axes_of_atoms(counts)
    return Settling(bags.rows(values), length, smoothing, float(prior.sum()), atom, counts, logs, directed, axes)


def axes_of_atoms(counts: Atoms) -> Array:
    """float32[p, A'], A' of whole lanes: the sums of the atoms' vectors, one atom a column."""
    axes = simd.aligned((counts.sums.shape[1], padded(counts.size.size)), np.float32)
    axes[:, : counts.size.size] = counts.sums.T
    return axes


def without_gaps(atom: Array, documents: Array) -> Array:
    """int32[D]: the atoms of these documents numbered from 0 in their order; all others are in atom 0."""
    numbered = np.zeros(atom.size, np.int32)
    numbered[documents] = np.unique(atom[documents], return_inverse=True)[1]
    return numbered


@njit(cache=True, nogil=True, error_model="numpy")
def multiply_row(rows, d, table, score):
    """Write row d times a table float32[V, A'], A' of whole lanes, to float32[1, A']."""
    for place in range(0, table.shape[1], LANES):
        total = simd.spread(np.float32(0.0))
        for e in range(rows.offsets[d], rows.offsets[d + 1]):
            column = rows.columns[e]
            total = simd.add(total, simd.multiply(simd.spread(rows.values[e]), simd.load(table, column, place)))
        simd.store(total, score, 0, place)


@njit(cache=True, nogil=True, error_model="numpy")
def choose_atoms(settling, batch, first, end):
    """Draw an atom for some documents of the batch; counts are those without the document itself."""
    counts, n_atoms = settling.counts, settling.counts.size.size
    score, weight = np.empty((1, settling.logs.shape[1]), np.float32), np.empty(n_atoms)
    gain = np.zeros(n_atoms)  # without vectors there is none
    for i in range(first, end):
        d = batch.documents[i]
        own, length = settling.atom[d], settling.length[d]
        multiply_row(settling.rows, d, settling.logs, score)
        own_weight, best = weigh_own_atom(settling, d), -math.inf
        weigh_directions(settling.directions, d, settling.axes, batch.roots, own, gain)
        for a in range(n_atoms):
            if a == own:
                weight[a] = own_weight + gain[a]
            else:
                weight[a] = score[0, a] - length * batch.log_total[a] + batch.log_size[a] + gain[a]
            best = max(best, weight[a])
        for a in range(n_atoms):
            is_likely = counts.size[a] > 0.0 and weight[a] > best - NEGLIGIBLE
            weight[a] = math.exp(weight[a] - best) if is_likely else 0.0
        batch.chosen[i] = streams.pick(weight, n_atoms, streams.uniform(batch.key, d))


@njit(cache=True, nogil=True, error_model="numpy")
def weigh_directions(directed, d, axes, roots, own, gain):
    """Write E(s_a + x) - E(s_a) of document d for all atoms, float64[A], of its own with s_a without it.

    `roots` float64[A] are r(s_a). Only x s_a is to be computed, since |s + x|^2 = |s|^2 + 2 x s + |x|^2.
    """
    places, kappa = directed
    if places.shape[1] == 0:
        return
    product = np.empty((1, axes.shape[1]), np.float32)
    multiply_place(places, d, axes, product)
    length, nu = 0.0, 0.5 * places.shape[1] - 1.0
    for i in range(places.shape[1]):
        length += places[d, i] * places[d, i]
    factor = (kappa / nu) ** 2
    for a in range(gain.size):
        more = factor * (2.0 * product[0, a] + length)
        gain[a] = gain_of_roots(roots[a], math.sqrt(max(roots[a] * roots[a] + more, 1.0)), nu)
    if own >= 0:
        less = factor * (2.0 * product[0, own] - length)
        gain[own] = gain_of_roots(math.sqrt(max(roots[own] * roots[own] - less, 1.0)), roots[own], nu)


@njit(cache=True, nogil=True, error_model="numpy")
def multiply_place(places, d, axes, product):
    """Write the product of the vector of document d with the columns of float32[p, A'] to float32[1, A']."""
    for place in range(0, axes.shape[1], LANES):
        total = simd.spread(np.float32(0.0))
        for i in range(places.shape[1]):
            total = simd.add(total, simd.multiply(simd.spread(places[d, i]), simd.load(axes, i, place)))
        simd.store(total, product, 0, place)


@njit(cache=True, nogil=True, error_model="numpy")
def weigh_own_atom(settling, d):
    """The log weight of the atom that a document is in. Alone there it is as in a new one with gamma = 1."""
    rows, counts, own, length = settling.rows, settling.counts, settling.atom[d], settling.length[d]
    score = 0.0
    for e in range(rows.offsets[d], rows.offsets[d + 1]):
        w, x = rows.columns[e], rows.values[e]
        score += x * math.log(max(counts.words[w, own] - x, np.float32(0.0)) + settling.smoothing[w])
    rest, others = max(counts.total[own] - length, 0.0), counts.size[own] - 1.0
    return score - length * math.log(settling.all_smoothing + rest) + math.log(max(others, 1.0))


@njit(cache=True, nogil=True, error_model="numpy")
def move_documents(settling, batch, stop):
    """Move the documents of the batch to their chosen atoms, one after the other, so that sums have one order.

    The first A columns of the logs stay log(beta_w + N_aw). Gives up when the flag `stop` is raised.
    """
    rows, counts, smoothing, logs = settling.rows, settling.counts, settling.smoothing, settling.logs
    for i in range(batch.documents.size):
        d = batch.documents[i]
        old, new = settling.atom[d], batch.chosen[i]
        if is_raised(stop):
            return
        if old == new:
            continue
        settling.atom[d] = new
        counts.size[old] -= 1.0
        counts.size[new] += 1.0
        counts.total[old] -= settling.length[d]
        counts.total[new] += settling.length[d]
        for e in range(rows.offsets[d], rows.offsets[d + 1]):
            w, x = rows.columns[e], rows.values[e]
            counts.words[w, old] = max(counts.words[w, old] - x, np.float32(0.0))
            counts.words[w, new] += x
            logs[w, old] = math.log(counts.words[w, old] + smoothing[w])
            logs[w, new] = math.log(counts.words[w, new] + smoothing[w])
        move_place(settling.directions.places, d, old, new, counts.sums, settling.axes)


@njit(cache=True, nogil=True, error_model="numpy")
def move_place(places, d, old, new, sums, axes):
    """Take the vector of document d from the sum of one atom to that of another."""
    for i in range(places.shape[1]):
        sums[old, i] -= places[d, i]
        sums[new, i] += places[d, i]
        axes[i, old], axes[i, new] = sums[old, i], sums[new, i]


def likeliest_atoms(
    bags: WordBags, values: Array, atoms: Atoms, prior: Array, threads: Threads, directed: Directions | None = None
) -> Array:
    """int32[D]: the most likely atom, under beta_w float64[V], of documents that are in none; 0 for empty ones."""
    n_atoms = atoms.size.size
    logs = simd.aligned((bags.n_words, padded(n_atoms)), np.float32)
    smoothing, log_total = prior.astype(np.float32), np.log(prior.sum() + atoms.total)
    for some in threads.slices(bags.n_words, LOGS_AT_ONCE // n_atoms):
        logs[some, :n_atoms] = np.log(atoms.words[some] + smoothing[some, None]) - log_total
    log_size = np.log(np.maximum(atoms.size, 1e-9)).astype(np.float32)
    found = np.zeros(bags.n_documents, np.int32)
    if directed is None or directed.places.shape[1] == 0:
        share(threads, bags.n_documents, n_atoms, find_best, bags.rows(values), logs, log_size, found)
        return found
    roots, axes, rows = directed.roots(atoms.sums), axes_of_atoms(atoms), bags.rows(values)
    share(threads, bags.n_documents, n_atoms, find_likeliest, rows, logs, log_size, directed, axes, roots, found)
    return found


@njit(cache=True, nogil=True, error_model="numpy")
def find_best(rows, table, head_start, found, first, end):
    """For documents that have a word the column whose product with them, and head start float32[A], is the highest."""
    score = np.empty((1, table.shape[1]), np.float32)
    for d in range(first, end):
        if rows.offsets[d] < rows.offsets[d + 1]:
            multiply_row(rows, d, table, score)
            found[d] = np.argmax(score[0, : head_start.size] + head_start)


@njit(cache=True, nogil=True, error_model="numpy")
def find_likeliest(rows, table, head_start, directed, axes, roots, found, first, end):
    """As `find_best`, with what the documents' vectors say."""
    score, gain = np.empty((1, table.shape[1]), np.float32), np.empty(head_start.size)
    for d in range(first, end):
        if rows.offsets[d] < rows.offsets[d + 1]:
            multiply_row(rows, d, table, score)
            weigh_directions(directed, d, axes, roots, -1, gain)
            found[d] = np.argmax(score[0, : head_start.size] + head_start + gain)
