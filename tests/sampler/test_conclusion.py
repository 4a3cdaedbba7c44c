"""How probabilities are discounted for what the regressions take for certain, by hand."""

import numpy as np
from scipy.sparse import csr_array

from sampler.answers.consensus import Consensus
from sampler.answers.pooling import Pooled
from sampler.calibrated.conclusion import (
    about_labels,
    about_the_number,
    about_what_comes_back,
    audit,
    discount,
    label_probability,
)
from sampler.corpus import NO_CATEGORY, UNLABELED

NAN = float("nan")
NOBODY = np.full(4, UNLABELED)  # has a label


def answers() -> Consensus:
    """One known and two new categories; the last document has no word."""
    return Consensus(
        n_categories=3,
        category=np.array([0, 1, 2, NO_CATEGORY], np.int32),
        probability=np.array([0.9, 0.8, 0.6, NAN]),
        runner_up=np.array([1, 0, NO_CATEGORY, NO_CATEGORY], np.int32),
        runner_up_probability=np.array([0.05, 0.2, NAN, NAN]),
        known=np.array([0.95, 0.2, 0.1, NAN]),
        others=np.full((4, 1), NO_CATEGORY, np.int32),
        other_probability=np.full((4, 1), NAN),
    )


def pooled_of(
    category_stability: list[float], of_documents: list[float], agreed: float | None, consensus: Consensus | None = None
) -> Pooled:
    """Answers and how far chains agree on them."""
    matrix = np.ones((1, 1)) if agreed is None else np.array([[1.0, agreed], [agreed, 1.0]])
    stability, of_categories = np.array(of_documents), np.array(category_stability)
    return Pooled(consensus or answers(), 0, matrix, stability, of_categories, csr_array((4, 3)))


def test_probabilities_are_discounted_for_chains_that_differ_and_categories_that_are_uncertain() -> None:
    """2 J / (1 + J) of .6 is .75, of .5, .6 and .25 it is 2 / 3, .75 and .4, and 1 where nothing is known.

    New categories are right by .8 in the mean of documents 1 and 2, which share .75 and .4.
    """
    found = discount(pooled_of([0.6, 0.25, NAN], [0.5, 0.6, 0.25, NAN], 0.9), NOBODY, 1, 0.8)
    mean = (0.75**0.25 + 0.4**0.25) / 2
    chance = [(2 + 0.75 + 2 / 3) / 4, 0.8 * 0.75**0.25 / mean, 0.8 * 0.4**0.25 / mean]
    np.testing.assert_allclose(found.probability, [0.9 * chance[0], 0.8 * chance[1], 0.6 * chance[2], NAN])
    of_new = 0.8 * (2 / 3) ** 0.25 / mean  # category 1, for document 0
    of_known = (2 + 0.75 + 0.75) / 4  # category 0, for document 1
    np.testing.assert_allclose(found.runner_up_probability, [0.05 * of_new, 0.2 * of_known, NAN, NAN])


def test_categories_on_which_all_agree_keep_their_probabilities() -> None:
    found = discount(pooled_of([1.0] * 3, [1.0] * 4, 1.0), NOBODY, 1, 1.0)
    np.testing.assert_array_equal(found.probability, answers().probability)


def test_a_text_with_a_label_is_as_sure_as_before() -> None:
    labels = np.array([0, UNLABELED, UNLABELED, UNLABELED])
    assert discount(pooled_of([0.6, 0.25, NAN], [0.5] * 4, 0.5), labels, 1, 0.8).probability[0] == 0.9


def test_no_runner_up_is_likelier_than_the_answer() -> None:
    even = answers()._replace(probability=np.array([0.5, 0.5, 0.5, NAN]), runner_up_probability=np.full(4, 0.49))
    found = discount(pooled_of([1.0, 0.1, 0.1], [0.1] * 4, 0.2, even), NOBODY, 1, 0.2)
    assert found.runner_up_probability[1] == found.probability[1] < 0.49


def test_known_categories_that_do_not_come_back_make_an_answer_mixed_or_unreliable() -> None:
    told = {share: [reason.level for reason in about_what_comes_back(share)] for share in (0.6, 0.8, 0.9, NAN)}
    assert list(told.values()) == [["unreliable"], ["mixed"], [], []]


def test_a_wide_interval_of_the_number_is_a_reason() -> None:
    narrow, wide = np.array([[9.0, 10.0, 11.0, 12.0]]), np.array([[8.0, 10.0, 11.0, 14.0]])
    assert not list(about_the_number(narrow))
    [reason] = about_the_number(wide)
    assert reason.level == "mixed" and reason.sentence.startswith("There may be 8 to 14 categories")


def test_doubtful_labels_are_listed_the_least_likely_first() -> None:
    probability = np.array([[0.9, 0.1], [0.3, 0.7], [0.2, 0.8], [0.7, 0.3], [0.0, 0.0]], np.float32)
    labels = np.array([0, 0, 1, 1, 1], np.int32)
    found, blamed = audit(labels, np.arange(5) == 4, probability, 2)
    assert found.document.tolist() == [1, 3] and found.suggested.tolist() == [1, 0]
    np.testing.assert_allclose(found.probability, [0.3, 0.3])
    np.testing.assert_allclose(found.suggested_probability, [0.7, 0.7])
    assert not blamed.size


def test_every_label_has_a_probability_where_there_is_a_second_category_and_a_word() -> None:
    probability = np.array([[0.9, 0.1], [0.3, 0.7], [0.25, 0.75], [0.5, 0.5], [0.0, 0.0]], np.float32)
    labels, is_empty = np.array([0, 0, 1, UNLABELED, 1], np.int32), np.arange(5) == 4
    found = label_probability(labels, is_empty, probability)
    np.testing.assert_allclose(found, [0.9, 0.3, 0.75, np.nan, np.nan], rtol=1e-6)
    assert np.isnan(label_probability(labels, is_empty, probability[:, :1])).all()


def test_most_labels_of_a_category_are_never_doubted() -> None:
    probability = np.array([[0.1, 0.9], [0.1, 0.9], [0.9, 0.1], [0.1, 0.9], [0.6, 0.4], [0.2, 0.8]], np.float32)
    found, blamed = audit(np.array([0, 0, 0, 1, 1, 1]), np.zeros(6, bool), probability, 2)
    assert found.document.tolist() == [4] and blamed.tolist() == [0]


def sentences(n_labels: list[int], joined: tuple[int, ...] = (), blamed: tuple[int, ...] = ()) -> list[str]:
    """What is said of categories with so many labels."""
    labels, names = np.repeat(np.arange(len(n_labels)), n_labels), [f"category {k}" for k in range(len(n_labels))]
    told = about_labels(labels, len(n_labels), np.array(joined, np.int64), np.array(blamed, np.int64))
    return [reason.told(names) for reason in told]


def test_few_labels_are_a_reason_to_doubt() -> None:
    assert not sentences([5, 5])
    assert sentences([1, 1]) == ["Most categories have fewer than 5 labels, too few to tell known from new."]
    assert sentences([9, 9, 2]) == ["Categories with fewer than 5 labels may be taken for new ones: category 2."]
    [joined] = sentences([20, 80], joined=(0,))
    assert joined.startswith("Categories that were found as new ones") and joined.endswith(": category 0.")
    [blamed] = sentences([20, 80], blamed=(1,))
    assert blamed.endswith("so that none is doubted: category 1.")
