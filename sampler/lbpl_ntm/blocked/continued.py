"""Where a chain of the blocked sampler goes on: a source's documents in their categories, its words with their topics.

As at any start, some of the documents that have arrived are placed as Algorithm 1 does, and the others by what these
have taught.
"""

import numpy as np
from numba import njit

from sampler.carried import ABSENT, Carried, known_categories_now, slots_now
from sampler.corpus import NO_CATEGORY, UNLABELED, Array, Corpus
from sampler.hyperparameters import Hyperparameters
from sampler.lbpl_ntm.arrivals import n_slots_for_arrivals, place_arrivals
from sampler.lbpl_ntm.assignments import UNBORN, Counts
from sampler.lbpl_ntm.blocked import arrays
from sampler.lbpl_ntm.blocked.arrays import Bags, BlockedCounts, Documents, Placements, WordTopics, sizes_of
from sampler.lbpl_ntm.blocked.first_state import START_TOKENS, WHOLE_DOCUMENTS
from sampler.lbpl_ntm.blocked.state import BlockedState, labeled_tables
from sampler.lbpl_ntm.blocked.sweep import Sweep
from sampler.lbpl_ntm.start import seated
from sampler.lbpl_ntm.state import Course
from sampler.numerics import simd, streams
from sampler.numerics.ragged import entries_of
from sampler.numerics.streams import Step
from sampler.numerics.threads import Threads


def continued_blocked(
    corpus: Corpus, hyperparameters: Hyperparameters, course: Course, carried: Carried, source: BlockedState,
    threads: Threads,
) -> BlockedState | None:  # fmt: skip
    """The state that begins where the source stands, or None if no document or no word is carried over.

    Each document is wholly in the category that had most of its words, and topics are drawn from the source's. Then
    arrivals are placed, and topics are drawn again.
    """
    before = carried.of_texts(source.document_categories(carried.source))
    if (carried.word_now == ABSENT).all() or (before[corpus.lengths > 0] == NO_CATEGORY).all():
        return None
    state, arrivals = carried_state(corpus, course, carried, source, before)
    sweep = Sweep(corpus, hyperparameters, state, threads)
    sweep.draw_parameters()
    sweep.write_chances()
    sweep.sample_topics()
    key = streams.stream(course.seed, course.chain, 0, Step.START_DOCUMENTS)
    order = arrivals[np.argsort(streams.numbers_of(key, arrivals), kind="stable")]
    n_learned = np.searchsorted(np.cumsum(np.diff(state.bags.first_token)[order]), START_TOKENS) + 1
    few, rest = np.sort(order[:n_learned]), np.sort(order[n_learned:])
    learn_from(few, corpus, hyperparameters, course, state, threads)
    if rest.size:
        place_rest(rest, Sweep(corpus, hyperparameters, state, threads))
    state.alpha = course.alpha
    return state


def carried_state(
    corpus: Corpus, course: Course, carried: Carried, source: BlockedState, before: Array
) -> tuple[BlockedState, Array]:
    """The state in which arrivals do not count, though they are said to be somewhere; and which these are, int64[n].

    `before` int[T] is the source's category of each text.
    """
    known = known_categories_now(corpus, carried, before, source.identity.size)
    bags = arrays.bags_of(corpus)
    category_before = before[bags.document]
    stays, comes = np.flatnonzero(category_before != NO_CATEGORY), np.flatnonzero(category_before == NO_CATEGORY)
    is_held = np.bincount(category_before[stays], minlength=known.size) > 0
    slots, n_held = slots_now(known, is_held, corpus.n_known)
    n_slots = simd.padded(n_held + 1)
    whole, labeled = slots[category_before], labeled_tables(corpus, n_slots)
    tables, log_seats = labeled.copy(), np.zeros(n_slots, np.int64)
    np.add.at(tables, whole[stays], 1)
    np.add.at(log_seats, whole[stays], sizes_of(bags).log_seats[np.diff(bags.first_token)[stays]])
    whole[comes] = tables.argmax()  # a slot that is served by nobody would not be left
    placements = Placements(whole.astype(np.uint16), np.zeros(bags.first_token[-1], np.uint16))
    category_topic = np.zeros((n_slots, source.n_topics), np.int64)
    goes_on = np.flatnonzero(slots != NO_CATEGORY)
    np.add.at(category_topic, slots[goes_on], source.counts.category_topic[goes_on])
    category_word = arrays.count_words(corpus, bags, placements, n_slots)
    add_words(bags, comes, placements.whole, category_word, -1)
    word_topics = carried_topics(corpus.n_words, carried.word_now, source.counts.word_topics)
    counts = BlockedCounts(category_word, tables, log_seats, category_topic, word_topics, category_topic.sum(axis=0))
    numbers = np.full(n_slots, UNBORN, np.int64)
    return BlockedState.of(corpus, course, bags, placements, counts, numbers), comes


