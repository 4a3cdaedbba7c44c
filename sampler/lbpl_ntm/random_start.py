"""The paper's start: every token of an unlabeled document in a category at random, every token with a topic at random.

The tokens of a document that are in one category share a table. Both kernels begin in the same state. It costs nothing,
and says nothing: the first sweeps find the categories. Any start leads to the same posterior, but `as_printed` draws
from none, and what it answers depends on where it starts: see docs/decisions/0028.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from sampler.corpus import NO_CATEGORY, UNLABELED, Array, Corpus
from sampler.hyperparameters import Hyperparameters
from sampler.lbpl_ntm.assignments import UNBORN, Assignments
from sampler.lbpl_ntm.state import Course
from sampler.numerics import streams
from sampler.numerics.streams import Step, uniform


class Chance(NamedTuple):
    """What decides where a token starts."""

    candidates: Array  # int64[n], categories with equal chances
    n_topics: int
    category_key: np.uint64
    topic_key: np.uint64


def chance_of(corpus: Corpus, hyperparameters: Hyperparameters, course: Course) -> Chance:
    """All known categories and `n_start` new ones, at least one, are candidates.

    But a known category that no labeled word serves is none of them: no table can come to serve it.
    """
    served = np.unique(corpus.labels[(corpus.labels != UNLABELED) & (corpus.lengths > 0)])
    new = np.arange(corpus.n_known, corpus.n_known + max(hyperparameters.n_start, 1))
    return Chance(
        np.append(served, new),
        hyperparameters.n_topics,
        streams.stream(course.seed, course.chain, 0, Step.START),
        streams.stream(course.seed, course.chain, 0, Step.START_TOPICS),
    )


@njit(cache=True, nogil=True)
def category_at(chance, label, i):  # type: ignore[no-untyped-def]
    """The category of token i of a document with this label, if any."""
    if label != UNLABELED:
        return np.int64(label)
    return np.int64(chance.candidates[np.int64(uniform(chance.category_key, i) * chance.candidates.size)])


@njit(cache=True, nogil=True)
def topic_at(chance, i):  # type: ignore[no-untyped-def]
    """The topic of token i."""
    return np.int64(uniform(chance.topic_key, i) * chance.n_topics)


def random_assignments(corpus: Corpus, hyperparameters: Hyperparameters, course: Course) -> Assignments:
    """The start as assignments of Algorithm 1."""
    chance = chance_of(corpus, hyperparameters, course)
    n_slots = int(chance.candidates[-1]) + 2  # the next new category takes the last one
    table, category, topic = seated_at_random(corpus, chance, n_slots)
    return Assignments(table, category, topic, np.full(n_slots, UNBORN, np.int64))


@njit(cache=True, nogil=True)
def seated_at_random(corpus, chance, n_slots):  # type: ignore[no-untyped-def]
    """Table, category and topic, as assignments have them. A table has the slot of the first token that sits there."""
    size = corpus.words.size
    table, topic, category = np.empty(size, np.int32), np.empty(size, np.int32), np.full(size, NO_CATEGORY, np.int32)
    first_of = np.full(n_slots, -1)  # the newest token that opened a table of each category
    for d in range(corpus.labels.size):
        for i in range(corpus.offsets[d], corpus.offsets[d + 1]):
            k = category_at(chance, corpus.labels[d], i)
            if first_of[k] < corpus.offsets[d]:
                first_of[k] = i
                category[i] = k
            table[i] = first_of[k]
            topic[i] = topic_at(chance, i)
    return table, category, topic


@njit(cache=True, nogil=True)
def count_random_topics(corpus, chance, n_slots):  # type: ignore[no-untyped-def]
    """O_kl int64[S, L] and O_lw int32[V, L] of the start."""
    category_topic = np.zeros((n_slots, chance.n_topics), np.int64)
    word_topic = np.zeros((corpus.n_words, chance.n_topics), np.int32)
    for d in range(corpus.labels.size):
        for i in range(corpus.offsets[d], corpus.offsets[d + 1]):
            topic = topic_at(chance, i)
            category_topic[category_at(chance, corpus.labels[d], i), topic] += 1
            word_topic[corpus.words[i], topic] += 1
    return category_topic, word_topic
