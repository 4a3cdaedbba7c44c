"""The blocked sampler against full enumeration of the posterior, at fixed and at sampled concentrations.

Its state has no tables and no topics of single tokens, so configurations are compared by all that it does have: the
category of each token, how many tables serve each category, and how many tokens of each category and of each word
have each topic.
"""

from collections.abc import Callable, Hashable
from functools import cache

import exact
import harness
import numpy as np
import pytest

from sampler import chain
from sampler.blocked import BlockedState
from sampler.blocks import MIXED
from sampler.corpus import Array, Corpus
from sampler.hyperparameters import Hyperparameters

CONSTANTS = exact.Constants(n_topics=2, zeta=0.6, beta=0.3)
ALPHA, GAMMA = 1.1, 0.8
ALPHA_PRIOR, GAMMA_PRIOR = exact.Prior(2.0, 0.5), exact.Prior(2.0, 0.5)
HYPERPARAMETERS = Hyperparameters(
    n_topics=CONSTANTS.n_topics,
    zeta=CONSTANTS.zeta,
    beta=CONSTANTS.beta,
    alpha_shape=ALPHA_PRIOR.shape,
    alpha_scale=ALPHA_PRIOR.scale,
    gamma_shape=GAMMA_PRIOR.shape,
    gamma_scale=GAMMA_PRIOR.scale,
    n_start=1,
)
N_SWEEPS, N_SWEEPS_SLOW = 8_000, 60_000

View = tuple[Hashable, ...]


def view(corpus: Corpus, category: Array, tables: dict[int, int], category_topic: dict[int, View], rest: View) -> View:
    """What the blocked sampler knows, with new categories numbered by appearance."""
    numbers: dict[int, int] = {}
    for k in category.tolist():
        numbers.setdefault(k, k if k < corpus.n_known else corpus.n_known + len(numbers))
    ordered = sorted(set(category.tolist()), key=lambda k: numbers[k])
    return (
        tuple(numbers[k] for k in category.tolist()),
        tuple(tables[k] for k in ordered),
        tuple(category_topic[k] for k in ordered),
        rest,
    )


def order_of_bags(corpus: Corpus) -> Array:
    """Tokens with the words of each document ascending."""
    document = np.repeat(np.arange(corpus.n_documents), corpus.lengths)
    return np.lexsort((corpus.words, document))


def view_of_configuration(corpus: Corpus, c: exact.Configuration) -> View:
    """The view of an enumerated configuration."""
    category, topic = np.array(c.category), np.array(c.topic)
    document = np.repeat(np.arange(corpus.n_documents), corpus.lengths).tolist()
    tables = {
        k: len({(d, t) for d, t, j in zip(document, c.table, c.category, strict=True) if j == k})
        for k in set(c.category)
    }
    category_topic = {
        k: tuple(np.bincount(topic[category == k], minlength=CONSTANTS.n_topics).tolist()) for k in set(c.category)
    }
    word_topic = np.zeros((corpus.n_words, CONSTANTS.n_topics), int)
    np.add.at(word_topic, (corpus.words, topic), 1)
    return view(corpus, category[order_of_bags(corpus)], tables, category_topic, tuple(word_topic.ravel().tolist()))


def view_of_state(corpus: Corpus, state: BlockedState) -> View:
    """The view of a chain's state."""
    bags, whole = state.bags, state.placements.whole
    category = np.repeat(corpus.labels, corpus.lengths)
    for u, d in enumerate(bags.document):
        tokens = slice(bags.first_token[u], bags.first_token[u + 1])
        category[corpus.offsets[d] : corpus.offsets[d + 1]] = (
            state.placements.token[tokens] if whole[u] == MIXED else whole[u]
        )
    counts, rows = state.counts, state.counts.word_topics
    word_topic = np.zeros((corpus.n_words, CONSTANTS.n_topics), int)
    for w in range(corpus.n_words):
        word_topic[w, rows.topic[w, : rows.size[w]]] = rows.tokens[w, : rows.size[w]]
    served = np.flatnonzero(counts.category_tables).tolist()
    tables = {k: int(counts.category_tables[k]) for k in served}
    category_topic = {k: tuple(counts.category_topic[k].tolist()) for k in served}
    return view(corpus, category, tables, category_topic, tuple(word_topic.ravel().tolist()))


