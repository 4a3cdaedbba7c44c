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
# The answer: 1 and 2 are new, one document has no word, and the last 24 are labeled.
CATEGORY = np.array([0, 0, 0, 1, 1, 2, 2, NO_CATEGORY] + [0] * 24, np.int32)
LABELS = np.array([UNLABELED] * 8 + [0] * 24)
ALL_BACK = (24 + 8 * 0.75) / 32  # what 24 labels that come back say, beside 8 beforehand
NUMBERS = np.array([[2.0, 2.0], [2.0, 2.0]])  # of new categories, as the draws have them


def certainty(
    chains: list[list[int]], blind_share: float = 1.0, numbers: Array = NUMBERS, labels: Array = LABELS
) -> float:
    """Of the answer with one known category, given what the chains answer for the first eight documents."""
    nothing = np.full(32, NAN)
    consensus = Consensus(**{**dict.fromkeys(Consensus._fields, nothing), "n_categories": 3, "category": CATEGORY})
    answered = [Answers(3, np.append(chain, CATEGORY[8:]), nothing, csr_array((32, 3))) for chain in chains]
    with Threads() as threads:
        return certainty_of_new(consensus, labels, 1, answered, blind_share, numbers, threads)


SAME = CATEGORY[:8].tolist()


def test_new_categories_are_as_certain_as_labels_can_say_where_chains_and_draws_agree() -> None:
    assert certainty([SAME, SAME]) == pytest.approx(sharpened((1.0 + ALL_BACK + 1.0) / 3))


def test_chains_need_to_agree_with_the_answer_about_the_documents_of_new_categories_alone() -> None:
    """Of documents 3 to 6 the second chain has pairs 3-5 and 4-6. No pair is in both, and 2 / 3 are by chance.

    So its adjusted Rand index is (0 - 2 / 3) / (2 - 2 / 3) = -1 / 2; that of the first chain is 1.
    """
    known_differ, new_differ = [1, 2, 0, 1, 1, 2, 2, NO_CATEGORY], [0, 0, 0, 1, 2, 1, 2, NO_CATEGORY]
    assert certainty([SAME, known_differ]) == certainty([SAME, SAME])
    assert certainty([SAME, new_differ]) == pytest.approx(sharpened((0.25 + ALL_BACK + 1.0) / 3))
    assert certainty([new_differ, new_differ]) == pytest.approx(sharpened((0.0 + ALL_BACK + 1.0) / 3))


def test_labeled_documents_do_not_speak_for_new_categories() -> None:
    """Without 4 and 6 the chains have the same groups."""
    labels, other = LABELS.copy(), [0, 0, 0, 1, 2, 2, 1, NO_CATEGORY]
    assert certainty([SAME, other]) < certainty([SAME, SAME])
    labels[[4, 6]] = 0
    assert certainty([SAME, other], labels=labels) == certainty([SAME, SAME], labels=labels)


def test_categories_that_do_not_come_back_and_draws_that_differ_make_new_ones_less_certain() -> None:
    numbers = np.array([[1.0, 2.0], [4.0, 2.0]])  # nearness .5, 1, .5, 1
    expected = sharpened((1.0 + (24 * 0.6 + 8 * 0.75) / 32 + 0.75) / 3)
    assert certainty([SAME, SAME], 0.6, numbers) == pytest.approx(expected)


def test_a_few_labels_that_come_back_say_less_than_many() -> None:
    few = LABELS.copy()
    few[10:] = UNLABELED
    expected = sharpened((1.0 + (2 + 8 * 0.75) / 10 + 1.0) / 3)
    assert certainty([SAME, SAME], labels=few) == pytest.approx(expected)
    assert expected < certainty([SAME, SAME])


def test_what_is_not_known_does_not_count() -> None:
    """One chain, and no label that could be hidden."""
    assert certainty([SAME], NAN, np.array([[1.0, 2.0]])) == pytest.approx(sharpened(0.75))


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
