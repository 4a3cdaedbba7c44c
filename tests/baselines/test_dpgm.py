"""The Dirichlet process Gaussian mixture, against enumeration of all partitions, exact bounds, and scikit-learn."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import betaln, gammaln, logsumexp
from scipy.stats import t as student
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import BayesianGaussianMixture

from baselines import method
from baselines.dpgm import Dpgm
from baselines.dpgm_gibbs import Tables, empty_tables, fill, log_density, sample_groups
from baselines.method import MethodState
from baselines.normal_gamma import Sums, log_evidence, posterior_of, prior_of, sums_of
from baselines.principal_components import principal_components
from baselines.rows import unit_rows
from baselines.settings import DpgmSettings
from baselines.stick_breaking import sticks_of
from sampler.corpus import NO_CATEGORY, UNLABELED, Array
from sampler.numerics.threads import Interrupted, Threads
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

FEW = np.array([[-2.0], [-1.5], [0.1], [1.9], [1.5]])  # all 52 partitions of which can be listed
GIBBS = DpgmSettings(inference="gibbs", n_start_groups=2)


def over(points: Array, settings: DpgmSettings) -> Dpgm:
    """The mixture over these points, in place of a corpus's components."""
    tried = Dpgm(given(random_corpus(len(points), [], 0, n_words=30), 0), settings)
    assert tried.documents.size == len(points)
    tried.points, tried.prior = points, prior_of(points, settings.mean_strength, settings.shape)
    return tried


def three_blobs(n: int = 40) -> Array:
    """Points of three groups of n in a plane, centered."""
    points = np.random.default_rng(0).standard_normal((3 * n, 2)) + np.repeat([[0, 0], [20, 0], [0, 20]], n, axis=0)
    return np.asarray(points - points.mean(axis=0))


def log_prior(group: Array, concentration: float) -> float:
    """Of the Chinese restaurant process, the log probability of a partition."""
    sizes = np.bincount(group)
    among = sizes.size * np.log(concentration) + gammaln(sizes).sum()
    return float(among + gammaln(concentration) - gammaln(concentration + group.size))


def posterior_of_partitions(points: Array, settings: DpgmSettings) -> tuple[list[Array], Array, float]:
    """All partitions, the posterior probability of each, and the log evidence of the points."""
    prior = prior_of(points, settings.mean_strength, settings.shape)
    every = [np.array(group) for group in partitions(len(points), len(points))]
    joint = np.array([
        log_prior(group, settings.concentration)
        + log_evidence(prior, sums_of(points, group, group.max() + 1)).sum()
        for group in every
    ])  # fmt: skip
    return every, np.exp(joint - logsumexp(joint)), float(logsumexp(joint))


def test_the_evidence_of_a_group_is_the_product_of_student_densities_of_one_row_after_another() -> None:
    points = np.random.default_rng(0).standard_normal((6, 3))
    prior = prior_of(points, 0.5, 2.0)
    expected = 0.0
    for d in range(6):
        before = posterior_of(prior, sums_of(points[:d], np.zeros(d, np.int64), 1))
        scale = np.sqrt(before.rate[0] * (before.strength[0] + 1) / (before.shape[0] * before.strength[0]))
        expected += student.logpdf(points[d], 2 * before.shape[0], before.mean[0], scale).sum()
    np.testing.assert_allclose(log_evidence(prior, sums_of(points, np.zeros(6, np.int64), 1)), [expected])


def test_the_density_of_a_row_is_what_it_adds_to_the_evidence_of_its_group() -> None:
    points = np.random.default_rng(1).standard_normal((30, 19))  # more dimensions than are multiplied together
    prior, group = prior_of(points, 0.1, 2.0), np.arange(29) % 3
    tables = empty_tables(3, 19)
    fill(points[:29], group, prior, tables)
    before = log_evidence(prior, sums_of(points[:29], group, 4))
    for c in range(4):
        after = log_evidence(prior, sums_of(points, np.append(group, c), 4))
        np.testing.assert_allclose(log_density(points, 29, prior, tables, c), after[c] - before[c], rtol=1e-9)


