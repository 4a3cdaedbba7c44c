"""A chain of Algorithm 1 where no other kernel is like it: labeled tables, slots that grow in a sweep, ties."""

import numpy as np
import pytest

from sampler.corpus import NO_CATEGORY, UNLABELED, Corpus
from sampler.hyperparameters import Hyperparameters
from sampler.lbpl_ntm import chain
from sampler.lbpl_ntm.assignments import Assignments, recount, with_slots
from sampler.lbpl_ntm.collapsed import sweep as collapsed_sweep
from sampler.lbpl_ntm.collapsed.state import CollapsedState, count_document_categories
from sampler.numerics.threads import Threads
from tests.sampler import harness

CROWDED = Hyperparameters(
    n_topics=4, gamma_shape=20, gamma_scale=1.0, alpha_shape=20, alpha_scale=0.5, zeta=0.5, beta=0.2, n_start=0
)


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
        chain.sweep(corpus, model, state)


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


def test_ties_of_a_document_go_to_the_smaller_category() -> None:
    corpus = harness.corpus_of([[0, 0, 0, 0]], [-1], 1, 0)
    table = np.array([2, 2, 1, 1], np.int32)
    for left, right in ((1, 2), (2, 1)):
        category = np.array([NO_CATEGORY, left, right, NO_CATEGORY], np.int32)
        assignments = Assignments(table, category, np.zeros(4, np.int32), np.arange(3))
        assert count_document_categories(corpus, assignments).tolist() == [1]
