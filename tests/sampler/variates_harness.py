"""Laws, levels and addresses that the tests of variates share."""

import math
from collections.abc import Callable

import numpy as np
import scipy.stats
from numba import njit

from sampler.numerics.streams import Step, stream

LEVEL = 1e-4  # of each test of a law, were the seeds not fixed; shared evenly by the comparisons within it
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
