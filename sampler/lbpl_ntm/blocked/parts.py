"""The two parts of a category that splits, or that a merge would undo: what they hold, and which tables take which.

Items and probabilities as in `split_merge`.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from sampler.corpus import Array
from sampler.lbpl_ntm.blocked.auxiliary_tables import find_topic, sum_topics
from sampler.numerics.multinomial import multinomial
from sampler.numerics.streams import branch, uniform
from sampler.numerics.threads import is_raised

OLD_PART, NEW_PART = 0, 1
NO_TABLE, PINNED = -1, -2  # an anchor that is not there; a stayer that is no table
MANY = 24  # labeled tokens of a word: as many or more draw their topics by binomials
LARGE = 1e200  # a product beyond this, or below its inverse, goes into the logarithm

# Streams of an attempt.
CHOICE, SEATS, AUXILIARY_TOPICS, LABELED, ORDER, SIDES_OF_TABLES, PARAMETERS, NEW_SEATS = range(8)


class Parts(NamedTuple):
    """What the two parts hold, OLD_PART and NEW_PART; labeled documents are counted in."""

    topic: Array  # int64[2, L], O
    tokens: Array  # int64[2]
    tables: Array  # int64[2], m


class Anchors(NamedTuple):
    """Two items that stand for the parts: NO_TABLE if there are not two."""

    mover: int  # of the new part, a table
    stayer: int  # of the old part, a table or PINNED


@njit(cache=True, nogil=True)
def no_parts(n_topics):
    """Two parts of nothing."""
    return Parts(np.zeros((2, n_topics), np.int64), np.zeros(2, np.int64), np.zeros(2, np.int64))


@njit(cache=True, nogil=True)
def add_table(tables, t, part, parts):
    """Add a table to a part."""
    parts.tables[part] += 1
    parts.tokens[part] += tables.first[t + 1] - tables.first[t]
    for i in range(tables.first[t], tables.first[t + 1]):
        parts.topic[part, tables.topic[i]] += 1


@njit(cache=True, nogil=True)
def add_labeled(tables, end, category_word, drawn, category, n_labeled, key, parts):
    """Add what labeled documents have in a category to the old part, with topics drawn in bulk.

    Of the category's tokens they have those that are not at its tables, which hold the tokens 0 .. end - 1.
    """
    if n_labeled == 0:
        return
    mixture = drawn.mixture[:, category].astype(np.float64)
    remaining = category_word[:, category].astype(np.int64)
    for w in tables.word[:end]:
        remaining[w] -= 1
    parts.tables[OLD_PART] += n_labeled
    parts.tokens[OLD_PART] += remaining.sum()
    cumulative, hits = np.empty(mixture.size), np.empty(mixture.size + 1, np.int64)
    chances = np.empty(mixture.size, np.float32)
    position = 0
    for w in np.flatnonzero(remaining):
        n, counted, size = remaining[w], drawn.counted[w], drawn.size[w]
        total = sum_topics(drawn, mixture, w, cumulative)
        if n < MANY:
            for _ in range(n):
                j = find_topic(cumulative, counted, size, uniform(key, position) * total)
                position += 1
                parts.topic[OLD_PART, drawn.topic[w, j]] += 1
        else:
            for j in range(size):
                chances[j] = drawn.weight[w, j] * mixture[drawn.topic[w, j]]
            position = multinomial(n, chances, size, total, key, position, hits)
            hits[size - 1] += hits[size]  # the rest of the total is rounding
            for j in range(size):
                parts.topic[OLD_PART, drawn.topic[w, j]] += hits[j]


@njit(cache=True, nogil=True)
def allocate(tables, is_new, is_free, anchors, zeta, key, parts, stop):
    """Add all tables to the parts: the anchors first, the others in random order; return log q.

    Free tables choose their part, which is written into `is_new`; those that are not take the part that it names.
    """
    log_chance = 0.0
    mover, stayer = anchors
    add_table(tables, mover, NEW_PART, parts)
    if stayer != PINNED:
        add_table(tables, stayer, OLD_PART, parts)
    is_new[mover] = True
    for t in shuffled(is_new.size, branch(key, ORDER)):
        if is_raised(stop):
            break
        if t in (mover, stayer):
            continue
        log_odds = log_odds_of_new(tables, t, zeta, parts)
        if is_free:
            is_new[t] = uniform(branch(key, SIDES_OF_TABLES), t) * (1.0 + math.exp(-log_odds)) < 1.0
        log_chance -= softplus(-log_odds if is_new[t] else log_odds)
        add_table(tables, t, NEW_PART if is_new[t] else OLD_PART, parts)
    return log_chance


@njit(cache=True, nogil=True)
def shuffled(size, key):
    """The numbers below size in uniform order."""
    order = np.arange(size)
    for j in range(size - 1, 0, -1):
        other = int(uniform(key, j) * (j + 1))
        order[j], order[other] = order[other], order[j]
    return order


@njit(cache=True, nogil=True)
def softplus(x):
    """log(1 + exp x), also where exp x is infinite."""
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


@njit(cache=True, nogil=True, error_model="numpy")
def log_odds_of_new(tables, t, zeta, parts):
    """Log odds that a table takes the new part, by the tables of the parts and the topics of its tokens there.

    One logarithm for many factors.
    """
    prior = zeta * parts.topic.shape[1]
    old_total, new_total = prior + parts.tokens[OLD_PART], prior + parts.tokens[NEW_PART]
    log_odds, odds = 0.0, parts.tables[NEW_PART] / parts.tables[OLD_PART]
    for j, i in enumerate(range(tables.first[t], tables.first[t + 1])):
        topic, start = tables.topic[i], zeta + tables.rank[i]
        new_chance = (start + parts.topic[NEW_PART, topic]) / (new_total + j)
        old_chance = (start + parts.topic[OLD_PART, topic]) / (old_total + j)
        odds *= new_chance / old_chance
        if odds > LARGE or odds < 1.0 / LARGE:
            log_odds += math.log(odds)
            odds = 1.0
    return log_odds + math.log(odds)


@njit(cache=True, nogil=True)
def log_evidence_of_topics(counts, zeta):
    """log f(O): the chance of topics int64[L], in a given order, with theta integrated out."""
    constant, prior = math.lgamma(zeta), zeta * counts.size
    total = math.lgamma(prior) - math.lgamma(prior + counts.sum())
    for n in counts:
        if n > 0:
            total += math.lgamma(zeta + n) - constant
    return total
