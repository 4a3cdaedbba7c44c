"""Threads that share the work of a sweep. What is computed never depends on how many there are.

Whoever wants the work to end raises a flag from another thread: long work looks at it, gives up, and Interrupted is
raised. Kernels look at it themselves (`is_raised`) and return with what they have; their callers check.
"""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from sampler.corpus import Array

PIECES_PER_THREAD = 16  # each takes the next piece when it is free, so that all end together
FEWEST_PIECES = 64  # for a single thread too: the flag is looked at between two pieces

Work = Callable[[int, int, int], None]  # (thread, first, end)


class Interrupted(Exception):
    """The work was given up because its flag was raised; what it was changing must not be used further."""


class Pieces(NamedTuple):
    """Ranges of documents or words, of which any thread takes the next when it is free."""

    bounds: Array  # int64[P + 1], ascending: the ranges follow one another
    taken: Array  # int64[1], how many have been
    stop: Array  # int64[1], the flag: once it is not 0, nobody takes another one


class Threads:
    """Plain threads that call compiled kernels, which do not hold the interpreter's lock.

    Kernels take their pieces themselves: a thread that comes back for each of them would wait for the lock.
    `n_pieces` is for tests: the result is the same for any. `stop` int64[1] is the flag: once it is not 0, all that
    these threads do raises Interrupted soon. It is not lowered again.
    """

    def __init__(self, n_threads: int = 1, n_pieces: int | None = None, stop: Array | None = None) -> None:
        self.n_threads = n_threads
        self.n_pieces = n_pieces or max(PIECES_PER_THREAD * n_threads, FEWEST_PIECES)
        self.stop = lowered() if stop is None else stop
        self.pool = ThreadPoolExecutor(n_threads - 1) if n_threads > 1 else None

    def __enter__(self) -> "Threads":
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

    def pieces(self, bounds: Array) -> Pieces:
        """Pieces with these bounds, none of which has been taken."""
        return pieces_of(bounds, self.stop)

    def check(self) -> None:
        """Raise Interrupted if the flag is raised."""
        if self.stop[0]:
            raise Interrupted("the work was given up: its flag is raised")

    def slices(self, size: int, step: int) -> Iterator[slice]:
        """Ranges of up to `step` numbers, of all below `size`, and a check before each: for long work on arrays."""
        for first in range(0, size, max(step, 1)):
            self.check()
            yield slice(first, min(first + max(step, 1), size))

    def run(self, work: Callable[[int], None]) -> None:
        """Call work(thread) for every thread at once, here too; the first error is raised when all have ended."""
        self.check()
        others = [self.pool.submit(work, thread) for thread in range(1, self.n_threads)] if self.pool else []
        try:
            work(0)
        finally:
            wait(others)
        for other in others:
            other.result()
        self.check()

    def share(self, work: Work, ranges: list[tuple[int, int]]) -> None:
        """Do long pieces of work that do not take them themselves."""
        rest, lock = iter(ranges), threading.Lock()

        def take_turns(thread: int) -> None:
            while True:
                with lock:
                    piece = next(rest, None)
                if piece is None:
                    return
                self.check()
                work(thread, *piece)

        self.run(take_turns)


def lowered() -> Array:
    """int64[1]: a flag that is not raised."""
    return np.zeros(1, np.int64)


def pieces_of(bounds: Array, stop: Array | None = None) -> Pieces:
    """Pieces with these bounds, none of which has been taken."""
    return Pieces(bounds, np.zeros(1, np.int64), lowered() if stop is None else stop)


@intrinsic
def fetch_add_one(typing_context, counter):  # type: ignore[no-untyped-def]
    """counter[0] of an int64 array, which is one more afterwards, however many threads do so at once."""
    if not isinstance(counter, types.Array) or counter.dtype != types.int64:
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.atomic_rmw("add", array.data, ir.Constant(ir.IntType(64), 1), "monotonic")

    return types.int64(counter), generate


@intrinsic
def is_raised(typing_context, flag):  # type: ignore[no-untyped-def]
    """Whether flag[0] of an int64 array is not 0, read from memory each time: another thread may raise it meanwhile.

    An atomic load is an ordinary one to the processor, but no compiler moves it out of a loop.
    """
    if not isinstance(flag, types.Array) or flag.dtype != types.int64:
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        value = builder.load_atomic(array.data, "monotonic", align=8)
        return builder.icmp_signed("!=", value, ir.Constant(value.type, 0))

    return types.boolean(flag), generate


@njit(cache=True, nogil=True, inline="always")
def take(pieces):  # type: ignore[no-untyped-def]
    """The first and the end of the next piece; both are 0 when all have been taken, or the flag is raised."""
    piece: Any = fetch_add_one(pieces.taken)  # type: ignore[call-arg]
    if piece >= pieces.bounds.size - 1 or is_raised(pieces.stop):
        return np.int64(0), np.int64(0)
    return pieces.bounds[piece], pieces.bounds[piece + 1]
