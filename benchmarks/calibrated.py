"""The calibrated model as a method of the quality benchmark: all steps of a job, in one process.

`python -m benchmarks.calibrated [--documents N] [--threads T] [--vectors]` times each step on a simulated corpus of
documents of 100 words and 50 categories, half of them known, with vectors of 64 axes if asked for, and prints a JSON
line.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from benchmarks import corpora, machine
from benchmarks.problems import Problem
from benchmarks.scoring import Answer, score
from sampler.answers.consensus import consensus_of_documents
from sampler.calibrated import chain as calibrated_chain
from sampler.calibrated import steps
from sampler.calibrated.chain import CalibratedState
from sampler.calibrated.checkpoint import dump
from sampler.calibrated.conclusion import CalibratedConclusion, conclude_chains
from sampler.calibrated.continued import (
    N_CONTINUED_STEPS,
    Source,
    calibrates_anew,
    continue_chain,
    continued_atom_run,
    continued_step,
    read_steps,
)
from sampler.calibrated.prepared import PreparedCorpus
from sampler.calibrated.steps import Arrays, Calibration
from sampler.carried import Carried
from sampler.copies import Texts, find_copies, texts_from
from sampler.corpus import UNLABELED, Array, Corpus
from sampler.hyperparameters import CalibratedHyperparameters
from sampler.numerics.threads import Threads
from sampler.vectors import N_AXES, axes_of, no_moments, projected
from sampler.vectors import with_vectors as moments_with

N_CHAINS, N_SWEEPS, BURN_IN = 4, 100, 20  # a job's defaults
INTERVAL = (0.05, 0.95)
HYPERPARAMETERS = CalibratedHyperparameters()
N_WORDS, LENGTH, N_CATEGORIES, N_KNOWN, LABELED = 50_000, 100, 50, 25, 0.4  # of the simulated corpus


Clock = Callable[[], float]


class Run(NamedTuple):
    """What the steps of a job leave."""

    texts: Texts
    conclusion: CalibratedConclusion
    numbers: Array  # float64[C, S], the true number of categories by each kept draw
    rates: Array  # float64[n_known], labeling rates
    atom_runs: list[Arrays]
    steps: list[Arrays]  # of the calibration
    states: list[CalibratedState]


def categorize(problem: Problem, seed: int) -> Answer:
    """What a job with all defaults answers, on one thread."""
    with Threads() as threads:
        return answer_of(run(texts_from(problem.corpus, problem.copy_of), seed, threads, {}))


def answer_of(done: Run) -> Answer:
    """The answer, with the interval of the number of categories over all kept draws."""
    low, high = np.quantile(done.numbers, INTERVAL)
    found = consensus_of_documents(done.conclusion.consensus, done.texts)
    interval = (min(int(low), found.n_categories), max(int(np.ceil(high)), found.n_categories))
    return Answer(found.category, found.n_categories, interval, found.probability)


def with_vectors(problem: Problem, seed: int) -> Answer:
    """The same with the documents' vectors beside their words."""
    texts = texts_from(problem.corpus, problem.copy_of)
    with Threads() as threads:
        return answer_of(run(texts, seed, threads, {}, vectors=vectors_of_texts(problem, texts)))


def vectors_of_texts(problem: Problem, texts: Texts) -> Array | None:
    """float16[T, p]: the vectors of texts as a job prepares them; None if the problem has none."""
    if problem.vectors is None:
        return None
    of_texts = problem.vectors[texts.first]
    axes = axes_of(moments_with(no_moments(of_texts.shape[1]), of_texts))
    return projected(of_texts, axes)


def run(
    texts: Texts, seed: int, threads: Threads, seconds: dict[str, float], clock: Clock = time.monotonic,
    vectors: Array | None = None,
) -> Run:  # fmt: skip
    """Take all steps of a job but the first; `seconds` gets the time of each kind of unit."""
    prepared = PreparedCorpus(texts.corpus, HYPERPARAMETERS, seed, vectors)
    with timed(seconds, "atoms", clock):
        runs = steps.all_atom_runs(prepared, threads)
    with timed(seconds, "calibrate", clock):
        done = steps.all_steps(prepared, runs, threads)
        calibration = steps.read_calibration(prepared, done)
    with timed(seconds, "start", clock):
        states = [
            calibrated_chain.start(texts.corpus, HYPERPARAMETERS, calibration, seed, chain, threads)
            for chain in range(N_CHAINS)
        ]
    return sampled(texts, runs, done, calibration, states, threads, seconds, clock)


