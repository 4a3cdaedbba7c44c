"""What the tests of the sampler share: tiny corpora, a recount of their own, and judgement by batch means."""

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import scipy.stats
from numba import njit

from sampler.corpus import NO_CATEGORY, Array, Corpus
from sampler.lbpl_ntm.assignments import UNBORN, Assignments, Counts
from tests.sampler import exact


def corpus_of(documents: Sequence[Sequence[int]], labels: Sequence[int], n_words: int, n_known: int) -> Corpus:
    """A corpus from the words and the label of each document."""
    words = np.array([word for document in documents for word in document], np.int32)
    offsets = np.concatenate([[0], np.cumsum([len(document) for document in documents])]).astype(np.int64)
    return Corpus(words, offsets, np.array(labels, np.int32), n_words, n_known)


TINY = {
    "one known": corpus_of([[0, 1], [0, 1], [1]], [0, -1, -1], 2, 1),
    "none labeled, one empty": corpus_of([[0, 1, 0], [], [1]], [-1, -1, -1], 2, 0),
    "two known": corpus_of([[0], [2, 0, 1], [1]], [0, -1, 1], 3, 2),
    "label without a word": corpus_of([[], [1], [0, 1], [0, 0]], [0, 1, -1, -1], 2, 2),
}


@cache
def every_configuration(name: str, n_topics: int) -> list[exact.Configuration]:
    """All configurations of a tiny corpus."""
    return list(exact.configurations(TINY[name], n_topics))


def permuted(corpus: Corpus, order: Sequence[int]) -> tuple[Corpus, list[int]]:
    """The corpus with its documents in another order, and where each of its tokens came from."""
    tokens = [i for d in order for i in range(corpus.offsets[d], corpus.offsets[d + 1])]
    documents = [corpus.words[corpus.offsets[d] : corpus.offsets[d + 1]].tolist() for d in order]
    return corpus_of(documents, corpus.labels[list(order)].tolist(), corpus.n_words, corpus.n_known), tokens


def recount(corpus: Corpus, assignments: Assignments, n_topics: int, without: Sequence[int] = ()) -> Counts:
    """Counts of all tokens but some, by histograms."""
    kept = np.setdiff1d(np.arange(corpus.n_tokens), without)
    table, topic, words = assignments.table[kept], assignments.topic[kept], corpus.words[kept]
    category = assignments.category[table]
    n_slots = assignments.identity.size
    table_tokens = np.bincount(table, minlength=corpus.n_tokens)
    category_topic = np.bincount(category * n_topics + topic, minlength=n_slots * n_topics)
    word_topic = np.bincount(words * n_topics + topic, minlength=corpus.n_words * n_topics)
    return Counts(
        table_tokens.astype(np.int32),
        np.bincount(assignments.category[table_tokens > 0], minlength=n_slots),
        np.bincount(category, minlength=n_slots),
        category_topic.reshape(n_slots, n_topics).astype(np.int32),
        word_topic.reshape(corpus.n_words, n_topics).astype(np.int32),
        np.bincount(topic, minlength=n_topics),
    )


def assert_equal_arrays(left: Mapping[str, Array], right: Mapping[str, Array]) -> None:
    """Same names, values and types."""
    assert left.keys() == right.keys()
    for name, a in left.items():
        b = right[name]
        np.testing.assert_array_equal(a, b, err_msg=name)
        assert a.dtype == b.dtype and a.shape == b.shape, name


def assignments_of(
    corpus: Corpus, configuration: exact.Configuration, n_slots: int, rng: np.random.Generator
) -> Assignments:
    """The configuration as a state: tables in random slots of their document, new categories in random slots."""
    slots = {category: category for category in range(corpus.n_known)}
    free = corpus.n_known + rng.permutation(n_slots - corpus.n_known)
    for place, category in enumerate(sorted(set(configuration.category) - set(slots))):
        slots[category] = int(free[place])
    table = np.empty(corpus.n_tokens, np.int32)
    category_of_slot = np.full(corpus.n_tokens, NO_CATEGORY, np.int32)
    for d in range(corpus.n_documents):
        first, end = corpus.offsets[d], corpus.offsets[d + 1]
        places = first + rng.permutation(end - first)
        names = list(dict.fromkeys(configuration.table[first:end]))
        for i in range(first, end):
            table[i] = places[names.index(configuration.table[i])]
            category_of_slot[table[i]] = slots[configuration.category[i]]
    identity = np.full(n_slots, UNBORN, np.int64)
    identity[: corpus.n_known] = np.arange(corpus.n_known)
    return Assignments(table, category_of_slot, np.array(configuration.topic, np.int32), identity)


