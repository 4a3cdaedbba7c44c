"""What the machine gives, whoever else is using it: bandwidth of memory, a second core. Linux, for peak memory."""

import itertools
import os
import platform
import statistics
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numba import njit

from sampler.corpus import Array

TRIAD_BYTES = 1_000_000_000  # of three arrays together: no cache holds them
SPINS = 20_000_000


class PeakMemory:
    """The most memory that this process held at once since `forget`, beyond what it held when the object was made.

    The kernel's own mark belongs to the process image, unlike ru_maxrss, which a child inherits. Pages of mapped files
    count when they were touched.
    """

    def __init__(self) -> None:
        self.before = status("VmRSS")
        self.forget()

    def forget(self) -> None:
        """Begin anew."""
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")

    @property
    def mb(self) -> int:
        """Megabytes, of a million bytes."""
        return (status("VmHWM") - self.before) * 1024 // 1_000_000


def status(field: str) -> int:
    """A field of this process's status, in kB."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


def describe() -> dict[str, object]:
    """The machine in one line of JSON."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return {
        "name": "machine",
        "processor": next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), ""),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "second_core": second_core(),
        "triad_gb_per_second": {n_threads: triad_bandwidth(n_threads) for n_threads in (1, 2)},
    }


def second_core() -> float:
    """How much more two threads compute than one: 2 on two free cores, 1 where the second is busy."""
    alone = seconds_of([lambda: spin(SPINS)])
    together = seconds_of([lambda: spin(SPINS)] * 2)
    return round(2 * alone / together, 2)


def triad_bandwidth(n_threads: int, repeats: int = 5) -> float:
    """GB/s of a = b + s c over arrays that no cache holds: two read and one written, 24 bytes an element."""
    a, b, c = (np.ones(TRIAD_BYTES // 24) for _ in range(3))
    bounds = np.linspace(0, a.size, n_threads + 1).astype(np.int64)

    def part(first: int, end: int) -> Callable[[], object]:
        return lambda: triad(a, b, c, first, end)

    parts = [part(int(first), int(end)) for first, end in itertools.pairwise(bounds)]
    return round(24e-9 * a.size / statistics.median(seconds_of(parts) for _ in range(repeats)), 1)


def seconds_of(tasks: list[Callable[[], object]]) -> float:
    """Wall time until all tasks, a thread each, are done."""
    threads = [threading.Thread(target=task) for task in tasks]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - began


def compile_kernels() -> None:
    """Before the clock runs."""
    spin(1)
    a, b, c = np.ones((3, 1))
    triad(a, b, c, 0, 1)


@njit(cache=True, nogil=True)
def spin(n: int) -> float:
    """Arithmetic that touches no memory, each step waiting for the one before."""
    x = 1.0
    for _ in range(n):
        x = 0.5 * x + 1.0
    return x


@njit(cache=True, nogil=True)
def triad(a: Array, b: Array, c: Array, first: int, end: int) -> None:
    """Add one array, scaled, to another."""
    for i in range(first, end):
        a[i] = b[i] + 3.0 * c[i]
