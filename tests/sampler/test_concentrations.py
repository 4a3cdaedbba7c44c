"""The draws of alpha and gamma against their one-dimensional posteriors by quadrature."""

from collections.abc import Callable

import numpy as np
import pytest
import scipy.integrate
import scipy.stats

from sampler.corpus import Array
from sampler.hyperparameters import LIMITS, Hyperparameters
from sampler.lbpl_ntm.concentrations import resample_alpha, resample_gamma
from tests.sampler import exact, harness

N_DRAWS = 10_000  # about 10 microseconds each for gamma, 40 for alpha
PAPER = Hyperparameters()
MODERATE = Hyperparameters(alpha_shape=2, alpha_scale=0.5, gamma_shape=2, gamma_scale=0.5)
LEVELS = np.arange(0.1, 1.0, 0.1)


def deciles(prior: exact.Prior, factor: Callable[[float], float]) -> Array:
    """The deciles of a density proportional to the prior's times the factor, by the trapezoidal rule in log x."""
    low, high = scipy.stats.gamma.ppf([1e-13, 1 - 1e-13], prior.shape, scale=prior.scale)
    log_x = np.linspace(np.log(low) - 2, np.log(high) + 2, 40_001)
    x = np.exp(log_x)
    log_density = scipy.stats.gamma.logpdf(x, prior.shape, scale=prior.scale) + np.log([factor(v) for v in x]) + log_x
    density = np.exp(log_density - log_density.max())
    below = scipy.integrate.cumulative_trapezoid(density, log_x, initial=0.0)
    return np.exp(np.interp(LEVELS, below / below[-1], log_x))


def assert_invariant(step: Callable[[float], float], start: float, expected: Array) -> None:
    """A long run of the step spends its time below each exact decile as it should.

    The deciles make ten equally likely classes; batch means of "below decile j" carry the autocorrelation.
    """
    draws, value = np.empty(N_DRAWS), start
    for j in range(N_DRAWS):
        value = step(value)
        draws[j] = value
    t = harness.t_scores(harness.batch_means(draws[:, None] < expected), LEVELS)
    assert np.abs(t).max() < harness.t_limit(LEVELS.size), f"t of the deciles: {np.round(t, 1)}"


@pytest.mark.parametrize("hyperparameters", [PAPER, MODERATE], ids=["paper", "moderate"])
@pytest.mark.parametrize(("n_tables", "lengths"), [(0, ()), (1, (1,)), (5, (3, 5, 1)), (3, (3, 50, 1)), (9, (4, 5))])
def test_alphas_step_leaves_its_exact_posterior_invariant(
    n_tables: int, lengths: tuple[int, ...], hyperparameters: Hyperparameters
) -> None:
    rng = np.random.default_rng(21)
    expected = deciles(
        exact.Prior(hyperparameters.alpha_shape, hyperparameters.alpha_scale),
        lambda alpha: exact.seating_factor(alpha, n_tables, lengths),
    )
    sizes = np.array(lengths, np.int64)
    assert_invariant(lambda a: resample_alpha(a, n_tables, sizes, hyperparameters, rng), 0.5, expected)


@pytest.mark.parametrize("hyperparameters", [PAPER, MODERATE], ids=["paper", "moderate"])
@pytest.mark.parametrize(("n_categories", "n_tables"), [(1, 1), (3, 7), (7, 7), (2, 100)])
def test_gammas_step_leaves_its_exact_posterior_invariant(
    n_categories: int, n_tables: int, hyperparameters: Hyperparameters
) -> None:
    rng = np.random.default_rng(22)
    # the factor is divided by what it is at gamma = 1: powers of small numbers underflow
    at_one = exact.serving_factor(1.0, n_categories, n_tables)
    expected = deciles(
        exact.Prior(hyperparameters.gamma_shape, hyperparameters.gamma_scale),
        lambda gamma: exact.serving_factor(gamma, n_categories, n_tables) / at_one,
    )
    assert_invariant(lambda g: resample_gamma(g, n_categories, n_tables, hyperparameters, rng), 0.5, expected)


def test_concentrations_stay_positive_for_the_smallest_shapes_that_the_limits_allow() -> None:
    """Zero is absorbing for alpha, and log_joint takes the logarithm of both: the chain would end in a ValueError."""
    hyperparameters = Hyperparameters(alpha_shape=LIMITS["alpha_shape"][0], gamma_shape=LIMITS["gamma_shape"][0])
    rng = np.random.default_rng(23)
    for _ in range(2_000):
        assert resample_alpha(0.5, 2, np.array([5_000, 5_000]), hyperparameters, rng) > 0.0
        assert resample_gamma(0.5, 1, 5, hyperparameters, rng) > 0.0
