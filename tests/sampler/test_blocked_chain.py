"""A chain of the blocked sampler against recounts, literal readings of its state, and Algorithm 1 in the same state."""

import math
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
import scipy.special

from sampler.corpus import NO_CATEGORY, UNLABELED, Corpus
from sampler.digest import next_digest
from sampler.hyperparameters import Hyperparameters
from sampler.lbpl_ntm import chain
from sampler.lbpl_ntm.assignments import UNBORN
from sampler.lbpl_ntm.blocked.arrays import FIXED_POINT, MIXED
from sampler.lbpl_ntm.blocked.state import BlockedState
from sampler.lbpl_ntm.checkpoint import dump, load
from sampler.lbpl_ntm.collapsed.state import CollapsedState
from sampler.numerics.threads import Threads
from tests.sampler import blocked_harness, harness


def test_counts_equal_a_recount_after_every_sweep(corpus: Corpus, hyperparameters: Hyperparameters) -> None:
    state = blocked_harness.start(corpus, hyperparameters, seed=1)
    with Threads(2, 5) as threads:
        for sweep in range(200):
            blocked_harness.assert_counts_are_a_recount(corpus, state)
            chain.sweep(corpus, hyperparameters, state, threads if sweep % 2 else None)


def test_a_draw_says_what_a_literal_reading_of_the_state_says(corpus: Corpus, hyperparameters: Hyperparameters) -> None:
    state = blocked_harness.start(corpus, hyperparameters, seed=2)
    n_mixed = 0
    for sweep in range(1, 101):
        draw = chain.sweep(corpus, hyperparameters, state)
        served = blocked_harness.token_categories(corpus, state).tolist()
        answers = []
        for d in range(corpus.n_documents):
            words = Counter(served[corpus.offsets[d] : corpus.offsets[d + 1]])
            answers.append(min(words, key=lambda k, words=words: (-words[k], k)) if words else NO_CATEGORY)
        assert state.document_categories(corpus).tolist() == answers
        is_labeled = (corpus.labels != UNLABELED) & (corpus.lengths > 0)
        np.testing.assert_array_equal(np.array(answers)[is_labeled], corpus.labels[is_labeled])
        n_mixed += int(np.count_nonzero(state.placements.whole == MIXED))
        assert draw == chain.Draw(
            sweep=sweep,
            n_categories=len(set(served)),
            n_new=len({k for k in served if k >= corpus.n_known}),
            n_new_with_documents=len({k for k in answers if k >= corpus.n_known}),
            n_tables=int(state.counts.category_tables.sum()),
            alpha=state.alpha,
            gamma=state.gamma,
            log_joint=state.log_joint(corpus, hyperparameters),
        )
    assert n_mixed > 100


def test_a_known_category_without_a_labeled_word_is_never_served(hyperparameters: Hyperparameters) -> None:
    corpus = harness.TINY["label without a word"]
    state = blocked_harness.start(corpus, hyperparameters, seed=3)
    for _ in range(300):
        assert state.category_tables[0] == 0 and not state.counts.category_word[:, 0].any()
        chain.sweep(corpus, hyperparameters, state)


def test_categories_keep_their_identity_while_they_live_and_never_share_one(
    corpus: Corpus, hyperparameters: Hyperparameters
) -> None:
    state = blocked_harness.start(corpus, hyperparameters, seed=7)
    n_started = state.n_born
    for _ in range(300):
        before = set(state.identity[state.category_tables > 0].tolist())
        n_born = state.n_born
        chain.sweep(corpus, hyperparameters, state)
        living = state.identity[state.category_tables > 0]
        assert UNBORN not in living and np.unique(living).size == living.size
        assert set(living.tolist()) - before == set(range(n_born, state.n_born))  # no identity comes back
        np.testing.assert_array_equal(state.identity[: corpus.n_known], np.arange(corpus.n_known))
    assert state.n_born > n_started + 20


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


