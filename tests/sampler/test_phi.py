"""Rows of phi against the laws of their weights, by scipy, and against the algorithms one weight at a time."""

import itertools
import math

import numpy as np
import pytest
import scipy.stats
from numba import njit

from sampler.corpus import Array
from sampler.lbpl_ntm.blocked import phi
from sampler.lbpl_ntm.blocked.arrays import Drawn, WordTopics, word_topics
from sampler.lbpl_ntm.blocked.phi import WordPrior
from sampler.lbpl_ntm.blocked.phi_gammas import cut_uniform, negligible
from sampler.numerics.streams import branch, uniform
from sampler.numerics.variates import gamma_from, normal_from, random_bits
from tests.sampler.variates_harness import KEYS, LEVEL, assert_uncorrelated


def rows_of(counts: Array) -> WordTopics:
    """int[V, L] as rows of the topics that have a count."""
    rows: WordTopics = word_topics(np.asarray(counts, np.int32))
    return rows


def draw(rows: WordTopics, beta: float, cut: float, key: np.uint64, step: int = phi.WORDS) -> tuple[Drawn, Array]:
    """The rows of all words, `step` at a time, and the sums of weights, float64[L]."""
    n_words, n_topics = rows.topic.shape
    topic, weight = np.full((n_words, n_topics), 9, np.uint16), np.full((n_words, n_topics), 9.0, np.float32)
    size, none = np.zeros((2, n_words), np.int32), np.zeros((1, 1), np.float32)
    drawn = Drawn(np.zeros(1), none, topic, weight, size[0], size[1], none)
    norm, scratch = np.zeros(n_topics), phi.phi_scratch(n_topics)
    for w in range(0, n_words, step):
        phi.draw_rows(rows, WordPrior(beta, cut), key, w, min(w + step, n_words), drawn, norm, scratch)
    return drawn, norm


@njit
def spread(topic, weight, size):
    """Weights by topic, float32[V, L], zero where left out."""
    dense = np.zeros(topic.shape, np.float32)
    for w in range(size.size):
        for j in range(size[w]):
            dense[w, topic[w, j]] += weight[w, j]  # a topic listed twice would weigh too much
    return dense


def phi_rows(counts: Array, beta: float, cut: float, key: np.uint64, n_words: int) -> tuple[Array, Array]:
    """The weights of one word drawn for many, float32[V, L], zero where left out; sizes, int32[V, 2]."""
    drawn, _ = draw(rows_of(np.tile(counts, (n_words, 1))), beta, cut, key)
    return spread(drawn.topic, drawn.weight, drawn.size), np.stack((drawn.size, drawn.counted), 1)


@pytest.mark.parametrize("shape", [0.01, 0.1, 0.6])
@pytest.mark.parametrize("negligible", [1e-9, 1e-6])
def test_the_cut_is_where_the_first_proposal_becomes_negligible(shape: float, negligible: float) -> None:
    cut = cut_uniform(shape, negligible)
    proposal = lambda u: (u * (math.e + shape) / math.e) ** (1.0 / shape)  # noqa: E731
    assert proposal(cut) == pytest.approx(negligible, rel=1e-9)


@pytest.mark.parametrize(("n_topics", "beta"), [(10, 0.01), (128, 0.01), (128, 0.5), (1000, 0.1)])
def test_what_is_cut_from_a_word_weighs_less_than_the_rounding_of_one(n_topics: int, beta: float) -> None:
    """The expected weight below x of a Gamma(beta) is beta times the chance that a Gamma(beta + 1) is below x."""
    least = negligible(n_topics, beta)
    cut_weight = n_topics * beta * scipy.stats.gamma.cdf(least, beta + 1.0)
    assert 0.0 < cut_weight < 2.0**-26


WORD = np.array([0, 3, 0, 1, 0, 0, 120, 0, 0, 0, 1, 0, 0, 0, 0, 7, 0, 0, 0, 0, 2], np.int32)  # L = 21, not whole eights


@pytest.mark.parametrize("beta", [0.01, 0.1, 0.7, 1.0, 2.5])
def test_a_row_of_phi_has_its_law(beta: float) -> None:
    """Of 6 topics with a count each, of the 15 others together: law and share of the weights above the cut."""
    least = negligible(WORD.size, beta)
    dense, sizes = phi_rows(WORD, beta, cut_uniform(beta, least), KEYS[0], 40_000)
    assert (sizes[:, 1] == 6).all()
    assert (sizes[:, 0] == (dense > 0.0).sum(1)).all()
    for count in np.unique(WORD):
        law = scipy.stats.gamma(beta + count)
        weights = dense[:, count == WORD].ravel().astype(float)
        above = weights[weights > least]
        share = law.sf(least)
        assert scipy.stats.binomtest(above.size, weights.size, share).pvalue > LEVEL / 12
        assert scipy.stats.kstest(law.sf(above) / share, "uniform").pvalue > LEVEL / 12


