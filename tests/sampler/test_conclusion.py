"""How probabilities are discounted for what the regressions take for certain, by hand."""

import numpy as np
import pytest

from sampler.answers.consensus import Consensus
from sampler.calibrated.conclusion import discount
from sampler.corpus import NO_CATEGORY

NAN = float("nan")


def answers() -> Consensus:
    """One known and two new categories; the last document has no word."""
    return Consensus(
        n_categories=3,
        category=np.array([0, 1, 2, NO_CATEGORY], np.int32),
        probability=np.array([0.9, 0.8, 0.6, NAN]),
        runner_up=np.array([1, 0, NO_CATEGORY, NO_CATEGORY], np.int32),
        runner_up_probability=np.array([0.05, 0.2, NAN, NAN]),
        known=np.array([0.95, 0.2, 0.1, NAN]),
    )


def test_probabilities_are_discounted_for_chains_that_differ_and_labels_that_do_not_come_back() -> None:
    found = discount(answers(), 1, np.array([0.6, 0.25, NAN]), 0.8)
    # 2 J / (1 + J) is .75, .4 and, as nothing is known of it, 1; by the labels it is 1, .8, .8.
    chance = [(0.75 + 1.0) / 2, (0.4 + 0.8) / 2, (1.0 + 0.8) / 2]
    np.testing.assert_allclose(found.probability, [0.9 * chance[0], 0.8 * chance[1], 0.6 * chance[2], NAN])
    np.testing.assert_allclose(found.runner_up_probability, [0.05 * chance[1], 0.2 * chance[0], NAN, NAN])


def test_without_labels_the_chains_alone_decide() -> None:
    category = np.array([0, 1, 2, NO_CATEGORY], np.int32)
    found = discount(answers()._replace(category=category), 0, np.full(3, 0.6), NAN)
    np.testing.assert_allclose(found.probability, np.array([0.9, 0.8, 0.6, NAN]) * 0.75)


def test_categories_on_which_all_agree_keep_their_probabilities() -> None:
    found = discount(answers(), 1, np.ones(3), 1.0)
    np.testing.assert_array_equal(found.probability, answers().probability)
    assert found.probability[0] == pytest.approx(0.9)
