"""What constrained 1-spectral clustering does over all pairs of vertices; docs/baselines/cosc.md.

A symmetric matrix of weights without a diagonal is kept as its upper triangle, row after row, float32[n (n - 1) / 2]:
the weight of i < j is at `row_start(i, n) + j`. Each kernel is one pass over all pairs; those that are given the flag
look at it once a row, and their results are of no use when it was raised.
"""

import numpy as np
from numba import njit

from sampler.numerics.threads import is_raised


@njit(cache=True, nogil=True, inline="always")
def row_start(i, n):
    """Where weight (i, j) would be if j were 0."""
    return i * (n - 1) - i * (i - 1) // 2 - i - 1


@njit(cache=True, nogil=True, error_model="numpy")
def fill(triangle, block, first, n):
    """Copy rows first, first + 1, … of the full matrix, float32[rows, n], into the triangle; below 0 becomes 0."""
    for row in range(block.shape[0]):
        i = first + row
        start = row_start(i, n)
        for j in range(i + 1, n):
            triangle[start + j] = max(block[row, j], np.float32(0.0))


@njit(cache=True, nogil=True, error_model="numpy")
def part_of(triangle, n, vertices, part):
    """Copy the triangle of some vertices int64[m], ascending, of n into `part` float32[m (m - 1) / 2]."""
    m = vertices.size
    for i in range(m):
        start, own = row_start(vertices[i], n), row_start(i, m)
        for j in range(i + 1, m):
            part[own + j] = triangle[start + vertices[j]]


@njit(cache=True, nogil=True, error_model="numpy")
def degrees(triangle, n):
    """float64[n]: the sum of each vertex's weights."""
    total = np.zeros(n)
    for i in range(n):
        start = row_start(i, n)
        own = 0.0
        for j in range(i + 1, n):
            own += triangle[start + j]
            total[j] += triangle[start + j]
        total[i] += own
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def weight_to_lower(triangle, rank, stop):
    """float64[n]: the sum of each vertex's weights to the vertices of lower rank; `rank` int64[n] is a permutation."""
    n = rank.size
    total = np.zeros(n)
    for i in range(n):
        if is_raised(stop):
            return total
        start, own, place = row_start(i, n), 0.0, rank[i]
        for j in range(i + 1, n):
            weight = np.float64(triangle[start + j])
            is_higher = rank[j] > place
            total[j] += weight if is_higher else 0.0
            own += 0.0 if is_higher else weight
        total[i] += own
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def subgradient(triangle, values, flow, outflow, stop):
    """Set `flow`, of each edge, to its weight times the sign of values_i - values_j, and `outflow` to its sums."""
    n = values.size
    outflow[:] = 0.0
    for i in range(n):
        if is_raised(stop):
            return
        start, own = row_start(i, n), 0.0
        for j in range(i + 1, n):
            weight = triangle[start + j]
            moved = weight if values[i] > values[j] else (-weight if values[i] < values[j] else np.float32(0.0))
            flow[start + j] = moved
            outflow[j] -= moved
            own += moved
        outflow[i] += own


@njit(cache=True, nogil=True, error_model="numpy")
def step_flow(triangle, degree, residual, length, momentum, flow, previous, outflow, stop):
    """One step of FISTA on the flow along the edges; the new flow replaces `previous`.

    From flow + momentum (flow - previous) each edge takes a step along its difference of residuals and is clipped to
    its weight. The step is `length` times the edge's weight divided by its ends' degrees. A length of 1 keeps the
    metric above the operator: |A'x|^2 <= sum_e x_e^2 (d_i + d_j) / w_e. `outflow` float64[n] becomes A' of the flow.
    """
    n = residual.size
    outflow[:] = 0.0
    for i in range(n):
        if is_raised(stop):
            return
        start, own = row_start(i, n), 0.0
        own_residual, own_degree = residual[i], degree[i]
        for j in range(i + 1, n):
            e = start + j
            weight, at = triangle[e], flow[e]
            step = length * weight * (own_residual - residual[j]) / (own_degree + degree[j])
            moved = at + momentum * (at - previous[e]) + step
            moved = min(max(moved, -weight), weight)
            previous[e] = moved
            outflow[j] -= moved
            own += moved
        outflow[i] += own
