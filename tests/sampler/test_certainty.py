"""How certain the new categories of an answer are, by hand."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from sampler.answers.consensus import Consensus
from sampler.answers.pooling import Answers
from sampler.calibrated.certainty import certainty_of_new, chances_of_new, nearness, sharpened
from sampler.corpus import NO_CATEGORY, UNLABELED, Array
from sampler.numerics.threads import Threads

NAN = float("nan")
CATEGORY = np.array([0, 0, 0, 1, 1, 2, 2, NO_CATEGORY], np.int32)  # the answer; 1 and 2 are new
NUMBERS = np.array([[2.0, 2.0], [2.0, 2.0]])  # of new categories, as the draws have them


def certainty(
    chains: list[list[int]], blind_share: float = 1.0, numbers: Array = NUMBERS, labels: Array | None = None
) -> float:
    """Of the answer with one known category, given what the chains answer."""
    nothing, nobody = np.full(8, NAN), np.full(8, NO_CATEGORY, np.int32)
    consensus = Consensus(3, CATEGORY, nothing, nobody, nothing, nothing)
    answered = [Answers(3, np.array(chain), nothing, csr_array((8, 3))) for chain in chains]
    with Threads() as threads:
        given = np.full(8, UNLABELED) if labels is None else labels
        return certainty_of_new(consensus, given, 1, answered, blind_share, numbers, threads)


def test_new_categories_are_certain_where_chains_labels_and_draws_agree() -> None:
    assert certainty([CATEGORY.tolist(), CATEGORY.tolist()]) == 1.0


def test_chains_need_to_agree_about_the_documents_of_new_categories_alone() -> None:
    """Of documents 3 to 6 the second chain has pairs 3-5 and 4-6: no pair is in both, so Rand's index is below 0."""
    known_differ, new_differ = [1, 2, 0, 1, 1, 2, 2, NO_CATEGORY], [0, 0, 0, 1, 2, 1, 2, NO_CATEGORY]
    assert certainty([CATEGORY.tolist(), known_differ]) == 1.0
    assert certainty([CATEGORY.tolist(), new_differ]) == pytest.approx(sharpened((0.0 + 1.0 + 1.0) / 3))


def test_labeled_documents_do_not_speak_for_new_categories() -> None:
    """Without 4 and 6 the chains have the same groups."""
    labels, other = np.full(8, UNLABELED), [0, 0, 0, 1, 2, 2, 1, NO_CATEGORY]
    assert certainty([CATEGORY.tolist(), other], labels=labels) < 1.0
    labels[[4, 6]] = 0
    assert certainty([CATEGORY.tolist(), other], labels=labels) == 1.0


def test_categories_that_do_not_come_back_and_draws_that_differ_make_new_ones_less_certain() -> None:
    numbers = np.array([[1.0, 2.0], [4.0, 2.0]])  # nearness .5, 1, .5, 1
    found = certainty([CATEGORY.tolist(), CATEGORY.tolist()], 0.6, numbers)
    assert found == pytest.approx(sharpened((1.0 + 0.6 + 0.75) / 3))


def test_what_is_not_known_does_not_count() -> None:
    """One chain, and no label that could be hidden."""
    assert certainty([CATEGORY.tolist()], NAN, np.array([[1.0, 2.0]])) == pytest.approx(sharpened(0.75))


def test_numbers_are_as_near_as_the_smaller_is_to_the_larger() -> None:
    assert nearness(np.array([2.0, 4.0, 8.0, 4.0]), 4) == pytest.approx((0.5 + 1.0 + 0.5 + 1.0) / 4)
    assert nearness(np.array([0.0, 0.0]), 0) == 1.0
    assert nearness(np.array([0.0, 1.0]), 1) == 0.5


def test_sharpening_raises_odds_to_a_power_and_leaves_three_points() -> None:
    assert [sharpened(mean) for mean in (0.0, 1.0)] == [0.0, 1.0]
    assert sharpened(0.75) == pytest.approx(0.75)
    odds = (0.9 / 0.1) ** 1.4 * 3**-0.4
    assert sharpened(0.9) == pytest.approx(odds / (1 + odds))
    assert sharpened(0.5) < 0.5


def test_documents_that_share_more_are_surer_and_their_mean_is_the_certainty() -> None:
    share, is_new = np.array([0.5, 0.8, 1.0, 0.0]), np.array([True, True, False, False])
    found = chances_of_new(0.6, share, is_new)
    assert found[:2].mean() == pytest.approx(0.6)
    assert found[1] / found[0] == pytest.approx((0.8 / 0.5) ** 0.25)
    assert 0.0 < found[3] < found[0] < found[1] < found[2]


def test_no_chance_is_above_one_and_none_is_missing_without_new_documents() -> None:
    assert chances_of_new(0.99, np.array([0.2, 1.0]), np.array([True, True]))[1] == 1.0
    np.testing.assert_allclose(chances_of_new(0.6, np.array([1.0]), np.array([False])), 0.6)
