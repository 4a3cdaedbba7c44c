"""The best way to cut a graph in two: constrained 1-spectral clustering of two sides; docs/baselines/cosc.md.

Of sides C and the rest, with V the volume of all and `broken` the number of cannot-links within a side, minimize

    F(C) = [ cut(C) + gamma broken(C) ] V / [ vol(C) (V - vol(C)) ]

(Rangapuram and Hein 2012). F is extended to values f of the vertices, F(1_C) = F(C), as the ratio of two convex
functions, which the method RatioDCA makes smaller step by step; the best threshold of f is no worse than f.
"""

from typing import NamedTuple

import numpy as np

from baselines.cosc_kernels import step_flow, subgradient, weight_to_lower
from sampler.corpus import Array
from sampler.numerics.threads import Threads

SOLVED = 1e-5  # length of the residual, by that of the pull, below which no descent is left: weights are float32


class Graph(NamedTuple):
    """Vertices, the weights of their pairs, and which of them cannot be together."""

    triangle: Array  # float32[n (n - 1) / 2], as in cosc_kernels
    degree: Array  # float64[n], sum of the weights of each vertex's edges
    volume: Array  # float64[n], b: what each vertex counts for in the volume of a side
    rivals: Array  # int64[m], vertices of which no two should be on one side: one of each known category

    @property
    def n_links(self) -> int:
        """Cannot-links: pairs of rivals."""
        return pairs(self.rivals.size)


class Cut(NamedTuple):
    """Values of the vertices and what their best threshold gives."""

    ratio: float  # F of the values
    side: Array  # bool[n], of the best threshold; all False if there is none, when all that follows is infinite
    value: float  # F of `side`
    plain: float  # the same with gamma = 0
    cut: float  # weight of the edges between the sides
    n_broken: int  # cannot-links within a side


class Effort(NamedTuple):
    """What one step of the descent may cost."""

    n_iterations: int
    threads: Threads


def pairs(n: int) -> int:
    """The number of pairs among n."""
    return n * (n - 1) // 2


def ties(ordered: Array) -> Array:
    """int64[n]: the place of the first of the values that equal each, in ascending values float64[n]."""
    is_first = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    return np.maximum.accumulate(np.where(is_first, np.arange(ordered.size), 0))


def evaluate(graph: Graph, values: Array, gamma: float, threads: Threads) -> Cut:
    """F of the values float64[n], and their best threshold.

    With the vertices in ascending order, cut_p, volume_p and broken_p those of the threshold after place p, and step_p
    from the value at p to the next one,

        F(f) = sum_p step_p (cut_p + gamma broken_p) / sum_p step_p volume_p (V - volume_p) / V.
    """
    order = np.argsort(values, kind="stable")
    rank = np.empty(order.size, np.int64)
    rank[order] = np.arange(order.size)
    lower = weight_to_lower(graph.triangle, rank, threads.stop)
    threads.check()
    cut = np.maximum(np.cumsum((graph.degree - 2.0 * lower)[order])[:-1], 0.0)
    volume = np.cumsum(graph.volume[order])
    balance = volume[:-1] * (volume[-1] - volume[:-1]) / volume[-1]
    is_rival = np.zeros(order.size, np.int64)
    is_rival[rank[graph.rivals]] = 1
    below = np.cumsum(is_rival)[:-1]
    above = graph.rivals.size - below
    broken = (below * (below - 1) + above * (above - 1)) // 2
    step = np.diff(values[order])
    is_level = (step > 0.0) & (balance > 0.0)
    if not is_level.any():
        return Cut(np.inf, np.zeros(order.size, np.bool_), np.inf, np.inf, np.inf, graph.n_links)
    cost = cut + gamma * broken
    ratio = np.where(is_level, cost, np.inf) / np.where(is_level, balance, 1.0)
    best = int(ratio.argmin())
    plain = float(cut[best] / balance[best])
    return Cut(
        float(step @ cost / (step @ balance)),
        rank > best,
        float(ratio[best]),
        plain,
        float(cut[best]),
        int(broken[best]),
    )


