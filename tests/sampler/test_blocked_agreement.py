"""Two samplers, one posterior: Algorithm 1 and the blocked sampler on a corpus that is too large to enumerate."""

from functools import cache

import numpy as np
import pytest

from sampler.corpus import UNLABELED, Array, Corpus
from sampler.hyperparameters import Hyperparameters, Kernel
from sampler.lbpl_ntm import chain
from sampler.lbpl_ntm.blocked import sweep as blocked_sweep
from sampler.lbpl_ntm.simulate import simulate_separated
from sampler.numerics.threads import Threads
from tests.sampler import harness

MODEL = Hyperparameters(
    n_topics=4, gamma_shape=2, gamma_scale=0.25, alpha_shape=2, alpha_scale=0.3, zeta=0.5, beta=0.3, n_start=2
)
N_SWEEPS, N_FIRST = 60_000, 1_000  # of each sampler; the first are left out
OFTEN = 0.02  # what is so often true, and so often false, has batch means near to normal


@cache
def corpus() -> Corpus:
    """60 documents of about 15 words from two known and two new categories that overlap; 16 are labeled."""
    rng = np.random.default_rng(91)
    labels = np.full(60, UNLABELED)
    labels[:16] = np.arange(16) % 2
    lengths = rng.poisson(15, 60)
    return simulate_separated(lengths, labels, 25, 2, 4, MODEL, rng, separation=0.3).corpus


def statistics(kernel: Kernel, seed: int) -> Array:
    """float64[N_SWEEPS, J]: concentrations, tables, log joint, each number of categories, answers, pairs of documents.

    Of documents the unlabeled ones: whether each is in each known category, and whether any two are in the same.
    """
    given = corpus()
    state = chain.start(given, MODEL, seed=seed, chain=0, kernel=kernel)
    unlabeled = np.flatnonzero(given.labels == UNLABELED)
    left, right = np.triu_indices(unlabeled.size, 1)
    rows = []
    with Threads() as threads:
        for sweep in range(N_FIRST + N_SWEEPS):
            draw = chain.sweep(given, MODEL, state, threads)
            if sweep < N_FIRST:
                continue
            answers = state.document_categories(given)[unlabeled]
            numbers = [draw.alpha, np.log(draw.alpha), draw.gamma, draw.n_tables, draw.log_joint, draw.n_categories]
            rows.append(
                np.concatenate(
                    [
                        np.array(numbers, np.float32),
                        draw.n_categories == np.arange(1, 16),
                        draw.n_new_with_documents == np.arange(10),
                        answers == 0,
                        answers == 1,
                        answers[left] == answers[right],
                    ],
                    dtype=np.float32,
                )
            )
    return np.array(rows)


@pytest.mark.slow
def test_both_samplers_draw_from_one_posterior(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each sampler's error is that of its 50 batch means of 1,200 sweeps each.

    Batches that follow one another are still alike, as the number of categories changes seldom: with a correlation r
    the squared error of the whole mean is (1 + r) / (1 - r) times that of independent ones. The two runs are
    independent, so their squared errors add; Student's t with 49 degrees of freedom is wider than the law of the
    quotient. Bonferroni over all that is neither nearly always nor nearly never so.
    """
    monkeypatch.setattr(blocked_sweep, "SPLIT_MERGE_EVERY", 1)
    batches = [harness.batch_means(statistics(kernel, seed=92)) for kernel in ("collapsed", "blocked")]
    means, variances = (np.array([part(b) for b in batches]) for part in (mean_of_batches, variance_of_mean))
    varies = (means[:, 6:].min(axis=0) > OFTEN) & (means[:, 6:].max(axis=0) < 1.0 - OFTEN)
    compared = np.concatenate([np.ones(6, bool), varies])
    assert compared.sum() > 300
    for part, variance in zip(batches, variances, strict=True):
        r = np.median([np.corrcoef(values[1:], values[:-1])[0, 1] for values in part[:, compared].T])
        assert r < 0.6, "the run is too short to say anything"
        variance *= (1.0 + max(r, 0.0)) / (1.0 - max(r, 0.0))
    t = (means[0] - means[1])[compared] / np.sqrt(variances.sum(axis=0)[compared])
    print(f"worst |t| = {np.abs(t).max():.2f} of {t.size}")
    assert np.abs(t).max() < harness.t_limit(t.size), f"worst |t| = {np.abs(t).max():.2f} of {t.size}"


def mean_of_batches(batches: Array) -> Array:
    return np.asarray(batches.mean(axis=0))


def variance_of_mean(batches: Array) -> Array:
    return np.asarray(batches.var(axis=0, ddof=1) / len(batches))
