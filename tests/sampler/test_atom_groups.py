"""Gibbs sampling of groupings against all partitions of four atoms, and against the same steps without a cache."""

from collections.abc import Sequence
from functools import cache
from itertools import product

import numpy as np
import pytest
import scipy.stats
from scipy.special import gammaln, softmax

from sampler.calibrated.atom_groups import AtomRows, atom_rows, log_gamma, log_target, no_gains, regroup
from sampler.calibrated.atoms import Atoms
from sampler.corpus import Array
from sampler.numerics import streams
from sampler.numerics.streams import Step

FALSE_ALARM = 1e-4  # of one comparison, were the seed not fixed
EPSILON = 1e-8  # of log gammas that are right to 1e-9, some dozen of them in a sum

Partition = tuple[int, ...]  # group of each atom, numbered by first atoms

# Four atoms over five words: so small that no partition has all the probability.
SMALL = np.array([[1.0, 0.5, 0.0, 0.0, 0.5], [1.5, 0.0, 0.5, 0.0, 0.0], [0.0, 0.0, 1.0, 1.5, 0.0], [0, 0.5, 0.5, 1, 0]])
SIZES = np.array([2.0, 1.0, 3.0, 1.0])
PRIORS = {"even": np.full(5, 0.4), "uneven": np.array([0.9, 0.1, 0.4, 0.2, 0.4])}  # beta_w
PLACES = np.array([[1.8, 0.3, 0.1, 0.0], [0.9, 0.1, -0.2, 0.3], [-0.5, 2.0, 0.9, 0.1], [0.0, 0.0, 0.0, 0.0]])
KAPPA = 2.0
NOWHERE = np.zeros((4, 0))


def rows_of(words: Array, size: Array, places: Array | None = None) -> AtomRows:
    """Atoms with counts float64[A, V], and sums of vectors float64[A, p] if there are any."""
    sums = np.zeros((size.size, 0)) if places is None else places
    kappa = KAPPA if sums.size else 0.0
    return atom_rows(
        Atoms(np.ascontiguousarray(words.T, np.float32), words.sum(axis=1), size.astype(float), sums, kappa)
    )


def random_rows(n_atoms: int, n_words: int, seed: int, n_axes: int = 0) -> AtomRows:
    """Atoms of two kinds, each with about half of its kind's words; counts, sizes and vectors at random."""
    rng = np.random.default_rng(seed)
    kind = (np.arange(n_words) % 2)[None, :] == rng.integers(0, 2, n_atoms)[:, None]
    words = rng.gamma(1.0, 2.0, (n_atoms, n_words)) * (rng.random((n_atoms, n_words)) < 0.5) * np.where(kind, 1.0, 0.2)
    words[:, 0] += 0.1  # no atom without a word
    return rows_of(words, rng.integers(1, 30, n_atoms), rng.standard_normal((n_atoms, n_axes)))


def in_order(group: Sequence[int]) -> Partition:
    """Groups renumbered in the order of their first atoms."""
    number: dict[int, int] = {}
    return tuple(number.setdefault(int(g), len(number)) for g in group)


@cache
def partitions(n_atoms: int) -> list[Partition]:
    """All partitions of the atoms."""
    if n_atoms == 0:
        return [()]
    return [(*part, g) for part in partitions(n_atoms - 1) for g in range(max(part, default=-1) + 2)]


def uneven(n_words: int) -> Array:
    """float64[V]: beta_w from .1 to .7."""
    return np.linspace(0.1, 0.7, n_words)


def evidence(counts: Array, prior: Array) -> float:
    """E(N) of a category with these counts [V]."""
    total = prior.sum()
    return float(gammaln(total) - gammaln(total + counts.sum()) + (gammaln(prior + counts) - gammaln(prior)).sum())


def direction(place: Array) -> float:
    """E(s) of a sum of vectors [p], as `directions` defines it; 0 without vectors."""
    nu = place.size / 2 - 1
    r = np.sqrt(1 + (KAPPA * np.linalg.norm(place) / nu) ** 2) if place.size else 1.0
    return float(nu * (r - 1 - np.log((1 + r) / 2)) - np.log(r) / 2)


