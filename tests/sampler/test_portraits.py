"""Portraits of categories whose documents a test makes."""

import numpy as np
import pytest

from sampler.answers.consensus import Consensus
from sampler.answers.others import no_others
from sampler.answers.portraits import N_DOCUMENTS, Portrait, portraits, size_intervals
from sampler.answers.words import distances, group_words, word_counts
from sampler.corpus import NO_CATEGORY, Array
from tests.sampler import harness

N_WORDS = 70


def consensus_of(category: Array, probability: Array, runner_up: Array, second: Array) -> Consensus:
    """An answer for unlabeled documents."""
    n = int(category.max()) + 1
    others = no_others(category.size)
    return Consensus(
        n, category.astype(np.int32), probability, runner_up.astype(np.int32), second, np.zeros(n), *others
    )


def portraits_of(
    documents: list[list[int]], category: Array, probability: Array, second: Array | None = None
) -> list[Portrait]:
    """Portraits of two categories, without a label; each document's runner-up is the other one."""
    corpus = harness.corpus_of(documents, [-1] * len(documents), N_WORDS, 0)
    counts = word_counts(corpus)
    given = consensus_of(category, probability, 1 - category, 1.0 - probability if second is None else second)
    weight = np.ones(len(documents), np.int64)
    words = group_words(counts, given.category, 2)
    return portraits(counts, words, distances(words), corpus.labels, given, weight)


def varied(rng: np.random.Generator, first: int, n_documents: int, length: int) -> list[list[int]]:
    """Documents of one category: words from 25, the first ones more often."""
    words = first + np.minimum(rng.geometric(0.12, (n_documents, length)) - 1, 24)
    return words.tolist()


def test_typical_documents_are_those_with_the_words_of_their_category() -> None:
    """Ten documents of each category are half of words that no other document has: none of them is typical."""
    rng = np.random.default_rng(1)
    documents = varied(rng, 0, 40, 12) + varied(rng, 25, 40, 12)
    for d, word in zip([*range(10), *range(40, 50)], range(50, 70), strict=True):
        documents[d][:6] = [word] * 6
    category = np.repeat([0, 1], 40)
    for number, portrait in enumerate(portraits_of(documents, category, np.full(80, 0.9))):
        shown = portrait.representative
        assert shown.size == N_DOCUMENTS
        assert (category[shown] == number).all()
        assert not set(shown.tolist()) & {*range(10), *range(40, 50)}


def test_documents_that_are_shown_are_neither_short_nor_unsure_nor_alike() -> None:
    rng = np.random.default_rng(2)
    documents = varied(rng, 0, 30, 12) + varied(rng, 25, 30, 12)
    for d in range(8):
        documents[d] = documents[d][:3]
    documents[8:14] = [documents[8]] * 6
    probability = np.full(60, 0.9)
    probability[14:20] = 0.4
    shown = portraits_of(documents, np.repeat([0, 1], 30), probability)[0].representative.tolist()
    assert len(shown) == N_DOCUMENTS
    assert not set(shown) & {*range(8), *range(14, 20)}
    assert len(set(shown) & set(range(8, 14))) <= 1, "of copies one at most"


def test_documents_at_the_edge_are_those_of_the_smallest_margin() -> None:
    rng = np.random.default_rng(3)
    documents = rng.integers(0, 25, (20, 12)).tolist() + rng.integers(25, 50, (20, 12)).tolist()
    probability = np.full(40, 0.9)
    probability[[3, 7, 5, 1, 11]] = [0.51, 0.52, 0.53, 0.54, 0.55]
    found = portraits_of(documents, np.repeat([0, 1], 20), probability)[0]
    assert found.edge.tolist() == [3, 7, 5, 1, 11]
    assert not set(found.edge.tolist()) & set(found.representative.tolist())


def test_the_nearest_category_is_the_one_with_most_words_in_common() -> None:
    rng = np.random.default_rng(4)
    documents = varied(rng, 0, 20, 12) + varied(rng, 10, 20, 12) + varied(rng, 28, 20, 12)
    category = np.repeat([0, 1, 2], 20)
    corpus = harness.corpus_of(documents, [-1] * 60, N_WORDS, 0)
    counts = word_counts(corpus)
    given = consensus_of(category, np.full(60, 0.9), np.zeros(60), np.full(60, 0.1))
    words = group_words(counts, category, 3)
    found = portraits(counts, words, distances(words), corpus.labels, given, np.ones(60, np.int64))
    assert [portrait.nearest.category if portrait.nearest else None for portrait in found] == [1, 0, 1]
    assert found[0].nearest is not None
    own, theirs = ({word for word, _, _ in words} for words in found[0].nearest[2:])
    assert max(own) < 10 <= min(theirs), "words below ten are those of the first alone"


def test_a_category_alone_has_no_nearest_one_and_one_without_documents_shows_none() -> None:
    corpus = harness.corpus_of([[0, 1], [0, 2]], [-1, -1], 3, 1)
    counts = word_counts(corpus)
    nobody = np.full(2, NO_CATEGORY, np.int32)
    given = Consensus(2, np.array([1, 1], np.int32), np.ones(2), nobody, np.full(2, np.nan), np.zeros(2), *no_others(2))
    words = group_words(counts, given.category, 2)
    empty, alone = portraits(counts, words, distances(words), corpus.labels, given, np.ones(2, np.int64))
    assert (empty.nearest, empty.representative.size, empty.edge.size, empty.by_probability) == (None, 0, 0, [])
    assert alone.nearest is None
    assert (empty.size_interval, alone.size_interval) == ((0, 0), (2, 2)), "sure of both documents"


def test_nine_in_ten_intervals_hold_the_size_where_documents_err_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Truths are drawn from the probabilities, with half of the doubt for each side; 1,000 drawn, error below 0.01."""
    monkeypatch.setattr("sampler.answers.portraits.IN_COMMON", 0.0)
    rng = np.random.default_rng(5)
    category = np.repeat([0, 1], 400)
    probability = np.full(800, 0.8)
    given = consensus_of(category, probability, 1 - category, 1.0 - probability)
    (low, high), _ = size_intervals(given, np.ones(800, np.int64))
    truths = np.where(rng.random((1_000, 800)) < probability, category, 1 - category)
    sizes = (truths == 0).sum(axis=1)
    assert np.mean((low <= sizes) & (sizes <= high)) == pytest.approx(0.91, abs=0.03), "wider by rounding"


def test_doubt_about_the_category_itself_widens_the_interval() -> None:
    category, runner_up = np.zeros(100, np.int64), np.full(100, NO_CATEGORY)
    widths = []
    for probability in (1.0, 0.9, 0.7):
        given = consensus_of(category, np.full(100, probability), runner_up, np.full(100, np.nan))
        [(low, high)] = size_intervals(given, np.ones(100, np.int64))
        assert 0 <= low <= 100 == high, "there are no more documents"
        widths.append(high - low)
    assert widths[0] == 0 and widths == sorted(set(widths))
    assert widths[1] == pytest.approx(1.645 * np.sqrt(100 * 0.9 * 0.1 + (0.75 * 10) ** 2), abs=1.0)


def test_unlabeled_copies_of_a_labeled_document_are_sure() -> None:
    """A text with a label and two unlabeled copies, one with a label and none, and an unlabeled one."""
    category, nobody = np.array([0, 0, 0]), np.full(3, NO_CATEGORY)
    given = consensus_of(category, np.array([1.0, 1.0, 1.0]), nobody, np.full(3, np.nan))
    assert size_intervals(given, np.array([2, 0, 1])) == [(3, 3)]