def test_with_one_stick_the_bound_is_the_exact_evidence() -> None:
    points = np.random.default_rng(2).standard_normal((12, 3))
    tried = over(points, DpgmSettings(n_groups=1, concentration=0.7))
    evidence = log_evidence(tried.prior, sums_of(points, np.zeros(12, np.int64), 1)).sum()
    of_stick = betaln(1 + 12, 0.7) - betaln(1, 0.7)  # the mean of v^12
    np.testing.assert_allclose(settled(tried).objective, evidence + of_stick)


def test_the_bound_never_falls_and_stays_below_the_evidence_of_all_partitions() -> None:
    settings = DpgmSettings(n_groups=4, mean_strength=0.3, tolerance=1e-10)
    evidence = posterior_of_partitions(FEW, settings)[2]
    for chain in range(4):
        bounds = [state.objective for state in states(over(FEW, settings), chain)]
        assert (np.diff(bounds) >= -1e-10).all()
        assert evidence - 8.0 < bounds[-1] < evidence
        assert len(bounds) > 3


def test_mean_field_updates_are_those_of_scikit_learn() -> None:
    dice = np.random.default_rng(3)
    points = np.concatenate([dice.normal(-1, 1, 60), dice.normal(1.5, 0.5, 40)])[:, None]
    points -= points.mean()
    settings = DpgmSettings(n_groups=5, tolerance=0.0, concentration=0.4, mean_strength=0.2, shape=1.5)
    tried = over(points, settings)
    state = tried.start(0)
    theirs = mixture_of_scikit_learn(tried, state, n_rounds=10)
    for _ in range(9):
        method.advance(tried, state)
    ours = sums_of_state(state)
    np.testing.assert_allclose(theirs.weight_concentration_[0], sticks_of(ours.size, 0.4).broken, rtol=1e-8)
    np.testing.assert_allclose(theirs.means_, posterior_of(tried.prior, ours).mean, rtol=1e-8)
    method.advance(tried, state)
    np.testing.assert_array_equal(theirs.predict(points), state.category)


def sums_of_state(state: MethodState) -> Sums:
    """The expected sums that a state goes on from."""
    return Sums(state.own["size"], state.own["first"], state.own["second"])


def mixture_of_scikit_learn(tried: Dpgm, state: MethodState, n_rounds: int) -> BayesianGaussianMixture:
    """Their mixture in one dimension, where the models are one, after some rounds from where our state stands."""
    settings, sums = tried.settings, sums_of_state(state)
    theirs = BayesianGaussianMixture(
        n_components=settings.n_groups, covariance_type="diag", max_iter=n_rounds - 1, warm_start=True, tol=0.0,
        reg_covar=0.0, weight_concentration_prior=settings.concentration, mean_precision_prior=settings.mean_strength,
        mean_prior=[0.0], degrees_of_freedom_prior=2 * settings.shape, covariance_prior=2 * tried.prior.rate,
    )  # fmt: skip
    posterior = posterior_of(tried.prior, sums)
    theirs.weight_concentration_ = tuple(sticks_of(sums.size, settings.concentration))
    theirs.mean_precision_, theirs.means_ = posterior.strength, posterior.mean
    theirs.degrees_of_freedom_ = 2 * posterior.shape
    theirs.covariances_ = posterior.rate / posterior.shape[:, None]
    theirs.precisions_cholesky_ = 1 / np.sqrt(theirs.covariances_)
    theirs.converged_, theirs.lower_bound_ = True, -np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return theirs.fit(tried.points)


def samples(points: Array, settings: DpgmSettings, n_sweeps: int) -> Array:
    """int64[n_sweeps, n]: groups by the kernel, gamma fixed."""
    dice, prior = np.random.default_rng(4), prior_of(points, settings.mean_strength, settings.shape)
    n, group = len(points), np.zeros(len(points), np.int64)
    tables, drawn = empty_tables(n, points.shape[1]), np.empty((n_sweeps, n), np.int64)
    fill(points, group, prior, tables)
    for sweep in range(n_sweeps):
        sample_groups(points, group, prior, settings.concentration, dice.random(n), tables, np.zeros(1, np.int64))
        drawn[sweep] = group
    return drawn


