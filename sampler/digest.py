"""A hash chain over a chain's states: two runs with equal digests went through equal states."""

import hashlib
import json
import struct
from dataclasses import asdict

from sampler.assignments import Assignments
from sampler.corpus import Corpus, fingerprint
from sampler.hyperparameters import Hyperparameters


def first_digest(corpus: Corpus, hyperparameters: Hyperparameters, seed: int, chain: int) -> str:
    """The digest before the first sweep, hexadecimal SHA-256 of all that the chain follows from."""
    given = {"corpus": fingerprint(corpus), "seed": seed, "chain": chain, **asdict(hyperparameters)}
    return hashlib.sha256(json.dumps(given, sort_keys=True).encode()).hexdigest()


def next_digest(digest: str, assignments: Assignments, alpha: float, gamma: float) -> str:
    """The digest after one more sweep, which left this state."""
    hashed = hashlib.sha256(digest.encode())
    for array in (assignments.table, assignments.category, assignments.topic):
        hashed.update(array.tobytes())
    hashed.update(struct.pack("<dd", alpha, gamma))
    return hashed.hexdigest()
