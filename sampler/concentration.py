"""Resample the concentrations alpha and gamma by auxiliary variables.

Teh, Jordan, Beal and Blei 2006, appendix A, for alpha; Escobar and West 1995, section 6, for gamma.
"""

import math

import numpy as np
from numba import njit

from sampler.corpus import Array
from sampler.draws import gamma as draw_gamma
from sampler.hyperparameters import Hyperparameters
from sampler.streams import uniform


def resample_alpha(
    alpha: float, n_tables: int, lengths: Array, hyperparameters: Hyperparameters, rng: np.random.Generator
) -> float:
    """A draw of alpha given the tables of the unlabeled documents.

    `n_tables` counts the tables of all unlabeled documents together, `lengths` int64[D_u] holds the
    tokens of those that have any. Without one, this is a draw from the prior.
    """
    key = rng.integers(2**64, dtype=np.uint64)
    log_fractions, successes = draw_auxiliaries(alpha, lengths, key)
    shape = hyperparameters.alpha_shape + n_tables - successes
    return float(rng.gamma(shape, 1.0 / (1.0 / hyperparameters.alpha_scale - log_fractions)))


@njit(cache=True, nogil=True)
def draw_auxiliaries(alpha, lengths, key):  # type: ignore[no-untyped-def]
    """The sum of log w_d, w_d ~ Beta(alpha + 1, n_d), and the sum of s_d ~ Bernoulli(n_d / (n_d + alpha))."""
    log_fractions, successes, position = 0.0, 0, 0
    for n in lengths:
        own, position = draw_gamma(alpha + 1.0, key, position)
        other, position = draw_gamma(np.float64(n), key, position)
        log_fractions += math.log(own / (own + other))
        successes += uniform(key, position) * (n + alpha) < n
        position += 1
    return log_fractions, successes


def resample_gamma(
    gamma: float, n_categories: int, n_tables: int, hyperparameters: Hyperparameters, rng: np.random.Generator
) -> float:
    """A draw of gamma given the number of categories (at least one) and of all tables, labeled ones too."""
    rate = 1.0 / hyperparameters.gamma_scale - np.log(rng.beta(gamma + 1.0, n_tables))
    shape = hyperparameters.gamma_shape + n_categories
    odds = (shape - 1.0) / (n_tables * rate)
    is_larger = rng.random() * (1.0 + odds) < odds
    return float(rng.gamma(shape if is_larger else shape - 1.0, 1.0 / rate))
