"""Files that answers are written to; the ending of a file's name says the format."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

TABLE_FORMATS = {".csv": "csv", ".xlsx": "xlsx", ".ndjson": "ndjson", ".jsonl": "ndjson", ".parquet": "parquet"}
LINE_FORMATS = {".csv": "csv", ".ndjson": "ndjson", ".jsonl": "ndjson"}  # of answers to new documents

Target = str | os.PathLike[str] | BinaryIO


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Within this context a file is written that takes the place of an older one only if it is complete.

    Raises OSError if it cannot be written.
    """
    beside = path.with_name(f".{path.name}.part")
    try:
        with beside.open("wb") as file:
            yield file
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def write(pieces: Iterator[bytes], target: Target) -> int:
    """Write an answer to a path or an open file; returns how many bytes it has."""
    if isinstance(target, str | os.PathLike):
        with replacing(Path(target)) as file:
            return write(pieces, file)
    return sum(target.write(piece) for piece in pieces)


def format_of(target: Target, format: str | None, formats: dict[str, str]) -> str:
    """The format that was chosen, else the one that the name of a file says. Raises ValueError."""
    if format is not None:
        return format
    ending = Path(target).suffix.lower() if isinstance(target, str | os.PathLike) else ""
    if ending not in formats:
        raise ValueError(f"the name of the file should end with one of {', '.join(formats)}, or a format be chosen")
    return formats[ending]
