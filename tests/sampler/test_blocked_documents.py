"""Categories and tables of documents at given sticks, p(w | k) and alpha, against the urns that they stand for.

One call resamples many copies of a few documents, each with numbers of its own, so their counts are independent. They
start from the law itself, so that it must be kept by every step; and from one category, so that it must be found.
"""

import itertools
import math
from collections import Counter
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
import scipy.special
import scipy.stats

from sampler.corpus import UNLABELED, Array, Corpus
from sampler.hyperparameters import Hyperparameters
from sampler.lbpl_ntm.blocked import sweep as blocked_sweep
from sampler.lbpl_ntm.blocked import whole_documents
from sampler.lbpl_ntm.blocked.arrays import FIXED_POINT
from sampler.lbpl_ntm.blocked.state import BlockedState
from sampler.lbpl_ntm.blocked.sweep import Sweep
from tests.sampler import blocked_harness, exact, mutants

Document = tuple[int, ...]


class Given(NamedTuple):
    """What documents are resampled under."""

    alpha: float
    stick: tuple[float, ...]
    chance: tuple[tuple[float, ...], ...]  # [V, K], float32
    documents: tuple[Document, ...]  # words ascending
    least_stick: float = 1e-12


def random_chance(seed: int, n_words: int, n_categories: int, contrast: float) -> tuple[tuple[float, ...], ...]:
    """Any positive numbers can be p(w | k), as the words are given."""
    numbers = np.random.default_rng(seed).gamma(1.0 / contrast, size=(n_words, n_categories)) + 1e-3
    return tuple(map(tuple, numbers.astype(np.float32).astype(float).tolist()))


SHORT = ((0,), (0, 0), (0, 1), (0, 0, 1), (0, 1, 2), (0, 0, 1, 2), (1, 1, 1, 2))
GIVEN = {
    "moderate alpha": Given(1.3, (0.5, 0.3, 0.15), random_chance(1, 3, 3, 1.0), SHORT),
    "few tables": Given(0.05, (0.5, 0.3, 0.15), random_chance(2, 3, 3, 0.5), SHORT),
    "many tables": Given(20.0, (0.6, 0.2, 0.15), random_chance(3, 3, 3, 2.0), SHORT),
    "one category": Given(1.0, (0.9,), random_chance(4, 3, 1, 1.0), SHORT),
    "a tiny stick": Given(2.0, (0.9, 1e-4, 0.05), random_chance(5, 3, 3, 3.0), SHORT),
    "forty categories": Given(2.0, tuple([0.02] * 39 + [0.2]), random_chance(6, 3, 40, 1.0), ((0, 1), (0, 0, 2))),
    "two of four too small": Given(1.5, (0.4, 0.1, 0.3, 0.15), random_chance(7, 3, 4, 1.0), SHORT, 0.2),
    "one large enough": Given(1.5, (0.1, 0.5, 0.2), random_chance(8, 3, 3, 1.0), SHORT, 0.2),
    "none large enough": Given(1.5, (0.1, 0.15, 0.2), random_chance(9, 3, 3, 1.0), SHORT, 0.2),
}


class Law(NamedTuple):
    """A document's categories and tables given its words."""

    chances: dict[Document, float]  # of the categories of its tokens
    means: Array  # float64[2 K], expected tables of each category, then the sum of log (n - 1)! over them
    squares: Array  # float64[2 K], expected squares of these


@cache
def law(given: Given, document: Document) -> Law:
    """By enumeration: tokens take seats, one after another, and each new table a category with probability b_k."""
    n_categories = len(given.stick)
    chances: Counter[Document] = Counter()
    means, squares = np.zeros(2 * n_categories), np.zeros(2 * n_categories)
    for table in exact.partitions(len(document)):
        sizes = Counter(table)
        seats = given.alpha ** len(sizes) * math.prod(math.factorial(n - 1) for n in sizes.values())
        for served in itertools.product(range(n_categories), repeat=len(sizes)):
            category = tuple(served[t] for t in table)
            p = seats * math.prod(given.stick[k] for k in served)
            p *= math.prod(given.chance[w][k] for w, k in zip(document, category, strict=True))
            chances[category] += p
            values: Counter[int] = Counter(served)
            for t, k in enumerate(served):
                values[n_categories + k] += math.lgamma(sizes[t])
            for j, x in values.items():
                means[j] += p * x
                squares[j] += p * x * x
    total = sum(chances.values())
    return Law({z: p / total for z, p in chances.items()}, means / total, squares / total)


def copies(given: Given, n_copies: int) -> Corpus:
    """Each document so many times."""
    words = np.concatenate([np.tile(document, n_copies) for document in given.documents]).astype(np.int32)
    lengths = np.repeat([len(document) for document in given.documents], n_copies)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Corpus(words, offsets, np.full(lengths.size, UNLABELED, np.int32), len(given.chance), 0)


