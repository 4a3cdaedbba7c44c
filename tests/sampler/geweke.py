"""What Geweke's tests of all kernels share: models and corpora, and the comparison of the two roads to a joint law."""

import numpy as np

from sampler.corpus import Array
from sampler.hyperparameters import Hyperparameters
from tests.sampler import harness

HYPERPARAMETERS = Hyperparameters(
    n_topics=3, gamma_shape=2, gamma_scale=0.5, alpha_shape=2, alpha_scale=0.5, zeta=0.6, beta=0.4, n_start=1
)
CORPORA = {
    "labeled documents": harness.corpus_of([[0] * 3, [0] * 4, [], [0] * 3, [0] * 2, [0]], [0, -1, -1, -1, 1, 0], 4, 2),
    "long documents": harness.corpus_of([[0] * 8, [0] * 8, [0] * 6, [0] * 6], [0, -1, -1, -1], 4, 1),
    "none labeled": harness.corpus_of([[0] * 4, [0] * 3, [0]], [-1, -1, -1], 4, 0),
    "longer documents": harness.corpus_of([[0] * 30, [0] * 25, [0] * 12], [-1, 0, -1], 6, 1),
}
N_SUCCESSIVE = 100_000  # sweeps; the first tenth is left out
N_MARGINAL = 40_000  # independent draws, about 200 microseconds each
N_BROKEN = 20_000  # sweeps that show the power of a test


def worst_z(straight: Array, walked: Array) -> tuple[float, float]:
    """The largest difference of means in standard errors, and what it stays below with probability 0.999.

    Functions of the state in columns, of independent draws and of successive sweeps. The error of the sweeps is that of
    their 50 batch means (of 72 sweeps or more, beyond a chain's memory); Student's t with 49 degrees of freedom is
    wider than the law of the quotient. Bonferroni over the functions.
    """
    batches = harness.batch_means(walked)
    error = np.sqrt(batches.var(axis=0, ddof=1) / len(batches) + straight.var(axis=0) / len(straight))
    difference = batches.mean(axis=0) - straight.mean(axis=0)
    moves = straight.std(axis=0) > 0  # without labels there are no words of known categories
    np.testing.assert_allclose(difference[~moves], 0.0)
    z = np.abs(difference[moves] / error[moves])
    return float(z.max()), harness.t_limit(z.size)
