"""Where a chain of Algorithm 1 goes on: at the tables, categories and topics that a source's tokens had."""

import numpy as np
from numba import njit

from sampler.carried import ABSENT, Carried, known_categories_now, slots_now, tokens_before
from sampler.corpus import NO_CATEGORY, UNLABELED, Array, Corpus
from sampler.hyperparameters import Hyperparameters
from sampler.lbpl_ntm.arrivals import n_slots_for_arrivals, place_arrivals, place_first
from sampler.lbpl_ntm.assignments import UNBORN, Assignments, add_token, no_counts
from sampler.lbpl_ntm.collapsed.kernels import topic_weights
from sampler.lbpl_ntm.collapsed.state import CollapsedState
from sampler.lbpl_ntm.state import Course
from sampler.numerics import streams
from sampler.numerics.streams import Step, pick, uniform
from sampler.numerics.threads import Threads, is_raised


def continued_collapsed(
    corpus: Corpus, hyperparameters: Hyperparameters, course: Course, carried: Carried, source: CollapsedState,
    threads: Threads,
) -> CollapsedState | None:  # fmt: skip
    """The state that begins where the source stands, or None if no token is carried over.

    Tokens that a text did not have take a seat at its first table. Then arrivals are placed, labeled ones first.
    """
    token_before = tokens_before(corpus, carried)
    if (token_before == ABSENT).all():
        return None
    assignments = carried_assignments(corpus, hyperparameters, carried, source, token_before)
    counts = no_counts(corpus, assignments.identity.size, hyperparameters.n_topics)
    add_tokens(corpus, assignments, counts, np.flatnonzero(token_before != ABSENT))
    document = np.repeat(np.arange(corpus.n_documents), corpus.lengths)
    n_carried = np.bincount(document[token_before != ABSENT], minlength=corpus.n_documents)
    given = course.concentrations(hyperparameters)
    loose = np.flatnonzero((token_before == ABSENT) & (n_carried[document] > 0))
    key = streams.stream(course.seed, course.chain, 0, Step.START_TOPICS)
    draw_topics(corpus, assignments, counts, loose, given, key, threads.stop)
    arrivals = np.flatnonzero((corpus.lengths > 0) & (n_carried == 0))
    is_labeled = corpus.labels[arrivals] != UNLABELED
    key = streams.stream(course.seed, course.chain, 0, Step.START)
    place_first(corpus, assignments, counts, arrivals[is_labeled], given, key, threads.stop)
    threads.check()
    n_held = assignments.identity.size - n_slots_for_arrivals(hyperparameters)
    free = arrivals[~is_labeled]
    place_arrivals(corpus, hyperparameters, course, assignments, counts, free, n_held, threads)
    return CollapsedState(**vars(course), assignments=assignments, counts=counts)


def carried_assignments(
    corpus: Corpus, hyperparameters: Hyperparameters, carried: Carried, source: CollapsedState, token_before: Array
) -> Assignments:
    """The source's assignments of the tokens that are carried over, and a table for each document that is not.

    What serves an arrival, and the topics of its tokens, hold no meaning before it is placed.
    """
    known_before = source.document_categories(carried.source)
    known = known_categories_now(corpus, carried, carried.of_texts(known_before), source.identity.size)
    is_token_free = np.repeat(corpus.labels == UNLABELED, corpus.lengths)
    kept = np.flatnonzero((token_before != ABSENT) & is_token_free)
    table_before = source.assignments.table[token_before[kept]]
    category_before = source.assignments.category[table_before]
    is_held = np.bincount(category_before, minlength=source.identity.size) > 0
    slots, n_held = slots_now(known, is_held, corpus.n_known)

    labels_of_tables = np.where(corpus.labels == UNLABELED, n_held, corpus.labels)[corpus.lengths > 0]
    category = np.full(corpus.n_tokens, NO_CATEGORY, np.int32)
    category[corpus.offsets[:-1][corpus.lengths > 0]] = labels_of_tables
    table = np.repeat(corpus.offsets[:-1], corpus.lengths)
    table[kept] = seats(np.repeat(np.arange(corpus.n_documents), corpus.lengths)[kept], table_before, table[kept])
    category[table[kept]] = slots[category_before]
    topic = np.zeros(corpus.n_tokens, np.int32)
    carried_tokens = np.flatnonzero(token_before != ABSENT)
    topic[carried_tokens] = source.assignments.topic[token_before[carried_tokens]]
    n_slots = n_held + n_slots_for_arrivals(hyperparameters)
    return Assignments(table.astype(np.int32), category, topic, np.full(n_slots, UNBORN, np.int64))


def seats(document: Array, table_before: Array, first_slot: Array) -> Array:
    """int64[n]: the slots of tokens that shared tables in the source: the tables of a document, without a gap."""
    pairs = document * (int(table_before.max(initial=0)) + 1) + table_before
    pair, first, number = np.unique(pairs, return_index=True, return_inverse=True)
    of_document = document[first]
    place: Array = first_slot + (np.arange(pair.size) - np.searchsorted(of_document, of_document))[number]
    return place


@njit(cache=True, nogil=True)
def add_tokens(corpus, assignments, counts, tokens):  # type: ignore[no-untyped-def]
    """Count some tokens, int64[n]."""
    for i in tokens:
        add_token(corpus, assignments, counts, i)


@njit(cache=True, nogil=True)
def draw_topics(corpus, assignments, counts, tokens, given, key, stop):  # type: ignore[no-untyped-def]
    """Draw the topics of tokens that are not counted, equation (7), and count them. Gives up at the flag `stop`."""
    n_words, n_topics = counts.word_topic.shape
    weights = np.empty(n_topics)
    for i in tokens:
        if is_raised(stop):  # type: ignore[call-arg]
            return
        scale = 1.0 / (n_words * given.beta + counts.topic_tokens)
        of_category = counts.category_topic[assignments.category[assignments.table[i]]]
        topic_weights(of_category, counts.word_topic[corpus.words[i]], given.zeta, given.beta, scale, weights)
        assignments.topic[i] = pick(weights, n_topics, uniform(key, i))
        add_token(corpus, assignments, counts, i)
