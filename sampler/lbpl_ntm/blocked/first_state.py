"""Where a chain of the blocked sampler starts: some documents as Algorithm 1 does, all others placed by these.

Or at random, as the paper does.
"""

import numpy as np
from numba import njit

from sampler.corpus import UNLABELED, Array, Corpus
from sampler.hyperparameters import Hyperparameters
from sampler.lbpl_ntm.assignments import UNBORN, recount
from sampler.lbpl_ntm.blocked import arrays
from sampler.lbpl_ntm.blocked.arrays import MIXED, BlockedCounts, Placements, sizes_of
from sampler.lbpl_ntm.blocked.state import BlockedState, labeled_tables
from sampler.lbpl_ntm.blocked.sweep import Sweep
from sampler.lbpl_ntm.random_start import category_at, chance_of, count_random_topics
from sampler.lbpl_ntm.start import first_assignments
from sampler.lbpl_ntm.state import Course
from sampler.numerics import simd, streams
from sampler.numerics.ragged import entries_of
from sampler.numerics.streams import Step
from sampler.numerics.threads import Threads

START_TOKENS = 200_000  # of the documents that a start learns from
WHOLE_DOCUMENTS = 1e-9  # an alpha at which no token parts from its document


def first_state(corpus: Corpus, hyperparameters: Hyperparameters, course: Course, threads: Threads) -> BlockedState:
    """Categories and topics of some documents as Algorithm 1 starts with them, and all others placed by these.

    So a start takes seconds for a corpus of any size. A random start is the same state as Algorithm 1 starts with.
    """
    if hyperparameters.start == "random":
        return random_state(corpus, hyperparameters, course)
    state = state_of_some(corpus, hyperparameters, course, threads)
    state.alpha = WHOLE_DOCUMENTS
    sweep = Sweep(corpus, hyperparameters, state, threads)
    sweep.draw_parameters()
    sweep.score_categories()
    sweep.sample_documents()
    sweep.sample_topics()
    state.alpha = course.alpha
    return state


def random_state(corpus: Corpus, hyperparameters: Hyperparameters, course: Course) -> BlockedState:
    """Tokens in random categories, with random topics, see `sampler.lbpl_ntm.random_start`."""
    chance, bags = chance_of(corpus, hyperparameters, course), arrays.bags_of(corpus)
    n_slots = simd.padded(int(chance.candidates[-1]) + 2)
    placements = Placements(np.empty(bags.document.size, np.uint16), np.empty(bags.first_token[-1], np.uint16))
    tables, log_seats = labeled_tables(corpus, n_slots), np.zeros(n_slots, np.int64)
    place_at_random(corpus.offsets, bags, chance, placements, sizes_of(bags).log_seats, tables, log_seats)
    as_in_bags = corpus._replace(words=bags.words)  # a token's number is its place in its bag
    category_topic, word_topic = count_random_topics(as_in_bags, chance, n_slots)
    counts = BlockedCounts(
        category_word=arrays.count_words(corpus, bags, placements, n_slots),
        category_tables=tables,
        log_seats=log_seats,
        category_topic=category_topic,
        word_topics=arrays.word_topics(word_topic),
        topic_tokens=category_topic.sum(axis=0),
    )
    return BlockedState.of(corpus, course, bags, placements, counts, np.full(n_slots, UNBORN, np.int64))


@njit(cache=True, nogil=True)
def place_at_random(  # type: ignore[no-untyped-def]
    offsets, bags, chance, placements, seats_of_size, category_tables, log_seats
):
    """Write the placements of all bags; count their tables, and the log seats of these."""
    tokens_of = np.zeros(category_tables.size, np.int64)
    for u in range(bags.document.size):
        shift = offsets[bags.document[u]] - bags.first_token[u]
        tokens_of[:] = 0
        for i in range(bags.first_token[u], bags.first_token[u + 1]):
            k = category_at(chance, UNLABELED, i + shift)
            placements.token[i] = k
            tokens_of[k] += 1
        n_tables = 0
        for k in range(tokens_of.size):
            if tokens_of[k] > 0:
                n_tables += 1
                category_tables[k] += 1
                log_seats[k] += seats_of_size[tokens_of[k]]
        placements.whole[u] = MIXED if n_tables > 1 else placements.token[bags.first_token[u]]


def state_of_some(corpus: Corpus, hyperparameters: Hyperparameters, course: Course, threads: Threads) -> BlockedState:
    """Tables and topics of some documents alone; of all the others only that they are somewhere."""
    few = some_documents(corpus, course.seed, course.chain)
    assignments = first_assignments(few, hyperparameters, course.seed, course.chain, threads)
    found = recount(few, assignments, hyperparameters.n_topics)
    bags, n_slots = arrays.bags_of(corpus), simd.padded(assignments.identity.size + 1)
    # Any category will do for documents to come from; a slot that is served by nobody would not be left.
    anywhere = np.full(bags.document.size, found.category_tables.argmax(), np.uint16)
    placements = Placements(anywhere, np.zeros(bags.first_token[-1], np.uint16))
    counts = BlockedCounts(
        category_word=arrays.count_words(corpus, bags, placements, n_slots),
        category_tables=with_rows(found.category_tables, n_slots),
        log_seats=np.zeros(n_slots, np.int64),
        category_topic=with_rows(found.category_topic, n_slots).astype(np.int64),
        word_topics=arrays.word_topics(found.word_topic),
        topic_tokens=found.topic_tokens,
    )
    return BlockedState.of(corpus, course, bags, placements, counts, np.full(n_slots, UNBORN, np.int64))


def some_documents(corpus: Corpus, seed: int, chain: int) -> Corpus:
    """The corpus if it is small, else documents at random that have START_TOKENS tokens together."""
    key = streams.stream(seed, chain, 0, Step.START_DOCUMENTS)
    order = np.argsort(streams.uniforms(key, corpus.n_documents), kind="stable")
    n_documents = np.searchsorted(np.cumsum(corpus.lengths[order]), START_TOKENS) + 1
    chosen = np.sort(order[:n_documents])
    offsets, tokens = entries_of(corpus.offsets, chosen)
    return Corpus(corpus.words[tokens], offsets, corpus.labels[chosen], corpus.n_words, corpus.n_known)


def with_rows(array: Array, n_rows: int) -> Array:
    """The array with rows of zeros behind it."""
    return np.concatenate([array, np.zeros((n_rows - array.shape[0], *array.shape[1:]), array.dtype)])
