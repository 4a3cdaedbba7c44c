"""One Markov chain of LBPL-NTM: start it, sweep it, look at it."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit

from sampler import collapsed, streams
from sampler.assignments import EMPTY, UNBORN, Assignments, Counts, recount, with_slots
from sampler.concentration import resample_alpha, resample_gamma
from sampler.corpus import UNLABELED, Array, Corpus, validate
from sampler.digest import first_digest, next_digest
from sampler.hyperparameters import Hyperparameters
from sampler.start import first_assignments
from sampler.streams import Step

MAX_TOKENS = 2**31 - 1  # slots of tables are int32


class Tally(NamedTuple):
    """How often each unlabeled document was answered with each category, over the kept draws."""

    n_draws: int
    document: Array  # int32[A], ascending; with identity, the address of a count
    identity: Array  # int64[A], ascending within a document
    hits: Array  # int32[A], kept draws with this answer


class Draw(NamedTuple):
    """What one sweep leaves in the trace."""

    sweep: int  # the first sweep is 1
    n_categories: int  # that serve a table, known and new
    n_new: int  # of these the new ones
    n_new_with_documents: int  # new ones that hold most words of a document
    n_tables: int
    alpha: float
    gamma: float
    log_joint: float  # nats, up to a constant of the corpus


@dataclass
class State:
    """Where a chain stands; swept in place. `counts` follow from `assignments`."""

    seed: int
    chain: int
    n_sweeps: int  # done so far: with seed and chain the position in the random streams
    n_born: int  # identities given out so far; the known categories have the first ones
    alpha: float
    gamma: float
    assignments: Assignments
    counts: Counts
    tally: Tally
    digest: str  # of all states so far


def start(corpus: Corpus, hyperparameters: Hyperparameters, seed: int, chain: int) -> State:
    """A chain before its first sweep, with concentrations at their prior means.

    Raises ValueError for a corpus that is malformed, has no token or too many.
    """
    validate(corpus)
    if not 0 < corpus.n_tokens <= MAX_TOKENS:
        raise ValueError(f"the corpus has {corpus.n_tokens} tokens, not between 1 and {MAX_TOKENS}")
    assignments = first_assignments(corpus, hyperparameters, seed, chain)
    assignments.identity[: corpus.n_known] = np.arange(corpus.n_known)
    state = State(
        seed=seed,
        chain=chain,
        n_sweeps=0,
        n_born=corpus.n_known,
        alpha=hyperparameters.alpha_mean,
        gamma=hyperparameters.gamma_mean,
        assignments=assignments,
        counts=recount(corpus, assignments, hyperparameters.n_topics),
        tally=Tally(0, np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0, np.int32)),
        digest=first_digest(corpus, hyperparameters, seed, chain),
    )
    name_new_categories(state)
    return state


def sweep(corpus: Corpus, hyperparameters: Hyperparameters, state: State) -> Draw:
    """Advance the chain by one sweep of Algorithm 1: tables, categories, topics, gamma and alpha."""
    state.n_sweeps += 1
    sample_tables(corpus, hyperparameters, state)
    sample_categories(corpus, hyperparameters, state)
    key = streams.stream(state.seed, state.chain, state.n_sweeps, Step.TOPICS)
    collapsed.sample_topics(corpus, state.assignments, state.counts, hyperparameters.zeta, hyperparameters.beta, key)
    sample_concentrations(corpus, hyperparameters, state)
    name_new_categories(state)
    state.digest = next_digest(state.digest, state.assignments, state.alpha, state.gamma)
    return look(corpus, hyperparameters, state)


def sample_tables(corpus: Corpus, hyperparameters: Hyperparameters, state: State) -> None:
    """Resample all tables, making room for new categories as they come."""
    key = streams.stream(state.seed, state.chain, state.n_sweeps, Step.TABLES)
    token = 0
    while token < corpus.n_tokens:
        token = collapsed.sample_tables(
            corpus,
            state.assignments,
            state.counts,
            state.alpha,
            state.gamma,
            hyperparameters.zeta,
            key,
            token,
        )
        if token < corpus.n_tokens:
            make_room(state)


def sample_categories(corpus: Corpus, hyperparameters: Hyperparameters, state: State) -> None:
    """Resample all categories of tables, making room for new ones as they come."""
    key = streams.stream(state.seed, state.chain, state.n_sweeps, Step.CATEGORIES)
    slot = 0
    while slot < corpus.n_tokens:
        slot = collapsed.sample_categories(
            corpus,
            state.assignments,
            state.counts,
            state.gamma,
            hyperparameters.zeta,
            hyperparameters.category_step == "exact",
            key,
            slot,
        )
        if slot < corpus.n_tokens:
            make_room(state)


def make_room(state: State) -> None:
    """Double the slots for categories."""
    n_slots = 2 * state.assignments.identity.size
    state.assignments, state.counts = with_slots(state.assignments, state.counts, n_slots)


def sample_concentrations(corpus: Corpus, hyperparameters: Hyperparameters, state: State) -> None:
    """Resample gamma, then alpha."""
    rng = streams.generator(state.seed, state.chain, state.n_sweeps, Step.CONCENTRATIONS)
    lengths = corpus.lengths
    n_tables = int(state.counts.category_tables.sum())
    n_categories = int(np.count_nonzero(state.counts.category_tables))
    state.gamma = resample_gamma(state.gamma, n_categories, n_tables, hyperparameters, rng)
    is_seated = (corpus.labels == UNLABELED) & (lengths > 0)
    n_labeled = int(np.count_nonzero((corpus.labels != UNLABELED) & (lengths > 0)))
    state.alpha = resample_alpha(state.alpha, n_tables - n_labeled, lengths[is_seated], hyperparameters, rng)


def name_new_categories(state: State) -> None:
    """Number the categories that appeared in this sweep and are still there, in the order of their slots."""
    is_unnamed = (state.assignments.identity == UNBORN) & (state.counts.category_tables > 0)
    n_unnamed = int(np.count_nonzero(is_unnamed))
    state.assignments.identity[is_unnamed] = np.arange(state.n_born, state.n_born + n_unnamed)
    state.n_born += n_unnamed


def look(corpus: Corpus, hyperparameters: Hyperparameters, state: State) -> Draw:
    """The draw that the state stands for."""
    is_served = state.counts.category_tables > 0
    holders = np.unique(document_categories(corpus, state.assignments))
    return Draw(
        sweep=state.n_sweeps,
        n_categories=int(np.count_nonzero(is_served)),
        n_new=int(np.count_nonzero(is_served[corpus.n_known :])),
        n_new_with_documents=int(np.count_nonzero(holders >= corpus.n_known)),
        n_tables=int(state.counts.category_tables.sum()),
        alpha=state.alpha,
        gamma=state.gamma,
        log_joint=log_joint(corpus, hyperparameters, state),
    )


def keep(corpus: Corpus, state: State) -> None:
    """Add the state's answers to the tally of kept draws."""
    answers = document_categories(corpus, state.assignments)
    document = np.flatnonzero((answers != EMPTY) & (corpus.labels == UNLABELED)).astype(np.int32)
    identity = state.assignments.identity[answers[document]]
    tally = state.tally
    documents = np.concatenate([tally.document, document])
    identities = np.concatenate([tally.identity, identity])
    counts = np.concatenate([tally.hits, np.ones(document.size, np.int32)])
    order = np.lexsort((identities, documents))
    documents, identities, counts = documents[order], identities[order], counts[order]
    is_first = np.ones(documents.size, bool)
    is_first[1:] = (np.diff(documents) != 0) | (np.diff(identities) != 0)
    totals = np.add.reduceat(counts, np.flatnonzero(is_first)) if documents.size else counts
    state.tally = Tally(tally.n_draws + 1, documents[is_first], identities[is_first], totals.astype(np.int32))


