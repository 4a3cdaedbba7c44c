"""The concentrations of the model, and draws of alpha and gamma by auxiliary variables.

Teh, Jordan, Beal and Blei 2006, appendix A, for alpha; Escobar and West 1995, section 6, for gamma.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from sampler.corpus import Array
from sampler.hyperparameters import Hyperparameters
from sampler.numerics import variates
from sampler.numerics.streams import branch, uniform
from sampler.numerics.threads import Threads, take

N_DOCUMENT_BLOCKS = 64  # of documents: sums are made within a block, then over the blocks


class Concentrations(NamedTuple):
    """Of all Dirichlet distributions and Chinese restaurants of the model, as compiled code takes them."""

    alpha: float
    gamma: float
    zeta: float
    beta: float


def resample_alpha(
    alpha: float,
    n_tables: int,
    lengths: Array,
    hyperparameters: Hyperparameters,
    rng: np.random.Generator,
    threads: Threads | None = None,
) -> float:
    """A draw of alpha given the tables of the unlabeled documents.

    `n_tables` counts the tables of all unlabeled documents together, `lengths` int64[D_u] holds the
    tokens of those that have any. Without one, this is a draw from the prior.
    """
    threads, key = threads or Threads(), rng.integers(2**64, dtype=np.uint64)
    sums = np.zeros((N_DOCUMENT_BLOCKS, 2))
    pieces = threads.pieces(threads.cut(np.arange(N_DOCUMENT_BLOCKS + 1)))
    threads.run(lambda thread: draw_auxiliaries(alpha, lengths, key, pieces, sums))
    log_fractions, successes = sums.sum(axis=0)
    shape = hyperparameters.alpha_shape + n_tables - successes
    return float(rng.gamma(shape, 1.0 / (1.0 / hyperparameters.alpha_scale - log_fractions)))


@njit(cache=True, nogil=True)
def draw_auxiliaries(alpha, lengths, key, pieces, sums):  # type: ignore[no-untyped-def]
    """Sums of log w_d, w_d ~ Beta(alpha + 1, n_d), and of s_d ~ Bernoulli(n_d / (n_d + alpha)), for blocks.

    Writes rows of float64[N_DOCUMENT_BLOCKS, 2]: parts of the documents that do not depend on the threads.
    """
    first, end = take(pieces)
    while first < end:
        for block in range(first, end):
            log_fractions, successes = 0.0, 0
            for d in range(lengths.size * block // N_DOCUMENT_BLOCKS, lengths.size * (block + 1) // N_DOCUMENT_BLOCKS):
                n, document_key = lengths[d], branch(key, d)
                own, position = variates.gamma(alpha + 1.0, document_key, 0)
                other, position = variates.gamma(np.float64(n), document_key, position)
                log_fractions += math.log(own / (own + other))
                successes += uniform(document_key, position) * (n + alpha) < n
            sums[block, 0], sums[block, 1] = log_fractions, successes
        first, end = take(pieces)


def resample_gamma(
    gamma: float, n_categories: int, n_tables: int, hyperparameters: Hyperparameters, rng: np.random.Generator
) -> float:
    """A draw of gamma given the number of categories (at least one) and of all tables, labeled ones too."""
    rate = 1.0 / hyperparameters.gamma_scale - np.log(rng.beta(gamma + 1.0, n_tables))
    shape = hyperparameters.gamma_shape + n_categories
    odds = (shape - 1.0) / (n_tables * rate)
    is_larger = rng.random() * (1.0 + odds) < odds
    return float(rng.gamma(shape if is_larger else shape - 1.0, 1.0 / rate))
