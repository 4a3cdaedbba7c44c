"""Topics on top of given categories: the paper's theta and phi, learned while every document keeps its category.

Categories that another model found become readable in the paper's way: each is a distribution over topics, each topic
one over words, and categories share them. The blocked sampler draws them with all documents clamped.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from sampler.answers.words import RELEVANCE
from sampler.corpus import NO_CATEGORY, Array, Corpus
from sampler.hyperparameters import Hyperparameters
from sampler.lbpl_ntm import chain
from sampler.lbpl_ntm.blocked.state import BlockedState
from sampler.numerics.threads import Threads, is_raised

N_TOPIC_SWEEPS, TOPIC_BURN_IN = 100, 50
WORDS_AT_ONCE = 500_000  # words of topics that are ranked without a look at the flag


class Topics(NamedTuple):
    """Posterior means over the kept sweeps of one chain."""

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
