"""R-hat and effective sizes against another implementation's numbers, and against what theory says of known chains."""

import math

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import rankdata

from sampler.answers.diagnostics import effective_size, r_hat, ranks, tail_effective_size
from sampler.corpus import Array

SIZES = (effective_size, tail_effective_size)


def autoregressive(rng: np.random.Generator, phi: float, n_chains: int, n_draws: int) -> Array:
    """float64[C, S]: x_t = phi x_(t-1) + noise, from its stationary distribution on."""
    noise = rng.standard_normal((n_chains, n_draws))
    noise[:, 0] /= math.sqrt(1.0 - phi**2)
    return np.asarray(lfilter([1.0], [1.0, -phi], noise, axis=1))


def waves(n_chains: int, n_draws: int) -> Array:
    """float64[C, S]: draws that look random and come from no generator, the chains a little apart."""
    c, s = np.arange(n_chains)[:, None], np.arange(n_draws)
    return np.asarray(np.sin(0.37 * s**2 + c) + np.cos(0.05 * s) + 0.1 * c)


# R-hat, bulk and tail effective size of each, by arviz-stats 1.3.3.
REFERENCES = [
    ("waves", waves(4, 250), (1.004301585, 64.03845832, 263.8244679)),
    ("an odd number", waves(3, 101), (1.188148449, 11.67627792, 55.19550127)),
    ("counts with ties", np.floor(2.0 * waves(4, 120)), (1.016504317, 41.58637324, 190.0914025)),
    ("one wide chain", waves(4, 250) * [[1.0], [1.0], [1.0], [9.0]], (1.378323274, 66.81205161, 33.07145178)),
    (
        "heavy tails",
        np.tan(1.5 * np.sin(0.37 * np.arange(300.0).reshape(2, 150) ** 2)),
        (0.998972206, 273.3473955, 291.9120308),
    ),
    ("alternating", waves(2, 200) * (-1.0) ** np.arange(200), (1.002761928, 770.5288246, 327.7278037)),
]


@pytest.mark.parametrize(("draws", "expected"), [case[1:] for case in REFERENCES], ids=[case[0] for case in REFERENCES])
def test_figures_are_those_of_arviz(draws: Array, expected: tuple[float, float, float]) -> None:
    found = (r_hat(draws), effective_size(draws), tail_effective_size(draws))
    assert found == pytest.approx(expected, rel=1e-8)


def test_independent_draws_are_worth_their_number_and_have_no_r_hat() -> None:
    """With n draws in each of 8 halves R-hat exceeds 1 by (chi2_7 / 7 - 1) / 2 n, below 0.002 in 9,999 cases of 10,000.

    Of a sum of correlations up to lag M the standard error is sqrt(2 (2 M + 1) / N); noise ends it within few lags:
    below 0.03 at M = 4.
    """
    draws = np.random.default_rng(1).standard_normal((4, 5000))
    assert 0.999 < r_hat(draws) < 1.002
    assert effective_size(draws) == pytest.approx(20_000, rel=0.1)
    assert tail_effective_size(draws) == pytest.approx(20_000, rel=0.1)


@pytest.mark.parametrize("phi", [0.3, 0.6, 0.9, -0.4])
def test_correlated_draws_are_worth_what_theory_says(phi: float) -> None:
    """Normal AR(1): N (1 - phi) / (1 + phi) independent ones.

    M is about log(0.02) / log |phi|, at most 40 lags: a standard error of sqrt(2 x 81 / 80,000) = 0.045.
    """
    draws = autoregressive(np.random.default_rng(2), phi, n_chains=4, n_draws=20_000)
    assert effective_size(draws) == pytest.approx(80_000 * (1 - phi) / (1 + phi), rel=0.15)


def test_chains_that_never_meet_have_the_r_hat_of_half_normals() -> None:
    """Scores of the lower and the upper half of all ranks: means of -+ sqrt(2 / pi), variance 1 - 2 / pi.

    Two chains make four halves, whose means have the variance 4/3 (2 / pi); a drifting chain makes two, 2 (2 / pi).
    """
    rng, ratio = np.random.default_rng(3), (2 / math.pi) / (1 - 2 / math.pi)
    apart = np.array([[0.0], [1000.0]]) + rng.standard_normal((2, 4000))
    assert r_hat(apart) == pytest.approx(math.sqrt(1 + 4 / 3 * ratio), rel=0.02)
    assert r_hat(np.arange(4000.0)[None]) == pytest.approx(math.sqrt(1 + 2 * ratio), rel=0.02)
    assert effective_size(apart) < 8


def test_the_middle_size_depends_on_ranks_alone() -> None:
    draws = waves(3, 100)
    assert effective_size(np.exp(5.0 * draws)) == effective_size(draws)


def test_chains_are_cut_to_the_shortest() -> None:
    draws = waves(3, 120)
    uneven = [draws[0, :90], draws[1], draws[2, :100]]
    for figure in (r_hat, *SIZES):
        assert figure(uneven) == figure(draws[:, :90])


def test_constant_chains_agree_wholly_or_not_at_all() -> None:
    assert r_hat(np.full((3, 10), 7.0)) == 1.0
    assert [size(np.full((3, 10), 7.0)) for size in SIZES] == [30.0, 30.0]
    stuck = np.repeat([[5.0], [5.0], [6.0]], 40, axis=1)
    assert r_hat(stuck) == math.inf
    assert [size(stuck) for size in SIZES] == [0.0, 0.0]


def test_too_few_draws_and_infinite_ones_are_refused() -> None:
    for figure in (r_hat, *SIZES):
        with pytest.raises(ValueError, match="3 draws of the shortest of 2 chains are fewer than 4"):
            figure([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0]])
        with pytest.raises(ValueError, match="0 draws of the shortest of 0 chains"):
            figure([])
        with pytest.raises(ValueError, match="draw 1 of chain 0 is -inf"):
            figure([[1.0, -math.inf, 3.0, 4.0]])


def test_equal_draws_share_a_rank_as_in_scipy() -> None:
    draws = np.random.default_rng(8).integers(-5, 5, (3, 40)).astype(float)
    assert np.array_equal(ranks(draws).ravel(), rankdata(draws))
    assert ranks(np.array([[2.0, 1.0], [2.0, 4.0]])).tolist() == [[2.5, 1.0], [2.5, 4.0]]
