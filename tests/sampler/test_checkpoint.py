"""Same seed, same bytes; a chain cut and resumed is the uninterrupted one; damage is refused."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampler.archive import CheckpointError, pack, unpack
from sampler.corpus import Corpus
from sampler.hyperparameters import Hyperparameters
from sampler.lbpl_ntm import chain
from sampler.lbpl_ntm.assignments import Assignments
from sampler.lbpl_ntm.checkpoint import dump, load
from sampler.lbpl_ntm.collapsed.state import CollapsedState
from tests.sampler import harness

CROWDED = Hyperparameters(
    n_topics=4, gamma_shape=20, gamma_scale=1.0, alpha_shape=20, alpha_scale=0.5, zeta=0.5, beta=0.2, n_start=0
)


def assert_equal_states(left: CollapsedState, right: CollapsedState) -> None:
    """Bit for bit, types included."""
    for field in dataclasses.fields(CollapsedState):
        a, b = getattr(left, field.name), getattr(right, field.name)
        assert type(a) is type(b), field.name
        if field.name in ("assignments", "counts"):
            harness.assert_equal_arrays(a, b)
        elif field.name == "tally":
            assert a.n_draws == b.n_draws
            for x, y in zip(a[1:], b[1:], strict=True):
                np.testing.assert_array_equal(x, y)
                assert x.dtype == y.dtype
        else:
            assert a == b, field.name


def run(
    corpus: Corpus, hyperparameters: Hyperparameters, seed: int = 1, index: int = 0, sweeps: int = 30
) -> CollapsedState:
    state = chain.start(corpus, hyperparameters, seed=seed, chain=index, kernel="collapsed")
    for _ in range(sweeps):
        chain.sweep(corpus, hyperparameters, state)
        chain.keep(corpus, state)
    return state


@pytest.fixture(scope="module")
def state(corpus: Corpus, hyperparameters: Hyperparameters) -> CollapsedState:
    return run(corpus, hyperparameters)


def test_the_same_seed_gives_the_same_bytes(
    corpus: Corpus, hyperparameters: Hyperparameters, state: CollapsedState
) -> None:
    assert dump(corpus, run(corpus, hyperparameters)) == dump(corpus, state)


def test_another_seed_or_chain_gives_other_draws(
    corpus: Corpus, hyperparameters: Hyperparameters, state: CollapsedState
) -> None:
    for other in (run(corpus, hyperparameters, seed=2), run(corpus, hyperparameters, index=1)):
        assert (other.assignments.topic != state.assignments.topic).any()
        assert (other.assignments.table != state.assignments.table).any()
        assert other.alpha != state.alpha and other.gamma != state.gamma


def test_dump_and_load_keep_every_bit(corpus: Corpus, hyperparameters: Hyperparameters, state: CollapsedState) -> None:
    loaded = load(corpus, hyperparameters, dump(corpus, state))
    assert_equal_states(loaded, state)
    assert dump(corpus, loaded) == dump(corpus, state)
    assert all(array.flags.writeable for part in (loaded.assignments, loaded.counts) for array in part)


@pytest.mark.parametrize("model", ["hyperparameters", "crowded", "as_printed"])
def test_a_chain_resumed_at_every_sweep_is_the_uninterrupted_one(
    corpus: Corpus, hyperparameters: Hyperparameters, model: str
) -> None:
    """Also across growth of the slots (crowded), and with a tally of kept draws."""
    constants = {
        "hyperparameters": hyperparameters,
        "crowded": CROWDED,
        "as_printed": dataclasses.replace(hyperparameters, category_step="as_printed"),
    }[model]
    whole = chain.start(corpus, constants, seed=3, chain=1, kernel="collapsed")
    cut = load(corpus, constants, dump(corpus, chain.start(corpus, constants, seed=3, chain=1, kernel="collapsed")))
    n_slots = whole.assignments.identity.size
    for sweep in range(60):
        assert chain.sweep(corpus, constants, whole) == chain.sweep(corpus, constants, cut)
        if sweep % 2:
            chain.keep(corpus, whole)
            chain.keep(corpus, cut)
        data = dump(corpus, cut)
        assert data == dump(corpus, whole)
        cut = load(corpus, constants, data)
        assert_equal_states(cut, whole)
    if model == "crowded":
        assert whole.assignments.identity.size > 2 * n_slots


def test_a_chain_resumed_once_at_any_sweep_ends_in_the_same_bytes(
    corpus: Corpus, hyperparameters: Hyperparameters
) -> None:
    state = chain.start(corpus, hyperparameters, seed=4, chain=0, kernel="collapsed")
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
    change, corpus: Corpus, hyperparameters: Hyperparameters, state: CollapsedState
) -> None:
    with pytest.raises(CheckpointError, match="another corpus"):
        load(change(corpus), hyperparameters, dump(corpus, state))


def test_another_number_of_topics_is_refused(
    corpus: Corpus, hyperparameters: Hyperparameters, state: CollapsedState
) -> None:
    with pytest.raises(CheckpointError, match="5 topics are not 6"):
        load(corpus, dataclasses.replace(hyperparameters, n_topics=6), dump(corpus, state))


def changed(data: bytes, **changes: object) -> bytes:
    """A checkpoint with other facts; None leaves one out."""
    facts, arrays = unpack(data)
    return pack({name: value for name, value in {**facts, **changes}.items() if value is not None}, arrays)


def test_a_checkpoint_from_before_kernels_had_names_is_one_of_algorithm_1(
    corpus: Corpus, hyperparameters: Hyperparameters, state: CollapsedState
) -> None:
    data = dump(corpus, state)
    assert_equal_states(load(corpus, hyperparameters, changed(data, kernel=None)), state)


def test_a_kernel_that_this_version_does_not_have_is_refused(
    corpus: Corpus, hyperparameters: Hyperparameters, state: CollapsedState
) -> None:
    with pytest.raises(CheckpointError, match="kernel 'annealed' is none of"):
        load(corpus, hyperparameters, changed(dump(corpus, state), kernel="annealed"))


@pytest.fixture(scope="module")
def small() -> tuple[Corpus, Hyperparameters, bytes]:
    """A checkpoint of few bytes."""
    corpus, model = harness.TINY["one known"], Hyperparameters(n_topics=2, n_start=1)
    return corpus, model, dump(corpus, run(corpus, model, sweeps=3))


def test_every_corruption_of_a_single_byte_is_refused(small: tuple[Corpus, Hyperparameters, bytes]) -> None:
    """Each byte with each other value: CRC-32 finds every burst of up to 32 bits."""
    corpus, model, data = small
    for place in range(len(data)):
        damaged = bytearray(data)
        for change in (1, 2, 4, 8, 16, 32, 64, 128, 255, 90):
            damaged[place] = data[place] ^ change
            with pytest.raises(CheckpointError):
                load(corpus, model, bytes(damaged))


def test_every_truncation_is_refused(small: tuple[Corpus, Hyperparameters, bytes]) -> None:
    corpus, model, data = small
    for size in range(len(data)):
        for part in (data[:size], data[len(data) - size :]):
            with pytest.raises(CheckpointError):
                load(corpus, model, part)
    for longer in (data + b"\0", b"\0" + data, data + data):
        with pytest.raises(CheckpointError):
            load(corpus, model, longer)


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(data=st.binary(max_size=200), begins_well=st.booleans())
def test_arbitrary_bytes_are_refused(data: bytes, begins_well: bool) -> None:
    with pytest.raises(CheckpointError):
        unpack((b"newfound" if begins_well else b"") + data)


def test_another_format_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sampler.archive.FORMAT", 99)
    data = pack({}, {})
    monkeypatch.undo()
    with pytest.raises(CheckpointError, match="format 99 is not 1"):
        unpack(data)


SHAPES = st.lists(st.integers(0, 4), min_size=0, max_size=3).map(tuple)


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(
    shape=SHAPES,
    dtype=st.sampled_from(["<i4", "<i8", "<u1", "<u2", "<f8", ">i4", ">f8"]),
    seed=st.integers(0, 99),
    facts=st.dictionaries(st.text(), st.integers() | st.text() | st.floats(allow_nan=False)),
)
def test_unpack_gives_what_pack_was_given(shape: tuple[int, ...], dtype: str, seed: int, facts: dict) -> None:
    values = (np.random.default_rng(seed).normal(size=shape) * 100).astype(dtype)
    strided = np.asarray(values.T)
    found, arrays = unpack(pack(facts, {"straight": values, "strided": strided}))
    assert found == facts
    np.testing.assert_array_equal(arrays["straight"], values)
    np.testing.assert_array_equal(arrays["strided"], strided)
    assert arrays["straight"].dtype == values.dtype.newbyteorder("=")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a, c: a._replace(topic=a.topic + 2), "no topic"),
        (lambda a, c: a._replace(category=np.where(a.category >= 0, 50, a.category)), "serves no category"),
        (lambda a, c: a._replace(category=np.where(a.category == 0, 1, a.category)), "does not serve its label"),
        (lambda a, c: a._replace(table=np.full_like(a.table, c.n_tokens - 1)), "another document|no category"),
    ],
)
def test_a_state_that_could_not_be_is_refused_whatever_its_checksum(
    change, message: str, small: tuple[Corpus, Hyperparameters, bytes]
) -> None:
    corpus, model, data = small
    state = load(corpus, model, data)
    state.assignments = Assignments(*change(state.assignments, corpus))
    with pytest.raises(CheckpointError, match=message):
        load(corpus, model, dump(corpus, state))
