"""Topics in bulk at given theta and phi, against the multinomials that they stand for.

One call draws the topics of many words that have the same phi, each with numbers of its own: what a word has of any
set of topics is then, word by word, a sum of independent binomials, one for each category.
"""

import inspect
import sys
import types
from typing import NamedTuple

import numpy as np
import pytest
import scipy.stats

from sampler.corpus import Array
from sampler.hyperparameters import Hyperparameters
from sampler.lbpl_ntm.blocked import bulk_topics
from sampler.lbpl_ntm.blocked.state import BlockedState
from tests.sampler import blocked_harness, harness


class Case(NamedTuple):
    """What a word's topics are drawn from."""

    n_topics: int
    counted: int  # topics with a count, which the sampler treats apart
    others: int  # topics without one that have a weight all the same
    n_tokens: tuple[int, ...]  # of each category
    n_words: int = 3_000
    peaked: bool = False  # one topic has nearly all


CASES = {
    "1": Case(6, 4, 2, (1,)),
    "2": Case(6, 4, 2, (2,)),
    "3": Case(6, 4, 2, (3,)),
    "5": Case(6, 4, 2, (5,)),
    "30": Case(6, 4, 2, (30,)),
    "300": Case(6, 4, 2, (300,)),
    "100,000": Case(6, 4, 2, (100_000,)),
    "a single topic": Case(6, 1, 0, (2, 5, 30, 300, 100_000)),
    "one counted": Case(8, 1, 5, (1, 2, 3, 5, 30, 300)),
    "two counted": Case(8, 2, 0, (1, 2, 3, 5, 30, 300)),
    "twelve counted": Case(20, 12, 0, (1, 2, 3, 5, 30)),
    "thirteen counted": Case(20, 13, 3, (1, 2, 3, 5, 30)),
    "twenty-four counted": Case(30, 24, 5, (1, 2, 3, 5, 30, 300)),
    "a hundred counted": Case(128, 100, 28, (1, 2, 3, 5, 30, 300)),
    "a hundred counted, 100,000 tokens": Case(128, 100, 28, (100_000,), 1_000),
    "few others": Case(8, 5, 3, (3, 30, 300, 2_000), peaked=True),
    "some others": Case(8, 5, 3, (20_000,), peaked=True),
    "none counted": Case(8, 0, 6, (1, 2, 3, 5, 11)),
    "none counted, many tokens": Case(8, 0, 6, (30, 300)),
    "none counted, a single topic": Case(6, 0, 1, (2, 5, 30, 300, 100_000)),
    "forty categories": Case(8, 5, 3, (3,) * 40),
    "each number of rounds": Case(8, 5, 3, (4, 5, 8, 9, 16, 17, 24, 25, 32, 33, 48, 49, 64, 65), 4_000),
    "many of many": Case(8, 5, 3, (64,) * 30 + (65,) * 10, 1_000),
    "the most that have a number each, and one more": Case(8, 5, 3, (511, 512, 513), 1_000),
}


def parameters(case: Case, rng: np.random.Generator) -> tuple[Array, Array]:
    """theta float32[K, L] and phi float32[L] that is 0 but for `counted` and `others` topics."""
    theta = rng.gamma(1.0, size=(len(case.n_tokens), case.n_topics)) + 0.01
    phi = np.zeros(case.n_topics)
    places = rng.permutation(case.n_topics)[: case.counted + case.others]
    phi[places] = rng.gamma(1.0, size=places.size) + 0.01
    phi[places[case.counted :]] *= 0.05
    if case.peaked:
        phi[places[1:]] *= 0.002
    return theta.astype(np.float32), phi.astype(np.float32)


def sums_law(n_tokens: tuple[int, ...], chances: list[float]) -> Array:
    """Chances of 0, 1, ... successes in all: independent binomials together."""
    total = np.ones(1)
    for n, p in zip(n_tokens, chances, strict=True):
        total = np.convolve(total, scipy.stats.binom.pmf(np.arange(n + 1), n, p))
    return total


