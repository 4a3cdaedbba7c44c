"""Vectors of documents as rows keep them: float16, two bytes a number."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[Any]

SHORTEST, LONGEST = 4, 4_096  # numbers of a vector
NUMBER_BYTES = 2  # of each


def to_bytes(vector: Numbers | Sequence[float]) -> bytes:
    """A vector, each number rounded to float16. It is made 1 long before: no number of it can be too large then.

    One of zeros alone stays so.
    """
    numbers = np.asarray(vector, np.float64)
    scale = float(np.abs(numbers).max(initial=0.0))
    if scale > 0.0:
        numbers = numbers / scale  # squares of what is huge or tiny would be no numbers
        numbers = numbers / np.sqrt((numbers * numbers).sum())
    return numbers.astype("<f2").tobytes()


def from_bytes(data: bytes) -> Numbers:
    """float16[n], see `to_bytes`."""
    return np.frombuffer(data, "<f2")
