"""Splits and merges: the law that they keep, by enumeration, and what they do to categories that are clear."""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
import scipy.stats
from numba import njit

from sampler.corpus import UNLABELED, Array, Corpus
from sampler.hyperparameters import Hyperparameters
from sampler.lbpl_ntm.blocked import auxiliary_tables, parts
from sampler.lbpl_ntm.blocked.arrays import (
    FIXED_POINT,
    MIXED,
    BlockedCounts,
    Categories,
    Documents,
    Drawn,
    Placements,
    WordTopics,
    bags_of,
    count_words,
    sizes_of,
)
from sampler.lbpl_ntm.blocked.split_merge import Outcome, attempt
from sampler.lbpl_ntm.concentrations import Concentrations
from sampler.lbpl_ntm.simulate import simulate_separated
from sampler.numerics.simd import LANES
from sampler.numerics.streams import branch, uniform
from sampler.numerics.threads import lowered
from tests.sampler import exact, harness, mutants

CONSTANTS = exact.Constants(n_topics=2, zeta=0.6, beta=0.3)
ALPHA, GAMMA = 1.1, 0.8
N_SLOTS = LANES
N_SWEEPS = 60_000  # about 25 microseconds each


class Setting(NamedTuple):
    """What an attempt takes."""

    documents: Documents
    categories: Categories


def setting(corpus: Corpus, token_category: Array, theta: Array, phi: Array, rng: np.random.Generator) -> Setting:
    """Categories int[N] of the tokens, theta float[S, L] and phi float[L, V] as an attempt takes them.

    Each document has one table a category. Topics stand in any order in a word's row, and their norms are any.
    The words of unlabeled documents must ascend.
    """
    bags = bags_of(corpus)
    documents = np.array(exact.document_of(corpus), np.int64)
    is_labeled = corpus.labels[documents] != UNLABELED
    token = token_category[~is_labeled].astype(np.uint16)
    whole = np.full(bags.document.size, MIXED, np.uint16)
    for u in range(whole.size):
        own = token[bags.first_token[u] : bags.first_token[u + 1]]
        if (own == own[0]).all():
            whole[u] = own[0]
    placements = Placements(whole, token)
    labeled = np.unique(documents[is_labeled])
    labeled_tables = np.bincount(corpus.labels[labeled], minlength=N_SLOTS)
    pairs = {(int(d), int(k)) for d, k in zip(documents, token_category, strict=True)}
    n_topics = phi.shape[0]
    counts = BlockedCounts(
        count_words(corpus, bags, placements, N_SLOTS),
        np.bincount([k for _, k in pairs], minlength=N_SLOTS),
        np.zeros(N_SLOTS, np.int64),
        np.zeros((N_SLOTS, n_topics), np.int64),
        WordTopics(
            np.zeros((corpus.n_words, n_topics), np.uint16),
            np.zeros((corpus.n_words, n_topics), np.int32),
            np.zeros(corpus.n_words, np.int32),
        ),
        np.zeros(n_topics, np.int64),
    )
    norm = rng.uniform(0.5, 2.0, n_topics)
    topic = np.array([rng.permutation(n_topics) for _ in range(corpus.n_words)], np.uint16)
    stick = np.where(counts.category_tables > 0, 0.5 / N_SLOTS, 0.0)
    drawn = Drawn(
        stick,
        np.ascontiguousarray((theta / norm).T.astype(np.float32)),
        topic,
        np.take_along_axis((phi.T * norm).astype(np.float32), topic.astype(np.int64), axis=1),
        np.full(corpus.n_words, n_topics, np.int32),
        rng.integers(0, n_topics + 1, corpus.n_words).astype(np.int32),
        np.zeros((corpus.n_words, N_SLOTS), np.float32),
    )
    one_table, numbers = np.zeros(whole.size, np.bool_), np.arange(N_SLOTS)
    return Setting(
        Documents(bags, placements, sizes_of(bags), one_table),
        Categories(counts, drawn, norm, labeled_tables, numbers, corpus.n_known),
    )


def ascending(corpus: Corpus) -> Corpus:
    """The corpus with the words of each document in order."""
    documents = [sorted(corpus.words[a:b].tolist()) for a, b in itertools.pairwise(corpus.offsets)]
    return harness.corpus_of(documents, corpus.labels.tolist(), corpus.n_words, corpus.n_known)