@njit(cache=True, nogil=True)
def document_categories(corpus, assignments):  # type: ignore[no-untyped-def]
    """int32[D]: the category that serves most words of each document, or EMPTY for one without a word.

    Ties go to the smaller index.
    """
    held = np.zeros(assignments.identity.size, np.int64)
    answers = np.full(corpus.labels.size, EMPTY, np.int32)
    for d in range(corpus.labels.size):
        first, end = corpus.offsets[d], corpus.offsets[d + 1]
        for i in range(first, end):
            held[assignments.category[assignments.table[i]]] += 1
        most = 0
        for i in range(first, end):
            category = assignments.category[assignments.table[i]]
            if held[category] > most or (held[category] == most and category < answers[d]):
                most = held[category]
                answers[d] = category
        for i in range(first, end):
            held[assignments.category[assignments.table[i]]] = 0
    return answers


def log_joint(corpus: Corpus, hyperparameters: Hyperparameters, state: State) -> float:
    """log p(words, topics, tables, categories, alpha, gamma), in nats; `as_printed` has the same one.

    Labeled documents sit at one table by decree, so their seating contributes nothing.
    """
    counts, lengths = state.counts, corpus.lengths
    is_seated = (corpus.labels == UNLABELED) & (lengths > 0)
    first_slots = corpus.offsets[:-1][(corpus.labels != UNLABELED) & (lengths > 0)]
    n_tables = int(counts.category_tables.sum())
    return float(
        log_gamma_density(state.alpha, hyperparameters.alpha_shape, hyperparameters.alpha_scale)
        + log_gamma_density(state.gamma, hyperparameters.gamma_shape, hyperparameters.gamma_scale)
        + (n_tables - first_slots.size) * math.log(state.alpha)
        + log_factorials(counts.table_tokens)
        - log_factorials(counts.table_tokens[first_slots])
        - log_rising(state.alpha, lengths[is_seated])
        + int(np.count_nonzero(counts.category_tables)) * math.log(state.gamma)
        + log_factorials(counts.category_tables)
        - log_rising(state.gamma, np.array([n_tables]))
        + log_dirichlet_multinomial(counts.category_topic, counts.category_tokens, hyperparameters.zeta)
        + log_topics(counts.word_topic, counts.topic_tokens, hyperparameters.beta)
    )


