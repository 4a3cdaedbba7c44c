"""Births and deaths: the law that they keep with no other move between categories, and what they leave alone.

All other moves beside them: test_blocked.py.
"""

import dataclasses
import itertools
import math
from functools import cache

import numpy as np
import pytest
import scipy.special

from sampler.corpus import NO_CATEGORY, UNLABELED, Array, Corpus
from sampler.hyperparameters import Hyperparameters
from sampler.lbpl_ntm import chain
from sampler.lbpl_ntm.blocked import birth_death
from sampler.lbpl_ntm.blocked import sweep as blocked_sweep
from sampler.lbpl_ntm.blocked.categories import unused_slot
from sampler.lbpl_ntm.blocked.state import BlockedState
from sampler.lbpl_ntm.blocked.sweep import Sweep
from sampler.lbpl_ntm.checkpoint import dump, load
from sampler.lbpl_ntm.simulate import simulate
from sampler.numerics.streams import branch
from sampler.numerics.threads import Threads
from tests.sampler import blocked_harness, harness, mutants, test_blocked

ALONE = {**test_blocked.ALONE, **test_blocked.BIRTHS}  # no other move between categories
N_SWEEPS, N_SWEEPS_SLOW = 6_000, 60_000  # about a millisecond each
CROWDED = Hyperparameters(
    n_topics=6, gamma_shape=20, gamma_scale=0.1, alpha_shape=2, alpha_scale=0.1, zeta=0.5, beta=0.2, n_start=3
)
N_KEYS = 20_000


