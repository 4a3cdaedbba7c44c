"""Keys and vectors as NumPy writes them: `numpy.savez(file, keys=keys, vectors=vectors)`. Nothing is unpickled."""

from collections.abc import Callable, Iterator
from math import prod
from typing import Any, BinaryIO
from zipfile import ZipFile

import numpy as np
import numpy.typing as npt

from app.core.errors import MalformedRequest
from app.core.tables import MAX_KEY
from app.core.vectors import LONGEST, SHORTEST, to_bytes
from app.uploads.archives import extracted
from app.uploads.formats.reading import Reading
from app.uploads.inflate import TemporaryFiles
from app.uploads.limits import ReadLimits
from app.uploads.rows import BadLine, BadRow, Row, name_of
from app.uploads.vector_values import not_finite

KEYS, VECTORS = "keys.npy", "vectors.npy"  # files of the archive
PIECE_BYTES = 2**21  # of an array, that are read at once
HEADERS: dict[tuple[int, int], Callable[..., tuple[tuple[int, ...], bool, np.dtype[Any]]]] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
UNICODE_BYTES = 4  # of a character


class NpzReading(Reading):
    """A file of two arrays, one of keys and one of as many vectors."""

    format = "npz"

    def __init__(self, archive: ZipFile, limits: ReadLimits, files: TemporaryFiles) -> None:
        """Raises MalformedRequest, UploadTooLarge."""
        super().__init__()
        self.columns |= {"key": "keys", "vector": "vectors"}
        self.keys, self.vectors = (
            ArrayFile(extracted(archive, archive.getinfo(name), limits, files.new()), name.removesuffix(".npy"))
            for name in (KEYS, VECTORS)
        )
        check_keys(self.keys)
        check_vectors(self.vectors)
        if self.keys.shape[0] != self.vectors.shape[0]:
            raise MalformedRequest(f"there are {self.keys.shape[0]} keys, but {self.vectors.shape[0]} vectors")

    def rows(self) -> Iterator[Row | BadLine]:
        """A row for each key, numbered from 1."""
        at_once = max(PIECE_BYTES // max(self.vectors.row_bytes, self.keys.row_bytes), 1)
        for first in range(0, self.keys.shape[0], at_once):
            keys = self.keys.rows(first, at_once).tolist()
            vectors = self.vectors.rows(first, at_once).astype(np.float64)
            for number, (key, vector) in enumerate(zip(keys, vectors, strict=True), first + 1):
                yield made(number, key, vector)


def made(number: int, key: object, vector: npt.NDArray[Any]) -> Row | BadLine:
    """The row of a key and its vector."""
    if not np.isfinite(vector).all():
        place = int(np.flatnonzero(~np.isfinite(vector))[0])
        return BadLine(number, not_finite(float(vector[place]), place + 1))
    try:
        return Row(number, "", name_of("key", key, MAX_KEY), None, vector=to_bytes(vector))
    except BadRow as error:
        return BadLine(number, str(error))


class ArrayFile:
    """An array in a file, of which a few rows at a time are read."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        """Read its head. Raises MalformedRequest."""
        self.file, self.name = file, name
        file.seek(0)
        try:
            self.shape, is_fortran, self.dtype = HEADERS[np.lib.format.read_magic(file)](file)
        except (KeyError, ValueError, TypeError, OverflowError, SyntaxError, RecursionError, MemoryError) as error:
            raise MalformedRequest(f"`{name}` is not an array of NumPy: {error}") from error
        self.start = file.tell()
        if self.dtype.hasobject:
            raise MalformedRequest(
                f"`{name}` holds objects of Python, which are not read: save keys as numpy.array(keys, dtype=str), and "
                "vectors as one array of numbers"
            )
        if is_fortran and len(self.shape) > 1:
            raise MalformedRequest(f"`{name}` is stored column by column: save numpy.ascontiguousarray({name})")
        if file.seek(0, 2) - self.start != prod(self.shape) * self.dtype.itemsize:
            raise MalformedRequest(f"`{name}` is damaged: it has not as many bytes as its shape {self.shape} needs")

    @property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        return max(prod(self.shape[1:]) * self.dtype.itemsize, 1)

    def rows(self, first: int, at_once: int) -> npt.NDArray[Any]:
        """Some rows."""
        n = min(at_once, self.shape[0] - first)
        self.file.seek(self.start + first * self.row_bytes)
        return np.frombuffer(self.file.read(n * self.row_bytes), self.dtype).reshape(n, *self.shape[1:])


def check_keys(keys: ArrayFile) -> None:
    """Raise MalformedRequest for what are no keys."""
    if len(keys.shape) != 1 or keys.dtype.kind not in "Uiu":
        raise MalformedRequest(
            f"`keys` is an array of {keys.dtype} and shape {keys.shape}: it must be a list of strings or whole numbers"
        )
    if keys.dtype.kind == "U" and not 0 < keys.dtype.itemsize <= UNICODE_BYTES * MAX_KEY:
        raise MalformedRequest(f"`keys` has room for more than {MAX_KEY} characters a key, or for none")


def check_vectors(vectors: ArrayFile) -> None:
    """Raise MalformedRequest for what are no vectors."""
    if len(vectors.shape) != 2 or vectors.dtype.kind not in "fiu":
        raise MalformedRequest(
            f"`vectors` is an array of {vectors.dtype} and shape {vectors.shape}: it must be a table of numbers, a row "
            "a key"
        )
    if not SHORTEST <= vectors.shape[1] <= LONGEST:
        raise MalformedRequest(
            f"vectors have {vectors.shape[1]:,} numbers: they must have from {SHORTEST} to {LONGEST:,}"
        )


def is_npz(names: set[str]) -> bool:
    """Whether an archive with these files holds keys and vectors."""
    return {KEYS, VECTORS} <= names
