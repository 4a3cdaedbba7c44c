"""How fine the categories are: settings of variant, beta and omega, and how much each of them is to be trusted.

The documents of the known categories are grouped as if nobody had named them, and so are the new ones, each side by
itself, under every setting and from several starts. A setting is good if it gives the known categories back, and if it
finds the same new categories from every start:

    score = (balanced NMI + balanced ARI) / 2  +  stability_weight * (agreement of the starts on the new side)
            - power_weight * (omega - power_center / (n_known - 1))^2

The last is a prior that decides where few known categories leave the score flat. The more categories there are, the
closer are the closest two: it asks for finer settings then.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import entr

from sampler.answers.metrics import ari
from sampler.calibrated.atom_groups import AtomRows, atom_rows, regroup
from sampler.calibrated.atoms import count, seed_atoms, settle
from sampler.calibrated.bags import Bags, select, squeeze, tf_idf, word_prior, word_totals
from sampler.calibrated.known_or_new import Propensity
from sampler.corpus import UNLABELED, Array
from sampler.hyperparameters import CalibratedHyperparameters
from sampler.numerics import streams
from sampler.numerics.streams import Step
from sampler.numerics.threads import Threads

KNOWN, NEW = 0, 1  # the sides
VARIANTS = ((0, False), (1, False), (0, True))  # weightings, and whether the prior of words holds the background
SAME = 0.5  # Jaccard index from which on two groups are one
FEWEST, SMALLEST = 3, 0.1  # documents, and part of the mean, of a category that counts
MOST_ATOMS = 1_000  # for the sake of known categories: what joins what is a square table
REGROUPINGS = 4  # Gibbs sweeps at each power


class Side(NamedTuple):
    """Some of the documents, as bags over the words that they use."""

    documents: Array  # int64[n]
    bags: Bags
    entries: Array  # int64[E], of the bags among those of the whole corpus


class Setting(NamedTuple):
    """One granularity."""

    weighting: int  # 0: all words alike, 1: by inverse document frequency
    has_background: bool  # of the prior of words, see `bags.word_prior`
    smoothing: float  # beta
    power: float  # omega

    @property
    def atoms(self) -> tuple[int, bool, float]:
        """What its atoms depend on: all but the power."""
        return self[:3]


def settings(hyperparameters: CalibratedHyperparameters) -> list[Setting]:
    """All settings, in the order of scores; powers vary first."""
    return [
        Setting(weighting, has_background, smoothing, power)
        for weighting, has_background in VARIANTS
        for smoothing in hyperparameters.smoothings
        for power in sorted(hyperparameters.powers)
    ]


def side(
    number: int, bags: Bags, learned: Propensity, hyperparameters: CalibratedHyperparameters, seed: int
) -> Side:  # fmt: skip
    """The known or the new side, or a sample: labeled documents and those more likely known than new, or the others."""
    is_known = learned.known >= 0.5
    documents = np.flatnonzero((is_known if number == KNOWN else ~is_known) & ~bags.is_empty)
    sample = streams.chosen(documents, hyperparameters.sample_size, seed, Step.SAMPLE)
    chosen, entries = select(bags, sample)
    return Side(sample, squeeze(chosen), entries)


def n_seeds(n_documents: int, n_known: int, hyperparameters: CalibratedHyperparameters) -> int:
    """Atoms that a start of a side begins with."""
    wanted = max(hyperparameters.n_atoms, min(3 * n_known, MOST_ATOMS))
    return max(min(wanted, n_documents // 3), 1)


def start_atoms(
    part: Side, n_known: int, hyperparameters: CalibratedHyperparameters, address: tuple[int, int], threads: Threads
) -> Array:
    """int32[n]: the atoms that k-means gives to the documents of a side, which every setting starts from."""
    n_atoms = n_seeds(part.documents.size, n_known, hyperparameters)
    key = streams.stream(*address, 0, Step.ATOM_SEEDS)
    return seed_atoms(part.bags, tf_idf(part.bags), n_atoms, key, threads)


def settled(
    part: Side, values: Array, seeds: Array, smoothing: float, has_background: bool,
    hyperparameters: CalibratedHyperparameters, address: tuple[int, int], threads: Threads,
) -> tuple[Array, AtomRows]:  # fmt: skip
    """The atoms int32[n] of a side's documents, and their counts; `values` are its effective counts float32[E]."""
    prior = word_prior(word_totals(part.bags, values), smoothing, has_background)
    atom = settle(part.bags, values, seeds, prior, hyperparameters.n_atom_sweeps, address, threads)
    return atom, atom_rows(count(part.bags, values, atom, int(atom.max(initial=0)) + 1, threads))


