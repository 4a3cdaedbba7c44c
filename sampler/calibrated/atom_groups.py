"""Atoms to categories: Gibbs sampling of a powered Chinese restaurant process over atoms.

    log p(partition) = sum over groups g of [ E(N_g) + omega log Gamma(m_g) ] + const

N_g, m_g are the counts and documents of the atoms in g, and E is the evidence of a category with psi ~ Dir(beta_w):

    E(N) = logG(beta.) - logG(beta. + N.) + sum_w [ logG(beta_w + N_w) - logG(beta_w) ]

and, under settings with vectors, E(s_g) of `directions` on top. omega = 1 is the ordinary Chinese restaurant process
with gamma = 1; more makes fewer and larger groups. Atoms and their sizes are given, and a sweep moves each atom by its
exact conditional.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from sampler.calibrated.atoms import Atoms
from sampler.calibrated.directions import evidence, squared_length
from sampler.corpus import Array
from sampler.numerics import streams
from sampler.numerics.threads import Threads, is_raised

LEAST_COUNT = 1e-6  # a count below it is what rounding left


class AtomRows(NamedTuple):
    """The words of A atoms, each word with a count once."""

    offsets: Array  # int64[A + 1]
    words: Array  # int32[M]
    counts: Array  # float64[M], N_aw
    total: Array  # float64[A], N_a
    size: Array  # float64[A], m_a
    n_words: int  # V
    sums: Array  # float64[A, p], s_a, of vectors; p is 0 without them
    kappa: float  # see `Atoms`

    @property
    def word_totals(self) -> Array:
        """float64[V]: the counts of all atoms together."""
        total: Array = np.bincount(self.words, self.counts, minlength=self.n_words).astype(np.float64)
        return total


def atom_rows(atoms: Atoms) -> AtomRows:
    """The counts of atoms that hold a document, atom after atom."""
    used = np.flatnonzero(atoms.size > 0)
    columns = np.ascontiguousarray(atoms.words[:, used].T)
    atom, word = np.nonzero(columns > LEAST_COUNT)
    counts = columns[atom, word].astype(np.float64)
    offsets = np.searchsorted(atom, np.arange(used.size + 1))
    total = np.bincount(atom, counts, minlength=used.size).astype(np.float64)  # integers if there is no count at all
    n_words, sums = atoms.words.shape[0], np.ascontiguousarray(atoms.sums[used])
    return AtomRows(offsets, word.astype(np.int32), counts, total, atoms.size[used], n_words, sums, atoms.kappa)


@njit(cache=True, nogil=True, error_model="numpy")
def log_gamma(x: float) -> float:
    """log Gamma(x) for x > 0 by Stirling's series, to 1e-10; the library's is slower."""
    shift = 0.0
    if x < 7.0:
        product = 1.0
        while x < 7.0:
            product *= x
            x += 1.0
        shift = -math.log(product)
    r = 1.0 / x
    rr = r * r
    series = r * (1.0 / 12.0 - rr * (1.0 / 360.0 - rr * (1.0 / 1260.0 - rr / 1680.0)))
    return shift + (x - 0.5) * math.log(x) - x + 0.9189385332046727 + series  # half the log of 2 pi


class Gains(NamedTuple):
    """What atoms would add to the evidence of groups, where it is known: it changes only when a group does."""

    gain: Array  # float64[A, A + 1], E(N_g + N_a) - E(N_g) in nats, N_g without the atom
    is_known: Array  # bool[A, A + 1]


def no_gains(n_atoms: int) -> Gains:
    """Nothing is known yet."""
    return Gains(np.zeros((n_atoms, n_atoms + 1)), np.zeros((n_atoms, n_atoms + 1), np.bool_))


class Groups(NamedTuple):
    """The groups of A atoms while they are sampled, numbered below A + 1: so there is always an empty one."""

    group: Array  # int64[A]
    size: Array  # float64[A + 1], documents
    sums: Array  # float64[A + 1, V], counts; like their totals only of groups for which `is_made` is true
    total: Array  # float64[A + 1]
    places: Array  # float64[A + 1, p], of the atoms' vectors
    is_made: Array  # bool[A + 1]


def groups_of(rows: AtomRows, group: Array) -> Groups:
    """These groups int64[A], whose sums are not made yet; the array changes with them."""
    n_groups = group.size + 1
    size = np.bincount(group, rows.size, minlength=n_groups)
    sums = np.empty((n_groups, rows.n_words))  # takes no memory until it is written
    places = np.zeros((n_groups, rows.sums.shape[1]))
    return Groups(group, size, sums, np.zeros(n_groups), places, np.zeros(n_groups, np.bool_))


class Prior(NamedTuple):
    """What the probability of a partition follows from, besides its atoms."""

    beta: Array  # float64[V], beta_w
    total: float  # beta.
    omega: float


def regroup(
    rows: AtomRows, group: Array, prior: Array, powers: Sequence[float], n_sweeps: int, key: np.uint64,
    gains: Gains | None = None, threads: Threads | None = None,
) -> Array:  # fmt: skip
    """int64[powers, A]: the groups after some Gibbs sweeps at each power, each from the groups at the one before.

    `group` int[A] is where the first begins, `prior` is beta_w float64[V]. Groups are numbered without a gap in the
    order of their first atoms. `gains` are those of `group`, and then those of the last groups; they save time and
    change nothing.
    """
    threads, group, gains = threads or Threads(), group.astype(np.int64), gains or no_gains(group.size)
    found = np.empty((len(powers), group.size), np.int64)
    for power, after in zip(powers, found, strict=True):
        sample_groups(rows, prior, power, n_sweeps, key, groups_of(rows, group), gains, threads.stop)
        threads.check()
        old, new = np.unique(group), in_order(group)
        columns = np.full(gains.gain.shape[1], -1)
        columns[new] = group
        columns[columns < 0] = np.setdiff1d(np.arange(columns.size), old)
        for table in gains:
            table[:] = table[:, columns]
        group, after[:] = new.copy(), new
        key = np.uint64(streams.branch(key, 0))
    return found


def in_order(group: Array) -> Array:
    """int64[A]: the same groups, numbered by their first atoms."""
    first, place = np.unique(group, return_index=True, return_inverse=True)[1:]
    renumbered: Array = np.argsort(np.argsort(first))[place]
    return renumbered


@njit(cache=True, nogil=True, error_model="numpy")
def sample_groups(rows, beta, omega, n_sweeps, key, groups, gains, stop):
    """Gibbs sweeps over atoms, in place. O(changes M) time beyond gains that are not known, O(V G) memory.

    A group's sums are made again, atom after atom, when it has changed: so a gain is the same number whether it was
    known or not. Gives up when the flag `stop` is raised.
    """
    n_atoms, prior, nowhere = rows.size.size, Prior(beta, beta.sum(), omega), np.zeros((1, rows.sums.shape[1]))
    nothing, alone, weight = np.zeros(beta.size), np.empty(n_atoms), np.empty(n_atoms + 1)
    for a in range(n_atoms):
        alone[a] = evidence_gain(rows, a, nothing, 0.0, False, prior) + direction_gain(rows, a, nowhere, 0, False)
    position = 0
    for _ in range(n_sweeps):
        for a in range(n_atoms):
            if is_raised(stop):
                return
            learn_gains(rows, a, groups, gains, prior, stop)
            if is_raised(stop):
                return
            weigh_groups(rows, a, alone[a], groups, gains, prior, weight)
            new = streams.pick(weight, weight.size, streams.uniform(key, position))
            position += 1
            if new != groups.group[a]:
                move_atom(rows, a, new, groups, gains)


@njit(cache=True, nogil=True, error_model="numpy")
def learn_gains(rows, a, groups, gains, prior, stop):
    """Compute the gains of an atom that are not known, unless the flag `stop` is raised."""
    own = groups.group[a]
    for g in range(groups.size.size):
        if gains.is_known[a, g] or size_without(rows, a, groups, g) < 0.5:
            continue
        if is_raised(stop):
            return
        if not groups.is_made[g]:
            groups.total[g] = add_members(rows, groups.group, g, groups.sums[g])
            add_places(rows, groups.group, g, groups.places[g])
            groups.is_made[g] = True
        gain = evidence_gain(rows, a, groups.sums[g], groups.total[g], g == own, prior)
        gains.gain[a, g] = gain + direction_gain(rows, a, groups.places, g, g == own)
        gains.is_known[a, g] = True


@njit(cache=True, nogil=True, error_model="numpy")
def size_without(rows, a, groups, g):
    """The documents of a group without an atom."""
    return groups.size[g] - rows.size[a] if g == groups.group[a] else groups.size[g]


@njit(cache=True, nogil=True, error_model="numpy")
def weigh_groups(rows, a, alone, groups, gains, prior, weight):
    """Write how likely each group is for an atom, float64[A + 1], up to a constant.

    Of empty groups one counts, with the gain `alone`: the atom's own, if it is alone there.
    """
    own, empty = groups.group[a], -1
    for g in range(weight.size):
        rest = size_without(rows, a, groups, g)
        if rest < 0.5:
            weight[g] = -math.inf
            if empty < 0 or g == own:
                empty = g
        else:
            weight[g] = gains.gain[a, g] + prior.omega * (log_gamma(rest + rows.size[a]) - log_gamma(rest))
    weight[empty] = alone + prior.omega * log_gamma(rows.size[a])
    best = weight.max()
    for g in range(weight.size):
        weight[g] = math.exp(weight[g] - best)


@njit(cache=True, nogil=True, error_model="numpy")
def move_atom(rows, a, new, groups, gains):
    """Move an atom to another group; what was known of both is known no more."""
    old = groups.group[a]
    groups.group[a] = new
    for g in (old, new):
        groups.size[g] = 0.0
        for b in range(groups.group.size):
            if groups.group[b] == g:
                groups.size[g] += rows.size[b]
        gains.is_known[:, g] = False
        groups.is_made[g] = False


@njit(cache=True, nogil=True, error_model="numpy")
def add_members(rows, group, g, sums):
    """Write the sums float64[V] of a group; returns what they sum to."""
    sums[:] = 0.0
    all_words = 0.0
    for a in range(group.size):
        if group[a] == g:
            all_words += rows.total[a]
            for j in range(rows.offsets[a], rows.offsets[a + 1]):
                sums[rows.words[j]] += rows.counts[j]
    return all_words


@njit(cache=True, nogil=True, error_model="numpy")
def evidence_gain(rows, a, sums, group_total, is_member, prior):
    """E(N_g + N_a) - E(N_g) in nats, with N_g the sums of the group without the atom."""
    total = rows.total[a]
    rest = max(group_total - total, 0.0) if is_member else group_total
    gain = log_gamma(prior.total + rest) - log_gamma(prior.total + rest + total)
    for j in range(rows.offsets[a], rows.offsets[a + 1]):
        word, count = rows.words[j], rows.counts[j]
        other = sums[word]
        if is_member:
            other = max(other - count, 0.0)
        other += prior.beta[word]
        gain += log_gamma(other + count) - log_gamma(other)
    return gain


@njit(cache=True, nogil=True, error_model="numpy")
def add_places(rows, group, g, sums):
    """Write the sum float64[p] of the vectors of a group."""
    sums[:] = 0.0
    for a in range(group.size):
        if group[a] == g:
            for i in range(sums.size):
                sums[i] += rows.sums[a, i]


@njit(cache=True, nogil=True, error_model="numpy")
def direction_gain(rows, a, places, g, is_member):
    """E(s_g + s_a) - E(s_g) in nats, with s_g the sum of the group's vectors without the atom; 0 without vectors."""
    n_axes = rows.sums.shape[1]
    if n_axes == 0:
        return 0.0
    rest = whole = 0.0
    for i in range(n_axes):
        own, other = rows.sums[a, i], places[g, i]
        if is_member:
            other -= own
        rest += other * other
        whole += (other + own) * (other + own)
    nu = 0.5 * n_axes - 1.0
    return evidence(whole, rows.kappa, nu) - evidence(rest, rows.kappa, nu)


