"""Checkpoints of the calibrated model: a resumed chain is the uninterrupted one, and damaged bytes are refused."""

from collections.abc import Callable
from typing import get_args

import numpy as np
import pytest

from sampler.archive import CheckpointError, pack, unpack
from sampler.calibrated.chain import document_slots, start
from sampler.calibrated.checkpoint import dump, load
from sampler.calibrated.steps import Calibration
from sampler.corpus import UNLABELED, Array, Corpus
from sampler.hyperparameters import Hyperparameters, Kernel
from sampler.lbpl_ntm import chain
from sampler.lbpl_ntm import checkpoint as topics
from sampler.numerics.threads import Threads
from tests.sampler.calibrated_harness import QUICK, SEED, found_in, four_categories, hard, swept


def test_a_chain_resumed_after_every_sweep_is_the_uninterrupted_one() -> None:
    corpus = hard()
    found = found_in(corpus)
    with Threads() as one, Threads(2) as two:
        whole = start(corpus, QUICK, found, SEED, 0, one)
        data = dump(start(corpus, QUICK, found, SEED, 0, two))
        for _ in range(12):
            assert data == dump(whole)
            cut = load(corpus, found, data)
            draws = swept(corpus, found, whole, 1, one), swept(corpus, found, cut, 1, two)
            assert draws[0] == draws[1] and cut.digest == whole.digest
            for part, same in zip(cut.tally, whole.tally, strict=True):
                np.testing.assert_array_equal(part, same)
            data = dump(cut)
            back = load(corpus, found, data)
            expected = document_slots(corpus, found, whole)
            np.testing.assert_array_equal(document_slots(corpus, found, back), expected)
    assert whole.tally.n_draws == 12 and len(whole.members) > 1


@pytest.fixture(scope="module")
def checkpoint() -> tuple[Corpus, Calibration, bytes]:
    """A corpus, its calibration, and a chain of it after some sweeps."""
    corpus = hard()
    found = found_in(corpus)
    with Threads() as threads:
        state = start(corpus, QUICK, found, SEED, 0, threads)
        swept(corpus, found, state, 4, threads)
    return corpus, found, dump(state)


def test_damaged_bytes_are_refused(checkpoint: tuple[Corpus, Calibration, bytes]) -> None:
    corpus, found, data = checkpoint
    load(corpus, found, data)
    rng = np.random.default_rng(101)
    flipped = [bytes(b ^ (i == at) for i, b in enumerate(data)) for at in rng.integers(0, len(data), 20)]
    for damaged in (b"", data[:5], data[:-1], data + b"x", data[len(data) // 2 :], *flipped):
        with pytest.raises(CheckpointError):
            load(corpus, found, damaged)


def test_a_checkpoint_of_another_corpus_or_model_is_refused(checkpoint: tuple[Corpus, Calibration, bytes]) -> None:
    corpus, found, data = checkpoint
    labels = corpus.labels.copy()
    labels[0] = UNLABELED
    for other in (corpus._replace(labels=labels), four_categories().corpus):
        with pytest.raises(CheckpointError, match="another corpus"):
            load(other, found_in(other), data)
    model = Hyperparameters(n_topics=2)
    for kernel in get_args(Kernel):
        with pytest.raises(CheckpointError):
            load(corpus, found, topics.dump(corpus, chain.start(corpus, model, 1, 0, kernel)))
    with pytest.raises(CheckpointError):
        topics.load(corpus, model, data)


def test_a_checkpoint_under_another_calibration_is_refused(checkpoint: tuple[Corpus, Calibration, bytes]) -> None:
    """Its settings are numbered otherwise, or its atoms are those of other documents."""
    corpus, found, data = checkpoint
    kept = found.kept
    weight = np.where(np.arange(found.scores.weight.size) == kept[0], 0.0, found.scores.weight)
    other_weights = found._replace(scores=found.scores._replace(weight=weight / weight.sum()))
    fewer = found._replace(new_side=found.new_side._replace(documents=found.new_side.documents[:-1]))
    for other in (other_weights, fewer):
        with pytest.raises(CheckpointError):
            load(corpus, other, data)


DAMAGES: dict[str, tuple[str, Callable[[Array], Array]]] = {
    "a document less": ("atom_0", lambda a: a[:-1]),
    "an atom without a group": ("group_0", lambda a: a[:-1]),
    "a group too many": ("group_0", lambda a: np.append(a, a[:1])),
    "members that are no documents": ("members", lambda a: a.astype(np.int64) + 9_999),
    "members of more categories than there are ends": ("member_ends", lambda a: a[:-1]),
    "hits of fewer documents": ("tally_hits", lambda a: a[:-1]),
    "hits of documents that are not there": ("tally_document", lambda a: a + 9_999),
    "identities that nobody has": ("tally_identity", lambda a: a.astype(np.int64) + 9_999),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_arrays_that_could_not_be_of_this_corpus_are_refused_whatever_their_checksum(
    damage: str, checkpoint: tuple[Corpus, Calibration, bytes]
) -> None:
    corpus, found, data = checkpoint
    facts, arrays = unpack(data)
    name, change = DAMAGES[damage]
    with pytest.raises(CheckpointError):
        load(corpus, found, pack(facts, {**arrays, name: change(arrays[name])}))
    del arrays[name]
    with pytest.raises(CheckpointError):
        load(corpus, found, pack(facts, arrays))
