"""Descriptions of categories against enumeration of all matchings, and against evidence that is counted by hand."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from sampler.answers import descriptions
from sampler.answers.descriptions import DEFAULTS, Learned, Scores, Weights, fit, learn, vector_scores, word_scores
from sampler.answers.words import BACKGROUND, group_words
from sampler.corpus import NO_CATEGORY, Array

NONE = -1
PLAIN = Learned(Weights(0.0, 1.0), Weights(0.0, 1.0))


def of_words(words: Any) -> Scores:
    """Evidence from words alone."""
    return Scores(np.array(words), np.zeros(np.shape(words)))


def matchings(log_odds: Array) -> dict[tuple[int, ...], float]:
    """All matchings, as the description of each category, with the product of the odds of their pairs."""
    n_categories, n_descriptions = log_odds.shape
    found = {}
    for chosen in product(range(NONE, n_descriptions), repeat=n_categories):
        taken = [j for j in chosen if j != NONE]
        if len(set(taken)) == len(taken):
            found[chosen] = float(np.exp(sum(log_odds[k, j] for k, j in enumerate(chosen) if j != NONE)))
    return found


def enumerated(log_odds: Array) -> Array:
    """The probability of each pair, by enumeration."""
    probability, weights = np.zeros(log_odds.shape), matchings(log_odds)
    for chosen, weight in weights.items():
        for k, j in enumerate(chosen):
            if j != NONE:
                probability[k, j] += weight
    return probability / sum(weights.values())


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (4, 2), (4, 4)])
def test_the_most_probable_matching_is_that_of_enumeration(shape: tuple[int, int]) -> None:
    dice = np.random.default_rng(1)
    for _ in range(25):
        log_odds = dice.normal(0.0, 3.0, shape)
        weights = matchings(log_odds)
        best = max(weights, key=lambda chosen: weights[chosen])
        expected = np.full(shape[1], NO_CATEGORY)
        for k, j in enumerate(best):
            if j != NONE:
                expected[j] = k
        np.testing.assert_array_equal(descriptions.most_probable_matching(log_odds), expected)


def test_probabilities_of_pairs_are_those_of_enumeration_where_pairs_form_no_circle() -> None:
    log_odds = np.full((3, 3), -np.inf)
    for k, j, value in ((0, 0, 1.5), (0, 1, 2.0), (1, 1, 3.0), (1, 2, -1.0), (2, 2, 0.5)):
        log_odds[k, j] = value
    expected = enumerated(log_odds)
    np.testing.assert_allclose(descriptions.pair_probabilities(log_odds), expected, atol=1e-6)


def test_probabilities_of_pairs_are_near_those_of_enumeration_where_all_compete() -> None:
    """The largest of 16 errors is .007 on average and .03 at most over these 60 tables."""
    dice, errors = np.random.default_rng(0), []
    for _ in range(60):
        log_odds = dice.normal(-1.0, 2.0, (4, 4))
        errors.append(np.abs(descriptions.pair_probabilities(log_odds) - enumerated(log_odds)).max())
    assert np.mean(errors) < 0.015
    assert max(errors) < 0.08


def test_probabilities_of_a_category_and_of_a_description_sum_to_one_at_most() -> None:
    log_odds = np.random.default_rng(0).normal(0.0, 15.0, (20, 30))
    probability = descriptions.pair_probabilities(log_odds)
    assert (probability >= 0.0).all()
    assert probability.sum(axis=0).max() < 1.0 + 1e-6
    assert probability.sum(axis=1).max() < 1.0 + 1e-6


def test_words_speak_by_the_logarithm_of_how_much_more_frequent_they_are() -> None:
    counts = csr_array(np.array([[3, 1, 0], [1, 1, 0], [0, 2, 2]]))  # 10 tokens
    words = group_words(counts, np.array([0, 0, 1]), 2)
    bags = csr_array(np.array([[2, 0, 0], [1, 0, 1], [0, 0, 0]]))

    def evidence(share: float, of_corpus: float) -> float:
        return float(np.log(BACKGROUND + (1.0 - BACKGROUND) * share / of_corpus))

    first, last = (evidence(4 / 6, 4 / 10), evidence(0.0, 4 / 10)), (evidence(0.0, 2 / 10), evidence(2 / 4, 2 / 10))
    expected = [[first[0], first[0] + last[0], 0.0], [first[1], first[1] + last[1], 0.0]]
    np.testing.assert_allclose(word_scores(words, bags), expected)


def test_a_vector_speaks_by_its_cosine_and_one_of_zeros_not_at_all() -> None:
    sums = np.array([[2.0, 0.0], [0.0, 0.0]])
    vectors = np.array([[3.0, 3.0], [0.0, 0.0]])
    expected = [[0.5**0.5 - descriptions.NEUTRAL_COSINE, 0.0], [0.0, 0.0]]
    np.testing.assert_allclose(vector_scores(sums, vectors), expected)


def test_each_description_goes_to_the_category_that_has_its_words() -> None:
    found = fit(of_words([[-2.0, 5.0, -2.0], [4.0, -2.0, -2.0]]), PLAIN)
    assert found.category.tolist() == [1, 0, NO_CATEGORY]
    assert found.probability[1, 0] > 0.9
    assert found.probability[:, 2].sum() < 0.2


def test_two_categories_that_one_description_fits_alike_share_its_probability_and_none_is_called_so() -> None:
    found = fit(of_words([[6.0], [6.0]]), PLAIN)
    np.testing.assert_allclose(found.probability, 0.5, atol=0.01)
    assert found.category.tolist() == [NO_CATEGORY]


def test_a_description_of_which_the_documents_have_no_word_fits_none() -> None:
    found = fit(of_words([[0.0, 3.0]]), Learned(Weights(5.0, 1.0), Weights(5.0, 1.0)))
    assert found.probability[0, 0] < 1e-6
    assert found.category.tolist() == [NO_CATEGORY, 0]


def test_without_a_category_or_a_description_nothing_fits() -> None:
    assert fit(of_words(np.zeros((0, 2))), PLAIN).category.tolist() == [NO_CATEGORY] * 2
    assert fit(of_words(np.zeros((2, 0))), PLAIN).category.size == 0


def of_names(n: int, own: float, other: float, dice: np.random.Generator) -> Scores:
    """Scores of the names of n known categories, in front of as many new ones."""
    words = dice.normal(other, 1.0, (2 * n, n))
    words[np.arange(n), np.arange(n)] = dice.normal(own, 1.0, n)
    return of_words(words)


def test_names_that_tell_make_words_count_more_and_names_that_say_nothing_less() -> None:
    dice, default = np.random.default_rng(0), DEFAULTS.words_alone
    telling = learn(of_names(30, 4.0, -2.0, dice)).words_alone
    silent = learn(of_names(30, 0.0, 0.0, dice)).words_alone
    assert telling.words > default.words
    assert silent.words < 0.5 * default.words


def test_few_names_hardly_change_the_weights() -> None:
    few = learn(of_names(2, 0.0, 0.0, np.random.default_rng(0))).words_alone
    np.testing.assert_allclose(few, DEFAULTS.words_alone, atol=0.4)


def test_names_without_a_word_teach_nothing() -> None:
    assert learn(of_words(np.zeros((8, 4)))) == DEFAULTS
    assert learn(of_words(np.zeros((3, 0)))) == DEFAULTS


def test_names_with_a_vector_teach_how_much_vectors_count_and_names_without_one_do_not() -> None:
    dice = np.random.default_rng(0)
    words = of_names(30, 3.0, -1.0, dice).words
    misleading = dice.normal(0.0, 0.3, words.shape)
    learned = learn(Scores(words, misleading))
    assert learned.with_vectors.vectors < 0.5 * DEFAULTS.with_vectors.vectors
    assert learned.with_vectors.words > DEFAULTS.with_vectors.words
    assert learned.words_alone == learn(of_words(words)).words_alone
    assert learn(of_words(words)).with_vectors == DEFAULTS.with_vectors


def test_beside_a_vector_words_count_less_than_alone() -> None:
    scores = Scores(np.array([[2.0, 2.0], [-2.0, -2.0]]), np.array([[0.0, -0.2], [0.0, 0.2]]))
    assert fit(scores, DEFAULTS).category.tolist() == [0, 1]


def test_the_order_of_descriptions_changes_no_probability() -> None:
    scores = of_words(np.random.default_rng(2).normal(0.0, 2.0, (5, 6)))
    order = np.array([3, 0, 5, 1, 4, 2])
    found, again = fit(scores, PLAIN), fit(of_words(scores.words[:, order]), PLAIN)
    np.testing.assert_allclose(again.probability, found.probability[:, order], atol=1e-6)
    np.testing.assert_array_equal(again.category, found.category[order])
