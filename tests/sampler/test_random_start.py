"""Chains that start at random, or whose concentrations are fixed: the same posterior, from the same state."""

from collections import Counter
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
import scipy.stats

from sampler.carried import Carried
from sampler.corpus import UNLABELED, Array, Corpus
from sampler.hyperparameters import Hyperparameters, Kernel
from sampler.lbpl_ntm import chain
from sampler.lbpl_ntm.blocked.state import BlockedState
from sampler.lbpl_ntm.checkpoint import dump, load
from sampler.lbpl_ntm.collapsed.state import CollapsedState
from sampler.lbpl_ntm.continued import continue_chain
from sampler.numerics.ragged import sorted_words
from tests.sampler import harness, kernels, test_blocked
from tests.sampler.enumerated import ALPHA, GAMMA, HYPERPARAMETERS, at_fixed_concentrations, full

N_SWEEPS: dict[Kernel, int] = {"collapsed": 4_000, "blocked": 1_500}  # half of what chains that were placed make
SEED = 41


def start(corpus: Corpus, hyperparameters: Hyperparameters, kernel: Kernel) -> CollapsedState | BlockedState:
    """A chain before its first sweep."""
    state = chain.start(corpus, replace(hyperparameters, start="random"), SEED, 0, kernel)
    assert isinstance(state, CollapsedState | BlockedState)
    return state


def assert_posterior(corpus: Corpus, hyperparameters: Hyperparameters, kernel: Kernel, expected: dict) -> Array:
    """A chain that starts at random visits configurations as often as the enumeration has them; alpha and gamma."""
    state = start(corpus, hyperparameters, kernel)
    concentrations = np.empty((N_SWEEPS[kernel], 2))
    codes, seen = np.empty(N_SWEEPS[kernel], np.int64), []
    for s in range(N_SWEEPS[kernel]):
        draw = chain.sweep(corpus, hyperparameters, state)
        concentrations[s] = draw.alpha, draw.gamma
        if isinstance(state, CollapsedState):
            codes[s] = harness.code(corpus, state.assignments)
        else:
            seen.append(test_blocked.view_of_state(corpus, state))
    if kernel == "collapsed":
        harness.assert_matches(codes, expected)
    else:
        test_blocked.assert_matches(seen, test_blocked.views(corpus, expected))
    return concentrations


@pytest.mark.parametrize("kernel", get_args(Kernel))
def test_a_random_start_leads_to_the_enumerated_posterior(kernel: Kernel) -> None:
    name = "label without a word"  # a known category that nothing may start in, as nothing could come to be in it
    concentrations = assert_posterior(harness.TINY[name], HYPERPARAMETERS, kernel, full(name).configurations)
    expected = np.array([full(name).alpha, full(name).gamma])
    t = harness.t_scores(harness.batch_means(concentrations), expected)
    assert np.abs(t).max() < harness.t_limit(2), f"t of the means of alpha and gamma: {t}"


@pytest.mark.parametrize("kernel", get_args(Kernel))
def test_draws_under_fixed_concentrations_match_the_posterior_given_them(kernel: Kernel) -> None:
    name = "label without a word"
    fixed = replace(HYPERPARAMETERS, alpha=ALPHA, gamma=GAMMA)
    concentrations = assert_posterior(harness.TINY[name], fixed, kernel, at_fixed_concentrations(name))
    assert np.unique(concentrations, axis=0).tolist() == [[ALPHA, GAMMA]]


@pytest.mark.parametrize(("fixed", "sampled"), [("alpha", "gamma"), ("gamma", "alpha")])
def test_of_two_concentrations_one_may_be_fixed(corpus: Corpus, fixed: str, sampled: str) -> None:
    hyperparameters = replace(kernels.USUAL, **{fixed: 0.3})
    state = start(corpus, hyperparameters, "blocked")
    draws = [chain.sweep(corpus, hyperparameters, state) for _ in range(5)]
    assert {getattr(draw, fixed) for draw in draws} == {0.3}
    assert len({getattr(draw, sampled) for draw in draws}) == 5


