"""The blocked sampler against full enumeration of the posterior, at fixed and at sampled concentrations.

Its state has no tables and no topics of single tokens, so configurations are compared by all that it does have: the
category of each token, how many tables serve each category, and how many tokens of each category and of each word
have each topic.
"""

from collections.abc import Callable, Hashable
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

from sampler.corpus import UNLABELED, Array, Corpus
from sampler.lbpl_ntm import chain
from sampler.lbpl_ntm.blocked import sweep as blocked_sweep
from sampler.lbpl_ntm.blocked.arrays import FIXED_POINT
from sampler.lbpl_ntm.blocked.state import BlockedState
from sampler.lbpl_ntm.blocked.sweep import Sweep
from sampler.numerics.threads import Threads
from tests.sampler import blocked_harness, enumerated, exact, harness
from tests.sampler.enumerated import ALPHA, CONSTANTS, GAMMA, HYPERPARAMETERS, full

N_SWEEPS, N_SWEEPS_SLOW = 3_000, 60_000  # about a millisecond each

View = tuple[Hashable, ...]


def view(corpus: Corpus, category: Array, tables: dict[int, int], category_topic: dict[int, View], rest: View) -> View:
    """What the blocked sampler knows, with new categories numbered by appearance."""
    numbers: dict[int, int] = {}
    for k in category.tolist():
        numbers.setdefault(k, k if k < corpus.n_known else corpus.n_known + len(numbers))
    ordered = sorted(set(category.tolist()), key=lambda k: numbers[k])
    return (
        tuple(numbers[k] for k in category.tolist()),
        tuple(tables[k] for k in ordered),
        tuple(category_topic[k] for k in ordered),
        rest,
    )


def view_of_configuration(corpus: Corpus, c: exact.Configuration) -> View:
    """The view of an enumerated configuration."""
    category, topic = np.array(c.category), np.array(c.topic)
    document = np.repeat(np.arange(corpus.n_documents), corpus.lengths).tolist()
    tables = {
        k: len({(d, t) for d, t, j in zip(document, c.table, c.category, strict=True) if j == k})
        for k in set(c.category)
    }
    category_topic = {
        k: tuple(np.bincount(topic[category == k], minlength=CONSTANTS.n_topics).tolist()) for k in set(c.category)
    }
    word_topic = np.zeros((corpus.n_words, CONSTANTS.n_topics), int)
    np.add.at(word_topic, (corpus.words, topic), 1)
    return view(
        corpus,
        category[blocked_harness.order_of_bags(corpus)],
        tables,
        category_topic,
        tuple(word_topic.ravel().tolist()),
    )


def view_of_state(corpus: Corpus, state: BlockedState) -> View:
    """The view of a chain's state."""
    counts, category = state.counts, blocked_harness.token_categories(corpus, state)
    served = np.flatnonzero(counts.category_tables).tolist()
    tables = {k: int(counts.category_tables[k]) for k in served}
    category_topic = {k: tuple(counts.category_topic[k].tolist()) for k in served}
    return view(corpus, category, tables, category_topic, tuple(blocked_harness.word_topic(state).ravel().tolist()))


def views(corpus: Corpus, posterior: dict[exact.Configuration, float]) -> dict[View, float]:
    """The probability of each view."""
    chances: dict[View, float] = {}
    for c, p in posterior.items():
        seen = view_of_configuration(corpus, c)
        chances[seen] = chances.get(seen, 0.0) + p
    return chances


@cache
def at_fixed_concentrations(name: str) -> dict[View, float]:
    """The posterior of views given alpha and gamma."""
    return views(harness.TINY[name], enumerated.at_fixed_concentrations(name))


def run(corpus: Corpus, n_sweeps: int, seed: int, concentrations: bool) -> tuple[list[View], Array]:
    """Views of a chain and its concentrations, float64[n_sweeps, 2]."""
    state = blocked_harness.start(corpus, HYPERPARAMETERS, seed=seed)
    if not concentrations:
        state.alpha, state.gamma = ALPHA, GAMMA
    seen, values = [], np.empty((n_sweeps, 2))
    for s in range(n_sweeps):
        state.n_sweeps += 1
        blocked_sweep.sweep_blocked(corpus, HYPERPARAMETERS, state, Threads())
        if concentrations:
            chain.sample_concentrations(corpus, HYPERPARAMETERS, state)
        seen.append(view_of_state(corpus, state))
        values[s] = state.alpha, state.gamma
    return seen, values


