"""Splits and merges alone keep the posterior, by enumeration, and lead as often from a state to another as back."""

import itertools
import math
from collections import Counter
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
import scipy.stats
from numba import njit

from sampler.corpus import UNLABELED, Array, Corpus
from sampler.lbpl_ntm.blocked.arrays import MIXED
from sampler.lbpl_ntm.blocked.split_merge import attempt
from sampler.lbpl_ntm.concentrations import Concentrations
from sampler.numerics.streams import branch, uniform
from tests.sampler import exact, harness, mutants
from tests.sampler.enumerated import ALPHA, CONSTANTS, GAMMA
from tests.sampler.split_merge_harness import N_SLOTS, ascending, setting

N_SWEEPS = 60_000  # about 25 microseconds each


@njit
def code(corpus, bags, placements, category_tables):
    """Categories of the unlabeled tokens, new ones numbered by appearance, and the tables of each, as one number."""
    new = np.full(category_tables.size, -1)
    order = np.empty(category_tables.size, np.int64)
    n_new, number = 0, 0
    for u in range(bags.document.size):
        for i in range(bags.first_token[u], bags.first_token[u + 1]):
            category = np.int64(placements.token[i] if placements.whole[u] == MIXED else placements.whole[u])
            if category >= corpus.n_known:
                if new[category] < 0:
                    new[category] = corpus.n_known + n_new
                    order[n_new] = category
                    n_new += 1
                category = new[category]
            number = number * 8 + category
    for category in range(corpus.n_known):
        number = number * 8 + category_tables[category]
    for j in range(N_SLOTS - corpus.n_known):
        if j < 5:
            number = number * 8 + (category_tables[order[j]] if j < n_new else 0)
    return number


def code_of(corpus: Corpus, c: exact.Configuration) -> int:
    """The same of a canonical configuration."""
    documents = exact.document_of(corpus)
    digits = [k for d, k in zip(documents, c.category, strict=True) if corpus.labels[d] == UNLABELED]
    tables = [k for _, _, k in set(zip(documents, c.table, c.category, strict=True))]
    digits += np.bincount(tables, minlength=corpus.n_known + 5).tolist()
    return int("".join(map(str, digits)), 8)


@cache
def expected_codes(name: str) -> dict[int, float]:
    """The posterior of categories and numbers of tables, given alpha and gamma."""
    corpus = ascending(harness.TINY[name])
    chances: dict[int, float] = {}
    for c, chance in exact.posterior(corpus, ALPHA, GAMMA, CONSTANTS).items():
        number = code_of(corpus, c)
        chances[number] = chances.get(number, 0.0) + chance
    return chances


@njit
def dirichlet(parameters):
    """A draw from Dir(parameters)."""
    weights = np.empty(parameters.size)
    for j in range(parameters.size):
        weights[j] = np.random.gamma(parameters[j], 1.0)
    return weights / weights.sum()


