"""Rows in few dimensions: their principal components, for methods whose cost grows with the length of a row."""

import numpy as np
from scipy.sparse import csr_array

from sampler.corpus import Array
from sampler.numerics.threads import Threads

OVERSAMPLED = 10  # directions more than wanted, so that the last wanted ones are good
N_POWERS = 4  # multiplications by the covariance before the directions are read


def principal_components(rows: csr_array, n_components: int, random: np.random.Generator, threads: Threads) -> Array:
    """float64[n, min(n_components, n, V)]: the centered rows along their directions of largest variance.

    Randomized subspace iteration (Halko, Martinsson and Tropp 2011, algorithm 4.4), the mean never subtracted from the
    sparse rows. `rows` float64[n, V]. Raises Interrupted when the flag of `threads` is raised.
    """
    n, n_columns = rows.shape
    if n == 0:
        return np.zeros((0, 0))
    mean = np.asarray(rows.mean(axis=0)).ravel()
    size = min(n_components + OVERSAMPLED, n, n_columns)

    def onto_rows(directions: Array) -> Array:
        threads.check()
        return np.asarray(rows @ directions - mean @ directions)

    def onto_columns(weights: Array) -> Array:
        threads.check()
        return np.asarray(rows.T @ weights - np.outer(mean, weights.sum(axis=0)))

    directions = random.standard_normal((n_columns, size))
    for _ in range(N_POWERS):
        directions = np.linalg.qr(onto_columns(np.linalg.qr(onto_rows(directions))[0]))[0]
    left, values, _ = np.linalg.svd(onto_rows(directions), full_matrices=False)
    return np.ascontiguousarray((left * values)[:, :n_components])


def with_unit_length(rows: Array) -> Array:
    """float64[n, d]: each row divided by its length; rows of zeros stay so."""
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.ascontiguousarray(rows / np.where(length > 0.0, length, 1.0))
