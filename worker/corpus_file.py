"""An encoded corpus as one run of bytes, cut into parts for the database and mapped from a file for the sampler.

    words int32[N] | offsets int64[T + 1] | texts int32[D] | labels int32[D] | document ids int64[D] | marks int64[D]
    | sources int16[T], if they were asked for

The words are those of T texts, each of which one or several of the D documents have.

Little-endian; zeros fill each array up to a multiple of eight bytes, so that all are aligned where they lie.
"""

import hashlib
import mmap
import os
import zlib
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sampler.corpus import Array

ALIGNMENT = 8  # bytes
PIECE_BYTES = 4 * 2**20  # of a part before compression, so that no part reaches 8 MiB
LEVEL = 1  # of zlib
NO_SOURCES = np.zeros(0, np.int16)


class CorpusFileError(ValueError):
    """These bytes are not the corpus that they should be."""


class Arrays(NamedTuple):
    """The arrays of an encoded corpus, C-contiguous, in the order of the file."""

    words: Array  # int32[N]
    offsets: Array  # int64[T + 1]
    text_of: Array  # int32[D]
    labels: Array  # int32[D]
    document_ids: Array  # int64[D], of rows
    marks: Array  # int64[D], the bits of `sampler.text.tokens.mark_of`
    sources: Array = NO_SOURCES  # int16[T], see `sampler.calibrated.sources`; of a corpus without them int16[0]


class Sizes(NamedTuple):
    """How long the arrays are."""

    n_tokens: int  # N
    n_texts: int  # T
    n_documents: int  # D
    has_sources: bool = False


def sizes_of(arrays: Arrays) -> Sizes:
    """How long these arrays are."""
    return Sizes(arrays.words.size, arrays.offsets.size - 1, arrays.labels.size, arrays.sources.size > 0)


def layout(sizes: Sizes) -> tuple[list[tuple[np.dtype[np.signedinteger], int, int]], int]:
    """Type, size and first byte of each array, and the length of the file."""
    described, start = [], 0
    n_tokens, n_texts, n_documents, has_sources = sizes
    n_sources = n_texts if has_sources else 0
    lengths = (n_tokens, n_texts + 1, n_documents, n_documents, n_documents, n_documents, n_sources)
    for code, size in zip(("<i4", "<i8", "<i4", "<i4", "<i8", "<i8", "<i2"), lengths, strict=True):
        dtype = np.dtype(code)
        described.append((dtype, size, start))
        start += -(-size * dtype.itemsize // ALIGNMENT) * ALIGNMENT
    return described, start


def pieces(arrays: Arrays) -> Iterator[bytes]:
    """The bytes of the file, PIECE_BYTES at a time."""
    piece = bytearray()
    for array, (dtype, _, _) in zip(arrays, layout(sizes_of(arrays))[0], strict=True):
        data = np.ascontiguousarray(array, dtype).view(np.uint8).data
        position = 0
        while position < len(data):
            taken = data[position : position + PIECE_BYTES - len(piece)]
            position += len(taken)
            piece += taken
            if len(piece) == PIECE_BYTES:
                yield bytes(piece)
                piece.clear()
        piece += bytes(-len(data) % ALIGNMENT)  # there is room: a piece holds a multiple of it
        if len(piece) == PIECE_BYTES:
            yield bytes(piece)
            piece.clear()
    if piece:
        yield bytes(piece)


def digest(arrays: Arrays) -> str:
    """SHA-256 of the file, in hexadecimal."""
    hashed = hashlib.sha256()
    for piece in pieces(arrays):
        hashed.update(piece)
    return hashed.hexdigest()


def parts(arrays: Arrays) -> Iterator[bytes]:
    """The pieces of the file, each compressed by itself."""
    return (zlib.compress(piece, LEVEL) for piece in pieces(arrays))


def piece_of(part: bytes) -> bytes:
    """The piece of the file that a part holds. Raises CorpusFileError."""
    try:
        return zlib.decompress(part)
    except zlib.error as error:
        raise CorpusFileError(f"a part of the encoded corpus is damaged: {error}") from error


def mapped(descriptor: int, sizes: Sizes) -> Arrays:
    """The arrays of an open file, not read but mapped. Raises CorpusFileError if it has not their length.

    Copy-on-write, though nobody writes: to numba read-only arrays are another type, for which it would compile
    every kernel once more. All processes that map the file share its pages, also after its name is gone.
    """
    described, expected = layout(sizes)
    size = os.fstat(descriptor).st_size
    if size != expected:
        raise CorpusFileError(f"the encoded corpus has {size} bytes, not {expected}")
    memory = mmap.mmap(descriptor, size, access=mmap.ACCESS_COPY)
    arrays = Arrays(
        *(
            np.frombuffer(memory, dtype, count, start).astype(dtype.newbyteorder("="), copy=False)
            for dtype, count, start in described
        )
    )
    if arrays.offsets[-1] != sizes.n_tokens:
        raise CorpusFileError(f"the encoded corpus has {arrays.offsets[-1]} tokens, not {sizes.n_tokens}")
    return arrays
