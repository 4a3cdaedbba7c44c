"""The one step of D-LDA that LBPL-NTM does not have: categories of tokens under a finite Dirichlet, compiled."""

import numpy as np
from numba import njit

from sampler.corpus import UNLABELED
from sampler.numerics.streams import pick, uniform
from sampler.numerics.threads import is_raised


@njit(cache=True, nogil=True)
def count_categories(corpus, category, n_categories):
    """int32[D, K]: N_dm, tokens of each document with each category; `category` int32[N]."""
    held = np.zeros((corpus.labels.size, n_categories), np.int32)
    for d in range(corpus.labels.size):
        for i in range(corpus.offsets[d], corpus.offsets[d + 1]):
            held[d, category[i]] += 1
    return held


@njit(cache=True, nogil=True)
def sample_token_categories(corpus, assignments, counts, alpha, zeta, key, stop):
    """Resample the category of every token of the unlabeled documents given all topics, in place.

    p(m) is proportional to (N_dm + alpha) (O_ml + zeta) / (O_m + L zeta), counts without the token, l its topic. Keeps
    the counts of categories equal to a recount. Gives up at the flag `stop`. O(N_u K) time, two float64[K] and an
    int64[K] of scratch.
    """
    n_categories, n_topics = counts.category_topic.shape
    scale = 1.0 / (n_topics * zeta + counts.category_tokens)
    held, weights = np.empty(n_categories, np.int64), np.empty(n_categories)
    for d in range(corpus.labels.size):
        if corpus.labels[d] != UNLABELED:
            continue
        first, end = corpus.offsets[d], corpus.offsets[d + 1]
        held[:] = 0
        for i in range(first, end):
            held[assignments.category[i]] += 1
        for i in range(first, end):
            if is_raised(stop):
                return
            category, topic = assignments.category[i], assignments.topic[i]
            held[category] -= 1
            count_token(counts, category, topic, -1, zeta, scale)
            for m in range(n_categories):
                weights[m] = (held[m] + alpha) * (zeta + counts.category_topic[m, topic]) * scale[m]
            category = pick(weights, n_categories, uniform(key, i))
            assignments.category[i] = category
            held[category] += 1
            count_token(counts, category, topic, +1, zeta, scale)


@njit(cache=True, nogil=True, inline="always")
def count_token(counts, category, topic, sign, zeta, scale):
    """Add a token to the counts of a category, or take it away. A token is a table of its own."""
    counts.category_tables[category] += sign
    counts.category_tokens[category] += sign
    counts.category_topic[category, topic] += sign
    scale[category] = 1.0 / (counts.topic_tokens.size * zeta + counts.category_tokens[category])
