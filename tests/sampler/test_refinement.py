"""Refinement on categories with faults that are known, temperatures on probabilities that are, and answers by hand."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import softmax

from sampler.calibrated.bags import word_bags
from sampler.calibrated.refinement import (
    Refined,
    among_unlabeled,
    consensus_of_refined,
    cooled,
    fit_temperature,
    join_starved,
    refine,
    with_draws,
)
from sampler.corpus import NO_CATEGORY, UNLABELED, Array, Corpus
from sampler.numerics.threads import Threads
from tests.sampler.calibrated_harness import QUICK, easy, posed

FLOAT32 = 1e-5


def refined(corpus: Corpus, category: Array, n_categories: int, n_refinements: int = 2, n_threads: int = 1) -> Refined:
    """The categories of a corpus after some rounds."""
    hyperparameters = replace(QUICK, n_refinements=n_refinements)
    with Threads(n_threads) as threads:
        return refine(word_bags(corpus), corpus.labels, category, n_categories, hyperparameters, 1, threads)


def test_wrong_categories_of_a_few_documents_are_put_right() -> None:
    given = easy([40, 40, 40], [10, 10, 0])
    category, wrong = given.truth.copy(), np.array([15, 35, 55, 79, 85, 100, 119])
    category[wrong] = (category[wrong] + 1) % 3
    n_wrong = [(refined(given.corpus, category, 3, n).category != given.truth).sum() for n in range(4)]
    assert n_wrong[0] == wrong.size > n_wrong[1] >= n_wrong[2] >= n_wrong[3] == 0
    found = refined(given.corpus, category, 3, 3)
    np.testing.assert_array_equal(found.probability.argmax(axis=1), given.truth)
    np.testing.assert_allclose(found.probability.sum(axis=1), 1.0, rtol=FLOAT32)


def test_without_refinements_categories_stay_and_only_get_probabilities() -> None:
    given = easy([30, 30], [8, 0])
    category = given.truth.copy()
    category[[20, 50]] = 1 - category[[20, 50]]
    found = refined(given.corpus, category, 2, 0)
    np.testing.assert_array_equal(found.category, category)
    np.testing.assert_array_equal(found.probability.argmax(axis=1), given.truth)


def test_an_unlabeled_document_is_judged_by_all_labels_a_labeled_one_by_those_of_others_alone() -> None:
    """The one label tells of its category, of which nothing else does: only where it is left out nobody knows it."""
    given = easy([40, 40, 40], [12, 1, 0])
    category = np.where(given.truth == 1, 2, given.truth)
    probability = refined(given.corpus, category, 3, 0).probability[:, 1]
    assert probability[41:80].min() > 3 * probability[40]


def test_labels_never_change() -> None:
    """Not even those that are wrong, whatever the partition says of their documents."""
    given = easy([40, 40, 40], [12, 12, 0])
    labels = given.corpus.labels.copy()
    labels[[0, 41]] = [1, 0]
    category = given.truth.copy()
    category[labels != UNLABELED] = 2
    found = refined(given.corpus._replace(labels=labels), category, 3)
    is_labeled = labels != UNLABELED
    np.testing.assert_array_equal(found.category[is_labeled], labels[is_labeled])
    assert found.probability[[0, 41], labels[[0, 41]]].max() < 0.5  # but they are doubted
    np.testing.assert_array_equal(found.category[~is_labeled], given.truth[~is_labeled])


def test_a_new_category_that_loses_its_documents_is_gone() -> None:
    """Two documents of another category's words: no fit that sees the one judges the other to be apart from all."""
    given = easy([40, 40, 40], [12, 12, 0])
    category = given.truth.copy()
    category[[90, 100]] = 3
    found = refined(given.corpus, category, 4)
    np.testing.assert_array_equal(found.category, given.truth)
    consensus, column = consensus_of_refined(found, given.corpus.labels, 2)
    assert consensus.n_categories == 3
    np.testing.assert_array_equal(column, [0, 1, 2])


def test_documents_without_words_have_no_category() -> None:
    given = easy([20, 20], [6, 0])
    offsets = np.append(given.corpus.offsets, [given.corpus.offsets[-1]] * 2)
    corpus = given.corpus._replace(
        offsets=offsets, labels=np.append(given.corpus.labels, [0, UNLABELED]).astype(np.int32)
    )
    found = refined(corpus, np.append(given.truth, [NO_CATEGORY, NO_CATEGORY]), 2)
    np.testing.assert_array_equal(found.category, [*given.truth, NO_CATEGORY, NO_CATEGORY])
    np.testing.assert_array_equal(found.probability[40:], 0.0)
    consensus, _ = consensus_of_refined(found, corpus.labels, 1)
    assert consensus.category[40:].tolist() == [0, NO_CATEGORY]  # a label is a label
    assert consensus.probability[40] == 1.0 and np.isnan(consensus.probability[41])
    assert consensus.runner_up[40:].tolist() == [NO_CATEGORY, NO_CATEGORY]


