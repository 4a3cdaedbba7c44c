"""Vectors of texts, prepared for the models without looking at a label: their principal axes, and places along them.

A vector is made 1 long, the mean of all is taken off, what is left is projected on the axes along which vectors differ
most, and made 1 long again. A text without a vector, or with one of zeros, has the vector of zeros.
"""

from typing import NamedTuple

import numpy as np

from sampler.corpus import Array

N_AXES = 64
LEAST_LENGTH = 1e-6  # a vector that is shorter has no direction


class Axes(NamedTuple):
    """How vectors of n numbers are seen."""

    mean: Array  # float64[n]
    axes: Array  # float64[n, p], p = min(n, N_AXES): of unit length, the first one that along which they differ most


class Moments(NamedTuple):
    """Sums over vectors of n numbers that are 1 long."""

    n_vectors: int
    total: Array  # float64[n]
    squares: Array  # float64[n, n], the sum of outer products


def no_moments(length: int) -> Moments:
    """Of no vector."""
    return Moments(0, np.zeros(length), np.zeros((length, length)))


def with_vectors(moments: Moments, vectors: Array) -> Moments:
    """The sums with some more vectors float[m, n]; those without a direction do not count."""
    rows = unit_rows(vectors)
    n_more = int(np.count_nonzero(rows.any(axis=1)))
    return Moments(moments.n_vectors + n_more, moments.total + rows.sum(axis=0), moments.squares + rows.T @ rows)


def axes_of(moments: Moments) -> Axes:
    """The principal axes; of two directions the one whose largest number is positive."""
    mean = moments.total / max(moments.n_vectors, 1)
    covariance = moments.squares / max(moments.n_vectors, 1) - np.outer(mean, mean)
    axes = np.linalg.eigh(covariance)[1][:, ::-1][:, :N_AXES]  # eigenvalues ascend
    largest = np.abs(axes).argmax(axis=0)
    return Axes(mean, axes * np.sign(axes[largest, np.arange(axes.shape[1])]))


def projected(vectors: Array, axes: Axes) -> Array:
    """float16[m, p]: vectors float[m, n] as places along the axes, 1 long; zeros for those without a direction."""
    rows = unit_rows(vectors)
    places = np.where(rows.any(axis=1, keepdims=True), rows - axes.mean, 0.0) @ axes.axes
    return unit_rows(places).astype(np.float16)


def unit_rows(vectors: Array) -> Array:
    """float64[m, n]: the rows made 1 long, but zeros where they are shorter than LEAST_LENGTH."""
    rows = vectors.astype(np.float64)
    lengths = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    found: Array = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > LEAST_LENGTH)
    return found
