"""Contestants over one corpus, each in a process of its own, sweeping in turn.

A round lets each contestant make some sweeps while the others wait, in another order every time: a busy neighbour
hits all alike, and the median over rounds forgets it. The first sweeps of a round do not count: after a rest it takes
some tens of milliseconds until two threads run on two cores.
"""

import multiprocessing
import statistics
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from benchmarks import corpora, machine, ours, peers
from sampler.corpus import Corpus
from sampler.hyperparameters import Hyperparameters, Kernel

END = 0  # no more sweeps


class Contestant(NamedTuple):
    """Who sweeps, on how many threads."""

    name: str
    kind: str  # a kernel of ours, or hdp, lda
    n_threads: int


CONTESTANTS = {
    contestant.name: contestant
    for contestant in (
        Contestant("blocked, 1 thread", "blocked", 1),
        Contestant("blocked, 2 threads", "blocked", 2),
        Contestant("Algorithm 1", "collapsed", 1),
        Contestant("tomotopy HDP, 1 worker", "hdp", 1),
        Contestant("tomotopy HDP, 2 workers", "hdp", 2),
        Contestant("tomotopy LDA, 1 worker", "lda", 1),
        Contestant("tomotopy LDA, 2 workers", "lda", 2),
    )
}


class Pace(NamedTuple):
    """How long a contest lasts."""

    warm: int  # sweeps before the first round
    rounds: int
    lead: int  # sweeps at the beginning of each round that do not count
    sweeps: int  # in each round, that count


class Sweeper(Protocol):
    """What a contestant can do."""

    def sweep(self, n: int) -> None: ...
    def report(self) -> dict[str, object]: ...


class Child:
    """The process of one contestant, seen from outside. It is ready when it has been made."""

    def __init__(self, contestant: Contestant, folder: Path, n_start: int, pace: Pace) -> None:
        self.contestant = contestant
        self.seconds: list[float] = []  # of a sweep, one mean a round
        self.processor_seconds: list[float] = []  # of all its threads
        context = multiprocessing.get_context("spawn")
        self.pipe, its_end = context.Pipe()
        self.process = context.Process(target=live, args=(its_end, contestant, folder, n_start, pace), daemon=True)
        self.process.start()
        its_end.close()
        self.facts = self.receive()

    def receive(self) -> Any:
        """What the child says. Raises RuntimeError if it died, having told why on its standard error."""
        try:
            return self.pipe.recv()
        except EOFError:
            self.process.join()
            raise RuntimeError(f"{self.contestant.name} ended with status {self.process.exitcode}") from None

    def sweep(self, n: int) -> None:
        """One round."""
        self.pipe.send(n)
        seconds, processor_seconds = self.receive()
        self.seconds.append(seconds / n)
        self.processor_seconds.append(processor_seconds / n)

    def end(self) -> dict[str, Any]:
        """What it has measured, as a line of JSON."""
        self.pipe.send(END)
        report: dict[str, Any] = self.receive()
        self.process.join()
        median = statistics.median(self.seconds)
        return {
            "name": self.contestant.name,
            "threads": self.contestant.n_threads,
            **self.facts,
            "seconds_per_sweep": round(median, 5),
            "fastest": round(min(self.seconds), 5),
            "slowest": round(max(self.seconds), 5),
            "processor_seconds_per_sweep": round(statistics.median(self.processor_seconds), 5),
            "tokens_per_second": round(self.facts["tokens"] / median),
            "rounds": len(self.seconds),
            **report,
        }


def hold(contestants: list[Contestant], folder: Path, n_start: dict[str, int], pace: Pace) -> list[dict[str, Any]]:
    """A contest; one line a contestant. `n_start` is by kind. Each starts and warms up while the others wait."""
    machine.compile_kernels()
    children: list[Child] = []
    lines: list[dict[str, Any]] = []
    for contestant in contestants:
        try:
            children.append(Child(contestant, folder, n_start.get(contestant.kind, Hyperparameters.n_start), pace))
        except RuntimeError as error:
            lines.append({"name": contestant.name, "error": str(error)})
    second_core = []
    for number in range(pace.rounds if children else 0):
        second_core.append(machine.second_core())
        first = number % len(children)
        for child in children[first:] + children[:first]:
            child.sweep(pace.sweeps)
    return lines + [{**child.end(), "second_core": round(statistics.median(second_core), 2)} for child in children]


def live(pipe: Connection, contestant: Contestant, folder: Path, n_start: int, pace: Pace) -> None:
    """The life of a child: start, warm up, sweep as often as it is told, report."""
    if contestant.kind in ("blocked", "collapsed"):
        ours.compile_kernels(kernel_of(contestant))
    peak = machine.PeakMemory()
    corpus = corpora.load(folder)
    began = time.perf_counter()
    sweeper = make(contestant, corpus, n_start)
    started = time.perf_counter()
    sweeper.sweep(pace.warm)
    start_peak = peak.mb
    peak.forget()
    pipe.send(
        {
            "tokens": corpus.n_tokens,
            "documents": corpus.n_documents,
            "words": corpus.n_words,
            "start_seconds": round(started - began, 2),
        }
    )
    while (n := pipe.recv()) != END:
        sweeper.sweep(pace.lead)
        before, processor_before = time.perf_counter(), time.process_time()
        sweeper.sweep(n)
        pipe.send((time.perf_counter() - before, time.process_time() - processor_before))
    pipe.send(
        {
            "peak_memory_mb": max(start_peak, peak.mb),
            "peak_memory_of_sweeps_mb": peak.mb,
            **sweeper.report(),
        }
    )


def make(contestant: Contestant, corpus: Corpus, n_start: int) -> Sweeper:
    """The contestant itself, before its first sweep."""
    hyperparameters = Hyperparameters(n_start=n_start)
    if contestant.kind in ("hdp", "lda"):
        return peers.Tomotopy(corpus, contestant.kind, contestant.n_threads, hyperparameters.n_topics, seed=0)
    return ours.Chain(corpus, kernel_of(contestant), contestant.n_threads, hyperparameters, seed=0)


def kernel_of(contestant: Contestant) -> Kernel:
    """The kernel of one of ours."""
    return "blocked" if contestant.kind == "blocked" else "collapsed"
