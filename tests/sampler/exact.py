"""The posterior of a tiny corpus by enumeration, straight from the generative model.

Slow and plain on purpose. Every probability is a product of urn draws, token after token: a seat, a
dish for a new table, a topic, a word. None of the sampler's formulas is used and nothing of the
sampler is imported; a corpus is anything with words, offsets, labels, n_words and n_known.

Labeled documents sit at one table by decree; that its table serves its label is a draw of the urn of
categories like any other. A known category without a labeled word serves no table.
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import scipy.integrate
import scipy.stats


class Constants(NamedTuple):
    n_topics: int
    zeta: float
    beta: float


class Configuration(NamedTuple):
    """What Algorithm 1 samples, token by token; table names matter only within a document."""

    table: tuple[Hashable, ...]
    category: tuple[int, ...]
    topic: tuple[int, ...]


def document_of(corpus: Any) -> list[int]:
    """The document of each token."""
    return [d for d in range(len(corpus.labels)) for _ in range(corpus.offsets[d], corpus.offsets[d + 1])]


def served_labels(corpus: Any) -> set[int]:
    """The known categories that a labeled word belongs to."""
    return {int(corpus.labels[d]) for d in document_of(corpus) if corpus.labels[d] >= 0}


def log_joint(corpus: Any, c: Configuration, alpha: float, gamma: float, constants: Constants) -> float:
    """log p(tables, categories, topics, words | alpha, gamma), one urn draw after another."""
    n_topics, zeta, beta = constants
    possible = served_labels(corpus)
    guests_of_category: Counter[int] = Counter()  # tables
    words_with: Counter[Any] = Counter()
    total = 0.0
    guests: Counter[Any] = Counter()
    guests_of_document: Counter[int] = Counter()
    for i, d in enumerate(document_of(corpus)):
        table, category, topic, word = (d, c.table[i]), c.category[i], c.topic[i], int(corpus.words[i])
        is_labeled = corpus.labels[d] >= 0
        if is_labeled and category != corpus.labels[d]:
            return -math.inf
        if category < corpus.n_known and category not in possible:
            return -math.inf
        if not is_labeled:
            seat = guests[table] if guests[table] else alpha
            total += math.log(seat / (guests_of_document[d] + alpha))
        if guests[table] == 0:
            dish = guests_of_category[category] if guests_of_category[category] else gamma
            total += math.log(dish / (guests_of_category.total() + gamma))
            guests_of_category[category] += 1
        guests[table] += 1
        guests_of_document[d] += 1
        tokens, hits = words_with["category", category], words_with["pair", category, topic]
        total += math.log((zeta + hits) / (n_topics * zeta + tokens))
        tokens, hits = words_with["topic", topic], words_with["word", topic, word]
        total += math.log((beta + hits) / (corpus.n_words * beta + tokens))
        words_with.update([("category", category), ("pair", category, topic), ("topic", topic), ("word", topic, word)])
    return total


def partitions(n: int) -> Iterator[tuple[int, ...]]:
    """All partitions of n things, each thing with the number of its block in order of appearance."""
    if n == 0:
        yield ()
        return
    for head in partitions(n - 1):
        for block in range(max(head, default=-1) + 2):
            yield (*head, block)


def servings(tables: list[tuple[int, int]], corpus: Any) -> Iterator[dict[tuple[int, int], int]]:
    """All ways to serve tables (document, number): labels are clamped, new categories numbered by appearance."""
    known = sorted(served_labels(corpus))

    def serve(j: int, n_new: int) -> Iterator[tuple[int, ...]]:
        if j == len(tables):
            yield ()
            return
        label = int(corpus.labels[tables[j][0]])
        fresh = [corpus.n_known + new for new in range(n_new + 1)]
        for category in [label] if label >= 0 else known + fresh:
            for rest in serve(j + 1, n_new + (category == fresh[-1])):
                yield (category, *rest)

    for served in serve(0, 0):
        yield dict(zip(tables, served, strict=True))


def configurations(corpus: Any, n_topics: int) -> Iterator[Configuration]:
    """Every configuration of a corpus once, in canonical form."""
    documents = document_of(corpus)
    lengths = np.diff(corpus.offsets)
    seatings = [
        [(0,) * n] if label >= 0 else list(partitions(n)) for n, label in zip(lengths, corpus.labels, strict=True)
    ]
    for seating in itertools.product(*seatings):
        table = tuple(itertools.chain.from_iterable(seating))
        pairs = list(zip(documents, table, strict=True))
        for serving in servings(list(dict.fromkeys(pairs)), corpus):
            category = tuple(serving[pair] for pair in pairs)
            for topic in itertools.product(range(n_topics), repeat=len(table)):
                yield Configuration(table, category, topic)


def canonical(corpus: Any, c: Configuration) -> Configuration:
    """The same configuration with tables and new categories numbered by appearance."""
    tables: dict[Any, int] = {}
    seen: Counter[int] = Counter()
    new: dict[int, int] = {}
    table, category = [], []
    for i, d in enumerate(document_of(corpus)):
        name = (d, c.table[i])
        if name not in tables:
            tables[name] = seen[d]
            seen[d] += 1
        table.append(tables[name])
        if c.category[i] >= corpus.n_known:
            new.setdefault(c.category[i], corpus.n_known + len(new))
        category.append(new.get(c.category[i], c.category[i]))
    return Configuration(tuple(table), tuple(category), tuple(int(y) for y in c.topic))


def code(c: Configuration) -> int:
    """A canonical configuration of up to 6 tokens as one number: 3 bits of table, 4 of category, 2 of topic a token."""
    number = 0
    for table, category, topic in zip(c.table, c.category, c.topic, strict=True):
        number = number * 512 + int(table) * 64 + category * 4 + topic  # type: ignore[call-overload]
    return number


def n_unlabeled_tables(corpus: Any, c: Configuration) -> int:
    return len({(d, t) for d, t in zip(document_of(corpus), c.table, strict=True) if corpus.labels[d] < 0})


def n_tables(corpus: Any, c: Configuration) -> int:
    return len(set(zip(document_of(corpus), c.table, strict=True)))


def n_categories(c: Configuration) -> int:
    return len(set(c.category))


def normalized(log_weights: list[float]) -> np.ndarray:
    weights = np.exp(np.array(log_weights) - max(log_weights))
    return weights / weights.sum()


def posterior(corpus: Any, alpha: float, gamma: float, constants: Constants) -> dict[Configuration, float]:
    """The probability of every configuration given the words and the concentrations."""
    every = list(configurations(corpus, constants.n_topics))
    chances = normalized([log_joint(corpus, c, alpha, gamma, constants) for c in every])
    return dict(zip(every, chances.tolist(), strict=True))


class Prior(NamedTuple):
    """Gamma, by shape and scale."""

    shape: float
    scale: float

    def integral(self, f: Callable[[float], float]) -> float:
        """The integral of f times the density over (0, inf), by adaptive quadrature in log x."""

        def integrand(log_x: float) -> float:
            x = math.exp(log_x)
            return f(x) * float(scipy.stats.gamma.pdf(x, self.shape, scale=self.scale)) * x

        low, high = scipy.stats.gamma.ppf([1e-14, 1 - 1e-15], self.shape, scale=self.scale)
        return scipy.integrate.quad(
            integrand, math.log(low) - 5.0, math.log(high) + 2.0, epsabs=0.0, epsrel=1e-9, limit=400
        )[0]


def seating_factor(alpha: float, n_tables: int, lengths: tuple[int, ...]) -> float:
    """How the urns of the unlabeled documents depend on alpha."""
    return alpha**n_tables / math.prod(alpha + i for n in lengths for i in range(n))


def serving_factor(gamma: float, n_categories: int, n_tables: int) -> float:
    """How the urn of categories depends on gamma."""
    return gamma**n_categories / math.prod(gamma + j for j in range(n_tables))


class Full(NamedTuple):
    """The posterior with alpha and gamma integrated over their priors, and their posterior means."""

    configurations: dict[Configuration, float]
    alpha: float
    gamma: float


def full_posterior(corpus: Any, alpha_prior: Prior, gamma_prior: Prior, constants: Constants) -> Full:
    """Enumerates the configurations, integrates over the concentrations by quadrature."""
    lengths = tuple(int(n) for n, label in zip(np.diff(corpus.offsets), corpus.labels, strict=True) if label < 0)

    @lru_cache(None)
    def over_alpha(n_tables: int, power: int) -> float:
        return alpha_prior.integral(lambda x: x**power * seating_factor(x, n_tables, lengths))

    @lru_cache(None)
    def over_gamma(n_categories: int, n_tables: int, power: int) -> float:
        return gamma_prior.integral(lambda x: x**power * serving_factor(x, n_categories, n_tables))

    every = list(configurations(corpus, constants.n_topics))
    log_weights, alpha_means, gamma_means = [], [], []
    for c in every:
        unlabeled, tables, categories = n_unlabeled_tables(corpus, c), n_tables(corpus, c), n_categories(c)
        at_one = seating_factor(1.0, unlabeled, lengths) * serving_factor(1.0, categories, tables)
        integrated = over_alpha(unlabeled, 0) * over_gamma(categories, tables, 0)
        log_weights.append(log_joint(corpus, c, 1.0, 1.0, constants) + math.log(integrated / at_one))
        alpha_means.append(over_alpha(unlabeled, 1) / over_alpha(unlabeled, 0))
        gamma_means.append(over_gamma(categories, tables, 1) / over_gamma(categories, tables, 0))
    chances = normalized(log_weights)
    return Full(
        dict(zip(every, chances.tolist(), strict=True)),
        float(chances @ np.array(alpha_means)),
        float(chances @ np.array(gamma_means)),
    )
