"""Scores against labels that the model was not shown, as the paper defines them (section 4.1)."""

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment
from scipy.special import comb, entr

from sampler.corpus import Array

N_BINS = 10  # of the calibration error
NO_MATCH = -1


def contingency(true: npt.ArrayLike, found: npt.ArrayLike) -> Array:
    """int64[T, F]: documents of each true category with each found one."""
    rows, row = np.unique(np.asarray(true), return_inverse=True)
    columns, column = np.unique(np.asarray(found), return_inverse=True)
    if row.size != column.size or row.size == 0:
        raise ValueError(f"{row.size} true categories do not match {column.size} found ones")
    table = np.zeros((rows.size, columns.size), np.int64)
    np.add.at(table, (row, column), 1)
    return table


def nmi(true: npt.ArrayLike, found: npt.ArrayLike) -> float:
    """Normalized mutual information, 2 I / (H + H'), in [0, 1]; 1 when both put all documents together."""
    table = contingency(true, found)
    shares = table / table.sum()
    entropy_true = entr(shares.sum(axis=1)).sum()
    entropy_found = entr(shares.sum(axis=0)).sum()
    if entropy_true + entropy_found == 0.0:
        return 1.0
    information = entropy_true + entropy_found - entr(shares).sum()
    return float(np.clip(2.0 * information / (entropy_true + entropy_found), 0.0, 1.0))


def ari(true: npt.ArrayLike, found: npt.ArrayLike) -> float:
    """Adjusted Rand index (Hubert and Arabie 1985); 1 for equal partitions, 0 expected by chance."""
    table = contingency(true, found)
    together = comb(table, 2).sum()
    together_true = comb(table.sum(axis=1), 2).sum()
    together_found = comb(table.sum(axis=0), 2).sum()
    n_pairs = comb(table.sum(), 2)
    expected = together_true * together_found / n_pairs if n_pairs else 0.0
    most = (together_true + together_found) / 2.0
    return 1.0 if most == expected else float((together - expected) / (most - expected))


def mean_f1(true: npt.ArrayLike, found: npt.ArrayLike, known: npt.ArrayLike) -> float:
    """Mean over the known categories of F1; a known category bears the same value in `true` and `found`."""
    true, found, known = np.asarray(true), np.asarray(found), np.asarray(known)
    if true.shape != found.shape or known.size == 0:
        raise ValueError(f"{true.size} true and {found.size} found categories, {known.size} known ones")
    scores = []
    for category in known:
        hits = np.sum((true == category) & (found == category))
        sizes = np.sum(true == category) + np.sum(found == category)
        scores.append(2.0 * hits / sizes if sizes else 0.0)
    return float(np.mean(scores))


def calibration_error(right: Array, probability: Array) -> float | None:
    """Expected calibration error: mean over answers of |share of right ones - mean probability| in their bin.

    Bins are N_BINS equal parts of [0, 1]. Answers whose probability is NaN are left out; None if all are.
    """
    is_told = ~np.isnan(probability)
    right, probability = right[is_told], probability[is_told]
    if right.size == 0:
        return None
    bins = np.minimum((probability * N_BINS).astype(np.int64), N_BINS - 1)
    surplus = np.bincount(bins, right - probability, minlength=N_BINS)  # of a bin: answers times the difference
    return float(np.abs(surplus).sum() / right.size)


def is_right(true: Array, found: Array, n_known: int) -> Array:
    """bool[n]: whether each answer names the true category.

    A known category is itself. A new one, which has no name, stands for the true new category that it is matched to:
    each found one to at most one true one and the reverse, so that most documents are right. An answer of a new
    category without a match is wrong, and so is one for a document of a known category.
    """
    meant = np.arange(found.max(initial=0) + 1)
    meant[n_known:] = NO_MATCH
    for answer, category in match_new(true, found, n_known).items():
        meant[answer] = category
    return np.asarray(meant[found] == true)


def match_new(true: Array, found: Array, n_known: int) -> dict[int, int]:
    """The true new category of each found new one that has a match, by the assignment of maximum weight."""
    both_new = (true >= n_known) & (found >= n_known)
    if not both_new.any():
        return {}
    table = contingency(true[both_new], found[both_new])
    rows, columns = linear_sum_assignment(table, maximize=True)
    true_new, found_new = np.unique(true[both_new]), np.unique(found[both_new])
    return {int(found_new[column]): int(true_new[row]) for row, column in zip(rows, columns, strict=True)}
