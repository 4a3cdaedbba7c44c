"""A map of categories: places in a plane that are as far from each other as the words of the categories are unlike.

Hellinger distances are those of points in a space of one dimension a word, so classical scaling is exact (Torgerson
1952): the two directions in which the points differ most, and the share of all squared distances that these show.
The directions are found by orthogonal iteration from fixed ones, so many times, converged or not. That makes places a
continuous function of the distances, orientation included: where a library for eigenvectors would choose signs, or any
two of many directions that are equally good, as its last bits have it, the same distances give the same places.
"""

from typing import NamedTuple

import numpy as np

from sampler.corpus import Array

N_ITERATIONS = 500
GOLDEN_ANGLE = np.pi * (3.0 - np.sqrt(5.0))  # no two of its multiples point the same way
DIGITS = 6  # of a place: those of distances
ROUNDING = 1e-9  # of a length: less is nothing


class CategoryMap(NamedTuple):
    """Where K categories stand."""

    places: list[tuple[float, float] | None]  # None for categories without a word, and for all if there is no map
    fit: float | None  # share of the squared distances that the plane shows, from 0 to 1; None if there is no map


def category_map(distance: Array) -> CategoryMap:
    """The map for distances float64[K, K], NaN for categories without a word. O(K^2) time.

    There is none of fewer than two categories with words, nor of categories that are all alike.
    """
    has_words = np.flatnonzero(~np.isnan(np.diagonal(distance)))
    products = centered_products(distance[np.ix_(has_words, has_words)])
    total = float(np.trace(products))
    if has_words.size < 2 or total <= 0.0:
        return CategoryMap([None] * len(distance), None)
    found = coordinates(products)
    places: list[tuple[float, float] | None] = [None] * len(distance)
    for category, (x, y) in zip(has_words.tolist(), (np.round(found, DIGITS) + 0.0).tolist(), strict=True):
        places[category] = (x, y)  # the sum makes 0.0 of -0.0
    return CategoryMap(places, round(min(float((found**2).sum()) / total, 1.0), DIGITS))


def centered_products(distance: Array) -> Array:
    """float64[n, n]: inner products of the points around their mean."""
    squared = distance**2
    of_row = squared.mean(axis=1, keepdims=True) if len(squared) else squared
    products: Array = -0.5 * (squared - of_row - of_row.T + (of_row.mean() if len(squared) else 0.0))
    return products


def coordinates(products: Array) -> Array:
    """float64[n, 2]: the points along the two directions in which they differ most, the first one first."""
    angle = GOLDEN_ANGLE * np.arange(len(products))
    basis = orthonormal(np.column_stack([np.cos(angle), np.sin(angle)]))
    for _ in range(N_ITERATIONS):
        basis = orthonormal(products @ basis)
    variance = np.maximum((basis * (products @ basis)).sum(axis=0), 0.0)  # distances are rounded
    found: Array = basis * np.sqrt(variance)
    return found


def orthonormal(pair: Array) -> Array:
    """float64[n, 2]: two directions as they are, but of length 1, and the second without what it has of the first.

    Zeros where nothing but rounding errors is left: that is all that points in a line have of a second one.
    """
    first, second = pair[:, 0], pair[:, 1]
    first = first / float(np.linalg.norm(first))
    rest = second - first * (first @ second)
    length = float(np.linalg.norm(rest))
    if length <= ROUNDING * float(np.linalg.norm(second)):
        return np.column_stack([first, np.zeros(len(first))])
    return np.column_stack([first, rest / length])
