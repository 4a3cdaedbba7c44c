"""What all methods share: a run's way through bytes, and the rows that it works on."""

import numpy as np
import pytest

from baselines import method
from baselines.method import Given, MethodState, new_state
from baselines.rows import unit_rows
from sampler.archive import CheckpointError
from sampler.corpus import UNLABELED, Array, Corpus
from sampler.numerics.threads import Threads


def corpus_of(texts: list[list[int]], labels: list[int], n_words: int, n_known: int) -> Corpus:
    """A corpus of documents that are lists of words."""
    words = np.array([word for text in texts for word in text], np.int32)
    offsets = np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.int64)
    return Corpus(words, offsets, np.array(labels, np.int32), n_words, n_known)


SMALL = corpus_of([[0, 0, 1], [1, 2], [], [0, 2, 2, 2]], [0, UNLABELED, UNLABELED, UNLABELED], 3, 1)


class Counting:
    """A method that moves everything to the next category, up to the third sweep."""

    def __init__(self, given: Given) -> None:
        self.given = given

    def start(self, chain: int) -> MethodState:
        return new_state(self.given, chain, np.zeros(4, np.int64), -1.0, moved=np.zeros(2, np.int64))

    def sweep(self, state: MethodState) -> None:
        state.category += 1
        state.own["moved"] += 1
        state.is_settled = state.n_sweeps == 3


def test_a_run_goes_on_from_its_bytes_as_if_it_had_never_stopped() -> None:
    counting = Counting(Given(SMALL, 5, 7, Threads()))
    whole, parts = counting.start(1), counting.start(1)
    for _ in range(5):
        method.advance(counting, whole)
        method.advance(counting, parts)
        parts = method.load(SMALL, method.dump(parts))
    assert method.dump(whole) == method.dump(parts)
    assert (whole.n_sweeps, whole.own["moved"].tolist()) == (5, [3, 3])  # it had settled


def test_a_run_of_another_corpus_is_refused() -> None:
    data = method.dump(Counting(Given(SMALL, 5, 7, Threads())).start(0))
    with pytest.raises(CheckpointError, match="another corpus"):
        method.load(SMALL._replace(n_words=4), data)


def dense_rows(counts: Array) -> Array:
    """tf log(n / df) with rows of unit length, the long way."""
    weighted = counts * np.log(len(counts) / np.maximum((counts > 0).sum(axis=0), 1))
    length = np.linalg.norm(weighted, axis=1, keepdims=True)
    return weighted / np.where(length > 0, length, 1)


def test_rows_are_term_frequencies_times_inverse_document_frequencies_of_unit_length() -> None:
    counts = np.array([[2, 1, 0], [0, 1, 1], [0, 0, 0], [1, 0, 3]])
    np.testing.assert_allclose(unit_rows(SMALL).toarray(), dense_rows(counts), atol=1e-15)
    some = np.array([1, 3])
    np.testing.assert_allclose(unit_rows(SMALL, some).toarray(), dense_rows(counts[some]), atol=1e-15)
