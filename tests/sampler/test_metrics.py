"""Scores against scikit-learn, a test-only dependency."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, f1_score, normalized_mutual_info_score

from sampler.answers import metrics


def labelings() -> list[tuple[np.ndarray, np.ndarray]]:
    """Random ones, and those at the edges."""
    rng = np.random.default_rng(41)
    pairs = []
    for _ in range(100):
        n = rng.integers(1, 60)
        pairs.append((rng.integers(0, rng.integers(1, 8), n), rng.integers(0, rng.integers(1, 8), n)))
    one, all_apart = np.zeros(9, int), np.arange(9)
    some = np.array([0, 0, 1, 1, 2, 2, 2, 5, 5])
    pairs += [(a, b) for a in (one, all_apart, some, some[::-1] + 7) for b in (one, all_apart, some)]
    big = rng.integers(0, 20, 20_000)
    return [*pairs, (big, np.where(rng.random(20_000) < 0.3, rng.integers(0, 30, 20_000), big)), (big, big * 3 + 1)]


def test_nmi_is_that_of_scikit_learn() -> None:
    for true, found in labelings():
        expected = normalized_mutual_info_score(true, found, average_method="arithmetic")
        assert metrics.nmi(true, found) == pytest.approx(expected, abs=1e-9)


def test_ari_is_that_of_scikit_learn() -> None:
    for true, found in labelings():
        assert metrics.ari(true, found) == pytest.approx(adjusted_rand_score(true, found), abs=1e-12)


def test_mean_f1_is_the_macro_average_of_scikit_learn_over_the_known_categories() -> None:
    for true, found in labelings():
        for known in ([0], [0, 1, 2], [2, 90]):  # 90 occurs nowhere: its F1 is zero
            expected = f1_score(true, found, labels=known, average="macro", zero_division=0)
            assert metrics.mean_f1(true, found, known) == pytest.approx(expected, abs=1e-12)


def test_scores_do_not_depend_on_the_names_or_the_order_of_documents() -> None:
    rng = np.random.default_rng(42)
    true, found = rng.integers(0, 5, 300), rng.integers(0, 6, 300)
    order = rng.permutation(300)
    names = np.array(list("fbadce"))
    for score in (metrics.nmi, metrics.ari):
        assert score(true[order], names[found][order]) == pytest.approx(score(true, found), abs=1e-12)
        assert score(found, true) == pytest.approx(score(true, found), abs=1e-12)


def test_scores_refuse_what_does_not_match() -> None:
    for score in (metrics.nmi, metrics.ari):
        with pytest.raises(ValueError, match="2 true categories do not match 3"):
            score([0, 1], [0, 1, 2])
        with pytest.raises(ValueError, match="0 true"):
            score([], [])
    with pytest.raises(ValueError, match="2 true and 3 found"):
        metrics.mean_f1([0, 1], [0, 1, 2], [0])
    with pytest.raises(ValueError, match="0 known"):
        metrics.mean_f1([0], [0], [])
