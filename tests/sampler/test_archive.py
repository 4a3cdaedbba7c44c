"""What was packed is unpacked bit for bit; what is damaged, cut or no archive at all is refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampler.archive import CheckpointError, pack, unpack
from sampler.hyperparameters import Hyperparameters
from sampler.lbpl_ntm import chain
from sampler.lbpl_ntm.checkpoint import dump
from tests.sampler import harness


@pytest.fixture(scope="module")
def small() -> bytes:
    """A checkpoint of few bytes."""
    corpus, model = harness.TINY["one known"], Hyperparameters(n_topics=2, n_start=1)
    state = chain.start(corpus, model, seed=1, chain=0, kernel="collapsed")
    for _ in range(3):
        chain.sweep(corpus, model, state)
        chain.keep(corpus, state)
    return dump(corpus, state)


def test_every_corruption_of_a_single_byte_is_refused(small: bytes) -> None:
    """Each byte with each other value: CRC-32 finds every burst of up to 32 bits."""
    for place in range(len(small)):
        damaged = bytearray(small)
        for change in (1, 2, 4, 8, 16, 32, 64, 128, 255, 90):
            damaged[place] = small[place] ^ change
            with pytest.raises(CheckpointError):
                unpack(bytes(damaged))


def test_every_truncation_is_refused(small: bytes) -> None:
    for size in range(len(small)):
        for part in (small[:size], small[len(small) - size :]):
            with pytest.raises(CheckpointError):
                unpack(part)
    for longer in (small + b"\0", b"\0" + small, small + small):
        with pytest.raises(CheckpointError):
            unpack(longer)


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