def drawn(case: Case, rng: np.random.Generator) -> tuple[BlockedState, Array, Array]:
    """A state whose topics have been drawn, and the parameters that they were drawn from."""
    corpus = harness.corpus_of([[0]], [-1], case.n_words, 0)
    model = Hyperparameters(n_topics=case.n_topics, n_start=1)
    sweep = blocked_harness.prepared(corpus, model, len(case.n_tokens), seed=142)
    theta, phi = parameters(case, rng)
    is_counted = np.zeros(case.n_topics, bool)
    is_counted[np.argsort(-phi)[: case.counted]] = True
    rows = (np.tile(part, (case.n_words, 1)) for part in (phi, is_counted))
    blocked_harness.write_topics(sweep, theta, *rows, rng)
    state = sweep.state
    state.counts.category_word[:] = 0
    state.counts.category_word[:, : len(case.n_tokens)] = case.n_tokens
    state.counts.category_tables[:] = state.counts.category_word[0] > 0
    state.n_sweeps = 1
    sweep.sample_topics()
    return state, theta, phi


@pytest.mark.parametrize("name", CASES)
def test_topics_in_bulk_are_multinomial(name: str) -> None:
    case, rng = CASES[name], np.random.default_rng(41)
    state, theta, phi = drawn(case, rng)
    chances = theta.astype(float) * phi
    chances /= chances.sum(axis=1, keepdims=True)
    category_topic, word_topic = state.counts.category_topic, blocked_harness.word_topic(state)
    n_categories = len(case.n_tokens)
    np.testing.assert_array_equal(category_topic.sum(axis=0), word_topic.sum(axis=0))
    np.testing.assert_array_equal(category_topic[:n_categories].sum(axis=1), np.array(case.n_tokens) * case.n_words)
    np.testing.assert_array_equal(word_topic.sum(axis=1), sum(case.n_tokens))
    assert (word_topic[:, phi == 0] == 0).all()
    p_values: dict[object, float] = {
        ("category", k): blocked_harness.chi_square_p(category_topic[k, phi > 0], chances[k, phi > 0])
        for k in range(n_categories)
    }
    sets = [np.arange(case.n_topics) == l for l in np.argsort(-phi)[:8]]  # noqa: E741
    for subset in [*sets, *(rng.random((12, case.n_topics)) < 0.5)]:
        law = sums_law(case.n_tokens, np.minimum(chances @ subset, 1.0).tolist())
        visits = np.bincount(word_topic[:, subset].sum(axis=1), minlength=law.size)
        p_values["words", tuple(np.flatnonzero(subset).tolist())] = blocked_harness.chi_square_p(visits, law)
    blocked_harness.assert_all_likely(p_values)


@pytest.mark.parametrize("cost", [0, pytest.param(10**6, marks=pytest.mark.slow)])  # each is compiled anew
def test_topics_do_not_depend_on_what_is_drawn_side_by_side(cost: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All categories with more than 4 tokens by themselves, or all in rounds as far as these go."""
    case = Case(8, 5, 3, (1, 3, 4, 5, 9, 40, 64, 65, 100, 400) * 4, 200)
    expected = drawn(case, np.random.default_rng(43))[0]
    other = types.ModuleType("other_words")
    sys.modules[other.__name__] = other  # numba looks a function's module up by name
    source, given = inspect.getsource(bulk_topics), f"COST_OF_MORE = {bulk_topics.COST_OF_MORE}"
    assert source.count(given) == 1
    exec(source.replace(given, f"COST_OF_MORE = {cost}").replace("cache=True, ", ""), other.__dict__)
    monkeypatch.setattr(bulk_topics, "sample_bulk_topics", other.sample_bulk_topics)
    found = drawn(case, np.random.default_rng(43))[0]
    np.testing.assert_array_equal(found.counts.category_topic, expected.counts.category_topic)
    np.testing.assert_array_equal(blocked_harness.word_topic(found), blocked_harness.word_topic(expected))
