"""Moves of single documents between groups, compiled: what moving one would gain is known from sums over each group.

`sums` float64[V, K] has the sum of each group's rows, a column a group, so that the products of a row with all groups
are read in one go. They follow from `group`; whoever starts a pass makes them anew, so that no rounding is carried on.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from scipy.sparse import csr_array

from sampler.corpus import Array
from sampler.numerics.threads import is_raised

SMALLEST_GAIN = 1e-9  # below it a gain may be rounding, with which documents would move in circles


class Rows(NamedTuple):
    """Sparse rows as compiled code reads them."""

    offsets: Array  # int64[n + 1], row d has the places offsets[d] : offsets[d + 1]
    columns: Array  # int32[...], the column of each place
    values: Array  # float64[...], the value of each place


class Constraints(NamedTuple):
    """What the labels ask for: documents of one label together, of two labels apart, each pair with the same weight."""

    labels: Array  # int32[n], UNLABELED for a document without constraints
    counts: Array  # int64[k, K], labeled documents of each known category in each group
    weight: float


def rows_of(matrix: csr_array) -> Rows:
    """The same rows for compiled code."""
    return Rows(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data.astype(np.float64))


def summed(rows: Rows, group: Array, n_groups: int, n_columns: int) -> Array:
    """float64[V, K]: the sum of each group's rows; `group` int64[n]."""
    sums = np.zeros((n_columns, n_groups))
    add_rows(rows, group, sums)
    return sums


@njit(cache=True, nogil=True)
def add_rows(rows, group, sums):
    """Add every row to the sum of its group."""
    for d in range(group.size):
        add_row(rows, d, group[d], 1.0, sums)


@njit(cache=True, nogil=True)
def add_row(rows, d, s, sign, sums):
    """Add `sign` times row d to the sum of group s."""
    for place in range(rows.offsets[d], rows.offsets[d + 1]):
        sums[rows.columns[place], s] += sign * rows.values[place]


@njit(cache=True, nogil=True)
def multiply(rows, d, sums, product):
    """Write the products of row d with the sums of all groups into float64[K]; returns that with itself."""
    product[:] = 0.0
    square = 0.0
    for place in range(rows.offsets[d], rows.offsets[d + 1]):
        column, value = rows.columns[place], rows.values[place]
        square += value * value
        for s in range(product.size):
            product[s] += value * sums[column, s]
    return square


@njit(cache=True, nogil=True)
def best_move_i2(r, square, product, squares):
    """The group to which a document of group r should move by criterion i2, and what the criterion gains by it.

    The gain of group s is |D_s + d| + |D_r - d| - |D_s| - |D_r|; `squares` float64[K] has each |D_s| squared.
    """
    left = math.sqrt(max(squares[r] - 2.0 * product[r] + square, 0.0)) - math.sqrt(squares[r])
    best, gain = r, 0.0
    for s in range(product.size):
        if s != r:
            gained = left + math.sqrt(squares[s] + 2.0 * product[s] + square) - math.sqrt(squares[s])
            if gained > gain:
                best, gain = s, gained
    return best, gain


@njit(cache=True, nogil=True)
def refine_i2(rows, order, group, sums, stop):
    """Visit the documents in this order and move each to where criterion i2 gains most, in place; how many moved.

    A group keeps at least one document. O(nonzeros K) time. Returns early once the flag is raised.
    """
    n_groups = sums.shape[1]
    squares, sizes = (sums * sums).sum(axis=0), np.bincount(group, minlength=n_groups)
    product = np.empty(n_groups)
    n_moved = 0
    for d in order:
        if is_raised(stop):
            break
        r = group[d]
        if sizes[r] == 1:
            continue
        square = multiply(rows, d, sums, product)
        s, gain = best_move_i2(r, square, product, squares)
        if gain > SMALLEST_GAIN:
            squares[r] += square - 2.0 * product[r]
            squares[s] += square + 2.0 * product[s]
            move(rows, d, r, s, group, sizes, sums)
            n_moved += 1
    return n_moved


@njit(cache=True, nogil=True)
def move(rows, d, r, s, group, sizes, sums):
    """Move document d from group r to group s."""
    add_row(rows, d, r, -1.0, sums)
    add_row(rows, d, s, 1.0, sums)
    sizes[r] -= 1
    sizes[s] += 1
    group[d] = s


@njit(cache=True, nogil=True)
def ties(constraints, labeled, y, r, s):
    """The constraints of a document with the others of group s: w (as many of its label - as many of other labels).

    The document, which is in group r, has label y or none. `labeled` int64[K] counts each group's labeled documents.
    """
    if y < 0:
        return 0.0
    itself = 1 if r == s else 0
    return constraints.weight * (2 * constraints.counts[y, s] - labeled[s] - itself)


@njit(cache=True, nogil=True)
def refine_kernel_means(rows, constraints, order, group, sums, stop):
    """Visit the documents in this order and move each to where the sum of Q_s / n_s gains most; how many moved.

    Q_s = |D_s|^2 + the constraints within group s, so this lowers the objective of semi-supervised kernel k-means by as
    much. In place, `constraints.counts` too. A group keeps at least one document. O(nonzeros K) time. Returns early
    once the flag is raised.
    """
    n_groups = sums.shape[1]
    sizes = np.bincount(group, minlength=n_groups)
    labeled = constraints.counts.sum(axis=0)
    within = (sums * sums).sum(axis=0) + within_groups(constraints)
    product, tied = np.empty(n_groups), np.empty(n_groups)
    n_moved = 0
    for d in order:
        if is_raised(stop):
            break
        r, y = group[d], constraints.labels[d]
        if sizes[r] == 1:
            continue
        square = multiply(rows, d, sums, product)
        for s in range(n_groups):
            tied[s] = 2.0 * (product[s] + ties(constraints, labeled, y, r, s))
        left = (within[r] - tied[r] + square) / (sizes[r] - 1) - within[r] / sizes[r]
        best, gain = r, 0.0
        for s in range(n_groups):
            if s != r:
                gained = left + (within[s] + tied[s] + square) / (sizes[s] + 1) - within[s] / sizes[s]
                if gained > gain:
                    best, gain = s, gained
        if gain > SMALLEST_GAIN:
            within[r] += square - tied[r]
            within[best] += square + tied[best]
            if y >= 0:
                constraints.counts[y, r] -= 1
                constraints.counts[y, best] += 1
                labeled[r] -= 1
                labeled[best] += 1
            move(rows, d, r, best, group, sizes, sums)
            n_moved += 1
    return n_moved


@njit(cache=True, nogil=True)
def within_groups(constraints):
    """float64[K]: the constraints within each group, over ordered pairs: w (pairs of one label - pairs of two)."""
    counts = constraints.counts
    labeled = counts.sum(axis=0)
    same = (counts * counts).sum(axis=0)
    return constraints.weight * (2.0 * same - labeled - labeled * labeled)
