"""Pooled chains against cases worked out by hand, against draws kept one by one, and against themselves renamed."""

import tracemalloc
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from sampler.answers.consensus import Consensus, consensus_of
from sampler.answers.pooling import SHARES, agreement, pool
from sampler.answers.tally import Tally
from sampler.corpus import NO_CATEGORY, UNLABELED, Array, Corpus
from sampler.numerics.threads import Threads
from tests.sampler import harness

ROUNDED = 2.0 / SHARES  # the error of a pooled probability


def corpus_of(labels: Sequence[int], n_known: int, empty: Sequence[int] = ()) -> Corpus:
    """One word a document, but for the empty ones."""
    return harness.corpus_of([[] if d in empty else [0] for d in range(len(labels))], labels, 1, n_known)


def tally_of(corpus: Corpus, draws: Sequence[Sequence[int]]) -> Tally:
    """The tally of kept draws, each the identity that holds every document; counted one by one."""
    is_told = (corpus.labels < 0) & (corpus.lengths > 0)
    counts = Counter((d, draw[d]) for draw in draws for d in np.flatnonzero(is_told).tolist())
    entries = np.array(sorted((d, identity, hits) for (d, identity), hits in counts.items()), np.int64)
    entries = entries.reshape(-1, 3)
    return Tally(len(draws), entries[:, 0].astype(np.int32), entries[:, 1], entries[:, 2].astype(np.int32))


def random_draws(rng: np.random.Generator, truth: Array, n_draws: int, noise: float, n_known: int) -> list[list[int]]:
    """Draws of one chain around a truth, its new categories renamed and its documents at times astray."""
    names = np.append(np.arange(n_known), n_known + rng.permutation(12))
    answers = np.where(rng.random(truth.size) < noise, rng.integers(0, n_known + 4, truth.size), truth)
    return [
        names[np.where(rng.random(truth.size) < 0.2, rng.integers(0, n_known + 5, truth.size), answers)].tolist()
        for _ in range(n_draws)
    ]


def assert_same_answers(found: Consensus, expected: Consensus) -> None:
    """Equal but for rounding."""
    assert found.n_categories == expected.n_categories
    for field in ("category", "runner_up"):
        np.testing.assert_array_equal(getattr(found, field), getattr(expected, field))
    for field in ("probability", "runner_up_probability"):
        np.testing.assert_allclose(getattr(found, field), getattr(expected, field), atol=ROUNDED)


def test_agreement_is_the_adjusted_rand_index_of_scikit_learn_where_both_answer() -> None:
    rng = np.random.default_rng(1)
    partitions = [rng.integers(-1, k, 80) for k in (1, 3, 6, 40)]
    found = agreement(partitions, Threads())
    for a in range(4):
        for b in range(4):
            both = (partitions[a] != NO_CATEGORY) & (partitions[b] != NO_CATEGORY)
            expected = adjusted_rand_score(partitions[a][both], partitions[b][both])
            assert found[a, b] == pytest.approx(expected, abs=1e-12)
    assert agreement([np.array([0, NO_CATEGORY]), np.array([NO_CATEGORY, 0])], Threads())[0, 1] == 1.0


def test_equal_chains_pool_to_what_one_of_them_concludes() -> None:
    rng = np.random.default_rng(2)
    for seed in range(20):
        labels = np.where(rng.random(40) < 0.3, rng.integers(0, 2, 40), -1)
        corpus = corpus_of(labels.tolist(), n_known=2, empty=(3, 17))
        draws = random_draws(rng, rng.integers(0, 6, 40), 1 + seed % 5, 0.1, n_known=2)
        tally = tally_of(corpus, draws)
        for n_chains in (1, 3):
            pooled = pool(corpus, [tally] * n_chains)
            assert_same_answers(pooled.consensus, consensus_of(corpus, tally))
            np.testing.assert_array_equal(pooled.agreement, np.ones((n_chains, n_chains)))
            assert pooled.reference == 0


