"""Categories that labels have named between two answers stay what they are."""

import numpy as np
import pytest

from sampler.answers.consensus import Consensus
from sampler.answers.inherited import Earlier, join_named
from sampler.corpus import NO_CATEGORY, UNLABELED, Array

NAN = np.nan
NOBODY = np.full(2, NO_CATEGORY)  # of two known categories none was a new one


def consensus(category: list[int], n_known: int, **fields: Array) -> Consensus:
    """An answer that is sure of each document, unless something else is given."""
    found = np.array(category, np.int32)
    return Consensus(
        n_categories=max(category) + 1,
        category=found,
        probability=fields.get("probability", np.where(found == NO_CATEGORY, NAN, 0.75)),
        runner_up=fields.get("runner_up", np.full(found.size, NO_CATEGORY, np.int32)),
        runner_up_probability=fields.get("runner_up_probability", np.full(found.size, NAN)),
        known=fields.get("known", np.where(found < n_known, 0.75, 0.25)),
        others=np.full((found.size, 2), NO_CATEGORY, np.int32),
        other_probability=np.full((found.size, 2), NAN),
    )


def labels_of(n: int, labels: dict[int, int]) -> Array:
    """The labels of n documents."""
    found = np.full(n, UNLABELED)
    found[list(labels)] = list(labels.values())
    return found


def earlier(category: list[int], probability: float | list[float] = 0.75, promoted: Array = NOBODY) -> Earlier:
    """An earlier answer with two or more known categories, in which no document bears a label."""
    n = len(category)
    return Earlier(np.array(category), np.broadcast_to(probability, n), np.full(n, UNLABELED), promoted)


def test_the_rest_of_a_category_that_labels_have_named_is_of_it() -> None:
    was = earlier([0, 1, 2, 2, 2, 2, 3, 3])
    now = consensus([0, 1, 2, 2, 3, 3, 4, 4], n_known=3)  # a label made 2 known, and 3 is what it does not reach
    found = join_named(now, labels_of(8, {2: 2}), 3, was)
    assert found.consensus.category.tolist() == [0, 1, 2, 2, 2, 2, 3, 3]
    assert found.became.tolist() == [0, 1, 2, 2, 3]
    assert found.consensus.n_categories == 4


@pytest.mark.parametrize("probability, joined", [(0.75, [2, 2, 2]), (0.25, [2, 3, 3])])
def test_a_document_that_was_hardly_of_a_category_does_not_name_it(probability: float, joined: list[int]) -> None:
    was = earlier([2, 2, 2], [probability, 0.9, 0.9])
    found = join_named(consensus([2, 3, 3], n_known=3), labels_of(3, {0: 2}), 3, was)
    assert found.consensus.category.tolist() == joined


def test_two_labels_that_contradict_each_other_name_no_category() -> None:
    was = earlier([2, 2, 2, 2])
    now = consensus([2, 3, 4, 4], n_known=4)
    found = join_named(now, labels_of(4, {0: 2, 1: 3}), 4, was)
    assert found.consensus.category.tolist() == [2, 3, 4, 4]


def test_a_category_stays_what_it_was_named_in_later_answers() -> None:
    was = earlier([0, 1, 2, 2, 2], promoted=np.array([NO_CATEGORY, NO_CATEGORY, 2]))
    found = join_named(consensus([0, 1, 2, 3, 3], n_known=3), labels_of(5, {}), 3, was)
    assert found.consensus.category.tolist() == [0, 1, 2, 2, 2]


def test_a_category_that_was_known_from_the_beginning_may_lose_documents_to_a_new_one() -> None:
    was = earlier([0, 1, 1, 1])
    found = join_named(consensus([0, 1, 2, 2], n_known=2), labels_of(4, {1: 1}), 2, was)
    assert found.consensus.category.tolist() == [0, 1, 2, 2]


def test_a_new_category_half_of_which_has_come_since_is_of_its_own() -> None:
    was = earlier([2, 2, 2, NO_CATEGORY, NO_CATEGORY])
    found = join_named(consensus([2, 3, 3, 3, 3], n_known=3), labels_of(5, {0: 2}), 3, was)
    assert found.consensus.category.tolist() == [2, 3, 3, 3, 3]


def test_probabilities_of_what_is_joined_add_up_and_the_likeliest_category_comes_first() -> None:
    was = earlier([2, 2, 2, 0])
    now = consensus(
        [2, 3, 3, 0],
        n_known=3,
        probability=np.array([1.0, 0.625, 0.5, 0.5]),
        runner_up=np.array([NO_CATEGORY, 2, 0, 3], np.int32),
        runner_up_probability=np.array([NAN, 0.25, 0.375, 0.25]),
        known=np.array([1.0, 0.25, 0.375, 0.75]),
    )
    found = join_named(now, labels_of(4, {0: 2}), 3, was).consensus
    assert found.category.tolist() == [2, 2, 2, 0]
    assert found.probability.tolist() == [1.0, 0.875, 0.5, 0.5]
    assert found.runner_up.tolist() == [NO_CATEGORY, NO_CATEGORY, 0, 2]
    np.testing.assert_array_equal(found.runner_up_probability, [NAN, NAN, 0.375, 0.25])
    assert found.known.tolist() == [1.0, 0.875, 0.875, 1.0]


def test_documents_without_a_category_have_none_afterwards() -> None:
    was = earlier([2, 2, NO_CATEGORY])
    found = join_named(consensus([2, 3, NO_CATEGORY], n_known=3), labels_of(3, {0: 2}), 3, was).consensus
    assert found.category.tolist() == [2, 2, NO_CATEGORY]
    assert np.isnan(found.probability[2])


def test_an_answer_in_which_nothing_is_joined_is_as_it_was() -> None:
    now = consensus([0, 1, 2, 2, 3], n_known=2)
    found = join_named(now, labels_of(5, {}), 2, earlier([0, 1, 2, 2, 3]))
    for name, before, after in zip(now._fields, now, found.consensus, strict=True):
        np.testing.assert_array_equal(after, before, err_msg=name)
