"""Known or new by the groups that labeled documents are in, where labels are few."""

from dataclasses import replace

import numpy as np
import pytest

from sampler.calibrated import steps
from sampler.calibrated.known_or_new import Propensity
from sampler.calibrated.labeled_groups import ENOUGH_LABELS, blended, company, weight_of_groups
from sampler.calibrated.prepared import PreparedCorpus
from sampler.corpus import UNLABELED, Array, Corpus
from sampler.numerics.threads import Threads
from tests.sampler.calibrated_harness import QUICK, easy

ONE_POWER = replace(QUICK, powers=(1.0,))


def learned(corpus: Corpus, n_threads: int = 1) -> Propensity:
    """What step 0 of the calibration learns."""
    with Threads(n_threads) as threads:
        prepared = PreparedCorpus(corpus, QUICK, 1)
        atoms = [atom for run in steps.all_atom_runs(prepared, threads) for atom in run["atoms"]]
        return steps.learn(prepared, atoms, threads)


def told(groups: list[list[int]], labels: list[int], n_known: int) -> tuple[Array, Array]:
    """Probability of being known and the likeliest category, by groupings under one power."""
    given = [np.array([group]) for group in groups]
    everyone = np.ones(len(labels), bool)
    return company(given, np.array(labels, np.int32), everyone, n_known, ONE_POWER, Threads())


def test_groups_count_alone_without_labels_by_half_with_some_and_not_at_all_with_many() -> None:
    labels = np.array([0, 1] * 100 + [UNLABELED] * 100, np.int32)
    weights = [weight_of_groups(labels[first:], 2, 8) for first in range(201)]
    assert weights[-1] == 1.0 and weights[0] == 0.0
    assert weights == sorted(weights)
    assert weights[200 - 2 * int(ENOUGH_LABELS)] == 0.5


def test_groups_of_fewer_atoms_than_categories_need_count_for_less() -> None:
    labels = np.repeat(np.arange(10, dtype=np.int32), 9)
    weights = [weight_of_groups(labels, 10, n_atoms) for n_atoms in (40, 20, 10)]
    np.testing.assert_allclose(weights, [1 / (1 + 0.5**3), 0.5, 1 / (1 + 2.0**3)])
    assert weight_of_groups(labels, 10, 1_000) == weights[0]


def test_a_document_is_known_as_likely_as_a_grouping_has_it_beside_a_labeled_one() -> None:
    """Two groupings that are alike but for document 4, and weigh the same: each keeps both labels apart."""
    first, second = [0, 0, 1, 1, 0, 2, 2], [0, 0, 1, 1, 2, 2, 2]
    known, category = told([first, second], [0, -1, 1, -1, -1, -1, -1], 2)
    np.testing.assert_allclose(known, [1.0, 1.0, 1.0, 1.0, 0.5, 0.0, 0.0])
    assert category[:5].tolist() == [0, 0, 1, 1, 0]


def test_a_grouping_that_joins_two_labels_counts_for_little() -> None:
    apart, joined = [0, 0, 1, 1, 2, 2], [0, 0, 0, 0, 2, 2]
    known, category = told([apart, apart, joined], [0, -1, 1, -1, -1, -1], 2)
    assert category[:4].tolist() == [0, 0, 1, 1]
    np.testing.assert_allclose(known, [1, 1, 1, 1, 0, 0], atol=1e-9)


def test_a_group_with_a_stray_label_is_not_known() -> None:
    """Nine in ten of category 0's labels are in group 0, where they are nine of ten; the last is one of twenty."""
    group, labels = np.repeat([0, 1], [10, 20]), np.repeat([0, UNLABELED, 0, UNLABELED], [9, 1, 1, 19])
    known, _ = told([group.tolist()] * 2, labels.tolist(), 1)
    np.testing.assert_allclose(known, np.where(group == 0, 1.0, 0.0))


def test_a_category_with_few_labels_is_not_held_against_one_with_many() -> None:
    """A single label among twenty is all that category 1 has."""
    group, labels = np.repeat([0, 1], [10, 20]), np.repeat([0, UNLABELED, 1, UNLABELED], [9, 1, 1, 19])
    known, category = told([group.tolist()] * 2, labels.tolist(), 2)
    np.testing.assert_allclose(known, 1.0)
    np.testing.assert_array_equal(category, group)


@pytest.mark.parametrize("n_labels", [1, 2, 5])
def test_a_few_labels_a_category_tell_known_from_new(n_labels: int) -> None:
    """Categories that share few words: an error in twenty is allowed, where a coin would make ten."""
    given = easy([40, 40, 40, 40], [n_labels, n_labels, 0, 0], overlap=0.15, seed=5)
    found = learned(given.corpus)
    is_free, is_known = given.corpus.labels == UNLABELED, given.truth < 2
    assert ((found.known > 0.5) != is_known)[is_free].mean() < 0.05
    assert (found.category == given.truth)[is_known].mean() > 0.95


def test_probabilities_are_the_same_bytes_on_any_number_of_threads() -> None:
    corpus = easy([30, 30, 30], [3, 2, 0], overlap=0.3).corpus
    expected, *others = (learned(corpus, n_threads) for n_threads in (1, 2, 3))
    for found in others:
        assert found.known.tobytes() == expected.known.tobytes()
        assert found.category.tobytes() == expected.category.tobytes()


def test_log_odds_are_weighed() -> None:
    regression, groups = np.array([0.2, 0.9, 1.0]), np.array([0.8, 0.9, 0.0])
    np.testing.assert_allclose(blended(regression, groups, 0.0)[:2], regression[:2])
    np.testing.assert_allclose(blended(regression, groups, 1.0)[:2], groups[:2])
    np.testing.assert_allclose(blended(regression, groups, 0.5), [0.5, 0.9, 0.5])