def test_samples_match_the_exact_posterior_of_all_partitions() -> None:
    settings = DpgmSettings(concentration=0.8, mean_strength=0.3)
    every, probability, _ = posterior_of_partitions(FEW, settings)
    drawn = samples(FEW, settings, 40_000)
    together = (drawn[:, :, None] == drawn[:, None, :]).reshape(len(drawn), -1)
    for group, expected in zip(every, probability, strict=True):
        observed = (together == (group[:, None] == group).ravel()).all(axis=1).mean()
        # 40,000 sweeps, of which some ten together count for one: an error of 0.008 at most, of which this is four
        assert abs(observed - expected) < 0.03
    assert probability.max() < 0.8


def test_without_dimensions_samples_are_those_of_the_chinese_restaurant() -> None:
    n, concentration = 40, 2.0
    drawn = samples(np.zeros((n, 0)), DpgmSettings(concentration=concentration), 10_000)
    observed = np.mean([np.unique(group).size for group in drawn])
    expected = (concentration / (concentration + np.arange(n))).sum()
    assert abs(observed - expected) < 0.15  # a deviation of 2 in each, and some twenty sweeps count for one


def test_gamma_is_drawn_from_its_posterior_given_the_number_of_groups() -> None:
    tried = over(np.random.default_rng(5).standard_normal((50, 2)), GIBBS)
    dice, drawn = np.random.default_rng(6), [1.0]
    for _ in range(20_000):
        drawn.append(tried.resampled(drawn[-1], 7, dice))
    grid = np.linspace(1e-4, 40, 200_000)
    density = 7 * np.log(grid) + gammaln(grid) - gammaln(grid + 50) - grid
    weight = np.exp(density - density.max())
    expected = (grid * weight).sum() / weight.sum()
    assert abs(np.mean(drawn) - expected) < 0.05  # a deviation of 0.8, and some three draws count for one


def test_the_objective_of_samples_is_the_log_joint_and_its_differences_are_what_groups_are_drawn_by() -> None:
    tried = over(FEW, DpgmSettings(inference="gibbs", mean_strength=0.3))
    group = np.array([0, 0, 1, 1, 2])
    expected = log_prior(group, 0.6) + log_evidence(tried.prior, sums_of(FEW, group, 3)).sum() - 0.6
    np.testing.assert_allclose(tried.log_joint(group, 0.6), expected)
    np.testing.assert_allclose(tried.log_joint(group + 4, 0.6), expected)  # places without a document in between
    weights = np.array([tried.log_joint(np.append(group[:4], c), 0.6) for c in (0, 1, 2)])
    tables = empty_tables(4, 1)
    fill(FEW[:4], group[:4], tried.prior, tables)
    offers = [np.log(size) + log_density(FEW, 4, tried.prior, tables, c) for size, c in ((2, 0), (2, 1), (0.6, 2))]
    np.testing.assert_allclose(weights - weights[0], np.array(offers) - offers[0])


def test_tables_are_those_of_a_recount_after_every_sweep() -> None:
    points = three_blobs(15)
    prior, group, dice = prior_of(points, 0.05, 2.0), np.arange(45) % 9, np.random.default_rng(7)
    tables = empty_tables(20, 2)
    fill(points, group, prior, tables)
    for _ in range(10):
        sample_groups(points, group, prior, 1.0, dice.random(45), tables, np.zeros(1, np.int64))
        recounted: Tables = empty_tables(20, 2)
        fill(points, group, prior, recounted)
        for kept, counted in zip(tables, recounted, strict=True):
            np.testing.assert_allclose(kept, counted, atol=1e-9)


@pytest.mark.parametrize("settings", [DpgmSettings(n_groups=10), GIBBS], ids=["variational", "gibbs"])
def test_three_separate_groups_are_three(settings: DpgmSettings) -> None:
    tried = over(
        three_blobs(), replace(settings, n_start_groups=10)
    )  # single moves merge groups, and rarely split them
    best = max((settled(tried, chain, limit=40) for chain in range(3)), key=lambda state: state.objective)
    assert is_same_partition(best.category, np.repeat(np.arange(3), 40))