def opened(given: Given, corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> Sweep:
    """The steps over a state with these parameters."""
    monkeypatch.setattr(blocked_sweep, "LEAST_STICK", given.least_stick)
    model = Hyperparameters(n_topics=2, n_start=1)
    sweep = blocked_harness.prepared(corpus, model, len(given.stick), seed=31)
    sweep.state.alpha = given.alpha
    blocked_harness.write_categories(sweep, given.stick, np.array(given.chance, np.float32))
    return sweep


def by_document(given: Given, tokens: Array, n_copies: int) -> list[Array]:
    """Of each document its copies' tokens, [n_copies, n]."""
    sizes = [len(document) * n_copies for document in given.documents]
    parts = np.split(tokens, np.cumsum(sizes)[:-1])
    return [part.reshape(n_copies, -1) for part in parts]


def resample(sweep: Sweep, n_times: int) -> None:
    sweep.score_categories(has_chances=True)
    for _ in range(n_times):
        sweep.state.n_sweeps += 1
        sweep.sample_documents()


def p_values(given: Given, state: BlockedState, corpus: Corpus, n_copies: int) -> dict[object, float]:
    """How well the copies' categories, and all tables together, agree with the law."""
    found: dict[object, float] = {}
    means, variances = np.zeros(2 * len(given.stick)), np.zeros(2 * len(given.stick))
    tokens = blocked_harness.token_categories(corpus, state)
    for document, part in zip(given.documents, by_document(given, tokens, n_copies), strict=True):
        expected = law(given, document)
        seen = Counter(map(tuple, part.tolist()))
        assert seen.keys() <= expected.chances.keys()
        visits = np.array([seen[z] for z in expected.chances])
        found[document] = blocked_harness.chi_square_p(visits, np.array(list(expected.chances.values())))
        means += n_copies * expected.means
        variances += n_copies * (expected.squares - expected.means**2)
    counts, n = state.counts, len(given.stick)
    observed = np.concatenate([counts.category_tables[:n], counts.log_seats[:n] / FIXED_POINT])
    # rounding to FIXED_POINT errs by up to 2^-21 a table: beside it a variance may be none at all
    z = (observed - means) / np.sqrt(np.maximum(variances, 1e-3))
    found |= {("tables", j): 2.0 * float(scipy.stats.norm.sf(abs(z[j]))) for j in range(2 * n)}
    return found


@pytest.mark.parametrize("name", GIVEN)
def test_the_law_of_categories_and_tables_is_kept(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where some categories are too small to be chosen from: what sits there stays, and all else is as it was.

    Copies are independent and start from the law, so a chi-square test of their categories is exact, and sums over
    tens of thousands of them are normal.
    """
    given, n_copies = GIVEN[name], 5_000
    corpus, rng = copies(given, n_copies), np.random.default_rng(32)
    sweep = opened(given, corpus, monkeypatch)
    state = sweep.state
    drawn = []
    for document in given.documents:
        chances = law(given, document).chances
        rows = rng.choice(len(chances), n_copies, p=list(chances.values()))
        drawn.append(np.array(list(chances))[rows].ravel())
    blocked_harness.place(corpus, state, np.concatenate(drawn))
    resample(sweep, 8)
    blocked_harness.assert_all_likely(p_values(given, state, corpus, n_copies))
    np.testing.assert_array_equal(state.counts.category_word, blocked_harness.category_word(corpus, state))


@pytest.mark.parametrize("name", [name for name, given in GIVEN.items() if given.least_stick < 0.01])
def test_the_law_is_found_from_a_single_category(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given, n_copies = GIVEN[name], 2_000
    corpus = copies(given, n_copies)
    sweep = opened(given, corpus, monkeypatch)
    state = sweep.state
    blocked_harness.place(corpus, state, np.full(corpus.n_tokens, len(given.stick) - 1))
    resample(sweep, 60)
    blocked_harness.assert_all_likely(p_values(given, state, corpus, n_copies))


def test_long_documents_of_one_word_keep_their_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """600 equal words in three pairs: how many are in the first of two categories has a closed form."""
    n, alpha, n_copies = 600, 1.2, 2_000
    stick, chance = (0.5, 0.3), ((0.5, 0.502),)
    given = Given(alpha, stick, chance, ((0,) * n,))
    corpus, rng = copies(given, n_copies), np.random.default_rng(34)
    sweep = opened(given, corpus, monkeypatch)
    state = sweep.state
    first = np.arange(n + 1)
    log_chances = scipy.stats.betabinom.logpmf(first, n, alpha * stick[0], alpha * stick[1])
    log_chances += first * math.log(float(np.float32(chance[0][0])) / float(np.float32(chance[0][1])))
    chances = np.exp(log_chances - log_chances.max())
    drawn = rng.choice(n + 1, n_copies, p=chances / chances.sum())
    category = np.arange(n) >= drawn[:, np.newaxis]
    blocked_harness.place(corpus, state, rng.permuted(category, axis=1).ravel().astype(int))
    resample(sweep, 5)
    after = blocked_harness.token_categories(corpus, state).reshape(n_copies, n)
    in_first = (after == 0).sum(axis=1)
    assert np.mean(in_first != drawn) > 0.2
    found: dict[object, float] = {
        "in the first": blocked_harness.chi_square_p(np.bincount(in_first, minlength=n + 1), chances)
    }
    for k, tokens in enumerate((in_first, n - in_first)):
        seats = state.counts.log_seats[k] / FIXED_POINT
        z = tables_z(alpha * stick[k], tokens, int(state.counts.category_tables[k]), seats, rng)
        found |= {("tables", k, j): 2.0 * float(scipy.stats.norm.sf(abs(z[j]))) for j in range(2)}
    blocked_harness.assert_all_likely(found)


def tables_z(
    concentration: float, tokens: Array, n_tables: int, log_seats: float, rng: np.random.Generator
) -> tuple[float, float]:
    """Standard errors between tables of many documents with so many tokens of a category each, and their law.

    That is Ewens' given the tokens: the means have closed forms, and the variance of tables too; that of the sum of
    log (size - 1)! is taken from urns of a part of the documents.
    """
    psi = [
        scipy.special.polygamma(m, concentration + tokens) - scipy.special.polygamma(m, concentration) for m in (0, 1)
    ]
    mean, variance = concentration * psi[0], concentration * psi[0] + concentration**2 * psi[1]
    expected = np.array([expected_seats(concentration, n) for n in range(int(tokens.max()) + 1)])
    urns = rng.permutation(tokens)[:300].tolist()
    spread = np.mean([(seats_of_an_urn(concentration, n, rng) - expected[n]) ** 2 for n in urns]) * tokens.size
    return (
        float((n_tables - mean.sum()) / np.sqrt(variance.sum())),
        float((log_seats - expected[tokens].sum()) / np.sqrt(spread)),
    )


def expected_seats(concentration: float, n: int) -> float:
    """The mean of the sum of log (size - 1)! over the tables of n tokens, by the mean number of tables of each size."""
    size = np.arange(1, n + 1)
    gammaln = scipy.special.gammaln
    log_tables = gammaln(n + 1) - gammaln(n - size + 1) + gammaln(concentration + n - size) - gammaln(concentration + n)
    return float((concentration / size * np.exp(log_tables) * gammaln(size)).sum())


def seats_of_an_urn(concentration: float, n: int, rng: np.random.Generator) -> float:
    """The sum of log (size - 1)! over tables that n tokens took, one after another."""
    table: list[int] = []
    for i, (u, v) in enumerate(rng.random((n, 2)).tolist()):
        table.append(table[int(v * i)] if u * (i + concentration) < i else i)
    return float(scipy.special.gammaln(np.unique(table, return_counts=True)[1]).sum())


def test_what_sits_in_a_category_that_is_too_small_stays_and_nothing_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    given, n_copies = GIVEN["two of four too small"], 500
    corpus, rng = copies(given, n_copies), np.random.default_rng(33)
    sweep = opened(given, corpus, monkeypatch)
    state = sweep.state
    before = rng.integers(0, 4, corpus.n_tokens)
    blocked_harness.place(corpus, state, before)
    resample(sweep, 5)
    after = blocked_harness.token_categories(corpus, state)
    is_small = np.array(given.stick)[before] <= 0.2
    np.testing.assert_array_equal(after[is_small], before[is_small])
    assert set(after[~is_small].tolist()) == {0, 2}


@pytest.mark.slow
@pytest.mark.parametrize("mistake", mutants.DOCUMENTS)
def test_the_test_has_the_power_to_find_a_wrong_kernel(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = mutants.of_documents(*mutants.DOCUMENTS[mistake]).sample_documents
    monkeypatch.setattr(whole_documents, "sample_documents", kernel)
    with pytest.raises(AssertionError, match=r"comparisons|keys"):
        test_the_law_of_categories_and_tables_is_kept("moderate alpha", monkeypatch)
        test_long_documents_of_one_word_keep_their_law(monkeypatch)


@pytest.mark.slow
def test_rows_that_are_asked_for_ahead_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As they are where chances fill more than a core's caches."""
    given, found = GIVEN["moderate alpha"], []
    kernels = [whole_documents.sample_documents, mutants.of_documents("FAR = 2_000_000", "FAR = 0").sample_documents]
    for kernel in kernels:
        monkeypatch.setattr(whole_documents, "sample_documents", kernel)
        corpus = copies(given, 100)
        sweep = opened(given, corpus, monkeypatch)
        state = sweep.state
        resample(sweep, 10)
        found.append((blocked_harness.token_categories(corpus, state), state.counts.category_tables.copy()))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])
    assert np.unique(found[0][0]).size > 1
