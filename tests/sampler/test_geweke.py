"""Geweke's joint-distribution test (2004): two roads to the joint law of parameters, state and words.

The marginal road draws everything from the model, with simulate.py. The successive road sweeps the chain
and then draws the words anew given the topics, over and over. If each step leaves the posterior
invariant, both visit the same joint law, and every function of the state has the same mean on both.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numba import njit

from sampler.corpus import Array, Corpus
from sampler.hyperparameters import Hyperparameters
from sampler.lbpl_ntm import chain, simulate
from sampler.lbpl_ntm.collapsed import kernels
from tests.sampler import geweke, mutants
from tests.sampler.geweke import CORPORA, HYPERPARAMETERS, N_BROKEN, N_MARGINAL, N_SUCCESSIVE

pytestmark = pytest.mark.slow


@njit
def functions(corpus, n_topics, alpha, gamma, table, category, topic):
    """What both roads are compared by, float64[28]; tables, categories and topics are given token by token."""
    n = topic.size
    n_categories = category.max() + 1  # a bound
    of_topic = np.zeros(n_topics)
    of_pair = np.zeros((n_categories, n_topics))
    of_word = np.zeros((corpus.n_words, n_topics))
    tables_of = np.zeros(n_categories)
    seated = np.zeros((corpus.labels.size, n))
    n_known = 0
    for d in range(corpus.labels.size):
        for i in range(corpus.offsets[d], corpus.offsets[d + 1]):
            of_topic[topic[i]] += 1
            of_pair[category[i], topic[i]] += 1
            of_word[corpus.words[i], topic[i]] += 1
            if seated[d, table[i]] == 0:
                tables_of[category[i]] += 1
            seated[d, table[i]] += 1
            n_known += corpus.labels[d] < 0 and category[i] < corpus.n_known
    values = np.empty(28)
    values[0], values[1], values[2], values[3] = alpha, gamma, np.log(alpha), np.log(gamma)
    values[4], values[5] = (tables_of > 0).sum(), tables_of.sum()
    values[6], values[7] = of_topic[0], (of_pair**2).sum()
    values[8], values[9] = (of_word**2).sum(), (tables_of**2).sum()
    values[10], values[11] = (seated**2).sum(), n_known
    values[12:24] = values[:12] ** 2
    values[24], values[25] = alpha * values[5], gamma * values[4]
    values[26], values[27] = values[4] * values[5], (of_topic**2).sum()
    return values


@cache
def marginal(name: str, hyperparameters: Hyperparameters) -> Array:
    """float64[N_MARGINAL, J]: independent draws from the model given the labels."""
    corpus, rng = CORPORA[name], np.random.default_rng(60)
    rows = np.empty((N_MARGINAL, 28))
    for row in rows:
        drawn = simulate.simulate(corpus.lengths, corpus.labels, corpus.n_words, corpus.n_known, hyperparameters, rng)
        row[:] = functions(
            drawn.corpus,
            hyperparameters.n_topics,
            drawn.alpha,
            drawn.gamma,
            drawn.token_table,
            drawn.token_category,
            drawn.token_topic,
        )
    return rows


def successive(corpus: Corpus, hyperparameters: Hyperparameters, n_sweeps: int, seed: int) -> Array:
    """float64[n_sweeps, J]: a sweep, then new words, phi drawn from its prior and forgotten at once."""
    corpus = corpus._replace(words=corpus.words.copy())  # redrawn in place
    rng = np.random.default_rng(seed)
    state = chain.start(corpus, hyperparameters, seed=seed, chain=0, kernel="collapsed")
    first_slot = np.repeat(corpus.offsets[:-1], corpus.lengths)
    prior = np.full(corpus.n_words, hyperparameters.beta)
    rows = np.empty((n_sweeps, 28))
    for row in rows:
        chain.sweep(corpus, hyperparameters, state)
        topic = state.assignments.topic
        phi = rng.dirichlet(prior, hyperparameters.n_topics)
        corpus.words[:] = (np.cumsum(phi, axis=1)[topic, :-1] < rng.random((topic.size, 1))).sum(axis=1)
        state.counts.word_topic[:] = 0
        np.add.at(state.counts.word_topic, (corpus.words, topic), 1)
        table = state.assignments.table - first_slot
        category = state.assignments.category[state.assignments.table]
        row[:] = functions(corpus, hyperparameters.n_topics, state.alpha, state.gamma, table, category, topic)
    return rows[n_sweeps // 10 :]


def worst_z(name: str, hyperparameters: Hyperparameters, n_sweeps: int, seed: int) -> tuple[float, float]:
    """See `geweke`. Sweeps take about 250 microseconds."""
    straight = marginal(name, replace(hyperparameters, category_step="exact"))
    return geweke.worst_z(straight, successive(CORPORA[name], hyperparameters, n_sweeps, seed))


@pytest.mark.parametrize("name", ["labeled documents", "none labeled"])
def test_both_roads_to_the_joint_law_agree(name: str) -> None:
    worst, limit = worst_z(name, HYPERPARAMETERS, N_SUCCESSIVE, seed=61)
    assert worst < limit, f"{worst:.2f} standard errors"


def test_as_printed_does_not_target_the_posterior_and_fails() -> None:
    """Long documents at few tables: there the topics of a table are far from independent."""
    as_printed = replace(HYPERPARAMETERS, alpha_scale=0.1, zeta=0.3, category_step="as_printed")
    worst, limit = worst_z("long documents", as_printed, N_BROKEN, seed=62)
    assert worst > 1.5 * limit, f"only {worst:.2f} standard errors"


@pytest.mark.parametrize("mistake", mutants.COLLAPSED)
def test_the_test_has_the_power_to_find_a_wrong_kernel(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, old, new = mutants.COLLAPSED[mistake]
    monkeypatch.setattr(kernels, kernel, getattr(mutants.of_collapsed(old, new), kernel))
    worst, limit = worst_z("labeled documents", HYPERPARAMETERS, N_BROKEN, seed=63)
    assert worst > 1.5 * limit, f"only {worst:.2f} standard errors"


@pytest.mark.parametrize(
    ("step", "broken"),
    [
        ("resample_gamma", lambda f: lambda g, n_categories, n_tables, *rest: f(g, n_categories, n_tables + 3, *rest)),
        ("resample_gamma", lambda f: lambda g, n_categories, *rest: f(g, max(n_categories - 2, 1), *rest)),
        ("resample_alpha", lambda f: lambda a, n_tables, *rest: f(a, n_tables + 3, *rest)),
    ],
    ids=["labeled tables counted twice", "known categories left out", "labeled tables counted for alpha"],
)
def test_the_test_has_the_power_to_find_a_wrong_concentration(
    step: str, broken: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chain, step, broken(getattr(chain, step)))
    worst, limit = worst_z("labeled documents", HYPERPARAMETERS, N_BROKEN, seed=64)
    assert worst > 1.5 * limit, f"only {worst:.2f} standard errors"
