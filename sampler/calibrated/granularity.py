"""How fine the categories are: how much each setting is to be trusted.

The documents of the known categories are grouped as if nobody had named them, and so are the new ones, each side by
itself, under every setting and from several starts. A setting is good if it gives the known categories back, and if it
finds the same new categories from every start:

    score = (balanced NMI + balanced ARI) / 2  +  stability_weight * (agreement of the starts on the new side)
            - power_weight * (omega - power_center / (n_known - 1))^2

The last is a prior that decides where few known categories leave the score flat. The more categories there are, the
closer are the closest two: it prefers finer settings then.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import entr

from sampler.answers.metrics import ari
from sampler.calibrated.settings import all_settings
from sampler.corpus import Array
from sampler.hyperparameters import CalibratedHyperparameters
from sampler.numerics.threads import Threads

SAME = 0.5  # Jaccard index from which on two groups are one
FEWEST, SMALLEST = 3, 0.1  # documents, and part of the mean, of a category that counts


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


def score_settings(
    known: list[Array], labels: Array, n_known: int, new: list[Array], hyperparameters: CalibratedHyperparameters,
    threads: Threads | None = None, has_vectors: bool = False,
) -> Scores:  # fmt: skip
    """Score all settings by their groups int[S, n] from each start: of labeled documents, and of the new side."""
    threads = threads or Threads()
    power = np.array([setting.power for setting in all_settings(hyperparameters, has_vectors)])
    can_tell = n_known > 1 and labels.size > 0  # one category alone is given back best by never parting anything
    given_back, stability = np.zeros(power.size), np.zeros(power.size)
    for s in range(power.size):
        threads.check()
        if can_tell:
            given_back[s] = np.mean([balanced(labels, groups[s], n_known) for groups in known])
        stability[s] = starts_agreement([groups[s] for groups in new], threads)
    total = given_back + hyperparameters.stability_weight * stability - power_penalty(power, n_known, hyperparameters)
    weight = weigh_settings(total, hyperparameters)
    found, parts, right = (np.zeros((total.size, len(known)), kind) for kind in (np.int64, np.int64, np.float64))
    for i, groups in enumerate(known):
        for kept in np.flatnonzero(weight):
            threads.check()
            found[kept, i], parts[kept, i], right[kept, i] = come_back(labels, groups[kept], n_known)
    return Scores(given_back, stability, total, weight, found, parts, right)


def power_penalty(power: Array, n_known: int, hyperparameters: CalibratedHyperparameters) -> Array:
    """What the prior of omega takes from the scores of settings with these powers."""
    center = hyperparameters.power_center / max(n_known - 1, 1)
    penalty: Array = hyperparameters.power_weight * (power - center) ** 2
    return penalty


def weigh_settings(total: Array, hyperparameters: CalibratedHyperparameters) -> Array:
    """float64[S]: the weight of each setting by its score; they sum to 1. All but the best have none."""
    best = total.max()
    order = np.argsort(-total, kind="stable")[: hyperparameters.n_settings]
    kept = order[total[order] >= best - hyperparameters.score_window]
    weight = np.zeros(total.size)
    weight[kept] = np.exp((total[kept] - best) / hyperparameters.score_scale)
    normalized: Array = weight / weight.sum()
    return normalized


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


def starts_agreement(partitions: list[Array], threads: Threads | None = None) -> float:
    """Mean likeness over pairs of starts."""
    threads, found = threads or Threads(), []
    for i, first in enumerate(partitions):
        for second in partitions[:i]:
            threads.check()
            found.append(likeness_of_starts(first, second))
    return float(np.mean(found))


def likeness_of_starts(first: Array, second: Array) -> float:
    """Adjusted Rand index of two partitions; 0 if one leaves everything together.

    A setting that never parts anything agrees with itself for no reason.
    """
    is_parted = first.size > 0 and first.min() < first.max() and second.min() < second.max()
    return ari(first, second) if is_parted else 0.0