def test_chains_whose_new_categories_are_renamed_pool_to_the_same() -> None:
    """In each chain other names in the order of birth, which only ties depend on; 101 draws leave none."""
    rng = np.random.default_rng(3)
    corpus = corpus_of([-1] * 60, n_known=1)
    truth = np.repeat(np.arange(5), [10, 17, 14, 11, 8])
    chains = [np.array(random_draws(rng, truth, 101, 0.05, n_known=1)) for _ in range(3)]
    expected = pool(corpus, [tally_of(corpus, draws.tolist()) for draws in chains])
    for _ in range(5):
        names = [np.append(0, 1 + rng.permutation(40)) for _ in chains]
        renamed = [tally_of(corpus, name[draws].tolist()) for name, draws in zip(names, chains, strict=True)]
        found = pool(corpus, renamed)
        assert adjusted_rand_score(found.consensus.category, expected.consensus.category) == 1.0
        np.testing.assert_allclose(found.consensus.probability, expected.consensus.probability, atol=ROUNDED)
        np.testing.assert_allclose(found.stability, expected.stability, atol=1e-12)
        np.testing.assert_allclose(np.sort(found.category_stability), np.sort(expected.category_stability), atol=1e-12)
        np.testing.assert_allclose(found.agreement, expected.agreement, atol=1e-12)


def test_documents_are_together_where_most_chains_put_them_together() -> None:
    """By brute force: the shares of chains that have two documents in one category, for all pairs."""
    rng = np.random.default_rng(4)
    corpus = corpus_of([-1] * 90, n_known=2)
    truth = np.repeat(np.arange(6), 15)
    for _ in range(10):
        answers = [np.where(rng.random(90) < 0.08, rng.integers(0, 6, 90), truth) for _ in range(5)]
        together = np.mean([a[:, None] == a for a in answers], axis=0)
        named = [np.append([0, 1], 2 + rng.permutation(9))[a] for a in answers]
        category = pool(corpus, [tally_of(corpus, [a.tolist()]) for a in named]).consensus.category
        is_core = np.array([np.bincount(column, minlength=6).max() >= 4 for column in np.transpose(answers)])
        expected = (together > 0.5)[np.ix_(is_core, is_core)]
        assert is_core.sum() > 70
        np.testing.assert_array_equal((category[:, None] == category)[np.ix_(is_core, is_core)], expected)


def test_a_split_category_is_carried_over() -> None:
    """Two chains have eight documents in one category, the third has them in halves of four."""
    corpus = corpus_of([-1] * 12, n_known=1)
    whole, halves = [[5] * 8 + [0] * 4], [[7] * 4 + [3] * 4 + [0] * 4]
    pooled = pool(corpus, [tally_of(corpus, draws) for draws in (halves, whole, whole)])
    assert pooled.reference == 1
    assert pooled.consensus.category.tolist() == [1] * 8 + [0] * 4
    np.testing.assert_allclose(pooled.consensus.probability, 1.0, atol=ROUNDED)
    np.testing.assert_allclose(pooled.stability, [(0.5 + 1 + 1) / 3] * 8 + [1.0] * 4)
    np.testing.assert_allclose(pooled.category_stability, [1.0, (0.5 + 1 + 1) / 3])


def test_a_joined_category_is_divided_as_its_documents_are() -> None:
    """One of three chains has six and four documents in one: it gives 0.6 and 0.4 to both, beside 1 by each other."""
    corpus = corpus_of([-1] * 12, n_known=1)
    apart, joined = [[1] * 6 + [2] * 4 + [0] * 2], [[1] * 10 + [0] * 2]
    consensus = pool(corpus, [tally_of(corpus, draws) for draws in (apart, joined, apart)]).consensus
    assert consensus.category.tolist() == [1] * 6 + [2] * 4 + [0] * 2
    expected = [2.6 / 3] * 6 + [2.4 / 3] * 4 + [1.0] * 2
    np.testing.assert_allclose(consensus.probability, expected, atol=ROUNDED)
    np.testing.assert_allclose(consensus.runner_up_probability[:10], [0.4 / 3] * 6 + [0.6 / 3] * 4, atol=ROUNDED)


def test_documents_weigh_what_two_draws_would_both_say_of_them() -> None:
    """The joined category holds 4 + 2 x 0.75 documents' worth of one, and of the other 4 that it had in 0.75."""
    corpus = corpus_of([-1] * 12, n_known=1)
    apart = [[1] * 6 + [2] * 4 + [0] * 2] * 3 + [[1] * 6 + [0] * 6]
    joined = [[1] * 10 + [0] * 2] * 3 + [[0] * 2 + [1] * 8 + [0] * 2]
    consensus = pool(corpus, [tally_of(corpus, draws) for draws in (apart, joined, apart)]).consensus
    assert consensus.category.tolist() == [1] * 6 + [2] * 4 + [0] * 2
    one, other = 5.5 / 8.5, 3 / 8.5
    expected = [(2 + 0.75 * one) / 3] * 2 + [(2 + one) / 3] * 4 + [(2 * 0.75 + other) / 3] * 4 + [1.0] * 2
    np.testing.assert_allclose(consensus.probability, expected, atol=ROUNDED)


