"""Same seed, same bytes; a chain cut and resumed is the uninterrupted one; another model or corpus is refused."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from sampler.archive import CheckpointError, pack, unpack
from sampler.corpus import Corpus
from sampler.hyperparameters import Hyperparameters, Kernel
from sampler.lbpl_ntm import chain
from sampler.lbpl_ntm.checkpoint import dump, load
from sampler.lbpl_ntm.state import State
from sampler.numerics.threads import Threads
from tests.sampler import harness, kernels

CROWDED = replace(
    kernels.USUAL, n_start=0, gamma_shape=20, alpha_shape=20
)  # slots for categories grow, again and again


def run(
    corpus: Corpus, hyperparameters: Hyperparameters, kernel: Kernel, seed: int = 1, index: int = 0, sweeps: int = 30
) -> State:
    state = chain.start(corpus, hyperparameters, seed=seed, chain=index, kernel=kernel)
    for _ in range(sweeps):
        chain.sweep(corpus, hyperparameters, state)
        chain.keep(corpus, state)
    return state


@pytest.fixture(scope="module", params=kernels.NAMES)
def kernel(request: pytest.FixtureRequest) -> Kernel:
    return request.param


@pytest.fixture(scope="module")
def state(corpus: Corpus, hyperparameters: Hyperparameters, kernel: Kernel) -> State:
    return run(corpus, hyperparameters, kernel)


def test_the_same_seed_gives_the_same_bytes(corpus: Corpus, hyperparameters: Hyperparameters, state: State) -> None:
    assert dump(corpus, run(corpus, hyperparameters, state.kernel)) == dump(corpus, state)


def test_another_seed_or_chain_gives_other_draws(
    corpus: Corpus, hyperparameters: Hyperparameters, state: State
) -> None:
    found = kernels.contents(corpus, state)
    for place in ({"seed": 2}, {"index": 1}):
        other = run(corpus, hyperparameters, state.kernel, **place)
        others = kernels.contents(corpus, other)
        assert not any(np.array_equal(others[name], found[name]) for name in ("category_tables", "topic_tokens"))
        assert (kernels.token_categories(corpus, other) != kernels.token_categories(corpus, state)).any()
        assert other.alpha != state.alpha and other.gamma != state.gamma


def test_dump_and_load_keep_every_bit(corpus: Corpus, hyperparameters: Hyperparameters, state: State) -> None:
    loaded = load(corpus, hyperparameters, dump(corpus, state))
    kernels.assert_equal_states(corpus, loaded, state)
    assert dump(corpus, loaded) == dump(corpus, state)
    assert all(array.flags.writeable for array in kernels.contents(corpus, loaded).values())


@pytest.mark.parametrize("model", [*kernels.MODELS, *(f"{kernel}, crowded" for kernel in kernels.NAMES)])
def test_a_chain_resumed_at_every_sweep_is_the_uninterrupted_one(corpus: Corpus, model: str) -> None:
    """Also where slots grow (crowded), on other threads, and with a tally of kept draws."""
    crowded = {f"{kernel}, crowded": (kernel, CROWDED) for kernel in kernels.NAMES}
    kernel, hyperparameters = {**kernels.MODELS, **crowded}[model]
    whole = chain.start(corpus, hyperparameters, seed=3, chain=1, kernel=kernel)
    data, slots = dump(corpus, whole), [whole.identity.size]
    with Threads(2, 3) as threads:
        for sweep in range(60):
            cut = load(corpus, hyperparameters, data)
            on_others = chain.sweep(corpus, hyperparameters, cut, threads if sweep % 3 else None)
            assert chain.sweep(corpus, hyperparameters, whole) == on_others
            if sweep % 2:
                chain.keep(corpus, whole)
                chain.keep(corpus, cut)
            data = dump(corpus, cut)
            assert data == dump(corpus, whole)
            kernels.assert_equal_states(corpus, load(corpus, hyperparameters, data), whole)
            slots.append(whole.identity.size)
    if model in crowded:
        assert max(slots) > 2 * min(slots)


def test_a_chain_resumed_once_at_any_sweep_ends_in_the_same_bytes(
    corpus: Corpus, hyperparameters: Hyperparameters, kernel: Kernel
) -> None:
    state = chain.start(corpus, hyperparameters, seed=4, chain=0, kernel=kernel)
    checkpoints = [dump(corpus, state)]
    for _ in range(12):
        chain.sweep(corpus, hyperparameters, state)
        checkpoints.append(dump(corpus, state))
    for done, data in enumerate(checkpoints):
        resumed = load(corpus, hyperparameters, data)
        for _ in range(12 - done):
            chain.sweep(corpus, hyperparameters, resumed)
        assert dump(corpus, resumed) == checkpoints[-1]


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c._replace(words=np.roll(c.words, 1)),
        lambda c: c._replace(labels=np.roll(c.labels, 1)),
        lambda c: c._replace(n_words=c.n_words + 1),
        lambda c: c._replace(n_known=c.n_known + 1),
        lambda c: harness.permuted(c, range(c.n_documents - 1, -1, -1))[0],
    ],
)
def test_another_corpus_is_refused(
    change: Callable[[Corpus], Corpus], corpus: Corpus, hyperparameters: Hyperparameters, state: State
) -> None:
    with pytest.raises(CheckpointError, match="another corpus"):
        load(change(corpus), hyperparameters, dump(corpus, state))


def test_another_number_of_topics_is_refused(corpus: Corpus, hyperparameters: Hyperparameters, state: State) -> None:
    with pytest.raises(CheckpointError, match="5 topics are not 6"):
        load(corpus, replace(hyperparameters, n_topics=6), dump(corpus, state))


def changed(data: bytes, **changes: object) -> bytes:
    """A checkpoint with other facts; None leaves one out."""
    facts, arrays = unpack(data)
    return pack({name: value for name, value in {**facts, **changes}.items() if value is not None}, arrays)


def test_a_checkpoint_from_before_kernels_had_names_is_one_of_algorithm_1(
    corpus: Corpus, hyperparameters: Hyperparameters
) -> None:
    state = run(corpus, hyperparameters, "collapsed", sweeps=3)
    loaded = load(corpus, hyperparameters, changed(dump(corpus, state), kernel=None))
    kernels.assert_equal_states(corpus, loaded, state)


def test_a_kernel_that_this_version_does_not_have_is_refused(
    corpus: Corpus, hyperparameters: Hyperparameters, state: State
) -> None:
    with pytest.raises(CheckpointError, match="kernel 'annealed' is none of"):
        load(corpus, hyperparameters, changed(dump(corpus, state), kernel="annealed"))
