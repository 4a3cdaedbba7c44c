"""The paper's peers as models: what a worker does around them."""

from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from baselines.method import Given, MethodState, new_state
from sampler.corpus import UNLABELED, Corpus
from sampler.numerics.threads import Threads
from worker.baselines import METHODS, Baseline


class Asking:
    """A method that notes on how many threads linear algebra works."""

    def __init__(self, given: Given, _: Any) -> None:
        self.given = given
        self.seen: list[int] = []

    def start(self, chain: int) -> MethodState:
        self.ask()
        return new_state(self.given, chain, self.given.corpus.labels, 0.0)

    def sweep(self, _: MethodState) -> None:
        self.ask()

    def ask(self) -> None:
        self.seen += [each["num_threads"] for each in threadpool_info()]


def test_linear_algebra_has_one_thread_whatever_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "sl", (Asking, dict))
    corpus = Corpus(np.zeros(2, np.int32), np.array([0, 1, 2]), np.array([0, UNLABELED], np.int32), 1, 1)
    with Threads() as threads, threadpool_limits(2):
        model = Baseline("sl", corpus, {}, [2], 1, 0, threads)
        model.sweep(model.start(0))
        assert max(each["num_threads"] for each in threadpool_info()) == 2
    assert set(model.methods[2].seen) == {1} and len(model.methods[2].seen) >= 2
