"""NDJSON: an object a line."""

from collections.abc import Iterator

from app.uploads.formats.objects import Item, TextObjectsReading, object_of
from app.uploads.json_values import value_of
from app.uploads.rows import BadLine, BadRow
from app.uploads.text_lines import too_long


class NdjsonReading(TextObjectsReading):
    """A file with one JSON object a line."""

    format = "ndjson"
    what = "line"

    def items(self) -> Iterator[Item | BadLine]:
        """The object of each line; nothing for a blank one."""
        longest = self.limits.max_line_bytes
        for number, line in self.source.lines(longest):
            if line is None:
                yield BadLine(number, too_long("line", longest))
                continue
            if not line or line.isspace():
                continue
            try:
                yield number, object_of(value_of(line, "the line"), self.limits, "the line"), len(line)
            except BadRow as error:
                yield BadLine(number, str(error))
