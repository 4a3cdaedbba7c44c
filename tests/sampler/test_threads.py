"""Work is done once and whole, whoever does it."""

import threading

import numpy as np
import pytest
from numba import njit

from sampler.numerics.threads import Threads, pieces_of, take


@njit(nogil=True)  # type: ignore[untyped-decorator]
def count(pieces, counts):  # type: ignore[no-untyped-def]
    """Count one for everything in the pieces that this thread takes."""
    first, end = take(pieces)
    while first < end:
        counts[first:end] += 1
        first, end = take(pieces)


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_everything_is_taken_once_and_by_one_thread(n_threads: int) -> None:
    """200,000 pieces in half a millisecond each time: two threads that took the same one would be seen."""
    n_things, costs = 200_000, np.arange(200_001)
    with Threads(n_threads, n_pieces=n_things) as threads:
        bounds = threads.cut(costs)
        for _ in range(20):
            counts, pieces = np.zeros((n_threads, n_things), np.int64), pieces_of(bounds)
            assert pieces.bounds.size == n_things + 1
            threads.run(lambda thread, pieces=pieces, counts=counts: count(pieces, counts[thread]))  # type: ignore[misc]
            np.testing.assert_array_equal(counts.sum(axis=0), 1)


def test_pieces_follow_one_another_and_cost_about_the_same() -> None:
    costs = np.concatenate([[0], np.cumsum(np.random.default_rng(1).integers(1, 50, 3_000))])
    with Threads(2) as threads:
        bounds = threads.cut(costs)
    assert (bounds[0], bounds[-1]) == (0, 3_000) and (np.diff(bounds) > 0).all()
    each = np.diff(costs[bounds])
    assert each.max() - each.min() <= 2 * 49  # either end of a piece is within one thing of the wanted place


def test_an_error_is_raised_when_all_have_ended() -> None:
    ended, others = [], threading.Barrier(3)

    def fail_first(thread: int) -> None:
        others.wait(10.0)
        if thread == 1:
            raise ZeroDivisionError(f"thread {thread}")
        ended.append(thread)

    with Threads(3) as threads, pytest.raises(ZeroDivisionError, match="thread 1"):
        threads.run(fail_first)
    assert sorted(ended) == [0, 2]


def test_ranges_are_shared_among_all() -> None:
    seen: list[tuple[int, int]] = []
    with Threads(3) as threads:
        threads.share(lambda thread, first, end: seen.append((first, end)), [(i, i + 1) for i in range(100)])
    assert sorted(seen) == [(i, i + 1) for i in range(100)]
