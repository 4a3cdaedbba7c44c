"""Where tokens sit, what tables serve, and the counts that follow from it."""

from typing import NamedTuple

import numpy as np
from numba import njit

from sampler.corpus import Array

UNBORN = -1  # identity of a category that appeared in this sweep


class Assignments(NamedTuple):
    """The state of Algorithm 1. Document d's tables live in the slots offsets[d] : offsets[d + 1]."""

    table: Array  # int32[N], slot of each token's table
    category: Array  # int32[N], category of the table in each slot, or NO_CATEGORY
    topic: Array  # int32[N], topic of each token
    identity: Array  # int64[C], number of each category in order of birth, or UNBORN; C slots, some unused


class Counts(NamedTuple):
    """Everything that the conditionals read; always equal to `recount`."""

    table_tokens: Array  # int32[N], s: tokens at the table in each slot
    category_tables: Array  # int64[C], m_k
    category_tokens: Array  # int64[C], O_k
    category_topic: Array  # int32[C, L], O_kl
    word_topic: Array  # int32[V, L], O_lw
    topic_tokens: Array  # int64[L], O_l


@njit(cache=True, nogil=True)
def no_counts(corpus, n_slots, n_topics):
    """Counts of nothing, for `n_slots` categories."""
    return Counts(
        np.zeros(corpus.words.size, np.int32),
        np.zeros(n_slots, np.int64),
        np.zeros(n_slots, np.int64),
        np.zeros((n_slots, n_topics), np.int32),
        np.zeros((corpus.n_words, n_topics), np.int32),
        np.zeros(n_topics, np.int64),
    )


@njit(cache=True, nogil=True)
def recount(corpus, assignments, n_topics):
    """Counts of the assignments, from nothing."""
    counts = no_counts(corpus, assignments.identity.size, n_topics)
    for i in range(corpus.words.size):
        add_token(corpus, assignments, counts, i)
    return counts


@njit(cache=True, nogil=True)
def add_token(corpus, assignments, counts, i):
    """Count token i, which was not counted."""
    slot = assignments.table[i]
    category, topic = assignments.category[slot], assignments.topic[i]
    if counts.table_tokens[slot] == 0:
        counts.category_tables[category] += 1
    counts.table_tokens[slot] += 1
    counts.category_tokens[category] += 1
    counts.category_topic[category, topic] += 1
    counts.word_topic[corpus.words[i], topic] += 1
    counts.topic_tokens[topic] += 1


@njit(cache=True, nogil=True)
def open_category(assignments, counts, n_known):
    """The first free category slot. An emptied category keeps its slot at zero; the next new one takes it."""
    category = n_known
    while counts.category_tables[category] > 0:
        category += 1
    assignments.identity[category] = UNBORN
    return category


@njit(cache=True, nogil=True)
def has_free_slot(corpus, counts):
    """Whether a new category would find a free slot."""
    return (counts.category_tables[corpus.n_known :] == 0).any()


def with_slots(assignments: Assignments, counts: Counts, n_slots: int) -> tuple[Assignments, Counts]:
    """The same state with `n_slots` slots for categories."""
    more = n_slots - assignments.identity.size
    return (
        assignments._replace(identity=np.pad(assignments.identity, (0, more), constant_values=UNBORN)),
        counts._replace(
            category_tables=np.pad(counts.category_tables, (0, more)),
            category_tokens=np.pad(counts.category_tokens, (0, more)),
            category_topic=np.pad(counts.category_topic, ((0, more), (0, 0))),
        ),
    )