def group_by_power(
    rows: AtomRows, prior: Array, powers: list[float], address: tuple[int, int], threads: Threads
) -> Array:
    """int64[powers, A]: groups of atoms at each power, each from those of the power before; at first all are apart."""
    key = streams.stream(*address, 0, Step.GROUPS)
    return regroup(rows, np.arange(rows.size.size), prior, powers, REGROUPINGS, key, threads=threads)


def group_side(
    part: Side, values: Array, has_background: bool, n_known: int, hyperparameters: CalibratedHyperparameters,
    address: tuple[int, int], threads: Threads,
) -> Array:  # fmt: skip
    """uint16[smoothings powers, n]: the groups of a side's documents under all settings of one variant.

    `values` are the side's effective counts float32[E] under its weighting.
    """
    if part.documents.size == 0:
        return np.zeros((len(hyperparameters.smoothings) * len(hyperparameters.powers), 0), np.uint16)
    seeds = start_atoms(part, n_known, hyperparameters, address, threads)
    made = [
        settled(part, values, seeds, smoothing, has_background, hyperparameters, address, threads)
        for smoothing in hyperparameters.smoothings
    ]
    powers = sorted(hyperparameters.powers)
    pairs = [
        (rows, word_prior(rows.word_totals, smoothing, has_background))
        for smoothing, (_, rows) in zip(hyperparameters.smoothings, made, strict=True)
    ]
    groups = group_all(pairs, powers, address, threads)
    return np.concatenate([g[:, atom] for g, (atom, _) in zip(groups, made, strict=True)]).astype(np.uint16)


def group_all(
    pairs: list[tuple[AtomRows, Array]], powers: list[float], address: tuple[int, int], threads: Threads
) -> list[Array]:
    """int64[powers, A] for atoms and their prior of words: groups at each power, made at the same time."""
    found: list[Array] = [np.empty(0)] * len(pairs)

    def group(thread: int, first: int, end: int) -> None:
        for i in range(first, end):
            found[i] = group_by_power(*pairs[i], powers, address, threads)

    threads.share(group, [(i, i + 1) for i in range(len(pairs))])
    return found


class Scores(NamedTuple):
    """What speaks for each of S settings, float64[S]."""

    given_back: Array  # how well it gives the known categories back
    stability: Array  # how far starts agree on the new side
    score: Array
    weight: Array  # of the kept ones, 0 for the rest; they sum to 1
    found: Array  # int64[S, starts], known categories that come back as a group of their own
    parts: Array  # int64[S, starts], groups of known documents that count but are no category
    right: Array  # float64[S, starts], share of the labeled documents that come back in their category's group

    @property
    def blind_share(self) -> float:
        """Share of the known documents that are right when the labels are hidden, over all kept settings; NaN if none.

        New documents, which have no label to hide, cannot be expected to fare better.
        """
        return float(self.weight @ self.right.mean(axis=1))


