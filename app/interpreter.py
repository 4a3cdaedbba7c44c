"""The interpreter of a process that answers many requests at once: pauses are short, and memory is given back."""

import ctypes
import gc
from contextlib import suppress

M_ARENA_MAX = -8  # of glibc's mallopt


def calm() -> None:
    """Leave what is loaded by now out of garbage collections, and let all threads share one heap.

    While a full collection looks at every object no other thread runs: with all that modules have made, for more than
    a hundred milliseconds. And glibc gives each thread a heap of its own, which keeps what an upload took there.
    """
    gc.collect()
    gc.freeze()
    with suppress(AttributeError, OSError):  # another C library
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)
