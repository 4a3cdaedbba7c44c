"""The digest tells runs apart that went through different states, and none that did not."""

import hashlib
import struct
from collections.abc import Callable
from dataclasses import fields, replace

import numpy as np
import pytest

from sampler.corpus import Corpus, fingerprint
from sampler.digest import first_digest, next_digest
from sampler.hyperparameters import Hyperparameters, Kernel
from sampler.lbpl_ntm import chain
from sampler.lbpl_ntm.blocked.arrays import MIXED
from sampler.lbpl_ntm.blocked.state import BlockedState
from sampler.lbpl_ntm.checkpoint import dump, load
from sampler.lbpl_ntm.collapsed.state import CollapsedState
from sampler.lbpl_ntm.state import State
from tests.sampler import kernels

OF_ANOTHER_KERNEL = {"blocked": "category_step", "collapsed": "birth_share"}  # which a kernel cannot draw from


def digests(corpus: Corpus, hyperparameters: Hyperparameters, kernel: Kernel) -> list[str]:
    state = chain.start(corpus, hyperparameters, seed=1, chain=0, kernel=kernel)
    found = [state.digest]
    for _ in range(5):
        chain.sweep(corpus, hyperparameters, state)
        found.append(state.digest)
    return found


@pytest.mark.parametrize("kernel", kernels.NAMES)
def test_the_digests_of_two_equal_runs_are_equal_after_each_sweep(
    corpus: Corpus, hyperparameters: Hyperparameters, kernel: Kernel
) -> None:
    found = digests(corpus, hyperparameters, kernel)
    assert digests(corpus, hyperparameters, kernel) == found
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("kernel", kernels.NAMES)
def test_everything_that_a_chain_follows_from_changes_the_digest(
    corpus: Corpus, hyperparameters: Hyperparameters, kernel: Kernel
) -> None:
    labels = corpus.labels.copy()
    labels[0] = -1
    others = [
        replace(hyperparameters, **{field.name: other_value(getattr(hyperparameters, field.name))})
        for field in fields(hyperparameters)
        if field.name != OF_ANOTHER_KERNEL[kernel]
    ]
    states = [
        chain.start(corpus, hyperparameters, seed=1, chain=0, kernel=kernel),
        chain.start(corpus, hyperparameters, seed=2, chain=0, kernel=kernel),
        chain.start(corpus, hyperparameters, seed=1, chain=1, kernel=kernel),
        chain.start(corpus._replace(labels=labels), hyperparameters, seed=1, chain=0, kernel=kernel),
        *(chain.start(corpus, other, seed=1, chain=0, kernel=kernel) for other in others),
    ]
    assert len({state.digest for state in states}) == len(states)


OTHERS = {"exact": "as_printed", "placed": "random", None: 0.7}


def other_value(value: str | float | None) -> str | float:
    return OTHERS[value] if value is None or isinstance(value, str) else value + 1  # type: ignore[return-value]


# As chains of before there were fixed concentrations and random starts had them.
FIRST_CONSTANTS = (
    "n_topics", "gamma_shape", "gamma_scale", "alpha_shape", "alpha_scale", "zeta", "beta", "category_step", "n_start",
    "birth_share",
)  # fmt: skip


def test_constants_that_came_later_leave_digests_as_they_were_until_they_are_used(
    hyperparameters: Hyperparameters,
) -> None:
    assert hyperparameters.digested() == {name: getattr(hyperparameters, name) for name in FIRST_CONSTANTS}
    later = [field.name for field in fields(hyperparameters) if field.name not in FIRST_CONSTANTS]
    for name in later:
        value = other_value(getattr(hyperparameters, name))
        assert replace(hyperparameters, **{name: value}).digested() == {**hyperparameters.digested(), name: value}
    assert later == ["alpha", "gamma", "start"]


