"""Multinomial logistic regression on sparse rows, cross-fitted: no document is judged by a fit that saw its label.

    minimize  sum over documents of -C_(y_d) log softmax(W x_d)[y_d]  +  |W|^2 / 2        (intercepts are free)

by limited-memory BFGS (Nocedal and Wright 2006, algorithm 7.5), all sums in one order: the same bytes on any number of
threads. Folds are fitted at the same time.

Ours rather than scipy's L-BFGS, which computes in float64 and under Python's lock: it takes 28 times as long to the
same loss (10 categories of tdt2-20), and cannot be interrupted.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from sampler.calibrated.bags import Rows
from sampler.calibrated.logistic_loss import Examples, loss, predict
from sampler.corpus import Array
from sampler.numerics import simd, streams
from sampler.numerics.simd import padded
from sampler.numerics.streams import Step
from sampler.numerics.threads import Threads, is_raised

HISTORY = 8  # pairs of steps and changes of the gradient that BFGS remembers
MAX_ITERATIONS = 80
TOLERANCE = 3e-4  # relative gain of an iteration below which the fit is done
MAX_HALVINGS = 12


class RegressionTask(NamedTuple):
    """What a regression is to find out about documents; those that are `trained` have an answer to learn from."""

    target: Array  # int[D], below n_targets for documents that are trained; of others it is not read
    n_targets: int  # T
    trained: Array  # bool[D]
    penalty: float  # C, on average over documents; see `penalties`
    balance: float

    def examples(self, documents: Array) -> Examples:
        """Some of the trained documents int64[n]."""
        target = self.target[documents].astype(np.int64)
        return Examples(documents, target, penalties(target, self.n_targets, self.penalty, self.balance))


def with_indicators(rows: Rows, indicators: list[Array], scale: Array) -> Rows:
    """The rows with one more entry for each array int[D] of indicators, in a column of its own for each value.

    The entries of a document are `scale` float64[D].
    """
    n_documents, n_more = rows.offsets.size - 1, len(indicators)
    offsets = rows.offsets + n_more * np.arange(n_documents + 1)
    old = np.repeat(offsets[:-1] - rows.offsets[:-1], np.diff(rows.offsets)) + np.arange(rows.columns.size)
    columns, values = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], np.float32)
    columns[old], values[old] = rows.columns, rows.values
    n_columns = rows.n_columns
    for i, indicator in enumerate(indicators):
        own = offsets[1:] - n_more + i
        columns[own] = n_columns + indicator.astype(np.int64)  # atoms are uint16: they overflow
        values[own] = scale
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


def cross_fit(rows: Rows, task: RegressionTask, fold: Array, weights: Array, threads: Threads) -> Array:
    """float32[D, T]: probabilities of the targets, each document's by the fit that left out its fold.

    The fits begin at `weights` (see `no_weights`) and leave theirs there: those of another fit with the same folds save
    time.
    """
    probabilities = np.zeros((fold.size, task.n_targets), np.float32)

    def fit_fold(thread: int, first: int, end: int) -> None:
        for f in range(first, end):
            examples = task.examples(np.flatnonzero(task.trained & (fold != f)))
            fit(rows, examples, weights[f], threads.stop)
            predict(rows, np.flatnonzero(fold == f), weights[f], probabilities, threads.stop)

    threads.share(fit_fold, [(f, f + 1) for f in range(len(weights))])
    return probabilities


def penalties(target: Array, n_targets: int, penalty: float, balance: float) -> Array:
    """float32[T]: C of each target that documents int[n] have.

    It is `penalty` on average over documents, and in proportion to n^-balance for a target of n documents. With 1 all
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


class Memory(NamedTuple):
    """The last steps of a fit, in a ring, and how the gradient changed with each: what BFGS knows of the curvature."""

    steps: Array  # float32[HISTORY, n_columns + 1, T']
    changes: Array  # float32[HISTORY, n_columns + 1, T'], of the gradient
    rho: Array  # float64[HISTORY], 1 over the inner product of a step and its change


@njit(cache=True, nogil=True, error_model="numpy")
def fit(rows, examples, weights, stop):
    """Minimize the loss over the weights float32[n_columns + 1, T'], in place.

    Gives up when the flag `stop` is raised.
    """
    gradient, new_gradient, new_weights = np.empty_like(weights), np.empty_like(weights), np.empty_like(weights)
    shape = (HISTORY, *weights.shape)
    memory = Memory(np.empty(shape, np.float32), np.empty(shape, np.float32), np.zeros(HISTORY))
    n_kept, head = 0, 0
    value = loss(rows, examples, weights, gradient, stop)
    for _ in range(MAX_ITERATIONS):
        direction = downhill(gradient, memory, n_kept, head, stop)
        if is_raised(stop):
            return
        slope, length, new_value = dot(gradient, direction), 1.0, math.inf
        if slope >= 0.0:
            return
        for _ in range(MAX_HALVINGS):
            new_weights[:] = weights
            add_scaled(new_weights, length, direction)
            new_value = loss(rows, examples, new_weights, new_gradient, stop)
            if is_raised(stop):
                return
            if new_value <= value + 1e-4 * length * slope:
                break
            length *= 0.5
        if not new_value < value:
            return
        if remember(memory, head, weights, new_weights, gradient, new_gradient):
            head = (head + 1) % HISTORY
            n_kept = min(n_kept + 1, HISTORY)
        gain, value = value - new_value, new_value
        weights[:] = new_weights
        gradient[:] = new_gradient
        if gain < TOLERANCE * abs(value):
            return


@njit(cache=True, nogil=True, error_model="numpy")
def remember(memory, head, weights, new_weights, gradient, new_gradient):
    """Write the last step into its place; whether it is to be kept, since the loss is convex along it."""
    memory.steps[head] = new_weights
    add_scaled(memory.steps[head], -1.0, weights)
    memory.changes[head] = new_gradient
    add_scaled(memory.changes[head], -1.0, gradient)
    curvature = dot(memory.steps[head], memory.changes[head])
    if curvature > 0.0:
        memory.rho[head] = 1.0 / curvature
    return curvature > 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def downhill(gradient, memory, n_kept, head, stop):
    """Minus the inverse Hessian, as remembered, times the gradient: the two loops of the algorithm.

    Gives up when the flag `stop` is raised.
    """
    steps, changes, rho = memory
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
