"""Compile what a job runs, before there is one: the first job of a version would wait for it, about a minute."""

from typing import get_args

import numpy as np

from sampler import chain, checkpoint, consensus
from sampler.corpus import UNLABELED, Corpus
from sampler.hyperparameters import Hyperparameters
from sampler.state import Kernel
from sampler.workers import Workers

N_SWEEPS = 20  # by then categories have been proposed to split and to merge


def compile_kernels() -> None:
    """Take both kernels through a small job, so that numba's cache holds all that a job calls."""
    corpus, hyperparameters = small_corpus(), Hyperparameters(n_topics=8, n_start=3)
    for kernel in get_args(Kernel):
        state = chain.start(corpus, hyperparameters, seed=0, chain=0, kernel=kernel)
        with Workers(2) as workers:
            for _ in range(N_SWEEPS):
                chain.sweep(corpus, hyperparameters, state, workers)
                chain.keep(corpus, state)
        checkpoint.load(corpus, hyperparameters, checkpoint.dump(corpus, state))
        consensus.conclude(corpus, state.tally)


def small_corpus() -> Corpus:
    """Documents of some words at random, a third of them labeled."""
    rng = np.random.default_rng(0)
    offsets = np.arange(0, 40 * 60 + 1, 60, dtype=np.int64)
    labels = np.where(np.arange(40) % 3, UNLABELED, np.arange(40) % 2).astype(np.int32)
    return Corpus(rng.integers(0, 100, offsets[-1]).astype(np.int32), offsets, labels, n_words=100, n_known=2)