def log_p(words: Array, size: Array, places: Array, group: Sequence[int], prior: Array, omega: float) -> float:
    """The log target of a partition, from its definition."""
    total, of_atom = 0.0, np.array(group)
    for g in set(group):
        total += evidence(words[of_atom == g].sum(axis=0), prior) + omega * gammaln(size[of_atom == g].sum())
        total += direction(places[of_atom == g].sum(axis=0))
    return float(total)


def dense(rows: AtomRows) -> Array:
    """float64[A, V]: the counts as a matrix."""
    matrix = np.zeros((rows.size.size, rows.n_words))
    matrix[np.repeat(np.arange(rows.size.size), np.diff(rows.offsets)), rows.words] = rows.counts
    return matrix


def test_the_log_gamma_is_that_of_scipy_to_nine_places() -> None:
    grid = np.concatenate([10.0 ** np.linspace(-3, 8, 20_000), np.arange(1, 1_000) / 100.0])
    expected = gammaln(grid)
    found = np.array([log_gamma(x) for x in grid])
    assert (np.abs(found - expected) <= 1e-9 * np.maximum(np.abs(expected), 1.0)).all()


def test_there_are_as_many_partitions_as_bell_numbers_say() -> None:
    assert [len(partitions(n)) for n in range(6)] == [1, 1, 2, 5, 15, 52]


@pytest.mark.parametrize("n_axes", [0, 4, 6])
@pytest.mark.parametrize("omega", [-1.0, 0.0, 0.5, 1.0, 3.0])
def test_the_log_target_is_its_definition_up_to_nothing(omega: float, n_axes: int) -> None:
    rows = random_rows(5, 30, seed=31, n_axes=n_axes)
    for part, prior in product(partitions(5), (np.full(30, 0.4), uneven(30))):
        expected = log_p(dense(rows), rows.size, rows.sums, part, prior, omega)
        assert log_target(rows, np.array(part), prior, omega) == pytest.approx(expected, abs=EPSILON)


def test_rows_hold_the_counts_of_atoms_with_a_document_and_no_remains_of_rounding() -> None:
    words = np.array([[2.0, 0.0, 1e-9, 1.0], [5.0, 5.0, 5.0, 5.0], [0.0, 0.5, 0.0, 0.0]])
    rows = rows_of(words, np.array([3.0, 0.0, 1.0]))
    np.testing.assert_array_equal(dense(rows), [[2.0, 0.0, 0.0, 1.0], [0.0, 0.5, 0.0, 0.0]])
    np.testing.assert_array_equal(rows.words, [0, 3, 1])
    np.testing.assert_array_equal(rows.total, [3.0, 0.5])
    np.testing.assert_array_equal(rows.size, [3.0, 1.0])
    assert rows.n_words == 4


def test_rows_without_a_count_have_the_types_of_all_others() -> None:
    """Else kernels would be compiled once more, when a job comes to such a corpus."""
    nothing, some = rows_of(np.zeros((2, 3)), np.ones(2)), rows_of(np.ones((2, 3)), np.ones(2))
    assert [np.asarray(part).dtype for part in nothing] == [np.asarray(part).dtype for part in some]


def transitions(words: Array, size: Array, places: Array, prior: Array, omega: float) -> tuple[Array, Array]:
    """The target of all partitions [P] and the chances float64[P, P] of one Gibbs sweep over the atoms in turn.

    From its definition: an atom's move leaves all others together as they are, and goes to each such partition with a
    probability proportional to the target.
    """
    states = partitions(size.size)
    target = softmax([log_p(words, size, places, part, prior, omega) for part in states])
    sweep = np.eye(len(states))
    for atom in range(size.size):
        rest = [in_order(part[:atom] + part[atom + 1 :]) for part in states]
        may_follow = np.array([[a == b for b in rest] for a in rest])
        move = may_follow * target
        sweep = sweep @ (move / move.sum(axis=1, keepdims=True))
    return np.asarray(target), sweep