def chain_with(attempt: Callable) -> Callable:
    """A sampler that changes categories by attempts alone; the other steps are plain draws from their conditionals."""

    @njit
    def chain(corpus, token_category, at, zeta, beta, seed, n_sweeps):
        documents, categories = at
        bags, placements = documents.bags, documents.placements
        counts, drawn, norm, labeled_tables = (
            categories.counts,
            categories.drawn,
            categories.norm,
            categories.labeled_tables,
        )
        n_topics, n_slots = drawn.mixture.shape
        np.random.seed(seed)
        codes, outcomes = np.empty(n_sweeps, np.int64), np.zeros(5, np.int64)
        weights, stop = np.empty(n_topics), np.zeros(1, np.int64)
        for s in range(n_sweeps):
            # Sticks given the tables.
            served = np.flatnonzero(counts.category_tables)
            sticks = dirichlet(np.append(counts.category_tables[served], GAMMA))
            drawn.stick[:] = 0.0
            drawn.stick[served] = sticks[:-1]
            # Tables given the sticks.
            counts.category_tables[:] = labeled_tables
            for d in range(corpus.labels.size):
                first, end = corpus.offsets[d], corpus.offsets[d + 1]
                if corpus.labels[d] != UNLABELED or end == first:
                    continue
                for i in range(first, end):
                    earlier = (token_category[first:i] == token_category[i]).sum()
                    concentration = ALPHA * drawn.stick[token_category[i]]
                    if np.random.random() * (concentration + earlier) < concentration:
                        counts.category_tables[token_category[i]] += 1
            key = np.uint64(uniform(np.uint64(seed), s) * 2.0**53)
            outcome = attempt(documents, categories, Concentrations(ALPHA, GAMMA, zeta, beta), key, stop)
            outcomes[outcome] += 1
            codes[s] = code(corpus, bags, placements, counts.category_tables)
            # Topics given everything, then theta and phi given the topics.
            category_topic, word_topic = np.zeros((n_slots, n_topics)), np.zeros((corpus.n_words, n_topics))
            u = 0
            for d in range(corpus.labels.size):
                first, end = corpus.offsets[d], corpus.offsets[d + 1]
                for i in range(first, end):
                    k, w = corpus.labels[d], corpus.words[i]
                    if k == UNLABELED:
                        whole = placements.whole[u]
                        k = placements.token[bags.first_token[u] + i - first] if whole == MIXED else whole
                    token_category[i] = k
                    for j in range(n_topics):
                        weights[j] = drawn.weight[w, j] * drawn.mixture[drawn.topic[w, j], k]
                    rest, j = np.random.random() * weights.sum(), 0
                    while j < n_topics - 1 and rest >= weights[j]:
                        rest -= weights[j]
                        j += 1
                    category_topic[k, drawn.topic[w, j]] += 1
                    word_topic[w, drawn.topic[w, j]] += 1
                if corpus.labels[d] == UNLABELED and end > first:
                    u += 1
            for l in range(n_topics):  # noqa: E741
                phi = dirichlet(beta + word_topic[:, l])
                for w in range(corpus.n_words):
                    for j in range(n_topics):
                        if drawn.topic[w, j] == l:
                            drawn.weight[w, j] = phi[w] * norm[l]
            for k in range(n_slots):
                drawn.mixture[:, k] = dirichlet(zeta + category_topic[k]) / norm
        return codes, outcomes

    return chain


chain = chain_with(attempt)


def run(name: str, chain: Callable, n_sweeps: int, seed: int) -> tuple[Array, Array]:
    """Codes and numbers of outcomes of a chain that starts with all unlabeled tokens in one new category."""
    corpus = ascending(harness.TINY[name])
    labels = corpus.labels[np.array(exact.document_of(corpus))].astype(np.int64)
    categories = np.where(labels == UNLABELED, corpus.n_known, labels)
    theta, phi = np.full((N_SLOTS, 2), 0.5), np.full((2, corpus.n_words), 1.0 / corpus.n_words)
    at = setting(corpus, categories, theta, phi, np.random.default_rng(seed))
    return chain(corpus, categories, at, CONSTANTS.zeta, CONSTANTS.beta, seed, n_sweeps)


def worst_t(codes: Array, expected: dict[int, float], n_known: int) -> tuple[float, int]:
    """The largest |t| of frequencies against probabilities, and how many: of states, and of categories alone."""
    size = codes.size // harness.N_BATCHES
    codes = codes[-size * harness.N_BATCHES :].reshape(harness.N_BATCHES, size)
    assert set(np.unique(codes).tolist()) <= set(expected), "a state that cannot be"
    scores = []
    for shift in (0, 3 * (n_known + 5)):
        chances: dict[int, float] = {}
        for number, chance in expected.items():
            chances[number >> shift] = chances.get(number >> shift, 0.0) + chance
        often = {number: chance for number, chance in chances.items() if chance * codes.size >= harness.ENOUGH}
        batches = np.array([[(row == number).mean() for number in often] for row in codes >> shift])
        scores.append(harness.t_scores(batches, np.array(list(often.values()))))
    joined = np.concatenate(scores)
    return float(np.abs(joined).max()), joined.size


@pytest.mark.parametrize("name", harness.TINY)
def test_a_chain_of_attempts_matches_the_enumerated_posterior(name: str) -> None:
    codes, outcomes = run(name, chain, N_SWEEPS, seed=21)
    worst, n_comparisons = worst_t(codes, expected_codes(name), harness.TINY[name].n_known)
    assert worst < harness.t_limit(n_comparisons), f"worst |t| = {worst:.2f} of {n_comparisons}"
    assert outcomes.min() > N_SWEEPS / 100  # each of the five was tried


