"""Variates by address against their laws, by scipy; their addresses against one another."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
import scipy.stats
from numba import njit

from sampler import draws
from sampler.streams import Step, stream

LEVEL = 1e-4  # of each test here, were the seeds not fixed; shared evenly by the comparisons within it
N = 250_000  # draws behind each comparison
KEYS = [stream(seed, 0, seed, Step.TOPICS) for seed in (1, 2, 3)]


def many(variate: Callable[..., tuple[float, int]]) -> Callable[..., np.ndarray]:
    """A compiled function of (key, n, *parameters) that draws n numbers, one after the other."""

    @njit
    def draw(key, n, *parameters):
        numbers, position = np.empty(n), 0
        for i in range(n):
            numbers[i], position = variate(*parameters, key, position)
        return numbers

    return draw


@njit
def one_exponential(key, position):
    return draws.exponential(key, position), position + 1


@njit
def one_small_gamma(shape, key, position):
    return draws.small_gamma(shape, draws.uniform(key, position), key, position + 1)


exponentials = many(one_exponential)
normals = many(draws.normal)
gammas = many(draws.gamma)
small_gammas = many(one_small_gamma)
binomials = many(draws.binomial)


@njit
def multinomials(n, weights, total, key, rows):
    counts = np.empty((rows, weights.size + 1), np.int32)
    position = 0
    for i in range(rows):
        position = draws.multinomial(n, weights, weights.size, total, key, position, counts[i])
    return counts


@njit
def phi_rows(counts, beta, cut, key, rows):
    """The weights of one word drawn `rows` times, float32[rows, L], zero where left out; sizes, int64[rows, 2]."""
    dense, sizes = np.zeros((rows, counts.size), np.float32), np.empty((rows, 2), np.int64)
    topics, weights = np.empty(counts.size, np.uint16), np.empty(counts.size, np.float32)
    bits = np.empty(counts.size, np.uint32)
    for i in range(rows):
        row_key = draws.mix(key + np.uint64(i))
        sizes[i] = draws.phi_row(counts, beta, cut, row_key, 0, topics, weights, bits)
        for j in range(sizes[i, 0]):
            dense[i, topics[j]] += weights[j]  # a topic listed twice would weigh too much
    return dense, sizes


def pvalue_of_counts(observed: np.ndarray, expected: np.ndarray) -> float:
    """Chi-square of counts, neighbouring cells joined until each expects 20 or more."""
    edges, waiting = [0], 0.0
    for i, cell in enumerate(expected):
        waiting += cell
        if waiting >= 20.0 and expected[i + 1 :].sum() >= 20.0:
            edges.append(i + 1)
            waiting = 0.0
    if len(edges) < 2:
        return 1.0
    joined = np.add.reduceat(observed, edges), np.add.reduceat(expected, edges)
    return float(scipy.stats.chisquare(*joined, sum_check=False).pvalue)


def binomial_pvalue(counts: np.ndarray, n: int, p: float) -> float:
    """Chi-square of counts against the binomial (n, p)."""
    observed = np.bincount(counts.astype(np.int64), minlength=n + 1)
    return pvalue_of_counts(observed, scipy.stats.binom.pmf(np.arange(n + 1), n, p) * counts.size)


def assert_uncorrelated(x: np.ndarray, y: np.ndarray, comparisons: int = 1) -> None:
    """The correlation of n independent pairs has standard error 1 / sqrt(n)."""
    z = abs(np.corrcoef(x, y)[0, 1]) * math.sqrt(x.size)
    assert z < scipy.stats.norm.isf(LEVEL / (2 * comparisons))


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
    for bound in (0.05, 0.3, draws.TAIL, 4.0, 4.4):
        beyond = int((numbers > bound).sum())
        chance = 2.0 * scipy.stats.norm.sf(bound)
        assert scipy.stats.binomtest(beyond, numbers.size, chance).pvalue > LEVEL / 6
    tail = numbers[numbers > draws.TAIL]
    levels = scipy.stats.norm.sf(tail) / scipy.stats.norm.sf(draws.TAIL)
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


@pytest.mark.parametrize("shape", [0.01, 0.1, 0.6])
@pytest.mark.parametrize("negligible", [1e-9, 1e-6])
def test_the_cut_is_where_the_first_proposal_becomes_negligible(shape: float, negligible: float) -> None:
    cut = draws.cut_uniform(shape, negligible)
    proposal = lambda u: (u * (math.e + shape) / math.e) ** (1.0 / shape)  # noqa: E731
    assert proposal(cut) == pytest.approx(negligible, rel=1e-9)


@pytest.mark.parametrize(("n_topics", "beta"), [(10, 0.01), (128, 0.01), (128, 0.5), (1000, 0.1)])
def test_what_is_cut_from_a_word_weighs_less_than_the_rounding_of_one(n_topics: int, beta: float) -> None:
    """The expected weight below x of a Gamma(beta) is beta times the chance that a Gamma(beta + 1) is below x."""
    negligible = draws.negligible(n_topics, beta)
    cut_weight = n_topics * beta * scipy.stats.gamma.cdf(negligible, beta + 1.0)
    assert 0.0 < cut_weight < 2.0**-26


def test_logarithm_and_exponential_without_branches_are_close() -> None:
    numbers = 10.0 ** np.random.default_rng(1).uniform(-10.0, 0.01, 20_000)
    logs = np.array([draws.plain_log(x) for x in numbers])
    np.testing.assert_allclose(logs, np.log(numbers), rtol=0.0, atol=2e-12)
    exponents = np.random.default_rng(2).uniform(-87.0, 1.0, 20_000)
    powers = np.array([draws.plain_exp(y) for y in exponents])
    np.testing.assert_allclose(powers, np.exp(exponents), rtol=2e-8)


def test_the_bytes_of_row_bits_are_uniform() -> None:
    """4 bytes of numbers along a row, and of one position across 250,000 neighbouring keys: 8 comparisons."""
    row, across, one = np.empty(N, np.uint32), np.empty(N, np.uint32), np.empty(5, np.uint32)
    draws.row_bits(KEYS[0], N, row)
    for i in range(N):
        draws.row_bits(np.uint64(int(KEYS[0]) + i), 5, one)
        across[i] = one[4]
    for bits, shift in itertools.product((row, across), (0, 8, 16, 24)):
        observed = np.bincount(bits >> np.uint32(shift) & np.uint32(255), minlength=256)
        assert scipy.stats.chisquare(observed).pvalue > LEVEL / 8


def test_neighbouring_numbers_of_row_bits_are_not_correlated() -> None:
    """Along a row at lags 1, 2 and 8; at one position between keys that differ in one bit or by one: 6 comparisons."""
    row, other = np.empty(N, np.uint32), np.empty(N, np.uint32)
    draws.row_bits(KEYS[1], N, row)
    for lag in (1, 2, 8):
        assert_uncorrelated(row[lag:], row[:-lag], 6)
    for key in (int(KEYS[1]) + 1, int(KEYS[1]) ^ 1 << 32, int(KEYS[1]) ^ 1 << 63):
        draws.row_bits(np.uint64(key), N, other)
        assert_uncorrelated(row, other, 6)


def test_the_ends_of_32_bits_are_within_the_unit_interval() -> None:
    assert 0.0 < draws.unit32(np.uint32(0)) < draws.unit32(np.uint32(2**32 - 1)) < 1.0


WORD = np.array([0, 3, 0, 1, 0, 0, 120, 0, 0, 0, 1, 0, 0, 0, 0, 7, 0, 0, 0, 0, 2], np.int32)  # L = 21, not whole eights


@pytest.mark.parametrize("beta", [0.01, 0.1, 0.7, 1.0, 2.5])
def test_a_row_of_phi_has_its_law(beta: float) -> None:
    """Of 6 topics with a count each, of the 15 others together: law and share of the weights above the cut."""
    negligible = draws.negligible(WORD.size, beta)
    dense, sizes = phi_rows(WORD, beta, draws.cut_uniform(beta, negligible), KEYS[0], 40_000)
    assert (sizes[:, 1] == 6).all()
    assert (sizes[:, 0] == (dense > 0.0).sum(1)).all()
    for count in np.unique(WORD):
        law = scipy.stats.gamma(beta + count)
        weights = dense[:, count == WORD].ravel().astype(float)
        above = weights[weights > negligible]
        share = law.sf(negligible)
        assert scipy.stats.binomtest(above.size, weights.size, share).pvalue > LEVEL / 12
        assert scipy.stats.kstest(law.sf(above) / share, "uniform").pvalue > LEVEL / 12


def test_the_topics_of_a_row_are_independent() -> None:
    """All 210 pairs of 21 topics: ranks of their weights, and for those without a count whether they are kept."""
    beta = 0.1
    dense, _ = phi_rows(WORD, beta, draws.cut_uniform(beta, 1e-6), KEYS[1], 50_000)
    levels = scipy.stats.gamma.cdf(dense, beta + WORD)
    correlations = np.corrcoef(levels.T)[np.triu_indices(WORD.size, 1)]
    assert np.abs(correlations).max() * math.sqrt(len(dense)) < scipy.stats.norm.isf(LEVEL / (2 * 210))


def test_topics_with_a_count_come_first_and_both_kinds_ascend() -> None:
    rng = np.random.default_rng(3)
    for n_topics in (1, 7, 8, 64, 129):
        topics, weights = np.empty(n_topics, np.uint16), np.empty(n_topics, np.float32)
        bits = np.empty(n_topics, np.uint32)
        for i in range(50):
            counts = rng.poisson(0.2, n_topics).astype(np.int32)
            cut = draws.cut_uniform(0.01, draws.negligible(n_topics, 0.01))
            size, counted = draws.phi_row(counts, 0.01, cut, KEYS[i % 3], 5, topics, weights, bits)
            np.testing.assert_array_equal(topics[:counted], np.flatnonzero(counts))
            rest = topics[counted:size].astype(int)
            assert (np.diff(rest) > 0).all() and (counts[rest] == 0).all()
            assert (weights[:size] > 0.0).all()


def test_a_row_writes_nothing_beyond_its_end() -> None:
    counts = np.array([0, 1, 0, 0, 2, 0, 0, 1, 0, 5, 0], np.int32)
    topics, weights = np.full(22, 9, np.uint16), np.full(22, 9.0, np.float32)
    bits = np.full(22, 9, np.uint32)
    for key in KEYS:
        draws.phi_row(counts, 0.01, 0.5, key, 0, topics[:11], weights[:11], bits[:11])
    assert (topics[11:] == 9).all() and (weights[11:] == 9.0).all() and (bits[11:] == 9).all()


def test_a_word_without_a_count_keeps_at_least_one_topic() -> None:
    cut = draws.cut_uniform(0.01, 1e-6)
    dense, sizes = phi_rows(np.zeros(3, np.int32), 0.01, cut, KEYS[2], 10_000)
    assert sizes[:, 0].min() == 1 and (sizes[:, 1] == 0).all()
    assert (dense.max(1) > 0.0).all()
    kept_one = np.bincount(dense[sizes[:, 0] == 1].argmax(1), minlength=3)
    assert scipy.stats.chisquare(kept_one).pvalue > LEVEL  # none of the topics is preferred


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
        assert draws.binomial(n, p, KEYS[0], 11) == (expected, 11)


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
    bounds = [draws.bound32(0.3 * 2.0**-32, 1.0, draws.uniform(KEYS[0], i)) for i in range(200_000)]
    assert set(bounds) == {0, 1}
    assert abs(np.mean(bounds) - 0.3) < 5.0 * math.sqrt(0.3 * 0.7 / 200_000)


def test_the_same_address_gives_the_same_number() -> None:
    for key, position in itertools.product(KEYS, (0, 1, 12_345)):
        for variate, parameters in (
            (draws.exponential, ()),
            (draws.normal, ()),
            (draws.gamma, (1.3,)),
            (draws.small_gamma, (0.2, 0.9)),
            (draws.binomial, (100, 0.3)),
        ):
            assert variate(*parameters, key, position) == variate(*parameters, key, position)


@pytest.mark.parametrize("variate", ["exponential", "normal", "gamma"])
def test_numbers_of_neighbouring_addresses_are_not_correlated(variate: str) -> None:
    """Between positions one apart, streams of neighbouring sweeps, and keys one apart; three comparisons."""
    draw = {
        "exponential": draws.exponential,
        "normal": lambda key, position: draws.normal(key, position)[0],
        "gamma": lambda key, position: draws.gamma(1.01, key, position)[0],
    }[variate]
    by_position = np.array([draw(KEYS[0], position) for position in range(20_001)])
    by_sweep = np.array([draw(stream(1, 0, sweep, Step.TOPICS), 0) for sweep in range(20_001)])
    by_key = np.array([draw(np.uint64(key), 3) for key in range(20_001)])
    for numbers in (by_sweep, by_key):
        assert_uncorrelated(numbers[1:], numbers[:-1], 3)
    if variate == "gamma":  # reads two positions or more: its neighbours start where it ended
        by_position = gammas(KEYS[0], 20_001, 1.01)
    assert_uncorrelated(by_position[1:], by_position[:-1], 3)
