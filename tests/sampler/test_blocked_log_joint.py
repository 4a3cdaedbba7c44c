"""The log joint of the blocked sampler against that of Algorithm 1 in the same state."""

import math

import numpy as np
import scipy.special

from sampler.corpus import UNLABELED, Corpus
from sampler.hyperparameters import Hyperparameters
from sampler.lbpl_ntm import chain
from sampler.lbpl_ntm.blocked.arrays import FIXED_POINT
from sampler.lbpl_ntm.blocked.state import BlockedState
from sampler.lbpl_ntm.collapsed.state import CollapsedState
from tests.sampler import blocked_harness


def twin(corpus: Corpus, hyperparameters: Hyperparameters, first: CollapsedState) -> BlockedState:
    """The blocked sampler in the state of an Algorithm 1."""
    assignments, counts, n_slots = first.assignments, first.counts, first.identity.size
    state = blocked_harness.prepared(corpus, hyperparameters, n_slots, seed=first.seed).state
    state.alpha, state.gamma = first.alpha, first.gamma
    category = assignments.category[assignments.table]
    blocked_harness.place(corpus, state, category[blocked_harness.order_of_bags(corpus)].astype(int))
    state.counts.category_tables[:], state.counts.category_topic[:], state.counts.log_seats[:] = 0, 0, 0
    state.counts.category_tables[:n_slots] = counts.category_tables
    state.counts.category_topic[:n_slots] = counts.category_topic
    state.counts.topic_tokens[:] = counts.topic_tokens
    blocked_harness.write_word_topic(state, counts.word_topic)
    document = np.repeat(np.arange(corpus.n_documents), corpus.lengths)
    slots = np.flatnonzero((counts.table_tokens > 0) & (corpus.labels[document] == UNLABELED))
    seats = np.rint(scipy.special.gammaln(counts.table_tokens[slots]) * FIXED_POINT).astype(np.int64)
    np.add.at(state.counts.log_seats, assignments.category[slots], seats)
    return state


def test_the_log_joint_is_that_of_algorithm_1_in_the_same_state(
    corpus: Corpus, hyperparameters: Hyperparameters
) -> None:
    """`log_seats` is rounded to 2^-21 a table."""
    first = chain.start(corpus, hyperparameters, seed=4, chain=0, kernel="collapsed")
    assert isinstance(first, CollapsedState)
    for _ in range(20):
        chain.sweep(corpus, hyperparameters, first)
        state = twin(corpus, hyperparameters, first)
        blocked_harness.assert_counts_are_a_recount(corpus, state)
        expected = first.log_joint(corpus, hyperparameters)
        assert math.isclose(state.log_joint(corpus, hyperparameters), expected, rel_tol=0.0, abs_tol=1e-4)
