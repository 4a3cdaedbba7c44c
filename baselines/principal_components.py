"""Principal components of sparse rows, by subspace iteration: deterministic, and it can be interrupted."""

import numpy as np
from scipy.sparse import csr_array

from sampler.corpus import Array
from sampler.numerics.threads import Threads

N_SPARE = 10  # directions that are iterated beyond those that are wanted: the last ones converge slowly
N_ROUNDS = 4
NO_VARIANCE = 1e-10  # of the greatest variance, up to which a component is rounding


def principal_components(matrix: csr_array, n_components: int, random: np.random.Generator, threads: Threads) -> Array:
    """float64[n, d]: the centered rows along their d directions of greatest variance, descending.

    d is `n_components`, or as many as have any variance, and one at least. Halko, Martinsson and Tropp (2011),
    algorithm 4.4, on the centered rows, which are never built. The sign of a component is that of its greatest entry by
    magnitude. Raises Interrupted when the flag is raised, within one product of the rows with the directions.
    """
    if not matrix.shape[0]:
        return np.zeros((0, 0))
    center = np.asarray(matrix.mean(axis=0)).ravel()
    n_directions = min(n_components + N_SPARE, *matrix.shape)
    directions = random.standard_normal((matrix.shape[1], n_directions))
    for _ in range(N_ROUNDS):
        threads.check()
        along = np.linalg.qr(matrix @ directions - center @ directions)[0]
        threads.check()
        directions = np.linalg.qr(matrix.T @ along - np.outer(center, along.sum(axis=0)))[0]
    threads.check()
    along = matrix @ directions - center @ directions
    variance, rotation = np.linalg.eigh(along.T @ along)
    n_kept = max(min(n_components, int((variance > NO_VARIANCE * variance[-1:].max(initial=0.0)).sum())), 1)
    components = along @ rotation[:, ::-1][:, :n_kept]
    greatest = np.abs(components).argmax(axis=0)
    return np.asarray(components * np.sign(components[greatest, np.arange(n_kept)]))


def with_unit_length(rows: Array) -> Array:
    """float64[n, d]: each row divided by its length; rows of zeros stay so."""
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.ascontiguousarray(rows / np.where(length > 0.0, length, 1.0))