def category_of_tokens(corpus: Corpus, at: Setting) -> Array:
    """int64[N]"""
    categories = np.empty(corpus.n_tokens, np.int64)
    u = 0
    for d, (first, end) in enumerate(itertools.pairwise(corpus.offsets)):
        if corpus.labels[d] != UNLABELED:
            categories[first:end] = corpus.labels[d]
        elif end > first:
            whole, own = (
                at.documents.placements.whole[u],
                slice(at.documents.bags.first_token[u], at.documents.bags.first_token[u + 1]),
            )
            categories[first:end] = at.documents.placements.token[own] if whole == MIXED else whole
            u += 1
    return categories


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


def well_separated(n_known: int, n_labeled: int, rng: np.random.Generator) -> tuple[Corpus, Array, Array, Array]:
    """A corpus of two clear categories, 40 unlabeled documents of 25 words, with its true categories, theta and phi."""
    hyperparameters = Hyperparameters(n_topics=8, zeta=0.3, beta=0.05)
    lengths, labels = np.full(40 + n_labeled, 25), np.full(40 + n_labeled, UNLABELED)
    labels[:n_labeled] = np.arange(n_labeled) % max(n_known, 1)
    drawn = simulate_separated(lengths, labels, 60, n_known, 2, hyperparameters, rng)
    categories = np.repeat(drawn.document_category, lengths)
    return ascending(drawn.corpus), categories, drawn.theta, drawn.phi


def outcomes_of(at: Setting, seed: int, n_attempts: int) -> Iterator[Outcome]:
    for s in range(n_attempts):
        key = np.uint64(branch(np.uint64(seed), s))
        yield Outcome(attempt(*at, Concentrations(0.02, 0.1, 0.3, 1.0), key, lowered()))


def start_of(corpus: Corpus, categories: Array, theta: Array, phi: Array, rng: np.random.Generator) -> Setting:
    """A state with theta float[R, L] for the first R categories, and any for the others."""
    return setting(corpus, categories, np.resize(theta, (N_SLOTS, theta.shape[1])), phi, rng)


@pytest.mark.parametrize("n_known", [0, 1])
def test_two_clear_categories_that_are_one_part_within_a_few_attempts(n_known: int) -> None:
    rng = np.random.default_rng(6)
    corpus, truth, theta, phi = well_separated(n_known, 6 * n_known, rng)
    at = start_of(corpus, np.zeros_like(truth), theta.mean(axis=0, keepdims=True), phi, rng)
    assert Outcome.SPLIT in outcomes_of(at, seed=24, n_attempts=40)
    found = category_of_tokens(corpus, at)
    # A document is nearly always one table; a few of 40 may be on the wrong side.
    assert max((found == truth).mean(), (found != truth).mean() if n_known == 0 else 0.0) > 0.9


@pytest.mark.parametrize("n_known", [0, 1])
def test_two_halves_of_one_category_join(n_known: int) -> None:
    rng = np.random.default_rng(7)
    corpus, truth, theta, phi = well_separated(n_known, 6 * n_known, rng)
    halves = truth.copy()
    second_half = (np.array(exact.document_of(corpus)) >= 26) & (truth == 0)
    halves[second_half] = 2
    at = start_of(corpus, halves, theta[[0, 1, 0]], phi, rng)
    outcomes = list(outcomes_of(at, seed=25, n_attempts=60))
    assert Outcome.MERGED in outcomes
    found = category_of_tokens(corpus, at)
    first_half = np.array(exact.document_of(corpus)) < 26
    assert (found[second_half] == np.bincount(found[first_half & (truth == 0)]).argmax()).mean() > 0.9


def crowded() -> tuple[Corpus, Setting, Array]:
    """Documents of 1 to 12 words, some labeled, whose tokens are in four categories of much the same topics; phi."""
    rng = np.random.default_rng(8)
    documents = [sorted(rng.integers(0, 30, n).tolist()) for n in rng.integers(1, 13, 40)]
    labels = np.where(np.arange(40) % 4 == 0, np.arange(40) % 3, UNLABELED)
    corpus = harness.corpus_of(documents, labels.tolist(), 30, 3)
    of_document = rng.integers(0, 5, 40)
    categories = np.where(rng.random(corpus.n_tokens) < 0.7, np.repeat(of_document, corpus.lengths), 3)
    token_labels = np.repeat(labels, corpus.lengths)
    categories = np.where(token_labels == UNLABELED, categories, token_labels)
    theta, phi = rng.dirichlet(np.full(5, 20.0), N_SLOTS), rng.dirichlet(np.full(30, 0.5), 5)
    return corpus, setting(corpus, categories, theta, phi, rng), phi


