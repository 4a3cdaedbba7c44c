"""Powers of the new side: by the formula, worked out by hand, and on a corpus that one power for both sides fails."""

from dataclasses import replace

import numpy as np
import pytest

from sampler.calibrated import new_side_powers
from sampler.calibrated.chain import start
from sampler.calibrated.known_or_new import Propensity
from sampler.calibrated.new_side_powers import (
    LOWER_BY,
    SIZE_WEIGHT,
    SIZE_WEIGHT_WITH_VECTORS,
    TOLERANCE,
    match_powers,
)
from sampler.calibrated.settings import OF_WORDS, all_settings
from sampler.corpus import UNLABELED, Array, Corpus
from sampler.numerics.threads import Threads
from tests.sampler.calibrated_harness import N_OWN_WORDS, QUICK, SEED, calibrate, posed, swept

POWERS = [0.0, 1.0, 2.0, *(0.0 - less for less in LOWER_BY)]  # of the new side, where the known side has QUICK's
N_ATOM_SETTINGS = len(OF_WORDS) * len(QUICK.smoothings)
N_NEW = 240


def sides(known_sizes: list[int], n_new: int = N_NEW) -> Propensity:
    """Known categories of these sizes, and so many new documents."""
    category = np.concatenate([np.repeat(np.arange(len(known_sizes)), known_sizes), np.zeros(n_new, int)])
    known = (np.arange(category.size) < sum(known_sizes)).astype(np.float32)
    return Propensity(0.4, np.full(len(known_sizes), 0.4), known, category.astype(np.int32))


def start_with(n_groups: dict[float, int], others: int = 1) -> Array:
    """Groups int[S', N_NEW] of one start: at each power so many of one size, under every variant and smoothing."""
    return np.array([np.arange(N_NEW) % n_groups.get(power, others) for power in POWERS] * N_ATOM_SETTINGS)


def matched(
    starts: list[Array], learned: Propensity, has_vectors: Array | None = None
) -> tuple[Array, Array]:  # fmt: skip
    """Rows and powers of the settings of QUICK; every document has a word."""
    has_words = np.ones(learned.known.size, bool)
    with Threads() as threads:
        return match_powers(starts, learned, has_words, learned.rates.size, QUICK, threads, has_vectors)


def test_the_new_side_has_the_powers_of_the_known_one_and_lower_ones() -> None:
    assert new_side_powers.new_side_powers(QUICK) == POWERS


@pytest.mark.parametrize("n_groups", [1, 2, 3])
def test_groups_that_are_not_smaller_than_known_categories_have_the_power_of_their_setting(n_groups: int) -> None:
    """Of 240 documents three groups have 80 each: by less than the tolerance fewer than 120."""
    row, power = matched([start_with({}, n_groups)] * 2, sides([120, 120]))
    np.testing.assert_array_equal(power, [setting.power for setting in all_settings(QUICK)])
    np.testing.assert_array_equal(np.array(POWERS * N_ATOM_SETTINGS)[row], power)
    np.testing.assert_array_equal(row // len(POWERS), np.repeat(np.arange(N_ATOM_SETTINGS), 3))


def test_where_groups_are_smaller_the_power_is_lower_by_the_formula() -> None:
    """Each setting by the groups at its own power, whatever lower powers make of the documents."""
    starts = [start_with({0.0: 24, 1.0: 10, 2.0: 2}), start_with({0.0: 24, 1.0: 10, 2.0: 60})]
    learned = sides([40, 90])  # 60 documents: their geometric mean
    row, power = matched(starts, learned)
    log_smaller = np.log([60 / 10, 60 / 24, np.sqrt(60 / 120 * 60 / 4)])  # the mean over two starts that differ
    wanted = np.array([0.0, 1.0, 2.0]) - SIZE_WEIGHT * np.maximum(log_smaller - TOLERANCE, 0.0)
    expected = [min(POWERS, key=lambda power: abs(power - by_formula)) for by_formula in wanted]
    assert expected == [-3.0, 0.0, 1.0]
    np.testing.assert_array_equal(power, expected * N_ATOM_SETTINGS)
    np.testing.assert_array_equal(np.array(POWERS * N_ATOM_SETTINGS)[row], power)


def test_under_settings_with_vectors_the_power_is_lower_by_more() -> None:
    """Groups that are smaller by a factor of e take half of either weight off: from 2 to .75, or to 0."""
    learned, n_settings = sides([round(N_NEW / 10 * np.e)] * 2), N_ATOM_SETTINGS * len(QUICK.powers)
    has_vectors = np.arange(n_settings) >= n_settings // 2
    power = matched([start_with({2.0: 10}, 2)] * 2, learned, has_vectors)[1]
    highest = power[len(QUICK.powers) - 1 :: len(QUICK.powers)]
    for weight, of_some in ((SIZE_WEIGHT, ~has_vectors), (SIZE_WEIGHT_WITH_VECTORS, has_vectors)):
        expected = min(POWERS, key=lambda power: abs(power - (2.0 - weight * (1.0 - TOLERANCE))))
        assert set(highest[of_some[:: len(QUICK.powers)]]) == {expected}
    assert len(set(highest)) == 2


@pytest.mark.parametrize("learned", [sides([]), sides([300, 300], n_new=0)])
def test_without_known_categories_or_new_documents_powers_are_those_of_the_settings(learned: Propensity) -> None:
    starts = [start_with({}, 24)[:, : np.count_nonzero(learned.known < 0.5)]] * 2
    np.testing.assert_array_equal(matched(starts, learned)[1], [setting.power for setting in all_settings(QUICK)])


def large_known_ones_with_parts() -> Corpus:
    """Two known categories of 300 documents in six parts each, and six new ones of 12 that have no parts.

    Of ten words of a document four are its category's, three its part's, and three anyone's.
    """
    rng, documents, labels = np.random.default_rng(1), [], []
    parts = [(k, k * 6 + i % 6, k if i < 120 else UNLABELED) for k in range(2) for i in range(300)]
    parts += [(2 + k, 12 + k, UNLABELED) for k in range(6) for _ in range(12)]
    for category, part, label in parts:
        kind = rng.choice(3, 15, p=[0.3, 0.4, 0.3])
        vocabulary = np.array([0, 1 + category, 9 + part])[kind]
        documents.append((N_OWN_WORDS * vocabulary + rng.integers(0, N_OWN_WORDS, 15)).tolist())
        labels.append(label)
    return posed(documents, labels, 2)


def test_small_new_categories_beside_large_known_ones_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without regard to sizes, what keeps the parts of the known ones together keeps the new ones together too."""
    corpus, hyperparameters, found = large_known_ones_with_parts(), replace(QUICK, n_atoms=24), {}
    for size_weight in (0.0, SIZE_WEIGHT):
        monkeypatch.setattr(new_side_powers, "SIZE_WEIGHT", size_weight)
        with Threads() as threads:
            calibration = calibrate(corpus, threads, hyperparameters)[2]
            state = start(corpus, hyperparameters, calibration, SEED, 0, threads)
            draws = swept(corpus, calibration, state, 20, threads, hyperparameters)
        found[size_weight] = np.median([draw.n_new_with_documents for draw in draws])
    assert found[0.0] <= 3 and found[SIZE_WEIGHT] == 6
