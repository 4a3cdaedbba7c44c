"""What CLUTO reports of each category: how similar its documents are, and the words that make it what it is.

It needs rows and categories alone, so it describes the answer of any method.
"""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from sampler.corpus import NO_CATEGORY, Array

NO_WORD = -1  # where a category has no further word
N_WORDS = 10


class Report(NamedTuple):
    """C categories, in ascending order; similarities are cosines.

    Averages over pairs take a document with itself too, as the criterion does. A category that has all documents has
    no others: what compares it with them is NaN, and it has no discriminating words.
    """

    category: Array  # int64[C], those that have a document
    size: Array  # int64[C], documents
    internal: Array  # float64[C], average similarity of two documents of the category
    internal_deviation: Array  # float64[C], standard deviation over its documents of their average similarity to it
    external: Array  # float64[C], average similarity of one of its documents and one of the others
    external_deviation: Array  # float64[C], standard deviation over its documents of their average similarity to those
    descriptive: Array  # int64[C, n], the words with the greatest share of the internal similarity, or NO_WORD
    descriptive_share: Array  # float64[C, n], their shares, descending
    discriminating: Array  # int64[C, n], the words with the greatest share of what sets it apart, or NO_WORD
    discriminating_share: Array  # float64[C, n], their shares, descending


def report(rows: csr_array, category: Array, n_words: int = N_WORDS) -> Report:
    """Describe the categories of some documents.

    `rows` float64[n, V] of unit length, `category` int[n]; documents with NO_CATEGORY are left out. A word's share of
    the internal similarity is c_w^2 / |c|^2 for the category's mean c; its share of what sets the category apart is
    (c_w - o_w)^2 / |c - o|^2 for the mean o of the other documents. Only words that weigh more in the category than
    elsewhere are called discriminating.
    """
    is_in = category != NO_CATEGORY
    rows, names = rows[is_in], np.unique(category[is_in])
    member = (category[is_in] == names[:, None]).astype(np.float64)  # [C, n]
    size = member.sum(axis=1)
    sums = member @ rows
    others = sums.sum(axis=0) - sums
    n_others = size.sum() - size
    mean = sums / size[:, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        mean_of_others = others / n_others[:, None]
    to_own, to_others = member * (rows @ mean.T).T, member * (rows @ mean_of_others.T).T
    apart = np.maximum(mean - mean_of_others, 0.0)
    return Report(
        names.astype(np.int64),
        size.astype(np.int64),
        (mean * mean).sum(axis=1),
        deviation(to_own, member, size),
        (mean * mean_of_others).sum(axis=1),
        deviation(to_others, member, size),
        *leading(mean**2, (mean**2).sum(axis=1), n_words),
        *leading(np.nan_to_num(apart**2), ((mean - mean_of_others) ** 2).sum(axis=1), n_words),
    )


def deviation(similarity: Array, member: Array, size: Array) -> Array:
    """float64[C]: the standard deviation over each category's documents; all [C, n] but `size`."""
    mean = similarity.sum(axis=1) / size
    squares = (member * (similarity - mean[:, None]) ** 2).sum(axis=1)
    return np.asarray(np.sqrt(squares / size))


def leading(parts: Array, whole: Array, n_words: int) -> tuple[Array, Array]:
    """The words with the greatest parts of the whole, descending, and their shares; NO_WORD where a part is zero."""
    words = np.argsort(-parts, axis=1, kind="stable")[:, :n_words]
    share = np.take_along_axis(parts, words, axis=1) / np.where(whole > 0.0, whole, 1.0)[:, None]
    share = np.nan_to_num(share)
    return np.where(share > 0.0, words, NO_WORD), share
