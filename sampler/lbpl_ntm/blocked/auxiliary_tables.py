"""Tables and topics of chosen categories, drawn afresh: what a split or a merge of categories looks at.

Between sweeps the tables of a category are known only by their number, and topics by counts. Here they are drawn token
by token from their conditionals, for the unlabeled documents of one category or two.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from sampler.corpus import Array
from sampler.lbpl_ntm.blocked.arrays import FIXED_POINT, MIXED
from sampler.numerics.streams import uniform
from sampler.numerics.threads import is_raised


class Tables(NamedTuple):
    """Unlabeled tables of some categories; T tables with n tokens, which follow one another table by table."""

    first: Array  # int64[T + 1], table t holds the tokens first[t] : first[t + 1]
    document: Array  # int32[T], index in the bags
    token: Array  # int64[n], index in the bags
    word: Array  # int32[n]
    topic: Array  # uint16[n]
    rank: Array  # int32[n], how many tokens of the table before it share its topic


@njit(cache=True, nogil=True)
def involved(documents, category):
    """The documents with a token of the category, how many tokens they have there, and how many at most one has."""
    bags, placements = documents.bags, documents.placements
    document = np.empty(bags.document.size, np.int32)
    n_documents, n_tokens, longest = 0, 0, 0
    for u in range(document.size):
        n = 0
        if placements.whole[u] == MIXED:
            for i in range(bags.first_token[u], bags.first_token[u + 1]):
                n += placements.token[i] == category
        elif placements.whole[u] == category:
            n = bags.first_token[u + 1] - bags.first_token[u]
        if n > 0:
            document[n_documents] = u
            n_documents += 1
            n_tokens += n
            longest = max(longest, n)
    return document[:n_documents], n_tokens, longest


@njit(cache=True, nogil=True)
def gather_tokens(documents, u, category, tokens, words):
    """Write a document's tokens of the category, and their words; return how many."""
    bags, placements = documents.bags, documents.placements
    is_whole = placements.whole[u] == category
    n, first_word = 0, bags.first_word[u] - bags.first_token[u]
    for i in range(bags.first_token[u], bags.first_token[u + 1]):
        if is_whole or placements.token[i] == category:
            tokens[n] = i
            words[n] = bags.words[first_word + i]
            n += 1
    return n


@njit(cache=True, nogil=True)
def seat_tables(documents, category, concentration, key, stop):
    """Draw the tables of all unlabeled tokens of a category, in each document by a Chinese restaurant process.

    One number a token, at its position: it names an earlier token, whose table it joins, or opens a table. Topics and
    ranks are left unwritten. Once the flag `stop` is raised, the other documents' tokens have no table.
    """
    involved_documents, n_tokens, longest = involved(documents, category)
    first, document = np.empty(n_tokens + 1, np.int64), np.empty(n_tokens, np.int32)
    token, word = np.empty(n_tokens, np.int64), np.empty(n_tokens, np.int32)
    own_token, own_word = np.empty(longest, np.int64), np.empty(longest, np.int32)
    own_table, place = np.empty(longest, np.int32), np.empty(longest, np.int64)
    first[0] = 0
    n_tables = 0
    for u in involved_documents:
        if is_raised(stop):
            break
        n = gather_tokens(documents, u, category, own_token, own_word)
        n_own = 0
        for j in range(n):
            earlier = uniform(key, own_token[j]) * (j + concentration)
            if earlier < j:
                own_table[j] = own_table[int(earlier)]
                place[own_table[j]] += 1
            else:
                own_table[j] = n_own
                place[n_own] = 1
                n_own += 1
        start = first[n_tables]
        for t in range(n_own):
            place[t], start = start, start + place[t]
            first[n_tables + t + 1] = start
            document[n_tables + t] = u
        for j in range(n):
            i = place[own_table[j]]
            place[own_table[j]] += 1
            token[i] = own_token[j]
            word[i] = own_word[j]
        n_tables += n_own
    topic, rank = np.empty(n_tokens, np.uint16), np.empty(n_tokens, np.int32)
    return Tables(first[: n_tables + 1], document[:n_tables], token, word, topic, rank)


@njit(cache=True, nogil=True)
def join(left, right):
    """The tables of both."""
    return Tables(
        np.concatenate((left.first, left.first[-1] + right.first[1:])),
        np.concatenate((left.document, right.document)),
        np.concatenate((left.token, right.token)),
        np.concatenate((left.word, right.word)),
        np.concatenate((left.topic, right.topic)),
        np.concatenate((left.rank, right.rank)),
    )


