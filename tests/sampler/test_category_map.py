"""Maps of categories whose distances a test makes."""

import time

import numpy as np
import pytest

from sampler.answers.category_map import CategoryMap, category_map
from sampler.corpus import Array


def distances_of(points: Array) -> Array:
    """float64[K, K]: distances of points, rounded as those of categories are."""
    products = points @ points.T
    squared = np.diag(products)[:, None] + np.diag(products) - 2.0 * products
    np.fill_diagonal(squared, 0.0)
    return np.round(np.sqrt(np.maximum(squared, 0.0)), 6)


def distances_on(found: CategoryMap) -> Array:
    """float64[K, K]: distances on a map."""
    return distances_of(np.array([place for place in found.places if place is not None]))


def hellinger(rng: np.random.Generator, n_categories: int, n_words: int, spread: float) -> Array:
    """float64[K, K]: Hellinger distances of distributions of words; the smaller the spread, the more unlike."""
    roots = np.sqrt(rng.dirichlet(np.full(n_words, spread), n_categories))
    return distances_of(roots / np.sqrt(2.0))


def test_points_of_a_plane_have_their_distances_on_the_map() -> None:
    distance = distances_of(np.random.default_rng(1).random((8, 2)) * [1.0, 0.4])
    found = category_map(distance)
    assert found.fit == pytest.approx(1.0, abs=1e-5)
    np.testing.assert_allclose(distances_on(found), distance, atol=1e-5)


@pytest.mark.parametrize("points", [2, 5])
def test_points_of_a_line_stand_in_a_line(points: int) -> None:
    distance = distances_of(np.linspace(0.0, 0.7, points)[:, None])
    found = category_map(distance)
    np.testing.assert_allclose(distances_on(found), distance, atol=1e-3)
    assert all(place is not None and abs(place[1]) < 2e-3 for place in found.places)


def test_the_map_is_that_of_the_two_greatest_eigenvalues() -> None:
    distance = hellinger(np.random.default_rng(2), 12, 40, 0.2)
    found = category_map(distance)
    center = np.eye(12) - 1 / 12
    values, vectors = np.linalg.eigh(-0.5 * center @ distance**2 @ center)
    expected = vectors[:, -1:-3:-1] * np.sqrt(values[-1:-3:-1])
    np.testing.assert_allclose(np.abs(np.array(found.places)), np.abs(expected), atol=1e-3)
    assert found.fit == pytest.approx(values[-2:].sum() / values.sum(), abs=1e-5)
    assert (distances_on(found) <= distance + 1e-3).all(), "a plane shows no more than there is"


@pytest.mark.parametrize("n_alike", [3, 4, 12])
def test_categories_that_are_equally_unlike_have_the_same_places_whatever_the_last_bits_are(n_alike: int) -> None:
    """Every plane shows as much of them: a library would choose one by its rounding errors."""
    distance = np.full((n_alike, n_alike), 0.9)
    np.fill_diagonal(distance, 0.0)
    noise = np.random.default_rng(3).normal(0.0, 1e-13, distance.shape)
    shaken = distance + (noise + noise.T) * (distance > 0.0)
    assert category_map(shaken) == category_map(distance)
    assert category_map(distance).fit == pytest.approx(2 / (n_alike - 1), abs=1e-6)


def test_a_category_without_a_word_has_no_place_and_moves_no_other_one() -> None:
    distance = hellinger(np.random.default_rng(4), 5, 30, 0.3)
    with_empty = np.full((6, 6), np.nan)
    others = np.array([0, 1, 3, 4, 5])
    with_empty[np.ix_(others, others)] = distance
    found, without = category_map(with_empty), category_map(distance)
    assert found.places[2] is None
    assert ([found.places[k] for k in others], found.fit) == (without.places, without.fit)


@pytest.mark.parametrize(
    "distance",
    [np.empty((0, 0)), np.zeros((1, 1)), np.full((2, 2), np.nan), np.zeros((3, 3)), np.diag([0.0, np.nan])],
)
def test_there_is_no_map_of_one_category_nor_of_categories_that_are_all_alike(distance: Array) -> None:
    assert category_map(distance) == CategoryMap([None] * len(distance), None)


def test_a_map_of_three_hundred_categories_takes_no_time() -> None:
    distance = hellinger(np.random.default_rng(5), 300, 2_000, 0.05)
    start = time.process_time()
    found = category_map(distance)
    assert time.process_time() - start < 1.0
    assert found.fit is not None and 0.0 < found.fit < 1.0
    assert np.isfinite(np.array(found.places)).all()
