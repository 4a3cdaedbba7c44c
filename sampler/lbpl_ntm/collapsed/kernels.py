"""Algorithm 1 of the paper, step by step: the collapsed Gibbs sampler of LBPL-NTM.

Topics phi, categories theta and the measures G are integrated out. Equation numbers are the paper's.
Every kernel draws one number per visited token or table, at a position that is the token or the table
itself, so a kernel that was left for want of a slot goes on where it stopped and draws the same.
Kernels give up when the flag `stop` is raised (sampler.numerics.threads); what they leave then is of no use.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from sampler.corpus import NO_CATEGORY, UNLABELED, Array
from sampler.lbpl_ntm.assignments import has_free_slot, open_category
from sampler.lbpl_ntm.collapsed.document_tables import insert_table, longest_document, occupied_tables, remove_table
from sampler.numerics.memory import borrow
from sampler.numerics.streams import pick, uniform
from sampler.numerics.threads import is_raised


class TableScratch(NamedTuple):
    """What is written on while tables are resampled."""

    tables: Array  # int64, those of a document, ascending
    weights: Array  # float64, of a token's tables
    scale: Array  # float64[C], 1 / (L zeta + O_k)


@njit(cache=True, nogil=True)
def table_weights(assignments, counts, n_tables, topic, new_table, given, at):
    """Unnormalized conditional of a token's table, equations (3) to (5) with the new table's category summed out.

    Writes float64[n_tables + C + 1]: each table of the document; a new table that serves each
    category there is; a new table with a new category. Returns its size. The token itself must have
    been taken away. `new_table` is alpha / (m + gamma).
    """
    tables, weights, scale, zeta = at.tables, at.weights, at.scale, given.zeta
    for j in range(n_tables):
        category = assignments.category[tables[j]]
        likelihood = (zeta + counts.category_topic[category, topic]) * scale[category]
        weights[j] = counts.table_tokens[tables[j]] * likelihood
    n_slots = counts.category_tables.size
    for category in range(n_slots):
        likelihood = (zeta + counts.category_topic[category, topic]) * scale[category]
        weights[n_tables + category] = new_table * counts.category_tables[category] * likelihood
    weights[n_tables + n_slots] = new_table * given.gamma / counts.topic_tokens.size
    return n_tables + n_slots + 1


@njit(cache=True, nogil=True)
def sample_tables(corpus, assignments, counts, given, key, start, stop):
    """Resample the table of every token of the unlabeled documents, equations (3) to (5), in place.

    Begins with token `start` and returns N, or the token at which no slot was free for a new category:
    enlarge and call again from there. O(N_u (T_d + K)) time.
    """
    n_slots, n_topics = counts.category_topic.shape
    longest = longest_document(corpus)
    scale = 1.0 / (n_topics * given.zeta + counts.category_tokens)
    at = TableScratch(np.empty(longest + 1, np.int64), np.empty(longest + n_slots + 1), scale)
    return visit_tokens(corpus, assignments, counts, given, key, start, at, stop)


@njit(cache=True, nogil=True)
def visit_tokens(corpus, assignments, counts, given, key, start, at, stop):
    """Resample the table of one token after another; see `sample_tables`."""
    assignments, counts, at = borrow(assignments), borrow(counts), borrow(at)
    is_free, total_tables = has_free_slot(corpus, counts), counts.category_tables.sum()
    for d in range(corpus.labels.size):
        if corpus.labels[d] != UNLABELED or corpus.offsets[d + 1] <= start:
            continue
        n_tables = occupied_tables(corpus, counts, d, at.tables)
        for i in range(max(start, corpus.offsets[d]), corpus.offsets[d + 1]):
            if is_raised(stop):
                return corpus.words.size
            if not is_free:
                return i
            n_before = n_tables
            n_tables = leave_table(assignments, counts, i, n_tables, given.zeta, at)
            total_tables += n_tables - n_before
            new_table = given.alpha / (total_tables + given.gamma)
            size = table_weights(assignments, counts, n_tables, assignments.topic[i], new_table, given, at)
            choice = pick(at.weights, size, uniform(key, i))
            if choice < n_tables:
                slot = at.tables[choice]
            else:
                slot = open_table(corpus, assignments, counts, d, choice - n_tables, n_tables, at.tables)
                n_tables += 1
                total_tables += 1
                is_free = has_free_slot(corpus, counts)
            assignments.table[i] = slot
            counts.table_tokens[slot] += 1
            count_topic(counts, assignments.category[slot], assignments.topic[i], +1, given.zeta, at.scale)
    return corpus.words.size


@njit(cache=True, nogil=True, inline="always")
def leave_table(assignments, counts, i, n_tables, zeta, at):
    """Take a token away from its table; return how many tables its document has then."""
    topic, slot = assignments.topic[i], assignments.table[i]
    category = assignments.category[slot]
    counts.table_tokens[slot] -= 1
    count_topic(counts, category, topic, -1, zeta, at.scale)
    if counts.table_tokens[slot] == 0:
        counts.category_tables[category] -= 1
        assignments.category[slot] = NO_CATEGORY
        remove_table(at.tables, n_tables, slot)
        n_tables -= 1
    return n_tables


@njit(cache=True, nogil=True, inline="always")
def open_table(corpus, assignments, counts, d, category, n_tables, tables):
    """Open a table of a document that serves a category, C for a new one; return its slot."""
    if category == counts.category_tables.size:
        category = open_category(assignments, counts, corpus.n_known)
    slot = insert_table(tables, n_tables, corpus.offsets[d])
    assignments.category[slot] = category
    counts.category_tables[category] += 1
    return slot


@njit(cache=True, nogil=True, inline="always")
def count_topic(counts, category, topic, sign, zeta, scale):
    """Count a token of a topic in a category, or no longer; keeps `scale` in step."""
    counts.category_tokens[category] += sign
    counts.category_topic[category, topic] += sign
    scale[category] = 1.0 / (counts.topic_tokens.size * zeta + counts.category_tokens[category])


@njit(cache=True, nogil=True)
def gather_table(corpus, assignments, d, slot, topics, ranks, seen):
    """Write the topics of a table's tokens, and of each how many earlier ones share its topic; return n.

    `seen` is int64[L] of zeros and is left so.
    """
    n = 0
    for i in range(corpus.offsets[d], corpus.offsets[d + 1]):
        if assignments.table[i] == slot:
            topic = assignments.topic[i]
            topics[n] = topic
            ranks[n] = seen[topic]
            seen[topic] += 1
            n += 1
    for j in range(n):
        seen[topics[j]] = 0
    return n


@njit(cache=True, nogil=True)
def log_product(category_topic, zeta, topics, ranks, n):
    """Sum over j of log(zeta + O_k,topics[j] + ranks[j]); one logarithm for many factors."""
    total, product = 0.0, 1.0
    for j in range(n):
        product *= zeta + category_topic[topics[j]] + ranks[j]
        if product > 1e200 or product < 1e-200:
            total += math.log(product)
            product = 1.0
    return total + math.log(product)


@njit(cache=True, nogil=True)
def category_log_weights(counts, given, exact, topics, ranks, n, log_weights):
    """Unnormalized log conditional of a table's category, equation (6): float64[C + 1], a new one last.

    exact: the Dirichlet-multinomial of the table's topics, the conditional of the model's posterior.
    Not exact: the product of single-token predictives that the paper prints, each with the same counts.
    The table itself must have been taken away; `ranks` are zero unless exact.
    """
    zeta = given.zeta
    n_slots, n_topics = counts.category_topic.shape
    prior = n_topics * zeta
    for category in range(n_slots):
        if counts.category_tables[category] == 0:
            log_weights[category] = -np.inf
            continue
        base = prior + counts.category_tokens[category]
        scale = math.lgamma(base + n) - math.lgamma(base) if exact else n * math.log(base)
        likelihood = log_product(counts.category_topic[category], zeta, topics, ranks, n) - scale
        log_weights[category] = math.log(counts.category_tables[category]) + likelihood
    scale = math.lgamma(prior + n) - math.lgamma(prior) if exact else n * math.log(prior)
    nothing = np.zeros(n_topics, np.int32)
    log_weights[n_slots] = math.log(given.gamma) + log_product(nothing, zeta, topics, ranks, n) - scale


@njit(cache=True, nogil=True)
def sample_categories(corpus, assignments, counts, given, exact, key, start, stop):
    """Resample the category of every table of the unlabeled documents, equation (6), in place.

    Begins with slot `start` and returns N, or the slot at which no slot was free for a new category:
    enlarge and call again from there. O(N_u K) time.
    """
    n_slots, n_topics = counts.category_topic.shape
    longest = longest_document(corpus)
    topics, ranks = np.empty(longest, np.int64), np.empty(longest, np.int64)
    seen = np.zeros(n_topics, np.int64)
    weights = np.empty(n_slots + 1)
    for d in range(corpus.labels.size):
        if corpus.labels[d] != UNLABELED or corpus.offsets[d + 1] <= start:
            continue
        for slot in range(max(start, corpus.offsets[d]), corpus.offsets[d + 1]):
            if counts.table_tokens[slot] == 0:
                continue
            if is_raised(stop):
                return corpus.words.size
            if not has_free_slot(corpus, counts):
                return slot
            n = gather_table(corpus, assignments, d, slot, topics, ranks, seen)
            if not exact:
                ranks[:n] = 0
            category = assignments.category[slot]
            move_table(counts, category, topics, n, -1)
            category_log_weights(counts, given, exact, topics, ranks, n, weights)
            highest = weights.max()
            for choice in range(n_slots + 1):
                weights[choice] = math.exp(weights[choice] - highest)
            category = pick(weights, n_slots + 1, uniform(key, slot))
            if category == n_slots:
                category = open_category(assignments, counts, corpus.n_known)
            assignments.category[slot] = category
            move_table(counts, category, topics, n, +1)
    return corpus.words.size


@njit(cache=True, nogil=True)
def move_table(counts, category, topics, n, sign):
    """Add a table with these topics to a category's counts, or take it away."""
    counts.category_tables[category] += sign
    counts.category_tokens[category] += sign * n
    for j in range(n):
        counts.category_topic[category, topics[j]] += sign