@pytest.mark.parametrize("places", [NOWHERE, PLACES], ids=["words", "vectors"])
@pytest.mark.parametrize("name", PRIORS)
@pytest.mark.parametrize("omega", [-0.5, 1.0])
def test_a_sweep_goes_from_every_partition_to_every_other_by_its_exact_chance(
    omega: float, name: str, places: Array
) -> None:
    """15 starts with a fixed number of independent sweeps each: multinomial counts, one chi-square a start."""
    rows, states, n_sweeps = rows_of(SMALL, SIZES, places), partitions(4), 500
    target, sweep = transitions(SMALL, SIZES, places, PRIORS[name], omega)
    np.testing.assert_allclose(target @ sweep, target, atol=1e-12)
    statistic, freedom = 0.0, 0
    for s, start in enumerate(states):
        visits = np.zeros(len(states))
        for n in range(n_sweeps):
            key = streams.stream(32, s, n, Step.GROUPS)
            found = regroup(rows, np.array(start), PRIORS[name], [omega], 1, key)[0]
            visits[states.index(tuple(found.tolist()))] += 1
        expected = sweep[s] * n_sweeps
        rare = expected < 5.0
        seen, hoped = np.append(visits[~rare], visits[rare].sum()), np.append(expected[~rare], expected[rare].sum())
        if hoped[-1] < 5.0:  # all rare ones together are still rare
            seen, hoped = seen[:-1], hoped[:-1] * seen[:-1].sum() / hoped[:-1].sum()
        statistic += ((seen - hoped) ** 2 / hoped).sum()
        freedom += seen.size - 1
    assert freedom > 50
    assert scipy.stats.chi2.sf(statistic, freedom) > FALSE_ALARM


@pytest.mark.parametrize(
    ("omega", "name", "places"),
    [(-0.5, "even", NOWHERE), (1.0, "even", NOWHERE), (0.0, "uneven", NOWHERE), (-0.5, "uneven", PLACES)],
)
def test_a_long_chain_visits_all_partitions_as_often_as_their_target_says(
    omega: float, name: str, places: Array
) -> None:
    """Thinned until the slowest part of a sweep's chances, by its eigenvalue, has fallen below one in a hundred.

    Draws are then as good as independent: the variance of a frequency is at most (1 + .01) / (1 - .01) of theirs.
    """
    rows, states = rows_of(SMALL, SIZES, places), partitions(4)
    target, sweep = transitions(SMALL, SIZES, places, PRIORS[name], omega)
    slowest = np.sort(np.abs(np.linalg.eigvals(sweep)))[-2]
    thin, visits, group = int(np.ceil(np.log(0.01) / np.log(slowest))), np.zeros(len(states)), np.arange(4)
    for n in range(1, 12_001):
        group = regroup(rows, group, PRIORS[name], [omega], 1, streams.stream(33, 0, n, Step.GROUPS))[0]
        if n % thin == 0:
            visits[states.index(tuple(group.tolist()))] += 1
    expected = target * visits.sum()
    assert expected.min() > 5.0 and target.max() < 0.7 and thin < 15
    statistic = ((visits - expected) ** 2 / expected).sum() * (1 - 0.01) / (1 + 0.01)
    assert scipy.stats.chi2.sf(statistic, len(states) - 1) > FALSE_ALARM


def plainly_regrouped(
    rows: AtomRows, group: Array, prior: Array, powers: Sequence[float], n_sweeps: int, key: np.uint64
) -> list[Partition]:
    """The groups after each power, every gain computed anew from all atoms: the same algorithm, nothing kept.

    One number of the stream decides each move, by inversion over groups in their slots; a new group takes the atom's
    own slot if it is alone there, else the first free one.
    """
    words, n_atoms = dense(rows), rows.size.size
    slot, found = list(group.tolist()), []
    for omega in powers:
        position = 0
        for _ in range(n_sweeps):
            for a in range(n_atoms):
                others = [b for b in range(n_atoms) if b != a]
                held = {slot[b] for b in others}
                weight = np.full(n_atoms + 1, -np.inf)
                for g in held:
                    member = [b for b in others if slot[b] == g]
                    before, size = words[member].sum(axis=0), rows.size[member].sum()
                    place = rows.sums[member].sum(axis=0)
                    weight[g] = evidence(before + words[a], prior) - evidence(before, prior)
                    weight[g] += direction(place + rows.sums[a]) - direction(place)
                    weight[g] += omega * (gammaln(size + rows.size[a]) - gammaln(size))
                empty = slot[a] if slot[a] not in held else min(set(range(n_atoms + 1)) - held)
                weight[empty] = evidence(words[a], prior) + direction(rows.sums[a]) + omega * gammaln(rows.size[a])
                cumulative = np.cumsum(softmax(weight))
                slot[a] = int(np.searchsorted(cumulative, streams.uniform(key, position) * cumulative[-1], "right"))
                position += 1
        found.append(in_order(slot))
        slot, key = list(found[-1]), np.uint64(streams.branch(key, 0))
    return found


