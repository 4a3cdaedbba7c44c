"""Collapsed Gibbs sampling of a Dirichlet process mixture of normals, compiled (Neal 2000, algorithm 3).

A row's density in a group, the group's mean and precision integrated out, is a product of Student distributions,

    log p = d (lgamma(a + 1/2) - lgamma(a) - log(pi) / 2) - sum log(s_j) / 2
            - (a + 1/2) sum log(1 + (x_j - m_j)^2 / s_j)

with s_j = 2 b_j (kappa + 1) / kappa and the posterior of `baselines.normal_gamma`.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from sampler.corpus import Array
from sampler.numerics.threads import is_raised

MULTIPLIED_TOGETHER = 8  # factors between two logarithms, which cost more than all else: few enough not to overflow


class Tables(NamedTuple):
    """What the densities in C groups are computed from; follows from the groups' rows. The last one stays empty."""

    size: Array  # int64[C + 1]
    first: Array  # float64[C + 1, d], sums of rows
    second: Array  # float64[C + 1, d], sums of their squares
    mean: Array  # float64[C + 1, d], m
    inverse: Array  # float64[C + 1, d], 1 / s
    constant: Array  # float64[C + 1], what does not depend on the row


def empty_tables(n_groups: int, n_dimensions: int) -> Tables:
    """Room for this many groups."""
    first, second, mean, inverse = (np.zeros((n_groups + 1, n_dimensions)) for _ in range(4))
    return Tables(np.zeros(n_groups + 1, np.int64), first, second, mean, inverse, np.zeros(n_groups + 1))


@njit(cache=True, nogil=True)
def prepare(prior, tables, c):
    """Write what follows from group c's sums."""
    n_dimensions = prior.rate.size
    strength = prior.strength + tables.size[c]
    shape = prior.shape + 0.5 * tables.size[c]
    total, product = 0.0, 1.0
    for j in range(n_dimensions):
        mean = tables.first[c, j] / strength
        rate = prior.rate[j] + 0.5 * max(tables.second[c, j] - strength * mean * mean, 0.0)
        scale = 2.0 * rate * (strength + 1.0) / strength
        tables.mean[c, j] = mean
        tables.inverse[c, j] = 1.0 / scale
        product *= scale
        if j % MULTIPLIED_TOGETHER == MULTIPLIED_TOGETHER - 1:
            total += math.log(product)
            product = 1.0
    total += math.log(product)
    each = math.lgamma(shape + 0.5) - math.lgamma(shape) - 0.5 * math.log(math.pi)
    tables.constant[c] = n_dimensions * each - 0.5 * total


@njit(cache=True, nogil=True)
def log_density(points, d, prior, tables, c):
    """The log density of row d in group c, of which it is not a part."""
    total, product = 0.0, 1.0
    for j in range(points.shape[1]):
        away = points[d, j] - tables.mean[c, j]
        product *= 1.0 + away * away * tables.inverse[c, j]
        if j % MULTIPLIED_TOGETHER == MULTIPLIED_TOGETHER - 1:
            total += math.log(product)
            product = 1.0
    total += math.log(product)
    return tables.constant[c] - (prior.shape + 0.5 * tables.size[c] + 0.5) * total


@njit(cache=True, nogil=True)
def change(points, d, sign, prior, tables, c):
    """Add row d to group c, or take it from there."""
    tables.size[c] += sign
    for j in range(points.shape[1]):
        tables.first[c, j] += sign * points[d, j]
        tables.second[c, j] += sign * points[d, j] * points[d, j]
    if tables.size[c] == 0:  # rounding is not passed on to the next group in this place
        tables.first[c, :] = 0.0
        tables.second[c, :] = 0.0
    prepare(prior, tables, c)


@njit(cache=True, nogil=True)
def fill(points, group, prior, tables):
    """Put all rows into their groups."""
    for d in range(group.size):
        c = group[d]
        tables.size[c] += 1
        for j in range(points.shape[1]):
            tables.first[c, j] += points[d, j]
            tables.second[c, j] += points[d, j] * points[d, j]
    for c in range(tables.size.size):
        prepare(prior, tables, c)


@njit(cache=True, nogil=True)
def sample_groups(points, group, prior, concentration, uniforms, tables, stop):
    """Resample the group of every row, in place.

    A group that empties leaves its place free; the first free place takes the next new group, and when there is none,
    no row opens one. O(n C d) time. Returns early once the flag is raised.
    """
    n_places = tables.size.size - 1  # the one behind them is the group that has no row yet
    weights, places = np.empty(n_places + 1), np.empty(n_places + 1, np.int64)
    for d in range(group.size):
        if is_raised(stop):
            return
        change(points, d, -1, prior, tables, group[d])
        n_offers, free, top = 0, -1, -np.inf
        for c in range(n_places):
            if tables.size[c] > 0:
                weights[n_offers] = math.log(tables.size[c]) + log_density(points, d, prior, tables, c)
                places[n_offers] = c
                top = max(top, weights[n_offers])
                n_offers += 1
            elif free < 0:
                free = c
        if free >= 0:
            weights[n_offers] = math.log(concentration) + log_density(points, d, prior, tables, n_places)
            places[n_offers] = free
            top = max(top, weights[n_offers])
            n_offers += 1
        group[d] = places[chosen_offer(weights, n_offers, top, uniforms[d])]
        change(points, d, 1, prior, tables, group[d])


@njit(cache=True, nogil=True)
def chosen_offer(weights, n_offers, top, u):
    """The offer that u in [0, 1) picks, with probability proportional to the exponential of its weight."""
    total = 0.0
    for i in range(n_offers):
        weights[i] = math.exp(weights[i] - top)
        total += weights[i]
    rest = u * total
    for i in range(n_offers - 1):
        rest -= weights[i]
        if rest < 0.0:
            return i
    return n_offers - 1