@njit(cache=True, nogil=True)
def topic_weights(category_topic, word_topic, zeta, beta, scale, weights):
    """Unnormalized conditional of a token's topic, equation (7): float64[L].

    `category_topic` and `word_topic` are the rows of the token's category and word, without the
    token; `scale[l]` is 1 / (V beta + O_l).
    """
    for topic in range(weights.size):
        weights[topic] = (zeta + category_topic[topic]) * ((beta + word_topic[topic]) * scale[topic])


@njit(cache=True, nogil=True)
def sample_topics(corpus, assignments, counts, given, key, stop):
    """Resample the topic of every token, labeled documents too, equation (7), in place. O(N L) time."""
    zeta, beta = given.zeta, given.beta
    n_words, n_topics = counts.word_topic.shape
    scale = 1.0 / (n_words * beta + counts.topic_tokens)
    weights = np.empty(n_topics)
    for i in range(corpus.words.size):
        if is_raised(stop):
            return
        word = corpus.words[i]
        category = assignments.category[assignments.table[i]]
        topic = assignments.topic[i]
        counts.category_topic[category, topic] -= 1
        counts.word_topic[word, topic] -= 1
        counts.topic_tokens[topic] -= 1
        scale[topic] = 1.0 / (n_words * beta + counts.topic_tokens[topic])
        topic_weights(counts.category_topic[category], counts.word_topic[word], zeta, beta, scale, weights)
        topic = pick(weights, n_topics, uniform(key, i))
        assignments.topic[i] = topic
        counts.category_topic[category, topic] += 1
        counts.word_topic[word, topic] += 1
        counts.topic_tokens[topic] += 1
        scale[topic] = 1.0 / (n_words * beta + counts.topic_tokens[topic])