def worst_t(seen: list[View], expected: dict[View, float]) -> tuple[float, int]:
    """The largest |t| between frequencies of views, and of their parts, and probabilities; how many were compared."""
    every = list(expected)
    place = {v: j for j, v in enumerate(every)}
    chances = np.array([expected[v] for v in every])
    visits = np.array([place[v] for v in seen])  # KeyError for a view that cannot be
    size = visits.size // harness.N_BATCHES
    visits = visits[-size * harness.N_BATCHES :].reshape(harness.N_BATCHES, size)
    shares = np.array([np.bincount(batch, minlength=len(every)) for batch in visits]) / size
    parts: list[Callable[[View], Hashable]] = [lambda v: v, *(lambda v, i=i: v[i] for i in range(4)), lambda v: v[:2]]
    scores = []
    for part in parts:
        names: dict[Hashable, int] = {}
        group = np.array([names.setdefault(part(v), len(names)) for v in every])
        p = np.bincount(group, chances)
        batches = np.array([np.bincount(group, row) for row in shares])
        often = p * visits.size >= harness.ENOUGH
        scores.append(harness.t_scores(batches[:, often], p[often]))
    joined = np.concatenate(scores)
    return float(np.abs(joined).max()), joined.size


def assert_matches(seen: list[View], expected: dict[View, float]) -> None:
    worst, n_comparisons = worst_t(seen, expected)
    assert worst < harness.t_limit(n_comparisons), f"worst |t| = {worst:.2f} of {n_comparisons}"


# The others stand in test_lbpl_continued.py, whose chains sweep likewise once they have been continued.
@pytest.mark.parametrize("name", ["two known", "none labeled, one empty"])
def test_draws_match_the_exact_posterior_with_concentrations_integrated_out(name: str) -> None:
    assert_chain_matches(name, N_SWEEPS, seed=22)


@pytest.mark.slow
@pytest.mark.parametrize("name", harness.TINY)
def test_many_draws_match_the_exact_posterior_with_concentrations_integrated_out(name: str) -> None:
    assert_chain_matches(name, N_SWEEPS_SLOW, seed=23)


def assert_chain_matches(name: str, n_sweeps: int, seed: int) -> None:
    seen, values = run(harness.TINY[name], n_sweeps, seed, concentrations=True)
    assert_matches(seen, views(harness.TINY[name], full(name).configurations))
    t = harness.t_scores(harness.batch_means(values), np.array([full(name).alpha, full(name).gamma]))
    assert np.abs(t).max() < harness.t_limit(2), f"t of the means of alpha and gamma: {t}"


def plain_topics(rng: np.random.Generator) -> Callable[..., None]:
    """The step that draws topics, token by token."""

    def sample_topics(sweep: Sweep, *_: object) -> None:
        theta, phi = plain_parameters(sweep)
        corpus, state, counts = sweep.corpus, sweep.state, sweep.state.counts
        words = corpus.words[blocked_harness.order_of_bags(corpus)]
        category_topic, word_topic = (
            np.zeros_like(counts.category_topic),
            np.zeros((corpus.n_words, theta.shape[1]), int),
        )
        for w, k in zip(words.tolist(), blocked_harness.token_categories(corpus, state).tolist(), strict=True):
            p = theta[k] * phi[w]
            topic = rng.choice(p.size, p=p / p.sum())
            category_topic[k, topic] += 1
            word_topic[w, topic] += 1
        blocked_harness.write_word_topic(state, word_topic)
        counts.category_topic[:], counts.topic_tokens[:] = category_topic, word_topic.sum(axis=0)

    return sample_topics


def plain_parameters(sweep: Sweep) -> tuple[Array, Array]:
    """theta [S, L] over the topics' norms, and phi [V, L] times these."""
    drawn = sweep.scratch.drawn
    phi = np.zeros(drawn.topic.shape)
    for w in range(phi.shape[0]):
        phi[w, drawn.topic[w, : drawn.size[w]]] = drawn.weight[w, : drawn.size[w]]
    theta = drawn.mixture.T.astype(float)
    expected = phi @ theta.T
    assert (np.abs(drawn.chance - expected) <= 1e-30 + 1e-5 * expected).all()
    return theta, phi