def test_the_topics_of_a_row_are_independent() -> None:
    """All 210 pairs of 21 topics: ranks of their weights, and for those without a count whether they are kept."""
    beta = 0.1
    dense, _ = phi_rows(WORD, beta, cut_uniform(beta, 1e-6), KEYS[1], 50_000)
    levels = scipy.stats.gamma.cdf(dense, beta + WORD)
    correlations = np.corrcoef(levels.T)[np.triu_indices(WORD.size, 1)]
    assert np.abs(correlations).max() * math.sqrt(len(dense)) < scipy.stats.norm.isf(LEVEL / (2 * 210))


SHAPES = [1.01, 2.01, 5.01, 50.01, 5000.01]


@pytest.fixture(scope="module")
def counted() -> Array:
    """The levels in their laws, float64[10,000, 200], of weights with a count in rows in which all topics have one."""
    counts = np.tile([1, 2, 5, 50, 5000], 40)
    dense, _ = phi_rows(counts, 0.01, 0.5, KEYS[0], 10_000)
    return scipy.stats.gamma.cdf(dense.astype(float), counts + 0.01)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_weight_with_a_count_has_its_law_and_its_tails(counted: Array, shape: float) -> None:
    """Of 400,000 for each shape; beyond the quantiles of 1e-2 to 1e-5 the numbers are binomial: 9 comparisons of 5.

    The rounding of a float32 moves a level by less than 6e-8 shape^1/2, 4e-6, which is nothing beside 400,000^-1/2.
    """
    levels = counted[:, SHAPES.index(shape) :: 5].ravel()
    assert scipy.stats.kstest(levels, "uniform").pvalue > LEVEL / 45
    for tail in (1e-2, 1e-3, 1e-4, 1e-5):
        for beyond in (levels < tail, levels > 1.0 - tail):
            assert scipy.stats.binomtest(int(beyond.sum()), levels.size, tail).pvalue > LEVEL / 45


def test_weights_with_a_count_are_not_correlated_with_their_neighbours(counted: Array) -> None:
    """In the row at lags 1, 2 and 8, of the same topic between words, and in their distance from the middle."""
    for levels in (counted, abs(counted - 0.5)):
        for lag in (1, 2, 8):
            assert_uncorrelated(levels[:, lag:].ravel(), levels[:, :-lag].ravel(), 8)
        assert_uncorrelated(levels[1:].ravel(), levels[:-1].ravel(), 8)


@njit
def one_by_one(counts, beta, key, n_words):
    """Weights with a count, float64[V, L], by the scalar algorithm from the numbers at their addresses; who read on."""
    weights, read_on = np.empty((n_words, counts.size)), np.zeros((n_words, counts.size), np.bool_)
    for w in range(n_words):
        word_key = branch(key, w)
        for topic in range(counts.size):
            stream, bits = branch(word_key, topic), random_bits(word_key, 2 * topic)
            x, position = normal_from(bits, stream, 0)
            u = 1.0 - uniform(word_key, 2 * topic + 1)
            weights[w, topic], end = gamma_from(beta + counts[topic], x, u, stream, position)
            read_on[w, topic] = end > 0
    return weights, read_on


def test_weights_with_a_count_are_those_of_the_algorithm_one_by_one() -> None:
    """Whether the first attempt, side by side, was enough, or its normal or its test or other attempts were needed."""
    counts = np.tile([1, 2, 5, 50, 5000], 20).astype(np.int32)
    expected, read_on = one_by_one(counts, 0.01, KEYS[1], 2000)
    assert 0.02 < read_on.mean() < 0.05  # 1.2 in 100 normals; 5 and 1 in 100 attempts at the shapes 1.01 and 2.01
    dense, _ = phi_rows(counts, 0.01, 0.5, KEYS[1], 2000)
    np.testing.assert_allclose(dense, expected, rtol=1.3e-7)


