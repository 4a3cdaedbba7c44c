"""Atoms against a recount, against conditionals computed directly, and against categories that share no word."""

import numpy as np
import pytest
import scipy.special
import scipy.stats

from sampler.calibrated import atoms
from sampler.calibrated.atoms import Atoms, Batch, Settling, count_atoms, likeliest_atoms, seed_atoms, settle_atoms
from sampler.calibrated.bags import (
    WordBags,
    effective_counts,
    select,
    tf_idf,
    word_bags,
    word_prior,
    word_totals,
)
from sampler.calibrated.directions import Directions, evidence
from sampler.corpus import UNLABELED, Array
from sampler.numerics import streams
from sampler.numerics.streams import Step
from sampler.numerics.threads import Threads
from tests.sampler.calibrated_harness import easy, posed

BETA = 0.3
FALSE_ALARM = 1e-4  # of one comparison, were the seed not fixed
# Counts are sums of up to some hundred float32 terms, none above a few hundred: each addition errs by 6e-8 of the sum.
ROUNDING = 1e-3


def random_bags(n_documents: int = 80, n_words: int = 25) -> WordBags:
    """Documents of 0 to 12 words, some without a word."""
    rng = np.random.default_rng(21)
    lengths = rng.integers(1, 13, n_documents)
    lengths[::17] = 0
    made = [rng.integers(0, n_words, n).tolist() for n in lengths]
    return word_bags(posed(made, [UNLABELED] * n_documents, 0))


def dense(bags: WordBags, values: Array) -> Array:
    """float64[D, V]: the entries as a matrix."""
    matrix = np.zeros((bags.n_documents, bags.n_words))
    matrix[bags.document, bags.words] = values
    return matrix


def recount(bags: WordBags, values: Array, atom: Array, n_atoms: int) -> tuple[Array, Array, Array]:
    """Words float64[V, A], total [A] and documents [A] of each atom, by products with an indicator."""
    member = (atom[:, None] == np.arange(n_atoms)) & ~bags.is_empty[:, None]
    words = dense(bags, values).T @ member
    return words, words.sum(axis=0), member.sum(axis=0)


def assert_equal_counts(found: Atoms, expected: tuple[Array, Array, Array]) -> None:
    """Words, totals and sizes are the expected ones, the sizes exactly."""
    np.testing.assert_allclose(found.words, expected[0], atol=ROUNDING)
    np.testing.assert_allclose(found.total, expected[1], atol=ROUNDING)
    np.testing.assert_array_equal(found.size, expected[2])


@pytest.mark.parametrize("weighting", [0, 1])
def test_counts_are_a_recount(weighting: int) -> None:
    bags = random_bags()
    values = effective_counts(bags, weighting, 10.0)
    atom = np.random.default_rng(22).integers(0, 6, bags.n_documents).astype(np.int32)
    assert_equal_counts(count_atoms(bags, values, atom, 7), recount(bags, values, atom, 7))


def test_counts_and_logs_stay_true_through_all_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    """After each batch of a run in which atoms become empty and are filled again."""
    bags, n_atoms = random_bags(), 30
    n_used: list[int] = []
    values = effective_counts(bags, 1, 10.0)

    def checked(settling: Settling, batch: Batch, stop: Array) -> None:
        move(settling, batch, stop)
        found = settling.counts
        assert_equal_counts(found, recount(bags, values, settling.atom, n_atoms))
        smoothed = found.words + settling.smoothing[:, None]
        np.testing.assert_allclose(np.exp(settling.logs[:, :n_atoms]), smoothed, rtol=1e-5)
        assert (found.words >= 0).all()
        n_used.append(int(np.count_nonzero(found.size)))

    move = atoms.move_documents
    monkeypatch.setattr(atoms, "move_documents", checked)
    start = (np.arange(bags.n_documents) % n_atoms).astype(np.int32)
    prior = word_prior(word_totals(bags, values), BETA, has_background=True)
    with Threads() as threads:
        settle_atoms(bags, values, start, prior, 5, (2, 1), threads)
    assert len(n_used) >= 5 and min(n_used) < max(n_used)


def even(bags: WordBags) -> Array:
    """float64[V]: the same beta for all words."""
    return np.full(bags.n_words, BETA)


