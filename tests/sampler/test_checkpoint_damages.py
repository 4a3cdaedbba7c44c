"""Arrays that could not be a state of their corpus are refused, whatever their checksum."""

from collections.abc import Callable

import numpy as np
import pytest

from sampler.archive import CheckpointError, pack, unpack
from sampler.corpus import Array, Corpus
from sampler.hyperparameters import Hyperparameters, Kernel
from sampler.lbpl_ntm import chain
from sampler.lbpl_ntm.checkpoint import dump, load
from tests.sampler import kernels

Damage = tuple[str, Callable[[Array], Array]]  # the array, and what becomes of it

DAMAGES: dict[Kernel, dict[str, Damage]] = {
    "collapsed": {
        "a token has no topic": ("topic", lambda a: a + 200),
        "a table serves no category": ("category", lambda a: np.full(a.shape, 9_999, np.uint16)),
        "a labeled document does not serve its label": ("category", lambda a: np.where(a == 0, 1, a)),
        "a token sits at a table of another document": ("table", lambda a: a + 200),
    },
    "blocked": {
        "a document less": ("whole", lambda a: a[:-1]),
        "documents in no slot": ("whole", lambda a: np.where(a == 65_535, a, 9_999).astype(np.uint16)),
        "a mixed token less": ("token", lambda a: a[:-1]),
        "a mixed token more": ("token", lambda a: np.append(a, a[:1])),
        "tokens in no slot": ("token", lambda a: np.full(a.shape, 9_999, np.uint16)),
        "slots without an identity": ("identity", lambda a: a[:-32]),
        "tables for fewer slots": ("category_tables", lambda a: a[:-1]),
        "no tables": ("category_tables", np.zeros_like),
        "seats for fewer slots": ("log_seats", lambda a: a[:-1]),
        "fewer topics": ("category_topic", lambda a: a[:, :-1]),
        "topics of other categories": ("category_topic", lambda a: np.roll(a, 1, axis=0)),
        "topics of fewer words": ("word_topics", lambda a: a[:-1]),
        "more topics than there are": ("word_topics", lambda a: a + 200),
        "a word's topics are missing": ("word_topic", lambda a: a[:-1]),
        "no such topic": ("word_topic", lambda a: np.full_like(a, 200)),
        "a topic twice": ("word_topic", np.zeros_like),
        "topics of other tokens": ("word_topic_tokens", lambda a: np.roll(a, 1)),
        "a word's counts are missing": ("word_topic_tokens", lambda a: a[:-1]),
    },
}


@pytest.mark.parametrize(("kernel", "damage"), [(kernel, name) for kernel in kernels.NAMES for name in DAMAGES[kernel]])
def test_arrays_that_could_not_be_of_this_corpus_are_refused(
    corpus: Corpus, hyperparameters: Hyperparameters, kernel: Kernel, damage: str
) -> None:
    data = checkpoint(corpus, hyperparameters, kernel)
    load(corpus, hyperparameters, data)
    facts, arrays = unpack(data)
    name, change = DAMAGES[kernel][damage]
    with pytest.raises(CheckpointError, match=damage if kernel == "collapsed" else None):
        load(corpus, hyperparameters, pack(facts, {**arrays, name: change(arrays[name])}))


@pytest.mark.parametrize("kernel", kernels.NAMES)
def test_a_checkpoint_without_one_of_its_arrays_is_refused(
    corpus: Corpus, hyperparameters: Hyperparameters, kernel: Kernel
) -> None:
    facts, arrays = unpack(checkpoint(corpus, hyperparameters, kernel))
    assert len(arrays) > 7
    for missing in arrays:
        with pytest.raises(CheckpointError, match=f"no '{missing}'"):
            load(corpus, hyperparameters, pack(facts, {name: a for name, a in arrays.items() if name != missing}))


def checkpoint(corpus: Corpus, hyperparameters: Hyperparameters, kernel: Kernel) -> bytes:
    """That of a chain after a few sweeps, with a tally."""
    state = chain.start(corpus, hyperparameters, seed=77, chain=0, kernel=kernel)
    for _ in range(3):
        chain.sweep(corpus, hyperparameters, state)
        chain.keep(corpus, state)
    return dump(corpus, state)
