"""Simulated corpora against the laws they are drawn from, and the sampler against simulated truths."""

import numpy as np
import pytest
import scipy.special
import scipy.stats

from sampler.answers.metrics import nmi
from sampler.corpus import UNLABELED, validate
from sampler.hyperparameters import Hyperparameters
from sampler.lbpl_ntm import chain, simulate
from tests.sampler import exact, harness

MODERATE = Hyperparameters(
    n_topics=2, zeta=0.6, beta=0.3, alpha_shape=2, alpha_scale=0.5, gamma_shape=2, gamma_scale=0.5
)


def test_simulated_corpora_follow_the_urns_of_the_model() -> None:
    """Configuration and words of independent draws, against the enumerated joint given the labeled tables.

    Draws are independent, so counts over classes expected at least 20 times are multinomial: Pearson's
    chi-square at level 1e-3. The classes pair the words with the partition into tables and categories.
    """
    corpus, alpha, gamma, n_draws = harness.corpus_of([[0], [0, 0], [0]], [0, -1, -1], 2, 1), 0.9, 0.7, 12_000
    constants = exact.Constants(2, 0.6, 0.3)
    joint: dict[object, float] = {}
    for words in np.ndindex(*[2] * corpus.n_tokens):
        corpus_of_words = corpus._replace(words=np.array(words, np.int32))
        for c in exact.configurations(corpus, 2):
            name = (words, c.table, c.category)
            joint[name] = joint.get(name, 0.0) + np.exp(exact.log_joint(corpus_of_words, c, alpha, gamma, constants))
    assert sum(joint.values()) == pytest.approx(1.0)  # one labeled table: its dish is certain

    rng = np.random.default_rng(31)
    observed: dict[object, int] = {}
    for _ in range(n_draws):
        drawn = simulate.simulate(corpus.lengths, corpus.labels, 2, 1, MODERATE, rng, alpha=alpha, gamma=gamma)
        c = exact.canonical(
            corpus,
            exact.Configuration(
                tuple(drawn.token_table.tolist()),
                tuple(drawn.token_category.tolist()),
                tuple(drawn.token_topic.tolist()),
            ),
        )
        name = (tuple(drawn.corpus.words.tolist()), c.table, c.category)
        observed[name] = observed.get(name, 0) + 1
    assert set(observed) <= set(joint)
    often = [name for name, p in joint.items() if p * n_draws >= 20]
    expected = np.array([joint[name] * n_draws for name in often])
    counts = np.array([observed.get(name, 0) for name in often])
    expected, counts = np.append(expected, n_draws - expected.sum()), np.append(counts, n_draws - counts.sum())
    assert scipy.stats.chisquare(counts, expected).pvalue > 1e-3


def test_gamma_is_drawn_given_the_labeled_tables() -> None:
    """Against its density by quadrature: the mean of 20,000 independent draws within 4 standard errors."""
    rng = np.random.default_rng(32)
    prior = exact.Prior(MODERATE.gamma_shape, MODERATE.gamma_scale)
    for n_categories, n_tables in ((0, 0), (1, 1), (1, 4), (3, 4)):
        drawn = np.array(
            [simulate.draw_gamma_given_labels(n_categories, n_tables, MODERATE, rng) for _ in range(20_000)]
        )
        integrals = [
            prior.integral(lambda x, power=power, k=n_categories, t=n_tables: x**power * exact.serving_factor(x, k, t))
            for power in (0, 1)
        ]
        error = drawn.std() / np.sqrt(drawn.size)
        assert abs(drawn.mean() - integrals[1] / integrals[0]) < 4 * error


def test_a_gamma_that_does_not_suit_the_labels_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulate, "N_PROPOSALS", 100)
    with pytest.raises(ValueError, match="3000 labeled documents"):
        simulate.draw_gamma_given_labels(1, 3_000, Hyperparameters(gamma_scale=1e5), np.random.default_rng(1))


@pytest.mark.parametrize("alpha", [1e-9, 1.0, 30.0])
def test_a_simulated_corpus_holds_together(alpha: float) -> None:
    rng = np.random.default_rng(33)
    lengths = rng.integers(0, 40, 50)
    labels = np.where(rng.random(50) < 0.4, rng.integers(0, 3, 50), UNLABELED)
    drawn = simulate.simulate(lengths, labels, 30, 3, Hyperparameters(n_topics=7), rng, alpha=alpha, gamma=3.0)
    validate(drawn.corpus)
    document = np.repeat(np.arange(50), lengths)
    is_labeled = drawn.corpus.labels[document] != UNLABELED
    np.testing.assert_array_equal(drawn.token_category[is_labeled], drawn.corpus.labels[document][is_labeled])
    assert (drawn.token_table[is_labeled] == 0).all()
    for d, t in set(zip(document.tolist(), drawn.token_table.tolist(), strict=True)):
        assert np.unique(drawn.token_category[(document == d) & (drawn.token_table == t)]).size == 1
    for d in range(50):
        served = drawn.token_category[document == d]
        expected = np.bincount(served).argmax() if served.size else UNLABELED
        assert drawn.document_category[d] == expected
    for rows in (drawn.theta, drawn.phi):
        np.testing.assert_allclose(rows.sum(axis=1), 1.0)
    assert drawn.theta.shape == (max(3, drawn.token_category.max() + 1), 7) and drawn.phi.shape == (7, 30)
    assert drawn.token_topic.max() < 7


def test_words_are_drawn_from_the_rows_they_are_given() -> None:
    """A chi-square of each row at level 1e-3 / 3; independent draws."""
    chances = np.array([[0.2, 0.3, 0.5], [0.0, 1.0, 0.0], [0.9, 0.0, 0.1]])
    rows = np.random.default_rng(34).integers(0, 3, 30_000)
    columns = simulate.draw_from_rows(chances, rows, np.random.default_rng(35))
    for row, p in enumerate(chances):
        counts = np.bincount(columns[rows == row], minlength=3)
        assert (counts[p == 0] == 0).all()
        if (p > 0).sum() > 1:
            assert scipy.stats.chisquare(counts[p > 0], p[p > 0] * counts.sum()).pvalue > 1e-3 / 3


SEPARATED = Hyperparameters(n_topics=12, zeta=0.05, beta=0.02, n_start=6)


@pytest.mark.parametrize(
    ("n_known", "n_categories", "labeled_share", "seed"),
    [(2, 3, 0.4, 1), (2, 5, 0.3, 2), (0, 3, 0.0, 3), (3, 3, 0.3, 4)],
)
def test_with_well_separated_categories_the_posterior_mode_of_k_is_the_truth(
    n_known: int, n_categories: int, labeled_share: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(15, 40, 60)
    labels = np.where(rng.random(60) < labeled_share, np.arange(60) % max(n_known, 1), UNLABELED)
    drawn = simulate.simulate_separated(lengths, labels, 120, n_known, n_categories, SEPARATED, rng)
    assert drawn.n_categories == n_categories
    state = chain.start(drawn.corpus, SEPARATED, seed=seed, chain=0, kernel="collapsed")
    numbers, scores = [], []
    is_unlabeled = drawn.corpus.labels == UNLABELED
    for sweep in range(200):
        draw = chain.sweep(drawn.corpus, SEPARATED, state)
        if sweep >= 100:
            numbers.append(draw.n_categories)
            found = state.document_categories(drawn.corpus)
            scores.append(nmi(drawn.document_category[is_unlabeled], found[is_unlabeled]))
    assert np.bincount(numbers).argmax() == n_categories
    assert np.median(scores) == pytest.approx(1.0)
