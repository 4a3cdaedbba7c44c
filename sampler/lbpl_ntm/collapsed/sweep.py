"""One sweep of Algorithm 1: tables, categories, topics."""

from sampler.corpus import Corpus
from sampler.hyperparameters import Hyperparameters
from sampler.lbpl_ntm.assignments import with_slots
from sampler.lbpl_ntm.collapsed import kernels
from sampler.lbpl_ntm.collapsed.state import CollapsedState
from sampler.numerics import streams
from sampler.numerics.streams import Step
from sampler.numerics.threads import Threads


def sweep_collapsed(corpus: Corpus, hyperparameters: Hyperparameters, state: CollapsedState, threads: Threads) -> None:
    """Tables, categories, topics, one after another: each choice depends on the one before."""
    resample_tables(corpus, hyperparameters, state, threads)
    resample_categories(corpus, hyperparameters, state, threads)
    resample_topics(corpus, hyperparameters, state, threads)


def resample_tables(corpus: Corpus, hyperparameters: Hyperparameters, state: CollapsedState, threads: Threads) -> None:
    """Resample all tables, making slots for new categories as they come."""
    key = streams.stream(state.seed, state.chain, state.n_sweeps, Step.TABLES)
    given, token = state.concentrations(hyperparameters), 0
    while token < corpus.n_tokens:
        token = kernels.sample_tables(corpus, state.assignments, state.counts, given, key, token, threads.stop)
        threads.check()
        if token < corpus.n_tokens:
            double_slots(state)


def resample_categories(
    corpus: Corpus, hyperparameters: Hyperparameters, state: CollapsedState, threads: Threads
) -> None:
    """Resample all categories of tables, making slots for new ones as they come."""
    key = streams.stream(state.seed, state.chain, state.n_sweeps, Step.CATEGORIES)
    given, is_exact, slot = state.concentrations(hyperparameters), hyperparameters.category_step == "exact", 0
    while slot < corpus.n_tokens:
        slot = kernels.sample_categories(
            corpus, state.assignments, state.counts, given, is_exact, key, slot, threads.stop
        )
        threads.check()
        if slot < corpus.n_tokens:
            double_slots(state)


def resample_topics(corpus: Corpus, hyperparameters: Hyperparameters, state: CollapsedState, threads: Threads) -> None:
    """Resample the topics of all tokens."""
    key = streams.stream(state.seed, state.chain, state.n_sweeps, Step.TOPICS)
    given = state.concentrations(hyperparameters)
    kernels.sample_topics(corpus, state.assignments, state.counts, given, key, threads.stop)
    threads.check()


def double_slots(state: CollapsedState) -> None:
    """Double the slots for categories."""
    n_slots = 2 * state.assignments.identity.size
    state.assignments, state.counts = with_slots(state.assignments, state.counts, n_slots)
