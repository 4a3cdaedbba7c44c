"""The paper's start: each unlabeled document in a category at random, each token with a topic at random.

Both kernels begin in the same state. It costs nothing, and says nothing: the first sweeps find the categories. Any
start leads to the same posterior, but `as_printed` draws from none, and what it answers depends on where it starts:
see docs/decisions/0027.
"""

import numpy as np
from numba import njit

from sampler.corpus import UNLABELED, Array, Corpus
from sampler.hyperparameters import Hyperparameters
from sampler.lbpl_ntm.assignments import Assignments
from sampler.lbpl_ntm.start import seated
from sampler.lbpl_ntm.state import Course
from sampler.numerics import streams
from sampler.numerics.streams import Step, uniform


def n_random_slots(corpus: Corpus, hyperparameters: Hyperparameters) -> int:
    """Slots of the known categories and of the new ones that a chain starts with, at least one."""
    return corpus.n_known + max(hyperparameters.n_start, 1)


def random_categories(corpus: Corpus, hyperparameters: Hyperparameters, course: Course) -> Array:
    """int64[D]: labels, and of unlabeled documents any category with equal chances.

    A known category that no labeled word serves is none of them: no table can come to serve it.
    """
    served = np.unique(corpus.labels[(corpus.labels != UNLABELED) & (corpus.lengths > 0)])
    candidates = np.append(served, np.arange(corpus.n_known, n_random_slots(corpus, hyperparameters)))
    u = streams.uniforms(streams.stream(course.seed, course.chain, 0, Step.START), corpus.n_documents)
    chosen: Array = candidates[(u * candidates.size).astype(np.int64)]
    return np.where(corpus.labels == UNLABELED, chosen, corpus.labels)


def random_assignments(corpus: Corpus, hyperparameters: Hyperparameters, course: Course) -> Assignments:
    """Assignments of Algorithm 1, in which each document sits at one table."""
    topics = (streams.uniforms(topic_key(course), corpus.n_tokens) * hyperparameters.n_topics).astype(np.int32)
    n_slots = n_random_slots(corpus, hyperparameters) + 1  # the next new category takes the last one
    return seated(corpus, topics, random_categories(corpus, hyperparameters, course), n_slots)


def topic_key(course: Course) -> np.uint64:
    """The stream of the topics of tokens."""
    return streams.stream(course.seed, course.chain, 0, Step.START_TOPICS)


@njit(cache=True, nogil=True)
def count_random_topics(corpus, categories, n_slots, n_topics, key):  # type: ignore[no-untyped-def]
    """O_kl int64[S, L] and O_lw int32[V, L] of random topics, for documents in categories int64[D]."""
    category_topic = np.zeros((n_slots, n_topics), np.int64)
    word_topic = np.zeros((corpus.n_words, n_topics), np.int32)
    for d in range(corpus.labels.size):
        for i in range(corpus.offsets[d], corpus.offsets[d + 1]):
            topic = np.int64(uniform(key, i) * n_topics)
            category_topic[categories[d], topic] += 1
            word_topic[corpus.words[i], topic] += 1
    return category_topic, word_topic