def configuration_of(assignments: Assignments) -> exact.Configuration:
    """The state as a configuration, not yet canonical."""
    return exact.Configuration(
        tuple(assignments.table.tolist()),
        tuple(assignments.category[assignments.table].tolist()),
        tuple(assignments.topic.tolist()),
    )


@njit
def code(corpus, assignments):
    """The canonical configuration of a state as one number, as exact.code has it."""
    number = 0
    n_new = 0
    new = np.full(assignments.identity.size, -1)
    for d in range(corpus.labels.size):
        first, end = corpus.offsets[d], corpus.offsets[d + 1]
        n_tables = 0
        name = np.full(end - first, -1)
        for i in range(first, end):
            slot = assignments.table[i]
            if name[slot - first] < 0:
                name[slot - first] = n_tables
                n_tables += 1
            category = assignments.category[slot]
            if category >= corpus.n_known:
                if new[category] < 0:
                    new[category] = corpus.n_known + n_new
                    n_new += 1
                category = new[category]
            number = number * 512 + name[slot - first] * 64 + category * 4 + assignments.topic[i]
    return number


N_BATCHES = 50
FALSE_ALARM = 1e-3  # of a whole comparison, were the seed not fixed


def t_scores(batches: Array, expected: Array) -> Array:
    """How many standard errors the mean over batches float[N_BATCHES, J] lies from what is expected, [J].

    Batches are much longer than the chain's memory, so their means are nearly independent and normal, and
    their spread is the standard error of the whole run, autocorrelation included: Student's t with
    N_BATCHES - 1 degrees of freedom.
    """
    error = batches.std(axis=0, ddof=1) / np.sqrt(batches.shape[0])
    return (batches.mean(axis=0) - expected) / np.maximum(error, 1e-300)


def t_limit(n_comparisons: int, n_batches: int = N_BATCHES) -> float:
    """The largest of so many t scores stays below this with probability 1 - FALSE_ALARM (Bonferroni)."""
    return float(scipy.stats.t.isf(FALSE_ALARM / (2 * n_comparisons), n_batches - 1))


def batch_means(values: Array) -> Array:
    """float[N_BATCHES, J] from values [n, J]; what does not fill a batch is left out at the front."""
    size = values.shape[0] // N_BATCHES
    return values[-size * N_BATCHES :].reshape(N_BATCHES, size, -1).mean(axis=1)


ENOUGH = 400  # expected visits: a batch mean then rests on 8 visits, and their mean is near enough to normal


def worst_t(codes: Array, expected: Mapping[exact.Configuration, float]) -> tuple[float, int]:
    """The largest |t| between frequencies of a chain and probabilities, and how many were compared.

    Compares every configuration that is expected often enough, the rest together, and the marginals over
    tables, over categories and over topics. Raises AssertionError for a configuration that cannot be.
    """
    size = codes.size // N_BATCHES
    codes = codes[-size * N_BATCHES :]
    every = list(expected)
    chances = np.array([expected[c] for c in every])
    numbers = np.array([exact.code(c) for c in every])
    order = np.argsort(numbers)
    place = np.searchsorted(numbers[order], codes)
    assert (numbers[order][np.minimum(place, order.size - 1)] == codes).all(), "a configuration that cannot be"
    batch = np.repeat(np.arange(N_BATCHES), size)
    visits = np.bincount(batch * order.size + order[place], minlength=N_BATCHES * order.size)
    shares = visits.reshape(N_BATCHES, order.size) / size
    scores = []
    for view in (
        lambda c: c,
        lambda c: c.table,
        lambda c: (c.table, c.category),
        lambda c: c.category,
        lambda c: c.topic,
    ):
        names: dict[object, int] = {}
        group = np.array([names.setdefault(view(c), len(names)) for c in every])
        p = np.bincount(group, chances)
        batches = np.array([np.bincount(group, row) for row in shares])
        often = p * codes.size >= ENOUGH
        rest = p[~often].sum()
        if not ENOUGH <= rest * codes.size <= (1.0 - 1e-9) * codes.size:  # too rare, or all there is
            rest = np.nan
        rest_batches = batches[:, ~often].sum(axis=1, keepdims=True)
        scores.append(t_scores(batches[:, often], p[often]))
        scores.append(t_scores(rest_batches, np.array([rest])) if np.isfinite(rest) else np.empty(0))
    joined = np.concatenate(scores)
    return float(np.abs(joined).max()), joined.size


def assert_matches(codes: Array, expected: Mapping[exact.Configuration, float]) -> None:
    """The frequencies of a chain are those of the enumeration, as sharply as its length allows."""
    worst, n_comparisons = worst_t(codes, expected)
    assert worst < t_limit(n_comparisons), f"worst |t| = {worst:.2f} of {n_comparisons}"
