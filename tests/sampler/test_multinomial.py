"""Binomial and multinomial counts by address against their laws, by scipy."""

import itertools
import math

import numpy as np
import pytest
import scipy.stats
from numba import njit

from sampler.numerics import multinomial
from sampler.numerics.streams import uniform
from tests.sampler.variates_harness import KEYS, LEVEL, N, binomial_pvalue, many

binomials = many(multinomial.binomial)


@njit
def multinomials(n, weights, total, key, rows):
    counts = np.empty((rows, weights.size + 1), np.int32)
    position = 0
    for i in range(rows):
        position = multinomial.multinomial(n, weights, weights.size, total, key, position, counts[i])
    return counts


@pytest.mark.parametrize("p", [1e-7, 0.004, 0.09, 0.3, 0.5, 0.77, 0.9999])
@pytest.mark.parametrize("n", [1, 2, 19, 40, 333, 20_000])
def test_a_binomial_has_its_law(n: int, p: float) -> None:
    """42 pairs: the level of the one test is shared by them."""
    assert binomial_pvalue(binomials(KEYS[0], N, n, p), n, p) > LEVEL / 42


def test_a_binomial_of_very_many_trials_has_its_law() -> None:
    """Against the normal: at a deviation of 5e5 the skewness and the steps are far below the error of 250,000 draws."""
    n, p = 10**12, 0.5
    numbers = (binomials(KEYS[1], N, n, p) - n * p) / math.sqrt(n * p * (1.0 - p))
    assert scipy.stats.kstest(numbers, "norm").pvalue > LEVEL


def test_a_binomial_without_trials_or_doubt_draws_nothing() -> None:
    for n, p, expected in [(0, 0.3, 0), (0, 1.0, 0), (7, 0.0, 0), (7, 1.0, 7), (10**9, 1.0, 10**9)]:
        assert multinomial.binomial(n, p, KEYS[0], 11) == (expected, 11)


WEIGHTS = [
    np.array([0.4, 0.0, 7.0, 1.3, 2e-4, 0.9], np.float32),
    np.array([0.25], np.float32),
    np.array([0.5, 0.1, 0.0, 0.2, 1.0, 0.3, 0.3, 0.7, 4.0, 0.2, 0.4], np.float32),
]


@pytest.mark.parametrize("weights", WEIGHTS, ids=["six", "one", "eleven"])
@pytest.mark.parametrize("rest", [0.0, 1e-3, 5.0])
@pytest.mark.parametrize("n", [1, 24, 256, 300, 2000])
def test_the_counts_of_a_multinomial_have_their_laws(n: int, rest: float, weights: np.ndarray) -> None:
    """Each count is binomial: at most 12 for each of 45 settings share the level of the test."""
    shares = np.append(weights.astype(float), rest)
    total = shares.sum()
    shares /= total
    counts = multinomials(n, weights, total, KEYS[n % 3], 200_000 if n < 256 else 40_000)
    assert (counts.sum(1) == n).all() and counts.min() >= 0
    assert (counts[:, shares == 0.0] == 0).all()
    for j in np.flatnonzero(shares):
        assert binomial_pvalue(counts[:, j], n, shares[j]) > LEVEL / (12 * 45)


@pytest.mark.parametrize("n", [30, 700])
def test_the_counts_of_a_multinomial_hang_together(n: int) -> None:
    """Any two counts together are binomial too: 15 pairs of six positive weights and a rest, for two n."""
    weights, rest = np.array([0.4, 2.0, 1.3, 0.2, 0.9], np.float32), 0.6
    shares = np.append(weights.astype(float), rest)
    total = shares.sum()
    counts = multinomials(n, weights, total, KEYS[0], 200_000)
    for i, j in itertools.combinations(range(6), 2):
        assert binomial_pvalue(counts[:, i] + counts[:, j], n, (shares[i] + shares[j]) / total) > LEVEL / 30


def test_a_rest_below_zero_gets_no_draw() -> None:
    weights = np.array([0.5, 0.25, 1e-9, 0.0], np.float32)
    for n in (0, 1, 200, 5000):
        counts = multinomials(n, weights, 0.7499, KEYS[0], 2000)
        assert (counts[:, 3:] == 0).all() and (counts.sum(1) == n).all()


def test_a_multinomial_without_weights_leaves_all_to_the_rest() -> None:
    for n, weights in itertools.product((3, 999), (np.zeros(0, np.float32), np.zeros(2, np.float32))):
        assert (multinomials(n, weights, 1.0, KEYS[0], 10)[:, -1] == n).all()
        assert (multinomials(n, weights, 0.0, KEYS[0], 10)[:, -1] == n).all()


def test_a_share_below_the_bits_of_a_draw_is_met_on_average() -> None:
    """The dither: a share of 0.3 / 2^32 gives a bound of 0 or 1, the mean of 200,000 within 5 standard errors."""
    bounds = [multinomial.bound32(0.3 * 2.0**-32, 1.0, uniform(KEYS[0], i)) for i in range(200_000)]
    assert set(bounds) == {0, 1}
    assert abs(np.mean(bounds) - 0.3) < 5.0 * math.sqrt(0.3 * 0.7 / 200_000)


def test_the_same_address_gives_the_same_count() -> None:
    for key, position in itertools.product(KEYS, (0, 1, 12_345)):
        assert multinomial.binomial(100, 0.3, key, position) == multinomial.binomial(100, 0.3, key, position)