def score(
    known: list[Array], labels: Array, n_known: int, new: list[Array], hyperparameters: CalibratedHyperparameters,
    threads: Threads | None = None,
) -> Scores:  # fmt: skip
    """Score all settings by their groups int[S, n] from each start: of labeled documents, and of the new side."""
    threads = threads or Threads()
    all_settings = settings(hyperparameters)
    can_tell = n_known > 1 and labels.size > 0  # one category alone is given back best by never parting anything
    given_back, stability = np.zeros(len(all_settings)), np.zeros(len(all_settings))
    for s in range(len(all_settings)):
        threads.check()
        if can_tell:
            given_back[s] = np.mean([balanced(labels, groups[s], n_known) for groups in known])
        stability[s] = agreement([groups[s] for groups in new], threads)
    power = np.array([setting.power for setting in all_settings])
    total = (
        given_back
        + hyperparameters.stability_weight * stability
        - hyperparameters.power_weight * (power - hyperparameters.power_center / max(n_known - 1, 1)) ** 2
    )
    best = total.max()
    order = np.argsort(-total, kind="stable")[: hyperparameters.n_settings]
    kept = order[total[order] >= best - hyperparameters.score_window]
    weight = np.zeros(total.size)
    weight[kept] = np.exp((total[kept] - best) / hyperparameters.score_scale)
    found, parts, right = (np.zeros((total.size, len(known)), kind) for kind in (np.int64, np.int64, np.float64))
    for i, groups in enumerate(known):
        for s in kept:
            threads.check()
            found[s, i], parts[s, i], right[s, i] = come_back(labels, groups[s], n_known)
    return Scores(given_back, stability, total, weight / weight.sum(), found, parts, right)


def come_back(labels: Array, groups: Array, n_known: int) -> tuple[int, int, float]:
    """How many known categories have a group of their own, with Jaccard index SAME; how many other groups count.

    And the share of the documents that are in the group matched to their category, one to one; NaN if there are none.
    """
    table = np.zeros((n_known, int(groups.max()) + 1 if groups.size else 0))
    np.add.at(table, (labels, groups), 1.0)
    sizes = table.sum(axis=0)
    alike = table / np.maximum(table.sum(axis=1)[:, None] + sizes[None, :] - table, 1.0)
    matched = linear_sum_assignment(-alike)
    n_found = int(np.count_nonzero(alike[matched] >= SAME))
    right = float(table[matched].sum() / labels.size) if labels.size else np.nan
    return n_found, max(n_that_count(sizes) - n_found, 0), right


def n_that_count(sizes: Array) -> int:
    """How many categories have FEWEST documents and the SMALLEST part of their mean number."""
    held = sizes[sizes > 0]
    return int(np.count_nonzero(held >= max(FEWEST, SMALLEST * held.mean()))) if held.size else 0


def balanced(labels: Array, groups: Array, n_known: int) -> float:
    """Mean of NMI and ARI between labels int[n] and groups, every label with the same total weight.

    Two huge categories would else decide for all.
    """
    table = np.zeros((n_known, int(groups.max(initial=0)) + 1))
    np.add.at(table, (labels, groups), 1.0)
    table = table[table.sum(axis=1) > 0]
    shares = table / table.sum(axis=1, keepdims=True) / table.shape[0]
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    entropies = entr(rows).sum() + entr(columns).sum()
    nmi = 2.0 * (entropies - entr(shares).sum()) / max(entropies, 1e-12)
    expected = (rows**2).sum() * (columns**2).sum()
    most = ((rows**2).sum() + (columns**2).sum()) / 2.0
    rand = ((shares**2).sum() - expected) / (most - expected) if most > expected else 1.0
    return float((nmi + rand) / 2.0)


def agreement(partitions: list[Array], threads: Threads | None = None) -> float:
    """Mean adjusted Rand index over pairs of starts; 0 for a pair of which one leaves everything together.

    A setting that never parts anything agrees with itself for no reason.
    """
    threads, found = threads or Threads(), []
    for i, first in enumerate(partitions):
        for second in partitions[:i]:
            threads.check()
            is_parted = first.size > 0 and first.min() < first.max() and second.min() < second.max()
            found.append(ari(first, second) if is_parted else 0.0)
    return float(np.mean(found))


def labeled_of(part: Side, labels: Array) -> Array:
    """int64[n]: positions of a side's labeled documents."""
    return np.flatnonzero(labels[part.documents] != UNLABELED)
