"""What all methods share: what they are given, where they stand, and how that is kept as bytes.

A method advances by sweeps, as chains do: a pass over the documents, a round of an optimizer, a sweep of a sampler. So
a job of any method shows its progress, stops within a sweep, and goes on from its last checkpoint with the same bytes.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from sampler.answers.tally import Tally, no_tally
from sampler.archive import CheckpointError, pack, unpack
from sampler.corpus import Array, Corpus, fingerprint
from sampler.digest import next_digest
from sampler.numerics.threads import Threads


class Given(NamedTuple):
    """What a method is given."""

    corpus: Corpus
    n_categories: int  # K, the known ones included; 0 for a method that finds the number
    seed: int
    threads: Threads


@dataclass
class MethodState:
    """Where one run of a method stands; advanced in place."""

    fingerprint: str
    seed: int
    chain: int
    category: Array  # int32[D], of each document: known ones first; NO_CATEGORY for one that has none
    objective: float  # the higher the better: what a method minimizes has a minus sign
    is_settled: bool = False  # nothing changes any more
    own: dict[str, Array] = field(default_factory=dict)  # what else the method goes on from
    n_sweeps: int = 0
    digest: str = ""
    tally: Tally = field(default_factory=no_tally)


class Method(Protocol):
    """A method over its corpus. Random numbers come from the stream of (seed, chain, sweep, Step.METHOD) alone."""

    def start(self, chain: int) -> MethodState:
        """A run before its first sweep. `new_state` makes it."""

    def sweep(self, state: MethodState) -> None:
        """One sweep, in place: `category`, `objective`, `is_settled` and `own`. `n_sweeps` already counts it."""


def new_state(given: Given, chain: int, category: Array, objective: float, **own: Array) -> MethodState:
    """A run before its first sweep; `category` int[D]."""
    mark = fingerprint(given.corpus)
    digest = hashlib.sha256(f"{mark} {given.seed} {chain} {given.n_categories}".encode()).hexdigest()
    return MethodState(
        mark, given.seed, chain, category.astype(np.int32), float(objective), own=dict(own), digest=digest
    )


def advance(method: Method, state: MethodState) -> None:
    """One sweep, which costs nothing once the run has settled."""
    state.n_sweeps += 1
    if not state.is_settled:
        method.sweep(state)
    state.digest = next_digest(state.digest, [state.category], state.objective, 0.0)


def dump(state: MethodState) -> bytes:
    """The state as bytes; equal states give equal bytes."""
    facts = {
        "corpus": state.fingerprint,
        "seed": state.seed,
        "chain": state.chain,
        "objective": float(state.objective).hex(),
        "is_settled": bool(state.is_settled),
        "n_sweeps": state.n_sweeps,
        "digest": state.digest,
        "n_draws": state.tally.n_draws,
        "own": list(state.own),
    }
    tally = {f"tally_{name}": getattr(state.tally, name) for name in ("document", "identity", "hits")}
    own = {f"own_{name}": np.asarray(array) for name, array in state.own.items()}
    return pack(facts, {"category": state.category, **own, **tally})


def load(corpus: Corpus, data: bytes) -> MethodState:
    """The state that was dumped. Raises CheckpointError for another corpus or damaged bytes."""
    facts, arrays = unpack(data)
    if facts["corpus"] != fingerprint(corpus):
        raise CheckpointError("the checkpoint belongs to another corpus")
    try:
        return MethodState(
            fingerprint=facts["corpus"],
            seed=facts["seed"],
            chain=facts["chain"],
            category=arrays["category"],
            objective=float.fromhex(facts["objective"]),
            is_settled=facts["is_settled"],
            own={name: arrays[f"own_{name}"] for name in facts["own"]},
            n_sweeps=facts["n_sweeps"],
            digest=facts["digest"],
            tally=tally_of(facts["n_draws"], arrays),
        )
    except KeyError as error:
        raise CheckpointError(f"the checkpoint has no {error}") from error


def tally_of(n_draws: int, arrays: Mapping[str, Array]) -> Tally:
    """The tally among the arrays of a checkpoint."""
    return Tally(n_draws, arrays["tally_document"], arrays["tally_identity"], arrays["tally_hits"])