def test_the_tally_counts_the_answers_of_the_kept_draws(corpus: Corpus, hyperparameters: Hyperparameters) -> None:
    state = blocked_harness.start(corpus, hyperparameters, seed=8)
    expected: Counter[tuple[int, int]] = Counter()
    for _ in range(100):
        chain.sweep(corpus, hyperparameters, state)
        chain.keep(corpus, state)
        answers = state.document_categories(corpus)
        unlabeled = np.flatnonzero((corpus.labels == UNLABELED) & (corpus.lengths > 0)).tolist()
        expected.update((d, int(state.identity[answers[d]])) for d in unlabeled)
    tally = state.tally
    addresses = list(zip(tally.document.tolist(), tally.identity.tolist(), strict=True))
    assert tally.n_draws == 100 and addresses == sorted(expected)
    assert tally.hits.tolist() == [expected[address] for address in addresses]


def move_a_document(state: BlockedState) -> None:
    u = np.flatnonzero(state.placements.whole != MIXED)[0]
    state.placements.whole[u] += 1


def move_a_token(state: BlockedState) -> None:
    u = np.flatnonzero(state.placements.whole == MIXED)[-1]
    state.placements.token[state.bags.first_token[u + 1] - 1] += 1


def add_a_table(state: BlockedState) -> None:
    state.counts.category_tables[0] += 1


def move_a_seat(state: BlockedState) -> None:
    state.counts.log_seats[0] += 1


def move_a_topic_of_a_word(state: BlockedState) -> None:
    state.counts.word_topics.topic[5, 0] += 1


def move_a_token_of_a_word(state: BlockedState) -> None:
    state.counts.word_topics.tokens[5, 0] += 1


def move_a_topic_of_a_category(state: BlockedState) -> None:
    state.counts.category_topic[0, 1] += 1


def nudge_gamma(state: BlockedState) -> None:
    state.gamma = float(np.nextafter(state.gamma, 9.0))


CHANGES = [
    move_a_document,
    move_a_token,
    add_a_table,
    move_a_seat,
    move_a_topic_of_a_word,
    move_a_token_of_a_word,
    move_a_topic_of_a_category,
    nudge_gamma,
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_state_that_differs_in_one_bit_leaves_another_digest(
    corpus: Corpus, hyperparameters: Hyperparameters, change: Callable[[BlockedState], None]
) -> None:
    state = blocked_harness.start(corpus, hyperparameters, seed=9)
    for _ in range(5):
        chain.sweep(corpus, hyperparameters, state)
    other = load(corpus, hyperparameters, dump(corpus, state))
    assert isinstance(other, BlockedState)
    digests = [
        next_digest(some.digest, some.summarize(corpus, hyperparameters).digested, some.alpha, some.gamma)
        for some in (state, other)
    ]
    assert digests[0] == digests[1]
    change(other)
    assert (
        next_digest(other.digest, other.summarize(corpus, hyperparameters).digested, other.alpha, other.gamma)
        != digests[0]
    )


def test_loading_keeps_every_array(corpus: Corpus, hyperparameters: Hyperparameters) -> None:
    state = blocked_harness.start(corpus, hyperparameters, seed=10)
    for _ in range(5):
        chain.sweep(corpus, hyperparameters, state)
        chain.keep(corpus, state)
    loaded = load(corpus, hyperparameters, dump(corpus, state))
    assert isinstance(loaded, BlockedState)
    for name in ("category_word", "category_tables", "log_seats", "category_topic", "topic_tokens"):
        left, right = getattr(state.counts, name), getattr(loaded.counts, name)
        np.testing.assert_array_equal(left, right)
        assert left.dtype == right.dtype and right.flags.writeable, name
    tokens = [blocked_harness.token_categories(corpus, some) for some in (state, loaded)]
    topics = [blocked_harness.word_topic(some) for some in (state, loaded)]
    np.testing.assert_array_equal(*tokens)
    np.testing.assert_array_equal(*topics)
    np.testing.assert_array_equal(state.identity, loaded.identity)
    assert (state.alpha, state.gamma, state.n_sweeps, state.n_born) == (
        loaded.alpha,
        loaded.gamma,
        loaded.n_sweeps,
        loaded.n_born,
    )