@pytest.mark.parametrize("seed", range(6))
def test_what_is_kept_of_gains_never_changes_a_move(seed: int) -> None:
    """Several powers and sweeps in a row, from singletons and from groups, over atoms that move often.

    A number would have to fall within rounding, 1e-9, of a bound for the two to part: once in a million runs.
    """
    rows, key = random_rows(14, 12, seed=40 + seed, n_axes=4 * (seed % 2)), streams.stream(34, seed, 0, Step.GROUPS)
    start = np.arange(14) if seed % 2 else np.arange(14) % 4
    powers, prior = [-3.0, 0.0, 1.0, 2.0, -1.0], uneven(12) if seed > 2 else np.full(12, 0.4)
    found = regroup(rows, start, prior, powers, 4, key)
    expected = plainly_regrouped(rows, start, prior, powers, 4, key)
    assert [tuple(groups.tolist()) for groups in found] == expected
    assert len(set(expected)) > 2


def test_gains_that_are_kept_from_call_to_call_change_no_move() -> None:
    rows, group = random_rows(14, 12, seed=50), np.arange(14)
    kept, anew, gains = group, group, no_gains(14)
    seen = set()
    for sweep in range(30):
        key, power = streams.stream(36, 0, sweep, Step.GROUPS), [float(sweep % 4 - 1)]
        kept = regroup(rows, kept, uneven(12), power, 1, key, gains)[0]
        anew = regroup(rows, anew, uneven(12), power, 1, key)[0]
        np.testing.assert_array_equal(kept, anew)
        seen.add(tuple(kept.tolist()))
    assert len(seen) > 10  # groups did change
    assert gains.is_known.any()


def test_groups_are_numbered_by_their_first_atoms_and_the_start_is_left_alone() -> None:
    rows, start = random_rows(20, 10, seed=35), np.arange(20)[::-1].copy()
    before = start.copy()
    found = regroup(rows, start, uneven(10), [0.0, 2.0], 2, streams.stream(35, 0, 0, Step.GROUPS))
    np.testing.assert_array_equal(start, before)
    assert found.shape == (2, 20) and found.dtype == np.int64
    for groups in found:
        assert tuple(groups.tolist()) == in_order(groups)


def test_no_sweep_changes_nothing_but_the_numbers() -> None:
    found = regroup(random_rows(4, 10, seed=36), np.array([3, 1, 3, 0]), uneven(10), [1.0], 0, np.uint64(1))
    np.testing.assert_array_equal(found, [[0, 1, 0, 2]])


def test_a_greater_power_makes_fewer_groups() -> None:
    """The mean number of groups of the exact target falls with omega, and so does that of the sampler."""
    rows, prior = rows_of(SMALL, SIZES), PRIORS["even"]
    exact = [
        sum(
            p * (max(part) + 1)
            for p, part in zip(transitions(SMALL, SIZES, NOWHERE, prior, omega)[0], partitions(4), strict=True)
        )
        for omega in (-2.0, 0.0, 2.0)
    ]
    key = streams.stream
    found = [
        np.mean([regroup(rows, np.arange(4), prior, [o], 20, key(37, 0, n, Step.GROUPS)).max() + 1 for n in range(400)])
        for o in (-2.0, 0.0, 2.0)
    ]
    assert exact[0] > exact[1] > exact[2]
    np.testing.assert_allclose(found, exact, atol=0.25)  # 5 errors of the mean of 400 numbers within 1 and 4: sd < 1
