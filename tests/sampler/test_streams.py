"""Random streams against the uniform law; choices against their weights."""

import itertools

import numpy as np
import pytest
import scipy.stats

from sampler.numerics import streams
from sampler.numerics.streams import SUMMED_TOGETHER, Step, chosen, pick

N = 1_000_000
LEVEL = 1e-4  # of each test here, were the seeds not fixed


def first_of_neighbouring_streams() -> np.ndarray:
    """The first number of each of 20,000 streams whose addresses differ by one sweep."""
    return np.array([streams.uniform(streams.stream(1, 0, sweep, Step.TABLES), 0) for sweep in range(20_000)])


def test_a_stream_is_uniform() -> None:
    numbers = streams.uniforms(streams.stream(1, 0, 1, Step.TOPICS), N)
    assert numbers.min() >= 0.0 and numbers.max() < 1.0
    assert scipy.stats.kstest(numbers, "uniform").pvalue > LEVEL


def test_the_first_numbers_of_neighbouring_streams_are_uniform() -> None:
    assert scipy.stats.kstest(first_of_neighbouring_streams(), "uniform").pvalue > LEVEL


def test_the_bits_of_a_stream_are_balanced() -> None:
    """Each of the 53 bits is a fair coin tossed N times: standard error 0.5 / sqrt(N), Bonferroni over 53."""
    bits = (streams.uniforms(streams.stream(2, 0, 1, Step.TABLES), N) * 2.0**53).astype(np.uint64)
    shares = np.array([((bits >> np.uint64(j)) & np.uint64(1)).mean() for j in range(53)])
    z = np.abs(shares - 0.5) / (0.5 / np.sqrt(N))
    assert z.max() < scipy.stats.norm.isf(LEVEL / (2 * 53))


def test_neighbouring_addresses_are_not_correlated() -> None:
    """The correlation of n independent pairs has standard error 1 / sqrt(n)."""
    base = streams.uniforms(streams.stream(3, 1, 5, Step.TABLES), N)
    neighbours = [
        (base[:-lag], base[lag:])
        for lag in (1, 2, 3, 16)  # positions
    ] + [
        (base, streams.uniforms(streams.stream(*address), N))
        for address in (
            (4, 1, 5, Step.TABLES),
            (3, 2, 5, Step.TABLES),
            (3, 1, 6, Step.TABLES),
            (3, 1, 5, Step.CATEGORIES),
            (1, 3, 5, Step.TABLES),
        )
    ]
    limit = scipy.stats.norm.isf(LEVEL / (2 * 2 * len(neighbours)))
    for left, right in neighbours:
        for f in (lambda x: x, lambda x: (x - 0.5) ** 2):
            assert abs(np.corrcoef(f(left), f(right))[0, 1]) * np.sqrt(left.size) < limit


def test_pairs_of_neighbouring_positions_fill_the_square() -> None:
    """Chi-square over 64 x 64 cells of disjoint pairs."""
    pairs = (streams.uniforms(streams.stream(5, 0, 1, Step.START), N).reshape(-1, 2) * 64).astype(int)
    cells = np.bincount(pairs[:, 0] * 64 + pairs[:, 1], minlength=64 * 64)
    assert scipy.stats.chisquare(cells).pvalue > LEVEL


def test_distinct_addresses_give_distinct_keys() -> None:
    """Of 30,000 keys of 64 bits two are equal by accident with probability 2e-11."""
    addresses = list(itertools.product([0, 1, 2, 2**63, 2**64 - 1], range(6), range(120), Step))
    assert len({int(streams.stream(*address)) for address in addresses}) == len(addresses)


def test_a_number_depends_on_its_address_alone() -> None:
    key = streams.stream(7, 0, 3, Step.TABLES)
    numbers = streams.uniforms(key, 100)
    assert [streams.uniform(key, position) for position in reversed(range(100))] == numbers[::-1].tolist()
    again = streams.generator(7, 0, 3, Step.CONCENTRATIONS).random(5)
    np.testing.assert_array_equal(again, streams.generator(7, 0, 3, Step.CONCENTRATIONS).random(5))
    assert (again != streams.generator(7, 0, 4, Step.CONCENTRATIONS).random(5)).all()


@pytest.mark.parametrize(
    "size", [1, 2, SUMMED_TOGETHER - 1, SUMMED_TOGETHER, SUMMED_TOGETHER + 1, 3 * SUMMED_TOGETHER + 5]
)
def test_pick_takes_each_index_for_its_share_of_the_unit_interval(size: int) -> None:
    """On an even grid of n numbers u the index j is picked n p_j times, give or take its two ends."""
    rng = np.random.default_rng(size)
    weights = rng.gamma(0.3, size=size) * (rng.random(size) < 0.7)
    weights[rng.integers(size)] = 1.0
    n = 20_000
    picked = np.array([pick(weights, size, (j + 0.5) / n) for j in range(n)])
    counts = np.bincount(picked, minlength=size)
    np.testing.assert_allclose(counts, n * weights / weights.sum(), rtol=0, atol=2)
    assert (counts[weights == 0] == 0).all() and (np.diff(picked) >= 0).all()


def test_pick_never_takes_a_zero_weight_even_at_the_ends() -> None:
    rng = np.random.default_rng(9)
    last = np.nextafter(1.0, 0.0)  # above every number that a stream gives
    for _ in range(3_000):
        size = int(rng.integers(1, 60))
        weights = rng.random(size) * 10.0 ** rng.integers(-300, 3, size) * (rng.random(size) < 0.4)
        weights[rng.integers(size)] = 10.0 ** rng.integers(-300, 3)
        beyond = np.append(weights, [np.nan, 1e9])  # what stands behind size is not looked at
        for u in (0.0, 2.0**-53, 0.5, 1.0 - 2.0**-53, last):
            j = pick(beyond, size, u)
            assert 0 <= j < size and weights[j] > 0.0


def test_a_smaller_sample_is_a_part_of_a_larger_one() -> None:
    """And both are drawn by their address alone, evenly: of each half of 4,000 documents as many, five errors apart."""
    documents = np.arange(0, 8_000, 2)
    small, large = (chosen(documents, size, 3, Step.SAMPLE) for size in (500, 1_000))
    assert small.size == 500 and large.size == 1_000 and np.isin(small, large).all() and np.isin(large, documents).all()
    assert (np.diff(large) > 0).all()
    assert (large < 4_000).sum() == pytest.approx(500, abs=5 * np.sqrt(1_000 / 4))
    np.testing.assert_array_equal(chosen(documents, 4_000, 3, Step.SAMPLE), documents)
    assert chosen(documents, 0, 3, Step.SAMPLE).size == 0 == chosen(documents, -3, 3, Step.SAMPLE).size
    assert (chosen(documents, 500, 4, Step.SAMPLE) != small).any()
