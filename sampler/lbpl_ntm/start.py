"""Where a chain starts: whole documents placed in categories, with their topics summed out.

Any start leads to the same posterior. From random assignments Algorithm 1 needs hundreds of sweeps to come
near it, because there a document changes its category word by word, and two halves of a category hardly
ever join. Here documents move at once, and superfluous categories are joined greedily.
"""

from collections.abc import Callable
from itertools import count

import numpy as np
from numba import njit
from scipy.special import gammaln

from sampler.corpus import NO_CATEGORY, UNLABELED, Array, Corpus
from sampler.hyperparameters import Hyperparameters
from sampler.lbpl_ntm.assignments import UNBORN, Assignments, Counts, recount
from sampler.lbpl_ntm.collapsed import kernels
from sampler.lbpl_ntm.concentrations import Concentrations
from sampler.numerics import streams
from sampler.numerics.streams import Step, pick, uniform
from sampler.numerics.threads import Threads, is_raised

TOPIC_SWEEPS = 30  # over topics alone, while each unlabeled document is a category of its own
DOCUMENT_ZETA = 0.1  # instead of zeta then: a document has few topics
JOIN_ROUNDS, PASSES = 4, 3  # a round joins categories, then places all documents this often
SHRINK = 10  # tokens: a short document with a few odd words is not a category of its own
COUNTS_AT_ONCE = 500_000  # counts that are taken into account without a look at the flag


def first_assignments(
    corpus: Corpus, hyperparameters: Hyperparameters, seed: int, chain: int, threads: Threads
) -> Assignments:
    """Assignments in which each document with a word sits at one table. O(N L K) time a pass.

    Topics first, from all documents. Then all unlabeled documents are one new category, and `n_start` of them,
    those that the categories so far explain worst, open one each: the ones that earn it stay apart. Then all
    documents are placed again and again.
    """
    rest, n_slots = corpus.n_known, corpus.n_known + hyperparameters.n_start + 2
    topics = first_topics(corpus, hyperparameters, seed, chain, threads)
    assignments = seated(corpus, topics, np.full(corpus.n_documents, rest), n_slots)
    counts = recount(corpus, assignments, hyperparameters.n_topics)
    documents = np.flatnonzero(corpus.lengths > 0)
    place = placing(corpus, hyperparameters, assignments, counts, (seed, chain), threads)
    unlabeled = documents[corpus.labels[documents] == UNLABELED]
    if unlabeled.size:
        novelty = Novelty(corpus, hyperparameters, counts, unlabeled, threads)
        for category in range(rest + 1, rest + 1 + hyperparameters.n_start):
            u = uniform(streams.stream(seed, chain, category, Step.START_NOVELTY), 0)
            place(unlabeled[[novelty.choose(u)]], np.array([category], np.int32))
            novelty.explain(category)
    for round_ in range(JOIN_ROUNDS):
        join_categories(corpus.n_known, hyperparameters, assignments, counts, threads)
        for visit in range(PASSES):
            key = streams.stream(seed, chain, round_ * PASSES + visit, Step.START_ORDER)
            order = documents[np.argsort(streams.uniforms(key, documents.size), kind="stable")]
            place(order, corpus.labels[order])
    return assignments


def placing(
    corpus: Corpus,
    hyperparameters: Hyperparameters,
    assignments: Assignments,
    counts: Counts,
    address: tuple[int, int],
    threads: Threads,
) -> Callable[[Array, Array], None]:
    """What places some documents in categories, or where it chooses; `address` is (seed, chain)."""
    given, visits = at_start(hyperparameters), count()

    def place(order: Array, categories: Array) -> None:
        key = streams.stream(*address, next(visits), Step.START)
        place_documents(corpus, assignments, counts, order, categories, given, key, threads.stop)
        threads.check()

    return place


def at_start(hyperparameters: Hyperparameters) -> Concentrations:
    """The concentrations before the first sweep."""
    first = hyperparameters.first_alpha, hyperparameters.first_gamma
    return Concentrations(*first, hyperparameters.zeta, hyperparameters.beta)


def first_topics(corpus: Corpus, hyperparameters: Hyperparameters, seed: int, chain: int, threads: Threads) -> Array:
    """int32[N]: topics after some sweeps in which each unlabeled document is a category of its own."""
    key = streams.stream(seed, chain, 0, Step.START_TOPICS)
    topics = (streams.uniforms(key, corpus.n_tokens) * hyperparameters.n_topics).astype(np.int32)
    own = corpus.n_known + np.arange(corpus.n_documents)
    assignments = seated(corpus, topics, own, corpus.n_known + corpus.n_documents)
    counts = recount(corpus, assignments, hyperparameters.n_topics)
    given = at_start(hyperparameters)._replace(zeta=DOCUMENT_ZETA)
    for visit in range(TOPIC_SWEEPS):
        key = streams.stream(seed, chain, 1 + visit, Step.START_TOPICS)
        kernels.sample_topics(corpus, assignments, counts, given, key, threads.stop)
        threads.check()
    return assignments.topic


