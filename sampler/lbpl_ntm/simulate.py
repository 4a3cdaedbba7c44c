"""Corpora drawn from LBPL-NTM itself: what benchmarks and tests hold the sampler against."""

import math
from typing import NamedTuple

import numpy as np

from sampler.corpus import NO_CATEGORY, UNLABELED, Array, Corpus, validate
from sampler.hyperparameters import Hyperparameters

N_PROPOSALS = 1_000_000  # before a draw by rejection gives up


class Simulated(NamedTuple):
    """A corpus and all that it was drawn from. Categories from n_known on are new, numbered by appearance."""

    corpus: Corpus
    document_category: Array  # int32[D], the category of most of a document's words, NO_CATEGORY without a word
    token_table: Array  # int32[N], table of each token, numbered within its document
    token_category: Array  # int32[N]
    token_topic: Array  # int32[N]
    theta: Array  # float64[K, L], the topics of each category
    phi: Array  # float64[L, V], the words of each topic
    alpha: float
    gamma: float

    @property
    def n_categories(self) -> int:
        """How many categories hold a word."""
        return int(np.unique(self.token_category).size)


def simulate(
    lengths: Array,
    labels: Array,
    n_words: int,
    n_known: int,
    hyperparameters: Hyperparameters,
    rng: np.random.Generator,
    *,
    alpha: float | None = None,
    gamma: float | None = None,
) -> Simulated:
    """Draw documents of these lengths int[D], given labels int[D]: a known category, or UNLABELED.

    A labeled document sits at one table that serves its label; the others follow the Chinese restaurant
    franchise that these tables have begun. A known category without a labeled word serves no table.
    Concentrations that are not given are drawn: alpha from its prior, gamma from its prior given the labels.
    Raises ValueError where the arrays are no corpus, or where gamma is too far from its prior to be drawn.
    """
    lengths, labels = np.asarray(lengths, np.int64), np.asarray(labels, np.int32)
    corpus = corpus_of(np.zeros(lengths.sum(), np.int32), lengths, labels, n_words, n_known)
    clamped = labels[(labels != UNLABELED) & (lengths > 0)]
    if alpha is None:
        alpha = float(rng.gamma(hyperparameters.alpha_shape, hyperparameters.alpha_scale))
    if gamma is None:
        gamma = draw_gamma_given_labels(np.unique(clamped).size, clamped.size, hyperparameters, rng)
    token_table, token_category = seat_documents(lengths, labels, n_known, clamped.tolist(), alpha, gamma, rng)

    n_categories = max(n_known, int(token_category.max(initial=NO_CATEGORY)) + 1)
    theta, phi = draw_theta_and_phi(n_categories, n_words, hyperparameters, rng)
    token_topic = draw_from_rows(theta, token_category, rng)
    corpus = corpus._replace(words=draw_from_rows(phi, token_topic, rng))
    document_category = majority_categories(corpus.offsets, token_category)
    return Simulated(corpus, document_category, token_table, token_category, token_topic, theta, phi, alpha, gamma)


def simulate_separated(
    lengths: Array,
    labels: Array,
    n_words: int,
    n_known: int,
    n_categories: int,
    hyperparameters: Hyperparameters,
    rng: np.random.Generator,
    *,
    separation: float = 0.9,
) -> Simulated:
    """Draw documents int[D] of one category each, whose categories are far apart. O(N log L) time.

    The model given that every document sits at one table, that the unlabeled documents take all
    categories in turn, n_known .. n_categories - 1 being new, and that any two categories differ by
    `separation` in total variation of their words. Small zeta and beta make such categories likely.
    Raises ValueError where a hundred thousand pairs of theta and phi hold none so far apart.
    """
    lengths, labels = np.asarray(lengths, np.int64), np.asarray(labels, np.int32)
    if not 0 <= n_known <= n_categories or n_categories == 0:
        raise ValueError(f"{n_categories} categories do not hold {n_known} known ones")
    document_category = labels.copy()
    unlabeled = np.flatnonzero(labels == UNLABELED)
    document_category[unlabeled] = np.arange(unlabeled.size) % n_categories
    theta, phi = draw_separated(n_categories, n_words, hyperparameters, rng, separation)
    token_category = np.repeat(document_category, lengths)
    token_topic = draw_from_rows(theta, token_category, rng)
    words = draw_from_rows(phi, token_topic, rng)
    return Simulated(
        corpus_of(words, lengths, labels, n_words, n_known),
        np.where(lengths > 0, document_category, NO_CATEGORY).astype(np.int32),
        np.zeros(words.size, np.int32),
        token_category,
        token_topic,
        theta,
        phi,
        alpha=0.0,
        gamma=0.0,
    )


def corpus_of(words: Array, lengths: Array, labels: Array, n_words: int, n_known: int) -> Corpus:
    """The corpus with documents of these lengths. Raises ValueError where the arrays are none."""
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    corpus = Corpus(words, offsets, labels, n_words, n_known)
    validate(corpus)
    return corpus