def log_gamma_density(x: float, shape: float, scale: float) -> float:
    """Log density of Gamma(shape, scale) at x."""
    return (shape - 1.0) * math.log(x) - x / scale - math.lgamma(shape) - shape * math.log(scale)


@njit(cache=True, nogil=True)
def log_factorials(sizes):  # type: ignore[no-untyped-def]
    """Sum of log (n - 1)! over the sizes n > 0."""
    total = 0.0
    for n in sizes:
        if n > 0:
            total += math.lgamma(n)
    return total


@njit(cache=True, nogil=True)
def log_rising(x, sizes):  # type: ignore[no-untyped-def]
    """Sum over n of log x (x + 1) ... (x + n - 1)."""
    total = 0.0
    for n in sizes:
        total += math.lgamma(x + n) - math.lgamma(x)
    return total


@njit(cache=True, nogil=True)
def log_dirichlet_multinomial(counts, totals, prior):  # type: ignore[no-untyped-def]
    """Sum over rows of log of the Dirichlet-multinomial probability of counts [R, S] in a given order."""
    n_rows, n_columns = counts.shape
    constant = math.lgamma(prior)
    total = 0.0
    for r in range(n_rows):
        if totals[r] == 0:
            continue
        total += math.lgamma(n_columns * prior) - math.lgamma(n_columns * prior + totals[r])
        for c in range(n_columns):
            if counts[r, c] > 0:
                total += math.lgamma(prior + counts[r, c]) - constant
    return total


@njit(cache=True, nogil=True)
def log_topics(word_topic, topic_tokens, beta):  # type: ignore[no-untyped-def]
    """log p(words | topics) with phi integrated out; word_topic is int32[V, L]."""
    n_words, n_topics = word_topic.shape
    constant = math.lgamma(beta)
    total = 0.0
    for topic in range(n_topics):
        total += math.lgamma(n_words * beta) - math.lgamma(n_words * beta + topic_tokens[topic])
    for word in range(n_words):
        for topic in range(n_topics):
            if word_topic[word, topic] > 0:
                total += math.lgamma(beta + word_topic[word, topic]) - constant
    return total