def contents(at: Setting) -> dict[str, bytes]:
    """All that an attempt may write."""
    arrays = {**at.documents.placements._asdict(), **at.categories.counts._asdict(), **at.categories.drawn._asdict()}
    arrays |= arrays.pop("word_topics")._asdict()
    return {name: array.tobytes() for name, array in arrays.items()}


def try_once(at: Setting, key: int) -> Outcome:
    return Outcome(attempt(*at, Concentrations(1.5, 0.5, 0.8, 1.0), np.uint64(key), lowered()))


def test_attempts_that_are_rejected_change_nothing() -> None:
    _, at, _ = crowded()
    seen: Counter[Outcome] = Counter()
    for key in range(300):
        before = contents(at)
        outcome = try_once(at, key)
        seen[outcome] += 1
        changed = {name for name, data in contents(at).items() if data != before[name]}
        if outcome in (Outcome.SPLIT, Outcome.MERGED):
            assert {"category_word", "stick", "mixture", "chance"} <= changed
            assert not changed & {"category_topic", "topic_tokens", "topic", "count", "weight", "size", "counted"}
        else:
            assert not changed
    assert min(seen[outcome] for outcome in Outcome if outcome != Outcome.IMPOSSIBLE) >= 10


def test_counts_equal_a_recount_after_every_attempt() -> None:
    """Of words: labeled tokens are counted where their labels say. Of tables: as many as can be."""
    corpus, at, _ = crowded()
    documents = np.array(exact.document_of(corpus))
    is_unlabeled = corpus.labels[documents] == UNLABELED
    n_served = np.count_nonzero(at.categories.counts.category_tables)
    stick = at.categories.drawn.stick.sum()
    for key in range(300):
        outcome = try_once(at, key)
        n_served += {Outcome.SPLIT: 1, Outcome.MERGED: -1}.get(outcome, 0)
        np.testing.assert_array_equal(
            at.categories.counts.category_word,
            count_words(corpus, at.documents.bags, at.documents.placements, N_SLOTS),
            strict=True,
        )
        categories = category_of_tokens(corpus, at)[is_unlabeled]
        at_most = np.bincount(categories, minlength=N_SLOTS)
        at_least = np.bincount(np.unique(categories + N_SLOTS * documents[is_unlabeled]) % N_SLOTS, minlength=N_SLOTS)
        tables = at.categories.counts.category_tables - at.categories.labeled_tables
        assert (at_least <= tables).all() and (tables <= at_most).all()
        assert (at.categories.counts.log_seats >= 0).all()
        served = at.categories.counts.category_tables > 0
        assert served.sum() == n_served and served[:3].all()  # known ones never join
        assert (at.categories.counts.log_seats[~served] == 0).all()
        np.testing.assert_array_equal(at.categories.drawn.stick > 0.0, served)
        np.testing.assert_allclose(at.categories.drawn.stick.sum(), stick, rtol=1e-12)
        for u, whole in enumerate(at.documents.placements.whole):
            own = at.documents.placements.token[at.documents.bags.first_token[u] : at.documents.bags.first_token[u + 1]]
            assert whole != MIXED or np.unique(own).size > 1


