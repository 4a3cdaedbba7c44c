"""Geweke's joint test (2004) of the blocked sampler: two roads to the joint law of parameters and words.

The marginal road draws independently from the model given the labels. The successive road takes a sweep, then new
words: each from p(w | k) of its category with topics summed out, under the theta and phi of this sweep, then topics in
bulk. That is a draw of words and topics given all else, so both roads lead to the same law, and a sweep that does not
keep it is seen. Compared by all that the blocked sampler has: it knows no topic and no table of a single token.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import scipy.special

from sampler.corpus import UNLABELED, Array, Corpus
from sampler.hyperparameters import Hyperparameters
from sampler.lbpl_ntm import chain, simulate
from sampler.lbpl_ntm.blocked import sweep as blocked_sweep
from sampler.lbpl_ntm.blocked.arrays import FIXED_POINT
from sampler.lbpl_ntm.blocked.state import BlockedState
from sampler.lbpl_ntm.blocked.sweep import Sweep
from sampler.numerics.threads import Threads
from tests.sampler import blocked_harness, geweke
from tests.sampler.geweke import CORPORA, HYPERPARAMETERS, N_BROKEN, N_MARGINAL, N_SUCCESSIVE

FEW_TABLES = replace(HYPERPARAMETERS, alpha_scale=0.1, zeta=0.3)  # whole documents move
N_FUNCTIONS = 28
N_QUICK, N_MARGINAL_QUICK = 4_000, 8_000  # sweeps of about half a millisecond; draws


def functions(
    concentrations: tuple[float, float],
    category_tables: Array,
    log_seats: float,
    category_topic: Array,
    word_topic: Array,
    n_known_tokens: int,
) -> Array:
    """What both roads are compared by, float64[N_FUNCTIONS]."""
    alpha, gamma = concentrations
    n_tables, n_categories = category_tables.sum(), np.count_nonzero(category_tables)
    topic_tokens = category_topic.sum(axis=0)
    values = np.array(
        [
            *(alpha, gamma, np.log(alpha), np.log(gamma), n_categories, n_tables),
            *(topic_tokens[0], (category_topic**2).sum(), (word_topic**2).sum(), (category_tables**2).sum()),
            *(log_seats, n_known_tokens),
        ]
    )
    pairs = [alpha * n_tables, gamma * n_categories, n_categories * n_tables, (topic_tokens**2).sum()]
    return np.concatenate([values, values**2, pairs])


def functions_of_simulated(drawn: simulate.Simulated, n_topics: int) -> Array:
    """The functions of a draw from the model."""
    corpus, category, topic = drawn.corpus, drawn.token_category, drawn.token_topic
    document = np.repeat(np.arange(corpus.n_documents), corpus.lengths)
    most = int(corpus.lengths.max())
    seated = np.bincount(document * most + drawn.token_table, minlength=corpus.n_documents * most)
    first = np.unique(document * most + drawn.token_table, return_index=True)[1]
    own = seated.reshape(-1, most)[corpus.labels == UNLABELED]
    n_categories = int(category.max()) + 1
    return functions(
        (drawn.alpha, drawn.gamma),
        np.bincount(category[first], minlength=n_categories),
        float(scipy.special.gammaln(own[own > 0]).sum()),
        np.bincount(category * n_topics + topic, minlength=n_categories * n_topics).reshape(-1, n_topics),
        np.bincount(corpus.words * n_topics + topic, minlength=corpus.n_words * n_topics),
        int(np.count_nonzero(category < corpus.n_known)),
    )


def functions_of_state(corpus: Corpus, state: BlockedState) -> Array:
    """The functions of a chain's state."""
    counts = state.counts
    return functions(
        (state.alpha, state.gamma),
        counts.category_tables,
        float(counts.log_seats.sum() / FIXED_POINT),
        counts.category_topic,
        blocked_harness.word_topic(state),
        int(counts.category_word[:, : corpus.n_known].sum()),
    )


@cache
def marginal(name: str, hyperparameters: Hyperparameters, n_draws: int) -> Array:
    """float64[n_draws, N_FUNCTIONS]: independent draws from the model given the labels."""
    corpus, rng = CORPORA[name], np.random.default_rng(80)
    rows = np.empty((n_draws, N_FUNCTIONS))
    for row in rows:
        drawn = simulate.simulate(corpus.lengths, corpus.labels, corpus.n_words, corpus.n_known, hyperparameters, rng)
        row[:] = functions_of_simulated(drawn, hyperparameters.n_topics)
    return rows


