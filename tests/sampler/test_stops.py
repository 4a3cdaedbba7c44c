"""Long work is given up soon after its flag is raised, whatever it is; a flag that stays down changes nothing."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import pytest
from numba import njit

from sampler.corpus import Array
from sampler.numerics.threads import Interrupted, Threads, is_raised, lowered, take
from tests.sampler.stages import LARGE, SMALL, STAGES

MOMENTS = (0.02, 0.4)  # seconds after which the flag is raised
SOON = 10.0  # seconds: a tenth of one on a quiet machine, where no large stage takes less than half a minute


@contextmanager
def raised_after(seconds: float, stop: Array) -> Iterator[None]:
    """Another thread raises the flag, this long after the context begins."""
    timer = threading.Timer(seconds, stop.fill, [1])
    timer.start()
    yield
    timer.join()


@cache
def alone(stage: str) -> object:
    """What comes of a small stage in one thread whose flag nobody can raise; it also compiles what the stage needs."""
    return STAGES[stage](SMALL)(Threads())


@pytest.mark.parametrize("stage", STAGES)
def test_a_flag_that_stays_down_changes_nothing(stage: str) -> None:
    for n_threads, n_pieces in ((1, None), (2, None), (2, 3)):
        with Threads(n_threads, n_pieces, lowered()) as threads:
            assert_same(STAGES[stage](SMALL)(threads), alone(stage))


def assert_same(found: Any, expected: Any) -> None:
    """Equal to the last bit, however deep."""
    assert type(found) is type(expected)
    if isinstance(found, np.ndarray):
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        assert found.tobytes() == expected.tobytes()
    elif isinstance(found, (list, tuple)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    elif isinstance(found, dict):
        assert list(found) == list(expected)
        assert_same(list(found.values()), list(expected.values()))
    else:
        assert found == expected


@pytest.mark.parametrize("stage", STAGES)
def test_work_is_given_up_soon_after_its_flag_is_raised(stage: str) -> None:
    alone(stage)
    for seconds in MOMENTS:
        work, stop = STAGES[stage](LARGE), lowered()
        with Threads(2, stop=stop) as threads, raised_after(seconds, stop):
            began = time.monotonic()
            with pytest.raises(Interrupted):
                while True:  # some are done before the flag is raised
                    work(threads)
        assert time.monotonic() - began < seconds + SOON


@njit(nogil=True)
def wait_for(flag, n):  # type: ignore[no-untyped-def]
    """Turns of a loop that does nothing else; a compiler that could would ask once."""
    for turn in range(n):
        if is_raised(flag):
            return turn
    return n


def test_a_kernel_sees_what_another_thread_writes() -> None:
    flag, long = lowered(), 10**15
    assert wait_for(flag, 5) == 5
    with raised_after(0.2, flag):
        assert 0 < wait_for(flag, long) < long
    assert wait_for(flag, long) == 0


@njit(nogil=True)
def raise_after(pieces, n, taken):  # type: ignore[no-untyped-def]
    """Take pieces, of which the n-th raises the flag itself."""
    first, end = take(pieces)
    while first < end:
        taken[first:end] = True
        n -= 1
        if n == 0:
            pieces.stop[0] = 1
        first, end = take(pieces)


def test_nobody_takes_a_piece_once_the_flag_is_raised() -> None:
    with Threads(n_pieces=20, stop=lowered()) as threads:
        taken, pieces = np.zeros(100, bool), threads.pieces(threads.cut(np.arange(101)))
        with pytest.raises(Interrupted):
            threads.run(lambda thread: raise_after(pieces, 3, taken))
        assert np.flatnonzero(taken).tolist() == list(range(15))
        with pytest.raises(Interrupted):
            threads.run(lambda thread: raise_after(threads.pieces(pieces.bounds), 3, taken))
        assert taken.sum() == 15


@pytest.mark.parametrize("n_threads", [1, 3])
def test_no_range_is_shared_once_the_flag_is_raised(n_threads: int) -> None:
    stop, done = lowered(), []

    def work(thread: int, first: int, end: int) -> None:
        done.append(first)
        if first == 5:
            stop[0] = 1

    with Threads(n_threads, stop=stop) as threads, pytest.raises(Interrupted):
        threads.share(work, [(i, i + 1) for i in range(1_000)])
    assert 6 <= len(done) < 6 + n_threads


def test_slices_cover_everything_until_the_flag_is_raised() -> None:
    with Threads(stop=lowered()) as threads:
        for size, step in ((0, 3), (7, 3), (6, 3), (2, 0), (3, 10)):
            numbers = np.arange(size)
            found = [numbers[some].tolist() for some in threads.slices(size, step)]
            assert [n for part in found for n in part] == numbers.tolist()
            assert all(0 < len(part) <= max(step, 1) for part in found)
        seen = []
        with pytest.raises(Interrupted):
            for some in threads.slices(10, 2):
                seen.append(some.stop)
                threads.stop[0] = some.stop >= 4
    assert seen == [2, 4]
