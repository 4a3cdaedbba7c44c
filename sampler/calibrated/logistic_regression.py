"""Multinomial logistic regression on sparse rows, cross-fitted: no document is judged by a fit that saw its label.

    minimize  sum over documents of -C_(y_d) log softmax(W x_d)[y_d]  +  |W|^2 / 2        (intercepts are free)

by limited-memory BFGS (Nocedal and Wright 2006, algorithm 7.5), all sums in one order: the same bytes on any number of
threads. Folds are fitted at the same time.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from sampler.corpus import Array
from sampler.numerics import simd, streams
from sampler.numerics.simd import LANES, padded
from sampler.numerics.streams import Step
from sampler.numerics.threads import Threads, is_raised

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
        columns[offsets[1:] - n_more + i] = n_columns + indicator.astype(np.int64)  # atoms are uint16: they overflow
        n_columns += int(indicator.max(initial=0)) + 1
    return Rows(offsets, columns, values, n_columns)


def folds(n_documents: int, n_folds: int, seed: int, number: int) -> Array:
    """int64[D]: a fold for each document, by its place in a random order."""
    order = streams.generator(seed, number, 0, Step.FOLDS).permutation(n_documents)
    fold = np.empty(n_documents, np.int64)
    fold[order] = np.arange(n_documents) % n_folds
    return fold


def no_weights(rows: Rows, n_targets: int, n_folds: int) -> Array:
    """float32[folds, n_columns + 1, T']: where fits begin; T' is T rounded up to whole lanes, the rest stays 0."""
    return simd.aligned((n_folds, rows.n_columns + 1, padded(n_targets)), np.float32)


def cross_fit(
    rows: Rows, target: Array, n_targets: int, trained: Array, fold: Array, penalty: float, balance: float,
    weights: Array, threads: Threads,
) -> Array:  # fmt: skip
    """float32[D, T]: probabilities of the targets, each document's by the fit that left out its fold.

    `target` int[D] is read for the documents bool[D] `trained` alone; for `penalty` and `balance` see `penalties`. The
    fits begin at `weights` (see `no_weights`) and leave theirs there: those of another fit with the same folds save
    time.
    """
    probabilities = np.zeros((target.size, n_targets), np.float32)

    def fit_fold(thread: int, first: int, end: int) -> None:
        for f in range(first, end):
            learned, judged = np.flatnonzero(trained & (fold != f)), np.flatnonzero(fold == f)
            told = target[learned].astype(np.int64)
            given = penalties(told, n_targets, penalty, balance)
            fit(*rows[:3], learned, told, n_targets, given, weights[f], threads.stop)
            predict(*rows[:3], judged, weights[f], probabilities, threads.stop)

    threads.share(fit_fold, [(f, f + 1) for f in range(len(weights))])
    return probabilities


def penalties(target: Array, n_targets: int, penalty: float, balance: float) -> Array:
    """float32[T]: C of each target that documents int[n] have.

    It is `penalty` in the mean over documents, and in proportion to n^-balance for a target of n documents. With 1 all
    targets weigh the same, whatever their size; with 0 all documents, and few of one kind are taken for their like
    among many.
    """
    n = np.bincount(target, minlength=n_targets).astype(np.float64)
    share = np.maximum(n, 1.0) ** -balance
    each: Array = penalty * share * (n.sum() / max(float(n @ share), 1.0))
    return each.astype(np.float32)


@njit(cache=True, nogil=True, error_model="numpy", fastmath=True)
def dot(a, b):
    """The inner product of two float32 tables, in float64."""
    total = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            total += np.float64(a[i, j]) * np.float64(b[i, j])
    return total


@njit(cache=True, nogil=True, error_model="numpy", fastmath=True)
def add_scaled(table, scale, other):
    """table += scale * other."""
    factor = np.float32(scale)
    for i in range(table.shape[0]):
        for j in range(table.shape[1]):
            table[i, j] += factor * other[i, j]


@njit(cache=True, nogil=True, error_model="numpy")
def scores_of(columns, values, first, end, weights, score):
    """Write W x, float32[1, T'], for the row between two entries; the intercepts are the last row of weights."""
    for place in range(0, weights.shape[1], LANES):
        total = simd.load(weights, weights.shape[0] - 1, place)
        for e in range(first, end):
            total = simd.add(total, simd.multiply(simd.spread(values[e]), simd.load(weights, columns[e], place)))
        simd.store(total, score, 0, place)


@njit(cache=True, nogil=True, error_model="numpy")
def add_outer(columns, values, first, end, score, gradient):
    """Add the row between two entries, times float32[1, T'], to the gradient."""
    for place in range(0, gradient.shape[1], LANES):
        part = simd.load(score, 0, place)
        intercepts = gradient.shape[0] - 1
        simd.store(simd.add(simd.load(gradient, intercepts, place), part), gradient, intercepts, place)
        for e in range(first, end):
            column = columns[e]
            simd.store(
                simd.add(simd.load(gradient, column, place), simd.multiply(simd.spread(values[e]), part)),
                gradient,
                column,
                place,
            )


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
def loss(offsets, columns, values, documents, target, n_targets, penalties, weights, gradient, stop):
    """What is minimized, and its gradient, float32 as the weights; neither if the flag `stop` is raised."""
    gradient[:] = 0.0
    score = np.zeros((1, weights.shape[1]), np.float32)
    total = 0.0
    for i in range(documents.size):
        if is_raised(stop):
            return total
        d = documents[i]
        scores_of(columns, values, offsets[d], offsets[d + 1], weights, score)
        own = score[0, target[i]]
        log_sum, top = soften(score, n_targets)
        factor = penalties[target[i]]
        total += factor * (log_sum - (own - top))
        score[0, target[i]] -= np.float32(1.0)
        for t in range(n_targets):
            score[0, t] *= factor
        for t in range(n_targets, score.shape[1]):
            score[0, t] = 0.0
        add_outer(columns, values, offsets[d], offsets[d + 1], score, gradient)
    squares = 0.0
    for i in range(weights.shape[0] - 1):
        for j in range(weights.shape[1]):
            squares += np.float64(weights[i, j]) * np.float64(weights[i, j])
            gradient[i, j] += weights[i, j]
    return total + 0.5 * squares


@njit(cache=True, nogil=True, error_model="numpy")
def fit(offsets, columns, values, documents, target, n_targets, penalties, weights, stop):
    """Minimize the loss over the weights float32[n_columns + 1, T'], in place; `penalties` are the C_t float32[T].

    Gives up when the flag `stop` is raised.
    """
    gradient, new_gradient, new_weights = np.empty_like(weights), np.empty_like(weights), np.empty_like(weights)
    steps, changes = np.empty((HISTORY, *weights.shape), np.float32), np.empty((HISTORY, *weights.shape), np.float32)
    rho = np.zeros(HISTORY)
    n_kept, head = 0, 0
    value = loss(offsets, columns, values, documents, target, n_targets, penalties, weights, gradient, stop)
    for _ in range(MAX_ITERATIONS):
        direction = downhill(gradient, steps, changes, rho, n_kept, head, stop)
        if is_raised(stop):
            return
        slope = dot(gradient, direction)
        if slope >= 0.0:
            return
        length = 1.0
        new_value = math.inf
        for _ in range(MAX_HALVINGS):
            new_weights[:] = weights
            add_scaled(new_weights, length, direction)
            new_value = loss(
                offsets, columns, values, documents, target, n_targets, penalties, new_weights, new_gradient, stop
            )
            if is_raised(stop):
                return
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
def downhill(gradient, steps, changes, rho, n_kept, head, stop):
    """Minus the inverse Hessian, as remembered, times the gradient: the two loops of the algorithm.

    Gives up when the flag `stop` is raised.
    """
    direction = -gradient
    if n_kept == 0:
        direction *= np.float32(1.0 / max(1.0, math.sqrt(dot(gradient, gradient))))
        return direction
    part = np.empty(HISTORY)
    for i in range(n_kept):
        if is_raised(stop):
            return direction
        h = (head - 1 - i) % HISTORY
        part[h] = rho[h] * dot(steps[h], direction)
        add_scaled(direction, -part[h], changes[h])
    last = (head - 1) % HISTORY
    direction *= np.float32(1.0 / (rho[last] * dot(changes[last], changes[last])))
    for i in range(n_kept):
        if is_raised(stop):
            return direction
        h = (head - n_kept + i) % HISTORY
        add_scaled(direction, part[h] - rho[h] * dot(changes[h], direction), steps[h])
    return direction


@njit(cache=True, nogil=True, error_model="numpy")
def predict(offsets, columns, values, documents, weights, probabilities, stop):
    """Write the probabilities of the targets, float32[D, T], for some documents, unless the flag `stop` is raised."""
    n_targets = probabilities.shape[1]
    score = np.zeros((1, weights.shape[1]), np.float32)
    for i in range(documents.size):
        if is_raised(stop):
            return
        d = documents[i]
        scores_of(columns, values, offsets[d], offsets[d + 1], weights, score)
        soften(score, n_targets)
        probabilities[d] = score[0, :n_targets]
