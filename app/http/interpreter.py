"""The interpreter of a process that answers many requests at once: pauses are short, and memory is given back."""

import ctypes
import gc
from contextlib import suppress

# Objects that are made before a collection, and collections before one that goes further. A line of JSON may hold half
# a million lists, and none is garbage while it is read; by Python's own 700, collections take most of its time.
THRESHOLDS = (20_000, 20, 100)
M_ARENA_MAX = -8  # of glibc's mallopt


def calm() -> None:
    """Collect garbage seldom, and let all threads share a heap: glibc gives each its own, which keeps what it took."""
    gc.set_threshold(*THRESHOLDS)
    with suppress(AttributeError, OSError):  # another C library
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)
