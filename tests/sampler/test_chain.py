"""A chain against recounts and literal readings of its state."""

from collections import Counter

import numpy as np
import pytest

from sampler.answers.tally import Tally, no_tally
from sampler.corpus import NO_CATEGORY, UNLABELED, Array, Corpus
from sampler.hyperparameters import Hyperparameters
from sampler.lbpl_ntm import chain
from sampler.lbpl_ntm.assignments import UNBORN, Assignments, recount, with_slots
from sampler.lbpl_ntm.collapsed import sweep as collapsed_sweep
from sampler.lbpl_ntm.collapsed.state import CollapsedState, count_document_categories
from sampler.numerics.threads import Threads
from tests.sampler import harness

CROWDED = Hyperparameters(
    n_topics=4, gamma_shape=20, gamma_scale=1.0, alpha_shape=20, alpha_scale=0.5, zeta=0.5, beta=0.2, n_start=0
)


@pytest.mark.parametrize("category_step", ["exact", "as_printed"])
def test_counts_equal_a_recount_after_every_sweep(
    corpus: Corpus, hyperparameters: Hyperparameters, category_step: str
) -> None:
    model = Hyperparameters(**{**vars(hyperparameters), "category_step": category_step})
    state = chain.start(corpus, model, seed=1, chain=0, kernel="collapsed")
    document = np.repeat(np.arange(corpus.n_documents), corpus.lengths)
    for _ in range(200):
        assignments, counts = state.assignments, state.counts
        harness.assert_equal_arrays(counts, harness.recount(corpus, assignments, model.n_topics))
        harness.assert_equal_arrays(counts, recount(corpus, assignments, model.n_topics))
        np.testing.assert_array_equal(assignments.category == NO_CATEGORY, counts.table_tokens == 0)
        np.testing.assert_array_equal(document[assignments.table], document)
        chain.sweep(corpus, model, state)


@pytest.mark.parametrize("category_step", ["exact", "as_printed"])
def test_a_labeled_document_never_changes_its_category_or_table(
    corpus: Corpus, hyperparameters: Hyperparameters, category_step: str
) -> None:
    model = Hyperparameters(**{**vars(hyperparameters), "category_step": category_step})
    state = chain.start(corpus, model, seed=2, chain=0, kernel="collapsed")
    labels = np.repeat(corpus.labels, corpus.lengths)
    is_labeled = labels != UNLABELED
    tables = np.repeat(corpus.offsets[:-1], corpus.lengths)[is_labeled]
    for _ in range(200):
        np.testing.assert_array_equal(state.assignments.table[is_labeled], tables)
        np.testing.assert_array_equal(state.assignments.category[tables], labels[is_labeled])
        answers = state.document_categories(corpus)
        is_answered = (corpus.labels != UNLABELED) & (corpus.lengths > 0)
        np.testing.assert_array_equal(answers[is_answered], corpus.labels[is_answered])
        chain.sweep(corpus, model, state)


def test_a_known_category_without_a_labeled_word_is_never_served(hyperparameters: Hyperparameters) -> None:
    corpus = harness.TINY["label without a word"]
    state = chain.start(corpus, hyperparameters, seed=3, chain=0, kernel="collapsed")
    for _ in range(300):
        assert state.counts.category_tables[0] == 0 and state.counts.category_tokens[0] == 0
        chain.sweep(corpus, hyperparameters, state)


