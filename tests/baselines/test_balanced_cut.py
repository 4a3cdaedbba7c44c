"""Cutting a graph in two: the functional by brute force, the inner problem against a general solver, the descent."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize

from baselines.balanced_cut import Cut, Effort, Graph, descend, evaluate, onto_simplex, pull
from baselines.cosc_kernels import degrees, part_of
from baselines.penalty_path import PenaltyPath, next_penalty
from sampler.corpus import Array
from sampler.numerics.threads import Interrupted, Threads


def graph_from(weights: Array, rivals: list[int], volume: Array | None = None) -> Graph:
    n = len(weights)
    triangle = weights[np.triu_indices(n, 1)].astype(np.float32)
    degree = degrees(triangle, n)
    return Graph(triangle, degree, degree if volume is None else volume, np.array(rivals, np.int64))


def random_graph(n: int, rivals: list[int], seed: int = 0) -> Graph:
    random = np.random.default_rng(seed)
    weights = random.random((n, n)).round(3)
    return graph_from(weights + weights.T, rivals, random.uniform(1.0, 5.0, n))


def two_blobs(n_of_each: int = 12, rivals: tuple[int, ...] = ()) -> Graph:
    random = np.random.default_rng(4)
    blob = np.repeat([0, 1], n_of_each)
    weights = random.uniform(0.0, 0.3, (blob.size, blob.size)) + (blob[:, None] == blob)
    return graph_from(weights + weights.T, list(rivals))


def matrix(graph: Graph) -> Array:
    n = graph.degree.size
    full = np.zeros((n, n))
    full[np.triu_indices(n, 1)] = graph.triangle
    return full + full.T


def links(graph: Graph) -> Array:
    """Q, the matrix of cannot-links."""
    full = np.zeros((graph.degree.size,) * 2)
    full[np.ix_(graph.rivals, graph.rivals)] = 1.0
    np.fill_diagonal(full, 0.0)
    return full


def functional(graph: Graph, values: Array, gamma: float) -> float:
    """F of values, by its definition over all pairs."""
    difference = np.abs(values[:, None] - values[None, :])
    link = links(graph)
    above = (matrix(graph) - gamma * link) * difference
    balance = (graph.volume[:, None] * graph.volume * difference).sum() / graph.volume.sum()
    return float((above.sum() + gamma * link.sum() * np.ptp(values)) / balance)


def of_cut(graph: Graph, side: Array, gamma: float) -> float:
    """F of a side, by its definition over sets."""
    volume, total = graph.volume[side].sum(), graph.volume.sum()
    broken = sum(side[i] == side[j] for i, j in combinations(graph.rivals.tolist(), 2))
    return float((matrix(graph)[side][:, ~side].sum() + gamma * broken) * total / (volume * (total - volume)))


@pytest.mark.parametrize("gamma", [0.0, 0.7])
@pytest.mark.parametrize("decimals", [0, 3])
def test_the_ratio_and_the_best_threshold_are_those_of_the_definition(gamma: float, decimals: int) -> None:
    graph = random_graph(11, [1, 4, 7])
    for seed in range(5):
        values = np.random.default_rng(seed).normal(size=11).round(decimals)
        cut = evaluate(graph, values, gamma, Threads())
        assert cut.ratio == pytest.approx(functional(graph, values, gamma), rel=1e-6)
        of_thresholds = [of_cut(graph, values > level, gamma) for level in np.unique(values)[:-1]]
        assert cut.value == pytest.approx(min(of_thresholds), rel=1e-6)
        assert cut.value == pytest.approx(of_cut(graph, cut.side, gamma), rel=1e-6)
        assert cut.plain == pytest.approx(of_cut(graph, cut.side, 0.0), rel=1e-6)
        assert cut.cut == pytest.approx(matrix(graph)[cut.side][:, ~cut.side].sum(), rel=1e-6)
        assert cut.value <= cut.ratio * (1 + 1e-9)


def test_the_ratio_of_the_indicator_of_a_side_is_that_of_the_side() -> None:
    graph = random_graph(9, [0, 3])
    for seed in range(10):
        side = np.random.default_rng(seed).random(9) < 0.5
        cut = evaluate(graph, side.astype(float), 0.4, Threads())
        assert cut.ratio == cut.value == pytest.approx(of_cut(graph, side, 0.4), rel=1e-6)


def test_equal_values_have_no_threshold() -> None:
    cut = evaluate(random_graph(5, [0, 1]), np.ones(5), 0.0, Threads())
    assert (cut.value, cut.side.any(), cut.n_broken) == (np.inf, False, 1)


def test_the_pull_is_half_a_gradient_of_what_is_linearized() -> None:
    graph, values = random_graph(8, [2, 5, 6]), np.random.default_rng(2).normal(size=8)

    def linearized(f: Array) -> float:
        difference = np.abs(f[:, None] - f[None, :])
        balance = (graph.volume[:, None] * graph.volume * difference).sum() / graph.volume.sum()
        return float(0.5 * (0.3 * (links(graph) * difference).sum() + 1.7 * balance))

    gradient = [(linearized(values + 1e-6 * e) - linearized(values - 1e-6 * e)) / 2e-6 for e in np.eye(8)]
    np.testing.assert_allclose(pull(graph, values, 1.7, 0.3), gradient, atol=1e-6)


def test_the_pull_of_equal_values_does_not_depend_on_their_order() -> None:
    graph = random_graph(6, [])._replace(volume=np.ones(6))
    pulled = pull(graph, np.array([0.0, 1.0, 0.0, 1.0, 1.0, 0.0]), 1.0, 0.0)
    np.testing.assert_allclose(pulled, [-0.5, 0.5, -0.5, 0.5, 0.5, -0.5])


@pytest.mark.parametrize("gamma", [0.0, 0.5])
def test_the_inner_problem_is_solved_as_a_general_solver_does(gamma: float) -> None:
    graph = random_graph(5, [0, 2], seed=3)
    values = np.random.default_rng(1).normal(size=5)
    pulled = pull(graph, values, functional(graph, values, gamma), gamma)
    first, second = np.triu_indices(5, 1)

    def inner(g: Array) -> float:
        edges = graph.triangle.astype(float) @ np.abs(g[first] - g[second])
        return float(edges + gamma * graph.n_links * np.ptp(g) - g @ pulled)

    def constraints(x: Array) -> Array:  # x: g, the length of each edge, max, min
        g, length, high, low = x[:5], x[5:15], x[15], x[16]
        difference = g[first] - g[second]
        return np.concatenate([length - difference, length + difference, high - g, g - low, [1.0 - g @ g]])

    weight = np.concatenate([-pulled, graph.triangle.astype(float), [gamma * graph.n_links, -gamma * graph.n_links]])
    begin = np.concatenate([0.5 * values / np.linalg.norm(values), np.full(10, 2.0), [1.0, -1.0]])
    found = minimize(
        lambda x: weight @ x, begin, jac=lambda x: weight,
        constraints={"type": "ineq", "fun": constraints}, method="SLSQP", options={"maxiter": 1000, "ftol": 1e-12},
    )  # fmt: skip
    assert found.success
    g = descend(graph, values, functional(graph, values, gamma), gamma, Effort(5000, Threads()))
    assert g is not None
    assert np.linalg.norm(g) == pytest.approx(1.0)
    assert inner(g) < -1e-3
    assert inner(g) == pytest.approx(found.fun, abs=1e-4)


def falling(graph: Graph, values: Array, gamma: float) -> tuple[Array, Cut]:
    """The end of the descent; no step may raise the ratio by more than rounding."""
    cut = evaluate(graph, values, gamma, Threads())
    for _ in range(30):
        following = descend(graph, values, cut.ratio, gamma, Effort(1500, Threads()))
        if following is None:
            break
        after = evaluate(graph, following, gamma, Threads())
        assert after.ratio <= cut.ratio * (1 + 1e-3)
        if after.ratio >= cut.ratio * (1 - 1e-6):
            break
        values, cut = following, after
    return values, cut


def test_the_descent_never_rises_and_finds_two_blobs() -> None:
    graph = two_blobs()
    for seed in range(3):
        _, cut = falling(graph, np.random.default_rng(seed).normal(size=24), 0.0)
        assert cut.side.sum() == 12
        assert len(set(cut.side[:12])) == len(set(cut.side[12:])) == 1


def test_a_penalty_that_is_large_enough_parts_what_belongs_together() -> None:
    graph = two_blobs(rivals=(0, 5))
    values, cut = falling(graph, np.random.default_rng(0).normal(size=24), 0.0)
    assert cut.n_broken == 1
    for gamma in 4.0 ** np.arange(8):
        values, cut = falling(graph, values, gamma)
    assert cut.n_broken == 0


def test_the_best_cut_of_few_vertices_is_that_of_enumeration() -> None:
    for seed in range(3):
        graph = random_graph(9, [1, 6], seed)
        sides = [np.array([number >> i & 1 for i in range(9)], np.bool_) for number in range(1, 2**8)]
        best = min(of_cut(graph, side, 2.0) for side in sides)
        random = np.random.default_rng(seed)
        found = min(falling(graph, random.normal(size=9), 2.0)[1].value for _ in range(6))
        assert found == pytest.approx(best, rel=1e-5)


def test_the_nearest_point_of_the_simplex_is_that_of_a_general_solver() -> None:
    point = np.array([0.3, 1.2, -0.4, 0.9])
    found = minimize(
        lambda x: ((x - point) ** 2).sum(), np.full(4, 0.25), bounds=[(0, 1)] * 4,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1.0}, method="SLSQP", options={"ftol": 1e-14},
    )  # fmt: skip
    np.testing.assert_allclose(onto_simplex(point), found.x, atol=1e-6)


def test_the_graph_of_a_part_is_the_matrix_of_its_rows_and_columns() -> None:
    graph, vertices = random_graph(8, []), np.array([0, 3, 4, 7])
    part = np.empty(6, np.float32)
    part_of(graph.triangle, 8, vertices, part)
    np.testing.assert_array_equal(part, matrix(graph)[np.ix_(vertices, vertices)][np.triu_indices(4, 1)])


def test_work_ends_when_the_flag_is_raised() -> None:
    graph, threads = random_graph(6, []), Threads(stop=np.ones(1, np.int64))
    with pytest.raises(Interrupted):
        evaluate(graph, np.arange(6.0), 0.0, threads)
    with pytest.raises(Interrupted):
        descend(graph, np.arange(6.0), 1.0, 0.0, Effort(5, threads))


def tried(n_penalties: int | None, needed: float) -> list[float]:
    """The penalties that are tried when those from `needed` on break no link."""
    graph, path, penalties = random_graph(4, [0, 1]), PenaltyPath(), []
    while path is not None:
        penalties.append(path.penalty)
        n_broken = int(path.penalty < needed)
        cut = Cut(1.0, np.ones(4, np.bool_), 1.0, 1.0, 2.0 + n_broken, n_broken)  # 3 is cut as long as one is broken
        following = next_penalty(path, cut, graph, 0, n_penalties)
        if following is None:
            return penalties
        path = PenaltyPath(*following.as_array())
    return penalties


def test_with_two_categories_penalties_double_until_they_work_and_are_bisected_afterwards() -> None:
    penalties = tried(None, 4.0)
    assert penalties[:5] == pytest.approx([0.0, 0.6, 1.2, 2.4, 4.8])
    assert penalties[5] == pytest.approx(3.6)
    assert penalties[-1] == pytest.approx(4.0, rel=0.02)


def test_with_more_categories_few_penalties_are_tried_in_steps_that_double_while_the_cut_stays() -> None:
    assert tried(5, 100.0) == pytest.approx([0.0, 0.3, 0.9, 2.1, 4.5])
    assert tried(5, 0.8) == pytest.approx([0.0, 0.3, 0.9])
    assert tried(5, 0.0) == [0.0]