def go_on(
    texts: Texts, carried: Carried, before: Run, seed: int, threads: Threads, seconds: dict[str, float],
    clock: Clock = time.monotonic,
) -> Run:  # fmt: skip
    """The same for a job that continues another one."""
    prepared, source = (
        PreparedCorpus(texts.corpus, HYPERPARAMETERS, seed),
        Source(carried, seed, before.atom_runs, before.steps),
    )
    with timed(seconds, "atoms", clock):
        runs = [continued_atom_run(prepared, source, number, threads) for number in range(len(before.atom_runs))]
    with timed(seconds, "calibrate", clock):
        done: list[Arrays] = []
        if calibrates_anew(source, texts.corpus):
            done = steps.all_steps(prepared, runs, threads)
        else:
            for number in range(N_CONTINUED_STEPS):
                done.append(continued_step(prepared, runs, source, done, number, threads))
        calibration = read_steps(prepared, done, threads)
    with timed(seconds, "start", clock):
        states = [
            continue_chain(texts.corpus, HYPERPARAMETERS, calibration, seed, chain, carried, dump(state), threads)
            for chain, state in enumerate(before.states)
        ]
    return sampled(texts, runs, done, calibration, states, threads, seconds, clock)


def sampled(
    texts: Texts, runs: list[Arrays], done: list[Arrays], calibration: Calibration, states: list[CalibratedState],
    threads: Threads, seconds: dict[str, float], clock: Clock,
) -> Run:  # fmt: skip
    """The job whose chains begin with these states."""
    corpus, kept = texts.corpus, []
    with timed(seconds, "sweeps", clock):
        for state in states:
            draws: list[calibrated_chain.CalibratedDraw] = []
            for _ in range(N_SWEEPS):
                draws.append(calibrated_chain.sweep(corpus, calibration, state, threads))
                if state.n_sweeps > BURN_IN:
                    calibrated_chain.keep(corpus, calibration, state)
            kept.append(draws[BURN_IN:])
    traces = calibrated_chain.traces_of(kept)
    with timed(seconds, "conclude", clock):
        conclusion = conclude_chains(corpus, HYPERPARAMETERS, calibration, states, traces, threads)
    return Run(texts, conclusion, corpus.n_known + traces["n_new"], calibration.learned.rates, runs, done, states)


@contextmanager
def timed(seconds: dict[str, float], name: str, clock: Clock = time.monotonic) -> Iterator[None]:
    """Note how long the block takes."""
    began = clock()
    yield
    seconds[name] = round(clock() - began, 1)


def simulated(n_documents: int, seed: int = 0) -> Problem:
    """Documents of one category each, which differ in size; words have Zipf's frequencies."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(N_CATEGORIES, n_documents, p=rng.dirichlet(np.full(N_CATEGORIES, 5.0)))
    offsets = np.arange(n_documents + 1, dtype=np.int64) * LENGTH
    words = np.empty(offsets[-1], np.int32)
    own, other = corpora.alias_tables(corpora.draw_categories(N_CATEGORIES, N_WORDS, rng))
    everyone = truth.astype(np.int32)
    corpora.write_words(words, offsets, everyone, np.ones(1), own, other, np.uint64(rng.integers(2**63)))
    is_labeled = (truth < N_KNOWN) & (rng.random(n_documents) < LABELED)
    labels = np.where(is_labeled, everyone, UNLABELED).astype(np.int32)
    return Problem(
        f"simulated-{n_documents}",
        Corpus(words, offsets, labels, N_WORDS, N_KNOWN),
        truth,
        [],
        [],
        np.arange(n_documents),
    )


def simulated_vectors(problem: Problem, seed: int = 1) -> Array:
    """float16[D, 64]: vectors as a job prepares them, 1 long, each near those of its category."""
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((problem.truth.size, N_AXES), np.float32)
    vectors += 1.25 * rng.standard_normal((N_CATEGORIES, N_AXES), np.float32)[problem.truth]
    vectors /= np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    return vectors.astype(np.float16)


def main() -> None:
    """Time a job on the simulated corpus."""
    parser = argparse.ArgumentParser(prog="benchmarks.calibrated", description=__doc__)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--vectors", action="store_true", help="each document has a vector near its category's")
    arguments = parser.parse_args()
    with Threads(arguments.threads) as threads:
        run(
            texts_from(simulated(2_000).corpus, find_copies(simulated(2_000).corpus, threads)), 0, threads, {}
        )  # compiles
        problem = simulated(arguments.documents)
        vectors = simulated_vectors(problem) if arguments.vectors else None
        memory, seconds = machine.PeakMemory(), dict[str, float]()
        with timed(seconds, "all"):
            with timed(seconds, "copies"):
                texts = texts_from(problem.corpus, find_copies(problem.corpus, threads))
            of_texts = None if vectors is None else vectors[texts.first]
            done = run(texts, 0, threads, seconds, vectors=of_texts)
    line = {"documents": arguments.documents, "threads": arguments.threads, "seconds": seconds}
    print(json.dumps({**line, "peak_mb": memory.mb, **score(problem, answer_of(done))}))


if __name__ == "__main__":
    main()
