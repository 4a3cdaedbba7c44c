"""Variates by address against their laws, by scipy; their addresses against one another."""

import itertools
import math

import numpy as np
import pytest
import scipy.stats
from numba import njit

from sampler.numerics import simd, variates
from sampler.numerics.simd import LANES
from sampler.numerics.streams import Step, stream
from tests.sampler.variates_harness import KEYS, LEVEL, N, assert_uncorrelated, many


@njit
def one_exponential(key, position):
    return variates.exponential(key, position), position + 1


@njit
def one_small_gamma(shape, key, position):
    return variates.small_gamma(shape, variates.uniform(key, position), key, position + 1)


exponentials = many(one_exponential)
normals = many(variates.normal)
gammas = many(variates.gamma)
small_gammas = many(one_small_gamma)


def test_an_exponential_has_its_law_and_is_finite() -> None:
    for key in KEYS:
        numbers = exponentials(key, N)
        assert numbers.min() >= 0.0 and np.isfinite(numbers).all()
        assert scipy.stats.kstest(numbers, "expon").pvalue > LEVEL / len(KEYS)


def test_a_normal_has_its_law() -> None:
    for key in KEYS:
        assert scipy.stats.kstest(normals(key, N), "norm").pvalue > LEVEL / len(KEYS)


def test_the_tail_and_the_top_of_the_ziggurat_have_their_mass() -> None:
    """Of 4 million normals about 1,030 are beyond the last layer, 43 beyond 4.4; counts are binomial. 6 comparisons."""
    numbers = np.abs(normals(KEYS[0], 4_000_000))
    for bound in (0.05, 0.3, variates.TAIL, 4.0, 4.4):
        beyond = int((numbers > bound).sum())
        chance = 2.0 * scipy.stats.norm.sf(bound)
        assert scipy.stats.binomtest(beyond, numbers.size, chance).pvalue > LEVEL / 6
    tail = numbers[numbers > variates.TAIL]
    levels = scipy.stats.norm.sf(tail) / scipy.stats.norm.sf(variates.TAIL)
    assert scipy.stats.kstest(levels, "uniform").pvalue > LEVEL / 6


@pytest.mark.parametrize("shape", [1.0, 1.01, 1.5, 7.3, 250.0])
def test_a_gamma_has_its_law(shape: float) -> None:
    for key in KEYS:
        assert scipy.stats.kstest(gammas(key, N, shape), "gamma", (shape,)).pvalue > LEVEL / len(KEYS)


@pytest.mark.parametrize("shape", [0.01, 0.1, 0.6, 0.99])
def test_a_small_gamma_has_its_law(shape: float) -> None:
    """Of shape .01 a share of 8e-4 underflows to zero, which moves the statistic by less than a third of its limit."""
    for key in KEYS:
        numbers = small_gammas(key, N, shape)
        assert scipy.stats.kstest(numbers, "gamma", (shape,)).pvalue > LEVEL / len(KEYS)


@pytest.mark.parametrize("shape", [1.0, 1.01, 1.2, 2.01, 7.3, 250.0, 1e6])
def test_the_squeeze_accepts_no_gamma_that_the_whole_test_would_refuse(shape: float) -> None:
    """On a grid of normals up to where the squeeze accepts nothing."""
    d = shape - 1.0 / 3.0
    square_of_c = 1.0 / (9.0 * d)
    end = (variates.SQUEEZE * square_of_c) ** -0.25
    assert math.sqrt(square_of_c) * end < 1.0  # the cube is of a positive number
    x = np.linspace(-end, end, 1_000_001)
    shift = math.sqrt(square_of_c) * x  # d (1 - v + log v) + x^2 / 2 of v = (1 + shift)^3, where terms cancel
    log_chance = d * (3.0 * (np.log1p(shift) - shift + shift * shift / 2.0) - shift**3)
    assert (1.0 - variates.SQUEEZE * square_of_c * x**4 <= np.exp(log_chance) + 1e-9).all()


def test_logarithm_and_exponential_without_branches_are_close() -> None:
    numbers = 10.0 ** np.random.default_rng(1).uniform(-10.0, 0.01, 20_000)
    logs = np.array([variates.plain_log2(x) for x in numbers])
    np.testing.assert_allclose(logs, np.log2(numbers), rtol=0.0, atol=3e-12)
    exponents = np.random.default_rng(2).uniform(-126.0, 2.0, 20_000)
    powers = np.array([variates.plain_exp2(y) for y in exponents])
    np.testing.assert_allclose(powers, np.exp2(exponents), rtol=2e-8)


@njit
def row_bits(key, size):
    row = np.empty(size, np.uint32)
    for i in range(size):
        row[i] = variates.bits32(np.uint32(key), np.uint32(key >> np.uint64(32)), np.uint32(i))
    return row


def test_the_bytes_of_32_bits_are_uniform() -> None:
    """4 bytes of numbers along a row, and of one position across 250,000 neighbouring keys: 8 comparisons."""
    row = row_bits(KEYS[0], N)
    across = np.array([row_bits(np.uint64(int(KEYS[0]) + i), 5)[4] for i in range(N)])
    for bits, shift in itertools.product((row, across), (0, 8, 16, 24)):
        observed = np.bincount(bits >> np.uint32(shift) & np.uint32(255), minlength=256)
        assert scipy.stats.chisquare(observed).pvalue > LEVEL / 8