def views(corpus: Corpus, posterior: dict[exact.Configuration, float]) -> dict[View, float]:
    """The probability of each view."""
    chances: dict[View, float] = {}
    for c, p in posterior.items():
        seen = view_of_configuration(corpus, c)
        chances[seen] = chances.get(seen, 0.0) + p
    return chances


@cache
def at_fixed_concentrations(name: str) -> dict[View, float]:
    """The posterior of views given alpha and gamma."""
    return views(harness.TINY[name], exact.posterior(harness.TINY[name], ALPHA, GAMMA, CONSTANTS))


@cache
def full(name: str) -> exact.Full:
    """The posterior with the concentrations integrated out."""
    return exact.full_posterior(harness.TINY[name], ALPHA_PRIOR, GAMMA_PRIOR, CONSTANTS)


def run(corpus: Corpus, n_sweeps: int, seed: int, concentrations: bool) -> tuple[list[View], Array]:
    """Views of a chain and its concentrations, float64[n_sweeps, 2]."""
    state = chain.start(corpus, HYPERPARAMETERS, seed=seed, chain=0, kernel="blocked")
    assert isinstance(state, BlockedState)
    if not concentrations:
        state.alpha, state.gamma = ALPHA, GAMMA
    seen, values = [], np.empty((n_sweeps, 2))
    for s in range(n_sweeps):
        state.n_sweeps += 1
        state.sweep(corpus, HYPERPARAMETERS, None)
        if concentrations:
            chain.sample_concentrations(corpus, HYPERPARAMETERS, state)
        seen.append(view_of_state(corpus, state))
        values[s] = state.alpha, state.gamma
    return seen, values


def worst_t(seen: list[View], expected: dict[View, float]) -> tuple[float, int]:
    """The largest |t| between frequencies of views, and of their parts, and probabilities; how many were compared."""
    every = list(expected)
    place = {v: j for j, v in enumerate(every)}
    chances = np.array([expected[v] for v in every])
    visits = np.array([place[v] for v in seen])  # KeyError for a view that cannot be
    size = visits.size // harness.N_BATCHES
    visits = visits[-size * harness.N_BATCHES :].reshape(harness.N_BATCHES, size)
    shares = np.array([np.bincount(batch, minlength=len(every)) for batch in visits]) / size
    parts: list[Callable[[View], Hashable]] = [lambda v: v, *(lambda v, i=i: v[i] for i in range(4)), lambda v: v[:2]]
    scores = []
    for part in parts:
        names: dict[Hashable, int] = {}
        group = np.array([names.setdefault(part(v), len(names)) for v in every])
        p = np.bincount(group, chances)
        batches = np.array([np.bincount(group, row) for row in shares])
        often = p * visits.size >= harness.ENOUGH
        scores.append(harness.t_scores(batches[:, often], p[often]))
    joined = np.concatenate(scores)
    return float(np.abs(joined).max()), joined.size


def assert_matches(seen: list[View], expected: dict[View, float]) -> None:
    worst, n_comparisons = worst_t(seen, expected)
    assert worst < harness.t_limit(n_comparisons), f"worst |t| = {worst:.2f} of {n_comparisons}"


@pytest.mark.parametrize("name", harness.TINY)
def test_long_runs_match_the_enumerated_posterior(name: str) -> None:
    seen, _ = run(harness.TINY[name], N_SWEEPS, seed=21, concentrations=False)
    assert_matches(seen, at_fixed_concentrations(name))


@pytest.mark.parametrize("name", harness.TINY)
def test_draws_match_the_exact_posterior_with_concentrations_integrated_out(name: str) -> None:
    seen, values = run(harness.TINY[name], N_SWEEPS, seed=22, concentrations=True)
    assert_matches(seen, views(harness.TINY[name], full(name).configurations))
    t = harness.t_scores(harness.batch_means(values), np.array([full(name).alpha, full(name).gamma]))
    assert np.abs(t).max() < harness.t_limit(2), f"t of the means of alpha and gamma: {t}"
