"""How a process loads what it is made of."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

# Objects that are made before a collection, and collections before one that goes further. A line of JSON may hold half
# a million lists, and none is garbage while it is read; by Python's own 700, collections take most of its time, and a
# tenth of a compiler's.
THRESHOLDS = (20_000, 20, 100)


@contextmanager
def loading() -> Iterator[None]:
    """Within this context nothing is searched for garbage, and what is made in it never is.

    Modules, and what is built of them at a start, stay until the process ends. To search them takes a third of the time
    that they take to load, and as long again at the end; meanwhile no other thread runs, for a tenth of a second.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def collect_seldom() -> None:
    """Let garbage be searched for seldom from now on."""
    gc.set_threshold(*THRESHOLDS)
