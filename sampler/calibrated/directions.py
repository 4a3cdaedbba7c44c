"""Directions: what the vectors of documents say of which documents are of one group.

The vectors of a group's documents are 1 long and come from a von Mises-Fisher distribution: they lie around a mean
direction of their own with concentration kappa, and the mean direction, of which any is as likely, is integrated out
(Banerjee and others 2005). Beside what is the same for every partition, the logarithm of that is a function of s alone,
the sum of the group's vectors of p numbers, by the Bessel functions' uniform expansion (Abramowitz and Stegun 9.7.7):

    E(s) = nu [ r - 1 - log((1 + r) / 2) ] - log(r) / 2        nu = p / 2 - 1,  r = sqrt(1 + (kappa |s| / nu)^2)

E(0) = 0, and a document without a vector, whose place is 0, changes nothing.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from sampler.calibrated.bags import Rows
from sampler.corpus import Array

CONCENTRATION = 8.0  # kappa times beta: a setting that lets words differ more lets vectors differ more
MOST = 3.0  # times nu is kappa at most: more would say that documents of one group are copies


class Directions(NamedTuple):
    """The vectors of D documents, and how close to each other those of a group lie. Without vectors p is 0."""

    places: Array  # float32[D, p], each row 1 long or 0
    kappa: float

    def roots(self, sums: Array) -> Array:
        """float64[A]: r of sums of vectors float64[A, p]."""
        nu = max(0.5 * self.places.shape[1] - 1.0, 1.0)
        found: Array = np.sqrt(1.0 + (self.kappa / nu) ** 2 * (sums**2).sum(axis=1))
        return found

    def of(self, documents: Array) -> "Directions":
        """Those of some documents int64[n]."""
        return self._replace(places=self.places[documents])


def no_directions(n_documents: int) -> Directions:
    """Documents without a vector."""
    return Directions(np.zeros((n_documents, 0), np.float32), 0.0)


def directions(places: Array, has_vectors: bool, smoothing: float) -> Directions:
    """The vectors float32[D, p] under a setting, or none if it has words alone."""
    if not has_vectors:
        return no_directions(len(places))
    return Directions(places, min(CONCENTRATION / smoothing, MOST * (0.5 * places.shape[1] - 1.0)))


class Columns(NamedTuple):
    """The vectors of documents as further columns of regressions."""

    places: Array  # float32[D, p]
    scale: float  # how long they are beside the words of a document, which are 1 long

    def of(self, documents: Array) -> "Columns":
        """Those of some documents int64[n]."""
        return self if self.places.shape[1] == 0 else self._replace(places=self.places[documents])

    def beside(self, rows: Rows) -> Rows:
        """The rows of D documents with p columns more; with a scale of 0 they are as they were."""
        places, n_axes = self.places, self.places.shape[1]
        if self.scale == 0.0 or n_axes == 0:
            return rows
        offsets = rows.offsets + np.concatenate([[0], np.cumsum(np.where(places.any(axis=1), n_axes, 0))])
        columns, values = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], np.float32)
        both = Rows(offsets, columns, values, rows.n_columns + n_axes)
        put_beside(rows, places, np.float32(self.scale), both)
        return both


def as_rows(places: Array) -> Rows:
    """The vectors as rows of p columns, none of documents without one."""
    nothing = Rows(np.zeros(len(places) + 1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32), 0)
    return Columns(places, 1.0).beside(nothing)


NO_COLUMNS = Columns(np.zeros((0, 0), np.float32), 0.0)


@njit(cache=True, nogil=True, error_model="numpy")
def put_beside(rows: Rows, places: Array, scale: np.float32, both: Rows) -> None:
    """Write the entries of rows, and behind those of each document its vector times the scale, if there is room."""
    for d in range(places.shape[0]):
        to = both.offsets[d]
        for e in range(rows.offsets[d], rows.offsets[d + 1]):
            both.columns[to], both.values[to] = rows.columns[e], rows.values[e]
            to += 1
        for i in range(both.offsets[d + 1] - to):
            both.columns[to + i], both.values[to + i] = rows.n_columns + i, places[d, i] * scale


@njit(cache=True, nogil=True, error_model="numpy")
def evidence(squares: float, kappa: float, nu: float) -> float:
    """E(s) in nats of a group whose sum of vectors has the squared length `squares`."""
    r = math.sqrt(1.0 + kappa * kappa * squares / (nu * nu))
    return nu * (r - 1.0 - math.log(0.5 * (1.0 + r))) - 0.5 * math.log(r)


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def gain_of_roots(r: float, new_r: float, nu: float) -> float:
    """E of a sum with the root `new_r` minus E of one with the root `r`, to 1e-6, where kappa is no more than MOST nu.

    That is nu [new_r - r - log((1 + new_r) / (1 + r))] - log(new_r / r) / 2. The logarithm of a ratio is twice the
    inverse hyperbolic tangent of the difference over the sum, which is below .36 and .53 here: its series is all that
    is needed, and compilers do several at once.
    """
    z, y = (new_r - r) / (2.0 + r + new_r), (new_r - r) / (r + new_r)
    zz, yy = z * z, y * y
    of_z = 1.0 + zz * (1 / 3 + zz * (1 / 5 + zz * (1 / 7 + zz * (1 / 9 + zz * (1 / 11 + zz * (1 / 13 + zz / 15))))))
    of_y = 1 / 11 + yy * (1 / 13 + yy * (1 / 15 + yy * (1 / 17 + yy * (1 / 19 + yy / 21))))
    of_y = 1.0 + yy * (1 / 3 + yy * (1 / 5 + yy * (1 / 7 + yy * (1 / 9 + yy * of_y))))
    return nu * (new_r - r - 2.0 * z * of_z) - y * of_y


@njit(cache=True, nogil=True, error_model="numpy")
def squared_length(sums: Array, g: int) -> float:
    """|s|^2 of a row of float64[groups, p]."""
    total = 0.0
    for i in range(sums.shape[1]):
        total += sums[g, i] * sums[g, i]
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def sum_places(places: Array, group: Array, sums: Array) -> None:
    """Add the vectors of documents to the rows of their groups, float64[groups, p]."""
    for d in range(places.shape[0]):
        for i in range(places.shape[1]):
            sums[group[d], i] += places[d, i]