@pytest.mark.parametrize("beta", [0.01, 0.5])
def test_a_weight_without_a_count_has_its_law_in_its_tail(beta: float) -> None:
    """Of 7.7 million; the upper branch of the algorithm proposes all above 1. 6 comparisons for each beta."""
    least = negligible(128, beta)
    dense, _ = phi_rows(np.zeros(128), beta, cut_uniform(beta, least), KEYS[2], 60_000)
    law = scipy.stats.gamma(beta)
    for bound in (1e-3, 0.1, 1.0, 2.0, 5.0):
        beyond = int((dense > bound).sum())
        assert scipy.stats.binomtest(beyond, dense.size, law.sf(bound)).pvalue > LEVEL / 12
    levels = law.sf(dense[dense > 1.0].astype(float)) / law.sf(1.0)
    assert scipy.stats.kstest(levels, "uniform").pvalue > LEVEL / 12


@pytest.mark.parametrize("beta", [0.01, 0.3])
def test_a_weight_depends_on_its_word_topic_and_count_alone(beta: float) -> None:
    """Not on the other counts of the row, nor on the words with which it is drawn."""
    rng = np.random.default_rng(4)
    counts, others = rng.poisson(0.3, (150, 37)), rng.poisson(0.3, (150, 37))
    cut = cut_uniform(beta, negligible(37, beta))
    drawn, _ = draw(rows_of(counts), beta, cut, KEYS[0])
    dense = spread(drawn.topic, drawn.weight, drawn.size)
    for step in (1, 7):
        again, _ = draw(rows_of(counts), beta, cut, KEYS[0], step)
        np.testing.assert_array_equal(spread(again.topic, again.weight, again.size), dense)
    other, _ = draw(rows_of(others), beta, cut, KEYS[0])
    dense_other = spread(other.topic, other.weight, other.size)
    one_is_kept = (drawn.size > 1) & (other.size > 1)  # a row of one topic may have it only because it must have one
    same = (counts == others) & one_is_kept[:, np.newaxis]
    assert same.mean() > 0.5
    np.testing.assert_array_equal(dense[same], dense_other[same])


def test_topics_with_a_count_come_first_and_both_kinds_ascend() -> None:
    rng = np.random.default_rng(3)
    for n_topics in (1, 7, 8, 64, 129):
        counts = rng.poisson(0.2, (150, n_topics))
        cut = cut_uniform(0.01, negligible(n_topics, 0.01))
        drawn, norm = draw(rows_of(counts), 0.01, cut, KEYS[0])
        for w, (size, n_counted) in enumerate(zip(drawn.size, drawn.counted, strict=True)):
            np.testing.assert_array_equal(drawn.topic[w, :n_counted], np.flatnonzero(counts[w]))
            rest = drawn.topic[w, n_counted:size].astype(int)
            assert (np.diff(rest) > 0).all() and (counts[w, rest] == 0).all() and (rest < n_topics).all()
            assert (drawn.weight[w, :size] > 0.0).all()
        dense = spread(drawn.topic, drawn.weight, drawn.size)
        np.testing.assert_allclose(norm, dense.sum(0, dtype=float), rtol=1e-12)


def test_without_a_cut_a_row_has_all_topics() -> None:
    drawn, _ = draw(rows_of(np.random.default_rng(5).poisson(0.5, (70, 21))), 0.01, 0.0, KEYS[1])
    assert (drawn.size == 21).all()
    assert (np.sort(drawn.topic, axis=1) == np.arange(21)).all()


def test_a_row_writes_nothing_beyond_its_end() -> None:
    """Rows before and behind may be written by others at the same time; only where there is room chunks are whole."""
    for key, n_topics in itertools.product(KEYS, (11, 40, 128)):
        rows = rows_of(np.random.default_rng(6).poisson(0.7, (7, n_topics)))
        topic, weight = np.full((7, n_topics), 9, np.uint16), np.full((7, n_topics), 9.0, np.float32)
        size, none = np.full((2, 7), 9, np.int32), np.zeros((1, 1), np.float32)
        drawn = Drawn(np.zeros(1), none, topic, weight, size[0], size[1], none)
        phi.draw_rows(rows, WordPrior(0.01, 0.5), key, 2, 5, drawn, np.zeros(n_topics), phi.phi_scratch(n_topics))
        for written in (topic, weight, size.T):
            assert (written[:2] == 9).all() and (written[5:] == 9).all() and (written[2:5] != 9).any()


def test_a_word_without_a_count_keeps_at_least_one_topic() -> None:
    cut = cut_uniform(0.01, 1e-6)
    dense, sizes = phi_rows(np.zeros(3, np.int32), 0.01, cut, KEYS[2], 10_000)
    assert sizes[:, 0].min() == 1 and (sizes[:, 1] == 0).all()
    assert (dense.max(1) > 0.0).all()
    kept_one = np.bincount(dense[sizes[:, 0] == 1].argmax(1), minlength=3)
    assert scipy.stats.chisquare(kept_one).pvalue > LEVEL  # none of the topics is preferred
