"""Log probabilities with parameters integrated out: what log joints are made of."""

import math

import numpy as np
from numba import njit

from sampler.hyperparameters import Hyperparameters
from sampler.numerics.memory import AHEAD, prefetch

SMALL = 1024  # counts up to here have their log-gamma in a table


def log_gamma_density(x: float, shape: float, scale: float) -> float:
    """Log density of Gamma(shape, scale) at x."""
    return (shape - 1.0) * math.log(x) - x / scale - math.lgamma(shape) - shape * math.log(scale)


def log_prior(alpha: float, gamma: float, hyperparameters: Hyperparameters) -> float:
    """Log density of the concentrations that are sampled; a fixed one contributes nothing."""
    of_alpha = log_gamma_density(alpha, hyperparameters.alpha_shape, hyperparameters.alpha_scale)
    of_gamma = log_gamma_density(gamma, hyperparameters.gamma_shape, hyperparameters.gamma_scale)
    return (of_alpha if hyperparameters.alpha is None else 0.0) + (of_gamma if hyperparameters.gamma is None else 0.0)


@njit(cache=True, nogil=True)
def log_factorials(sizes):  # type: ignore[no-untyped-def]
    """Sum of log (n - 1)! over the sizes n > 0."""
    total = 0.0
    for n in sizes:
        if n > 0:
            total += math.lgamma(n)
    return total


@njit(cache=True, nogil=True)
def log_rising(x, sizes):  # type: ignore[no-untyped-def]
    """Sum over n of log x (x + 1) ... (x + n - 1)."""
    constant = math.lgamma(x)
    total = 0.0
    for n in sizes:
        total += math.lgamma(x + n) - constant
    return total


@njit(cache=True, nogil=True)
def log_dirichlet_multinomial(counts, prior):  # type: ignore[no-untyped-def]
    """Sum over rows of log of the Dirichlet-multinomial probability of counts [R, S] in a given order."""
    n_rows, n_columns = counts.shape
    constant, total = math.lgamma(prior), 0.0
    for r in range(n_rows):
        n = 0
        for c in range(n_columns):
            if counts[r, c] > 0:
                n += counts[r, c]
                total += math.lgamma(prior + counts[r, c]) - constant
        if n > 0:
            total += math.lgamma(n_columns * prior) - math.lgamma(n_columns * prior + n)
    return total


@njit(cache=True, nogil=True)
def log_norms(n_words, topic_tokens, beta):  # type: ignore[no-untyped-def]
    """What the topics' numbers of tokens contribute to log p(words | topics)."""
    total = 0.0
    for n in topic_tokens:
        total += math.lgamma(n_words * beta) - math.lgamma(n_words * beta + n)
    return total


@njit(cache=True, nogil=True)
def small_rises(beta):  # type: ignore[no-untyped-def]
    """lnG(beta + n) - lnG(beta) of each n up to SMALL, float64[SMALL + 1]: most counts are looked up here."""
    constant = math.lgamma(beta)
    rise = np.zeros(SMALL + 1)
    for n in range(1, rise.size):
        rise[n] = math.lgamma(beta + n) - constant
    return rise


@njit(cache=True, nogil=True)
def log_topics(word_topic, topic_tokens, beta):  # type: ignore[no-untyped-def]
    """log p(words | topics) with phi integrated out; word_topic is int32[V, L].

    Nearly all of the V L counts are zero, so those of a word that are not are first brought together without a branch,
    which would be predicted badly; most of them are small and looked up.
    """
    n_words, n_topics = word_topic.shape
    constant, rise = math.lgamma(beta), small_rises(beta)
    total = log_norms(n_words, topic_tokens, beta)
    counted = np.empty(n_topics, np.uint32)  # unsigned, so that no index could count from the end
    for word in range(n_words):
        size = np.uint32(0)
        for topic in range(n_topics):
            n = word_topic[word, topic]
            counted[size] = n
            size += np.uint32(n > 0)
        for j in range(size):
            n = counted[j]
            total += rise[n] if n < rise.size else math.lgamma(beta + n) - constant
    return total


@njit(cache=True, nogil=True)
def log_word_topics(rows, beta, rise, first, end, by_word):  # type: ignore[no-untyped-def]
    """What the words first .. end - 1 contribute to `log_topics` besides `log_norms`, into float64[V].

    From rows of the counts that are not zero, as the blocked sampler has them; `rise` are the `small_rises` of beta.
    """
    constant = math.lgamma(beta)
    for word in range(first, end):
        prefetch(rows.tokens, word + AHEAD, 0)  # type: ignore[call-arg]
        by_word[word] = 0.0
        for j in range(rows.size[word]):
            n = rows.tokens[word, j]
            by_word[word] += rise[n] if n < rise.size else math.lgamma(beta + n) - constant
