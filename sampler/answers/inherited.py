"""Categories that an answer inherits from an earlier one, once labels have named them in between.

A new category of which a person has labeled a few documents is a known one from then on. Few labels do not tell all of
its documents from new ones: the next answer has those near the labels as the known category, and calls the rest new. So
a new category whose documents were of the earlier one is that one.
"""

from typing import NamedTuple

import numpy as np

from sampler.answers.consensus import Consensus, index_categories
from sampler.corpus import NO_CATEGORY, UNLABELED, Array

AGREED = 2.0 / 3.0  # of the documents of a new category that were labeled since, weighed by their probabilities
LEAST_CHANCE = 0.5  # that one of those that have one label was of the category indeed


class Earlier(NamedTuple):
    """An earlier answer for the same documents, some of which bear labels now that they did not bear then."""

    category: Array  # int[D], or NO_CATEGORY: also of documents that it did not have
    probability: Array  # float64[D], of it
    labels: Array  # int[D], by the categories as they are known now, or UNLABELED
    promoted: Array  # int[n_known], what each of its known categories is now, if it was a new one once; or NO_CATEGORY


class Joined(NamedTuple):
    """The answers after new categories were joined to known ones."""

    consensus: Consensus
    became: Array  # int64[K], what each category is now


def join_named(consensus: Consensus, labels: Array, n_known: int, earlier: Earlier) -> Joined:
    """Join each new category to the known one that most of its documents were of, if that was a new one once.

    `labels` int[D] are the present ones. Where two of a document's categories are joined, their probabilities add up.
    """
    target = named_since(labels, int(earlier.category.max(initial=NO_CATEGORY)) + 1, earlier)
    identity = np.append(np.arange(consensus.n_categories), NO_CATEGORY)
    is_free = labels == UNLABELED
    for category in range(n_known, consensus.n_categories):
        members = np.flatnonzero(is_free & (consensus.category == category))
        was = earlier.category[members]
        of_each = np.bincount(was[was != NO_CATEGORY], minlength=1)
        most = int(of_each.argmax())
        if 2 * of_each[most] > members.size and target[most] != NO_CATEGORY:
            identity[category] = target[most]
    return renamed(consensus, identity, n_known, is_free)


def named_since(labels: Array, n_categories: int, earlier: Earlier) -> Array:
    """int64[K]: the known category now that each of the earlier answer's new ones is, by its labels since.

    NO_CATEGORY for those that have none, and for those that were known from the beginning.
    """
    n_known = earlier.promoted.size
    target = np.full(max(n_categories, n_known), NO_CATEGORY, np.int64)
    target[:n_known] = earlier.promoted
    is_told = (labels != UNLABELED) & (earlier.labels == UNLABELED)
    for category in range(n_known, n_categories):
        told = np.flatnonzero(is_told & (earlier.category == category))
        weight = np.nan_to_num(earlier.probability[told])
        of_each = np.bincount(labels[told], weight, minlength=1)
        most = int(of_each.argmax())
        chance = 1.0 - np.prod(1.0 - weight[labels[told] == most])
        if of_each[most] >= AGREED * weight.sum() and chance >= LEAST_CHANCE:
            target[category] = most
    return target


def renamed(consensus: Consensus, identity: Array, n_known: int, is_free: Array) -> Joined:
    """The answers when each category is another one, by its index int64[K + 1]; the last entry is NO_CATEGORY."""
    names = np.column_stack([consensus.category, consensus.runner_up, consensus.others])
    shares = np.column_stack([consensus.probability, consensus.runner_up_probability, consensus.other_probability])
    shares = np.where(names == NO_CATEGORY, 0.0, np.nan_to_num(shares))
    became_known = np.where((names >= n_known) & (identity[names] < n_known), shares, 0.0).sum(axis=1)
    names = identity[names]
    for place in range(1, names.shape[1]):
        for first in range(place):
            is_same = (names[:, place] == names[:, first]) & (names[:, place] != NO_CATEGORY)
            shares[is_same, first] += shares[is_same, place]
            names[is_same, place], shares[is_same, place] = NO_CATEGORY, 0.0
    order = np.argsort(np.where(names == NO_CATEGORY, 1.0, -shares), axis=1, kind="stable")
    names, shares = np.take_along_axis(names, order, axis=1), np.take_along_axis(shares, order, axis=1)
    answered = names[:, 0]
    index = index_categories(n_known, answered[answered != NO_CATEGORY], identity)
    names = index[names].astype(np.int32)
    shares = np.where(names == NO_CATEGORY, np.nan, np.minimum(shares, 1.0))
    found = Consensus(
        n_categories=max(int(index.max(initial=NO_CATEGORY)) + 1, n_known),
        category=names[:, 0],
        probability=shares[:, 0],
        runner_up=names[:, 1],
        runner_up_probability=shares[:, 1],
        known=np.where(is_free, np.minimum(consensus.known + became_known, 1.0), consensus.known),
        others=names[:, 2:],
        other_probability=shares[:, 2:],
    )
    return Joined(found, index[identity[:-1]])