@njit(cache=True, nogil=True)
def log_seats(tables):
    """Sum over tables of log (n - 1)!, as an integer, in units of 1 / FIXED_POINT."""
    total = 0
    for t in range(tables.document.size):
        total += round(math.lgamma(tables.first[t + 1] - tables.first[t]) * FIXED_POINT)
    return total


@njit(cache=True, nogil=True)
def draw_auxiliary_topics(tables, begin, end, drawn, category, key, stop):
    """Draw the topics of the tokens begin .. end - 1, all in one category, p(l) ∝ theta_l phi_lw. One number a token.

    Word by word, so that the sums over a word's topics are made once. Once the flag `stop` is raised, the other
    words' tokens have none.
    """
    if begin == end:
        return
    n_words, n_topics = drawn.size.size, drawn.mixture.shape[0]
    mixture = drawn.mixture[:, category].astype(np.float64)
    place = np.zeros(n_words + 1, np.int64)
    for i in range(begin, end):
        place[tables.word[i] + 1] += 1
    for w in range(n_words):
        place[w + 1] += place[w]
    order = np.empty(end - begin, np.int64)
    for i in range(begin, end):
        w = tables.word[i]
        order[place[w]] = i
        place[w] += 1
    cumulative = np.empty(n_topics)
    first = 0
    for w in range(n_words):
        if is_raised(stop):
            break
        if place[w] > first:
            total, counted, size = sum_topics(drawn, mixture, w, cumulative), drawn.counted[w], drawn.size[w]
            for p in range(first, place[w]):
                i = order[p]
                tables.topic[i] = drawn.topic[w, find_topic(cumulative, counted, size, uniform(key, i) * total)]
        first = place[w]


@njit(cache=True, nogil=True)
def sum_topics(drawn, mixture, w, cumulative):
    """Write the running sums of p(y = l, w | theta) over the topics of a word's row."""
    total = 0.0
    for j in range(drawn.size[w]):
        total += drawn.weight[w, j] * mixture[drawn.topic[w, j]]
        cumulative[j] = total
    return total


@njit(cache=True, nogil=True)
def find_topic(cumulative, counted, size, x):
    """The first place below size whose sum is above x; the last one if rounding let x reach the total.

    Nearly always it is one of the first `counted`: these are few, and looked at together without a branch.
    """
    place, last = np.uint64(0), np.uint64(size - 1)
    few = min(counted, size - 1)
    for j in range(few):
        place += np.uint64(x >= cumulative[j])
    if place == np.uint64(few):
        while place < last and x >= cumulative[place]:
            place += np.uint64(1)
    return place


@njit(cache=True, nogil=True)
def rank_topics(tables, n_topics):
    """Write the rank of each token among those of its table and topic."""
    seen = np.zeros(n_topics, np.int32)
    for t in range(tables.document.size):
        for i in range(tables.first[t], tables.first[t + 1]):
            tables.rank[i] = seen[tables.topic[i]]
            seen[tables.topic[i]] += 1
        for i in range(tables.first[t], tables.first[t + 1]):
            seen[tables.topic[i]] = 0


@njit(cache=True, nogil=True)
def move_tables(documents, category_word, tables, is_moved, source, destination):
    """Move the tokens of some tables from one category to another."""
    bags, placements = documents.bags, documents.placements
    for t in np.flatnonzero(is_moved):
        u = tables.document[t]
        if placements.whole[u] != MIXED:
            placements.token[bags.first_token[u] : bags.first_token[u + 1]] = placements.whole[u]
            placements.whole[u] = MIXED
        for i in range(tables.first[t], tables.first[t + 1]):
            placements.token[tables.token[i]] = destination
            category_word[tables.word[i], source] -= 1
            category_word[tables.word[i], destination] += 1
    for t in np.flatnonzero(is_moved):
        u = tables.document[t]
        if placements.whole[u] == MIXED and is_uniform(placements.token, bags.first_token[u], bags.first_token[u + 1]):
            placements.whole[u] = placements.token[bags.first_token[u]]


@njit(cache=True, nogil=True)
def is_uniform(values, first, end):
    """Whether all values of a range are the same."""
    n = 0
    for i in range(first, end):
        n += values[i] == values[first]
    return n == end - first
