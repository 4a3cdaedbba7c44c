"""Scores of settings against scikit-learn, a test-only dependency, and against what they must decide by hand."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from sampler.calibrated.granularity import (
    Scores,
    balanced,
    come_back,
    n_that_count,
    score_settings,
    starts_agreement,
)
from sampler.calibrated.settings import OF_WORDS, all_settings
from sampler.corpus import Array
from sampler.hyperparameters import CalibratedHyperparameters
from sampler.numerics.threads import Threads
from tests.sampler.calibrated_harness import QUICK, calibrate, easy

N_SETTINGS = len(OF_WORDS) * len(QUICK.smoothings) * len(QUICK.powers)


def balanced_table(seed: int) -> tuple[Array, Array]:
    """Labels of four categories with 30 documents each, and groups that tell something of them."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(4), 30)
    return labels, np.where(rng.random(120) < 0.6, labels // rng.integers(1, 3), rng.integers(0, 6, 120))


@pytest.mark.parametrize("seed", range(5))
def test_on_a_balanced_table_the_score_is_that_of_scikit_learn(seed: int) -> None:
    """Its Rand index is that of shares, as if each document stood for very many.

    With every document 200 times the index of documents differs from it by less than twice one part in 24,000, the
    pairs of a document with itself, over the 1 / 4 that expectation and maximum are apart.
    """
    labels, groups = balanced_table(seed)
    nmi = normalized_mutual_info_score(labels, groups, average_method="arithmetic")
    rand = adjusted_rand_score(np.tile(labels, 200), np.tile(groups, 200))
    assert balanced(labels, groups, 4) == pytest.approx((nmi + rand) / 2, abs=5e-4)


def test_every_label_weighs_the_same_however_many_documents_bear_it() -> None:
    """Documents of a rare label may as well be repeated; a label that nobody bears counts for nothing."""
    labels, groups = balanced_table(7)
    rare = np.flatnonzero((labels > 0) | (np.arange(120) % 3 == 0))  # a third of category 0
    often = np.concatenate([rare, *[rare[labels[rare] == 0]] * 2])
    expected = balanced(labels[rare], groups[rare], 4)
    assert balanced(labels[often], groups[often], 4) == pytest.approx(expected, abs=1e-12)
    assert balanced(labels[rare], groups[rare], 9) == pytest.approx(expected, abs=1e-12)
    assert (labels[rare] == 0).sum() == 10


def test_the_score_is_1_for_the_labels_themselves_and_0_where_groups_tell_nothing() -> None:
    labels = np.repeat([0, 1, 2], [3, 10, 30])
    assert balanced(labels, (labels + 5) % 7, 3) == pytest.approx(1.0, abs=1e-12)
    assert balanced(labels, np.zeros(43, int), 3) == pytest.approx(0.0, abs=1e-12)
    even = np.repeat(np.arange(3), 4)
    assert balanced(even, np.tile(np.arange(4), 3), 3) == pytest.approx(0.0, abs=0.25)  # groups halve by chance


def test_starts_agree_by_the_mean_rand_index_of_their_pairs() -> None:
    rng = np.random.default_rng(81)
    partitions = [rng.integers(0, 3, 50) for _ in range(3)] + [np.repeat([0, 1], 25)] * 2
    expected = np.mean([adjusted_rand_score(a, b) for a, b in combinations(partitions, 2)])
    assert starts_agreement(partitions) == pytest.approx(expected, abs=1e-12)


def test_a_start_that_leaves_everything_together_agrees_with_none() -> None:
    together, parted = np.zeros(10, int), np.arange(10) % 2
    assert starts_agreement([together, together]) == 0.0
    assert starts_agreement([together + 3, parted]) == 0.0
    assert starts_agreement([parted, parted]) == 1.0
    assert starts_agreement([parted, parted, together]) == pytest.approx(1 / 3)
    assert starts_agreement([np.empty(0, int)] * 2) == 0.0


def constant(groups: Array) -> list[Array]:
    """The same groups int[n] under all settings, from two starts."""
    return [np.tile(groups, (N_SETTINGS, 1))] * 2


def assert_weights_are_shares(scores: Scores, hyperparameters: CalibratedHyperparameters) -> None:
    """They sum to 1, over the best settings within the window alone, and rise with the score as they shall."""
    held = scores.weight > 0
    assert scores.weight.sum() == pytest.approx(1.0, abs=1e-12) and scores.weight.min() >= 0.0
    assert 1 <= held.sum() <= hyperparameters.n_settings
    assert scores.score[held].min() >= scores.score.max() - hyperparameters.score_window
    assert scores.score[held].min() >= scores.score[~held].max(initial=-np.inf)
    ratio = np.exp((scores.score[held] - scores.score.max()) / hyperparameters.score_scale)
    np.testing.assert_allclose(scores.weight[held], ratio / ratio.sum(), rtol=1e-9)


@pytest.mark.parametrize(
    ("n_known", "power_center", "expected"),
    [(2, -3.0, 0.0), (2, 1.2, 1.0), (2, 1.7, 2.0), (3, 1.7, 1.0), (6, 1.7, 0.0)],
)
def test_the_prior_decides_where_nothing_else_does(n_known: int, power_center: float, expected: float) -> None:
    """With more known categories its center is nearer to 0."""
    hyperparameters = replace(QUICK, power_center=power_center, power_weight=0.1, n_settings=6)
    labels = np.repeat(np.arange(n_known), 5)
    scores = score_settings(constant(labels), labels, n_known, constant(np.arange(8) % 3), hyperparameters)
    kept = [all_settings(hyperparameters)[s] for s in np.flatnonzero(scores.weight)]
    assert {k.power for k in kept} == {expected}
    assert {(k[:2], k.smoothing) for k in kept} == {(variant[:2], beta) for variant in OF_WORDS for beta in (0.4, 0.8)}
    np.testing.assert_array_equal(scores.given_back, scores.given_back[0])
    np.testing.assert_array_equal(scores.stability, 1.0)
    assert_weights_are_shares(scores, hyperparameters)


@pytest.mark.parametrize("n_known", [0, 1])
def test_fewer_than_two_known_categories_tell_nothing(n_known: int) -> None:
    """One category is given back best by a setting that never parts anything."""
    labels = np.zeros(6 * n_known, int)
    for new in (constant(np.arange(4) % 2), constant(np.empty(0, int))):
        scores = score_settings(constant(labels), labels, n_known, new, QUICK)
        np.testing.assert_array_equal(scores.given_back, 0.0)
        assert_weights_are_shares(scores, QUICK)


def test_the_setting_that_gives_the_labels_back_wins_and_so_does_the_stable_one() -> None:
    labels, rng = np.repeat([0, 1, 2], 20), np.random.default_rng(82)
    no_prior = replace(QUICK, power_weight=0.0, score_window=0.03)
    known = [rng.integers(0, 3, (N_SETTINGS, 60)) for _ in range(2)]
    for groups in known:
        groups[7] = labels
    unstable = [rng.integers(0, 3, (N_SETTINGS, 40)) for _ in range(2)]
    scores = score_settings(known, labels, 3, unstable, no_prior)
    assert scores.given_back[7] == pytest.approx(1.0) and scores.weight[7] == pytest.approx(1.0)
    stable = [groups.copy() for groups in unstable]
    for groups in stable:
        groups[4] = np.arange(40) % 3
    scores = score_settings(constant(labels), labels, 3, stable, no_prior)
    assert scores.stability[4] == pytest.approx(1.0) and scores.weight[4] == pytest.approx(1.0)


@pytest.mark.parametrize("window", [0.0, 0.03, 1.0])
def test_weights_are_shares_of_the_best_settings(window: float) -> None:
    rng = np.random.default_rng(83)
    labels, hyperparameters = np.repeat([0, 1], 30), replace(QUICK, score_window=window, score_scale=0.1, n_settings=8)
    known = [np.where(rng.random((N_SETTINGS, 60)) < 0.95, labels, 1 - labels) for _ in range(2)]
    scores = score_settings(known, labels, 2, constant(np.arange(9) % 2), hyperparameters)
    assert_weights_are_shares(scores, hyperparameters)


def test_the_known_categories_of_an_easy_corpus_are_given_back_and_the_new_ones_are_stable() -> None:
    with Threads() as threads:
        found = calibrate(easy([40, 40, 40, 40], [16, 16, 0, 0]).corpus, threads)[2]
    kept = found.scores.weight > 0
    assert found.scores.given_back[kept].min() > 0.95 and found.scores.stability[kept].min() > 0.95


def test_known_categories_come_back_as_groups_with_half_of_their_documents_in_common() -> None:
    labels = np.repeat([0, 1, 2], [40, 40, 40])
    groups = np.repeat([0, 1, 2, 2, 3], [40, 30, 10, 40, 0]).astype(np.uint16)  # 1 loses ten to the group of 2
    assert come_back(labels, groups, 3) == (3, 0, 110 / 120)
    halves = np.repeat([0, 1, 2, 3], [40, 40, 20, 20]).astype(np.uint16)  # one half of 2 is it, the other a part
    assert come_back(labels, halves, 3) == (3, 1, 100 / 120)
    glued = np.repeat([0, 0, 1], [40, 40, 40]).astype(np.uint16)  # the two have 40 of 80 in common with either
    assert come_back(labels, glued, 3) == (2, 0, 80 / 120)
    thirds = np.repeat([0, 0, 0], [40, 40, 40]).astype(np.uint16)
    assert come_back(labels, thirds, 3) == (0, 1, 40 / 120)
    nobody = np.empty(0, np.int64)
    *counts, right = come_back(nobody, nobody.astype(np.uint16), 0)
    assert counts == [0, 0] and np.isnan(right)


def test_small_groups_do_not_count() -> None:
    assert n_that_count(np.array([100, 100, 5, 2, 0])) == 2  # a tenth of the mean, 51.75, is more than 5
    assert n_that_count(np.array([3, 3, 2])) == 2
    assert n_that_count(np.zeros(4)) == 0
