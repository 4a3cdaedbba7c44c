"""Small corpora with groups that are known, and what is asked of every method that finds groups."""

from collections.abc import Iterator

import numpy as np

from baselines import method
from baselines.method import Given, Method, MethodState
from sampler.corpus import UNLABELED, Array, Corpus
from sampler.numerics.threads import Threads
from tests.baselines.test_method import corpus_of


def blobs(sizes: list[int], n_labeled: list[int], n_common: int = 2, seed: int = 0) -> tuple[Corpus, Array]:
    """Documents of 6 of a category's own 8 words and some common ones, and their true categories.

    The first `n_labeled[k]` of category k have a label, and categories with labels come first. The last document has no
    word; its truth is UNLABELED.
    """
    dice = np.random.default_rng(seed)
    texts, labels, truth = [], [], []
    for k, size in enumerate(sizes):
        for n in range(size):
            own = dice.choice(8, 6) + 8 * k
            texts.append([*own.tolist(), *(dice.choice(4, n_common) + 8 * len(sizes)).tolist()])
            labels.append(k if n < n_labeled[k] else UNLABELED)
            truth.append(k)
    corpus = corpus_of([*texts, []], [*labels, UNLABELED], 8 * len(sizes) + 4, sum(n > 0 for n in n_labeled))
    return corpus, np.array([*truth, UNLABELED])


def random_corpus(n_documents: int, labels: list[int], n_known: int, seed: int = 0, n_words: int = 7) -> Corpus:
    """Documents of 4 random words; those without one in `labels` have none."""
    dice = np.random.default_rng(seed)
    texts = [dice.choice(n_words, 4).tolist() for _ in range(n_documents)]
    return corpus_of(texts, labels + [UNLABELED] * (n_documents - len(labels)), n_words, n_known)


def given(corpus: Corpus, n_categories: int, seed: int = 3) -> Given:
    return Given(corpus, n_categories, seed, Threads())


def states(tried: Method, chain: int = 0, limit: int = 200) -> Iterator[MethodState]:
    """A run from its start until it has settled, or the limit: the same state, after each sweep."""
    state = tried.start(chain)
    yield state
    while not state.is_settled and state.n_sweeps < limit:
        method.advance(tried, state)
        yield state


def settled(tried: Method, chain: int = 0, limit: int = 200) -> MethodState:
    """The last of a run."""
    *_, last = states(tried, chain, limit)
    return last


def dumps_of_an_interrupted_run(tried: Method, corpus: Corpus, n_sweeps: int) -> tuple[bytes, bytes]:
    """What an undisturbed run ends in, and one that went through bytes after each sweep."""
    whole, parts = tried.start(1), tried.start(1)
    for _ in range(n_sweeps):
        method.advance(tried, whole)
        parts = method.load(corpus, method.dump(parts))
        method.advance(tried, parts)
    return method.dump(whole), method.dump(parts)


def partitions(n: int, n_groups: int) -> Iterator[list[int]]:
    """All ways to put n things into up to `n_groups` groups, each once."""

    def grow(chosen: list[int]) -> Iterator[list[int]]:
        if len(chosen) == n:
            yield chosen
            return
        for s in range(min(max(chosen, default=-1) + 2, n_groups)):
            yield from grow([*chosen, s])

    yield from grow([])


def is_same_partition(first: Array, second: Array) -> bool:
    """Whether two arrays put the same things together."""
    return bool(((first[:, None] == first) == (second[:, None] == second)).all())