def conditional(
    bags: WordBags, values: Array, atom: Array, d: int, n_atoms: int, prior: Array, directed: Directions
) -> Array:
    """float64[A]: p(atom of document d | all others), from counts without the document."""
    rows, others = dense(bags, values), np.arange(bags.n_documents) != d
    log_p = np.full(n_atoms, -np.inf)
    for a in range(n_atoms):
        members = others & (atom == a) & ~bags.is_empty
        if members.any() or a == atom[d]:
            words = rows[members].sum(axis=0)
            chance = np.log(prior + words) - np.log(prior.sum() + words.sum())
            log_p[a] = (rows[d] * chance).sum() + np.log(max(members.sum(), 1))
            log_p[a] += direction_gain(directed, members, d)
    return np.asarray(scipy.special.softmax(log_p))


def direction_gain(directed: Directions, members: Array, d: int) -> float:
    """E(s + x) - E(s) of a document, by the definition; 0 without vectors."""
    places, nu = directed.places.astype(np.float64), directed.places.shape[1] / 2 - 1
    if not places.shape[1]:
        return 0.0
    before, after = places[members].sum(axis=0), places[members].sum(axis=0) + places[d]
    return evidence(after @ after, directed.kappa, nu) - evidence(before @ before, directed.kappa, nu)


