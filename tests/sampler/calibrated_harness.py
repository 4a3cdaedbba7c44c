"""What the tests of the calibrated sampler share: small corpora, and the way from a corpus to an answer."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from sampler.calibrated import chain as calibrated_chain
from sampler.calibrated import steps
from sampler.calibrated.chain import CalibratedDraw, CalibratedState
from sampler.calibrated.conclusion import CalibratedConclusion, conclude_chains
from sampler.calibrated.prepared import PreparedCorpus
from sampler.calibrated.steps import Arrays, Calibration
from sampler.corpus import UNLABELED, Array, Corpus, validate
from sampler.hyperparameters import CalibratedHyperparameters
from sampler.numerics.threads import Threads
from tests.sampler.harness import corpus_of

QUICK = CalibratedHyperparameters(
    n_atoms=12, n_starts=2, smoothings=(0.4, 0.8), powers=(0.0, 1.0, 2.0), n_atom_sweeps=4, n_refinements=1
)
SEED = 3
N_OWN_WORDS = 20  # of each category of an easy corpus


class Posed(NamedTuple):
    """A corpus and the true category of each of its documents."""

    corpus: Corpus
    truth: Array  # int64[D], known categories first


def posed(documents: Sequence[Sequence[int]], labels: Sequence[int], n_known: int) -> Corpus:
    """A corpus of these words and labels, checked."""
    n_words = max((word for document in documents for word in document), default=0) + 1
    made = corpus_of(documents, labels, n_words, n_known)
    validate(made)
    return made


def easy(sizes: Sequence[int], labeled: Sequence[int], length: int = 15, overlap: float = 0.0, seed: int = 1) -> Posed:
    """Categories of `sizes` documents, of which the first few are `labeled`; categories with a label come first.

    Each draws its words evenly from N_OWN_WORDS of its own, and with probability `overlap` from as many shared ones.
    """
    rng = np.random.default_rng(seed)
    documents, labels, truth = [], [], []
    for k, (size, n_labeled) in enumerate(zip(sizes, labeled, strict=True)):
        for d in range(size):
            own = rng.integers(0, N_OWN_WORDS, length) + N_OWN_WORDS * (k + 1)
            shared = rng.integers(0, N_OWN_WORDS, length)
            documents.append(np.where(rng.random(length) < overlap, shared, own).tolist())
            labels.append(k if d < n_labeled else UNLABELED)
            truth.append(k)
    return Posed(posed(documents, labels, sum(n > 0 for n in labeled)), np.array(truth))


@cache
def four_categories() -> Posed:
    """Two known categories of 40 documents, 16 of each labeled, and two new ones; they share a few words."""
    return easy([40, 40, 40, 40], [16, 16, 0, 0], overlap=0.15)


def calibrate(
    corpus: Corpus, threads: Threads, hyperparameters: CalibratedHyperparameters = QUICK, seed: int = 3,
    vectors: Array | None = None,
) -> tuple[list[Arrays], list[Arrays], Calibration]:  # fmt: skip
    """The atoms, the results of the steps, and the calibration of a corpus."""
    prepared = PreparedCorpus(corpus, hyperparameters, seed, vectors)
    runs = steps.all_atom_runs(prepared, threads)
    done = steps.all_steps(prepared, runs, threads)
    return runs, done, steps.read_calibration(prepared, done)


def swept(
    corpus: Corpus, found: Calibration, state: CalibratedState, n_sweeps: int, threads: Threads,
    hyperparameters: CalibratedHyperparameters = QUICK,
) -> list[CalibratedDraw]:  # fmt: skip
    """Sweep a chain, every draw kept; returns the draws."""
    draws = []
    for _ in range(n_sweeps):
        draws.append(calibrated_chain.sweep(corpus, found, state))
        calibrated_chain.keep(corpus, found, state)
    return draws


class Answered(NamedTuple):
    """All that came of a corpus."""

    calibration: Calibration
    states: list[CalibratedState]
    draws: list[list[CalibratedDraw]]
    conclusion: CalibratedConclusion


def answer(
    corpus: Corpus, threads: Threads, hyperparameters: CalibratedHyperparameters = QUICK, seed: int = 3,
    n_chains: int = 2, n_sweeps: int = 6, vectors: Array | None = None,
) -> Answered:  # fmt: skip
    """Calibrate, sweep some chains, and conclude, as a job does."""
    found = calibrate(corpus, threads, hyperparameters, seed, vectors)[2]
    states = [calibrated_chain.start(corpus, hyperparameters, found, seed, c, threads) for c in range(n_chains)]
    draws = [swept(corpus, found, state, n_sweeps, threads, hyperparameters) for state in states]
    traces = calibrated_chain.traces_of(draws)
    conclusion = conclude_chains(corpus, hyperparameters, found, states, traces, threads)
    return Answered(found, states, draws, conclusion)


def hard() -> Corpus:
    """Categories that share so many words that settings and groups change between sweeps."""
    return easy([30, 30, 30, 30], [12, 12, 0, 0], length=8, overlap=0.6).corpus


def found_in(corpus: Corpus) -> Calibration:
    """The calibration of a corpus, by one thread."""
    with Threads() as threads:
        return calibrate(corpus, threads, seed=SEED)[2]
