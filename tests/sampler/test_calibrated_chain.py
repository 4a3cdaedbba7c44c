"""A chain of the calibrated sampler: its draws have the chances that they ought to, and say what its state has."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.stats

from sampler.calibrated import chain as calibrated_chain
from sampler.calibrated.atom_groups import AtomRows, log_target, regroup
from sampler.calibrated.bags import word_prior
from sampler.calibrated.chain import start
from sampler.calibrated.granularity import Scores
from sampler.calibrated.settings import Setting
from sampler.corpus import NO_CATEGORY, UNLABELED, Array
from sampler.numerics.streams import Step, stream
from sampler.numerics.threads import Threads
from tests.sampler.calibrated_harness import QUICK, SEED, found_in, four_categories, hard, swept

FALSE_ALARM = 1e-4  # of one comparison, were the seed not fixed


def test_chains_and_seeds_differ_and_the_same_ones_do_not() -> None:
    corpus = hard()
    found = found_in(corpus)
    digests = []
    with Threads() as threads:
        for seed, number in ((1, 0), (1, 0), (1, 1), (2, 0)):
            state = start(corpus, QUICK, found, seed, number, threads)
            before = state.digest
            swept(corpus, found, state, 2, threads)
            assert state.digest != before
            digests.append(state.digest)
    assert digests[0] == digests[1] and len(set(digests)) == 3


def test_known_documents_and_settings_are_drawn_by_their_chances() -> None:
    """Binomial and multinomial counts over the draws of a chain: one chi-square each."""
    corpus, n_sweeps = hard(), 600
    found = found_in(corpus)
    known_hits, settings = np.zeros(corpus.n_documents), []
    with Threads() as threads:
        state = start(corpus, QUICK, found, SEED, 0, threads)
        for _ in range(n_sweeps):
            settings.append(calibrated_chain.sweep(corpus, found, state).setting)
            known_hits += calibrated_chain.document_slots(corpus, found, state) == found.learned.category
    chance = found.learned.known.astype(float)
    mixed = (corpus.labels == UNLABELED) & (chance > 0.05) & (chance < 0.95)
    hoped, chance = (n_sweeps * chance)[mixed], chance[mixed]
    statistic = ((known_hits[mixed] - hoped) ** 2 / (hoped * (1 - chance))).sum()
    assert mixed.sum() > 10 and scipy.stats.chi2.sf(statistic, mixed.sum()) > FALSE_ALARM
    sure = (corpus.labels == UNLABELED) & (found.learned.known == 0.0)
    np.testing.assert_array_equal(known_hits[sure], 0)
    weight = found.scores.weight
    visits = np.bincount(settings, minlength=weight.size)
    kept = weight * n_sweeps > 5
    assert kept.sum() > 1 and visits[weight == 0].sum() == 0
    expected = weight[kept] / weight[kept].sum() * visits[kept].sum()
    assert scipy.stats.chisquare(visits[kept], expected).pvalue > FALSE_ALARM


def prior_of(rows: AtomRows, setting: Setting) -> Array:
    """float64[V]: beta_w of a setting."""
    return word_prior(rows.word_totals, setting.smoothing, setting.has_background)


def test_a_draw_tells_the_groups_that_its_state_has() -> None:
    corpus = hard()
    found = found_in(corpus)
    with Threads() as threads:
        state = start(corpus, QUICK, found, SEED, 0, threads)
        for sweep in range(1, 6):
            [draw] = swept(corpus, found, state, 1, threads)
            groups, setting = state.groups[draw.setting], found.settings[draw.setting]
            rows = state.atoms[setting.atoms].rows
            assert draw.sweep == sweep == state.n_sweeps
            n_groups = np.unique(groups).size
            assert 0 <= draw.n_new_with_documents <= n_groups and draw.n_new >= 0
            assert draw.n_categories == corpus.n_known + draw.n_new_with_documents
            power = found.new_powers[draw.setting]
            assert draw.log_joint == log_target(rows, groups, prior_of(rows, setting), power)
            assert state.identity.size == corpus.n_known + n_groups
            answers = calibrated_chain.document_slots(corpus, found, state)
            assert answers.max() < state.identity.size
            np.testing.assert_array_equal(answers == NO_CATEGORY, corpus.labels != UNLABELED)


def test_a_sweep_takes_the_groups_of_its_setting_one_gibbs_sweep_further_and_leaves_the_others() -> None:
    corpus, n_changes = hard(), 0
    found = found_in(corpus)
    with Threads() as threads:
        state = start(corpus, QUICK, found, SEED, 0, threads)
        for sweep in range(1, 31):
            expected = dict(state.groups)
            [draw] = swept(corpus, found, state, 1, threads)
            setting, key = found.settings[draw.setting], stream(SEED, 0, sweep, Step.GROUPS)
            rows, before = state.atoms[setting.atoms].rows, expected[draw.setting]
            power = found.new_powers[draw.setting]
            expected[draw.setting] = regroup(rows, before, prior_of(rows, setting), [power], 1, key)[0]
            assert state.groups.keys() == expected.keys()
            for s, groups in state.groups.items():
                np.testing.assert_array_equal(groups, expected[s])
            n_changes += not np.array_equal(expected[draw.setting], before)
    assert n_changes > 0


def test_new_categories_keep_their_identity_for_as_long_as_they_keep_their_documents() -> None:
    given = four_categories()
    found = found_in(given.corpus)
    seen: list[set[int]] = [set(), set()]
    with Threads() as threads:
        state = start(given.corpus, QUICK, found, SEED, 0, threads)
        for _ in range(10):
            swept(given.corpus, found, state, 1, threads)
            answers = calibrated_chain.document_slots(given.corpus, found, state)
            for k in (2, 3):
                own = state.identity[answers[(given.truth == k) & (answers >= 2)]]
                values, counts = np.unique(own, return_counts=True)
                seen[k - 2].add(int(values[counts.argmax()]))
            assert np.unique(state.identity).size == state.identity.size
    assert len(seen[0]) == len(seen[1]) == 1 and seen[0] != seen[1]
    assert state.n_born == 2 + len(state.members)


def rates(found: int, parts: int) -> Scores:
    """Scores of one setting and one start that gave so many of the known categories back, and so many parts."""
    nothing = np.zeros(1)
    return Scores(nothing, nothing, nothing, np.ones(1), np.array([[found]]), np.array([[parts]]), np.ones((1, 1)))


def test_the_true_number_takes_parts_and_categories_that_are_missed_into_account() -> None:
    """Nine of ten known categories found, and one part besides; eight groups are shown.

    Real ones: 8 E[p], p ~ Beta(17, 1.25), = 7.45. Missed beside r real ones: r E[1 / q - 1], q ~ Beta(17, 1.25), and
    E[1 / q] = (17.25 / 16). One draw's variance is below 4, so the mean of 4,000 has a standard error below .032.
    """
    numbers = []
    for sweep in range(4_000):
        state: Any = SimpleNamespace(seed=5, chain=0, n_sweeps=sweep, setting=0)
        numbers.append(calibrated_chain.true_number(8, 10, rates(9, 1), state))
    real = 8 * 17 / 18.25
    assert np.var(numbers) < 4
    assert np.mean(numbers) == pytest.approx(real + real * (17.25 / 16 - 1), abs=4 * 0.032)


def test_no_new_category_is_added_where_none_is_shown() -> None:
    state: Any = SimpleNamespace(seed=5, chain=0, n_sweeps=1, setting=0)
    assert calibrated_chain.true_number(0, 10, rates(2, 5), state) == 0
