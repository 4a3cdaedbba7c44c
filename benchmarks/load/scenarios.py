"""What a scenario is, and how large; the first of them does nothing."""

import math
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from benchmarks.load import documents
from benchmarks.load.client import NO_ANSWER, Answer
from benchmarks.load.service import Service
from tests.waits import REQUEST_SECONDS

T = TypeVar("T")
Figures = dict[str, Any]


@dataclass(frozen=True)
class Scale:
    """How much load, and how long: each scenario for at least and at most so many seconds."""

    least: float
    limit: float
    searched_documents: int  # by each job that no document is usable for
    submits: int
    head_bytes: tuple[int, ...]
    first_documents: int
    columns: int
    records: int
    jobs: int
    stop_words: int  # of each of these jobs
    drips: int  # of each of five kinds
    deleted_documents: int
    uploads: int
    uploaded_documents: int  # by each
    null_seconds: float  # beside clients of a server that does nothing
    together_seconds: float  # beside those of the service


SCALES = {
    "small": Scale(
        least=2.0,
        limit=12.0,
        searched_documents=2_000,
        submits=45,
        head_bytes=(2**24,),
        first_documents=10_000,
        columns=130_000,
        records=10,
        jobs=100,
        stop_words=1_000,
        drips=20,
        deleted_documents=100_000,
        uploads=20,
        uploaded_documents=1_000,
        null_seconds=6.0,
        together_seconds=8.0,
    ),
    "full": Scale(
        least=10.0,
        limit=90.0,
        searched_documents=60_000,
        submits=45,
        head_bytes=(2**26, 2**27),
        first_documents=100_000,
        columns=130_000,
        records=200,
        jobs=1_000,
        stop_words=1_000,
        drips=20,
        deleted_documents=1_500_000,
        uploads=20,
        uploaded_documents=15_000,
        null_seconds=20.0,
        together_seconds=60.0,
    ),
}


class Scenario(ABC):
    """One kind of load on a service."""

    name: ClassVar[str]
    least_workers: ClassVar[int] = 1
    probe_rate: ClassVar[float] = 20.0  # requests a second of each probe

    def __init__(self, service: Service, scale: Scale) -> None:
        self.service, self.client, self.scale = service, service.client, scale

    def prepare(self) -> None:  # noqa: B027 - most need nothing
        """Put in place what the load needs, before anything is measured; the API was started afresh."""

    @abstractmethod
    def load(self, until: float) -> Figures:
        """Make load; returns figures of its own. Raises TimeoutError when it is not over at `until`."""

    def afterwards(self) -> Figures:
        """More figures, found when nothing is measured any more."""
        return {}

    def misses(self, figures: Figures) -> list[str]:
        """The floors of its own that were missed, a sentence each."""
        return []

    def repeated(self, until: float, act: Callable[[], T], most: float = math.inf) -> list[T]:
        """What an act returns each time, done again until there was load for long enough; at most so often."""
        enough, results = min(time.monotonic() + self.scale.least, until), [act()]
        while time.monotonic() < enough and len(results) < most:
            results.append(act())
        return results

    def full_corpus(self, n: int, texts: Iterable[str]) -> str:
        """The id of a new corpus of so many documents."""
        corpus_id = self.client.make_corpus(time.monotonic() + REQUEST_SECONDS)
        documents.store(self.service.database, corpus_id, n, texts)
        return corpus_id


class Idle(Scenario):
    """Nothing but the probes."""

    name = "idle"

    def load(self, until: float) -> Figures:
        """Wait."""
        time.sleep(self.scale.least)
        return {}


def statuses(answers: Iterable[Answer | None]) -> dict[str, int]:
    """How often each status was answered; no answer has names of its own."""
    return dict(Counter("not in time" if answer is None else named(answer.status) for answer in answers))


def named(status: int) -> str:
    """A status as figures tell it."""
    return "closed without an answer" if status == NO_ANSWER else str(status)


def slowest(answers: Iterable[Answer | None]) -> float:
    """The longest that an answer took; NaN if there was none."""
    return max((answer.seconds for answer in answers if answer is not None), default=float("nan"))