def seated(corpus: Corpus, topics: Array, categories: Array, n_slots: int) -> Assignments:
    """Assignments with one table a document; labels override the unlabeled documents' categories, int[D]."""
    has_tokens = corpus.lengths > 0
    served = np.where(corpus.labels == UNLABELED, categories, corpus.labels)
    category = np.full(corpus.n_tokens, NO_CATEGORY, np.int32)
    category[corpus.offsets[:-1][has_tokens]] = served[has_tokens]
    table = np.repeat(corpus.offsets[:-1], corpus.lengths).astype(np.int32)
    return Assignments(table, category, topics, np.full(n_slots, UNBORN, np.int64))


def join_categories(
    first_new: int, hyperparameters: Hyperparameters, assignments: Assignments, counts: Counts, threads: Threads
) -> None:
    """Join the pair of categories, one of them new, that raises the log joint most, until none does; in place.

    Categories below `first_new` are not joined with one another.
    """
    zeta = hyperparameters.zeta
    served = np.flatnonzero(counts.category_tables)
    new = served[served >= first_new]
    while new.size:
        alone = evidence_of(counts, served, None, zeta, threads)
        of = dict(zip(served.tolist(), alone, strict=True))
        best, pair = 0.0, None
        for category in new:
            others = served[served != category]
            together = evidence_of(counts, others, category, zeta, threads)
            apart = np.array([of[other] for other in others.tolist()]) + of[int(category)]
            gains = together - apart - np.log(hyperparameters.first_gamma)
            if gains.size and gains.max() > best:
                best, pair = gains.max(), (category, others[gains.argmax()])
        if pair is None:
            return
        source, target = max(pair), min(pair)  # a known category, the lower one, stays
        assignments.category[assignments.category == source] = target
        for array in (counts.category_tables, counts.category_tokens, counts.category_topic):
            array[target] += array[source]
            array[source] = 0
        served, new = served[served != source], new[new != source]


