"""The digest tells runs apart that went through different states, and none that did not."""

import dataclasses
import hashlib
import struct
from collections.abc import Callable

import numpy as np
import pytest

from sampler.corpus import Corpus, fingerprint
from sampler.digest import first_digest, next_digest
from sampler.hyperparameters import Hyperparameters
from sampler.lbpl_ntm import chain
from sampler.lbpl_ntm.checkpoint import dump, load
from sampler.lbpl_ntm.collapsed.state import CollapsedState

Change = Callable[[CollapsedState, Corpus], None]


def digests(corpus: Corpus, hyperparameters: Hyperparameters, seed: int = 1, index: int = 0) -> list[str]:
    state = chain.start(corpus, hyperparameters, seed=seed, chain=index, kernel="collapsed")
    found = [state.digest]
    for _ in range(5):
        chain.sweep(corpus, hyperparameters, state)
        found.append(state.digest)
    return found


def test_the_digests_of_two_equal_runs_are_equal_after_each_sweep(
    corpus: Corpus, hyperparameters: Hyperparameters
) -> None:
    found = digests(corpus, hyperparameters)
    assert digests(corpus, hyperparameters) == found
    assert len(set(found)) == len(found)


def test_everything_that_a_chain_follows_from_changes_the_digest(
    corpus: Corpus, hyperparameters: Hyperparameters
) -> None:
    labels = corpus.labels.copy()
    labels[0] = -1
    others = [
        digests(corpus, hyperparameters, seed=2),
        digests(corpus, hyperparameters, index=1),
        digests(corpus._replace(labels=labels), hyperparameters),
        *(
            digests(corpus, dataclasses.replace(hyperparameters, **{field.name: changed}))
            for field in dataclasses.fields(hyperparameters)
            if field.name != "birth_share"  # of the blocked kernel
            for changed in [other_value(getattr(hyperparameters, field.name))]
        ),
    ]
    firsts = [found[0] for found in [digests(corpus, hyperparameters), *others]]
    assert len(set(firsts)) == len(firsts)
    blocked, births = (
        chain.start(corpus, dataclasses.replace(hyperparameters, birth_share=share), 1, 0, "blocked").digest
        for share in (0.0, 0.5)
    )
    assert blocked != births


def test_two_kernels_have_different_digests_from_the_outset(corpus: Corpus, hyperparameters: Hyperparameters) -> None:
    given = {"corpus": fingerprint(corpus), "seed": 1, "chain": 0, **dataclasses.asdict(hyperparameters)}
    collapsed, blocked = (first_digest({**given, "kernel": kernel}) for kernel in ("collapsed", "blocked"))
    assert collapsed == digests(corpus, hyperparameters)[0]
    assert blocked != collapsed


def test_the_digest_of_an_array_is_that_of_its_bytes_in_order() -> None:
    array = np.arange(24, dtype=np.int32).reshape(4, 6)
    for view in (array, array.T, array[:, ::2], array[:0], np.array(5, np.uint8)):
        expected = hashlib.sha256(b"before" + view.tobytes() + struct.pack("<dd", 0.5, 2.0)).hexdigest()
        assert next_digest("before", [view], 0.5, 2.0) == expected


def other_value(value: object) -> object:
    if isinstance(value, str):
        return "as_printed"
    return value + 1 if isinstance(value, int | float) else None


def move_a_topic(state: CollapsedState, corpus: Corpus) -> None:
    state.assignments.topic[3] = (state.assignments.topic[3] + 1) % 5


def move_a_table(state: CollapsedState, corpus: Corpus) -> None:
    slots = np.flatnonzero(state.counts.table_tokens)
    state.assignments.category[slots[-1]] += 1


def nudge_alpha(state: CollapsedState, corpus: Corpus) -> None:
    state.alpha = float(np.nextafter(state.alpha, 9.0))


@pytest.mark.parametrize("change", [move_a_topic, move_a_table, nudge_alpha])
def test_a_state_that_differs_in_one_bit_leaves_another_digest(
    corpus: Corpus, hyperparameters: Hyperparameters, change: Change
) -> None:
    state = chain.start(corpus, hyperparameters, seed=1, chain=0, kernel="collapsed")
    chain.sweep(corpus, hyperparameters, state)
    altered = load(corpus, hyperparameters, dump(corpus, state))
    change(altered, corpus)
    before = (state.digest, altered.digest)
    assert before[0] == before[1]
    after = [
        next_digest(some.digest, some.summarize(corpus, hyperparameters).digested, some.alpha, some.gamma)
        for some in (state, altered)
    ]
    assert after[0] != after[1]
