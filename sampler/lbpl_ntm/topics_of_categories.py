"""The paper's theta and phi: each category a distribution over topics, each topic one over words.

Of a chain of the model itself they are those of its state. Categories that another model found, or several chains
together, become readable in the same way: the blocked sampler draws topics while every document keeps its category.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from sampler.answers.words import RELEVANCE
from sampler.corpus import NO_CATEGORY, Array, Corpus
from sampler.hyperparameters import Hyperparameters
from sampler.lbpl_ntm import chain
from sampler.lbpl_ntm.blocked.state import BlockedState
from sampler.lbpl_ntm.state import State
from sampler.numerics.threads import Threads, is_raised

N_TOPIC_SWEEPS, TOPIC_BURN_IN = 100, 50
WORDS_AT_ONCE = 500_000  # words of topics that are ranked without a look at the flag


class Topics(NamedTuple):
    """Posterior means: over some sweeps, or given the topics of all tokens as one sweep left them."""

    category_topic: Array  # float64[K, L], theta
    topic_word: Array  # float64[V, L], phi
    share: Array  # float64[L], tokens of each topic


def learn_topics(
    corpus: Corpus, category: Array, n_categories: int, hyperparameters: Hyperparameters, seed: int, threads: Threads
) -> Topics:
    """The topics of a corpus whose documents have the categories int[D], or NO_CATEGORY without a word.

    Raises ValueError for a corpus without a token.
    """
    labels = np.where(category == NO_CATEGORY, 0, category).astype(np.int32)
    held = corpus._replace(labels=labels, n_known=n_categories)
    state = chain.start(held, hyperparameters, seed, 0, "blocked", threads)
    assert isinstance(state, BlockedState)
    n_topics = hyperparameters.n_topics
    theta, phi = np.zeros((n_categories, n_topics)), np.zeros((corpus.n_words, n_topics))
    share = np.zeros(n_topics)
    for sweep in range(N_TOPIC_SWEEPS):
        chain.sweep(held, hyperparameters, state, threads)
        if sweep < TOPIC_BURN_IN:
            continue
        of_category = state.counts.category_topic[:n_categories] + hyperparameters.zeta
        theta += of_category / of_category.sum(axis=1, keepdims=True)
        add_topic_words(*state.counts.word_topics, state.counts.topic_tokens, hyperparameters.beta, phi, threads.stop)
        threads.check()
        share += state.counts.topic_tokens / corpus.n_tokens
    kept = N_TOPIC_SWEEPS - TOPIC_BURN_IN
    return Topics(theta / kept, phi / kept, share / kept)


def topics_of_state(state: State, hyperparameters: Hyperparameters, identities: Array) -> Topics:
    """The topics of a chain where it stands: E[theta | O_kl] and E[phi | O_lw].

    `identities` int64[K] are the categories. One that the state no longer has, or that has no token in it, has weight
    0 for every topic: nothing is known of it there.
    """
    category_topic, word_topic = state.topic_counts()
    slot_of = {int(state.identity[k]): k for k in np.flatnonzero(state.category_tables).tolist()}
    theta = np.zeros((identities.size, hyperparameters.n_topics))
    for row, identity in enumerate(identities.tolist()):
        if identity in slot_of:
            weights = hyperparameters.zeta + category_topic[slot_of[identity]]
            theta[row] = weights / weights.sum()
    tokens = word_topic.sum(axis=0, dtype=np.int64)
    phi = (hyperparameters.beta + word_topic) / (word_topic.shape[0] * hyperparameters.beta + tokens)
    return Topics(theta, phi, tokens / tokens.sum())


@njit(cache=True, nogil=True)
def add_topic_words(topic, tokens, size, topic_tokens, beta, phi, stop):  # type: ignore[no-untyped-def]
    """Add E[phi | counts] to float64[V, L], unless the flag `stop` is raised."""
    n_words, n_topics = phi.shape
    for w in range(n_words):
        if is_raised(stop):  # type: ignore[call-arg]
            return
        for t in range(n_topics):
            phi[w, t] += beta / (n_words * beta + topic_tokens[t])
        for j in range(size[w]):
            t = topic[w, j]
            phi[w, t] += tokens[w, j] / (n_words * beta + topic_tokens[t])


def top_words(topics: Topics, n: int, threads: Threads | None = None) -> list[list[int]]:
    """For each topic the n words of highest relevance (Sievert and Shirley 2014), best first.

    Without threads nothing interrupts it.
    """
    threads = threads or Threads()
    n_words, n_topics = topics.topic_word.shape
    overall = topics.topic_word @ topics.share
    log_overall = np.log(np.maximum(overall, 1e-300))[:, None]
    words: list[list[int]] = []
    for some in threads.slices(n_topics, WORDS_AT_ONCE // max(n_words, 1)):
        relevance = np.log(topics.topic_word[:, some]) - (1.0 - RELEVANCE) * log_overall
        best = np.argsort(-relevance, axis=0, kind="stable")[:n]
        words += [[int(word) for word in column] for column in best.T]
    return words
