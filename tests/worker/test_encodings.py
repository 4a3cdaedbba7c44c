"""What is stored of an encoded corpus."""

import numpy as np
import pytest

from sampler.corpus import Corpus
from worker import encodings


@pytest.mark.parametrize("sorted_at_once", [1, 10, 37, 10_000])
def test_each_documents_words_are_sorted_and_stay_with_it(monkeypatch: pytest.MonkeyPatch, sorted_at_once: int) -> None:
    dice = np.random.default_rng(1)
    lengths = np.array([0, 0, 7, 1, 0, 30, 12, 2, 40, 0])
    words = dice.integers(0, 50, lengths.sum(), np.int32)
    offsets = np.append(0, np.cumsum(lengths))
    expected = np.concatenate([np.sort(document) for document in np.split(words, offsets[1:-1])])
    corpus = Corpus(words, offsets, np.full(lengths.size, -1, np.int32), n_words=50, n_known=0)
    monkeypatch.setattr(encodings, "SORTED_AT_ONCE", sorted_at_once)
    encodings.sort_words(corpus)
    np.testing.assert_array_equal(corpus.words, expected)