def test_no_category_at_all_is_an_answer() -> None:
    """Documents without a word, none of them labeled."""
    corpus = posed([[]] * 3, [UNLABELED] * 3, 0)
    found = refined(corpus, np.full(3, NO_CATEGORY), 0)
    consensus, column = consensus_of_refined(found, corpus.labels, 0)
    assert consensus.n_categories == 0 == column.size
    np.testing.assert_array_equal(consensus.category, NO_CATEGORY)
    assert np.isnan(consensus.probability).all()


def test_any_number_of_threads_gives_the_same_bytes() -> None:
    given = easy([30, 30, 30], [10, 10, 0], overlap=0.6)
    expected = refined(given.corpus, given.truth, 3)
    for n_threads in (2, 5):
        found = refined(given.corpus, given.truth, 3, n_threads=n_threads)
        assert found.temperature == expected.temperature
        assert found.category.tobytes() == expected.category.tobytes()
        assert found.probability.tobytes() == expected.probability.tobytes()


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_the_temperature_of_tempered_probabilities_is_found_and_1_if_they_mean_what_they_say(
    temperature: float,
) -> None:
    """Labels are drawn from rows p, and p^t is what is to be judged: p^t to the power 1 / t is right.

    Of log t the information of one document is the variance of log p under p: five errors of its estimate.
    """
    rng, n = np.random.default_rng(91), 4_000
    log_p = rng.normal(0.0, 1.5, (n, 5))
    p = softmax(log_p, axis=1)
    labels = (log_p + rng.gumbel(size=log_p.shape)).argmax(axis=1)
    information = ((p * np.log(p) ** 2).sum(axis=1) - (p * np.log(p)).sum(axis=1) ** 2).sum()
    judged, held_back = softmax(temperature * log_p, axis=1), np.arange(n) % 4 > 0
    labels[~held_back] = UNLABELED  # nobody asks them
    found = fit_temperature(judged.astype(np.float32), labels, held_back)
    assert np.log(found) == pytest.approx(np.log(temperature), abs=5.0 / np.sqrt(information * 0.75))
    np.testing.assert_allclose(cooled(judged.astype(np.float32), temperature), p, atol=FLOAT32)


def test_without_labels_probabilities_stay_as_they_are() -> None:
    p = softmax(np.random.default_rng(92).normal(size=(6, 3)), axis=1).astype(np.float32)
    assert fit_temperature(p, np.full(6, UNLABELED), np.zeros(6, bool)) == 1.0
    np.testing.assert_allclose(cooled(p, 1.0), p, rtol=FLOAT32)


def test_cooled_rows_sum_to_1_and_rows_of_nothing_stay_0() -> None:
    p = np.array([[0.5, 0.3, 0.2], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1e-12, 0.0, 1.0]], np.float32)
    for temperature in (0.25, 1.0, 8.0):
        found = cooled(p.copy(), temperature)
        np.testing.assert_allclose(found.sum(axis=1), [1.0, 0.0, 1.0, 1.0], rtol=FLOAT32)
        assert (found.argmax(axis=1) == p.argmax(axis=1)).all()


def test_probabilities_of_a_refinement_are_calibrated_on_labels_that_it_did_not_see() -> None:
    """Of labeled documents that share most words with those of the other category, as many are right as is said.

    The mean of 300 probabilities against as many hits: five errors of at most sqrt(.25 / 300) = .029.
    """
    given = easy([150, 150], [150, 150], overlap=0.93)
    found = refined(given.corpus, given.truth, 2, 1)
    said, is_right = found.probability.max(axis=1), found.probability.argmax(axis=1) == given.truth
    assert 0.6 < is_right.mean() < 0.95
    assert said.mean() == pytest.approx(is_right.mean(), abs=0.145)


def test_answers_are_in_the_order_of_size_and_have_the_next_best_category() -> None:
    """Worked out by hand: of five columns two are known, and nobody is in column 3, so it is nobody's runner-up."""
    probability = np.array(
        [
            [0.9, 0.1, 0.0, 0.0, 0.0],  # labeled 0
            [0.2, 0.1, 0.6, 0.05, 0.05],
            [0.05, 0.05, 0.1, 0.2, 0.6],
            [0.0, 0.0, 0.15, 0.2, 0.65],
            [0.6, 0.3, 0.1, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0],  # without a word
            [0.1, 0.2, 0.7, 0.0, 0.0],  # labeled 1
        ],
        np.float32,
    )
    labels = np.array([0, -1, -1, -1, -1, -1, 1])
    found = Refined(np.array([0, 2, 4, 4, 0, NO_CATEGORY, 1], np.int32), probability, 1.0, None)
    consensus, column = consensus_of_refined(found, labels, 2)
    np.testing.assert_array_equal(column, [0, 1, 4, 2])  # two documents before one
    assert consensus.n_categories == 4
    np.testing.assert_array_equal(consensus.category, [0, 3, 2, 2, 0, NO_CATEGORY, 1])
    np.testing.assert_array_equal(consensus.runner_up, [NO_CATEGORY, 0, 3, 3, 1, NO_CATEGORY, NO_CATEGORY])
    np.testing.assert_allclose(consensus.probability, [1.0, 0.6, 0.6, 0.65, 0.6, np.nan, 1.0], rtol=FLOAT32)
    np.testing.assert_allclose(
        consensus.runner_up_probability, [np.nan, 0.2, 0.1, 0.15, 0.3, np.nan, np.nan], rtol=FLOAT32
    )
    assert consensus.category.dtype == np.int32 == consensus.runner_up.dtype
    assert consensus.probability.dtype == np.float64


