"""What vectors say of groups, against Bessel functions; and vectors as columns of regressions, against plain tables."""

import numpy as np
import pytest
from scipy.special import gammaln, ive

from sampler.calibrated.bags import Rows
from sampler.calibrated.directions import MOST, Columns, as_rows, directions, evidence, gain_of_roots, no_directions
from sampler.corpus import Array


def exact(x: float, nu: float) -> float:
    """The log of 0F1(; nu + 1; x^2 / 4), which E stands for."""
    return float(np.log(ive(nu, x)) + x - nu * np.log(x / 2) + gammaln(nu + 1))


@pytest.mark.parametrize("n_axes", [4, 6, 16, 32, 64])
def test_the_evidence_is_that_of_von_mises_and_fisher(n_axes: int) -> None:
    """The expansion leaves out terms of 1 / nu: that of the Bessel function is at most 1 / 12, as is Stirling's."""
    nu = n_axes / 2 - 1
    assert evidence(0.0, 1.0, nu) == 0.0
    for kappa in (0.2 * nu, nu, MOST * nu):
        for length in (0.5, 1.0, 2.0, 5.0, 20.0, 100.0, 1000.0):
            assert abs(evidence(length**2, kappa, nu) - exact(kappa * length, nu)) <= 1 / (6 * nu)


@pytest.mark.parametrize("n_axes", [4, 5, 16, 64])
def test_the_gain_of_a_document_is_the_difference_of_two_evidences(n_axes: int) -> None:
    nu = n_axes / 2 - 1
    for kappa in (0.1 * nu, nu, MOST * nu):
        factor = (kappa / nu) ** 2
        for before in (0.0, 1.0, 2.0, 30.0, 1e5):
            for cosine in np.linspace(-1, 1, 9):
                after = before + 2 * cosine * np.sqrt(before) + 1
                roots = np.sqrt(1 + factor * np.array([before, after]))
                expected = evidence(after, kappa, nu) - evidence(before, kappa, nu)
                assert gain_of_roots(*roots, nu) == pytest.approx(expected, abs=1e-6)


def test_settings_of_words_know_no_vector_and_no_kappa_is_too_large() -> None:
    places = np.eye(4, dtype=np.float32)
    assert directions(places, False, 0.4).places.shape == (4, 0)
    assert directions(places, True, 4.0).kappa == 2.0
    assert directions(places, True, 0.1).kappa == MOST
    assert no_directions(3).roots(np.zeros((2, 0))).tolist() == [1.0, 1.0]


def table(rows: Rows) -> Array:
    """Sparse rows as a matrix."""
    matrix = np.zeros((rows.offsets.size - 1, rows.n_columns), np.float32)
    matrix[np.repeat(np.arange(len(matrix)), np.diff(rows.offsets)), rows.columns] = rows.values
    return matrix


def test_vectors_are_columns_behind_those_of_words() -> None:
    words = Rows(np.array([0, 2, 2, 3]), np.array([0, 2, 1], np.int32), np.array([1, 2, 3], np.float32), 3)
    places = np.array([[0.6, 0.8], [0.0, 1.0], [0.0, 0.0]], np.float32)
    found = Columns(places, 0.5).beside(words)
    np.testing.assert_array_equal(table(found), np.hstack([table(words), places * np.float32(0.5)]))
    assert found.offsets.tolist() == [0, 4, 6, 7], "a document without a vector has no column more"
    assert Columns(places, 0.0).beside(words) is words
    np.testing.assert_array_equal(table(as_rows(places)), places)
