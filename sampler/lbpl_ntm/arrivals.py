"""Documents that arrive where others are placed already: as a start places all, without moving these.

What arrives may be of categories that were not there. A document alone hardly ever opens one: so arrivals begin in a
category of their own, some of them open one each, and those that do not earn it are joined.
"""

import numpy as np
from numba import njit

from sampler.corpus import Array, Corpus
from sampler.hyperparameters import Hyperparameters
from sampler.lbpl_ntm.assignments import Assignments, Counts
from sampler.lbpl_ntm.concentrations import Concentrations
from sampler.lbpl_ntm.start import (
    DOCUMENT_ZETA,
    JOIN_ROUNDS,
    PASSES,
    TOPIC_SWEEPS,
    Novelty,
    add_document,
    join_categories,
    place_documents,
)
from sampler.lbpl_ntm.state import Course
from sampler.numerics import streams
from sampler.numerics.streams import Step, pick, uniform
from sampler.numerics.threads import Threads, is_raised


def n_slots_for_arrivals(hyperparameters: Hyperparameters) -> int:
    """Slots behind those of the categories that are there: that of all arrivals, those that open, and a free one."""
    return hyperparameters.n_start + 2


def place_arrivals(
    corpus: Corpus, hyperparameters: Hyperparameters, course: Course, assignments: Assignments, counts: Counts,
    arrivals: Array, n_held: int, threads: Threads,
) -> None:  # fmt: skip
    """Place unlabeled documents int64[n] that are not counted, at one table each, in place. O(tokens L K) time a pass.

    The categories that are there have the slots below `n_held`, and are not joined with one another.
    """
    if arrivals.size == 0:
        return
    given = course.concentrations(hyperparameters)
    for visit in range(TOPIC_SWEEPS):
        key = streams.stream(course.seed, course.chain, visit, Step.START_TOPICS)
        visit_topics(corpus, assignments, counts, arrivals, given, visit > 0, key, threads.stop)
        threads.check()
    open_at(corpus, assignments, counts, arrivals, n_held)
    novelty = Novelty(corpus, hyperparameters, counts, arrivals, threads)
    for category in range(n_held + 1, n_held + 1 + min(hyperparameters.n_start, arrivals.size)):
        u = uniform(streams.stream(course.seed, course.chain, category, Step.START_NOVELTY), 0)
        chosen = arrivals[[novelty.choose(u)]]
        key = streams.stream(course.seed, course.chain, category - n_held, Step.START)
        place_documents(corpus, assignments, counts, chosen, np.array([category]), given, key, threads.stop)
        novelty.explain(category)
    for round_ in range(JOIN_ROUNDS):
        join_categories(n_held, hyperparameters, assignments, counts, threads)
        for turn in range(round_ * PASSES, (round_ + 1) * PASSES):
            place_in_turn(corpus, course, assignments, counts, arrivals, given, turn, threads)


def place_in_turn(
    corpus: Corpus, course: Course, assignments: Assignments, counts: Counts, documents: Array,
    given: Concentrations, turn: int, threads: Threads,
) -> None:  # fmt: skip
    """Place documents that are counted again, one after another, in an order that `turn` gives."""
    key = streams.stream(course.seed, course.chain, turn, Step.START_ORDER)
    order = documents[np.argsort(streams.uniforms(key, documents.size), kind="stable")]
    key = np.uint64(streams.branch(streams.stream(course.seed, course.chain, turn, Step.START), 0))
    place_documents(corpus, assignments, counts, order, corpus.labels[order], given, key, threads.stop)
    threads.check()


@njit(cache=True, nogil=True)
def visit_topics(corpus, assignments, counts, documents, given, are_counted, key, stop):  # type: ignore[no-untyped-def]
    """Draw the topics of documents each of which is a category of its own; only what words say of topics is counted.

    Tokens that are not counted yet are drawn by those before them. Gives up when the flag `stop` is raised.
    """
    n_words, n_topics = counts.word_topic.shape
    weights, own = np.empty(n_topics), np.zeros(n_topics)
    for d in documents:
        own[:] = 0.0
        for i in range(corpus.offsets[d], corpus.offsets[d + 1]):
            if are_counted:
                own[assignments.topic[i]] += 1.0
        for i in range(corpus.offsets[d], corpus.offsets[d + 1]):
            if is_raised(stop):  # type: ignore[call-arg]
                return
            word = corpus.words[i]
            if are_counted:
                count_topic(counts, word, assignments.topic[i], -1)
                own[assignments.topic[i]] -= 1.0
            for topic in range(n_topics):
                likelihood = (given.beta + counts.word_topic[word, topic]) / (
                    n_words * given.beta + counts.topic_tokens[topic]
                )
                weights[topic] = (DOCUMENT_ZETA + own[topic]) * likelihood
            assignments.topic[i] = pick(weights, n_topics, uniform(key, i))
            count_topic(counts, word, assignments.topic[i], +1)
            own[assignments.topic[i]] += 1.0


@njit(cache=True, nogil=True)
def count_topic(counts, word, topic, sign):  # type: ignore[no-untyped-def]
    """Count a token of a word and a topic, or take it away."""
    counts.word_topic[word, topic] += sign
    counts.topic_tokens[topic] += sign


@njit(cache=True, nogil=True)
def open_at(corpus, assignments, counts, documents, category):  # type: ignore[no-untyped-def]
    """Seat documents whose topics are counted at one table each, which serves this category."""
    nobody = np.zeros(counts.category_topic.T.shape)
    for d in documents:
        for i in range(corpus.offsets[d], corpus.offsets[d + 1]):
            count_topic(counts, corpus.words[i], assignments.topic[i], -1)
        assignments.category[corpus.offsets[d]] = category
        add_document(corpus, assignments, counts, nobody, d, +1)


@njit(cache=True, nogil=True)
def place_first(corpus, assignments, counts, documents, given, key, stop):  # type: ignore[no-untyped-def]
    """Place labeled documents that are not counted, one after another. Gives up when the flag `stop` is raised."""
    nobody = np.zeros(counts.category_topic.T.shape)
    for j in range(documents.size):
        if is_raised(stop):  # type: ignore[call-arg]
            return
        add_document(corpus, assignments, counts, nobody, documents[j], +1)
        some = documents[j : j + 1]
        place_documents(corpus, assignments, counts, some, corpus.labels[some], given, key, stop)