def test_the_sampler_has_no_more_groups_than_it_may() -> None:
    tried = over(three_blobs(10), DpgmSettings(inference="gibbs", n_start_groups=2, most_groups=2, concentration=50.0))
    assert [np.unique(state.category).size for state in states(tried, limit=20)] == [2] * 21


@pytest.mark.parametrize("settings", [DpgmSettings(n_groups=6), GIBBS], ids=["variational", "gibbs"])
def test_a_run_goes_on_from_its_bytes_as_if_it_had_never_stopped(settings: DpgmSettings) -> None:
    corpus, _ = blobs([20, 20, 20], [5, 0, 0])
    whole, parts = dumps_of_an_interrupted_run(Dpgm(given(corpus, 0), settings), corpus, 5)
    assert whole == parts


@pytest.mark.parametrize("settings", [DpgmSettings(n_groups=6), GIBBS], ids=["variational", "gibbs"])
def test_labels_are_left_as_they_are_and_groups_are_new_categories(settings: DpgmSettings) -> None:
    corpus, _ = blobs([20, 20, 20], [8, 0, 0])
    category = settled(Dpgm(given(corpus, 0), settings), limit=5).category
    unlabeled = (corpus.labels == UNLABELED) & (corpus.lengths > 0)
    assert (category[corpus.labels == 0] == 0).all()
    assert (category[unlabeled] >= 1).all()
    assert category[-1] == NO_CATEGORY  # it has no word


@pytest.mark.parametrize("settings", [DpgmSettings(n_groups=6), GIBBS], ids=["variational", "gibbs"])
def test_corpora_with_next_to_no_documents_are_no_trouble(settings: DpgmSettings) -> None:
    nothing = settled(Dpgm(given(random_corpus(3, [0, 0, 1], 2), 0), settings), limit=3)
    assert nothing.category.tolist() == [0, 0, 1]
    one = settled(Dpgm(given(random_corpus(1, [], 0), 0), settings), limit=3)
    assert one.category.tolist() == [NO_CATEGORY]  # its words are in all documents
    two = settled(Dpgm(given(random_corpus(2, [], 0), 0), settings), limit=3)
    assert np.isfinite(two.objective)


def test_components_are_those_of_scikit_learn_and_may_be_whitened() -> None:
    matrix = unit_rows(random_corpus(60, [], 0, n_words=30))
    observed = principal_components(matrix, 500, np.random.default_rng(0), Threads())
    expected = PCA(svd_solver="full").fit_transform(matrix.toarray())
    np.testing.assert_allclose(np.abs(observed), np.abs(expected), atol=1e-8)
    few = principal_components(matrix, 5, np.random.default_rng(0), Threads())  # the iteration has not converged here
    assert 0.98 < few.var(axis=0).sum() / expected[:, :5].var(axis=0).sum() <= 1.0
    settings = DpgmSettings(n_components=5, is_whitened=True)
    np.testing.assert_allclose(Dpgm(given(random_corpus(60, [], 0, n_words=30), 0), settings).points.std(axis=0), 1.0)


@pytest.mark.parametrize("settings", [DpgmSettings(n_groups=6), GIBBS], ids=["variational", "gibbs"])
def test_a_raised_flag_ends_a_sweep(settings: DpgmSettings) -> None:
    tried = over(three_blobs(10), settings)
    state = tried.start(0)
    tried.given.threads.stop[0] = 1
    with pytest.raises(Interrupted):
        method.advance(tried, state)


def test_constants_without_sense_are_refused_with_their_values() -> None:
    with pytest.raises(ValueError, match="shape = 1 is not within"):
        DpgmSettings(shape=1)
    with pytest.raises(ValueError, match="inference = 'exact' is not variational or gibbs"):
        DpgmSettings(inference="exact")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="n_start_groups = 300 is above most_groups = 200"):
        DpgmSettings(n_start_groups=300)
