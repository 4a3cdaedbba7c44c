"""Threads that share the work of a sweep. What is computed never depends on how many there are."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from types import TracebackType

import numpy as np

from sampler.corpus import Array

PIECES_PER_WORKER = 8  # a worker takes the next piece when it is free, so that all end together

Work = Callable[[int, int, int], None]  # (worker, first, end)


class Workers:
    """Plain threads that call compiled kernels, which do not hold the interpreter's lock.

    A piece of work is a range of documents or words. `n_pieces` is for tests: the result is the same for any.
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

    def cut(self, costs: Array) -> list[tuple[int, int]]:
        """Ranges of things of about equal total cost; `costs` int64[n + 1] is cumulative and starts at 0."""
        wanted = costs[-1] * np.arange(1, self.n_pieces) // self.n_pieces
        bounds = np.unique(np.concatenate([[0], np.searchsorted(costs, wanted), [costs.size - 1]]))
        return list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))

    def share(self, work: Work, pieces: list[tuple[int, int]]) -> None:
        """Do the work on all pieces, the caller's thread too; the first error is raised here when all have ended."""
        rest, lock = iter(pieces), threading.Lock()

        def take_turns(worker: int) -> None:
            while True:
                with lock:
                    piece = next(rest, None)
                if piece is None:
                    return
                work(worker, *piece)

        others = [self.pool.submit(take_turns, worker) for worker in range(1, self.n_workers)] if self.pool else []
        try:
            take_turns(0)
        finally:
            wait(others)
        for other in others:
            other.result()
