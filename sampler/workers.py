"""Threads that share the work of a sweep. What is computed never depends on how many there are."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from sampler.corpus import Array

PIECES_PER_WORKER = 16  # a worker takes the next piece when it is free, so that all end together

Work = Callable[[int, int, int], None]  # (worker, first, end)


class Pieces(NamedTuple):
    """Ranges of documents or words, of which any worker takes the next when it is free."""

    bounds: Array  # int64[P + 1], ascending: the ranges follow one another
    taken: Array  # int64[1], how many have been


class Workers:
    """Plain threads that call compiled kernels, which do not hold the interpreter's lock.

    Kernels take their pieces themselves: a thread that comes back for each of them would wait for the lock.
    `n_pieces` is for tests: the result is the same for any.
    """

    def __init__(self, n_workers: int = 1, n_pieces: int | None = None) -> None:
        self.n_workers = n_workers
        self.n_pieces = n_pieces or (PIECES_PER_WORKER * n_workers if n_workers > 1 else 1)
        self.pool = ThreadPoolExecutor(n_workers - 1) if n_workers > 1 else None

    def __enter__(self) -> "Workers":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.pool is not None:
            self.pool.shutdown()

    def cut(self, costs: Array) -> Array:
        """int64[P + 1]: bounds of ranges of about equal total cost; `costs` int64[n + 1] is cumulative from 0."""
        wanted = costs[-1] * np.arange(1, self.n_pieces) // self.n_pieces
        return np.unique(np.concatenate([[0], np.searchsorted(costs, wanted), [costs.size - 1]]))

    def run(self, work: Callable[[int], None]) -> None:
        """Call work(worker) for every worker at once, here too; the first error is raised when all have ended."""
        others = [self.pool.submit(work, worker) for worker in range(1, self.n_workers)] if self.pool else []
        try:
            work(0)
        finally:
            wait(others)
        for other in others:
            other.result()

    def share(self, work: Work, ranges: list[tuple[int, int]]) -> None:
        """Do long pieces of work that do not take them themselves."""
        rest, lock = iter(ranges), threading.Lock()

        def take_turns(worker: int) -> None:
            while True:
                with lock:
                    piece = next(rest, None)
                if piece is None:
                    return
                work(worker, *piece)

        self.run(take_turns)


def pieces_of(bounds: Array) -> Pieces:
    """Pieces with these bounds, none of which has been taken."""
    return Pieces(bounds, np.zeros(1, np.int64))


@intrinsic
def fetch_add_one(typing_context, counter):  # type: ignore[no-untyped-def]
    """counter[0] of an int64 array, which is one more afterwards, however many threads do so at once."""
    if not isinstance(counter, types.Array) or counter.dtype != types.int64:
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.atomic_rmw("add", array.data, ir.Constant(ir.IntType(64), 1), "monotonic")

    return types.int64(counter), generate


@njit(cache=True, nogil=True, inline="always")
def take(pieces):  # type: ignore[no-untyped-def]
    """The first and the end of the next piece; both are 0 when all have been taken."""
    piece: Any = fetch_add_one(pieces.taken)  # type: ignore[call-arg]
    if piece >= pieces.bounds.size - 1:
        return np.int64(0), np.int64(0)
    return pieces.bounds[piece], pieces.bounds[piece + 1]
