"""Lines of bytes to rows: each line of NDJSON becomes a row, or the reason why not."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from app.core.tables import MAX_KEY, MAX_NAME

FIELDS = ("text", "key", "label")
ALL_FIELDS = frozenset(FIELDS)
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
MAX_FIELDS = 1_000  # of a JSON line, and columns of a CSV file
MAX_IGNORED = 100  # unknown fields that are named
MAX_FIELD_NAME = 100  # characters of such a name that are kept


class Row(NamedTuple):
    """A document to be; `line` is where it begins, counted from 1."""

    line: int
    text: str
    key: str | None
    label: str | None


class BadLine(NamedTuple):
    """A line that cannot be used; sorts by number."""

    line: int
    reason: str


class BadRow(Exception):
    """The fields do not make a row; the message is the reason."""


class Line(NamedTuple):
    """A physical line without its end; None for one that is too long."""

    number: int
    data: bytes | None


class LineSplitter:
    """Cuts chunks into lines that end with LF or CRLF; holds one line of at most `max_bytes`."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.number = 1
        self.held = bytearray()
        self.is_too_long = False

    def feed(self, chunk: bytes) -> Iterator[Line]:
        """The lines that end within the chunk."""
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            self.hold(end)
            yield self.take()
        self.hold(rest)

    def end(self) -> Iterator[Line]:
        """The last line, if it has no end of its own."""
        if self.held or self.is_too_long:
            yield self.take()

    def hold(self, data: bytes) -> None:
        """Add to the line, or forget it once it is too long; a CR may be one byte of the line's end."""
        self.is_too_long = self.is_too_long or len(self.held) + len(data) > self.max_bytes + 1
        if self.is_too_long:
            self.held.clear()
        else:
            self.held += data

    def take(self) -> Line:
        """The line that is held, complete now."""
        data = bytes(self.held).removesuffix(b"\r")
        if self.number == 1:
            data = data.removeprefix(BYTE_ORDER_MARK)
        too_long = self.is_too_long or len(data) > self.max_bytes
        line = Line(self.number, None if too_long else data)
        self.number += 1
        self.held.clear()
        self.is_too_long = False
        return line


class Ignored:
    """Names of fields that no row has use for, each once and in the order they came."""

    def __init__(self) -> None:
        self.names: dict[str, None] = {}

    def note(self, fields: Mapping[str, object]) -> None:
        """Note the unknown fields of a row."""
        if fields.keys() <= ALL_FIELDS:
            return
        for name in fields:
            if len(self.names) >= MAX_IGNORED:
                return
            if name not in FIELDS:
                # A name from JSON may hold what UTF-8 cannot say, and the answer is UTF-8.
                self.names[name[:MAX_FIELD_NAME].encode("utf-8", "replace").decode()] = None


class LineReader(ABC):
    """Reads an upload in some format, line by line."""

    def __init__(self, max_bytes: int) -> None:
        self.lines = LineSplitter(max_bytes)
        self.ignored_fields = Ignored()

    @property
    def ignored(self) -> tuple[str, ...]:
        """Names of the fields that no row has use for."""
        return tuple(self.ignored_fields.names)

    def feed(self, chunk: bytes) -> Iterator[Row | BadLine]:
        """Rows and bad lines that end within the chunk."""
        for line in self.lines.feed(chunk):
            yield from self.read(line)

    def end(self) -> Iterator[Row | BadLine]:
        """What is left after the last chunk."""
        for line in self.lines.end():
            yield from self.read(line)

    @abstractmethod
    def read(self, line: Line) -> Iterator[Row | BadLine]:
        """The rows and bad lines that the line completes."""


class NdjsonReader(LineReader):
    """Reads one JSON object a line: {"text": ..., "key": ..., "label": ...}."""

    def read(self, line: Line) -> Iterator[Row | BadLine]:
        """The line's row; nothing for a blank line."""
        try:
            if line.data is None:
                raise BadRow(f"the line is longer than {self.lines.max_bytes} bytes")
            if not line.data.strip():
                return
            fields = parse_json(line.data)
            row = row_of(line.number, fields)
        except BadRow as error:
            yield BadLine(line.number, str(error))
        else:
            self.ignored_fields.note(fields)
            yield row


def parse_json(data: bytes) -> dict[str, object]:
    """The JSON object in a line. Raises BadRow."""
    try:
        fields = json.loads(data.decode())
    except UnicodeDecodeError as error:
        raise BadRow(f"the line is not UTF-8 at byte {error.start + 1}") from error
    except json.JSONDecodeError as error:
        raise BadRow(f"the line is not JSON: {error.msg} at character {error.colno}") from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits; brackets in brackets
        raise BadRow("the line is JSON that cannot be read: a huge number, or too deeply nested") from error
    if not isinstance(fields, dict):
        raise BadRow("the line is JSON, but not an object")
    if len(fields) > MAX_FIELDS:
        raise BadRow(f"the object has {len(fields)} fields, more than {MAX_FIELDS}")
    return fields


def row_of(line: int, fields: Mapping[str, object]) -> Row:
    """The row that the fields of a line make. Raises BadRow.

    A blank text is kept as "", so that SQL can count the empty documents; a blank label is none, and a
    blank key is left to be given by number.
    """
    text, key, label = fields.get("text"), fields.get("key"), fields.get("label")
    if "text" not in fields:
        raise BadRow("the field `text` is missing")
    if not isinstance(text, str):
        raise BadRow("`text` is not a string")
    if isinstance(key, int) and not isinstance(key, bool):
        key = str(key)
    if key is not None and not isinstance(key, str):
        raise BadRow("`key` is neither a string nor an integer")
    if label is not None and not isinstance(label, str):
        raise BadRow("`label` is neither a string nor null")
    label = label.strip() if label else ""
    for name, value in (("text", text), ("key", key), ("label", label)):
        check_characters(name, value or "")
    if key and len(key) > MAX_KEY:
        raise BadRow(f"`key` is longer than {MAX_KEY} characters")
    if len(label) > MAX_NAME:
        raise BadRow(f"`label` is longer than {MAX_NAME} characters")
    is_blank_key = key is None or not key.strip()
    return Row(line, text if text.strip() else "", None if is_blank_key else key, label or None)


def check_characters(name: str, value: str) -> None:
    """Raise BadRow for characters that a database cannot hold."""
    if "\0" in value:
        raise BadRow(f"`{name}` contains a NUL character")
    if value.isascii():
        return
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise BadRow(f"`{name}` contains half of a surrogate pair at character {error.start + 1}") from error