def test_known_categories_stay_without_a_document_and_one_alone_has_no_runner_up() -> None:
    found = Refined(np.zeros(2, np.int32), np.array([[0.8, 0.15, 0.05]] * 2, np.float32), 1.0, None)
    consensus, column = consensus_of_refined(found, np.array([UNLABELED, 0]), 2)
    assert consensus.n_categories == 2 and column.tolist() == [0, 1]
    assert consensus.runner_up.tolist() == [1, NO_CATEGORY]
    alone, column = consensus_of_refined(found, np.array([UNLABELED, 0]), 1)
    assert alone.n_categories == 1 and column.tolist() == [0] and alone.runner_up.tolist() == [NO_CATEGORY, NO_CATEGORY]
    assert np.isnan(alone.runner_up_probability).all()


def judged(probability: list[list[float]], category: list[int]) -> Refined:
    """A refinement that gave these."""
    return Refined(np.array(category, np.int32), np.array(probability, np.float32), 1.0, None)


def test_a_new_category_that_labels_of_a_known_one_look_like_is_that_one() -> None:
    """Three labels of category 0, two of which are likelier of the new category 2; those of category 1 are its own."""
    rows = [[0.1, 0.0, 0.9], [0.2, 0.0, 0.8], [0.8, 0.0, 0.2], [0.0, 1.0, 0.0], [0.3, 0.0, 0.7], [0.1, 0.2, 0.7]]
    labels = np.array([0, 0, 0, 1, UNLABELED, UNLABELED])
    found, joined = join_starved(judged(rows, [0, 0, 0, 1, 2, 2]), labels, 2)
    assert joined.tolist() == [0]
    assert found.category.tolist() == [0, 0, 0, 1, 0, 0]
    np.testing.assert_allclose(found.probability[4:], [[1.0, 0.0, 0.0], [0.8, 0.2, 0.0]], atol=1e-6)


def test_a_new_category_that_half_of_the_labels_look_like_stays() -> None:
    given = judged([[0.1, 0.9], [0.8, 0.2], [0.3, 0.7]], [0, 0, 1])
    found, joined = join_starved(given, np.array([0, 0, UNLABELED]), 1)
    assert not joined.size
    np.testing.assert_array_equal(found.probability, given.probability)


def test_labels_that_look_like_another_known_category_join_nothing() -> None:
    _, joined = join_starved(judged([[0.1, 0.9, 0.0], [0.0, 1.0, 0.0]], [0, 1]), np.array([0, 1]), 2)
    assert not joined.size


def test_a_document_without_a_label_is_less_likely_of_a_category_that_is_mostly_labeled() -> None:
    """With rates of .5 and .8: (.4 x .5, .2 x .2, .4) over their sum of .64."""
    given = judged([[0.4, 0.2, 0.4], [0.4, 0.2, 0.4]], [0, 0])
    found = among_unlabeled(given, np.array([UNLABELED, 0]), np.array([0.5, 0.8]))
    np.testing.assert_allclose(found.probability[0], np.array([0.2, 0.04, 0.4]) / 0.64, atol=1e-6)
    np.testing.assert_array_equal(found.probability[1], given.probability[1])
    assert found.category.tolist() == [2, 0]


def test_where_no_rate_is_known_probabilities_stay() -> None:
    given = judged([[0.6, 0.4]], [0])
    found = among_unlabeled(given, np.array([UNLABELED]), np.array([np.nan]))
    np.testing.assert_allclose(found.probability, given.probability)


def test_draws_of_the_chains_decide_where_words_hardly_do() -> None:
    """The weighed geometric mean of (.55, .45) and (.21, .81), .01 added to each share."""
    given = judged([[0.55, 0.45], [0.55, 0.45], [0.0, 0.0]], [0, 0, NO_CATEGORY])
    shares = csr_array(np.array([[0.2, 0.8], [0.0, 0.0], [0.0, 0.0]]))
    found = with_draws(given, shares, np.array([UNLABELED, 0, UNLABELED]), Threads())
    both = np.array([0.55, 0.45]) ** 0.75 * np.array([0.21, 0.81]) ** 0.25
    np.testing.assert_allclose(found.probability[0], both / both.sum(), atol=1e-6)
    np.testing.assert_array_equal(found.probability[1:], given.probability[1:])
    assert found.category.tolist() == [1, 0, NO_CATEGORY]
