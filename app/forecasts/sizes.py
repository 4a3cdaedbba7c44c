"""How large a corpus is, and what a job over it takes: what the forecasts of all models are made of."""

from collections.abc import Mapping
from typing import NamedTuple

from app.core.kinds import UnitKind

OVERHEAD = 0.05  # seconds of any unit: the corpus mapped, the kernels loaded, the first and the last transaction
IDLE_BYTES = 300_000_000  # of a worker that has loaded all kernels
TOKEN_BYTES, DOCUMENT_BYTES = 45, 200  # of a corpus, its bags and a chain over it


class Sizes(NamedTuple):
    """How large a corpus is once it is encoded."""

    n_documents: int
    n_tokens: int
    n_words: int
    n_known: int

    @property
    def n_categories(self) -> int:
        """Categories of an answer, as a guess: about as many new ones as known ones."""
        return 2 * self.n_known + 2


# A corpus of a middling size: for what is to be the same whatever the size.
REFERENCE = Sizes(n_documents=5_000, n_tokens=500_000, n_words=10_000, n_known=8)


class Work(NamedTuple):
    """Seconds of one unit of a kind: `start` before its first sweep or step, then `part` for each of `n_parts`."""

    start: float
    part: float = 0.0
    n_parts: int = 0

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.start + self.n_parts * self.part

    @property
    def first(self) -> float:
        """Until the first save."""
        return self.start + min(self.n_parts, 1) * self.part


class Forecast(NamedTuple):
    """What a job takes."""

    works: Mapping[str, Work]  # by kind of unit: of one unit
    n_chains: int
    peak_bytes: int  # of the worker that needs most memory

    @property
    def job_seconds(self) -> float:
        """Seconds that one worker needs for a job, without a power test."""
        return sum(self.seconds(kind) for kind in self.works if kind != UnitKind.POWER)

    def seconds(self, kind: str) -> float:
        """Seconds that all units of a kind take one after another."""
        return self.works[kind].seconds * (self.n_chains if kind == UnitKind.CHAIN else 1)


def encode(sizes: Sizes) -> Work:
    """Texts to tokens, and these sorted."""
    return Work(OVERHEAD + 1.1e-6 * sizes.n_tokens)


def corpus_bytes(sizes: Sizes) -> int:
    """Memory of a worker that holds a corpus and a chain over it."""
    return IDLE_BYTES + TOKEN_BYTES * sizes.n_tokens + DOCUMENT_BYTES * sizes.n_documents