def test_a_category_with_a_weak_match_is_not_carried_over() -> None:
    """Nine documents of which six are among the reference's twelve: a Jaccard index of 6 / 15."""
    corpus = corpus_of([-1] * 20, n_known=1)
    most, other = [[1] * 12 + [0] * 8], [[0] * 6 + [1] * 9 + [0] * 5]
    consensus = pool(corpus, [tally_of(corpus, draws) for draws in (most, most, other)]).consensus
    assert consensus.category.tolist() == [1] * 12 + [0] * 8
    expected = [2 / 3] * 12 + [2 / 3] * 3 + [1.0] * 5
    np.testing.assert_allclose(consensus.probability, expected, atol=ROUNDED)


def test_a_slight_part_of_a_category_is_not_divided() -> None:
    """One document of twenty elsewhere would otherwise give all the others a runner-up."""
    corpus = corpus_of([-1] * 30, n_known=0)
    one, other = [[0] * 20 + [1] * 10], [[4] * 19 + [5] * 11]
    consensus = pool(corpus, [tally_of(corpus, draws) for draws in (one, other, one)]).consensus
    assert consensus.runner_up.tolist() == [NO_CATEGORY] * 19 + [1] + [NO_CATEGORY] * 10


def test_a_new_category_that_two_other_chains_have_counts() -> None:
    """The first chain lacks it and is the reference nevertheless, since the others differ more from one another."""
    corpus = corpus_of([-1] * 40, n_known=1)
    chains = [[1] * 20 + [0] * 20, [0] * 6 + [7] * 14 + [0] * 16 + [2] * 4, [8] * 14 + [0] * 6 + [0] * 16 + [1] * 4]
    pooled = pool(corpus, [tally_of(corpus, [draw]) for draw in chains])
    assert pooled.reference == 0
    assert pooled.consensus.category.tolist() == [1] * 20 + [0] * 16 + [2] * 4
    expected = [2 / 3] * 6 + [1.0] * 8 + [2 / 3] * 6 + [1.0] * 16 + [2 / 3] * 4
    np.testing.assert_allclose(pooled.consensus.probability, expected, atol=ROUNDED)


def test_a_new_category_that_one_other_chain_has_does_not_count() -> None:
    """Nor where it has the greatest share: 5 is the second chain's alone."""
    corpus = corpus_of([-1] * 10, n_known=1)
    first, second = [[1] * 8 + [0] * 2, [1] * 8 + [1] * 2], [[3] * 8 + [5] * 2] * 2
    consensus = pool(corpus, [tally_of(corpus, draws) for draws in (first, second)]).consensus
    assert consensus.category.tolist() == [1] * 8 + [0] * 2
    np.testing.assert_allclose(consensus.probability, [1.0] * 8 + [0.25] * 2, atol=ROUNDED)


def test_what_a_chain_calls_new_never_counts_for_a_known_category() -> None:
    """All of the second chain's new category is known to the first: half of all draws, not all."""
    corpus = corpus_of([-1] * 8, n_known=2)
    consensus = pool(corpus, [tally_of(corpus, [[1] * 5 + [0] * 3]), tally_of(corpus, [[6] * 5 + [0] * 3])]).consensus
    assert consensus.category.tolist() == [1] * 5 + [0] * 3
    np.testing.assert_allclose(consensus.probability, [0.5] * 5 + [1.0] * 3, atol=ROUNDED)


def stabilities(
    corpus: Corpus, category: Array, n_categories: int, chains: list[list[list[int]]]
) -> tuple[dict[int, list[float]], dict[int, list[float]]]:
    """Stability by sets of documents, draw by draw: what its docstring says, with nothing summed beforehand."""
    told = [d for d in range(corpus.n_documents) if corpus.labels[d] < 0 and corpus.lengths[d] > 0]
    pooled = {k: {d for d in told if category[d] == k} for k in range(n_categories)}
    of_documents = {d: [] for d in told}
    of_categories = {k: [] for k in range(n_categories) if pooled[k]}
    for draws in chains:
        answers = {
            d: min(Counter(draw[d] for draw in draws).items(), key=lambda item: (-item[1], item[0]))[0] for d in told
        }
        members = {i: {d for d in told if answers[d] == i} for draw in draws for i in draw}

        def similarity(k: int, i: int, members: dict = members) -> float:
            if not members[i] or (k != i and min(k, i) < corpus.n_known):
                return 0.0
            return len(pooled[k] & members[i]) / len(pooled[k] | members[i])

        for d in told:
            of_documents[d].append(np.mean([similarity(category[d], draw[d]) for draw in draws]))
        for k, best in of_categories.items():
            best.append(max(similarity(k, i) for i in members))
    return of_documents, of_categories


