"""The local files of encoded corpora: whole or not there, checked, and mapped so that kernels know them."""

import hashlib
import multiprocessing
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import numba
import numpy as np
import pytest

from tests.waits import PATIENCE
from worker import corpus_cache, corpus_file
from worker.corpus_cache import CorpusCache
from worker.corpus_file import Arrays, CorpusFileError

ROOM = 2**30
FORKING = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # no thread of ours runs meanwhile


def made(n_tokens: int = 5, seed: int = 1) -> Arrays:
    """An encoded corpus of three texts, one of them empty, and four documents."""
    words = np.random.default_rng(seed).integers(0, 1000, n_tokens, np.int32)
    offsets, text_of = np.array([0, 2, 2, n_tokens]), np.array([0, 1, 2, 0], np.int32)
    return Arrays(
        words,
        offsets,
        text_of,
        np.array([0, -1, -1, 0], np.int32),
        np.array([2**40, 1, 2, 3]),
        np.array([7, -1, 2**62, 0]),
    )


def parts(arrays: Arrays) -> list[bytes]:
    return list(corpus_file.parts(arrays))


def load(files: CorpusCache, arrays: Arrays, given: Iterable[bytes] | None = None) -> Arrays:
    """Load a corpus from its parts, or from those that are given."""
    held = parts(arrays) if given is None else given
    return files.load(corpus_file.digest(arrays), corpus_file.sizes_of(arrays), lambda: held)


def refuse() -> Iterator[bytes]:
    raise AssertionError("the file is here already")
    yield b""


@pytest.fixture
def files(tmp_path: Path) -> CorpusCache:
    return CorpusCache(tmp_path / "encodings", ROOM)


@pytest.fixture(autouse=True)
def nothing_is_checked_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus_cache, "checked", set())


# Tokens: none; odd; the first array filling a piece but for its padding; the offsets cut by the end of a piece.
@pytest.mark.parametrize("n_tokens", [2, 5, 2**20 - 1, 2**20, 2**20 - 3, 2_500_001])
def test_a_corpus_comes_back_from_its_parts_and_from_its_file(files: CorpusCache, n_tokens: int) -> None:
    arrays = made(n_tokens)
    assert max(len(part) for part in parts(arrays)) < 8 * 2**20
    np.testing.assert_equal(load(files, arrays), arrays)
    np.testing.assert_equal(load(files, arrays, refuse()), arrays)


def test_mapped_arrays_are_of_the_types_that_kernels_were_compiled_for(files: CorpusCache) -> None:
    arrays = made()
    for found, given in zip(load(files, arrays), arrays, strict=True):
        assert numba.typeof(found) == numba.typeof(given)


def test_what_is_written_to_a_mapped_array_reaches_no_other_process(files: CorpusCache) -> None:
    arrays = made()
    load(files, arrays).words[:] = 7
    np.testing.assert_equal(load(files, arrays, refuse()), arrays)


def test_a_file_that_was_cut_off_or_damaged_is_written_anew(
    files: CorpusCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays = made()
    load(files, arrays)
    path = files.folder / corpus_file.digest(arrays)
    data = path.read_bytes()
    for damaged in (data[:-8], b"\1" + data[1:], b""):
        path.write_bytes(damaged)
        monkeypatch.setattr(corpus_cache, "checked", set())  # as in a process that starts
        np.testing.assert_equal(load(files, arrays), arrays)
        assert path.read_bytes() == data


def test_parts_of_another_corpus_are_refused_and_leave_no_file(files: CorpusCache) -> None:
    arrays = made()
    for given in (parts(made(seed=2)), parts(arrays)[:-1], [b"damaged"]):
        with pytest.raises(CorpusFileError):
            load(files, arrays, given)
        assert [path.name for path in files.folder.iterdir()] == ["lock"]


@FORKING
def test_a_writer_that_dies_leaves_no_half_file_under_the_name(files: CorpusCache) -> None:
    arrays = made()

    def die() -> Iterator[bytes]:
        yield from parts(arrays)
        os._exit(9)  # as kill -9 does, before anything could be tidied up

    writer = multiprocessing.get_context("fork").Process(target=load, args=(files, arrays, die()))
    writer.start()
    writer.join()
    assert writer.exitcode == 9
    [abandoned] = files.folder.glob("*.partial")
    os.utime(abandoned, (0, 0))
    np.testing.assert_equal(load(files, arrays), arrays)
    assert sorted(path.name for path in files.folder.iterdir()) == sorted([corpus_file.digest(arrays), "lock"])


@FORKING
def test_of_processes_that_need_one_file_at_once_one_writes_and_all_have_it(files: CorpusCache) -> None:
    arrays = made(n_tokens=100_000)
    fork = multiprocessing.get_context("fork")
    started, written, same = fork.Barrier(3, timeout=PATIENCE), fork.Value("i", 0), fork.Value("i", 0)

    def counted() -> Iterator[bytes]:
        with written:
            written.value += 1
        yield from parts(arrays)

    def work() -> None:
        started.wait()
        found = load(files, arrays, counted())
        with same:
            same.value += all(np.array_equal(a, b) for a, b in zip(found, arrays, strict=True))

    processes = [fork.Process(target=work) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert (written.value, same.value) == (1, 3)


def test_the_files_that_were_not_used_for_longest_give_way(tmp_path: Path) -> None:
    corpora = [made(n_tokens=100, seed=seed) for seed in range(4)]
    size = sum(map(len, corpus_file.pieces(corpora[0])))
    files = CorpusCache(tmp_path, 2 * size)
    mapped = [load(files, arrays) for arrays in corpora[:2]]
    load(files, corpora[0], refuse())  # so the other one is the older
    mapped.append(load(files, corpora[2]))
    kept = {path.name for path in tmp_path.iterdir()} - {"lock"}
    assert kept == {corpus_file.digest(arrays) for arrays in (corpora[0], corpora[2])}
    np.testing.assert_equal(mapped, corpora[:3])  # the one that is gone too

    (tmp_path / "of-somebody-else").mkdir()
    load(CorpusCache(tmp_path, 0), corpora[3])
    kept = {path.name for path in tmp_path.iterdir()}
    assert kept == {corpus_file.digest(corpora[3]), "lock", "of-somebody-else"}


def test_files_that_nothing_refers_to_any_more_are_removed(files: CorpusCache) -> None:
    files.keep_only(lambda digests: set())  # before there is a folder
    first, second = made(seed=1), made(seed=2)
    load(files, first)
    load(files, second)
    (files.folder / "something else").touch()
    asked: list[set[str]] = []
    files.keep_only(lambda digests: asked.append(set(digests)) or {corpus_file.digest(first)})
    assert asked == [{corpus_file.digest(first), corpus_file.digest(second)}]
    assert {path.name for path in files.folder.iterdir()} >= {corpus_file.digest(first), "something else"}
    assert not (files.folder / corpus_file.digest(second)).exists()


def test_the_digest_is_that_of_the_file(files: CorpusCache) -> None:
    arrays = made(n_tokens=7)
    load(files, arrays)
    path = files.folder / corpus_file.digest(arrays)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == path.name
    filled = np.append(arrays.words, 0).astype("<i4").tobytes() + arrays.offsets.astype("<i8").tobytes()
    filled += arrays.text_of.astype("<i4").tobytes() + arrays.labels.astype("<i4").tobytes()
    filled += arrays.document_ids.astype("<i8").tobytes() + arrays.marks.astype("<i8").tobytes()
    assert path.read_bytes() == filled