def test_tables_that_cannot_part_or_must_part_give_known_seats() -> None:
    """Next to no concentration: one table a document and category; a huge one: a table for each token.

    After an attempt the seats on record are those of the tables.
    """
    corpus, at, _ = crowded()
    for alpha, is_alone in ((1e-15, False), (1e15, True)):
        sizes = [
            np.diff(auxiliary_tables.seat_tables(at.documents, k, alpha, np.uint64(5), lowered()).first)
            for k in range(N_SLOTS)
        ]
        categories = category_of_tokens(corpus, at)
        pairs = np.array(exact.document_of(corpus))[:, np.newaxis] * N_SLOTS + categories[:, np.newaxis]
        pairs = pairs[corpus.labels[np.array(exact.document_of(corpus))] == UNLABELED, 0]
        expected = np.ones(pairs.size, int) if is_alone else np.unique(pairs, return_counts=True)[1]
        assert sorted(np.concatenate(sizes).tolist()) == sorted(expected.tolist())
    outcome, key = Outcome.IMPOSSIBLE, 0
    while outcome not in (Outcome.SPLIT, Outcome.MERGED):
        outcome, key = Outcome(attempt(*at, Concentrations(1e-15, 0.5, 0.8, 1.0), np.uint64(key), lowered())), key + 1
    changed = np.flatnonzero(at.categories.counts.log_seats)
    assert changed.size == (2 if outcome == Outcome.SPLIT else 1)
    for k in changed:
        tables = auxiliary_tables.seat_tables(at.documents, k, 1e-15, np.uint64(6), lowered())
        expected = sum(math.log(math.factorial(n - 1)) for n in np.diff(tables.first))
        assert at.categories.counts.log_seats[k] / FIXED_POINT == pytest.approx(
            expected, abs=tables.document.size / FIXED_POINT
        )
        assert at.categories.counts.category_tables[k] == at.categories.labeled_tables[k] + tables.document.size


def test_what_is_drawn_for_the_parts_agrees() -> None:
    """theta sums to one, and the chance of a word is the sum over topics of theta times phi."""
    _, at, phi = crowded()
    n_accepted = 0
    for key in range(100):
        outcome = try_once(at, key)
        if outcome in (Outcome.SPLIT, Outcome.MERGED):
            n_accepted += 1
            for k in np.flatnonzero(
                at.categories.drawn.chance.any(axis=0) & (at.categories.counts.category_tables > 0)
            ):
                theta = at.categories.drawn.mixture[:, k].astype(float) * at.categories.norm
                assert theta.sum() == pytest.approx(1.0, rel=1e-6)
                np.testing.assert_allclose(at.categories.drawn.chance[:, k], theta @ phi, rtol=1e-5)
    assert n_accepted >= 10


def test_the_same_key_gives_the_same_bytes() -> None:
    first, second = crowded()[1], crowded()[1]
    for key in range(50):
        assert try_once(first, key) == try_once(second, key)
    assert contents(first) == contents(second)


def test_labeled_topics_drawn_by_binomials_have_the_law_of_single_ones() -> None:
    """One labeled document of a word many times: its topics are Multinomial(n, theta phi / sum)."""
    n, n_calls = 500, 400
    corpus = harness.corpus_of([[0] * n + [1] * 5, [0]], [0, UNLABELED], 2, 1)
    rng = np.random.default_rng(9)
    theta, phi = rng.dirichlet(np.ones(4), N_SLOTS), rng.dirichlet(np.ones(2), 4)
    at = setting(corpus, np.zeros(n + 6, np.int64), theta, phi, rng)
    tables = auxiliary_tables.seat_tables(at.documents, 0, 1.0, np.uint64(1), lowered())
    total = np.zeros(4)
    for key in range(n_calls):
        held = parts.no_parts(4)
        parts.add_labeled(
            tables, 1, at.categories.counts.category_word, at.categories.drawn, 0, 1, np.uint64(key), held
        )
        assert held.topic[0].sum() == held.tokens[0] == n + 5 and held.tables[0] == 1 and not held.topic[1].any()
        total += held.topic[0]
    chances = theta[0][:, np.newaxis] * phi
    chances /= chances.sum(axis=0)
    expected = n_calls * (n * chances[:, 0] + 5 * chances[:, 1])
    variance = n_calls * (n * chances[:, 0] * (1 - chances[:, 0]) + 5 * chances[:, 1] * (1 - chances[:, 1]))
    # 4 standard errors: of four comparisons one fails with probability 2.5e-4.
    assert (np.abs(total - expected) < 4 * np.sqrt(variance)).all()


def test_without_an_unused_slot_there_is_an_error() -> None:
    _, at, _ = crowded()
    at.categories.drawn.stick[:] = 0.01
    with pytest.raises(ValueError, match="no slot is unused"):
        try_once(at, 1)