@pytest.mark.parametrize(
    ("weighting", "has_background", "n_axes"),
    [(0, False, 0), (1, False, 0), (0, True, 0), (0, False, 4), (1, False, 8)],
)
def test_documents_choose_their_atoms_by_their_conditionals(
    weighting: int, has_background: bool, n_axes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all in one batch, a sweep moves each document given where all others begin.

    Four atoms have documents of many words that never leave, so that numbers stay; of six short documents one is alone
    in a fifth atom, which counts as a new one with gamma = 1.
    """
    monkeypatch.setattr(atoms, "N_BATCHES", 1)
    rng, n_atoms, n_draws = np.random.default_rng(24), 5, 4_000
    heavy = [[4 + a] * 400 + [a] * 8 for a in range(4) for _ in range(2)]
    light = [rng.integers(0, 4, n).tolist() for n in (1, 2, 2, 3, 3, 2)]
    bags = word_bags(posed(heavy + light, [UNLABELED] * 14, 0))
    values = effective_counts(bags, weighting, 10.0)
    prior = word_prior(np.ones(bags.n_words), 1.0, False)
    if has_background:
        prior = word_prior(np.arange(bags.n_words) % 3 + 1.0, 1.0, True)
    start = np.array([0, 0, 1, 1, 2, 2, 3, 3, 0, 1, 2, 3, 3, 4], np.int32)
    places = rng.standard_normal((14, n_axes)).astype(np.float32)
    places[9] = 0.0  # it has no vector
    lengths = np.sqrt((places**2).sum(axis=1, keepdims=True))
    directed = Directions(np.divide(places, lengths, out=np.zeros_like(places), where=lengths > 0), 0.5)
    visits = np.zeros((14, n_atoms))
    with Threads() as threads:
        for draw in range(n_draws):
            visits[np.arange(14), settle_atoms(bags, values, start, prior, 1, (draw, 1), threads, directed)] += 1
    for d in range(14):
        chances = conditional(bags, values, start, d, n_atoms, prior, directed)
        if d < 8:
            assert chances[start[d]] > 1 - 1e-9 and visits[d, start[d]] == n_draws
            continue
        possible = chances > 0
        assert (chances[possible] * n_draws > 5).all() and possible.sum() == 5
        p_value = scipy.stats.chisquare(visits[d, possible], chances[possible] * n_draws).pvalue
        assert p_value > FALSE_ALARM


def found_by(bags: WordBags, threads: Threads, n_atoms: int, seed: int = 5, n_sweeps: int = 4) -> Array:
    """int32[D]: the atoms of seeds and some sweeps."""
    key = streams.stream(seed, 0, 0, Step.ATOM_SEEDS)
    seeds = seed_atoms(bags.rows(tf_idf(bags)), n_atoms, key, threads)
    return settle_atoms(bags, effective_counts(bags, 0, 10.0), seeds, even(bags), n_sweeps, (seed, 1), threads)


def test_atoms_of_categories_that_share_no_word_are_pure() -> None:
    given = easy([30, 40, 50], [0, 0, 0])
    with Threads() as threads:
        for seed in range(5):
            atom = found_by(word_bags(given.corpus), threads, 12, seed)
            assert len(set(zip(atom.tolist(), given.truth.tolist(), strict=True))) == np.unique(atom).size >= 3


@pytest.mark.parametrize("piece", [3, 64])
def test_any_number_of_threads_and_any_pieces_give_the_same_bytes(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    bags = word_bags(easy([60, 60, 60], [0, 0, 0], overlap=0.5).corpus)
    values = effective_counts(bags, 0, 10.0)
    with Threads() as alone:
        expected = found_by(bags, alone, 20)
        assigned = likeliest_atoms(bags, values, count_atoms(bags, values, expected, 20), even(bags), alone)
    monkeypatch.setattr(atoms, "PIECE", piece)
    for n_threads in (1, 2, 5):
        with Threads(n_threads) as threads:
            found = found_by(bags, threads, 20)
            again = likeliest_atoms(bags, values, count_atoms(bags, values, found, 20), even(bags), threads)
        assert found.tobytes() == expected.tobytes() and again.tobytes() == assigned.tobytes()


def test_settled_atoms_are_numbered_without_a_gap_and_the_start_is_left_alone() -> None:
    bags = random_bags()
    start = np.random.default_rng(25).integers(0, 40, bags.n_documents).astype(np.int32)
    before = start.copy()
    with Threads() as threads:
        found = settle_atoms(bags, effective_counts(bags, 0, 10.0), start, even(bags), 3, (1, 1), threads)
    np.testing.assert_array_equal(start, before)
    np.testing.assert_array_equal(np.unique(found), np.arange(found.max() + 1))
    assert found.dtype == np.int32 and found.max() < 40


def test_documents_without_words_are_in_atom_0_and_move_no_other() -> None:
    bags = word_bags(easy([20, 20], [0, 0], overlap=0.4).corpus)
    more = bags._replace(offsets=np.append(bags.offsets, [bags.offsets[-1]] * 3))
    with Threads() as threads:
        seeds = np.arange(40, dtype=np.int32) % 9
        without, found = (
            settle_atoms(part, effective_counts(part, 0, 10.0), start, even(part), 3, (1, 1), threads)
            for part, start in ((bags, seeds), (more, np.append(seeds, np.zeros(3, np.int32))))
        )
        np.testing.assert_array_equal(found[:40], without)
        np.testing.assert_array_equal(found[40:], 0)
        nothing = select(more, np.arange(40, 43))[0]
        np.testing.assert_array_equal(found_by(nothing, threads, 2), 0)


def test_seeds_part_documents_of_different_words_and_keep_equal_ones_together() -> None:
    """A document equal to a center is as near as can be: its like never becomes a second one."""
    kinds = np.random.default_rng(26).permutation(np.repeat(np.arange(6), 7))
    bags = word_bags(posed([[2 * k, 2 * k, 2 * k + 1] for k in kinds], [UNLABELED] * kinds.size, 0))
    with Threads() as threads:
        for seed in range(10):
            atom = seed_atoms(bags.rows(tf_idf(bags)), 6, streams.stream(seed, 0, 0, Step.ATOM_SEEDS), threads)
            assert len(set(zip(atom.tolist(), kinds.tolist(), strict=True))) == 6 == np.unique(atom).size


@pytest.mark.parametrize("n_atoms", [1, 5, 40])
def test_each_document_is_assigned_to_its_most_likely_atom(n_atoms: int) -> None:
    bags, rng = random_bags(), np.random.default_rng(27)
    values = effective_counts(bags, 1, 10.0)
    atom = rng.integers(0, n_atoms, bags.n_documents).astype(np.int32)
    counts = count_atoms(bags, values, atom, n_atoms)
    words, total, size = recount(bags, values, atom, n_atoms)
    prior = word_prior(word_totals(bags, values), BETA, has_background=n_atoms == 5)
    log_p = dense(bags, values) @ (np.log(prior[:, None] + words) - np.log(prior.sum() + total))
    log_p += np.log(np.maximum(size, 1e-9))
    with Threads() as threads:
        found = likeliest_atoms(bags, values, counts, prior, threads)
    chosen, with_words = log_p[np.arange(bags.n_documents), found], ~bags.is_empty
    assert (chosen >= log_p.max(axis=1) - ROUNDING)[with_words].all()
    np.testing.assert_array_equal(found[bags.is_empty], 0)
