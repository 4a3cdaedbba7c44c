"""Known or new where labels are few: by the company that labeled documents keep.

A regression needs some twenty labels a category before it knows unlabeled documents of it from new ones. With fewer,
or a single one, groups tell more: documents grouped with all labels hidden, under many settings. In one grouping a
group is known if its labeled share is not far below that of the groups that the category's labels fall in; a document's
probability to be known is the weight of the groupings in which its group is. A grouping weighs more if it keeps labels
apart as their categories are, and is like those from other atoms; see `granularity`.
"""

from typing import NamedTuple

import numpy as np

from sampler.calibrated.atom_groups import atom_rows
from sampler.calibrated.atoms import count_atoms
from sampler.calibrated.bags import WordBags, word_prior
from sampler.calibrated.granularity import balanced, likeness_of_starts, power_penalty
from sampler.calibrated.sides import group_all
from sampler.corpus import UNLABELED, Array
from sampler.hyperparameters import CalibratedHyperparameters
from sampler.numerics.threads import Threads

ENOUGH_LABELS = 18.0  # a category: from there on a regression counts for more
STEEPNESS = 3.0
ATOMS_EACH = 4
LEAST_WEIGHT = 0.05  # of the groups, below which they are not asked
LEAST_SHARE = 0.25  # of the labeled share of a category's groups: with less a group is not of it
SCORE_SCALE = 2.0  # times that of settings: labels that are few say less
SUREST = 0.999  # what is less likely than the rest to 1 is not told apart


class Company(NamedTuple):
    """What groups say of each document."""

    known: Array  # float64[D], probability of being of a known category
    category: Array  # int64[D], which one it is most likely of


def weight_of_groups(labels: Array, n_known: int, n_atoms: int) -> float:
    """How much groups count beside the regression: 1 without a label, a half with ENOUGH_LABELS a category.

    They are made of atoms: with fewer than ATOMS_EACH of these a known category, they are too coarse that much sooner.
    """
    labels_each = np.count_nonzero(labels != UNLABELED) / max(n_known, 1)
    enough = ENOUGH_LABELS * min(n_atoms / (ATOMS_EACH * max(n_known, 1)), 1.0)
    weight = 1.0 / (1.0 + (labels_each / enough) ** STEEPNESS)
    return weight if weight >= LEAST_WEIGHT else 0.0


def groupings(
    bags: WordBags, values: list[Array], atoms: list[Array], hyperparameters: CalibratedHyperparameters, seed: int,
    threads: Threads,
) -> list[Array]:  # fmt: skip
    """int64[powers, D] for each of the atoms int[D], under each weighting in turn all smoothings."""
    pairs, used = [], []
    for number, atom in enumerate(atoms):
        weighting, place = divmod(number, len(hyperparameters.smoothings))
        counts = count_atoms(bags, values[weighting], atom.astype(np.int32), int(atom.max(initial=0)) + 1, threads)
        pairs.append((atom_rows(counts), word_prior(np.empty(bags.n_words), hyperparameters.smoothings[place], False)))
        used.append(np.maximum(np.cumsum(counts.size > 0) - 1, 0))
    groups = group_all(pairs, sorted(hyperparameters.powers), (seed, 0), threads)
    return [g[:, number[atom]] for g, number, atom in zip(groups, used, atoms, strict=True)]


def company(
    groups: list[Array], labels: Array, counts: Array, n_known: int, hyperparameters: CalibratedHyperparameters,
    threads: Threads,
) -> Company:  # fmt: skip
    """What the groupings say of D documents, of which some count, bool[D]."""
    labeled = np.flatnonzero((labels != UNLABELED) & counts)
    weights = weigh_groupings(groups, labels, labeled, counts, n_known, hyperparameters, threads)
    known, votes = np.zeros(labels.size), np.zeros((labels.size, n_known), np.float32)
    for g, p in np.argwhere(weights > 0):
        threads.check()
        group = groups[g][p]
        table = np.zeros((int(group.max()) + 1, n_known))
        np.add.at(table, (group[labeled], labels[labeled]), 1.0)
        size = np.bincount(group[counts], minlength=len(table))
        share = table / np.maximum(size, 1)[:, None]
        usual = (table * share).sum(axis=0) / np.maximum(table.sum(axis=0), 1.0)  # of the category's labels
        is_of = (table > 0) & (share > LEAST_SHARE * usual)
        known += weights[g, p] * is_of.any(axis=1)[group]
        votes += np.float32(weights[g, p]) * (table / np.maximum(table.sum(axis=1, keepdims=True), 1.0))[group]
    return Company(known, votes.argmax(axis=1))


def weigh_groupings(
    groups: list[Array], labels: Array, labeled: Array, counts: Array, n_known: int,
    hyperparameters: CalibratedHyperparameters, threads: Threads,
) -> Array:  # fmt: skip
    """float64[atoms, powers]: the weight of each grouping; they sum to 1, and negligible ones are 0."""
    powers = np.array(sorted(hyperparameters.powers))
    score = np.zeros((len(groups), powers.size))
    for p in range(powers.size):
        parts = [group[p][counts] for group in groups]
        alike = np.zeros((len(parts), len(parts)))
        for i, first in enumerate(parts):
            for j, second in enumerate(parts[:i]):
                threads.check()
                alike[i, j] = alike[j, i] = likeness_of_starts(first, second)
        given_back = np.array([balanced(labels[labeled], group[p][labeled], n_known) for group in groups])
        stability = alike.sum(axis=1) / max(len(parts) - 1, 1)
        score[:, p] = given_back + hyperparameters.stability_weight * stability
    score -= power_penalty(powers, n_known, hyperparameters)
    weight = np.exp((score - score.max()) / (SCORE_SCALE * hyperparameters.score_scale))
    weight[weight < 1e-4 * weight.sum()] = 0.0
    normalized: Array = weight / weight.sum()
    return normalized


def blended(by_regression: Array, by_groups: Array, weight: float) -> Array:
    """float64[D]: probabilities from both, their log odds weighed."""
    low, high = 1.0 - SUREST, SUREST
    odds = [np.log(np.clip(p, low, high)) - np.log1p(-np.clip(p, low, high)) for p in (by_regression, by_groups)]
    found: Array = 1.0 / (1.0 + np.exp(-(1.0 - weight) * odds[0] - weight * odds[1]))
    return found