def test_slots_for_categories_grow_without_changing_the_draws(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three chains that differ only in their slots: few, twice as many, more than can ever be used."""
    grown: list[str] = []
    double = collapsed_sweep.double_slots
    monkeypatch.setattr(collapsed_sweep, "double_slots", lambda state: (grown.append("once"), double(state)))
    states = [chain.start(corpus, CROWDED, seed=4, chain=0, kernel="collapsed") for _ in range(3)]
    n_few = states[0].assignments.identity.size
    for state, n_slots in zip(states, (n_few, 2 * n_few + 1, corpus.n_known + corpus.n_tokens + 1), strict=True):
        state.assignments, state.counts = with_slots(state.assignments, state.counts, n_slots)
    for _ in range(30):
        few, some, many = states
        draws = [chain.sweep(corpus, CROWDED, state) for state in states]
        assert draws[0] == draws[1] == draws[2]
        for other in (some, many):
            for name in ("table", "category", "topic"):
                np.testing.assert_array_equal(getattr(few.assignments, name), getattr(other.assignments, name))
            n = min(few.assignments.identity.size, other.assignments.identity.size)
            np.testing.assert_array_equal(few.assignments.identity[:n], other.assignments.identity[:n])
            assert few.n_born == other.n_born
    assert len(grown) >= 3 and few.assignments.identity.size >= 4 * n_few


@pytest.mark.parametrize("step", ["resample_tables", "resample_categories"])
def test_each_step_left_for_want_of_a_slot_goes_on_where_it_stopped(corpus: Corpus, step: str) -> None:
    """Cut down to one free slot before the step, against the same with many."""
    state = chain.start(corpus, CROWDED, seed=5, chain=0, kernel="collapsed")
    for _ in range(5):
        chain.sweep(corpus, CROWDED, state)
    n_stops = 0
    for sweep in range(60):
        state.n_sweeps = 100 + sweep
        n_used = int(np.flatnonzero(state.counts.category_tables).max()) + 1
        roomy = CollapsedState(**vars(state))
        roomy.assignments = state.assignments._replace(
            **{name: getattr(state.assignments, name).copy() for name in state.assignments._fields}
        )
        roomy.assignments, _ = with_slots(roomy.assignments, state.counts, 1_000)
        roomy.counts = recount(corpus, roomy.assignments, CROWDED.n_topics)
        state.assignments = state.assignments._replace(identity=state.assignments.identity[: n_used + 1].copy())
        state.counts = recount(corpus, state.assignments, CROWDED.n_topics)
        n_slots = state.assignments.identity.size
        for one in (state, roomy):
            getattr(collapsed_sweep, step)(corpus, CROWDED, one, Threads())
        n_stops += state.assignments.identity.size > n_slots
        np.testing.assert_array_equal(state.assignments.table, roomy.assignments.table)
        np.testing.assert_array_equal(state.assignments.category, roomy.assignments.category)
    assert n_stops > 0


def test_a_draw_says_what_a_literal_reading_of_the_state_says(corpus: Corpus, hyperparameters: Hyperparameters) -> None:
    state = chain.start(corpus, hyperparameters, seed=6, chain=0, kernel="collapsed")
    for sweep in range(1, 101):
        draw = chain.sweep(corpus, hyperparameters, state)
        served = state.assignments.category[state.assignments.table].tolist()
        answers = []
        for d in range(corpus.n_documents):
            words = Counter(served[corpus.offsets[d] : corpus.offsets[d + 1]])
            answers.append(min(words, key=lambda k, words=words: (-words[k], k)) if words else NO_CATEGORY)
        assert state.document_categories(corpus).tolist() == answers
        assert draw == chain.Draw(
            sweep=sweep,
            n_categories=len(set(served)),
            n_new=len({k for k in served if k >= corpus.n_known}),
            n_new_with_documents=len({k for k in answers if k >= corpus.n_known}),
            n_tables=len(set(state.assignments.table.tolist())),
            alpha=state.alpha,
            gamma=state.gamma,
            log_joint=state.log_joint(corpus, hyperparameters),
        )


def test_ties_of_a_document_go_to_the_smaller_category() -> None:
    corpus = harness.corpus_of([[0, 0, 0, 0]], [-1], 1, 0)
    table = np.array([2, 2, 1, 1], np.int32)
    for left, right in ((1, 2), (2, 1)):
        category = np.array([NO_CATEGORY, left, right, NO_CATEGORY], np.int32)
        assignments = Assignments(table, category, np.zeros(4, np.int32), np.arange(3))
        assert count_document_categories(corpus, assignments).tolist() == [1]


def test_categories_keep_their_identity_while_they_live_and_never_share_one(
    corpus: Corpus, hyperparameters: Hyperparameters
) -> None:
    state = chain.start(corpus, hyperparameters, seed=7, chain=0, kernel="collapsed")
    seen: set[int] = set(range(corpus.n_known))
    for _ in range(300):
        before = set(state.assignments.identity[state.counts.category_tables > 0].tolist())
        seen |= before
        n_born = state.n_born
        chain.sweep(corpus, hyperparameters, state)
        living = state.assignments.identity[state.counts.category_tables > 0]
        assert UNBORN not in living and np.unique(living).size == living.size
        fresh = set(living.tolist()) - before
        assert fresh == set(range(n_born, state.n_born))  # no identity comes back
        np.testing.assert_array_equal(state.assignments.identity[: corpus.n_known], np.arange(corpus.n_known))
    assert state.n_born > corpus.n_known + hyperparameters.n_start


def test_the_tally_counts_the_answers_of_the_kept_draws(corpus: Corpus, hyperparameters: Hyperparameters) -> None:
    state = chain.start(corpus, hyperparameters, seed=8, chain=0, kernel="collapsed")
    expected: Counter[tuple[int, int]] = Counter()
    for _ in range(100):
        chain.sweep(corpus, hyperparameters, state)
        chain.keep(corpus, state)
        answers = state.document_categories(corpus)
        expected.update(
            (d, int(state.assignments.identity[answers[d]]))
            for d in range(corpus.n_documents)
            if corpus.labels[d] == UNLABELED and corpus.lengths[d] > 0
        )
    tally = state.tally
    addresses = list(zip(tally.document.tolist(), tally.identity.tolist(), strict=True))
    assert tally.n_draws == 100 and addresses == sorted(expected)
    assert tally.hits.tolist() == [expected[address] for address in addresses]


def test_a_kept_draw_changes_the_tally_as_sorting_all_its_entries_would() -> None:
    """Documents with and without an answer; identities that are older and younger than those in the tally."""
    rng = np.random.default_rng(11)
    labels = rng.choice([UNLABELED, UNLABELED, 0], 200).astype(np.int32)
    identity = rng.permutation(30)[:12].astype(np.int64)
    merged = expected = no_tally()
    for _ in range(40):
        answers = rng.integers(NO_CATEGORY, identity.size, labels.size).astype(np.int32)
        answers[150:] = NO_CATEGORY if merged.n_draws < 20 else answers[150:]
        merged = chain.with_answers(merged, labels, answers, identity)
        expected = sorted_tally(expected, labels, answers, identity)
        assert merged.n_draws == expected.n_draws
        for found, wanted in zip(merged[1:], expected[1:], strict=True):
            np.testing.assert_array_equal(found, wanted)
            assert found.dtype == wanted.dtype


def sorted_tally(tally: Tally, labels: Array, answers: Array, identity: Array) -> Tally:
    """The tally with one more draw, by a sort."""
    document = np.flatnonzero((answers != NO_CATEGORY) & (labels == UNLABELED)).astype(np.int32)
    documents = np.concatenate([tally.document, document])
    identities = np.concatenate([tally.identity, identity[answers[document]]])
    hits = np.concatenate([tally.hits, np.ones(document.size, np.int32)])
    order = np.lexsort((identities, documents))
    documents, identities, hits = documents[order], identities[order], hits[order]
    is_first = np.ones(documents.size, bool)
    is_first[1:] = (np.diff(documents) != 0) | (np.diff(identities) != 0)
    totals = np.add.reduceat(hits, np.flatnonzero(is_first))
    return Tally(tally.n_draws + 1, documents[is_first], identities[is_first], totals.astype(np.int32))


@pytest.mark.parametrize(
    "documents",
    [([[0]], [-1]), ([[0]], [0]), ([[], [0, 1], []], [-1, 0, 0]), ([[0, 1]] * 3, [0, 0, 0]), ([[0]] * 5, [-1] * 5)],
)
@pytest.mark.parametrize("n_start", [0, 3])
def test_corpora_at_the_edges_can_be_swept(documents: tuple[list[list[int]], list[int]], n_start: int) -> None:
    """All labeled, none labeled, empty documents, one word: counts stay right and log joints finite."""
    corpus = harness.corpus_of(*documents, n_words=2, n_known=1)
    model = Hyperparameters(n_topics=3, n_start=n_start)
    state = chain.start(corpus, model, seed=9, chain=0, kernel="collapsed")
    for _ in range(50):
        draw = chain.sweep(corpus, model, state)
        chain.keep(corpus, state)
        assert np.isfinite(draw.log_joint) and draw.alpha > 0 and draw.gamma > 0
        harness.assert_equal_arrays(state.counts, harness.recount(corpus, state.assignments, 3))