def successive(corpus: Corpus, hyperparameters: Hyperparameters, n_sweeps: int, seed: int) -> Array:
    """float64[n_sweeps, N_FUNCTIONS]: a sweep, then new words and topics.

    The topics of the new words are drawn with the numbers that those of the sweep were drawn with: these are forgotten.
    """
    corpus = corpus._replace(words=corpus.words.copy())  # redrawn in place
    rng = np.random.default_rng(seed)
    state = blocked_harness.start(corpus, hyperparameters, seed=seed)
    rows = np.empty((n_sweeps, N_FUNCTIONS))
    with Threads() as threads:
        for row in rows:
            chain.sweep(corpus, hyperparameters, state, threads)
            blocked_harness.redraw_words(corpus, state, rng)
            blocked_harness.steps_of(corpus, hyperparameters, state, threads).sample_topics()
            row[:] = functions_of_state(corpus, state)
    return rows[n_sweeps // 10 :]


def worst_z(name: str, hyperparameters: Hyperparameters, n_sweeps: int, n_draws: int, seed: int) -> tuple[float, float]:
    """See `geweke`."""
    straight = marginal(name, hyperparameters, n_draws)
    return geweke.worst_z(straight, successive(CORPORA[name], hyperparameters, n_sweeps, seed))


def test_both_roads_to_the_joint_law_agree() -> None:
    worst, limit = worst_z("labeled documents", HYPERPARAMETERS, N_QUICK, N_MARGINAL_QUICK, seed=81)
    assert worst < limit, f"{worst:.2f} standard errors"


@pytest.mark.slow
@pytest.mark.parametrize("name", CORPORA)
def test_both_roads_agree_where_births_and_rounds_of_topics_are_many(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocked_sweep, "share_of_births", lambda *_: 1.0)
    monkeypatch.setattr(blocked_sweep, "TOPIC_ROUNDS", 2)
    worst, limit = worst_z(name, FEW_TABLES, N_BROKEN, N_MARGINAL, seed=84)
    assert worst < limit, f"{worst:.2f} standard errors"


@pytest.mark.slow
@pytest.mark.parametrize("model", [HYPERPARAMETERS, FEW_TABLES], ids=["moderate alpha", "few tables"])
@pytest.mark.parametrize("name", CORPORA)
def test_both_roads_to_the_joint_law_agree_in_many_sweeps(name: str, model: Hyperparameters) -> None:
    worst, limit = worst_z(name, model, N_SUCCESSIVE, N_MARGINAL, seed=82)
    assert worst < limit, f"{worst:.2f} standard errors"


Step = Callable[..., object]


def seats_without_sticks(score_categories: Step) -> Step:
    def broken(sweep: Sweep) -> None:
        score_categories(sweep)
        sweep.scratch.scores.seating[:] = sweep.state.alpha

    return broken


def tables_move_without_sticks(score_categories: Step) -> Step:
    def broken(sweep: Sweep) -> None:
        score_categories(sweep)
        log_stick = sweep.scratch.scores.log_stick
        log_stick[np.isfinite(log_stick)] = -1.0

    return broken


def second_tables_never_open(score_categories: Step) -> Step:
    def broken(sweep: Sweep) -> None:
        score_categories(sweep)
        sizes = sweep.state.sizes
        sweep.state.sizes = sizes._replace(harmonic=np.zeros_like(sizes.harmonic))

    return broken


def other_constants(**changes: float) -> Callable[[Step], Step]:
    def change(draw_parameters: Step) -> Step:
        def broken(sweep: Sweep) -> None:
            given = sweep.hyperparameters
            sweep.hyperparameters = replace(given, **changes)
            draw_parameters(sweep)
            sweep.hyperparameters = given

        return broken

    return change


def no_new_sticks(draw_sticks: Step) -> Step:
    def broken(sweep: Sweep, *rest: object) -> Array:
        sticks = np.asarray(draw_sticks(sweep, *rest))
        return np.where(sweep.state.category_tables > 0, sticks, 0.0)

    return broken


def labeled_tables_twice(draw_sticks: Step) -> Step:
    def broken(sweep: Sweep, *rest: object) -> Array:
        state = sweep.state
        state.counts.category_tables[:] += state.labeled_tables
        sticks = np.asarray(draw_sticks(sweep, *rest))
        state.counts.category_tables[:] -= state.labeled_tables
        return sticks

    return broken


def one_table_a_category(draw_sticks: Step) -> Step:
    def broken(sweep: Sweep, *rest: object) -> Array:
        state = sweep.state
        tables = state.counts.category_tables.copy()
        state.counts.category_tables[:] = tables > 0
        sticks = np.asarray(draw_sticks(sweep, *rest))
        served = state.category_tables > 0  # the categories keep their order whatever slots they get
        state.counts.category_tables[served] = tables[tables > 0]
        return sticks

    return broken


def topics_of_another_category(sample_topics: Step) -> Step:
    def broken(sweep: Sweep, *rest: object) -> None:
        drawn, live = sweep.scratch.drawn, np.flatnonzero(sweep.state.category_tables)
        kept = drawn.mixture.copy(), drawn.chance.copy()
        drawn.mixture[:, live] = drawn.mixture[:, live].mean(axis=1, keepdims=True)
        sweep.write_chances()
        sample_topics(sweep, *rest)
        drawn.mixture[:], drawn.chance[:] = kept

    return broken


MISTAKES = {
    "tables are seated without b": ("score_categories", seats_without_sticks),
    "tables move without b": ("score_categories", tables_move_without_sticks),
    "second tables never open": ("score_categories", second_tables_never_open),
    "theta has too small a zeta": ("draw_parameters", other_constants(zeta=0.1)),
    "phi has too small a beta": ("draw_parameters", other_constants(beta=0.1)),
    "the rest of the sticks is dropped": ("draw_sticks", no_new_sticks),
    "labeled tables count twice": ("draw_sticks", labeled_tables_twice),
    "a category's tables are left out of its stick": ("draw_sticks", one_table_a_category),
    "topics are drawn without theta": ("sample_topics", topics_of_another_category),
}


@pytest.mark.slow
@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_test_has_the_power_to_find_a_wrong_step(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    step, broken = MISTAKES[mistake]
    monkeypatch.setattr(Sweep, step, broken(getattr(Sweep, step)))
    worst, limit = worst_z("labeled documents", HYPERPARAMETERS, N_BROKEN, N_MARGINAL, seed=83)
    assert worst > 1.5 * limit, f"only {worst:.2f} standard errors"
