"""Serendipitous learning: its convex problem against other solvers, its objective by brute force, and known answers."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.svm import LinearSVC

from baselines import method
from baselines.method import Given, MethodState
from baselines.multiclass_margin import MarginProblem, MarginSolution, descend, losses, solution_of, standing
from baselines.settings import SL_LIMITS, SlSettings
from baselines.sl import Sl, Stage
from sampler.corpus import NO_CATEGORY, UNLABELED, Array, Corpus
from sampler.numerics.threads import Interrupted, Threads
from tests.baselines.grouped import grouped, is_same_partition


def given(corpus: Corpus, n_categories: int, threads: Threads | None = None) -> Given:
    return Given(corpus, n_categories, 5, threads or Threads())


def settled(sl: Sl, chain: int = 0) -> MethodState:
    state = sl.start(chain)
    for _ in range(2000):
        method.advance(sl, state)
        if state.is_settled:
            return state
    raise AssertionError("the run did not settle")


def problem_of(n: int, n_categories: int, n_known: int, bound: float) -> MarginProblem:
    random = np.random.default_rng(1)
    target = (np.arange(n) % n_categories).astype(np.int32)
    rows = random.normal(size=(n, 3)) + np.eye(3)[target % 3]
    return MarginProblem(rows, target, random.uniform(0.1, 0.5, n), rows.sum(axis=0), bound, n_known)


def solved(problem: MarginProblem, n_categories: int) -> MarginSolution:
    n_new = n_categories - problem.n_known
    solution = solution_of(problem, np.zeros((problem.target.size, n_categories)), np.zeros((n_new, n_new)))
    for _ in range(20_000):
        descend(problem, solution, np.arange(problem.target.size))
    return solution


def test_the_convex_problem_without_balance_is_that_of_crammer_and_singer() -> None:
    problem = problem_of(40, 4, 4, 0.0)._replace(cost=np.full(40, 0.3))
    solution = solved(problem, 4)
    machine = LinearSVC(multi_class="crammer_singer", C=0.3, fit_intercept=False, tol=1e-8, max_iter=100_000)
    np.testing.assert_allclose(solution.weights.T, machine.fit(problem.rows, problem.target).coef_, atol=1e-4)


def test_the_convex_problem_under_balance_is_solved_as_a_general_solver_does() -> None:
    problem, n_categories = problem_of(9, 3, 1, 0.05), 3

    def constraints(x: Array) -> Array:
        weights, slack = x[:9].reshape(3, 3), x[9:]
        scores = problem.rows @ weights
        margins = scores[np.arange(9), problem.target][:, None] - scores + slack[:, None] - 1.0
        margins[np.arange(9), problem.target] = slack
        difference = problem.total @ (weights[:, 1] - weights[:, 2])
        return np.concatenate([margins.ravel(), [0.05 - difference, 0.05 + difference]])

    found = minimize(
        lambda x: 0.5 * (x[:9] ** 2).sum() + problem.cost @ x[9:], np.concatenate([np.zeros(9), np.full(9, 5.0)]),
        constraints={"type": "ineq", "fun": constraints}, method="SLSQP", options={"maxiter": 500, "ftol": 1e-12},
    )  # fmt: skip
    assert found.success
    solution = solved(problem, n_categories)
    reached = standing(problem, solution)
    assert solution.multiplier.max() > 1e-3  # balance does matter here
    assert reached.primal == pytest.approx(found.fun, rel=1e-6)
    assert reached.gap == pytest.approx(0.0, abs=1e-8)
    assert reached.excess <= 1e-8
    np.testing.assert_allclose(solution.weights, found.x[:9].reshape(3, 3), atol=1e-4)


def test_the_duality_gap_bounds_how_far_a_solution_is_from_the_best() -> None:
    problem = problem_of(30, 3, 3, 0.0)
    best = standing(problem, solved(problem, 3)).primal
    solution = solution_of(problem, np.zeros((30, 3)), np.zeros((0, 0)))
    for _ in range(20):
        descend(problem, solution, np.arange(30))
        reached = standing(problem, solution)
        assert -1e-9 <= reached.primal - best <= reached.gap + 1e-9


def test_without_new_categories_and_unlabeled_weight_it_is_a_crammer_singer_machine() -> None:
    corpus, _ = grouped([20, 20, 20], 3, 8)
    sl = Sl(given(corpus, 3), SlSettings(labeled_weight=20.0, unlabeled_weight=0.0, gap_tolerance=1e-6))
    state = settled(sl)
    labeled = sl.labels != UNLABELED
    machine = LinearSVC(multi_class="crammer_singer", C=20.0 / 24, fit_intercept=False, tol=1e-6, max_iter=100_000)
    machine.fit(sl.rows[labeled], sl.labels[labeled])
    np.testing.assert_array_equal(state.category[sl.documents][~labeled], machine.predict(sl.rows[~labeled]))


def test_an_unlabeled_group_becomes_a_new_category() -> None:
    corpus, group = grouped([25, 25, 30], 2, 8)
    state = settled(Sl(given(corpus, 3), SlSettings(n_restarts=2)))
    np.testing.assert_array_equal(state.category[:-1], group)


def test_without_labels_it_separates_three_groups() -> None:
    corpus, group = grouped([20, 25, 30], 0, 0)
    state = settled(Sl(given(corpus, 3), SlSettings(n_restarts=3)))
    assert is_same_partition(state.category[:-1], group)


def test_labeled_documents_keep_their_label_and_those_without_a_word_have_no_category() -> None:
    corpus, _ = grouped([10, 10, 10], 2, 4)
    labels = corpus.labels.copy()
    labels[0], labels[10] = 1, 0  # which their words speak against
    sl = Sl(given(corpus._replace(labels=labels), 3), SlSettings(n_restarts=1))
    for state in (sl.start(0), settled(sl)):
        np.testing.assert_array_equal(state.category[labels != UNLABELED], labels[labels != UNLABELED])
        assert state.category[-1] == NO_CATEGORY


def objective(sl: Sl, weights: Array) -> float:
    """J, document by document."""
    labeled, unlabeled = [], []
    for x, label in zip(sl.rows, sl.labels, strict=True):
        scores = (x @ weights).tolist()
        if label == UNLABELED:
            second, first = sorted(scores)[-2:]
            unlabeled.append(max(0.0, 1.0 - (first - second)))
        else:
            labeled.append(max(score - scores[label] + (m != label) for m, score in enumerate(scores)))
    settings = sl.settings
    return float(
        0.5 * (weights**2).sum()
        + settings.labeled_weight * np.mean(labeled)
        + settings.unlabeled_weight * np.mean(unlabeled)
    )


def solved_and_ended(sl: Sl, state: MethodState) -> float:
    """Solve the convex problem that the run is at and end its round; J of the weights, the long way."""
    problem = sl.problem(state)
    solution = solution_of(problem, state.own["alpha"], state.own["multiplier"])
    assert sl.solve(state, problem, solution, np.random.default_rng(0))
    expected = objective(sl, solution.weights)
    sl.ends_start(state, sl.rows @ solution.weights, solution)
    return expected


def test_the_objective_is_that_of_the_weights_and_no_round_raises_it() -> None:
    corpus, _ = grouped([15, 12, 14, 13], 2, 3)
    sl = Sl(given(corpus, 4), SlSettings(labeled_weight=50.0, gap_tolerance=1e-6, max_passes=5000))
    state = sl.start(0)
    assert state.objective == pytest.approx(-objective(sl, np.zeros((sl.rows.shape[1], 4))))
    method.advance(sl, state)
    assert state.own["place"][0] == Stage.START
    reached = [solved_and_ended(sl, state) for _ in range(5)]
    assert state.own["reached"][0] == pytest.approx(reached[-1], rel=1e-9)
    assert state.objective == pytest.approx(-min(reached), rel=1e-9)
    assert reached[1] < reached[0] - 0.01
    assert all(after <= before * (1 + 1e-6) for before, after in pairwise(reached))


def test_the_loss_of_the_winner_is_the_margin_to_the_second() -> None:
    scores = np.array([[2.0, 1.7, -1.0], [0.0, 0.1, 3.0], [0.5, 0.5, 0.5]])
    np.testing.assert_allclose(losses(scores, scores.argmax(axis=1)), [0.7, 0.0, 1.0])
    np.testing.assert_allclose(losses(scores, np.array([1, 2, 0])), [1.3, 0.0, 1.0])


def test_a_run_goes_on_from_its_bytes_as_if_it_had_never_stopped() -> None:
    corpus, _ = grouped([12, 12, 12, 12], 2, 4)
    sl, threads = Sl(given(corpus, 4), SlSettings(n_restarts=2)), Threads(3)
    with threads:
        whole, parts = sl.start(1), Sl(given(corpus, 4, threads), SlSettings(n_restarts=2)).start(1)
        while not whole.is_settled:
            method.advance(sl, whole)
            parts = method.load(corpus, method.dump(parts))
            method.advance(Sl(given(corpus, 4, threads), SlSettings(n_restarts=2)), parts)
            assert method.dump(whole) == method.dump(parts)


def test_new_categories_start_from_the_documents_that_are_least_known() -> None:
    corpus, group = grouped([15, 15, 10, 10], 2, 5)
    sl = Sl(given(corpus, 4), SlSettings(start_share=0.4))
    state = sl.start(0)
    while state.own["place"][0] == Stage.KNOWN:
        method.advance(sl, state)
    started = np.flatnonzero(state.own["target"] >= 2)
    others = np.setdiff1d(sl.unlabeled, started)
    assert started.size == 16  # of 40 unlabeled documents
    assert state.own["known_score"][started].max() <= state.own["known_score"][others].min()
    assert (state.own["target"][others] == NO_CATEGORY).all()
    assert (group[started] >= 2).mean() > 0.9


def test_chains_start_from_other_groups() -> None:
    corpus, _ = grouped([12, 12, 12, 12], 1, 4)
    sl = Sl(given(corpus, 4), SlSettings(n_restarts=1))
    targets = []
    for chain in range(6):
        state = sl.start(chain)
        while state.own["place"][0] == Stage.KNOWN:
            method.advance(sl, state)
        targets.append(state.own["target"].tolist())
    assert len({tuple(target) for target in targets}) > 1


@pytest.mark.parametrize("texts", ["none", "one"])
def test_a_corpus_with_fewer_documents_than_categories_settles(texts: str) -> None:
    n = {"none": 0, "one": 1}[texts]
    corpus = Corpus(np.zeros(n, np.int32), np.arange(n + 1), np.full(n, UNLABELED, np.int32), 1, 0)
    state = settled(Sl(given(corpus, 3), SlSettings()))
    assert state.category.size == n


def test_fewer_categories_than_known_ones_are_refused() -> None:
    corpus, _ = grouped([5, 5], 2, 2)
    with pytest.raises(ValueError, match="n_categories = 1 is below 2"):
        Sl(given(corpus, 1), SlSettings())


@pytest.mark.parametrize("name", list(SL_LIMITS))
def test_a_setting_outside_its_limits_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} = .* is not within"):
        SlSettings(**{name: SL_LIMITS[name][1] + 1})  # type: ignore[arg-type]


def test_a_raised_flag_ends_a_sweep() -> None:
    corpus, _ = grouped([8, 8], 1, 3)
    threads = Threads()
    sl = Sl(given(corpus, 2, threads), SlSettings())
    state = sl.start(0)
    threads.stop[0] = 1
    with pytest.raises(Interrupted):
        method.advance(sl, state)