def pull(graph: Graph, values: Array, ratio: float, gamma: float) -> Array:
    """float64[n]: half of a subgradient of what the descent linearizes: the cannot-links, and `ratio` times S.

    S(f) = sum_ij b_i b_j |f_i - f_j| / V; the subgradient is that in which ties do not count.
    """
    order = np.argsort(values, kind="stable")
    ordered, total = values[order], float(graph.volume.sum())
    before = np.concatenate([[0.0], np.cumsum(graph.volume[order])])
    first = ties(ordered)
    last = order.size - 1 - ties(-ordered[::-1])[::-1]
    pulled = np.empty(order.size)
    pulled[order] = ratio * graph.volume[order] * (before[first] - (total - before[last + 1])) / total
    of_rivals = values[graph.rivals]
    pulled[graph.rivals] += gamma * np.sign(of_rivals[:, None] - of_rivals[None, :]).sum(axis=1)
    return pulled


def descend(graph: Graph, values: Array, ratio: float, gamma: float, effort: Effort) -> Array | None:
    """Values float64[n] with, as a rule, a smaller F, from values whose F is `ratio`; None if there are none.

    Minimizes over the unit ball, by FISTA (Beck and Teboulle 2009) on its dual,

        sum over edges of w_ij |g_i - g_j| + C (max g - min g) - <g, pull>,    C = gamma times the number of links:

    a flow within the weights along each edge, and distributions u, v over the vertices for max and -min. Begins at the
    flow that is optimal for the values given. The answer is the residual of the best flow, at unit length.
    """
    pulled, range_weight = pull(graph, values, ratio, gamma), gamma * graph.n_links
    flow, previous = np.empty_like(graph.triangle), np.empty_like(graph.triangle)
    outflow = np.zeros(values.size)
    subgradient(graph.triangle, values, flow, outflow, effort.threads.stop)
    effort.threads.check()
    previous[:] = flow
    degree = np.maximum(graph.degree, np.finfo(np.float32).tiny).astype(np.float32)
    is_lowest = values == values.min()
    low = old_low = is_lowest / is_lowest.sum()
    old_outflow, old_time, momentum = outflow.copy(), 1.0, 0.0
    length = np.float32(0.5 if range_weight else 1.0)  # two blocks of variables share the step
    for _ in range(effort.n_iterations):
        ahead = low + momentum * (low - old_low)
        at = residual(pulled, outflow + momentum * (outflow - old_outflow), ahead, range_weight)
        old_outflow[:] = outflow
        step_flow(
            graph.triangle, degree, at.astype(np.float32), length, np.float32(momentum), flow, previous, outflow,
            effort.threads.stop,
        )  # fmt: skip
        effort.threads.check()
        flow, previous = previous, flow
        if range_weight:
            old_low, low = low, onto_simplex(ahead - at / (2.0 * range_weight))
        time = (1.0 + np.sqrt(1.0 + 4.0 * old_time**2)) / 2.0
        momentum, old_time = (old_time - 1.0) / time, time
    found = residual(pulled, outflow, low, range_weight)
    size = float(np.linalg.norm(found))
    return None if size <= SOLVED * float(np.linalg.norm(pulled)) else found / size


def residual(pulled: Array, outflow: Array, low: Array, range_weight: float) -> Array:
    """float64[n]: what is left of the pull when flow, v and the best u have taken theirs."""
    rest = pulled - outflow
    if not range_weight:
        return rest
    high = onto_simplex(rest / range_weight + low)
    return np.asarray(rest + range_weight * (low - high))


def onto_simplex(point: Array) -> Array:
    """float64[n]: the nearest point whose parts are not below 0 and sum to 1."""
    descending = np.sort(point)[::-1]
    excess = (np.cumsum(descending) - 1.0) / np.arange(1, point.size + 1)
    return np.asarray(np.maximum(point - excess[np.flatnonzero(descending > excess)[-1]], 0.0))
