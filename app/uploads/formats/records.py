"""Records of delimited text, each with the line that it begins on; a quote that stays open costs one line."""

import csv
from collections.abc import Iterator

from app.uploads.rows import BadLine
from app.uploads.text_lines import Source, too_long

# The csv module refuses fields above 128 KiB unless told otherwise; records are bounded here already.
csv.field_size_limit(2**31 - 1)

MAX_RECORD_LINES = 50_000

NEVER_CLOSED = "a quote that opens here is never closed"

Record = tuple[int, list[str]]


class RecordTooLong(Exception):
    """A record, or a line of it, is longer than the limit."""


class Records:
    """Reads the records of a text, many at once; those that cannot be read are bad lines."""

    def __init__(self, source: Source, delimiter: str, longest: int, skipped_lines: int = 0) -> None:
        self.lines = source.lines(longest)
        self.delimiter = delimiter
        self.longest = longest
        self.number = skipped_lines  # of the last line that was read
        self.held: list[str] = []  # lines of the record that is being read
        self.size = 0
        self.is_over = False
        for _ in range(skipped_lines):
            next(self.lines, None)

    def feed(self) -> Iterator[str]:
        """The lines, held until their record is complete."""
        for number, line in self.lines:
            self.number = number
            if line is None:
                raise RecordTooLong(too_long("line", self.longest))
            self.held.append(line + "\n")
            self.size += len(line)
            if self.size > self.longest or len(self.held) > MAX_RECORD_LINES:
                raise RecordTooLong
            yield self.held[-1]
        self.is_over = True

    def __iter__(self) -> Iterator[Record | BadLine]:
        """The records in turn; none for a line without anything in it."""
        held = self.held
        while not self.is_over:
            try:
                for values in csv.reader(self.feed(), delimiter=self.delimiter, strict=True):
                    first = self.number - len(held) + 1
                    held.clear()
                    self.size = 0
                    if values:
                        yield first, values
            except RecordTooLong as error:
                yield from self.after_a_long_one(str(error))
            except csv.Error as error:
                yield from self.give_up(NEVER_CLOSED if self.is_over else not_csv(error))

    def after_a_long_one(self, reason: str) -> Iterator[Record | BadLine]:
        """What is left of a record that was too long; `reason` is why not, if a single line was."""
        long_line = self.number
        if not reason:
            yield from self.give_up(
                f"a quote that opens here is not closed within {self.longest} bytes (NEWFOUND_MAX_LINE_BYTES) and "
                f"{MAX_RECORD_LINES} lines"
            )
            return
        self.number -= 1
        if self.held:
            yield from self.give_up("a quote that opens here is not closed before a line that is too long")
        self.number = long_line
        yield BadLine(long_line, reason)

    def give_up(self, reason: str) -> Iterator[Record | BadLine]:
        """Report the open record's first line, and read again from the line after it.

        These lines are read each on its own, so that however many open a quote, each is read twice at most.
        """
        lines = self.held[:]
        first = self.number - len(lines) + 1
        self.held.clear()
        self.size = 0
        yield BadLine(first, reason)
        for number, line in enumerate(lines[1:], first + 1):
            reader = csv.reader([line, "\n"], delimiter=self.delimiter, strict=True)
            try:
                values = next(reader)
            except csv.Error as error:  # or a quote that it opens took the next line in
                yield BadLine(number, reason if reader.line_num > 1 else not_csv(error))
                continue
            if values:
                yield number, values


def not_csv(error: csv.Error) -> str:
    """Why a record cannot be read; of what stands behind a closing quote nobody knows what it means."""
    if "expected after" in str(error):
        return "there is text behind a closing quote: within quotes, a quote is written twice, not after a backslash"
    return f"the record is not CSV: {error}"
