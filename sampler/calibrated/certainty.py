"""How far the new categories of an answer are to be believed, and what that makes of its probabilities.

Regressions take the categories for certain. How right new ones are is a matter of the corpus more than of a category or
a document, and three things say it, each between 0 and 1:

- the chains, and the starts of the calibration: how far they agree with the answer about the documents of new
  categories. Agreement about all would be that on large known categories, which every chain has;
- the labels: new categories are as right as the known ones are when their labels are hidden, if there are enough;
- the draws: how near the numbers of new categories that they show are to that of the answer.

Where all three are high, or all low, they say more than their mean: its odds are sharpened. From document to document
the stability says which ones are surer than others.
"""

from collections.abc import Sequence

import numpy as np

from sampler.answers.consensus import Consensus
from sampler.answers.pooling import Answers, likeness
from sampler.corpus import NO_CATEGORY, UNLABELED, Array
from sampler.numerics.threads import Threads

SHARPNESS, AS_IT_IS = 1.4, 0.75  # the power of the odds, and the mean that it leaves as it is
LABELS_BEFOREHAND = 8  # of which AS_IT_IS come back: a few labels that all come back say little
DOCUMENT_POWER, LEAST_SHARE = 0.25, 0.05  # of a document's share, which is not taken for less


def certainty_of_new(
    consensus: Consensus, labels: Array, n_known: int, voices: Sequence[Answers], blind_share: float, n_new: Array,
    threads: Threads,
) -> float:  # fmt: skip
    """The chance that a document of a new category is in the right one, in the mean of all.

    `voices` are what was pooled, `n_new` float64[C, S] the numbers of new categories that the kept draws show. What is
    not known (one chain alone, no label that could be hidden) does not count.
    """
    is_new = answered_new(consensus, labels, n_known)
    agreed = np.nan if len(voices) < 2 else agreement_about(is_new, consensus.category, voices, threads)
    n_labels = np.count_nonzero(labels != UNLABELED)
    come_back = (n_labels * blind_share + LABELS_BEFOREHAND * AS_IT_IS) / (n_labels + LABELS_BEFOREHAND)
    says = np.array([agreed, come_back, nearness(n_new, consensus.n_categories - n_known)])
    return sharpened(float(np.nanmean(says)))


def agreement_about(asked: Array, category: Array, voices: Sequence[Answers], threads: Threads) -> float:
    """How far the voices agree with the answer int[D] about the documents bool[D], in the mean."""
    answer, found = np.where(asked, category, NO_CATEGORY), []
    for voice in voices:
        threads.check()
        found.append(likeness(answer, voice.category))
    return max(float(np.mean(found)), 0.0)


def answered_new(consensus: Consensus, labels: Array, n_known: int) -> Array:
    """bool[D]: the unlabeled documents whose answer is a new category."""
    found: Array = (labels == UNLABELED) & (consensus.category >= n_known)
    return found


def nearness(numbers: Array, answer: int) -> float:
    """The mean over draws of the smaller over the larger of two numbers: the draw's, and the answer's."""
    both = np.maximum(numbers, answer)
    return float(np.divide(np.minimum(numbers, answer), both, out=np.ones(numbers.shape), where=both > 0).mean())


def sharpened(mean: float) -> float:
    """The mean with its odds to the power of SHARPNESS, which leaves AS_IT_IS, 0 and 1 as they are."""
    odds = np.array([mean, 1.0 - mean]) ** SHARPNESS * np.array([1.0 - AS_IT_IS, AS_IT_IS]) ** (SHARPNESS - 1.0)
    return float(odds[0] / odds.sum())


def chances_of_new(certainty: float, share: Array, is_new: Array) -> Array:
    """float64[D]: the chance that each document's new category is the right one, `certainty` in the mean of new ones.

    `share` float64[D] is what a document's category has in common with that of a draw.
    """
    powered = np.maximum(share, LEAST_SHARE) ** DOCUMENT_POWER
    mean = powered[is_new].mean() if is_new.any() else 1.0
    found: Array = np.minimum(certainty * powered / mean, 1.0)
    return found
