"""Powers of the new side: lower where its groups are smaller than the known categories.

Two groups are parted if the evidence gains more than their power costs. The cost grows with the documents, but of what
the evidence gains each group first pays for its own words, which costs a small group nearly as much as a large one. So
the power that gives large known categories back leaves small new ones together. A setting of power omega groups the new
side at

    omega - weight max(log(documents of a known category / documents of a new group) - TOLERANCE, 0)

with the geometric mean over known categories, the mean over the groups at omega itself, and the mean of the logarithm
over starts. The weight is SIZE_WEIGHT, and SIZE_WEIGHT_WITH_VECTORS under settings with vectors, where a group pays for
its own direction, too. Of the powers that the new side was grouped at, the nearest is taken.
"""

import numpy as np

from sampler.calibrated.granularity import n_that_count
from sampler.calibrated.known_or_new import Propensity
from sampler.corpus import Array
from sampler.hyperparameters import CalibratedHyperparameters
from sampler.numerics.threads import Threads

SIZE_WEIGHT = 2.5
SIZE_WEIGHT_WITH_VECTORS = 4.0
TOLERANCE = 0.5  # sizes that differ by less, a factor of 1.6, differ by chance: parts of categories are small as well
LOWER_BY = (3.0, 2.0, 1.0, 0.5)  # powers of the new side below the lowest of the known one


def new_side_powers(hyperparameters: CalibratedHyperparameters) -> list[float]:
    """The powers that the new side is grouped at: those of the known side, which ascend, then lower ones, which do too.

    In this order the groups at the former are what they would be without the latter, see `sides.group_by_power`.
    """
    powers = sorted(hyperparameters.powers)
    return powers + [powers[0] - less for less in LOWER_BY]


def match_powers(
    new: list[Array], learned: Propensity, has_words: Array, n_known: int, hyperparameters: CalibratedHyperparameters,
    threads: Threads, has_vectors: Array | None = None,
) -> tuple[Array, Array]:  # fmt: skip
    """The row of the new side's groups that each of S settings takes, int64[S], and its power, float64[S].

    `new` has the groups of each start, under every variant and smoothing at each of the new side's powers. Documents
    bool[D] that have a word count, and so do vectors under the settings `has_vectors` bool[S], if any.
    """
    powers, wanted = np.array(new_side_powers(hyperparameters)), np.array(sorted(hyperparameters.powers))
    n_atom_settings = len(new[0]) // powers.size
    first_rows = np.arange(n_atom_settings) * powers.size
    same = (first_rows[:, None] + np.arange(wanted.size)).ravel()
    smaller = log_of_how_much_smaller([groups[same] for groups in new], learned, has_words, n_known, threads)
    weight = np.where(False if has_vectors is None else has_vectors, SIZE_WEIGHT_WITH_VECTORS, SIZE_WEIGHT)
    lowered = np.tile(wanted, n_atom_settings) - weight * np.maximum(smaller - TOLERANCE, 0.0)
    nearest = np.abs(lowered[:, None] - powers).argmin(axis=1)
    return np.repeat(first_rows, wanted.size) + nearest, powers[nearest]


def log_of_how_much_smaller(
    new: list[Array], learned: Propensity, has_words: Array, n_known: int, threads: Threads
) -> Array:  # fmt: skip
    """float64[S]: log of a known category's documents over those of a group, with the groups int[S, n] of each start.

    0 where there is no known category, or no new document.
    """
    is_known = has_words & (learned.known >= 0.5)
    known_sizes = np.bincount(learned.category[is_known], minlength=n_known)
    known_sizes = known_sizes[known_sizes > 0]
    n_new = np.count_nonzero(has_words & ~is_known)
    smaller = np.zeros(new[0].shape[0])
    if known_sizes.size == 0 or n_new == 0:
        return smaller
    known_size = np.log(known_sizes).mean()
    for s in range(smaller.size):
        threads.check()
        n_groups = [n_that_count(np.bincount(groups[s])) for groups in new]
        smaller[s] = known_size + np.log(n_groups).mean() - np.log(n_new)
    return smaller
