"""Which of the categories that were found are those that somebody has described in a few words.

Each description fits at most one new category and each category at most one description. A pair of category k and
description j has the odds

    w_kj = exp(prior + words * s_kj + vectors * v_kj) / n

of fitting against j fitting none of n categories, where s_kj is what the description's words say and v_kj what its
vector says. Known categories, whose names are descriptions, teach these weights. The odds of a matching are the product
of those of its pairs: so the most probable one is an assignment, and the probability of a pair is the share of all
matchings, by their odds, that have it.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment, minimize
from scipy.sparse import csr_array

from sampler.answers.words import BACKGROUND, GroupWords
from sampler.corpus import NO_CATEGORY, Array
from sampler.vectors import unit_rows

FITS = 0.5  # least probability at which a category takes the name of a description
MOST_LOG_ODDS = 20.0  # of a pair, for or against: beyond, nothing would change but the last bits
N_PASSES, CLOSE = 200, 1e-8  # of belief propagation, and by how much no message changes any more
DECIMALS = 6  # of probabilities: the last bits depend on the library


class Weights(NamedTuple):
    """How much the evidence about a pair counts."""

    prior: float  # log odds, without evidence, that a description fits one of the categories
    words: float
    vectors: float = 0.0


class Learned(NamedTuple):
    """The weights for descriptions without a vector, and for those with one: both kinds of evidence say the same."""

    words_alone: Weights
    with_vectors: Weights


class Scores(NamedTuple):
    """The evidence about pairs of K categories and J descriptions; 0 where there is none."""

    words: Array  # float64[K, J], see `word_scores`
    vectors: Array  # float64[K, J], see `vector_scores`

    @property
    def of_pairs(self) -> Array:
        """float64[K, J, 3]: what each of Weights counts."""
        return np.stack([np.ones_like(self.words), self.words, self.vectors], axis=-1)

    @property
    def has_vector(self) -> Array:
        """bool[J]: whether a description has a vector."""
        return np.asarray(self.vectors.any(axis=0))

    def part(self, categories: slice, descriptions: slice) -> "Scores":
        """The evidence about some pairs."""
        return Scores(self.words[categories, descriptions], self.vectors[categories, descriptions])


# Chosen on 14 benchmark problems whose categories have names that say something, see docs/descriptions.md.
DEFAULTS = Learned(Weights(0.7, 1.1), Weights(0.7, 0.5, 11.0))
BELIEVED = 2.0  # odds that a category which somebody describes is there: exp(0.7), the prior of the defaults
NEUTRAL_COSINE = 0.3  # of a description and a category: a higher one speaks for the pair
STRENGTH = Weights(4.0, 16.0, 0.2)  # of these defaults: inverse variances of the weights around them


def word_scores(words: GroupWords, descriptions: csr_array) -> Array:
    """float64[K, J]: log likelihood ratio of a description's words in a category against all of the corpus.

    `descriptions` int[J, V] are bags of words; each word counts once. A word that the category lacks speaks against the
    pair by -log BACKGROUND at most. O(K times words of all descriptions) time.
    """
    wanted = np.unique(descriptions.indices)
    holds = descriptions[:, wanted].astype(np.float64)
    holds.data[:] = 1.0
    background, found = words.background[wanted], np.empty((words.sizes.size, descriptions.shape[0]))
    for category in range(words.sizes.size):
        share, (own, tokens, _) = np.zeros(words.corpus.size), words.row(category)
        share[own] = tokens / max(int(tokens.sum()), 1)
        lift = np.divide(share[wanted], background, out=np.ones(wanted.size), where=background > 0.0)
        found[category] = holds @ np.log(BACKGROUND + (1.0 - BACKGROUND) * lift)
    return found


def vector_scores(sums: Array, vectors: Array) -> Array:
    """float64[K, J]: by how much the cosine of a category, float64[K, p], and a description, float64[J, p], is high.

    `sums` are those of the vectors of the category's texts. 0 for whatever has none.
    """
    cosine = unit_rows(sums) @ unit_rows(vectors).T
    is_there = np.outer(sums.any(axis=1), vectors.any(axis=1))
    found: Array = np.where(is_there, cosine - NEUTRAL_COSINE, 0.0)
    return found


def learn(scores: Scores) -> Learned:
    """The weights that known categories teach: `scores` are those of their names, column k for category k of K."""
    says = scores.words.any(axis=0)
    return Learned(
        learned_weights(scores, np.flatnonzero(says), DEFAULTS.words_alone),
        learned_weights(scores, np.flatnonzero(scores.has_vector), DEFAULTS.with_vectors),
    )


def learned_weights(scores: Scores, names: Array, default: Weights) -> Weights:
    """The weights that some names int[n] of known categories teach, those that are 0 by default left out.

    Each name is two examples: with its own category among all others, which it fits, and without it, where it fits
    none. The second one counts as much less as BELIEVED says. Both count against the default, which a few names hardly
    change.
    """
    n_categories, pairs = scores.words.shape[0], scores.of_pairs
    if n_categories < 2 or names.size == 0:
        return default
    first, strength = np.array(default), np.array(STRENGTH)
    is_used = np.array([True, *(weight > 0.0 for weight in default[1:])])

    def loss(some: Array) -> float:
        weights = first.copy()
        weights[is_used] = some
        log_odds, total = pairs @ weights, 0.5 * float((strength * (weights - first) ** 2).sum())
        for k in names:
            others = np.delete(log_odds[:, k], k)
            total += log_sum(log_odds[:, k] - np.log(n_categories)) - log_odds[k, k]
            total += log_sum(others - np.log(n_categories - 1)) / BELIEVED
        return total

    found = first.copy()
    found[is_used] = minimize(loss, first[is_used], method="BFGS").x
    found[1:] = np.maximum(found[1:], 0.0)  # evidence for a pair never speaks against it
    return Weights(*np.round(found, DECIMALS).tolist())


def log_sum(log_odds: Array) -> float:
    """log(1 + sum of the odds)."""
    return float(np.logaddexp.reduce(np.append(log_odds, 0.0)))


class Fit(NamedTuple):
    """Which of n new categories are those of J descriptions."""

    probability: Array  # float64[n, J], of each pair; what is left of a row or column is that of none
    category: Array  # int64[J], of the most probable matching if the pair is as probable as FITS, else NO_CATEGORY


def fit(scores: Scores, learned: Learned) -> Fit:
    """Match new categories and descriptions, one to one, or to none. `scores` are those of the new ones alone."""
    weights = np.where(scores.has_vector[:, None], np.array(learned.with_vectors), np.array(learned.words_alone))
    log_odds = (scores.of_pairs * weights).sum(axis=2) - np.log(max(scores.words.shape[0], 1))
    is_silent = ~scores.has_vector & ~scores.words.any(axis=0)
    log_odds[:, is_silent] = -MOST_LOG_ODDS  # nothing is known of it: no category is to be called so
    probability = np.round(pair_probabilities(log_odds), DECIMALS)
    category = most_probable_matching(log_odds)
    matched = np.flatnonzero(category != NO_CATEGORY)
    unsure = matched[probability[category[matched], matched] < FITS]
    category[unsure] = NO_CATEGORY
    return Fit(probability, category)


def most_probable_matching(log_odds: Array) -> Array:
    """int64[J]: the category of each description in the matching with the highest product of odds, or NO_CATEGORY."""
    found = np.full(log_odds.shape[1], NO_CATEGORY, np.int64)
    category, description = linear_sum_assignment(np.maximum(log_odds, 0.0), maximize=True)
    is_for = log_odds[category, description] > 0.0
    found[description[is_for]] = category[is_for]
    return found


def pair_probabilities(log_odds: Array) -> Array:
    """float64[K, J]: the probability of each pair under matchings as probable as the product of their pairs' odds.

    By belief propagation, which always converges for matchings and is exact where pairs that matter form no circle.
    O(K J) time a pass.
    """
    odds = np.exp(np.clip(log_odds, -MOST_LOG_ODDS, MOST_LOG_ODDS))
    is_free = np.ones_like(odds)  # how probable it is that a description is left to a category by all others
    for _ in range(N_PASSES):
        offered = odds * is_free
        left = 1.0 / (1.0 + offered.sum(axis=1, keepdims=True) - offered)  # the same the other way round
        asked = odds * left
        better = np.sqrt(is_free / (1.0 + asked.sum(axis=0, keepdims=True) - asked))
        is_close = bool(np.abs(better - is_free).max(initial=0.0) < CLOSE)
        is_free = better
        if is_close:
            break
    offered = odds * is_free
    found: Array = offered / (1.0 + offered.sum(axis=1, keepdims=True))
    return found