def evidence_of(counts: Counts, categories: Array, joined: int | None, zeta: float, threads: Threads) -> Array:
    """The `log_evidence` of some categories, each joined with one more if there is one."""
    evidence = np.empty(categories.size)
    for some in threads.slices(categories.size, COUNTS_AT_ONCE // counts.category_topic.shape[1]):
        topics, tables = counts.category_topic[categories[some]], counts.category_tables[categories[some]]
        if joined is not None:
            topics, tables = topics + counts.category_topic[joined], tables + counts.category_tables[joined]
        evidence[some] = log_evidence(topics, tables, zeta)
    return evidence


def log_evidence(category_topic: Array, category_tables: Array, zeta: float) -> Array:
    """What each category, int[R, L] and int[R], contributes to the log joint; float64[R], without gamma."""
    n_topics = category_topic.shape[1]
    of_topics = (gammaln(zeta + category_topic) - gammaln(zeta)).sum(axis=1)
    of_total = gammaln(n_topics * zeta) - gammaln(n_topics * zeta + category_topic.sum(axis=1))
    return np.asarray(of_topics + of_total + gammaln(category_tables))


class Novelty:
    """How badly the categories so far explain each of some documents, next to the corpus as a whole."""

    def __init__(
        self, corpus: Corpus, hyperparameters: Hyperparameters, counts: Counts, documents: Array, threads: Threads
    ) -> None:
        self.corpus, self.hyperparameters, self.counts, self.documents = corpus, hyperparameters, counts, documents
        self.threads = threads
        frequency = np.bincount(corpus.words, minlength=corpus.n_words) + 1.0
        self.log_frequency = np.log(frequency / frequency.sum())
        self.best = np.full(documents.size, -np.inf)  # log odds of the best category against the corpus, nats
        for category in range(counts.category_tables.size):
            if counts.category_tables[category] > 0:
                self.explain(category)

    def explain(self, category: int) -> None:
        """Take a category into account."""
        self.threads.check()
        counts, hyperparameters = self.counts, self.hyperparameters
        topics = (hyperparameters.beta + counts.word_topic) / (
            self.corpus.n_words * hyperparameters.beta + counts.topic_tokens
        )
        mixture = hyperparameters.zeta + counts.category_topic[category]
        log_odds = np.log(topics @ (mixture / mixture.sum())) - self.log_frequency
        totals = document_sums(self.corpus, log_odds, self.documents)
        self.best = np.maximum(self.best, totals / (self.corpus.lengths[self.documents] + SHRINK))

    def choose(self, u: float) -> int:
        """Place of a document, with probability by the square of its distance (Arthur and Vassilvitskii 2007)."""
        weights = (self.best.max() - self.best) ** 2
        return int(pick(weights, weights.size, u))


@njit(cache=True, nogil=True)
def document_sums(corpus, word_values, documents):  # type: ignore[no-untyped-def]
    """float64: the sum over each document's tokens of a value that each word has."""
    sums = np.zeros(documents.size)
    for j in range(documents.size):
        for i in range(corpus.offsets[documents[j]], corpus.offsets[documents[j] + 1]):
            sums[j] += word_values[corpus.words[i]]
    return sums


@njit(cache=True, nogil=True)
def place_documents(  # type: ignore[no-untyped-def]
    corpus, assignments, counts, documents, categories, given, key, stop
):
    """Place documents that sit at one table each again, one after another, in place.

    Document documents[j] goes to categories[j]; where that is UNLABELED, to category k with probability
    proportional to m_k times the product over its tokens of p(w | k), topics summed out. Then each of
    its tokens draws a topic given the category. Gives up when the flag `stop` is raised.
    """
    zeta, beta = given.zeta, given.beta
    n_words, n_topics = counts.word_topic.shape
    n_slots = counts.category_tables.size
    mixture = zeta + np.ascontiguousarray(counts.category_topic.T)  # float64[L, C]: categories side by side
    scale = 1.0 / (n_words * beta + counts.topic_tokens)
    weights, topic_weights = np.empty(n_slots), np.empty(n_topics)
    for j in range(documents.size):
        if is_raised(stop):  # type: ignore[call-arg]
            return
        d, category = documents[j], categories[j]
        first, end = corpus.offsets[d], corpus.offsets[d + 1]
        add_document(corpus, assignments, counts, mixture, d, -1)
        for i in range(first, end):
            topic = assignments.topic[i]
            scale[topic] = 1.0 / (n_words * beta + counts.topic_tokens[topic])
        if category == UNLABELED:
            document_log_weights(corpus, counts, mixture, scale, d, given, weights, stop)
            weights[:] = np.exp(weights - weights.max())
            category = pick(weights, n_slots, uniform(key, corpus.words.size + d))
        assignments.category[first] = category
        for i in range(first, end):
            word = corpus.words[i]
            for topic in range(n_topics):
                likelihood = (beta + counts.word_topic[word, topic]) * scale[topic]
                topic_weights[topic] = mixture[topic, category] * likelihood
            assignments.topic[i] = pick(topic_weights, n_topics, uniform(key, i))
        add_document(corpus, assignments, counts, mixture, d, +1)
        for i in range(first, end):
            topic = assignments.topic[i]
            scale[topic] = 1.0 / (n_words * beta + counts.topic_tokens[topic])


@njit(cache=True, nogil=True)
def document_log_weights(  # type: ignore[no-untyped-def]
    corpus, counts, mixture, scale, d, given, weights, stop
):
    """Log of m_k (or gamma, for the first free slot) times p(words of document d | k): float64[C]."""
    n_topics, n_slots = mixture.shape
    is_open = False
    for category in range(n_slots):
        n_tables = counts.category_tables[category]
        if n_tables > 0:
            weights[category] = np.log(n_tables)
        elif category >= corpus.n_known and not is_open:
            weights[category] = np.log(given.gamma)
            is_open = True
        else:
            weights[category] = -np.inf
    likelihood = np.empty(n_slots)
    for i in range(corpus.offsets[d], corpus.offsets[d + 1]):
        if is_raised(stop):  # type: ignore[call-arg]
            return
        word = corpus.words[i]
        likelihood[:] = 0.0
        for topic in range(n_topics):
            share = (given.beta + counts.word_topic[word, topic]) * scale[topic]
            for category in range(n_slots):
                likelihood[category] += share * mixture[topic, category]
        for category in range(n_slots):
            total = n_topics * given.zeta + counts.category_tokens[category]
            weights[category] += np.log(likelihood[category] / total)


@njit(cache=True, nogil=True)
def add_document(corpus, assignments, counts, mixture, d, sign):  # type: ignore[no-untyped-def]
    """Add a document that sits at one table to all counts, or take it away."""
    first, end = corpus.offsets[d], corpus.offsets[d + 1]
    category = assignments.category[first]
    counts.table_tokens[first] += sign * (end - first)
    counts.category_tables[category] += sign
    counts.category_tokens[category] += sign * (end - first)
    for i in range(first, end):
        topic = assignments.topic[i]
        counts.category_topic[category, topic] += sign
        counts.word_topic[corpus.words[i], topic] += sign
        counts.topic_tokens[topic] += sign
        mixture[topic, category] += sign
