"""Multinomial logistic regression on sparse rows, cross-fitted: no document is judged by a fit that saw its label.

    minimize  C sum over documents of -log softmax(W x_d)[y_d]  +  |W|^2 / 2        (intercepts are free)

by limited-memory BFGS (Nocedal and Wright 2006, algorithm 7.5), all sums in one order: the same bytes on any number of
threads. Folds are fitted at the same time.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from sampler import streams
from sampler.corpus import Array
from sampler.streams import Step
from sampler.workers import Workers

HISTORY = 8  # pairs of steps and changes of the gradient that BFGS remembers
MAX_ITERATIONS = 80
TOLERANCE = 3e-4  # relative gain of an iteration below which the fit is done
MAX_HALVINGS = 12


class Rows(NamedTuple):
    """D sparse rows: `columns` int32[E] and `values` float32[E] between offsets int64[D + 1]."""

    offsets: Array
    columns: Array
    values: Array
    n_columns: int


def with_indicators(rows: Rows, indicators: list[Array], scale: float) -> Rows:
    """The rows with one more entry for each array int[D] of indicators, in a column of its own for each value."""
    n_documents, n_more = rows.offsets.size - 1, len(indicators)
    offsets = rows.offsets + n_more * np.arange(n_documents + 1)
    old = np.repeat(offsets[:-1] - rows.offsets[:-1], np.diff(rows.offsets)) + np.arange(rows.columns.size)
    columns = np.empty(offsets[-1], np.int32)
    values = np.full(offsets[-1], scale, np.float32)
    columns[old], values[old] = rows.columns, rows.values
    n_columns = rows.n_columns
    for i, indicator in enumerate(indicators):
        columns[offsets[1:] - n_more + i] = n_columns + indicator
        n_columns += int(indicator.max(initial=0)) + 1
    return Rows(offsets, columns, values, n_columns)


def folds(n_documents: int, n_folds: int, seed: int, number: int) -> Array:
    """int64[D]: a fold for each document, by its place in a random order."""
    order = streams.generator(seed, number, 0, Step.FOLDS).permutation(n_documents)
    fold = np.empty(n_documents, np.int64)
    fold[order] = np.arange(n_documents) % n_folds
    return fold


def no_weights(rows: Rows, n_targets: int, n_folds: int) -> Array:
    """float32[folds, (n_columns + 1) T]: where fits begin."""
    return np.zeros((n_folds, (rows.n_columns + 1) * n_targets), np.float32)


def cross_fit(
    rows: Rows, target: Array, trained: Array, fold: Array, penalty: float, weights: Array, workers: Workers
) -> Array:
    """float32[D, T]: probabilities of the targets, each document's by the fit that left out its fold.

    `target` int[D] is read for the documents bool[D] `trained` alone; `penalty` is C. The fits begin at the weights
    float32[folds, (n_columns + 1) T] and leave theirs there: those of another fit with the same folds save time.
    """
    n_targets = weights.shape[1] // (rows.n_columns + 1)
    probabilities = np.zeros((target.size, n_targets), np.float32)

    def fit_fold(worker: int, first: int, end: int) -> None:
        for f in range(first, end):
            learned, judged = np.flatnonzero(trained & (fold != f)), np.flatnonzero(fold == f)
            fit(*rows[:3], learned, target[learned].astype(np.int64), n_targets, penalty, weights[f])
            predict(*rows[:3], judged, weights[f], probabilities)

    workers.share(fit_fold, [(f, f + 1) for f in range(len(weights))])
    return probabilities


@njit(cache=True, nogil=True, error_model="numpy", fastmath=True)
def dot(a, b):  # type: ignore[no-untyped-def]
    """The inner product of two float32 vectors, in float64."""
    total = 0.0
    for i in range(a.size):
        total += np.float64(a[i]) * np.float64(b[i])
    return total


@njit(cache=True, nogil=True, error_model="numpy", fastmath=True)
def scores_of(offsets, columns, values, d, weights, score):  # type: ignore[no-untyped-def]
    """Write W x_d, float32[T]; the intercepts are the last T weights."""
    n_targets = score.size
    score[:] = weights[weights.size - n_targets :]
    for e in range(offsets[d], offsets[d + 1]):
        x, at = values[e], np.int64(columns[e]) * n_targets
        for t in range(n_targets):
            score[t] += x * weights[at + t]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=True)
def soften(score):  # type: ignore[no-untyped-def]
    """Replace scores by the softmax of them; returns the log of the sum that divides them, and the highest."""
    top = score.max()
    total = np.float32(0.0)
    for t in range(score.size):
        score[t] = math.exp(score[t] - top)
        total += score[t]
    for t in range(score.size):
        score[t] /= total
    return math.log(total), top


@njit(cache=True, nogil=True, error_model="numpy", fastmath=True)
def loss(offsets, columns, values, documents, target, n_targets, penalty, weights, gradient):  # type: ignore[no-untyped-def]
    """What is minimized, and its gradient, float32[weights]."""
    gradient[:] = 0.0
    score = np.empty(n_targets, np.float32)
    intercepts = weights.size - n_targets
    total = 0.0
    for i in range(documents.size):
        d = documents[i]
        scores_of(offsets, columns, values, d, weights, score)
        own = score[target[i]]
        log_sum, top = soften(score)
        total += log_sum - (own - top)
        score[target[i]] -= np.float32(1.0)
        for t in range(n_targets):
            score[t] *= np.float32(penalty)
            gradient[intercepts + t] += score[t]
        for e in range(offsets[d], offsets[d + 1]):
            x, at = values[e], np.int64(columns[e]) * n_targets
            for t in range(n_targets):
                gradient[at + t] += x * score[t]
    squares = 0.0
    for i in range(intercepts):
        squares += np.float64(weights[i]) * np.float64(weights[i])
        gradient[i] += weights[i]
    return penalty * total + 0.5 * squares


@njit(cache=True, nogil=True, error_model="numpy", fastmath=True)
def add_scaled(vector, scale, other):  # type: ignore[no-untyped-def]
    """vector += scale * other."""
    factor = np.float32(scale)
    for i in range(vector.size):
        vector[i] += factor * other[i]


@njit(cache=True, nogil=True, error_model="numpy")
def fit(offsets, columns, values, documents, target, n_targets, penalty, weights):  # type: ignore[no-untyped-def]
    """Minimize the loss over the weights float32[(n_columns + 1) T], in place."""
    gradient, new_gradient, new_weights = np.empty_like(weights), np.empty_like(weights), np.empty_like(weights)
    steps, changes = np.empty((HISTORY, weights.size), np.float32), np.empty((HISTORY, weights.size), np.float32)
    rho = np.zeros(HISTORY)
    n_kept, head = 0, 0
    value = loss(offsets, columns, values, documents, target, n_targets, penalty, weights, gradient)
    for _ in range(MAX_ITERATIONS):
        direction = downhill(gradient, steps, changes, rho, n_kept, head)
        slope = dot(gradient, direction)
        if slope >= 0.0:
            return
        length = 1.0
        new_value = math.inf
        for _ in range(MAX_HALVINGS):
            new_weights[:] = weights
            add_scaled(new_weights, length, direction)
            new_value = loss(offsets, columns, values, documents, target, n_targets, penalty, new_weights, new_gradient)
            if new_value <= value + 1e-4 * length * slope:
                break
            length *= 0.5
        if not new_value < value:
            return
        steps[head] = new_weights
        add_scaled(steps[head], -1.0, weights)
        changes[head] = new_gradient
        add_scaled(changes[head], -1.0, gradient)
        curvature = dot(steps[head], changes[head])
        if curvature > 0.0:
            rho[head] = 1.0 / curvature
            head = (head + 1) % HISTORY
            n_kept = min(n_kept + 1, HISTORY)
        gain = value - new_value
        value = new_value
        weights[:] = new_weights
        gradient[:] = new_gradient
        if gain < TOLERANCE * abs(value):
            return


@njit(cache=True, nogil=True, error_model="numpy")
def downhill(gradient, steps, changes, rho, n_kept, head):  # type: ignore[no-untyped-def]
    """Minus the inverse Hessian, as remembered, times the gradient: the two loops of the algorithm."""
    direction = -gradient
    if n_kept == 0:
        direction *= np.float32(1.0 / max(1.0, math.sqrt(dot(gradient, gradient))))
        return direction
    part = np.empty(HISTORY)
    for i in range(n_kept):
        h = (head - 1 - i) % HISTORY
        part[h] = rho[h] * dot(steps[h], direction)
        add_scaled(direction, -part[h], changes[h])
    last = (head - 1) % HISTORY
    direction *= np.float32(1.0 / (rho[last] * dot(changes[last], changes[last])))
    for i in range(n_kept):
        h = (head - n_kept + i) % HISTORY
        add_scaled(direction, part[h] - rho[h] * dot(changes[h], direction), steps[h])
    return direction


@njit(cache=True, nogil=True, error_model="numpy")
def predict(offsets, columns, values, documents, weights, probabilities):  # type: ignore[no-untyped-def]
    """Write the probabilities of the targets, float32[D, T], for some documents."""
    score = np.empty(probabilities.shape[1], np.float32)
    for i in range(documents.size):
        scores_of(offsets, columns, values, documents[i], weights, score)
        soften(score)
        probabilities[documents[i]] = score
