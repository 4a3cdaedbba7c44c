"""Corpora that the tests of the sampler share."""

import numpy as np
import pytest

from sampler.corpus import Corpus
from sampler.hyperparameters import Hyperparameters
from tests.sampler import harness, kernels


@pytest.fixture(scope="session")
def corpus() -> Corpus:
    """24 documents, some labeled, some empty, 1 to 11 words each, at random."""
    rng = np.random.default_rng(5)
    lengths = rng.integers(1, 12, 24)
    lengths[[0, 7, 19]] = 0
    labels = np.full(24, -1, np.int32)
    labels[[0, 1, 2, 5, 8, 13]] = [0, 1, 2, 2, 0, 1]
    return harness.corpus_of([rng.integers(0, 15, n).tolist() for n in lengths], labels.tolist(), 15, 3)


@pytest.fixture(scope="session")
def hyperparameters() -> Hyperparameters:
    """Concentrations large enough for categories to be born and to die in every few sweeps."""
    return kernels.USUAL
