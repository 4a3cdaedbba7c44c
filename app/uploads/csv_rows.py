"""CSV to rows: each record becomes a row, or the reason why not."""

import csv
import io
from collections.abc import Iterator

from app.core.errors import MalformedRequest
from app.uploads.rows import FIELDS, MAX_FIELDS, BadLine, BadRow, Line, LineReader, Row, row_of

# The csv module refuses fields above 128 KiB unless told otherwise; lines are bounded here already.
csv.field_size_limit(2**31 - 1)


class CsvReader(LineReader):
    """Reads CSV with a header; a record may go over several lines within quotes."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__(max_bytes)
        self.header: list[str] | None = None
        self.columns: dict[str, int] = {}  # where a record has its fields
        self.record = bytearray()  # lines of a record whose quotes are open, with LF in between
        self.first = 0  # the number of the first of them

    def end(self) -> Iterator[Row | BadLine]:
        """What is left after the last chunk. Raises MalformedRequest for a bad header."""
        yield from super().end()
        if self.record:
            yield from self.give_up("a quote that opens here is never closed")

    def read(self, line: Line) -> Iterator[Row | BadLine]:
        """The rows that the line completes. Raises MalformedRequest for a bad header."""
        if line.data is None:
            reason = f"the line is longer than {self.lines.max_bytes} bytes"
            if self.record:
                yield from self.give_up("a quote that opens here is not closed before a line that is too long")
            if self.header is None:
                raise MalformedRequest(f"the header cannot be read: {reason}")
            yield BadLine(line.number, reason)
            return
        if not self.record and not line.data.strip():
            return
        was_open = bool(self.record)
        if was_open:
            self.record += b"\n"
        else:
            self.first = line.number
        self.record += line.data
        if len(self.record) > self.lines.max_bytes:
            yield from self.give_up(f"a quote that opens here is not closed within {self.lines.max_bytes} bytes")
        elif not ends_in_quotes(line.data, was_open):
            yield from self.parse(self.first, self.taken())

    def taken(self) -> bytes:
        """The lines of the record, which is over."""
        data = bytes(self.record)
        self.record.clear()
        return data

    def give_up(self, reason: str) -> Iterator[Row | BadLine]:
        """Report the open record's first line, and read again from the line after it.

        These lines are read each on its own, so that however many open a quote, each is read twice at most.
        """
        lines = io.BytesIO(self.taken())
        if self.header is None:
            raise MalformedRequest(f"the header cannot be read: {reason}")
        next(lines)
        yield BadLine(self.first, reason)
        for number, line in enumerate(lines, self.first + 1):
            data = line.removesuffix(b"\n")
            if data.strip():
                if ends_in_quotes(data, is_open=False):
                    yield BadLine(number, reason)
                else:
                    yield from self.parse(number, data)

    def parse(self, number: int, data: bytes) -> Iterator[Row | BadLine]:
        """The row of a complete record; the first record is the header."""
        try:
            values = parse_csv(data)
            if self.header is None:
                self.header = header_of(values)
                self.columns = {name: self.header.index(name) for name in FIELDS if name in self.header}
                self.ignored_fields.note(dict.fromkeys(self.header))
                return
            if len(values) != len(self.header):
                raise BadRow(f"the record has {len(values)} fields where the header has {len(self.header)}")
            row = row_of(number, {name: values[at] for name, at in self.columns.items()})
        except BadRow as error:
            if self.header is None:
                raise MalformedRequest(f"the header cannot be read: {error}") from error
            yield BadLine(number, str(error))
        else:
            yield row


def ends_in_quotes(line: bytes, is_open: bool) -> bool:
    """Whether a quoted field is open at the end of a line; `is_open` says so of its beginning.

    A quote opens only at the beginning of a field; within quotes two of them stand for one.
    """
    if not is_open and not line.startswith(b'"'):
        at = line.find(b',"')
        if at < 0:
            return False
        at += 2
    else:
        at = 0 if is_open else 1
    while True:
        at = line.find(b'"', at)
        if at < 0:
            return True
        if line[at + 1 : at + 2] == b'"':
            at += 2
            continue
        at = line.find(b',"', at + 1)
        if at < 0:
            return False
        at += 2


def parse_csv(data: bytes) -> list[str]:
    """The fields of one record. Raises BadRow."""
    try:
        text = data.decode()
        # Lines end with LF alone here: other separators of Unicode are characters like any other.
        [values] = csv.reader(io.StringIO(text, newline="\n"))
    except UnicodeDecodeError as error:
        raise BadRow(f"the record is not UTF-8 at byte {error.start + 1}") from error
    except (csv.Error, ValueError) as error:
        raise BadRow(f"the record is not CSV: {error}") from error
    return values


def header_of(names: list[str]) -> list[str]:
    """The columns that a header names. Raises BadRow."""
    if len(names) > MAX_FIELDS:
        raise BadRow(f"it names {len(names)} columns, more than {MAX_FIELDS}")
    names = [name.strip() for name in names]
    if "text" not in names:
        raise BadRow("it has no column `text`")
    for name in FIELDS:
        if names.count(name) > 1:
            raise BadRow(f"it has more than one column `{name}`")
    return names