def test_neighbouring_numbers_of_32_bits_are_not_correlated() -> None:
    """Along a row at lags 1, 2 and 8; at one position between keys that differ in one bit or by one: 6 comparisons."""
    row = row_bits(KEYS[1], N)
    for lag in (1, 2, 8):
        assert_uncorrelated(row[lag:], row[:-lag], 6)
    for key in (int(KEYS[1]) + 1, int(KEYS[1]) ^ 1 << 32, int(KEYS[1]) ^ 1 << 63):
        assert_uncorrelated(row, row_bits(np.uint64(key), N), 6)


def test_the_ends_of_32_bits_are_within_the_unit_interval() -> None:
    assert 0.0 < variates.unit32(np.uint32(0)) < variates.unit32(np.uint32(2**32 - 1)) < 1.0


def test_the_same_address_gives_the_same_number() -> None:
    for key, position in itertools.product(KEYS, (0, 1, 12_345)):
        for variate, parameters in (
            (variates.exponential, ()),
            (variates.normal, ()),
            (variates.gamma, (1.3,)),
            (variates.small_gamma, (0.2, 0.9)),
        ):
            assert variate(*parameters, key, position) == variate(*parameters, key, position)


@pytest.mark.parametrize("variate", ["exponential", "normal", "gamma"])
def test_numbers_of_neighbouring_addresses_are_not_correlated(variate: str) -> None:
    """Between positions one apart, streams of neighbouring sweeps, and keys one apart; three comparisons."""
    draw = {
        "exponential": variates.exponential,
        "normal": lambda key, position: variates.normal(key, position)[0],
        "gamma": lambda key, position: variates.gamma(1.01, key, position)[0],
    }[variate]
    by_position = np.array([draw(KEYS[0], position) for position in range(20_001)])
    by_sweep = np.array([draw(stream(1, 0, sweep, Step.TOPICS), 0) for sweep in range(20_001)])
    by_key = np.array([draw(np.uint64(key), 3) for key in range(20_001)])
    for numbers in (by_sweep, by_key):
        assert_uncorrelated(numbers[1:], numbers[:-1], 3)
    if variate == "gamma":  # reads two positions or more: its neighbours start where it ended
        by_position = gammas(KEYS[0], 20_001, 1.01)
    assert_uncorrelated(by_position[1:], by_position[:-1], 3)


@njit
def side_by_side(key, n, is_dense):
    """Float32 numbers of the first n positions, LANES at a time, n a multiple."""
    row, numbers = np.empty((1, LANES), np.float32), np.empty(n, np.float32)
    for first in range(0, n, LANES):
        position = simd.add(simd.numbered(), simd.spread(np.int32(first)))
        if is_dense:
            simd.store(variates.dense_lane_uniforms(key, position), row, 0, 0)
        else:
            simd.store(variates.lane_uniforms(key, position), row, 0, 0)
        numbers[first : first + LANES] = row[0]
    return numbers


def test_numbers_side_by_side_are_the_32_bits_at_their_positions() -> None:
    for key in KEYS:
        low, high = np.uint32(key & np.uint64(0xFFFFFFFF)), np.uint32(key >> np.uint64(32))
        expected = [
            np.float32(variates.bits32(low, high, np.uint32(i))) * np.float32(2.0**-32) for i in range(8 * LANES)
        ]
        np.testing.assert_array_equal(side_by_side(key, 8 * LANES, False), expected)


@pytest.mark.parametrize("is_dense", [False, True])
def test_numbers_side_by_side_are_uniform_and_uncorrelated(is_dense: bool) -> None:
    """Between neighbours, and between lanes of neighbouring rows; six comparisons."""
    for key in KEYS:
        numbers = side_by_side(key, N // LANES * LANES, is_dense)
        assert numbers.min() >= 0.0 and numbers.max() <= 1.0
        assert scipy.stats.kstest(numbers, "uniform").pvalue > LEVEL / len(KEYS)
        for lag in (1, LANES):
            assert_uncorrelated(numbers[lag:], numbers[:-lag], 6)


def test_dense_numbers_have_their_second_bits_too() -> None:
    """Below 2^-8 a float32 has room for more than 32 bits after the point: what is left over is uniform as well."""
    numbers = np.concatenate([side_by_side(key, N // LANES * LANES, True) for key in KEYS]).astype(float)
    rest = np.modf(numbers[numbers < 2.0**-10] * 2.0**32)[0]
    # a float32 below 2^-10 is a multiple of 2^-34 or of less: fractions of 2^-32 come in quarters at least
    quarters = np.bincount((rest * 4.0).astype(int), minlength=4)
    assert scipy.stats.chisquare(quarters).pvalue > LEVEL


def test_the_short_logarithm_is_right_to_float32() -> None:
    """Within 4 units in the last place of the logarithm, or 1e-7 where that is next to zero."""
    numbers = np.exp(np.random.default_rng(53).uniform(-80.0, 80.0, 20_000)).astype(np.float32)
    numbers = np.concatenate([numbers, np.random.default_rng(54).uniform(0.4, 2.5, 20_000).astype(np.float32)])
    expected = np.log(numbers.astype(float))
    found = np.array([variates.short_log(x) for x in numbers])
    np.testing.assert_allclose(found, expected, rtol=4.0 * 2.0**-23, atol=1e-7)
