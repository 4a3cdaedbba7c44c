"""A hash chain over a chain's states: two runs with equal digests went through equal states."""

import hashlib
import json
import struct
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from sampler.corpus import Array


def first_digest(given: Mapping[str, Any]) -> str:
    """The digest before the first sweep, hexadecimal SHA-256 of all that the chain follows from, as JSON values."""
    return hashlib.sha256(json.dumps(given, sort_keys=True).encode()).hexdigest()


def next_digest(digest: str, arrays: Iterable[Array], *numbers: float) -> str:
    """The digest after one more sweep, which left these arrays and numbers."""
    hashed = hashlib.sha256(digest.encode())
    for array in arrays:
        hashed.update(np.ravel(array).data)
    hashed.update(struct.pack(f"<{len(numbers)}d", *numbers))
    return hashed.hexdigest()
