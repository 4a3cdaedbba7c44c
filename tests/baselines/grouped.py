"""Corpora whose groups of documents are known: each group has words of its own, and all share some."""

import numpy as np

from sampler.corpus import UNLABELED, Array, Corpus

N_OWN = 6  # words of a group
N_COMMON = 4


def grouped(sizes: list[int], n_known: int, n_labeled: int, seed: int = 0) -> tuple[Corpus, Array]:
    """A corpus with a group of each size, and int64[D], the group of each document; the last one has no word.

    The first `n_labeled` documents of each of the first `n_known` groups bear its label.
    """
    random = np.random.default_rng(seed)
    group = np.repeat(np.arange(len(sizes)), sizes)
    own = N_OWN * group[:, None] + random.integers(N_OWN, size=(group.size, 9))
    common = N_OWN * len(sizes) + random.integers(N_COMMON, size=(group.size, 3))
    texts = np.concatenate([own, common], axis=1)
    place = np.arange(group.size) - np.searchsorted(group, group)
    labels = np.where((group < n_known) & (place < n_labeled), group, UNLABELED)
    lengths = [texts.shape[1]] * group.size + [0]
    corpus = Corpus(
        texts.ravel().astype(np.int32),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        np.append(labels, UNLABELED).astype(np.int32),
        N_OWN * len(sizes) + N_COMMON,
        n_known,
    )
    return corpus, group


def is_same_partition(one: Array, other: Array) -> bool:
    """Whether two int[n] put the same documents together."""
    pairs = set(zip(one.tolist(), other.tolist(), strict=True))
    return len(pairs) == len(set(one.tolist())) == len(set(other.tolist()))
