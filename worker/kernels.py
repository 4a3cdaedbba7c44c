"""Compile what a job runs, before there is one: the first job of a version would wait for it, about a minute."""

from typing import Any, get_args

import numpy as np

from sampler.calibrated import steps
from sampler.calibrated.prepared import PreparedCorpus
from sampler.copies import find_copies
from sampler.corpus import UNLABELED, Corpus
from sampler.hyperparameters import CalibratedHyperparameters, Hyperparameters, Kernel
from sampler.numerics.threads import Threads
from worker import store
from worker.models import Calibrated, LbplNtm, Model
from worker.store import Names

N_SWEEPS = 20  # by then categories have been proposed to split and to merge
FEW_ATOMS = CalibratedHyperparameters(n_atoms=12, n_atom_sweeps=2, smoothings=(0.4,), powers=(0.0, 1.5), n_topics=8)


def compile_kernels() -> None:
    """Take all models through a small job, so that numba's cache holds all that a job calls."""
    corpus = small_corpus()
    with Threads(2) as threads:
        find_copies(corpus, threads)
        for kernel in get_args(Kernel):
            model = Hyperparameters(n_topics=8, n_start=3, birth_share=0.5 if kernel == "blocked" else 0.0)
            run_chain(LbplNtm(corpus, model, kernel, 0, threads))
        run_chain(small_calibrated(corpus, threads))


def run_chain(model: Model[Any]) -> None:
    """A chain from its start to the conclusion."""
    state, draws = model.start(0), []
    for _ in range(N_SWEEPS):
        draws.append(model.sweep(state)._asdict())
        model.keep(state)
    traces = {name: np.array([[draw[name] for draw in draws]], np.float64) for name in store.TRACED}
    model.conclude([model.load(model.dump(state))], traces, Names([], ["first", "second"]))


def small_calibrated(corpus: Corpus, threads: Threads) -> Calibrated:
    """The calibrated model after all its steps."""
    prepared = PreparedCorpus(corpus, FEW_ATOMS, 0)
    done = steps.all_steps(prepared, steps.all_atom_runs(prepared, threads), threads)
    return Calibrated(corpus, FEW_ATOMS, 0, done, threads)


def small_corpus() -> Corpus:
    """Documents of some words at random, a third of them labeled."""
    rng = np.random.default_rng(0)
    offsets = np.arange(0, 40 * 60 + 1, 60, dtype=np.int64)
    labels = np.where(np.arange(40) % 3, UNLABELED, np.arange(40) % 2).astype(np.int32)
    return Corpus(rng.integers(0, 100, offsets[-1]).astype(np.int32), offsets, labels, n_words=100, n_known=2)
