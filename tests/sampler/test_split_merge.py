"""What splits and merges do to categories that are clear, and what they change and leave in any state."""

import math
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from sampler.corpus import UNLABELED, Array, Corpus
from sampler.hyperparameters import Hyperparameters
from sampler.lbpl_ntm.blocked import auxiliary_tables, parts
from sampler.lbpl_ntm.blocked.arrays import FIXED_POINT, MIXED, count_words
from sampler.lbpl_ntm.blocked.split_merge import Outcome, attempt
from sampler.lbpl_ntm.concentrations import Concentrations
from sampler.lbpl_ntm.simulate import simulate_separated
from sampler.numerics.streams import branch
from sampler.numerics.threads import lowered
from tests.sampler import exact, harness
from tests.sampler.split_merge_harness import N_SLOTS, Setting, ascending, category_of_tokens, setting


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