def carried_topics(n_words: int, word_now: Array, before: WordTopics) -> WordTopics:
    """The topics of the words that are still there; other words have none yet."""
    found = WordTopics(*(np.zeros((n_words, *array.shape[1:]), array.dtype) for array in before))
    kept = np.flatnonzero(word_now != ABSENT)
    for array, source in zip(found, before, strict=True):
        array[word_now[kept]] = source[kept]
    return found


def learn_from(
    few: Array, corpus: Corpus, hyperparameters: Hyperparameters, course: Course, state: BlockedState, threads: Threads
) -> None:
    """Place some arrivals int64[n] as Algorithm 1 does; their tokens and topics are counted with the others'."""
    n_held = max(int(np.flatnonzero(state.category_tables).max()) + 1, corpus.n_known)
    n_slots = n_held + n_slots_for_arrivals(hyperparameters)
    while state.numbers.size < n_slots:
        state.add_slots()
    offsets, tokens = entries_of(corpus.offsets, state.bags.document[few])
    own = Corpus(corpus.words[tokens], offsets, np.full(few.size, UNLABELED, np.int32), corpus.n_words, corpus.n_known)
    assignments = seated(own, np.zeros(tokens.size, np.int32), np.full(few.size, n_held), n_slots)
    before = state.counts
    found = Counts(
        table_tokens=np.zeros(tokens.size, np.int32),
        category_tables=before.category_tables[:n_slots].copy(),
        category_tokens=before.category_topic[:n_slots].sum(axis=1),
        category_topic=before.category_topic[:n_slots].astype(np.int32),
        word_topic=arrays.count_topics(before.word_topics).astype(np.int32),
        topic_tokens=before.topic_tokens.copy(),
    )
    place_arrivals(own, hyperparameters, course, assignments, found, np.arange(few.size), n_held, threads)
    whole = assignments.category[offsets[:-1]]
    state.placements.whole[few] = whole
    add_words(state.bags, few, state.placements.whole, before.category_word, +1)
    before.category_tables[:n_slots] = found.category_tables
    before.category_topic[:n_slots] = found.category_topic
    np.add.at(before.log_seats, whole, state.sizes.log_seats[np.diff(offsets)])
    state.counts = before._replace(word_topics=arrays.word_topics(found.word_topic), topic_tokens=found.topic_tokens)


def place_rest(rest: Array, sweep: Sweep) -> None:
    """Place the other arrivals int64[n], by phi and theta as those that are placed have them; then draw topics."""
    state, turn = sweep.state, 1
    sweep.draw_parameters(turn)
    state.alpha = WHOLE_DOCUMENTS
    sweep.score_categories()
    counts, placements = state.counts, state.placements
    add_words(state.bags, rest, placements.whole, counts.category_word, +1)
    bags, tokens = bags_of_some(state.bags, rest)
    own = Placements(placements.whole[rest], np.zeros(tokens.size, np.uint16))
    documents = Documents(bags, own, state.sizes, np.zeros(rest.size, np.bool_))
    tables, log_seats = sweep.sample_those(documents, sweep.threads.cut(bags.first_token))
    placements.whole[rest], placements.token[tokens] = own
    counts.category_tables[:] += tables
    counts.log_seats[:] += log_seats
    sweep.sample_topics(turn)


def bags_of_some(bags: Bags, some: Array) -> tuple[Bags, Array]:
    """The bags of some of the documents, and the int64 index of each of their tokens in all."""
    first_token, tokens = entries_of(bags.first_token, some)
    first_pair, pairs = entries_of(bags.first_pair, some)
    chosen = Bags(bags.document[some], bags.first_word[some], first_token, first_pair, bags.words, bags.counts[pairs])
    return chosen, tokens


@njit(cache=True, nogil=True)
def add_words(bags, some, whole, category_word, sign):  # type: ignore[no-untyped-def]
    """Add the words of some documents, each wholly in a category, to int32[V, S], or take them away."""
    for u in some:
        for i in range(bags.first_token[u + 1] - bags.first_token[u]):
            category_word[bags.words[bags.first_word[u] + i], whole[u]] += sign
