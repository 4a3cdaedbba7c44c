"""The convex problem within serendipitous learning: a multi-class support vector machine under balance.

    minimize over W  1/2 sum_m |w_m|^2 + sum_i c_i max_m [ 1(m != y_i) + (w_m - w_(y_i)) x_i ]
    subject to       (w_p - w_q) s <= B for all ordered pairs p, q of new categories

(Crammer and Singer 2001), by coordinate descent on its dual: the block of a document is solved exactly (Keerthi et al.
2008, section 2), and so is each multiplier of a pair. The dual variables are

    w_m = sum_i alpha_im x_i + s sum_q (mu_qm - mu_mq),   sum_m alpha_im = 0,  alpha_im <= c_i 1(m = y_i),  mu >= 0.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from sampler.corpus import Array

VISITS_PER_BALANCE = 256  # documents between two passes over the multipliers, which all documents depend on
NEGLIGIBLE = 1e-14  # changes of a dual variable that are not carried into the weights


class MarginProblem(NamedTuple):
    """The problem; for the kernels too."""

    rows: Array  # float64[n, d]
    target: Array  # int32[n], y
    cost: Array  # float64[n], c; a document of cost 0 has no part in the problem
    total: Array  # float64[d], s: the sum of the rows that are to be balanced
    bound: float  # B
    n_known: int  # categories n_known, … are new


class MarginSolution(NamedTuple):
    """Dual variables and the weights that follow from them; changed in place."""

    alpha: Array  # float64[n, K]
    multiplier: Array  # float64[K - n_known, K - n_known], mu; the diagonal stays 0
    weights: Array  # float64[d, K], W; transposed, so that the loop over categories is the inner one


class Standing(NamedTuple):
    """How good a solution is."""

    primal: float  # the objective, balance left aside
    gap: float  # primal minus dual: how far above the minimum the objective is at most, if balance holds
    excess: float  # by how much the worst pair is out of balance; at most 0 if all are in balance


def solution_of(problem: MarginProblem, alpha: Array, multiplier: Array) -> MarginSolution:
    """The solution with these dual variables."""
    weights = problem.rows.T @ alpha
    weights[:, problem.n_known :] += np.outer(problem.total, multiplier.sum(axis=0) - multiplier.sum(axis=1))
    return MarginSolution(alpha, multiplier, np.ascontiguousarray(weights))


def standing(problem: MarginProblem, solution: MarginSolution) -> Standing:
    """The objective, the duality gap and the balance of a solution."""
    half_norm = 0.5 * float((solution.weights**2).sum())
    loss = losses(problem.rows @ solution.weights, problem.target)
    primal = half_norm + float(problem.cost @ loss)
    # the sum over m != y of alpha is minus alpha_y
    linear = -float(solution.alpha[np.arange(problem.target.size), problem.target].sum())
    dual = -half_norm - linear - problem.bound * float(solution.multiplier.sum())
    offered = problem.total @ solution.weights[:, problem.n_known :]
    excess = float(offered.max() - offered.min()) - problem.bound if offered.size else -problem.bound
    return Standing(primal, primal - dual, excess)


def losses(scores: Array, target: Array) -> Array:
    """float64[n]: max_m [ 1(m != y) + score_m - score_y ] of each document; `scores` float64[n, K]."""
    documents = np.arange(target.size)
    own = scores[documents, target]
    rivals = scores + 1.0
    rivals[documents, target] -= 1.0
    return np.asarray(rivals.max(axis=1) - own)


@njit(cache=True, nogil=True)
def descend(problem, solution, order):
    """Minimize over the dual variables of the documents in `order` int64[...], one after the other, in place.

    Every VISITS_PER_BALANCE documents, and at the end, over the multipliers. O(n d K) time.
    """
    n_dimensions, n_categories = solution.weights.shape
    scores, change, levels = np.empty(n_categories), np.empty(n_categories), np.empty(n_categories)
    for visit in range(order.size):
        i = order[visit]
        if problem.cost[i] > 0.0:
            scores[:] = 0.0
            square = 0.0
            for j in range(n_dimensions):
                x = problem.rows[i, j]
                square += x * x
                for m in range(n_categories):
                    scores[m] += x * solution.weights[j, m]
            if solve_document(problem, solution, i, scores, square, change, levels):
                for j in range(n_dimensions):
                    x = problem.rows[i, j]
                    for m in range(n_categories):
                        solution.weights[j, m] += x * change[m]
        if visit % VISITS_PER_BALANCE == VISITS_PER_BALANCE - 1:
            balance(problem, solution)
    balance(problem, solution)


@njit(cache=True, nogil=True)
def solve_document(problem, solution, i, scores, square, change, levels):
    """Set alpha_i to its best and `change` to by how much it changed; False if by nothing that counts.

    alpha_m = min(c 1(m = y), (beta - b_m) / |x|^2), with b_m = 1(m != y) + w_m x - |x|^2 alpha_m and beta such that
    they sum to 0; beta is found by going down the sorted levels at which each alpha_m leaves its bound.
    """
    n_categories = scores.size
    if square <= 0.0:
        return False
    y, cost = problem.target[i], problem.cost[i]
    for m in range(n_categories):
        scores[m] += (0.0 if m == y else 1.0) - square * solution.alpha[i, m]
        levels[m] = scores[m]
    levels[y] += square * cost
    levels.sort()
    beta = levels[n_categories - 1] - square * cost
    n_free = 1
    while n_free < n_categories and beta < n_free * levels[n_categories - 1 - n_free]:
        beta += levels[n_categories - 1 - n_free]
        n_free += 1
    beta /= n_free
    largest = 0.0
    for m in range(n_categories):
        value = min(cost if m == y else 0.0, (beta - scores[m]) / square)
        change[m] = value - solution.alpha[i, m]
        largest = max(largest, abs(change[m]))
        solution.alpha[i, m] = value
    return largest > NEGLIGIBLE


@njit(cache=True, nogil=True)
def balance(problem, solution):
    """Minimize over the multiplier of each ordered pair of new categories, one after the other, in place."""
    n_new = solution.multiplier.shape[0]
    square = 0.0
    for j in range(problem.total.size):
        square += problem.total[j] ** 2
    if n_new < 2 or square <= 0.0:
        return
    offered = np.zeros(n_new)
    for j in range(problem.total.size):
        for p in range(n_new):
            offered[p] += problem.total[j] * solution.weights[j, problem.n_known + p]
    moved = np.zeros(n_new)
    for p in range(n_new):
        for q in range(n_new):
            if p != q:
                old = solution.multiplier[p, q]
                new = max(0.0, old + (offered[p] - offered[q] - problem.bound) / (2.0 * square))
                solution.multiplier[p, q] = new
                offered[p] -= square * (new - old)
                offered[q] += square * (new - old)
                moved[p] -= new - old
                moved[q] += new - old
    for j in range(problem.total.size):
        for p in range(n_new):
            solution.weights[j, problem.n_known + p] += problem.total[j] * moved[p]
