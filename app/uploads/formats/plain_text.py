"""Plain text: a document a line."""

from collections.abc import Iterator

from app.core.errors import MalformedRequest
from app.uploads.columns import ReadOptions
from app.uploads.formats.reading import Reading
from app.uploads.limits import ReadLimits
from app.uploads.rows import BadLine, BadRow, Row, RowBuilder
from app.uploads.text_lines import Source, too_long


class PlainTextReading(Reading):
    """A file in which each line is a document; it has neither labels nor keys."""

    format = "text"

    def __init__(self, source: Source, options: ReadOptions, limits: ReadLimits) -> None:
        """Raises MalformedRequest if the client names columns."""
        super().__init__()
        named = [*options.text, *filter(None, (options.label, options.key))]
        if named:
            raise MalformedRequest(f"the file is read as plain text, a document a line: it has no column {named[0]}")
        self.source = source
        self.charset = source.charset
        self.limits = limits
        self.columns["text"] = ["text"]
        self.builder = RowBuilder(limits)
        self.warnings.append(
            "The file was read as plain text, each line a document without a label; if it has columns, name its format."
        )

    def rows(self) -> Iterator[Row | BadLine]:
        """A row for each line that is not blank."""
        longest = self.limits.max_line_bytes
        for number, line in self.source.lines(longest):
            if line is None:
                yield BadLine(number, too_long("line", longest))
            elif line.strip():
                try:
                    yield self.builder.row(number, (line,), None, None, None)
                except BadRow as error:
                    yield BadLine(number, str(error))
