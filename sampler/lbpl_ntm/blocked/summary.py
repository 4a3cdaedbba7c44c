"""What is asked of the blocked sampler's state after each sweep: answers, hashes for the digest, evidence.

Hashes are uint64 and not cryptographic; those of parts add up to that of the whole, modulo 2^64.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from scipy.special import gammaln

from sampler.corpus import Array
from sampler.hyperparameters import Hyperparameters
from sampler.lbpl_ntm.blocked.arrays import FIXED_POINT, MIXED, BlockedCounts, count_equal
from sampler.lbpl_ntm.evidence import (
    log_dirichlet_multinomial,
    log_factorials,
    log_norms,
    log_prior,
    log_word_topics,
    small_rises,
)
from sampler.numerics.memory import AHEAD, prefetch
from sampler.numerics.streams import GOLDEN, mix
from sampler.numerics.threads import take


class Lengths(NamedTuple):
    """How many unlabeled documents have how many tokens."""

    n_tokens: Array  # int64[J], ascending
    n_documents: Array  # int64[J]


@njit(cache=True, nogil=True)
def summarize_documents(bags, placements, n_slots, pieces, answers):
    """A hash of what the placements tell of the documents; writes the category of most tokens of each, int32[D].

    The smallest of several.
    """
    seen, total = np.zeros(n_slots, np.bool_), np.uint64(0)
    first, end = take(pieces)
    while first < end:
        for u in range(first, end):
            answer = np.int64(placements.whole[u])
            part = np.uint64(answer) + np.uint64(1)
            if placements.whole[u] == MIXED:
                part = fingerprint_tokens(placements.token, bags.first_token[u], bags.first_token[u + 1])
                answer = most_frequent_category(placements.token, bags.first_token[u], bags.first_token[u + 1], seen)
            total += mix(part ^ (GOLDEN * np.uint64(u + 1)))
            answers[bags.document[u]] = answer
        first, end = take(pieces)
    return total


@njit(cache=True, nogil=True, inline="always")
def most_frequent_category(tokens, first, end, seen):
    """The most frequent of the tokens, the smallest of several. `seen`, bool[S], is false before and after."""
    unseen, rest, answer, most = first, end - first, np.int64(0), 0
    while rest > 0:
        while seen[tokens[unseen]]:
            unseen += 1
        k = tokens[unseen]
        n = count_equal(tokens, first, end, k)
        seen[k] = True
        rest -= n
        if n > most or (n == most and k < answer):
            answer, most = np.int64(k), n
    for i in range(first, end):
        seen[tokens[i]] = False
    return answer


@njit(cache=True, nogil=True, inline="always")
def fingerprint_tokens(tokens, first, end):
    """uint64: a hash of some tokens, four at a time, since each factor waits for the one before it."""
    one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    whole = first + (end - first) // 4 * 4
    for i in range(first, whole, 4):
        one, two = one * GOLDEN + np.uint64(tokens[i]), two * GOLDEN + np.uint64(tokens[i + 1])
        three, four = three * GOLDEN + np.uint64(tokens[i + 2]), four * GOLDEN + np.uint64(tokens[i + 3])
    for i in range(whole, end):
        one = one * GOLDEN + np.uint64(tokens[i])
    return mix(one) ^ mix(mix(two)) ^ mix(three * GOLDEN) ^ mix(mix(four * GOLDEN))


@njit(cache=True, nogil=True)
def summarize_words(rows, beta, pieces, log_topics):
    """A hash of the topics of words; writes what each contributes to log p(words | topics), float64[V]."""
    total, rise = np.uint64(0), small_rises(beta)
    first, end = take(pieces)
    while first < end:
        total += fingerprint_topics(rows, first, end)
        log_word_topics(rows, beta, rise, first, end, log_topics)
        first, end = take(pieces)
    return total


@njit(cache=True, nogil=True)
def fingerprint_topics(rows, first, end):
    """A hash of which topics the words first .. end - 1 have, and how often."""
    total = np.uint64(0)
    for w in range(first, end):
        prefetch(rows.topic, w + AHEAD, 0)
        prefetch(rows.tokens, w + AHEAD, 0)
        for j in range(rows.size[w]):
            place = (np.uint64(w) << np.uint64(16)) | np.uint64(rows.topic[w, j])
            total += mix((place * GOLDEN) ^ np.uint64(rows.tokens[w, j]))
    return total


def log_rest(
    counts: BlockedCounts,
    n_labeled: int,
    lengths: Lengths,
    alpha: float,
    gamma: float,
    hyperparameters: Hyperparameters,
) -> float:
    """log p(words, topics, tables, categories, alpha, gamma) in nats, as Algorithm 1 has it, but for `log_topics`.

    What the topics of words contribute takes longest, so threads share it. `n_labeled` tables are fixed by the labels.
    """
    n_tables = int(counts.category_tables.sum())
    rising = gammaln(alpha + lengths.n_tokens) - gammaln(alpha)
    return float(
        log_prior(alpha, gamma, hyperparameters)
        + (n_tables - n_labeled) * np.log(alpha)
        + counts.log_seats.sum() / FIXED_POINT
        - (rising * lengths.n_documents).sum()
        + int(np.count_nonzero(counts.category_tables)) * np.log(gamma)
        + log_factorials(counts.category_tables)
        - (gammaln(gamma + n_tables) - gammaln(gamma))
        + log_dirichlet_multinomial(counts.category_topic, hyperparameters.zeta)
        + log_norms(counts.word_topics.size.size, counts.topic_tokens, hyperparameters.beta)
    )
