"""Scores against labels that the model was not shown, as the paper defines them (section 4.1)."""

import numpy as np
import numpy.typing as npt
from scipy.special import comb, entr

from sampler.corpus import Array


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
