"""The loss of a multinomial logistic regression with its gradient, and the probabilities that it gives, compiled.

The functions under `fastmath` leave it to the compiler how sums are grouped, by the width of the processor's vectors:
the last bits of a probability may differ between kinds of processors, never between runs, threads or workers on one.
Without it a fit takes 1.4 times as long.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from sampler.corpus import Array
from sampler.numerics import simd
from sampler.numerics.simd import LANES
from sampler.numerics.threads import is_raised


class Examples(NamedTuple):
    """What a fit learns from: some documents and their targets."""

    documents: Array  # int64[n], rows
    target: Array  # int64[n]
    penalties: Array  # float32[T], C of each target


@njit(cache=True, nogil=True, error_model="numpy")
def score_row(rows, d, weights, score):
    """Write W x, float32[1, T'], for row d; the intercepts are the last row of weights."""
    for place in range(0, weights.shape[1], LANES):
        total = simd.load(weights, weights.shape[0] - 1, place)
        for e in range(rows.offsets[d], rows.offsets[d + 1]):
            column = rows.columns[e]
            total = simd.add(total, simd.multiply(simd.spread(rows.values[e]), simd.load(weights, column, place)))
        simd.store(total, score, 0, place)


@njit(cache=True, nogil=True, error_model="numpy")
def add_outer(rows, d, score, gradient):
    """Add row d times float32[1, T'] to the gradient."""
    intercepts = gradient.shape[0] - 1
    for place in range(0, gradient.shape[1], LANES):
        part = simd.load(score, 0, place)
        simd.store(simd.add(simd.load(gradient, intercepts, place), part), gradient, intercepts, place)
        for e in range(rows.offsets[d], rows.offsets[d + 1]):
            column = rows.columns[e]
            product = simd.multiply(simd.spread(rows.values[e]), part)
            simd.store(simd.add(simd.load(gradient, column, place), product), gradient, column, place)


@njit(cache=True, nogil=True, error_model="numpy", fastmath=True)
def soften(score, n_targets):
    """Replace the first T scores by the softmax of them; returns the log of the sum that divides them, and the top."""
    top = score[0, 0]
    for t in range(1, n_targets):
        top = max(top, score[0, t])
    total = np.float32(0.0)
    for t in range(n_targets):
        score[0, t] = math.exp(score[0, t] - top)
        total += score[0, t]
    for t in range(n_targets):
        score[0, t] /= total
    return math.log(total), top


@njit(cache=True, nogil=True, error_model="numpy", fastmath=True)
def loss(rows, examples, weights, gradient, stop):
    """What is minimized, and its gradient, float32 as the weights; neither if the flag `stop` is raised."""
    gradient[:] = 0.0
    score, n_targets = np.zeros((1, weights.shape[1]), np.float32), examples.penalties.size
    total = 0.0
    for i in range(examples.documents.size):
        if is_raised(stop):
            return total
        d, target = examples.documents[i], examples.target[i]
        score_row(rows, d, weights, score)
        own = score[0, target]
        log_sum, top = soften(score, n_targets)
        factor = examples.penalties[target]
        total += factor * (log_sum - (own - top))
        score[0, target] -= np.float32(1.0)
        for t in range(n_targets):
            score[0, t] *= factor
        for t in range(n_targets, score.shape[1]):
            score[0, t] = 0.0
        add_outer(rows, d, score, gradient)
    squares = 0.0
    for i in range(weights.shape[0] - 1):
        for j in range(weights.shape[1]):
            squares += np.float64(weights[i, j]) * np.float64(weights[i, j])
            gradient[i, j] += weights[i, j]
    return total + 0.5 * squares


@njit(cache=True, nogil=True, error_model="numpy")
def predict(rows, documents, weights, probabilities, stop):
    """Write the probabilities of the targets, float32[D, T], for some documents, unless the flag `stop` is raised."""
    n_targets = probabilities.shape[1]
    score = np.zeros((1, weights.shape[1]), np.float32)
    for i in range(documents.size):
        if is_raised(stop):
            return
        d = documents[i]
        score_row(rows, d, weights, score)
        soften(score, n_targets)
        probabilities[d] = score[0, :n_targets]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=True)
def energies(rows, documents, weights, n_targets, energy, stop):
    """Write the log of the sum of exp(W x) over targets, float32[D], of some documents, unless `stop` is raised."""
    score = np.zeros((1, weights.shape[1]), np.float32)
    for i in range(documents.size):
        if is_raised(stop):
            return
        d = documents[i]
        score_row(rows, d, weights, score)
        log_sum, top = soften(score, n_targets)
        energy[d] = log_sum + top