@pytest.mark.slow  # each is compiled anew
@pytest.mark.parametrize("mistake", mutants.SPLIT_MERGE)
def test_the_comparison_has_the_power_to_see_what_is_left_out(mistake: str) -> None:
    name = "label without a word"
    codes, _ = run(
        name, chain_with(mutants.of_split_merge(*mutants.SPLIT_MERGE[mistake]).attempt), 10 * N_SWEEPS, seed=22
    )
    worst, n_comparisons = worst_t(codes, expected_codes(name), harness.TINY[name].n_known)
    assert worst > 1.5 * harness.t_limit(n_comparisons)


N_FLOWS = 400_000  # attempts, about 5 microseconds each


@njit
def pairs_of_codes(corpus, at, zeta, seed, n_attempts):
    """Partitions before and after each attempt, as numbers."""
    documents, categories = at
    bags, placements, counts = documents.bags, documents.placements, categories.counts
    given = Concentrations(1e-12, GAMMA, zeta, 1.0)
    codes, stop = np.empty(n_attempts + 1, np.int64), np.zeros(1, np.int64)
    codes[0] = code(corpus, bags, placements, counts.category_tables)
    for s in range(n_attempts):
        key = branch(np.uint64(seed), s)
        attempt(documents, categories, given, key, stop)
        codes[s + 1] = code(corpus, bags, placements, counts.category_tables)
    return codes


def partition_chances(corpus: Corpus, zeta: float) -> dict[int, float]:
    """The posterior of partitions where a document is a table and a word a topic, a known category being labeled.

    From the urns: a table after another, a topic after another.
    """
    documents = [corpus.words[a:b].tolist() for a, b in itertools.pairwise(corpus.offsets)]
    free = [words for words, label in zip(documents, corpus.labels, strict=True) if label == UNLABELED]
    pinned = [words for words, label in zip(documents, corpus.labels, strict=True) if label == 0]
    weights = {}
    for blocks in exact.partitions(len(free) + 1):  # the block of the first thing is the known category
        tables, topics = np.zeros(len(free) + 1), np.zeros((len(free) + 1, corpus.n_words))
        log_weight = 0.0
        for k, words in [(0, words) for words in pinned] + list(zip(blocks[1:], free, strict=True)):
            log_weight += math.log(tables[k] if tables[k] else GAMMA)
            tables[k] += 1
            for word in words:
                log_weight += math.log((zeta + topics[k, word]) / (corpus.n_words * zeta + topics[k].sum()))
                topics[k, word] += 1
        digits = [k for k, words in zip(blocks[1:], free, strict=True) for _ in words]
        digits += [int(m) for m in np.append(tables, np.zeros(6))[:6]]
        weights[int("".join(map(str, digits)), 8)] = log_weight
    return dict(zip(weights, exact.normalized(list(weights.values())).tolist(), strict=True))


def test_as_many_attempts_lead_from_one_partition_to_another_as_back() -> None:
    """Detailed balance, with tables and topics held: one table a document, one topic a word.

    Between two states the flows of a reversible chain differ by a sum of increments whose correlations are not
    positive, so its variance is at most the number of both flows.
    """
    zeta, n_topics = 0.7, 3
    corpus = harness.corpus_of([[0, 1], [1], [0, 0, 1], [1, 2], [0], [2, 2]], [0, 0, -1, -1, -1, -1], n_topics, 1)
    categories = np.repeat([0, 0, 1, 1, 1, 1], corpus.lengths)
    theta, phi = np.full((N_SLOTS, n_topics), 1.0 / n_topics), np.eye(n_topics)
    at = setting(corpus, categories, theta, phi, np.random.default_rng(4))
    codes = pairs_of_codes(corpus, at, zeta, 23, N_FLOWS)

    expected = partition_chances(corpus, zeta)
    assert set(codes.tolist()) == set(expected)  # all 52 are visited
    often = [number for number, chance in expected.items() if chance * N_FLOWS >= harness.ENOUGH]
    batches = harness.batch_means(np.array([codes == number for number in often]).T)
    t = harness.t_scores(batches, np.array([expected[number] for number in often]))
    assert np.abs(t).max() < harness.t_limit(len(often))

    flows = Counter(itertools.pairwise(codes.tolist()))
    scores = [
        (there - flows[b, a]) / math.sqrt(there + flows[b, a])
        for (a, b), there in flows.items()
        if a < b and there + flows[b, a] >= 50
    ]
    assert len(scores) > 100
    # The largest of so many standard normal scores stays below this with probability 1 - FALSE_ALARM.
    assert np.abs(scores).max() < scipy.stats.norm.isf(harness.FALSE_ALARM / (2 * len(scores)))
