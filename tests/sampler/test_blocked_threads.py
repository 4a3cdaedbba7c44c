"""The blocked sampler gives the same bytes on any number of threads, in any pieces, and across checkpoints."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache

import numpy as np
import pytest

from sampler.corpus import Corpus
from sampler.hyperparameters import Hyperparameters
from sampler.lbpl_ntm import chain
from sampler.lbpl_ntm.blocked.state import BlockedState
from sampler.lbpl_ntm.checkpoint import dump, load
from sampler.lbpl_ntm.simulate import simulate
from sampler.numerics.threads import Threads
from tests.sampler import blocked_harness

N_SWEEPS = 30
CROWDED = Hyperparameters(
    n_topics=8, gamma_shape=20, gamma_scale=0.1, alpha_shape=20, alpha_scale=0.1, zeta=0.5, beta=0.2, n_start=200
)
TEAMS = [(1, 1), (1, 3), (1, 7), (2, 1), (2, 3), (2, 7), (5, 1), (5, 3), (5, 7)]  # threads, pieces
FEW_TEAMS = [(1, 3), (2, 1), (2, 7), (5, 3)]  # pieces on one thread, and both fewer and more pieces than threads


@cache
def simulated() -> Corpus:
    """20,000 tokens."""
    rng = np.random.default_rng(71)
    lengths, labels = rng.poisson(50, 400), np.where(np.arange(400) < 60, np.arange(400) % 3, -1)
    return simulate(lengths, labels, 500, 3, CROWDED, rng, alpha=1.0, gamma=2.0).corpus


@contextmanager
def teams(wanted: Sequence[tuple[int, int]] = TEAMS) -> Iterator[list[Threads]]:
    """Threads of every kind, at hand together."""
    hired = [Threads(*team) for team in wanted]
    yield hired
    for threads in hired:
        threads.__exit__(None, None, None)


def run(corpus: Corpus, threads: Threads | None) -> tuple[BlockedState, set[int], int]:
    """A chain of some sweeps with a tally, the numbers of slots that it had, and how many categories were born."""
    state = blocked_harness.start(corpus, CROWDED, seed=72)
    slots, n_born = {state.identity.size}, state.n_born
    for _ in range(N_SWEEPS):
        chain.sweep(corpus, CROWDED, state, threads)
        chain.keep(corpus, state)
        slots.add(state.identity.size)
    return state, slots, state.n_born - n_born


@pytest.mark.parametrize("size", ["small", "simulated"])
def test_any_number_of_threads_and_pieces_gives_the_same_bytes(corpus: Corpus, size: str) -> None:
    given = corpus if size == "small" else simulated()
    alone, slots, n_births = run(given, None)
    expected = dump(given, alone)
    assert len(slots) > 1 and n_births > 10
    with teams(TEAMS if size == "small" else FEW_TEAMS) as hired:
        for threads in hired:
            state, _, _ = run(given, threads)
            assert state.digest == alone.digest and dump(given, state) == expected


def test_a_chain_resumed_after_every_sweep_by_other_threads_is_the_uninterrupted_one() -> None:
    given = simulated()
    whole, slots = blocked_harness.start(given, CROWDED, seed=73), set()
    data = dump(given, whole)
    with teams() as hired:
        for sweep in range(N_SWEEPS):
            cut = load(given, CROWDED, data)
            assert isinstance(cut, BlockedState)
            draws = [
                chain.sweep(given, CROWDED, state, threads)
                for state, threads in ((whole, None), (cut, hired[sweep % len(hired)]))
            ]
            assert draws[0] == draws[1]
            for state in (whole, cut):
                chain.keep(given, state)
            slots.add(whole.identity.size)
            data = dump(given, cut)
            assert data == dump(given, whole)
    assert len(slots) > 1


def test_the_slots_that_are_free_change_no_draw_when_they_move(corpus: Corpus) -> None:
    """Rooms grow and shrink: a chain whose crowd dies and is born again keeps its counts and its identities."""
    state, slots = blocked_harness.start(corpus, CROWDED, seed=74), []
    seen: set[int] = set(range(corpus.n_known))
    for _ in range(60):
        before, n_born = set(state.identity[state.category_tables > 0].tolist()), state.n_born
        seen |= before
        state.gamma = 0.01 if len(slots) % 20 < 10 else 30.0
        chain.sweep(corpus, CROWDED, state)
        blocked_harness.assert_counts_are_a_recount(corpus, state)
        living = state.identity[state.category_tables > 0]
        assert np.unique(living).size == living.size
        assert set(living.tolist()) - before == set(range(n_born, state.n_born))
        np.testing.assert_array_equal(state.identity[: corpus.n_known], np.arange(corpus.n_known))
        slots.append(state.identity.size)
    assert max(slots) > 200 and slots[-1] > min(slots[30:50]) < slots[15]


def test_a_checkpoint_takes_few_bytes_a_token() -> None:
    """Two bytes a document, a token of a mixed document one or two before compression, topics by word."""
    rng = np.random.default_rng(75)
    model = Hyperparameters(n_topics=20, beta=0.05, n_start=5)
    lengths = rng.poisson(100, 2_000)
    given = simulate(lengths, np.arange(2_000) % 4 - 1, 2_000, 3, model, rng, alpha=0.1, gamma=0.5).corpus
    state = blocked_harness.start(given, model, seed=76)
    for _ in range(5):
        chain.sweep(given, model, state)
    assert len(dump(given, state)) < 0.7 * given.n_tokens