def draw_theta_and_phi(
    n_categories: int, n_words: int, hyperparameters: Hyperparameters, rng: np.random.Generator
) -> tuple[Array, Array]:
    """theta float64[K, L] and phi float64[L, V] from their priors."""
    theta = rng.dirichlet(np.full(hyperparameters.n_topics, hyperparameters.zeta), n_categories)
    return theta, rng.dirichlet(np.full(n_words, hyperparameters.beta), hyperparameters.n_topics)


def draw_separated(
    n_categories: int, n_words: int, hyperparameters: Hyperparameters, rng: np.random.Generator, separation: float
) -> tuple[Array, Array]:
    """The same given that any two categories are so far apart, by rejection."""
    for _ in range(N_PROPOSALS // 10):
        theta, phi = draw_theta_and_phi(n_categories, n_words, hyperparameters, rng)
        if least_distance(theta @ phi) >= separation:
            return theta, phi
    raise ValueError(f"no {n_categories} categories {separation} apart with {hyperparameters}")


def least_distance(chances: Array) -> float:
    """The smallest total variation between two rows of chances float64[K, V], 1 for a single row."""
    return min(
        (0.5 * float(np.abs(chances[j + 1 :] - chances[j]).sum(axis=1).min()) for j in range(chances.shape[0] - 1)),
        default=1.0,
    )


def draw_gamma_given_labels(
    n_categories: int, n_tables: int, hyperparameters: Hyperparameters, rng: np.random.Generator
) -> float:
    """A draw of gamma given how many known categories the labeled tables serve, by rejection.

    The density is the prior's times gamma^K / (gamma (gamma + 1) ... (gamma + T - 1)): proposals from
    Gamma(shape + K - 1) are kept with probability j / (gamma + j) for every j < T.
    """
    shape = hyperparameters.gamma_shape + max(n_categories - 1, 0)
    for _ in range(N_PROPOSALS):
        gamma = float(rng.gamma(shape, hyperparameters.gamma_scale))
        rising = math.lgamma(gamma + max(n_tables, 1)) - math.lgamma(gamma + 1.0)
        log_chance = math.lgamma(max(n_tables, 1)) - rising
        if math.log(1.0 - rng.random()) <= log_chance:
            return gamma
    raise ValueError(f"gamma of mean {hyperparameters.gamma_mean} does not suit {n_tables} labeled documents: give it")


def seat_documents(
    lengths: Array,
    labels: Array,
    n_known: int,
    clamped: list[int],
    alpha: float,
    gamma: float,
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    """Table within its document and category of each token, int32[N] each.

    An urn draws "one of those before, at random" by naming one: token j of a document joins the table of an
    earlier token, or with probability alpha / (j + alpha) a new one; tables follow tables in the same way.
    """
    tables, categories = [], []
    served = list(clamped)  # category of each table so far, labeled ones first
    next_category = n_known
    for length, label in zip(lengths.tolist(), labels.tolist(), strict=True):
        if label != UNLABELED:
            tables += [0] * length
            categories += [label] * length
            continue
        own: list[int] = []  # table of each token
        category_of: list[int] = []  # of each table of the document
        for j, (u, v) in enumerate(rng.random((length, 2)).tolist()):
            if u * (j + alpha) < j:
                own.append(own[int(v * j)])
                continue
            own.append(len(category_of))
            u, v = rng.random(2).tolist()
            if u * (len(served) + gamma) < len(served):
                category = served[int(v * len(served))]
            else:
                category = next_category
                next_category += 1
            served.append(category)
            category_of.append(category)
        tables += own
        categories += [category_of[table] for table in own]
    return np.array(tables, np.int32), np.array(categories, np.int32)


def draw_from_rows(chances: Array, rows: Array, rng: np.random.Generator) -> Array:
    """int32[N]: a column drawn from each named row of chances float64[R, S], by inversion."""
    cumulative = np.cumsum(chances, axis=1)
    cumulative /= cumulative[:, -1:]
    columns = np.empty(rows.size, np.int32)
    order = np.argsort(rows, kind="stable")
    bounds = np.searchsorted(rows[order], np.arange(chances.shape[0] + 1))
    u = rng.random(rows.size)
    for row in range(chances.shape[0]):
        places = order[bounds[row] : bounds[row + 1]]
        columns[places] = np.searchsorted(cumulative[row], u[places], side="right")
    return columns


def majority_categories(offsets: Array, token_category: Array) -> Array:
    """int32[D]: the category of most tokens, NO_CATEGORY without any; ties go to the smaller index."""
    return np.array(
        [
            np.bincount(token_category[first:end]).argmax() if end > first else NO_CATEGORY
            for first, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
        ],
        np.int32,
    )