def plain_documents(corpus: Corpus, rng: np.random.Generator, tokens_move: bool = True) -> Callable[..., None]:
    """The step that draws categories and tables: each token in turn, if any, then seats. No table moves as a whole."""

    def sample_documents(sweep: Sweep) -> None:
        theta, phi = plain_parameters(sweep)
        state = sweep.state
        chance, seating = phi @ theta.T, state.alpha * sweep.scratch.drawn.stick
        category = blocked_harness.token_categories(corpus, state)
        words = corpus.words[blocked_harness.order_of_bags(corpus)]
        state.counts.category_tables[:], state.counts.log_seats[:] = state.labeled_tables, 0
        n_tables = np.zeros(corpus.n_documents, int)
        for d in np.flatnonzero(corpus.labels == UNLABELED):
            own = np.arange(corpus.offsets[d], corpus.offsets[d + 1])
            for i in own if tokens_move else []:
                others = np.bincount(category[own[own != i]], minlength=seating.size)
                p = (others + seating) * chance[words[i]]
                category[i] = rng.choice(p.size, p=p / p.sum())
            for k in np.unique(category[own]):
                sizes: list[int] = []
                for _ in range(int((category[own] == k).sum())):
                    p = np.array([*sizes, seating[k]])
                    t = rng.choice(p.size, p=p / p.sum())
                    sizes = [*sizes, 1] if t == len(sizes) else [n + (j == t) for j, n in enumerate(sizes)]
                state.counts.category_tables[k] += len(sizes)
                n_tables[d] += len(sizes)
                state.counts.log_seats[k] += round(sum(np.log(np.arange(1, n)).sum() for n in sizes) * FIXED_POINT)
        blocked_harness.place(corpus, state, category)
        sweep.scratch.one_table[:] = n_tables[state.bags.document] == 1

    return sample_documents


class Variant(NamedTuple):
    """Other steps, or constants, under which the posterior is the same."""

    constants: dict[str, object]
    plain: tuple[str, ...] = ()  # steps that are replaced by slow and plain ones


BIRTHS: dict[str, object] = {"share_of_births": lambda *_: 1.0}  # proposed to every document in each sweep
ALONE: dict[str, object] = {"SPLIT_MERGE_EVERY": 10**9}  # sweeps: no split and no merge
VARIANTS = {
    "documents alone": Variant(ALONE, ("sample_topics",)),
    "topics alone": Variant(ALONE, ("sample_documents",)),
    "splits and merges alone": Variant({"SPLIT_MERGE_EVERY": 1}, ("sample_documents", "sample_topics")),
    "births alone": Variant({**ALONE, **BIRTHS}, ("sample_documents", "sample_topics")),
    "plain steps": Variant(ALONE, ("sample_documents", "sample_topics")),
    "no splits and merges": Variant(ALONE),
    "a split or a merge in each sweep": Variant({"SPLIT_MERGE_EVERY": 1}),
    "births in each sweep": Variant({**ALONE, **BIRTHS}),
    "all moves in each sweep": Variant({"SPLIT_MERGE_EVERY": 1, **BIRTHS}),
    "topics in many rounds": Variant({"TOPIC_ROUNDS": 3}),
    "births and sparse phi": Variant({"ENOUGH_PSEUDOCOUNTS": 0.0, **BIRTHS}),
    "few candidates": Variant({"LEAST_STICK": 0.05}),
    "hardly a candidate": Variant({"LEAST_STICK": 0.2}),
    "sparse phi": Variant({"ENOUGH_PSEUDOCOUNTS": 0.0}),
    "sparse phi with a coarse cut": Variant({"ENOUGH_PSEUDOCOUNTS": 0.0, "negligible": lambda n_topics, beta: 1e-4}),
}
QUICK = [
    "all moves in each sweep",
    "hardly a candidate",
    "sparse phi",
    "topics in many rounds",
]


def assert_variant_matches(name: str, variant: str, n_sweeps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    change(name, VARIANTS[variant], monkeypatch)
    seen, _ = run(harness.TINY[name], n_sweeps, seed=24, concentrations=False)
    assert_matches(seen, at_fixed_concentrations(name))


def change(name: str, variant: Variant, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(25)
    steps = {"sample_topics": plain_topics(rng), "sample_documents": plain_documents(harness.TINY[name], rng)}
    for constant, value in variant.constants.items():
        monkeypatch.setattr(blocked_sweep, constant, value)
    for step in variant.plain:
        monkeypatch.setattr(Sweep, step, steps[step])


@pytest.mark.parametrize("variant", QUICK)
def test_each_variant_matches_the_enumerated_posterior(variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_variant_matches("label without a word", variant, N_SWEEPS, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", harness.TINY)
def test_each_variant_matches_the_enumerated_posterior_in_many_sweeps(
    name: str, variant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_variant_matches(name, variant, N_SWEEPS_SLOW // 3, monkeypatch)


@pytest.mark.slow
def test_the_comparison_has_the_power_to_see_that_phi_is_cut_too_coarsely(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "label without a word"
    coarse = Variant({"ENOUGH_PSEUDOCOUNTS": 0.0, "negligible": lambda n_topics, beta: 0.2})
    change(name, coarse, monkeypatch)
    seen, _ = run(harness.TINY[name], N_SWEEPS_SLOW // 3, seed=24, concentrations=False)
    worst, n_comparisons = worst_t(seen, at_fixed_concentrations(name))
    assert worst > 1.5 * harness.t_limit(n_comparisons)