def test_stability_is_that_of_sets_of_documents_draw_by_draw() -> None:
    rng = np.random.default_rng(5)
    for _ in range(30):
        labels = np.where(rng.random(30) < 0.3, rng.integers(0, 2, 30), -1)
        corpus = corpus_of(labels.tolist(), n_known=2, empty=(0, 11))
        truth = rng.integers(0, 6, 30)
        chains = [random_draws(rng, truth, int(rng.integers(1, 7)), 0.2, n_known=2) for _ in range(3)]
        pooled = pool(corpus, [tally_of(corpus, draws) for draws in chains])
        consensus = pooled.consensus
        of_documents, of_categories = stabilities(corpus, consensus.category, consensus.n_categories, chains)
        for d in range(30):
            without = 1.0 if labels[d] >= 0 else np.nan
            expected = np.mean(of_documents[d]) if d in of_documents else without
            assert pooled.stability[d] == pytest.approx(expected, nan_ok=True)
        for k in range(consensus.n_categories):
            expected = np.mean(of_categories[k]) if k in of_categories else np.nan
            assert pooled.category_stability[k] == pytest.approx(expected, nan_ok=True)


def test_memory_is_that_of_the_entries() -> None:
    """A tenth of one float for each document, category and chain; each document has one entry a chain."""
    rng = np.random.default_rng(7)
    n_documents, n_categories, n_chains = 50_000, 200, 4
    lengths, labels = np.ones(n_documents, np.int64), np.full(n_documents, -1, np.int32)
    corpus = Corpus(np.zeros(n_documents, np.int32), np.append(0, np.cumsum(lengths)), labels, 1, 10)
    truth, hits = rng.integers(0, n_categories, n_documents), np.full(n_documents, 5, np.int32)
    document, tallies = np.arange(n_documents, dtype=np.int32), []
    for _ in range(n_chains):
        names = np.append(np.arange(10), 10 + rng.permutation(n_categories - 10))
        answers = np.where(rng.random(n_documents) < 0.1, rng.integers(0, n_categories, n_documents), truth)
        tallies.append(Tally(5, document, names[answers], hits))
    tracemalloc.start()
    pooled = pool(corpus, tallies)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.1 * 8 * n_documents * n_categories * n_chains
    assert pooled.consensus.n_categories == n_categories
    assert adjusted_rand_score(truth, pooled.consensus.category) > 0.95


def test_corpora_without_an_unlabeled_word_can_be_pooled() -> None:
    corpus = corpus_of([0, 1, -1], n_known=2, empty=(2,))
    pooled = pool(corpus, [tally_of(corpus, [[0, 1, 0]])] * 2)
    assert pooled.consensus.category.tolist() == [0, 1, NO_CATEGORY]
    np.testing.assert_array_equal(pooled.stability, [1.0, 1.0, np.nan])
    np.testing.assert_array_equal(pooled.category_stability, [np.nan, np.nan])
    wordless = corpus_of([-1], n_known=0, empty=(0,))
    assert pool(wordless, [tally_of(wordless, [[0]])]).consensus.n_categories == 0


def test_chains_without_a_draw_are_refused() -> None:
    corpus = corpus_of([-1], n_known=0)
    with pytest.raises(ValueError, match="of 0 chains"):
        pool(corpus, [])
    with pytest.raises(ValueError, match=r"of 2 chains those numbered \[1\]"):
        pool(corpus, [tally_of(corpus, [[0]]), tally_of(corpus, [])])


def test_shares_are_those_of_the_draws_and_agree_with_the_answers() -> None:
    """Two equal chains of four draws: document 0 is three times in new category 4 and once in the known one."""
    corpus = corpus_of([UNLABELED, 0, UNLABELED], 1)
    tally = tally_of(corpus, [[4, 0, 4], [4, 0, 4], [4, 0, 0], [0, 0, 4]])
    pooled = pool(corpus, [tally, tally])
    np.testing.assert_allclose(pooled.shares.toarray(), [[0.25, 0.75], [0.0, 0.0], [0.25, 0.75]], atol=ROUNDED)
    best = pooled.shares.max(axis=1).toarray().ravel()
    np.testing.assert_allclose(best[[0, 2]], pooled.consensus.probability[[0, 2]], atol=ROUNDED)
