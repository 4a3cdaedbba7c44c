"""Resample the concentrations alpha and gamma by auxiliary variables.

Teh, Jordan, Beal and Blei 2006, appendix A, for alpha; Escobar and West 1995, section 6, for gamma.
"""

import numpy as np

from sampler.corpus import Array
from sampler.hyperparameters import Hyperparameters


def resample_alpha(
    alpha: float, n_tables: int, lengths: Array, hyperparameters: Hyperparameters, rng: np.random.Generator
) -> float:
    """A draw of alpha given the tables of the unlabeled documents.

    `n_tables` counts the tables of all unlabeled documents together, `lengths` int64[D_u] holds the
    tokens of those that have any. Without one, this is a draw from the prior.
    """
    log_fractions = np.log(rng.beta(alpha + 1.0, lengths)).sum()
    successes = rng.binomial(1, lengths / (lengths + alpha)).sum()
    shape = hyperparameters.alpha_shape + n_tables - successes
    return float(rng.gamma(shape, 1.0 / (1.0 / hyperparameters.alpha_scale - log_fractions)))


def resample_gamma(
    gamma: float, n_categories: int, n_tables: int, hyperparameters: Hyperparameters, rng: np.random.Generator
) -> float:
    """A draw of gamma given the number of categories (at least one) and of all tables, labeled ones too."""
    rate = 1.0 / hyperparameters.gamma_scale - np.log(rng.beta(gamma + 1.0, n_tables))
    shape = hyperparameters.gamma_shape + n_categories
    odds = (shape - 1.0) / (n_tables * rate)
    is_larger = rng.random() * (1.0 + odds) < odds
    return float(rng.gamma(shape if is_larger else shape - 1.0, 1.0 / rate))
