"""Long runs of the sampler against full enumeration of the posterior, over tables, categories and topics."""

import itertools

import numpy as np
import pytest
from numba import njit

from sampler.corpus import Array, Corpus
from sampler.lbpl_ntm import chain
from sampler.lbpl_ntm.collapsed import kernels
from sampler.lbpl_ntm.concentrations import Concentrations
from sampler.numerics.streams import uniform
from tests.sampler import exact, harness
from tests.sampler.enumerated import ALPHA, CONSTANTS, GAMMA, HYPERPARAMETERS, at_fixed_concentrations, full

N_KERNEL_SWEEPS = 300_000  # about 4 microseconds each
N_SWEEPS, N_SWEEPS_SLOW = 8_000, 60_000  # about 250 microseconds each


@njit
def kernel_codes(corpus, assignments, counts, given, is_exact, n_sweeps):
    """The configuration after each sweep of the three kernels at fixed concentrations, as numbers."""
    codes = np.empty(n_sweeps, np.int64)
    bits, stop = 2.0**53, np.zeros(1, np.int64)
    for s in range(n_sweeps):
        for step in range(3):
            key = np.uint64(uniform(np.uint64(step), s) * bits)
            if step == 0:
                kernels.sample_tables(corpus, assignments, counts, given, key, 0, stop)
            elif step == 1:
                kernels.sample_categories(corpus, assignments, counts, given, is_exact, key, 0, stop)
            else:
                kernels.sample_topics(corpus, assignments, counts, given, key, stop)
        codes[s] = harness.code(corpus, assignments)
    return codes


def run_kernels(corpus: Corpus, is_exact: bool = True) -> Array:
    """Codes of a long run from the first configuration there is, with a slot for every category there can be."""
    first = next(exact.configurations(corpus, CONSTANTS.n_topics))
    n_slots = corpus.n_known + corpus.n_tokens + 1
    assignments = harness.assignments_of(corpus, first, n_slots, np.random.default_rng(1))
    counts = harness.recount(corpus, assignments, CONSTANTS.n_topics)
    return kernel_codes(
        corpus,
        assignments,
        counts,
        Concentrations(ALPHA, GAMMA, CONSTANTS.zeta, CONSTANTS.beta),
        is_exact,
        N_KERNEL_SWEEPS,
    )


def run_chain(corpus: Corpus, n_sweeps: int, seed: int) -> tuple[Array, Array]:
    """Codes int64[n_sweeps] and concentrations float64[n_sweeps, 2] of a whole chain."""
    state = chain.start(corpus, HYPERPARAMETERS, seed=seed, chain=0, kernel="collapsed")
    codes, concentrations = np.empty(n_sweeps, np.int64), np.empty((n_sweeps, 2))
    for s in range(n_sweeps):
        draw = chain.sweep(corpus, HYPERPARAMETERS, state)
        codes[s] = harness.code(corpus, state.assignments)
        concentrations[s] = draw.alpha, draw.gamma
    return codes, concentrations


def assert_chain_matches(corpus: Corpus, expected: exact.Full, n_sweeps: int, seed: int) -> None:
    codes, concentrations = run_chain(corpus, n_sweeps, seed)
    harness.assert_matches(codes, expected.configurations)
    t = harness.t_scores(harness.batch_means(concentrations), np.array([expected.alpha, expected.gamma]))
    assert np.abs(t).max() < harness.t_limit(2), f"t of the means of alpha and gamma: {t}"


@pytest.mark.parametrize("name", harness.TINY)
def test_the_two_codes_of_a_configuration_are_one(name: str) -> None:
    corpus, rng = harness.TINY[name], np.random.default_rng(3)
    for c in itertools.islice(harness.every_configuration(name, CONSTANTS.n_topics), 0, None, 7):
        assignments = harness.assignments_of(corpus, c, corpus.n_known + corpus.n_tokens + 1, rng)
        assert harness.code(corpus, assignments) == exact.code(c)
        assert exact.canonical(corpus, harness.configuration_of(assignments)) == c


@pytest.mark.parametrize("name", harness.TINY)
def test_long_runs_of_the_kernels_match_the_enumerated_posterior(name: str) -> None:
    harness.assert_matches(run_kernels(harness.TINY[name]), at_fixed_concentrations(name))


@pytest.mark.parametrize("name", ["two known", "label without a word"])
def test_the_comparison_has_the_power_to_see_that_as_printed_is_not_the_posterior(name: str) -> None:
    worst, n_comparisons = harness.worst_t(
        run_kernels(harness.TINY[name], is_exact=False), at_fixed_concentrations(name)
    )
    assert worst > 1.5 * harness.t_limit(n_comparisons)


def test_on_permuted_documents_long_runs_match_the_same_enumeration_permuted() -> None:
    posterior = at_fixed_concentrations("two known")
    shuffled, origin = harness.permuted(harness.TINY["two known"], [2, 1, 0])
    expected = {
        exact.canonical(
            shuffled,
            exact.Configuration(
                tuple(c.table[i] for i in origin),
                tuple(c.category[i] for i in origin),
                tuple(c.topic[i] for i in origin),
            ),
        ): p
        for c, p in posterior.items()
    }
    assert len(expected) == len(posterior)
    harness.assert_matches(run_kernels(shuffled), expected)


# The others stand in test_lbpl_continued.py, whose chains sweep likewise once they have been continued.
@pytest.mark.parametrize("name", ["two known", "none labeled, one empty"])
def test_draws_match_the_exact_posterior_with_concentrations_integrated_out(name: str) -> None:
    assert_chain_matches(harness.TINY[name], full(name), N_SWEEPS, seed=11)


@pytest.mark.slow
@pytest.mark.parametrize("name", harness.TINY)
def test_many_draws_match_the_exact_posterior_with_concentrations_integrated_out(name: str) -> None:
    assert_chain_matches(harness.TINY[name], full(name), N_SWEEPS_SLOW, seed=12)
