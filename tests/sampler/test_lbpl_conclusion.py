"""What the chains of LBPL-NTM say: answers of one chain, of its last sweep, or of all, with their topics."""

from typing import get_args

import numpy as np
import pytest

from sampler.answers.consensus import consensus_of, identities_of
from sampler.answers.pooling import pool
from sampler.corpus import NO_CATEGORY, UNLABELED, Array, Corpus
from sampler.hyperparameters import Answer, Hyperparameters, Kernel
from sampler.lbpl_ntm import chain
from sampler.lbpl_ntm.collapsed.state import CollapsedState
from sampler.lbpl_ntm.conclusion import LbplConclusion, conclude_chains
from sampler.lbpl_ntm.state import State
from sampler.lbpl_ntm.topics_of_categories import topics_of_state
from sampler.numerics.threads import Threads
from tests.sampler import kernels

SEED, N_SWEEPS, N_BURNED = 51, 30, 10
KERNELS = get_args(Kernel)


def chains_of(corpus: Corpus, kernel: Kernel) -> tuple[list[State], dict[str, Array]]:
    """Two chains and the traces of their kept draws."""
    states, draws = [], []
    for number in range(2):
        state = chain.start(corpus, kernels.USUAL, SEED, number, kernel)
        kept = []
        for sweep in range(N_SWEEPS):
            draw = chain.sweep(corpus, kernels.USUAL, state)
            if sweep >= N_BURNED:
                chain.keep(corpus, state)
                kept.append(draw)
        states.append(state)
        draws.append(kept)
    names = ("n_categories", "log_joint")
    return states, {name: np.array([[getattr(draw, name) for draw in kept] for kept in draws]) for name in names}


def concluded(
    corpus: Corpus, states: list[State], traces: dict[str, Array], answer: Answer, model: Hyperparameters
) -> LbplConclusion:
    """The conclusion, with the second chain as the best one."""
    best = None if answer == "pooled" else states[1]
    tallies = [state.tally for state in states]
    return conclude_chains(corpus, model, answer, SEED, best, tallies, traces, Threads())


def assert_same(found: object, expected: object) -> None:
    """Consensuses that are equal, with NaN where the other one has it."""
    for one, other in zip(found, expected, strict=True):  # type: ignore[call-overload]
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kernel", KERNELS)
def test_each_kind_of_answer_is_that_of_the_draws_that_it_is_from(corpus: Corpus, kernel: Kernel) -> None:
    states, traces = chains_of(corpus, kernel)
    of_best, of_last, of_all = (
        concluded(corpus, states, traces, answer, kernels.USUAL) for answer in ("best_chain", "last", "pooled")
    )
    assert_same(of_best.consensus, consensus_of(corpus, states[1].tally))
    pooled = pool(corpus, [state.tally for state in states])
    assert_same(of_all.consensus, pooled.consensus)
    for found in (of_best, of_last, of_all):
        np.testing.assert_array_equal(found.compared.agreement, pooled.agreement)
        assert found.compared.category_stability.shape == (found.consensus.n_categories,)

    last = states[1].document_categories(corpus)
    free = (corpus.labels == UNLABELED) & (corpus.lengths > 0)
    pairs = np.unique(np.stack([last[free], of_last.consensus.category[free]]), axis=1)
    assert pairs.shape[1] == np.unique(last[free]).size, "the same partition"
    is_known = pairs.min(axis=0) < corpus.n_known
    np.testing.assert_array_equal(pairs[0, is_known], pairs[1, is_known])
    assert set(of_last.consensus.probability[free].tolist()) == {1.0}


@pytest.mark.parametrize("kernel", KERNELS)
def test_topics_are_what_is_expected_of_theta_and_phi_given_the_tokens(corpus: Corpus, kernel: Kernel) -> None:
    states, traces = chains_of(corpus, kernel)
    state, found = states[1], concluded(corpus, states, traces, "last", kernels.USUAL)
    category, topic_word = kernels.token_categories(corpus, state), state.topic_counts()[1]
    np.testing.assert_array_equal(topic_word.sum(axis=1), np.bincount(corpus.words, minlength=corpus.n_words))
    last = state.document_categories(corpus)
    for index in range(found.consensus.n_categories):
        answered = np.flatnonzero((found.consensus.category == index) & (last != NO_CATEGORY))
        [slot] = np.unique(last[answered])
        n_tokens = np.count_nonzero(category == slot)
        weights = found.topics.category_topic[index] * (state.n_topics * kernels.USUAL.zeta + n_tokens)
        counts = weights - kernels.USUAL.zeta
        np.testing.assert_allclose(counts, np.rint(counts), atol=1e-9)
        assert round(counts.sum()) == n_tokens
        if isinstance(state, CollapsedState):
            own = np.bincount(state.assignments.topic[category == slot], minlength=state.n_topics)
            np.testing.assert_array_equal(np.rint(counts), own)
    np.testing.assert_allclose(found.topics.topic_word.sum(axis=0), 1.0)
    np.testing.assert_allclose(found.topics.share, topic_word.sum(axis=0) / corpus.n_tokens)
    posterior = (topic_word[3] + 0.2) / (topic_word.sum(axis=0) + 0.2 * corpus.n_words)
    np.testing.assert_allclose(found.topics.topic_word[3], posterior)


def test_a_category_that_the_state_no_longer_has_is_made_of_no_topic(corpus: Corpus) -> None:
    states, _ = chains_of(corpus, "blocked")
    [gone] = topics_of_state(states[0], kernels.USUAL, np.array([states[0].n_born + 1])).category_topic
    assert gone.tolist() == [0.0] * kernels.USUAL.n_topics


def test_the_identities_of_an_answers_categories_are_those_that_its_documents_were_tallied_under(
    corpus: Corpus,
) -> None:
    states, _ = chains_of(corpus, "collapsed")
    tally = states[0].tally
    found, identities = consensus_of(corpus, tally), identities_of(corpus, tally)
    assert identities.shape == (found.n_categories,)
    assert identities[: corpus.n_known].tolist() == list(range(corpus.n_known))
    for d in np.flatnonzero((corpus.labels == UNLABELED) & (corpus.lengths > 0)).tolist():
        own = tally.document == d
        hits = tally.hits[own & (tally.identity == identities[found.category[d]])]
        assert hits.tolist() == [tally.hits[own].max()]


def test_a_pooled_answer_has_topics_of_its_own_categories(corpus: Corpus) -> None:
    states, traces = chains_of(corpus, "blocked")
    found = concluded(corpus, states, traces, "pooled", kernels.USUAL)
    assert found.topics.category_topic.shape == (found.consensus.n_categories, kernels.USUAL.n_topics)
    np.testing.assert_allclose(found.topics.category_topic.sum(axis=1), 1.0)
    np.testing.assert_allclose(found.topics.topic_word.sum(axis=0), 1.0)


def test_the_verdict_looks_at_the_log_joint_too_and_says_that_the_printed_step_has_no_posterior(
    corpus: Corpus,
) -> None:
    states, traces = chains_of(corpus, "collapsed")
    traces["log_joint"] = np.repeat([[1.0], [2.0]], N_SWEEPS - N_BURNED, axis=1)
    exact, printed = (
        concluded(corpus, states, traces, "best_chain", model).verdict
        for model in (kernels.USUAL, kernels.MODELS["collapsed, as printed"][1])
    )
    assert any(reason.sentence.startswith("R-hat of the log joint is inf") for reason in exact.reasons)
    said = {reason.sentence for reason in printed.reasons} - {reason.sentence for reason in exact.reasons}
    assert len(said) == 1 and "has no posterior" in said.pop()
