"""The regression against scikit-learn, a test-only dependency, and its loss against scipy."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression

from sampler.calibrated.bags import Rows
from sampler.calibrated.logistic_loss import Examples, loss
from sampler.calibrated.logistic_regression import (
    RegressionTask,
    cross_fit,
    folds,
    no_weights,
    penalties,
    with_indicators,
)
from sampler.corpus import Array
from sampler.numerics.threads import Threads, lowered

N_DOCUMENTS, N_COLUMNS, N_TARGETS = 150, 30, 3
TARGETS = [N_TARGETS, 32, 37]  # less than one width of lanes, just one, and more
FLOAT32 = 1e-4  # relative, of sums of some hundred float32 terms


def random_rows(n_documents: int = N_DOCUMENTS) -> Rows:
    """Rows of up to 10 entries with values within 0 and 1; the second one is empty."""
    rng = np.random.default_rng(51)
    lengths = rng.integers(1, 11, n_documents)
    lengths[1] = 0
    columns = [np.sort(rng.permutation(N_COLUMNS)[:n]) for n in lengths]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Rows(offsets, np.concatenate(columns).astype(np.int32), rng.random(offsets[-1], np.float32), N_COLUMNS)


def dense(rows: Rows) -> Array:
    """float64[D, n_columns]: the rows as a matrix."""
    matrix = np.zeros((rows.offsets.size - 1, rows.n_columns))
    matrix[np.repeat(np.arange(matrix.shape[0]), np.diff(rows.offsets)), rows.columns] = rows.values
    return matrix


def random_targets(rows: Rows, seed: int = 52, n_targets: int = N_TARGETS) -> Array:
    """int64[D]: targets that the rows tell, not surely; each occurs."""
    rng = np.random.default_rng(seed)
    scores = 3.0 * dense(rows) @ rng.normal(size=(rows.n_columns, n_targets))
    target: Array = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    target[:n_targets] = np.arange(n_targets)
    return target


def objective(weights: Array, matrix: Array, target: Array, given: Array) -> float:
    """What is to be minimized, in float64; weights [(n_columns + 1) T], the intercepts last."""
    parts = weights.reshape(matrix.shape[1] + 1, -1)
    log_p = log_softmax(matrix @ parts[:-1] + parts[-1], axis=1)
    own = log_p[np.arange(target.size), target]
    return float(-(given[target] * own).sum() + 0.5 * (parts[:-1] ** 2).sum())


def each(target: Array, penalty: float, balance: float, n_targets: int) -> Array:
    """float64[T]: C of each target, by its definition in words."""
    sizes = [max(int((target == t).sum()), 1) for t in range(n_targets)]
    share = np.array([1.0 / size**balance for size in sizes])
    return penalty * share / np.mean([share[t] for t in target])


def optimum(matrix: Array, target: Array, given: Array) -> Array:
    """The weights float64[n_columns + 1, T] of scikit-learn."""
    model = LogisticRegression(tol=1e-8, max_iter=10_000).fit(matrix, target, sample_weight=given[target])
    return np.concatenate([model.coef_.T, model.intercept_[None, :]])


def chances_of(weights: Array, matrix: Array) -> Array:
    """float64[D, T]: the softmax of the scores under weights [n_columns + 1, T]."""
    return np.asarray(softmax(matrix @ weights[:-1] + weights[-1], axis=1))


@pytest.mark.parametrize("n_targets", TARGETS)
@pytest.mark.parametrize(("penalty", "balance"), [(0.3, 0.0), (10.0, 0.0), (10.0, 0.5), (1.0, 1.0)])
def test_the_loss_and_its_gradient_are_those_of_finite_differences(
    penalty: float, balance: float, n_targets: int
) -> None:
    rows = random_rows()
    target, documents = random_targets(rows, n_targets=n_targets), np.arange(1, N_DOCUMENTS, 2)
    weights = no_weights(rows, n_targets, 1)[0]
    some = np.random.default_rng(53).normal(size=(N_COLUMNS + 1, n_targets))
    weights[:, :n_targets] = some
    gradient = np.empty_like(weights)
    told = target[documents]
    given = penalties(told, n_targets, penalty, balance)
    value = loss(rows, Examples(documents, told, given), weights, gradient, lowered())
    given = (dense(rows)[documents], told, each(told, penalty, balance, n_targets))
    assert value == pytest.approx(objective(some.ravel(), *given), rel=FLOAT32)
    # Forward differences with a step of 1e-6 err by 5e-7 of the curvature, which is below 10 x 75 documents.
    expected = approx_fprime(some.ravel(), objective, 1e-6, *given)
    np.testing.assert_allclose(gradient[:, :n_targets].ravel(), expected, atol=2e-3 * max(penalty, 1.0))
    assert np.abs(expected).max() > 1.0
    np.testing.assert_array_equal(gradient[:, n_targets:], 0.0)


@pytest.mark.parametrize("n_targets", TARGETS)
@pytest.mark.parametrize(("penalty", "balance"), [(0.01, 0.0), (0.3, 0.0), (10.0, 0.0), (10.0, 0.5), (1.0, 1.0)])
def test_a_fit_is_the_optimum_of_scikit_learn(penalty: float, balance: float, n_targets: int) -> None:
    """Never below the lowest loss that there is, and less than a hundredth above it.

    A fit stops when an iteration gains 3e-4 of the loss; with what such iterations would still gain it may be a few
    times as far away.
    """
    rows = random_rows()
    target, matrix = random_targets(rows, n_targets=n_targets), dense(rows)
    # Of two folds none is in the first: its fit learns from all documents and judges none.
    weights, fold = no_weights(rows, n_targets, 2), np.ones(N_DOCUMENTS, np.int64)
    with Threads() as threads:
        cross_fit(rows, RegressionTask(target, n_targets, fold == 1, penalty, balance), fold, weights, threads)
    given = each(target, penalty, balance, n_targets)
    fit, best = weights[0, :, :n_targets].astype(float), optimum(matrix, target, given)
    lowest, reached = (objective(w.ravel(), matrix, target, given) for w in (best, fit))
    assert lowest * (1 - 1e-6) <= reached <= lowest * 1.01
    # Where the gradient is 0 the loss exceeds its minimum by at least half the squared distance of the weights.
    assert 0.5 * ((fit[:-1] - best[:-1]) ** 2).sum() <= reached - lowest + FLOAT32 * lowest
    np.testing.assert_allclose(chances_of(fit, matrix), chances_of(best, matrix), atol=0.05)
    np.testing.assert_array_equal(weights[:, :, n_targets:], 0.0)


def fitted(rows: Rows, target: Array, trained: Array, fold: Array, threads: Threads, balance: float = 0.5) -> Array:
    """float32[D, T]: cross-fitted from no weights, with C = 1."""
    weights = no_weights(rows, N_TARGETS, int(fold.max()) + 1)
    return cross_fit(rows, RegressionTask(target, N_TARGETS, trained, 1.0, balance), fold, weights, threads)


def test_each_document_is_judged_by_the_fit_without_its_fold() -> None:
    rows = random_rows()
    target, fold = random_targets(rows), folds(N_DOCUMENTS, 3, 1, 0)
    trained = np.random.default_rng(54).random(N_DOCUMENTS) < 0.8
    with Threads() as threads:
        found = fitted(rows, target, trained, fold, threads)
    for f in range(3):
        learned, judged = np.flatnonzero(trained & (fold != f)), np.flatnonzero(fold == f)
        given = each(target[learned], 1.0, 0.5, N_TARGETS)
        expected = chances_of(optimum(dense(rows)[learned], target[learned], given), dense(rows)[judged])
        np.testing.assert_allclose(found[judged], expected, atol=0.05)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=FLOAT32)


def test_no_target_touches_the_probabilities_of_its_own_document() -> None:
    """Nor in a second round that begins at the weights of the first."""
    rows = random_rows()
    target, fold = random_targets(rows), folds(N_DOCUMENTS, 5, 1, 0)
    trained = np.ones(N_DOCUMENTS, bool)
    with Threads() as threads:

        def twice(given: Array) -> tuple[Array, Array]:
            weights = no_weights(rows, N_TARGETS, 5)
            task = RegressionTask(given, N_TARGETS, trained, 10.0, 0.5)
            first, second = (cross_fit(rows, task, fold, weights, threads) for _ in range(2))
            return first, second

        before = twice(target)
        for d in (0, 1, 77, 149):
            changed = target.copy()
            changed[d] = (changed[d] + 1) % N_TARGETS
            for old, new in zip(before, twice(changed), strict=True):
                same_fold = fold == fold[d]
                np.testing.assert_array_equal(new[same_fold], old[same_fold])
                assert (new[~same_fold] != old[~same_fold]).any()


def test_targets_of_documents_that_are_not_learned_from_are_never_read() -> None:
    rows = random_rows()
    target, fold = random_targets(rows), folds(N_DOCUMENTS, 4, 2, 0)
    trained = np.arange(N_DOCUMENTS) % 3 > 0
    with Threads() as threads:
        expected = fitted(rows, target, trained, fold, threads)
        found = fitted(rows, np.where(trained, target, -1), trained, fold, threads)
    np.testing.assert_array_equal(found, expected)


def test_a_fit_that_goes_on_from_weights_comes_to_the_same_optimum() -> None:
    rows = random_rows()
    target, fold = random_targets(rows), folds(N_DOCUMENTS, 3, 3, 0)
    trained, weights = np.ones(N_DOCUMENTS, bool), no_weights(rows, N_TARGETS, 3)
    with Threads() as threads:
        for given in (random_targets(rows, seed=55), target):
            found = cross_fit(rows, RegressionTask(given, N_TARGETS, trained, 1.0, 0.5), fold, weights, threads)
        expected = fitted(rows, target, trained, fold, threads)
    np.testing.assert_allclose(found, expected, atol=0.05)


def test_any_number_of_threads_gives_the_same_bytes() -> None:
    rows = random_rows()
    target, fold, trained = random_targets(rows), folds(N_DOCUMENTS, 5, 4, 0), np.ones(N_DOCUMENTS, bool)
    found = []
    for n_threads in (1, 2, 5):
        with Threads(n_threads) as threads:
            found.append(fitted(rows, target, trained, fold, threads).tobytes())
    assert found[0] == found[1] == found[2]


def test_folds_part_the_documents_evenly_and_by_their_address_alone() -> None:
    for n_documents in (1, 4, 5, 103):
        sizes = np.bincount(folds(n_documents, 5, 6, 1), minlength=5)
        assert sizes.sum() == n_documents and sizes.max() - sizes.min() <= 1 and sizes.size == 5
    np.testing.assert_array_equal(folds(50, 5, 6, 1), folds(50, 5, 6, 1))
    assert (folds(50, 5, 6, 1) != folds(50, 5, 6, 0)).any() and (folds(50, 5, 6, 1) != folds(50, 5, 7, 1)).any()


def test_a_fit_without_documents_tells_nothing() -> None:
    """Of two documents one is held back by each fold, and the rest may be one that nobody learns from."""
    rows = random_rows(2)
    with Threads() as threads:
        found = fitted(rows, np.array([0, 1]), np.zeros(2, bool), np.array([0, 1]), threads)
    np.testing.assert_allclose(found, 1.0 / N_TARGETS, rtol=1e-6)


def test_indicators_add_columns_of_their_own() -> None:
    rows, rng = random_rows(), np.random.default_rng(56)
    first, second = rng.integers(0, 4, N_DOCUMENTS), rng.integers(0, 7, N_DOCUMENTS)
    found = with_indicators(rows, [first, second], np.full(len(first), 0.25))
    one_hot = [(part[:, None] == np.arange(n)) * 0.25 for part, n in ((first, 4), (second, 7))]
    np.testing.assert_array_equal(dense(found), np.concatenate([dense(rows), *one_hot], axis=1))
    assert found.n_columns == N_COLUMNS + 11
    for name in ("offsets", "columns", "values"):
        assert getattr(found, name).dtype == getattr(rows, name).dtype
    np.testing.assert_array_equal(dense(with_indicators(rows, [], np.ones(rows.offsets.size - 1))), dense(rows))


def test_indicators_behind_many_words_keep_their_columns() -> None:
    """Atoms are uint16; a vocabulary with them may have more columns than these tell apart."""
    n_words = 65_530
    rows = Rows(np.array([0, 1, 2], np.int64), np.array([3, n_words - 1], np.int32), np.ones(2, np.float32), n_words)
    found = with_indicators(rows, [np.array([9, 0], np.uint16), np.array([0, 2], np.uint16)], np.array([0.5, 0.5]))
    assert found.columns.tolist() == [3, n_words + 9, n_words + 10, n_words - 1, n_words, n_words + 12]
    assert found.n_columns == n_words + 13
