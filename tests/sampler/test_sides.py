"""Sides and their groups: which documents they have, and that every setting has the groups that it made."""

from dataclasses import replace

import numpy as np

from sampler.calibrated.bags import WEIGHTINGS, effective_counts, word_bags
from sampler.calibrated.known_or_new import Propensity
from sampler.calibrated.prepared import PreparedCorpus
from sampler.calibrated.settings import OF_WORDS, all_settings
from sampler.calibrated.sides import BOTH_SIDES, KNOWN_SIDE, NEW_SIDE, group_side, labeled_of, n_seeds, seed_side
from sampler.corpus import UNLABELED
from sampler.numerics.threads import Threads
from tests.sampler.calibrated_harness import QUICK, calibrate, four_categories, posed


def test_the_sides_part_the_documents_that_have_a_word() -> None:
    labels = np.array([0, 1, UNLABELED, UNLABELED, UNLABELED, 1], np.int32)
    corpus = posed([[0, 1], [], [2, 5, 5], [], [4, 7], [1]], labels.tolist(), 2)
    known = np.array([1.0, 1.0, 0.5, 0.9, 0.49, 1.0], np.float32)
    learned = Propensity(0.5, np.full(1, 0.5), known, np.zeros(6, np.int32))
    prepared, bags = PreparedCorpus(corpus, QUICK, 1), word_bags(corpus)
    sides = [prepared.side(number, learned) for number in BOTH_SIDES]
    assert [side.documents.tolist() for side in sides] == [[0, 2, 5], [4]]
    assert labeled_of(sides[KNOWN_SIDE], labels).tolist() == [0, 2]
    for side in sides:
        entries = np.flatnonzero(np.isin(bags.document, side.documents))
        assert side.bags.n_words == side.words.size
        np.testing.assert_array_equal(side.words[side.bags.words], bags.words[entries])
        for weighting in range(WEIGHTINGS):  # as they are among all documents, to the last bit
            expected = effective_counts(bags, weighting, QUICK.effective_length)[entries]
            assert side.values[weighting].tobytes() == expected.tobytes()


def test_atoms_of_a_start_are_three_a_known_category_but_for_three_documents_each() -> None:
    assert n_seeds(1_000, 2, QUICK) == 12 and n_seeds(1_000, 30, QUICK) == 90
    assert n_seeds(12, 30, QUICK) == 4 and n_seeds(2, 1, QUICK) == 1 == n_seeds(1, 0, QUICK)


def test_settings_stand_in_the_order_of_the_groups_that_they_made() -> None:
    """The lowest power begins anew under every smoothing: alone it gives the same groups."""
    unsorted = replace(QUICK, powers=(2.0, 0.0, 1.0))
    with Threads() as threads:
        side = calibrate(four_categories().corpus, threads)[2].new_side
        seeds = seed_side(side, 2, QUICK, (3, 1), threads)
        for variant in OF_WORDS:
            groups = group_side(side, seeds, variant, sorted(unsorted.powers), unsorted, (3, 1), threads)
            own = [s for s in all_settings(unsorted) if s[:2] == variant[:2]]
            assert groups.shape == (len(own), side.documents.size)
            for setting, found in zip(own, groups, strict=True):
                if setting.power == 0.0:
                    alone = replace(QUICK, smoothings=(setting.smoothing,))
                    expected = group_side(side, seeds, variant, [0.0], alone, (3, 1), threads)
                    np.testing.assert_array_equal(found, expected[0])
    n_settings = len(OF_WORDS) * len(QUICK.smoothings) * len(QUICK.powers)
    assert len(all_settings(unsorted)) == n_settings and all_settings(unsorted) == all_settings(QUICK)


def test_powers_that_follow_a_higher_one_begin_with_all_atoms_apart() -> None:
    """So the groups at the powers before and behind are those that either would have alone."""
    one_smoothing = replace(QUICK, smoothings=(0.8,))
    with Threads() as threads:
        side = calibrate(four_categories().corpus, threads)[2].new_side
        seeds = seed_side(side, 2, QUICK, (3, 1), threads)
        together, *alone = (
            group_side(side, seeds, OF_WORDS[0], powers, one_smoothing, (3, 1), threads)
            for powers in ([0.0, 2.0, -1.0, 0.5], [0.0, 2.0], [-1.0, 0.5])
        )
    np.testing.assert_array_equal(together, np.concatenate(alone))


def test_a_side_without_documents_has_groups_of_nothing() -> None:
    prepared = PreparedCorpus(posed([[0, 1], [1]], [0, 0], 1), QUICK, 1)
    learned = Propensity(1.0, np.ones(1), np.ones(2, np.float32), np.zeros(2, np.int32))
    side = prepared.side(NEW_SIDE, learned)
    with Threads() as threads:
        seeds = prepared.side_seeds(NEW_SIDE, learned, (1, 1), threads)
        groups = group_side(side, seeds, OF_WORDS[0], list(QUICK.powers), QUICK, (1, 1), threads)
    assert side.documents.size == 0 == seeds.size
    assert groups.shape == (len(QUICK.smoothings) * len(QUICK.powers), 0)
