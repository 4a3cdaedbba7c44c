"""Compile what a job runs, before there is one: the first job of a version would wait for it, about a minute."""

from dataclasses import replace
from typing import Any, get_args

import numpy as np

from app.core import kinds
from baselines.settings import Inference
from sampler.calibrated import steps
from sampler.calibrated.continued import N_CONTINUED_STEPS, Source, continued_atom_run, continued_step
from sampler.calibrated.prepared import PreparedCorpus
from sampler.calibrated.steps import Arrays
from sampler.carried import ABSENT, Carried
from sampler.copies import find_copies, texts_from
from sampler.corpus import UNLABELED, Array, Corpus
from sampler.frozen.freeze import freeze
from sampler.hyperparameters import CalibratedHyperparameters, Hyperparameters, Kernel
from sampler.numerics.threads import Threads
from worker import store
from worker.baselines import METHODS, Baseline
from worker.conclusions import Chains
from worker.models import Calibrated, LbplNtm
from worker.store import Names

SMALL_BASELINES: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in METHODS if name != kinds.Model.DPGM),
    *((kinds.Model.DPGM, {"inference": inference, "n_components": 4}) for inference in get_args(Inference)),
]
N_SWEEPS = 20  # by then categories have been proposed to split and to merge
FEW_ATOMS = CalibratedHyperparameters(n_atoms=12, n_atom_sweeps=2, smoothings=(0.4,), powers=(0.0, 1.5), n_topics=8)


def compile_kernels() -> None:
    """Take all models through a small job, so that numba's cache holds all that a job calls; then continue it."""
    corpus = small_corpus(40)
    before = small_corpus(32)
    same = [np.arange(n, dtype=np.int32) for n in (corpus.n_words, corpus.n_known)]
    is_there = np.arange(corpus.n_documents) < before.n_documents
    carried = Carried(before, np.where(is_there, np.arange(corpus.n_documents), ABSENT).astype(np.int32), *same)
    with Threads(2) as threads:
        find_copies(corpus, threads)
        for kernel in get_args(Kernel):
            model = Hyperparameters(n_topics=8, n_start=3, birth_share=0.5 if kernel == "blocked" else 0.0)
            data = run_chain(LbplNtm(before, model, kernel, 0, threads))
            run_chain(LbplNtm(corpus, model, kernel, 0, threads), carried, data)
            LbplNtm(corpus, replace(model, start="random"), kernel, 0, threads).start(0)
        for name, constants in SMALL_BASELINES:
            run_chain(Baseline(name, corpus, constants, [] if name == kinds.Model.DPGM else [3], 1, 0, threads))
        first = small_calibrated(before, threads)
        run_chain(continued_calibrated(corpus, carried, first, threads), carried, run_chain(first))
        run_chain(small_calibrated(before, threads, small_vectors(before.n_documents)))


def run_chain(model: Any, carried: Carried | None = None, before: bytes = b"") -> bytes:
    """A chain to the conclusion, from its start or from a checkpoint that it continues; returns its own checkpoint."""
    state = model.start(0) if carried is None else model.go_on(0, carried, before)
    draws = []
    for _ in range(N_SWEEPS):
        draws.append(model.sweep(state)._asdict())
        model.keep(state)
    traces = {name: np.array([[draw[name] for draw in draws]], np.float64) for name in store.TRACED}
    data = model.dump(state)
    names = Names([str(word) for word in range(model.corpus.n_words)], ["first", "second"])
    found, corpus = model.conclude([model.load(data)], Chains([state.tally], traces), names), model.corpus
    if found.judged is not None:
        texts = texts_from(corpus, np.arange(corpus.n_documents, dtype=np.int32))
        marks = np.arange(corpus.n_documents, dtype=np.uint64)
        freeze(texts, marks, found.consensus, found.judged, FEW_ATOMS, 0, model.threads)
    return bytes(data)


def small_calibrated(corpus: Corpus, threads: Threads, vectors: Array | None = None) -> Calibrated:
    """The calibrated model after all its steps."""
    prepared = PreparedCorpus(corpus, FEW_ATOMS, 0, vectors)
    done = steps.all_steps(prepared, steps.all_atom_runs(prepared, threads), threads)
    return Calibrated(corpus, FEW_ATOMS, 0, done, threads, vectors)


def small_vectors(n_documents: int) -> Array:
    """float32[D, 8]: vectors at random, 1 long."""
    vectors = np.random.default_rng(1).standard_normal((n_documents, 8))
    unit: Array = vectors / np.sqrt((vectors**2).sum(axis=1, keepdims=True))
    return unit.astype(np.float32)


def continued_calibrated(corpus: Corpus, carried: Carried, first: Calibrated, threads: Threads) -> Calibrated:
    """The same of a job that continues another one."""
    runs = steps.all_atom_runs(PreparedCorpus(first.corpus, FEW_ATOMS, 0), threads)
    source, prepared = Source(carried, 0, runs, first.done), PreparedCorpus(corpus, FEW_ATOMS, 0)
    runs = [continued_atom_run(prepared, source, number, threads) for number in range(len(runs))]
    done: list[Arrays] = []
    for number in range(N_CONTINUED_STEPS):
        done.append(continued_step(prepared, runs, source, done, number, threads))
    return Calibrated(corpus, FEW_ATOMS, 0, done, threads)


def small_corpus(n_documents: int) -> Corpus:
    """Documents of some words at random, a third of them labeled."""
    rng = np.random.default_rng(0)
    offsets = np.arange(0, n_documents * 60 + 1, 60, dtype=np.int64)
    labels = np.where(np.arange(n_documents) % 3, UNLABELED, np.arange(n_documents) % 2).astype(np.int32)
    return Corpus(rng.integers(0, 100, offsets[-1]).astype(np.int32), offsets, labels, n_words=100, n_known=2)
