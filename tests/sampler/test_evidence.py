"""Log probabilities of counts against scipy's log-gamma, term by term."""

import numpy as np
import pytest
from scipy.special import gammaln

from sampler.lbpl_ntm.evidence import SMALL, log_dirichlet_multinomial, log_factorials, log_rising, log_topics


@pytest.mark.parametrize("beta", [1e-6, 0.01, 1.0, 300.0])
@pytest.mark.parametrize("largest", [1, 30, SMALL, SMALL + 1, 50_000])
def test_the_log_probability_of_words_is_the_sum_of_its_log_gammas(beta: float, largest: int) -> None:
    """Sparse counts on both sides of the table's end; rows without a zero, and without anything else."""
    rng = np.random.default_rng(31)
    counts = (rng.integers(0, largest + 1, (50, 7)) * (rng.random((50, 7)) < 0.3)).astype(np.int32)
    counts[3], counts[4], counts[5, 0], counts[49, 6] = 0, rng.integers(1, largest + 1, 7), largest, largest
    totals = counts.sum(axis=0, dtype=np.int64)
    expected = (gammaln(beta + counts) - gammaln(beta)).sum() + (gammaln(50 * beta) - gammaln(50 * beta + totals)).sum()
    assert log_topics(counts, totals, beta) == pytest.approx(expected, rel=1e-10)
    columns = np.ascontiguousarray(counts.T)
    assert log_dirichlet_multinomial(columns, beta) == pytest.approx(expected, rel=1e-10)


def test_no_words_have_probability_one() -> None:
    assert log_topics(np.zeros((4, 3), np.int32), np.zeros(3, np.int64), 0.01) == 0.0


def test_rising_products_and_factorials_are_those_of_small_numbers() -> None:
    assert log_rising(0.5, np.array([0, 1, 3])) == pytest.approx(np.log(0.5) + np.log(0.5 * 1.5 * 2.5))
    assert log_factorials(np.array([0, 1, 2, 5])) == pytest.approx(np.log(24))
