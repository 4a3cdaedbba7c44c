"""Mean-field inference for the weights of a Dirichlet process, truncated to T sticks (Blei and Jordan 2006).

q(v_t) = Beta(1 + N_t, gamma + sum of N_s for s > t), and log pi_t = log v_t + sum of log(1 - v_s) for s < t. As in
scikit-learn, the last stick is broken too, so a little weight is left to no group.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import betaln, digamma

from sampler.corpus import Array


class Sticks(NamedTuple):
    """The beta distributions of T sticks."""

    broken: Array  # float64[T], first parameter
    left: Array  # float64[T], second parameter


def sticks_of(sizes: Array, concentration: float) -> Sticks:
    """The distributions of the sticks when the groups have these expected sizes float64[T]."""
    after = np.cumsum(sizes[::-1])[::-1] - sizes
    return Sticks(1.0 + sizes, concentration + after)


def expected_log_weights(sticks: Sticks) -> Array:
    """float64[T]: the mean of log pi."""
    both = digamma(sticks.broken + sticks.left)
    log_left = digamma(sticks.left) - both
    return np.asarray(digamma(sticks.broken) - both + np.cumsum(log_left) - log_left)


def stick_divergence(sticks: Sticks, concentration: float) -> float:
    """The Kullback-Leibler divergence of the sticks from Beta(1, gamma)."""
    more, after = sticks.broken - 1.0, sticks.left - concentration
    of_norms = betaln(1.0, concentration) - betaln(sticks.broken, sticks.left)
    of_means = more * digamma(sticks.broken) + after * digamma(sticks.left)
    return float((of_norms + of_means - (more + after) * digamma(sticks.broken + sticks.left)).sum())
