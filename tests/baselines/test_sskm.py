"""Semi-supervised kernel k-means, against its kernel and its objective written out, pair by pair, and scikit-learn."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from baselines import method
from baselines.settings import SskmSettings
from baselines.sskm import SINGLE, Sskm, refilled, smallest_shift
from sampler.corpus import NO_CATEGORY, UNLABELED, Array
from sampler.numerics.threads import Interrupted
from tests.baselines.groups_harness import (
    blobs,
    dumps_of_an_interrupted_run,
    given,
    is_same_partition,
    partitions,
    random_corpus,
    settled,
    states,
)

LABELS = [0, 1, 0, 2, 1, 0, 2, 0]
HEAVY = SskmSettings(weight=5.0)  # constraints and rows pull alike


def heavy(n_documents: int = 40, n_groups: int = 5) -> Sskm:
    return Sskm(given(random_corpus(n_documents, LABELS, 3, n_words=20), n_groups), HEAVY)


def constraints_of(tried: Sskm) -> Array:
    """A, pair by pair."""
    n = tried.documents.size
    matrix = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if i != j and min(tried.labels[i], tried.labels[j]) >= 0:
                matrix[i, j] = tried.weight if tried.labels[i] == tried.labels[j] else -tried.weight
    return matrix


def written_out(tried: Sskm, group: Array) -> float:
    """J: squared distances to the means, less rewards and plus penalties, over ordered pairs."""
    dense, constraints, total = tried.matrix.toarray(), constraints_of(tried), 0.0
    for s in np.unique(group):
        own = np.flatnonzero(group == s)
        total += float(((dense[own] - dense[own].mean(axis=0)) ** 2).sum())
        total -= float(constraints[np.ix_(own, own)].sum()) / own.size
    return total


def test_the_objective_is_the_one_over_pairs_and_never_falls_in_either_phase() -> None:
    for chain in range(3):
        tried, phases, last = heavy(), set(), -np.inf
        for state in states(tried, chain):
            np.testing.assert_allclose(-state.objective, written_out(tried, state.own["group"]), rtol=1e-10)
            assert state.objective >= last - 1e-9
            last = state.objective
            phases.add(int(state.own["phase"][0]))
        assert len(phases) == 2


def test_distances_are_those_under_the_kernel_with_all_constraints() -> None:
    tried = heavy()
    group = np.arange(40) % 5
    kernel = (tried.matrix @ tried.matrix.T).toarray() + constraints_of(tried) + tried.shift * np.eye(40)
    member = np.eye(5)[group]
    mean = member / member.sum(axis=0)
    expected = np.diag(kernel)[:, None] - 2 * kernel @ mean + np.diag(mean.T @ kernel @ mean)
    observed = tried.distances(tried.groups(group), group, slice(0, 40)) + 1.0 + tried.shift
    np.testing.assert_allclose(observed, expected, atol=1e-12)


def test_the_shift_is_the_least_that_makes_any_kernel_with_the_constraints_semidefinite() -> None:
    tried = heavy()
    np.testing.assert_allclose(tried.shift, -np.linalg.eigvalsh(constraints_of(tried)).min(), rtol=1e-10)
    assert smallest_shift(np.array([], np.int64), 1.0) == 0.0


def test_where_it_settles_no_move_of_one_document_would_gain() -> None:
    tried = heavy(30)
    group = settled(tried).own["group"]
    reached = written_out(tried, group)
    for d in range(group.size):
        for s in range(5):
            moved = group.copy()
            moved[d] = s
            assert np.unique(moved).size < 5 or written_out(tried, moved) >= reached - 1e-8


def test_the_best_chain_is_the_best_of_all_partitions_of_nine_documents() -> None:
    tried = Sskm(given(random_corpus(9, [0, 1, 0, 1], 2), 3), HEAVY)
    best = min(written_out(tried, np.array(group)) for group in partitions(9, 3))
    np.testing.assert_allclose(-max(settled(tried, chain).objective for chain in range(10)), best, rtol=1e-10)


def test_batch_rounds_without_constraints_are_plain_k_means() -> None:
    tried = Sskm(given(random_corpus(200, [], 0, n_words=30), 4), SskmSettings(weight=0.0))
    start = tried.start(1).own["group"]
    dense = tried.matrix.toarray()
    centers = np.array([dense[start == s].mean(axis=0) for s in range(4)])
    reference = KMeans(4, init=centers, n_init=1, tol=0.0).fit(dense)
    after_batches = next(state for state in states(tried, 1) if state.own["phase"][0] == SINGLE)
    np.testing.assert_array_equal(after_batches.own["group"], reference.labels_)
    np.testing.assert_allclose(-after_batches.objective, reference.inertia_)


def test_constraints_that_weigh_enough_are_all_kept() -> None:
    corpus = random_corpus(40, LABELS, 3, n_words=20)
    tried = Sskm(given(corpus, 3), SskmSettings(weight=1e4))
    state = settled(tried)
    assert tried.violations(state) == (0, 0)
    np.testing.assert_array_equal(state.own["group"][: len(LABELS)], LABELS)


def test_violations_are_counted_in_pairs() -> None:
    tried = heavy()
    state = tried.start(0)
    state.own["group"] = np.random.default_rng(0).integers(5, size=40)
    apart = together = 0
    for i in range(len(LABELS)):
        for j in range(i):
            is_one_group = state.own["group"][i] == state.own["group"][j]
            apart += LABELS[i] == LABELS[j] and not is_one_group
            together += LABELS[i] != LABELS[j] and is_one_group
    assert tried.violations(state) == (apart, together)
    assert apart > 0 and together > 0


def test_separate_groups_are_found_and_known_ones_have_their_names() -> None:
    corpus, truth = blobs([20, 20, 20, 20], [8, 8, 0, 0])
    state = max(
        (settled(Sskm(given(corpus, 4), SskmSettings()), chain) for chain in range(4)), key=lambda s: s.objective
    )
    assert is_same_partition(state.category[:-1], truth[:-1])
    np.testing.assert_array_equal(state.category[truth < 2][:-1], truth[truth < 2][:-1])
    assert state.category[-1] == NO_CATEGORY  # it has no word
    np.testing.assert_array_equal(state.category[corpus.labels >= 0], corpus.labels[corpus.labels >= 0])


def test_the_first_chain_starts_at_the_farthest_documents_and_others_elsewhere() -> None:
    tried = heavy()
    np.testing.assert_array_equal(tried.start(0).own["group"], heavy().start(0).own["group"])
    assert any((tried.start(0).own["group"] != tried.start(chain).own["group"]).any() for chain in (1, 2))
    matrix = tried.matrix.toarray()
    sums = np.array([matrix[tried.labels == y].sum(axis=0) for y in range(3)])
    cosine = (matrix @ (sums / np.linalg.norm(sums, axis=1, keepdims=True)).T).max(axis=1)
    farthest = np.where(tried.labels == UNLABELED, cosine, np.inf).argmin()
    assert tried.start(0).own["group"][farthest] == 3


def test_an_empty_group_takes_the_farthest_document_that_has_company() -> None:
    group = refilled(np.array([0, 0, 2, 0]), np.array([1.0, 3.0, 9.0, 2.0]), 4)
    np.testing.assert_array_equal(group, [0, 1, 2, 3])


def test_a_run_goes_on_from_its_bytes_as_if_it_had_never_stopped() -> None:
    tried = heavy(60)
    n_sweeps = settled(tried, 1).n_sweeps
    whole, parts = dumps_of_an_interrupted_run(tried, tried.given.corpus, n_sweeps)
    assert whole == parts


def test_corpora_that_lack_labels_or_words_are_no_trouble() -> None:
    no_labels = random_corpus(30, [], 0, n_words=20)
    assert np.unique(settled(Sskm(given(no_labels, 4), SskmSettings())).category).size == 4
    all_labeled = random_corpus(4, [0, 1, 0, 1], 2, n_words=20)
    assert settled(Sskm(given(all_labeled, 3), SskmSettings())).category.tolist() == [0, 1, 0, 1]
    copies = random_corpus(6, [], 0, n_words=1)  # every word is in all documents: no row has weight
    assert settled(Sskm(given(copies, 2), SskmSettings())).category.tolist() == [NO_CATEGORY] * 6


def test_a_raised_flag_ends_a_sweep_of_either_phase() -> None:
    for n_sweeps in (0, settled(heavy()).n_sweeps - 1):
        tried = heavy()
        state = tried.start(0)
        for _ in range(n_sweeps):
            method.advance(tried, state)
        tried.given.threads.stop[0] = 1
        with pytest.raises(Interrupted):
            method.advance(tried, state)


def test_constants_without_sense_are_refused_with_their_values() -> None:
    with pytest.raises(ValueError, match="weight = -1 is not within 0"):
        SskmSettings(weight=-1)
    with pytest.raises(ValueError, match="n_categories = 2 is not at least 3"):
        Sskm(given(random_corpus(40, LABELS, 3), 2), SskmSettings())
