"""How tests look into a state, whatever its kernel: what its face does not show, read from the arrays that it has."""

from dataclasses import fields, replace

import numpy as np

from sampler.answers.tally import Tally
from sampler.corpus import NO_CATEGORY, Array, Corpus
from sampler.hyperparameters import Hyperparameters, Kernel
from sampler.lbpl_ntm.assignments import recount
from sampler.lbpl_ntm.blocked.state import BlockedState
from sampler.lbpl_ntm.chain import KERNELS
from sampler.lbpl_ntm.collapsed.state import CollapsedState
from sampler.lbpl_ntm.state import Course, State
from tests.sampler import blocked_harness, harness

NAMES = sorted(KERNELS)  # a test that takes its kernel from here proves what it says of all of them

USUAL = Hyperparameters(
    n_topics=5, gamma_shape=2, gamma_scale=1.0, alpha_shape=2, alpha_scale=0.5, zeta=0.5, beta=0.2, n_start=2
)  # categories are born and die in every few sweeps
MODELS: dict[str, tuple[Kernel, Hyperparameters]] = {  # each kernel, and each of its ways
    "blocked": ("blocked", USUAL),
    "collapsed": ("collapsed", USUAL),
    "collapsed, as printed": ("collapsed", replace(USUAL, category_step="as_printed")),
}


def token_categories(corpus: Corpus, state: State) -> Array:
    """int64[N]: the slot of each token, document after document; of one document's tokens in any order."""
    if isinstance(state, BlockedState):
        return blocked_harness.token_categories(corpus, state)
    assert isinstance(state, CollapsedState)
    return state.assignments.category[state.assignments.table].astype(np.int64)


def count_tables(state: State) -> int:
    """How many tables there are, counted apart from the face as far as the kernel has single ones."""
    if isinstance(state, BlockedState):
        return int(state.counts.category_tables.sum())
    assert isinstance(state, CollapsedState)
    return np.unique(state.assignments.table).size


def assert_counts_are_a_recount(corpus: Corpus, state: State) -> None:
    """All counts are those of the tokens."""
    if isinstance(state, BlockedState):
        blocked_harness.assert_counts_are_a_recount(corpus, state)
        return
    assert isinstance(state, CollapsedState)
    assignments, counts = state.assignments, state.counts
    for expected in (
        harness.recount(corpus, assignments, state.n_topics),
        recount(corpus, assignments, state.n_topics),
    ):
        harness.assert_equal_arrays(counts._asdict(), expected._asdict())
    np.testing.assert_array_equal(assignments.category == NO_CATEGORY, counts.table_tokens == 0)
    document = np.repeat(np.arange(corpus.n_documents), corpus.lengths)
    np.testing.assert_array_equal(document[assignments.table], document)


def contents(corpus: Corpus, state: State) -> dict[str, Array]:
    """All arrays of the state, without what nobody reads: tokens of documents that are whole, ends of rows."""
    if isinstance(state, BlockedState):
        arrays = {**state.counts._asdict(), "whole": state.placements.whole, "identity": state.identity}
        arrays["token"] = token_categories(corpus, state)
        arrays["word_topics"] = blocked_harness.word_topic(state)
        return arrays
    assert isinstance(state, CollapsedState)
    return {**state.assignments._asdict(), **state.counts._asdict()}


def assert_equal_states(corpus: Corpus, left: State, right: State) -> None:
    """Bit for bit, types included."""
    assert type(left) is type(right)
    for field in fields(Course):
        a, b = getattr(left, field.name), getattr(right, field.name)
        assert type(a) is type(b), field.name
        if field.name == "tally":
            assert a.n_draws == b.n_draws
            harness.assert_equal_arrays(arrays_of(a), arrays_of(b))
        else:
            assert a == b, field.name
    harness.assert_equal_arrays(contents(corpus, left), contents(corpus, right))


def arrays_of(tally: Tally) -> dict[str, Array]:
    """All but the number of draws."""
    return {name: value for name, value in tally._asdict().items() if name != "n_draws"}