def log_target(rows: AtomRows, group: Array, prior: Array, omega: float, threads: Threads | None = None) -> float:
    """log p(partition) up to a constant: the sum over groups of evidence and omega log Gamma(m_g)."""
    threads = threads or Threads()
    log_p = float(sum_log_target(rows, group.astype(np.int64), prior, omega, threads.stop))
    threads.check()
    return log_p


@njit(cache=True, nogil=True, error_model="numpy")
def sum_log_target(rows, group, prior, omega, stop):
    """See `log_target`; gives up when the flag `stop` is raised."""
    log_p, all_prior = 0.0, prior.sum()
    sums, n_axes = np.empty(rows.n_words), rows.sums.shape[1]
    places = np.zeros((1, n_axes))
    for g in range(group.max() + 1):
        if is_raised(stop):
            break
        group_total, group_size = add_members(rows, group, g, sums), 0.0
        for a in range(group.size):
            if group[a] == g:
                group_size += rows.size[a]
        log_p += log_gamma(all_prior) - log_gamma(all_prior + group_total) + omega * log_gamma(group_size)
        for w in range(rows.n_words):
            if sums[w] > 0.0:
                log_p += log_gamma(sums[w] + prior[w]) - log_gamma(prior[w])
        if n_axes > 0:
            add_places(rows, group, g, places[0])
            log_p += evidence(squared_length(places, 0), rows.kappa, 0.5 * n_axes - 1.0)
    return log_p