def by_births_alone(name: str, n_sweeps: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> tuple[float, int]:
    """The worst |t| of a chain whose categories change by births and deaths alone, and how many were compared.

    Then every document is of one category for ever: to be held against the posterior of such configurations. Seats,
    topics and parameters are drawn from their conditionals.
    """
    corpus, rng = harness.TINY[name], np.random.default_rng(seed)
    for constant, value in ALONE.items():
        monkeypatch.setattr(blocked_sweep, constant, value)
    monkeypatch.setattr(Sweep, "sample_documents", test_blocked.plain_documents(corpus, rng, tokens_move=False))
    seen, _ = test_blocked.run(corpus, n_sweeps, seed, concentrations=False)
    return test_blocked.worst_t(seen, of_whole_documents(name))


@cache
def of_whole_documents(name: str) -> dict[test_blocked.View, float]:
    """The posterior of views given that no document is mixed."""
    corpus = harness.TINY[name]
    bounds = list(itertools.pairwise(corpus.offsets))
    chances = {
        view: chance
        for view, chance in test_blocked.at_fixed_concentrations(name).items()
        if all(len(set(view[0][first:end])) <= 1 for first, end in bounds)  # type: ignore[index]
    }
    total = sum(chances.values())
    return {view: chance / total for view, chance in chances.items()}


# Each of them shows the first four mistakes of mutants.BIRTH_DEATH, |t| being 16 to 48 where the limit is 4.6; the last
# two show in no corpus in so few sweeps.
@pytest.mark.parametrize("name", ["none labeled, one empty", "label without a word"])
def test_births_and_deaths_match_the_enumerated_posterior(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    worst, n_comparisons = by_births_alone(name, N_SWEEPS, 31, monkeypatch)
    assert n_comparisons > 10
    assert worst < harness.t_limit(n_comparisons), f"worst |t| = {worst:.2f} of {n_comparisons}"


@pytest.mark.slow
@pytest.mark.parametrize("name", harness.TINY)
def test_many_births_and_deaths_match_the_enumerated_posterior(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    worst, n_comparisons = by_births_alone(name, N_SWEEPS_SLOW, 32, monkeypatch)
    assert worst < harness.t_limit(n_comparisons), f"worst |t| = {worst:.2f} of {n_comparisons}"


@pytest.mark.slow  # each is compiled anew
@pytest.mark.parametrize("mistake", mutants.BIRTH_DEATH)
def test_the_comparison_has_the_power_to_see_what_is_left_out(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocked_sweep, "birth_death", mutants.of_birth_death(*mutants.BIRTH_DEATH[mistake]))
    worst, n_comparisons = by_births_alone("label without a word", N_SWEEPS_SLOW, 33, monkeypatch)
    assert worst > 1.5 * harness.t_limit(n_comparisons)


def crowded(seed: int, n_sweeps: int) -> tuple[Corpus, Sweep]:
    """The steps of a sweep that has visited the documents, but whose births are still to come."""
    rng = np.random.default_rng(seed)
    labels = np.where(np.arange(200) % 5 == 0, np.arange(200) % 2, UNLABELED)
    corpus = simulate(rng.integers(1, 25, 200), labels, 40, 2, CROWDED, rng, alpha=0.5, gamma=3.0).corpus
    state = blocked_harness.start(corpus, CROWDED, seed=seed)
    for _ in range(n_sweeps):
        chain.sweep(corpus, CROWDED, state)
    state.n_sweeps += 1
    sweep = Sweep(corpus, CROWDED, state, Threads())
    sweep.draw_parameters()
    sweep.score_categories()
    sweep.sample_documents()
    return corpus, sweep


def bytes_of(sweep: Sweep) -> list[bytes]:
    """All that births may write, but scores of categories that are not there."""
    state, drawn = sweep.state, sweep.scratch.drawn
    arrays = [*state.placements, state.counts.category_word, state.counts.category_tables, state.counts.log_seats]
    return [array.tobytes() for array in [*arrays, drawn.stick, drawn.mixture, drawn.chance, state.numbers]]


@pytest.mark.parametrize("n_sweeps", [0, 10])
def test_births_that_are_rejected_change_nothing(n_sweeps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocked_sweep, "share_of_births", lambda *_: 1.0)
    _, sweep = crowded(41, n_sweeps)
    for _ in range(5):  # whoever is alone joins another
        sweep.state.gamma = 1e-300
        sweep.visit_births()
    before = bytes_of(sweep)
    sweep.visit_births()
    assert bytes_of(sweep) == before


def test_a_document_that_no_category_suits_opens_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a gamma without bounds all do: then every document that is one table is alone. Slots are made for them."""
    monkeypatch.setattr(blocked_sweep, "share_of_births", lambda *_: 1.0)
    corpus, sweep = crowded(42, 10)
    state = sweep.state
    n_slots, state.gamma = state.identity.size, 1e300
    sticks = sweep.scratch.drawn.stick.sum()
    sweep.visit_births()
    homes = state.placements.whole[sweep.scratch.one_table]
    assert homes.size > 64 and state.identity.size > n_slots
    assert (state.counts.category_tables[homes] == 1).all() and np.unique(homes).size == homes.size
    assert math.isclose(sweep.scratch.drawn.stick.sum(), sticks, rel_tol=1e-12)
    np.testing.assert_allclose(sweep.scratch.drawn.chance[:, homes].sum(axis=0), 1.0, rtol=1e-4)
    sweep.sample_topics()
    chain.name_new_categories(state)
    blocked_harness.assert_counts_are_a_recount(corpus, state)
    assert np.unique(state.identity[homes]).size == homes.size


def test_the_first_sweeps_alone_propose_births_to_the_share_that_is_asked_for() -> None:
    """A gamma without bounds: who is asked opens a category. Half of 160 documents are asked, then next to none."""
    model, n_opened = dataclasses.replace(CROWDED, birth_share=0.5), []
    _, sweep = crowded(45, 0)
    state, sweep.hyperparameters = sweep.state, model
    for _ in range(blocked_sweep.YOUNG + 1):
        n_before = np.count_nonzero(state.counts.category_tables)
        state.gamma = 1e300
        sweep.visit_births()
        n_opened.append(int(np.count_nonzero(state.counts.category_tables) - n_before))
        state.n_sweeps += 1
    assert n_opened[0] > 30  # 80 if all of them are one table, less 8 standard deviations of 6.3
    assert n_opened[-1] < 8


def test_slots_that_were_there_before_change_no_birth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocked_sweep, "share_of_births", lambda *_: 1.0)
    sweeps = [crowded(43, 10)[1] for _ in range(2)]
    state, roomy = (sweep.state for sweep in sweeps)
    for some in (state, roomy):
        some.gamma = 1e3
    for _ in range(4):
        sweeps[1].add_slots()
    n_slots, n_before = roomy.identity.size, state.identity.size
    for sweep in sweeps:
        sweep.visit_births()
    assert roomy.identity.size == n_slots > state.identity.size > n_before
    np.testing.assert_array_equal(state.placements.whole, roomy.placements.whole)


def test_counts_equal_a_recount_where_births_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocked_sweep, "share_of_births", lambda *_: 1.0)
    corpus, sweep = crowded(44, 0)
    state = sweep.state
    n_born, n_sizes = state.n_born, set()
    for _ in range(100):
        chain.sweep(corpus, CROWDED, state)
        blocked_harness.assert_counts_are_a_recount(corpus, state)
        n_sizes.add(int(np.count_nonzero(state.counts.category_tables)))
    assert state.n_born > n_born + 50 and len(n_sizes) > 5


def test_births_are_the_same_for_any_threads_and_after_a_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocked_sweep, "share_of_births", lambda *_: 0.5)
    corpus, _ = crowded(45, 0)
    alone = blocked_harness.start(corpus, CROWDED, seed=46)
    others = [blocked_harness.start(corpus, CROWDED, seed=46) for _ in range(3)]
    with Threads(2, 3) as two, Threads(5, 7) as five:
        for _ in range(40):
            chain.sweep(corpus, CROWDED, alone)
            for j, threads in enumerate((two, five, None)):
                chain.sweep(corpus, CROWDED, others[j], threads)
            assert {dump(corpus, other) for other in others} == {dump(corpus, alone)}
            resumed = load(corpus, CROWDED, dump(corpus, others[2]))
            assert isinstance(resumed, BlockedState)
            others[2] = resumed


def test_the_weights_of_imputed_topics_have_the_evidence_for_their_mean() -> None:
    """The evidence by enumeration: theta and topics integrated out. And the weight of given topics is p / q."""
    rng, n_topics, zeta = np.random.default_rng(47), 3, 0.4
    document = [0, 0, 1, 2, 3]
    corpus = harness.corpus_of([document, [0, 1, 2, 3]], [UNLABELED, 0], 4, 1)
    model = Hyperparameters(n_topics=n_topics, zeta=zeta, n_start=1)
    sweep = blocked_harness.prepared(corpus, model, 2, seed=48)
    norm, phi = rng.uniform(0.5, 2.0, n_topics), rng.dirichlet(np.full(4, 0.3), n_topics).T
    blocked_harness.write_topics(sweep, np.full((1, n_topics), 1.0), phi * norm, rng.random(phi.shape) < 0.5, rng)
    fresh = rng.uniform(0.1, 1.0, 4).astype(np.float32)
    at = birth_death.birth_scratch(norm, 2, 5)

    def impute(key: int, topics: Array, is_given: bool) -> float:
        stream = np.uint64(branch(np.uint64(49), key))
        at.pull[:], at.topics[:] = zeta / norm, topics
        return float(birth_death.impute(sweep.state.bags, sweep.scratch.drawn, fresh, 0, zeta, is_given, stream, at))

    chances = {}
    for y in itertools.product(range(n_topics), repeat=5):
        counts = np.bincount(y, minlength=n_topics)
        rises = scipy.special.gammaln(zeta + counts) - scipy.special.gammaln(zeta)
        total = scipy.special.gammaln(n_topics * zeta) - scipy.special.gammaln(n_topics * zeta + 5)
        chances[y] = math.exp(rises.sum() + total) * math.prod(phi[document, list(y)])
    scale = math.prod(float(fresh[w]) for w in document)
    weights, drawn = np.empty(N_KEYS), []
    for key in range(N_KEYS):
        weights[key] = math.exp(impute(key, at.topics, False)) * scale
        drawn.append(tuple(at.topics.tolist()))
    evidence = sum(chances.values())
    assert abs(weights.mean() - evidence) < 4.0 * weights.std() / math.sqrt(N_KEYS)
    assert weights.std() > 0.1 * evidence
    visits = {y: drawn.count(y) for y in set(drawn)}
    for y, n in visits.items():
        weight = math.exp(impute(0, np.array(y, np.uint16), True)) * scale
        chance = chances[y] / weight  # q
        assert abs(n - N_KEYS * chance) < 5.0 * math.sqrt(N_KEYS * chance) + 1.0


def test_births_leave_a_slot_for_a_split(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocked_sweep, "share_of_births", lambda *_: 1.0)
    for seed in range(50, 70):
        corpus, sweep = crowded(seed, 4)
        state = sweep.state
        n_unused = np.count_nonzero((sweep.scratch.drawn.stick == 0.0) & (state.category_tables == 0))
        homes = sweep.scratch.one_table
        homes[np.flatnonzero(homes)[n_unused:]] = False  # as many documents as slots
        state.gamma = 1e300
        sweep.visit_births()
        assert unused_slot(state.category_tables, sweep.scratch.drawn.stick, corpus.n_known) != NO_CATEGORY