@pytest.mark.parametrize("kernel", get_args(Kernel))
def test_a_fixed_concentration_has_no_prior_in_the_log_joint(corpus: Corpus, kernel: Kernel) -> None:
    state = start(corpus, kernels.USUAL, kernel)
    both = replace(kernels.USUAL, alpha=state.alpha, gamma=state.gamma)
    narrow = replace(both, alpha_shape=50.0, gamma_scale=0.1)
    assert state.log_joint(corpus, both) == state.log_joint(corpus, narrow)
    assert (state.alpha, state.gamma) == (1.0, 2.0)  # the means of the priors
    prior = scipy.stats.gamma.logpdf(1.0, 2, scale=0.5) + scipy.stats.gamma.logpdf(2.0, 2, scale=1.0)
    assert state.log_joint(corpus, kernels.USUAL) - state.log_joint(corpus, both) == pytest.approx(prior, abs=1e-6)


@pytest.mark.parametrize("kernel", get_args(Kernel))
def test_a_fixed_concentration_stays_fixed_in_a_chain_that_goes_on(corpus: Corpus, kernel: Kernel) -> None:
    source = start(corpus, kernels.USUAL, kernel)
    chain.sweep(corpus, kernels.USUAL, source)
    of_all = (np.arange(n, dtype=np.int32) for n in (corpus.n_documents, corpus.n_words, corpus.n_known))
    carried = Carried(corpus, *of_all)
    fixed = replace(kernels.USUAL, alpha=0.25)
    state = continue_chain(corpus, fixed, SEED, 0, kernel, carried, dump(corpus, source))
    assert (state.alpha, state.gamma) == (0.25, source.gamma)
    assert chain.sweep(corpus, fixed, state).alpha == 0.25


def test_both_kernels_start_in_the_same_state(corpus: Corpus) -> None:
    corpus = corpus._replace(words=sorted_words(corpus))  # bags have the words of a document in order
    collapsed, blocked = (start(corpus, kernels.USUAL, kernel) for kernel in ("collapsed", "blocked"))
    for state in (collapsed, blocked):
        kernels.assert_counts_are_a_recount(corpus, state)
        assert dump(corpus, load(corpus, kernels.USUAL, dump(corpus, state))) == dump(corpus, state)
    np.testing.assert_array_equal(
        kernels.token_categories(corpus, collapsed), kernels.token_categories(corpus, blocked)
    )
    for one, other in zip(collapsed.topic_counts(), blocked.topic_counts(), strict=True):
        np.testing.assert_array_equal(one, other[: one.shape[0]])
    joints = [state.log_joint(corpus, kernels.USUAL) for state in (collapsed, blocked)]
    assert joints[0] == pytest.approx(joints[1], abs=1e-4)  # log factorials are in fixed point in one of them


def test_all_candidates_and_all_topics_are_as_likely_and_labels_are_served() -> None:
    rng, n_documents = np.random.default_rng(3), 400
    labels = np.where(np.arange(n_documents) % 4 == 0, np.arange(n_documents) % 8 // 4, UNLABELED)
    documents = rng.integers(0, 50, (n_documents, 60)).tolist()
    corpus = harness.corpus_of(documents, labels.tolist(), 50, 3)  # no label names the third known category
    state = start(corpus, Hyperparameters(n_topics=4, n_start=2), "collapsed")
    assert isinstance(state, CollapsedState)
    category = kernels.token_categories(corpus, state).reshape(n_documents, 60)
    is_labeled = labels != UNLABELED
    assert (category[is_labeled] == labels[is_labeled, np.newaxis]).all()
    n = Counter(category[~is_labeled].ravel().tolist())
    assert sorted(n) == [0, 1, 3, 4]
    # 18,000 tokens, a quarter each: five standard errors of a binomial are 290. Of 24,000 topics they are 335.
    assert all(abs(count - 4_500) < 290 for count in n.values())
    topics = np.bincount(state.assignments.topic, minlength=4)
    assert np.abs(topics - 6_000).max() < 335


@pytest.mark.parametrize("given", [{"alpha": 0.0}, {"gamma": float("nan")}, {"start": "anywhere"}, {"alpha": 1e7}])
def test_values_that_no_chain_could_have_are_refused(given: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(given))):
        Hyperparameters(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize("kernel", get_args(Kernel))
def test_a_chain_starts_with_one_new_category_at_least(kernel: Kernel) -> None:
    corpus = harness.corpus_of([[0, 1], [1, 1]], [UNLABELED, UNLABELED], 2, 0)
    state = start(corpus, replace(kernels.USUAL, n_start=0), kernel)
    assert np.unique(state.document_categories(corpus)).tolist() == [0]