def test_two_kernels_have_different_digests_from_the_outset(corpus: Corpus, hyperparameters: Hyperparameters) -> None:
    given = {"corpus": fingerprint(corpus), "seed": 1, "chain": 0, **hyperparameters.digested()}
    expected = [first_digest({**given, "kernel": kernel}) for kernel in kernels.NAMES]
    assert [digests(corpus, hyperparameters, kernel)[0] for kernel in kernels.NAMES] == expected
    assert len(set(expected)) == len(expected)


def test_the_digest_of_an_array_is_that_of_its_bytes_in_order() -> None:
    array = np.arange(24, dtype=np.int32).reshape(4, 6)
    for view in (array, array.T, array[:, ::2], array[:0], np.array(5, np.uint8)):
        expected = hashlib.sha256(b"before" + view.tobytes() + struct.pack("<dd", 0.5, 2.0)).hexdigest()
        assert next_digest("before", [view], 0.5, 2.0) == expected


def move_a_topic(state: CollapsedState) -> None:
    state.assignments.topic[3] = (state.assignments.topic[3] + 1) % 5


def move_a_table(state: CollapsedState) -> None:
    slots = np.flatnonzero(state.counts.table_tokens)
    state.assignments.category[slots[-1]] += 1


def move_a_document(state: BlockedState) -> None:
    u = np.flatnonzero(state.placements.whole != MIXED)[0]
    state.placements.whole[u] += 1


def move_a_token(state: BlockedState) -> None:
    u = np.flatnonzero(state.placements.whole == MIXED)[-1]
    state.placements.token[state.bags.first_token[u + 1] - 1] += 1


def add_a_table(state: BlockedState) -> None:
    state.counts.category_tables[0] += 1


def move_a_seat(state: BlockedState) -> None:
    state.counts.log_seats[0] += 1


def move_a_topic_of_a_word(state: BlockedState) -> None:
    state.counts.word_topics.topic[5, 0] += 1


def move_a_token_of_a_word(state: BlockedState) -> None:
    state.counts.word_topics.tokens[5, 0] += 1


def move_a_topic_of_a_category(state: BlockedState) -> None:
    state.counts.category_topic[0, 1] += 1


def nudge_alpha(state: State) -> None:
    state.alpha = float(np.nextafter(state.alpha, 9.0))


def nudge_gamma(state: State) -> None:
    state.gamma = float(np.nextafter(state.gamma, 9.0))


OF_ANY: list[Callable] = [nudge_alpha, nudge_gamma]
CHANGES: dict[str, list[Callable]] = {
    "collapsed": [move_a_topic, move_a_table, *OF_ANY],
    "blocked": [
        move_a_document,
        move_a_token,
        add_a_table,
        move_a_seat,
        move_a_topic_of_a_word,
        move_a_token_of_a_word,
        move_a_topic_of_a_category,
        *OF_ANY,
    ],
}


@pytest.mark.parametrize(
    ("kernel", "change"), [(kernel, change) for kernel in kernels.NAMES for change in CHANGES[kernel]]
)
def test_a_state_that_differs_in_one_bit_leaves_another_digest(
    corpus: Corpus, hyperparameters: Hyperparameters, kernel: Kernel, change: Callable[[State], None]
) -> None:
    state = chain.start(corpus, hyperparameters, seed=9, chain=0, kernel=kernel)
    for _ in range(5):
        chain.sweep(corpus, hyperparameters, state)
    altered = load(corpus, hyperparameters, dump(corpus, state))
    before = next_digest_of(state, corpus, hyperparameters)
    assert next_digest_of(altered, corpus, hyperparameters) == before
    change(altered)
    assert next_digest_of(altered, corpus, hyperparameters) != before


def next_digest_of(state: State, corpus: Corpus, hyperparameters: Hyperparameters) -> str:
    """The digest after a sweep that left this state."""
    return next_digest(state.digest, state.summarize(corpus, hyperparameters).digested, state.alpha, state.gamma)
