"""Principal components of sparse rows."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.decomposition import PCA

from baselines.principal_components import principal_components, with_unit_length
from sampler.corpus import Array
from sampler.numerics.threads import Interrupted, Threads


def sparse_rows(n: int, n_columns: int, n_directions: int) -> Array:
    """Rows with many zeros, most of whose variance is in a few directions."""
    random = np.random.default_rng(3)
    rows = random.normal(size=(n, n_directions)) ** 2 @ random.normal(size=(n_directions, n_columns)) * 5.0
    return (rows + random.normal(size=rows.shape) * 0.1) * (random.random((n, n_columns)) < 0.7)


@pytest.mark.parametrize(("n", "n_columns"), [(40, 25), (25, 40)])
def test_they_are_those_of_scikit_learn_up_to_signs(n: int, n_columns: int) -> None:
    rows = sparse_rows(n, n_columns, 4)
    found = principal_components(csr_array(rows), 30, np.random.default_rng(0), Threads())
    expected = PCA(min(30, n, n_columns), svd_solver="full").fit_transform(rows)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-9)


def test_a_few_of_many_keep_the_distances_in_the_directions_of_most_variance() -> None:
    rows = sparse_rows(300, 200, 3)
    found = principal_components(csr_array(rows), 3, np.random.default_rng(0), Threads())
    expected = PCA(3, svd_solver="full").fit_transform(rows)
    difference = np.abs(found @ found.T - expected @ expected.T).max()
    assert difference < 1e-5 * (expected**2).sum(axis=1).max()


def test_no_rows_have_no_components() -> None:
    assert principal_components(csr_array((0, 5)), 3, np.random.default_rng(0), Threads()).shape == (0, 0)


def test_they_are_given_up_when_the_flag_is_raised() -> None:
    with pytest.raises(Interrupted):
        principal_components(csr_array(np.eye(4)), 2, np.random.default_rng(0), Threads(stop=np.ones(1, np.int64)))


def test_rows_get_unit_length_unless_they_are_zero() -> None:
    np.testing.assert_allclose(with_unit_length(np.array([[3.0, 4.0], [0.0, 0.0]])), [[0.6, 0.8], [0.0, 0.0]])
