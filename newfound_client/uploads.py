"""What is sent as a file: one on the disk, rows in memory, or a pandas frame."""

import json
import os
import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from newfound_client.connection import Body

PIECE = 2**18  # bytes that are read at once
NDJSON = "application/x-ndjson"


class Sent(NamedTuple):
    """The body of an upload, and the headers that go with it."""

    body: Body
    headers: dict[str, str]


def prepared(source: Any) -> Sent:
    """The upload of a path, of a pandas frame without its index, or of rows, which are mappings.

    Raises OSError for a file that cannot be read, TypeError for anything else.
    """
    if isinstance(source, str | os.PathLike):
        return of_file(Path(source))
    if callable(getattr(source, "to_json", None)):
        lines = source.to_json(orient="records", lines=True, date_format="iso", double_precision=15)
        return Sent(lines.encode(), {"Content-Type": NDJSON})
    if isinstance(source, Iterable) and not isinstance(source, bytes | Mapping):
        return Sent(lines_of(source), {"Content-Type": NDJSON})
    raise TypeError(f"an upload is a path, rows or a frame, not {type(source).__name__}")


def lines_of(rows: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    """Rows as NDJSON; an array of NumPy is a list, and what else JSON does not know, such as a date, a text."""
    for row in rows:
        yield json.dumps(row, default=plain).encode() + b"\n"


def plain(value: Any) -> Any:
    """What JSON has in the place of a value that it does not know."""
    return value.tolist() if getattr(value, "ndim", 0) else str(value)


def vectors_of(keys: Iterable[str], vectors: Iterable[Any]) -> Sent:
    """The upload of vectors of documents; while it is sent it raises ValueError if there are not as many of both."""
    lines = lines_of({"key": key, "vector": vector} for key, vector in zip(keys, vectors, strict=True))
    return Sent(lines, {"Content-Type": NDJSON})


def of_file(path: Path) -> Sent:
    """The upload of a file as the part of a form, which names it: its ending says what it is."""
    boundary = uuid.uuid4().hex
    name = "".join(letter if letter.isprintable() and letter not in '"\\' else "_" for letter in path.name)
    head = (
        f"--{boundary}\r\n"
        f'Content-Disposition: form-data; name="file"; filename="{name}"\r\n'
        "Content-Type: application/octet-stream\r\n\r\n"
    ).encode()
    tail = f"\r\n--{boundary}--\r\n".encode()
    size = len(head) + path.stat().st_size + len(tail)
    headers = {"Content-Type": f"multipart/form-data; boundary={boundary}", "Content-Length": str(size)}
    return Sent(pieces(head, path, tail), headers)


def pieces(head: bytes, path: Path, tail: bytes) -> Iterator[bytes]:
    """A file with what goes around it, a piece at a time."""
    yield head
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            yield piece
    yield tail
