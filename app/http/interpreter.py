"""The interpreter of a process that answers many requests at once: pauses are short, and memory is given back."""

import ctypes
from contextlib import suppress

from app.core.loading import collect_seldom

M_ARENA_MAX = -8  # of glibc's mallopt


def calm() -> None:
    """Collect garbage seldom, and let all threads share a heap: glibc gives each its own, which keeps what it took."""
    collect_seldom()
    with suppress(AttributeError, OSError):  # another C library
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)
