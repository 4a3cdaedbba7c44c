"""Bags against the standard library's counter, and their weights against their formulas."""

from collections import Counter

import numpy as np
import pytest

from sampler.calibrated.bags import (
    WEIGHTINGS,
    brevity,
    effective_counts,
    inverse_frequency,
    select,
    squeeze,
    tf_idf,
    word_bags,
    word_prior,
    word_totals,
)
from sampler.corpus import UNLABELED, Corpus
from tests.sampler.calibrated_harness import posed

ROUNDING = 1e-5  # relative, of float32 entries and sums of a few of them


def documents() -> list[list[int]]:
    """60 documents of 0 to 29 words out of 40, the common ones more often; word 0 is in every document with words."""
    rng = np.random.default_rng(11)
    lengths = rng.integers(1, 30, 60)
    lengths[[0, 13, 14, 59]] = 0
    return [np.minimum(rng.geometric(0.1, n) - 1, 39).tolist() + [0] * bool(n) for n in lengths]


def corpus() -> Corpus:
    """The documents, none labeled."""
    made = documents()
    return posed(made, [UNLABELED] * len(made), 0)


def test_words_and_counts_of_each_document_are_those_of_a_counter() -> None:
    bags = word_bags(corpus())
    for d, document in enumerate(documents()):
        own = slice(bags.offsets[d], bags.offsets[d + 1])
        counted = list(zip(bags.words[own].tolist(), bags.counts[own].tolist(), strict=True))
        assert counted == sorted(Counter(document).items())
        assert bags.is_empty[d] == (not document)
        assert (bags.document[own] == d).all()
    assert bags.n_documents == len(documents()) and bags.offsets[-1] == bags.words.size


def test_inverse_frequencies_count_the_documents_that_hold_a_word() -> None:
    holders = Counter(word for document in documents() for word in set(document))
    expected = [np.log((1 + 60) / (1 + holders[w])) for w in range(corpus().n_words)]
    np.testing.assert_allclose(inverse_frequency(word_bags(corpus())), expected, rtol=1e-12)


def test_rows_of_tf_idf_have_length_1_and_the_proportions_of_the_formula() -> None:
    bags = word_bags(corpus())
    rows, weight = tf_idf(bags).astype(float), 1.0 + inverse_frequency(bags)
    for d, document in enumerate(documents()):
        own = slice(bags.offsets[d], bags.offsets[d + 1])
        if document:
            assert np.linalg.norm(rows[own]) == pytest.approx(1.0, rel=ROUNDING)
            expected = np.array([(1 + np.log(n)) * weight[w] for w, n in sorted(Counter(document).items())])
            np.testing.assert_allclose(rows[own], expected / np.linalg.norm(expected), rtol=ROUNDING)


@pytest.mark.parametrize("weighting", range(WEIGHTINGS))
@pytest.mark.parametrize("effective_length", [0.5, 10.0, 1e6])
def test_effective_counts_of_n_tokens_sum_to_c_log_of_1_plus_n_over_c(weighting: int, effective_length: float) -> None:
    bags = word_bags(corpus())
    values = effective_counts(bags, weighting, effective_length)
    weight = inverse_frequency(bags) if weighting else np.ones(bags.n_words)
    for d, document in enumerate(documents()):
        own = slice(bags.offsets[d], bags.offsets[d + 1])
        proportion = bags.counts[own] * weight[bags.words[own]]
        wanted = effective_length * np.log(1 + len(document) / effective_length)
        if proportion.sum() > 0:
            np.testing.assert_allclose(values[own], proportion / proportion.sum() * wanted, rtol=ROUNDING)
    assert values.dtype == np.float32 and (values >= 0).all()


def test_words_of_every_document_leave_no_effective_count_by_inverse_frequency() -> None:
    """Their weights are all zero: there is nothing to scale, and nothing is divided by zero."""
    bags = word_bags(posed([[0, 1], [1, 0, 0]], [UNLABELED] * 2, 0))
    np.testing.assert_array_equal(effective_counts(bags, 1, 10.0), 0.0)


def test_selected_bags_are_those_of_the_selected_documents_alone() -> None:
    bags, chosen = word_bags(corpus()), np.array([0, 3, 13, 14, 40, 58])
    part, entries = select(bags, chosen)
    made = [documents()[d] for d in chosen]
    alone = word_bags(posed(made, [UNLABELED] * chosen.size, 0))
    for name in ("offsets", "words", "counts"):
        np.testing.assert_array_equal(getattr(part, name), getattr(alone, name))
    np.testing.assert_array_equal(bags.words[entries], part.words)
    np.testing.assert_array_equal(bags.counts[entries], part.counts)
    assert set(bags.document[entries].tolist()) == {3, 40, 58} and part.n_words == bags.n_words


def test_squeezed_bags_keep_their_entries_under_numbers_without_a_gap() -> None:
    bags = word_bags(posed([[7, 3, 3], [], [9, 7]], [UNLABELED] * 3, 0))
    squeezed, used = squeeze(bags)
    np.testing.assert_array_equal(used, [3, 7, 9])
    np.testing.assert_array_equal(squeezed.words, [0, 1, 1, 2])
    np.testing.assert_array_equal(squeezed.counts, bags.counts)
    np.testing.assert_array_equal(squeezed.offsets, bags.offsets)
    assert squeezed.n_words == 3 and squeezed.words.dtype == np.int32


def test_bags_of_nothing_are_bags() -> None:
    bags = word_bags(posed([[], []], [UNLABELED] * 2, 0))
    assert bags.words.size == 0 and bags.is_empty.all() and squeeze(bags)[0].n_words == 1
    part, entries = select(bags, np.arange(0))
    assert part.n_documents == 0 and entries.size == 0
    assert tf_idf(bags).size == 0 and effective_counts(bags, 1, 10.0).size == 0


def test_a_prior_of_words_has_beta_on_average_alike_or_in_proportion_to_their_totals_and_a_half() -> None:
    np.testing.assert_array_equal(word_prior(np.array([3.0, 0.0, 1.0]), 0.2, has_background=False), 0.2)
    # 3.5, .5 and 1.5 of 5.5 in all, times three betas.
    found = word_prior(np.array([3.0, 0.0, 1.0]), 0.2, has_background=True)
    np.testing.assert_allclose(found, 0.6 * np.array([3.5, 0.5, 1.5]) / 5.5)


def test_totals_of_words_are_a_recount() -> None:
    bags = word_bags(posed([[0, 1, 1], [1, 3], []], [UNLABELED] * 3, 0))
    np.testing.assert_array_equal(word_totals(bags, bags.counts.astype(np.float32)), [1.0, 3.0, 0.0, 1.0])


def test_short_documents_hold_a_part_of_the_evidence_of_the_shortest_labeled_ones() -> None:
    """Of 50 labeled documents of ten distinct words and one of four, 2 % are left out of account: ten are usual."""
    lengths = [*[10] * 50, 4, 0, 1, 5, 30]
    corpus = posed([list(range(n)) for n in lengths], [0] * 51 + [UNLABELED] * 4, 1)
    found = brevity(word_bags(corpus), corpus.labels != UNLABELED)
    np.testing.assert_allclose(found[50:], np.sqrt([0.4, 0.0, 0.1, 0.5, 1.0]))
    np.testing.assert_array_equal(found[:50], 1.0)


def test_without_a_label_no_document_is_short() -> None:
    corpus = posed([[0], [0, 1, 2]], [UNLABELED] * 2, 0)
    np.testing.assert_array_equal(brevity(word_bags(corpus), np.zeros(2, bool)), 1.0)
