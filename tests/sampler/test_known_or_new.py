"""Propensities on simulated labels: the labeling rate is known, and so is every document's chance to be known."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from sampler.calibrated.bags import word_bags
from sampler.calibrated.known_or_new import (
    Propensity,
    known_chances,
    labeling_rate,
    labeling_rates,
    propensity,
    trained_on,
)
from sampler.corpus import UNLABELED, Array, Corpus
from sampler.numerics.threads import Threads
from tests.sampler.calibrated_harness import QUICK, easy, posed

WORDS = 12  # of each kind of document
RATE = 0.4


def learned(
    corpus: Corpus, atoms: list[Array] | None = None, n_threads: int = 1, seed: int = 1, balance: float = QUICK.balance
) -> Propensity:
    """The propensities of a corpus, from its words and these atoms."""
    given = replace(QUICK, balance=balance)
    with Threads(n_threads) as threads:
        return propensity(word_bags(corpus), corpus.labels, corpus.n_known, atoms or [], given, seed, threads)


class Told(NamedTuple):
    """A corpus of kinds of documents whose chance to be of a known category is given."""

    corpus: Corpus
    kind: Array  # int64[D]
    is_known: Array  # bool[D]


def told(sizes: tuple[int, ...], chances: tuple[float, ...], rate: float, seed: int) -> Told:
    """Documents of four words of their kind; those that turn out known bear a label with probability `rate`.

    A known document of an even kind is of category 0, of an odd kind of category 1.
    """
    rng = np.random.default_rng(seed)
    kind = np.repeat(np.arange(len(sizes)), sizes)
    is_known = rng.random(kind.size) < np.array(chances)[kind]
    labels = np.where(is_known & (rng.random(kind.size) < rate), kind % 2, UNLABELED)
    documents = (rng.integers(0, WORDS, (kind.size, 4)) + WORDS * kind[:, None]).tolist()
    return Told(posed(documents, labels.tolist(), 2), kind, is_known)


# Kinds 0 and 1 are known for certain, kind 2 by half, kinds 3 and 4 are new.
MIXED = ((600, 600, 300, 400, 400), (1.0, 1.0, 0.5, 0.0, 0.0))


@pytest.mark.parametrize("seed", range(3))
def test_the_labeling_rate_and_the_share_of_known_documents_are_met(seed: int) -> None:
    """n labels give pi to sqrt(pi (1 - pi) / n), five of which are 0.07 for the 1,200 documents that are surely known.

    If the mixed kind is above pi / 2 by chance, it is counted as known whole, and the rate falls by at most the share
    of its new ones, pi 150 / 1500 = 0.04. The chance of an unlabeled document of kind q is q (1 - pi) / (1 - q pi).
    For q = .5 it is .375; the labeled share of 300 documents errs by .023, which is .058 of q and nearly as much of the
    chance: five errors, and the rate's own of .04 / .4 of it, come to .3. The chances of one kind differ besides,
    as words differ by chance in their labels; their mean does not.
    """
    given = told(*MIXED, RATE, 60 + seed)
    found = learned(given.corpus)
    assert RATE - 0.11 <= found.rate <= RATE + 0.07
    is_free = given.corpus.labels == UNLABELED
    expected = [q * (1 - RATE) / (1 - q * RATE) for q in MIXED[1]]
    means = [found.known[is_free & (given.kind == k)].mean() for k in range(5)]
    np.testing.assert_allclose(means, expected, atol=0.3)
    # Of the documents with a chance below and above a half, as many are known as the chances say: the errors are those
    # of the counted ones, sqrt(n p (1 - p)), below .03 of n, and that of the rate, again a tenth.
    for side in (found.known < 0.5, found.known >= 0.5):
        assert found.known[side & is_free].mean() == pytest.approx(given.is_known[side & is_free].mean(), abs=0.2)
    assert given.is_known[(found.known >= 0.9) & is_free].mean() > 0.8


@pytest.mark.parametrize("rate", [0.15, 0.4, 0.8])
def test_clear_categories_give_the_labeling_rate_itself(rate: float) -> None:
    """The rate is then the labeled share of the known documents, and the unlabeled ones are told apart.

    But for some at the border: those that happen to score below every labeled one get no chance. More than n of them
    have probability (1 - rate)^n.
    """
    given = told((200, 200, 200), (1.0, 1.0, 0.0), rate, 70)
    found, is_labeled = learned(given.corpus), given.corpus.labels != UNLABELED
    most = np.log(1e-4) / np.log(1.0 - rate)
    assert found.rate == pytest.approx(is_labeled[given.is_known].mean(), rel=most / given.is_known.sum())
    assert (found.known < 0.5)[given.is_known].sum() <= most
    assert (found.known < 0.5)[~given.is_known].all()
    np.testing.assert_array_equal(found.category[given.is_known], given.kind[given.is_known] % 2)


def test_few_documents_of_a_category_are_not_taken_for_their_like_among_many() -> None:
    """Sixty of one category among a thousand of the other; three words of eleven tell them apart."""
    rng = np.random.default_rng(77)
    truth = np.repeat([0, 1], [1_000, 60])
    shared, own = rng.integers(0, 60, (truth.size, 8)), 60 + 20 * truth[:, None] + rng.integers(0, 20, (truth.size, 3))
    labels = np.where(rng.random(truth.size) < RATE, truth, UNLABELED)
    corpus = posed(np.concatenate([shared, own], axis=1).tolist(), labels.tolist(), 2)
    is_small = (labels == UNLABELED) & (truth == 1)
    without, found = (learned(corpus, balance=balance).category for balance in (0.0, 0.5))
    assert (without[is_small] == 1).mean() < 0.8
    assert (found[is_small] == 1).mean() > max(0.8, (without[is_small] == 1).mean() + 0.1)
    assert (found[truth == 0] == 0).mean() > 0.99


def test_labeled_documents_are_known_of_their_category_for_certain() -> None:
    given = told(*MIXED, RATE, 71)
    labels = np.where(np.arange(given.kind.size) % 50 == 0, 1, given.corpus.labels).astype(np.int32)  # some are wrong
    found, is_labeled = learned(given.corpus._replace(labels=labels)), labels != UNLABELED
    np.testing.assert_array_equal(found.category[is_labeled], labels[is_labeled])
    assert (found.known[is_labeled] == 1.0).all()
    assert ((found.known >= 0.0) & (found.known <= 1.0)).all()


def test_without_a_label_no_document_is_known() -> None:
    for n_known in (0, 2):
        corpus = easy([10, 10], [0, 0]).corpus._replace(n_known=n_known)
        found = learned(corpus)
        assert np.isnan(found.rate)
        np.testing.assert_array_equal(found.known, 0.0)


def test_a_label_on_a_document_without_words_tells_nothing() -> None:
    corpus = posed([[], [0, 1], [1, 2]], [0, UNLABELED, UNLABELED], 1)
    found = learned(corpus)
    assert np.isnan(found.rate)
    np.testing.assert_array_equal(found.known[1:], 0.0)


def test_if_all_documents_are_labeled_the_rate_is_1() -> None:
    corpus = easy([12, 9], [12, 9]).corpus
    found = learned(corpus)
    assert found.rate == 1.0
    np.testing.assert_array_equal(found.known, 1.0)
    np.testing.assert_array_equal(found.category, corpus.labels)


def test_if_every_known_document_bears_a_label_no_other_is_known() -> None:
    given = told((150, 150, 200), (1.0, 1.0, 0.0), 1.0, 72)
    found = learned(given.corpus)
    assert found.rate > 0.99
    assert (found.known[~given.is_known] < 0.01).all()


def test_atoms_tell_what_words_do_not() -> None:
    """All documents have the same words, so only an indicator of the known ones can part them."""
    rng = np.random.default_rng(73)
    is_known = np.arange(400) < 200
    labels = np.where(is_known & (rng.random(400) < RATE), 0, UNLABELED)
    corpus = posed([[0, 1, 2]] * 400, labels.tolist(), 1)
    is_free = labels == UNLABELED
    without, found = learned(corpus), learned(corpus, [is_known.astype(np.uint16), np.zeros(400, np.uint16)])
    assert np.ptp(without.known[is_free]) < 0.5  # folds differ by chance
    assert found.known[is_free & is_known].min() > 0.9 and found.known[~is_known].max() < 0.1


def test_any_number_of_threads_gives_the_same_propensities() -> None:
    corpus = told((40, 40, 30), (1.0, 0.7, 0.0), RATE, 74).corpus
    atoms = [np.arange(110) % 7]
    expected, *others = (learned(corpus, atoms, n_threads) for n_threads in (1, 2, 5))
    for found in others:
        assert found.rate == expected.rate
        for a, b in zip(found[1:], expected[1:], strict=True):
            assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


def label_chances(score: Array, is_labeled: Array, counts: Array) -> Array:
    """How likely each document bears a label: as if each known one did."""
    return known_chances(score, is_labeled, counts, np.ones(score.size))


def test_levels_of_many_documents_are_calibrated_as_by_isotonic_regression() -> None:
    """Each level has documents enough to be judged by itself; some of them do not count, and some lie beyond."""
    rng = np.random.default_rng(75)
    score = rng.permutation(np.repeat(np.arange(15) / 14.0, 40))
    is_labeled = rng.random(600) < score**2 * 0.8
    expected = IsotonicRegression(out_of_bounds="clip").fit(score, is_labeled).predict(score)
    np.testing.assert_allclose(label_chances(score, is_labeled, np.ones(600, bool)), expected, atol=1e-9)
    more = np.concatenate([score, [-3.0, 5.0, 0.5]])
    counts = np.arange(603) < 600
    found = label_chances(more, np.append(is_labeled, [True] * 3), counts)
    np.testing.assert_allclose(found[:600], expected, atol=1e-9)
    np.testing.assert_allclose(found[600:602], [expected.min(), expected.max()], atol=1e-9)


def test_equal_scores_have_the_chance_of_their_labeled_share_in_any_order() -> None:
    """Where the labeled ones stand in the corpus tells nothing."""
    everyone = np.ones(200, bool)
    for is_labeled in (np.arange(200) >= 150, np.arange(200) < 50, np.arange(200) % 4 == 0):
        np.testing.assert_allclose(label_chances(np.full(200, 0.3), is_labeled, everyone), 0.25, atol=1e-12)


def test_calibrated_scores_rise_and_a_few_low_ones_are_not_surely_without_a_label() -> None:
    """Of documents that all bear a label with probability .4, some have none below them by chance."""
    rng = np.random.default_rng(77)
    for n in (1, 2, 7, 30, 400):
        score, is_labeled = rng.random(n), rng.random(n) < 0.4
        is_labeled[np.argsort(score)[: min(n // 4, 3)]] = False
        found = label_chances(score, is_labeled, np.ones(n, bool))
        assert (np.diff(found[np.argsort(score)]) >= 0).all()
        assert found.min() >= 0.0 and found.max() <= 1.0
        assert n < 20 or found.min() > 0.0
        # Scores within a block are interpolated, so the mean may be off by what a block or two hold.
        assert found.mean() == pytest.approx(is_labeled.mean(), abs=0.05 if n > 100 else 1.0)


def test_the_labeling_rate_is_that_of_the_documents_above_half_of_it() -> None:
    """Three levels: .5 on 20 documents, .3 on 10, .05 on 40; above half of (10 + 3) / 30 = .43 are the first two."""
    labeled = np.repeat([0.5, 0.3, 0.05], [20, 10, 40])
    is_labeled = np.concatenate([np.arange(n) < k for n, k in ((20, 10), (10, 3), (40, 2))])
    assert labeling_rate(labeled, is_labeled) == pytest.approx(13 / 30, abs=1e-9)
    assert labeling_rate(np.ones(5), np.ones(5, bool)) == 1.0


def test_documents_that_are_labeled_at_a_low_rate_are_as_surely_known_as_others() -> None:
    """Two levels of 1,000 documents: half of the lower and all of the upper ones are known; rates .1 and .6 alternate.

    The share of labels over the mean rate errs by sqrt(.35 / 1000) / .35 = .05 at most; allowed are five of that.
    """
    rng = np.random.default_rng(78)
    score, rate = np.repeat([0.2, 0.8], 1_000), np.tile([0.1, 0.6], 1_000)
    is_labeled = (rng.random(2_000) < np.repeat([0.5, 1.0], 1_000)) & (rng.random(2_000) < rate)
    found = known_chances(score, is_labeled, np.ones(2_000, bool), rate)
    np.testing.assert_allclose(found[[0, -1]], [0.5, 1.0], atol=0.25)


# Of each category, its documents and the rate at which they are labeled; as many documents are new.
UNEVEN = ((600, 0.05), (500, 0.6), (400, 0.3), (500, 0.1))


def labeled_at(rates: tuple[tuple[int, float], ...], seed: int) -> tuple[Array, Array, Array]:
    """Scores, labels and categories: known documents score around their rate, those beside them around 0."""
    rng = np.random.default_rng(seed)
    score, is_labeled, category = [], [], []
    for k, (n, rate) in enumerate(rates):
        is_known = np.arange(2 * n) < n
        score.append(np.where(is_known, rate, 0.0) + 0.01 * rng.random(2 * n))
        is_labeled.append(is_known & (rng.random(2 * n) < rate))
        category.append(np.full(2 * n, k))
    return np.concatenate(score), np.concatenate(is_labeled), np.concatenate(category)


@pytest.mark.parametrize("seed", range(3))
def test_each_category_has_a_labeling_rate_of_its_own(seed: int) -> None:
    """A share errs by sqrt(p (1 - p) / n), .02 at most; four of that, and a tenth for what is shrunk."""
    score, is_labeled, category = labeled_at(UNEVEN, 80 + seed)
    _, rates = labeling_rates(score, is_labeled, np.ones(score.size, bool), category, len(UNEVEN))
    for (n, rate), found in zip(UNEVEN, rates, strict=True):
        assert found == pytest.approx(rate, abs=4 * (rate * (1 - rate) / n) ** 0.5 + 0.1 * rate)


def test_rates_that_differ_as_chance_lets_them_are_one() -> None:
    score, is_labeled, category = labeled_at(((60, 0.4), (30, 0.4), (50, 0.4)), 84)
    common, rates = labeling_rates(score, is_labeled, np.ones(score.size, bool), category, 3)
    assert rates.tolist() == [common] * 3


def test_a_category_without_a_document_has_the_common_rate() -> None:
    score, is_labeled, category = labeled_at(UNEVEN[:2], 85)
    common, rates = labeling_rates(score, is_labeled, np.ones(score.size, bool), category, 3)
    assert rates[2] == common


def test_a_sample_to_learn_from_is_half_labeled_at_most() -> None:
    rng = np.random.default_rng(76)
    is_labeled, is_empty = rng.random(2_000) < 0.5, rng.random(2_000) < 0.1
    trained = trained_on(is_labeled, is_empty, 400, 1)
    assert (trained & is_labeled).sum() == 200 == (trained & ~is_labeled).sum()
    assert not (trained & is_empty).any()
    few = np.arange(2_000) < 50  # what labeled documents leave goes to the others
    trained = trained_on(few, is_empty, 400, 1)
    np.testing.assert_array_equal(trained & few, few & ~is_empty)
    assert trained.sum() == 400
    np.testing.assert_array_equal(trained_on(is_labeled, is_empty, 10_000, 1), ~is_empty)


def test_short_documents_of_a_known_category_are_not_new_for_want_of_short_labels() -> None:
    """Documents of 15 words, as the labeled ones, and as many of two. None of the latter has a label.

    Of two words nobody can be sure; but with 96 of 216 unlabeled long documents known, .44, less than half of that
    would be for their length. (It was .07 when they were learned from, too.)
    """
    long = easy([80, 80, 60, 60], [32, 32, 0, 0], overlap=0.15)
    short = easy([80, 80, 60, 60], [0, 0, 0, 0], length=2, overlap=0.15, seed=2)
    both = posed(
        [*documents_of(long.corpus), *documents_of(short.corpus)],
        [*long.corpus.labels.tolist(), *short.corpus.labels.tolist()],
        2,
    )
    known = learned(both).known[long.truth.size :]
    is_known = short.truth < 2
    assert known[is_known].mean() > 0.22
    assert known[is_known].mean() > 2.0 * known[~is_known].mean()


def documents_of(corpus: Corpus) -> list[list[int]]:
    """The words of each document."""
    return [words.tolist() for words in np.split(corpus.words, corpus.offsets[1:-1])]
