"""CSV and TSV: the delimiter, the header, and a row for each record."""

import re
from collections.abc import Iterator
from itertools import islice
from operator import itemgetter
from statistics import mode
from typing import NamedTuple

from app.core.errors import MalformedRequest
from app.uploads.columns import ReadOptions, Table, choose, looks_like_header
from app.uploads.exported import ExportedRows, without_apostrophe
from app.uploads.formats.header import header_of, quoted
from app.uploads.formats.reading import Reading
from app.uploads.formats.records import Record, Records
from app.uploads.limits import ReadLimits
from app.uploads.rows import BadLine, BadRow, Row, RowBuilder, shown
from app.uploads.text_lines import Source
from app.uploads.vector_values import vector_bytes

DELIMITERS = (",", ";", "\t", "|")
NAMES = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "pipe": "|", "space": " "}
SHOWN = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}
SEP_LINE = re.compile(r'"?sep=(.)"?[,;\t]*', re.IGNORECASE)  # Excel's own: which delimiter the file has
SAMPLE = 100  # records
LOOKED_AT = 2**16  # characters


class Layout(NamedTuple):
    """How a file is divided."""

    delimiter: str
    skipped_lines: int  # with the delimiter's name in them


class DelimitedReading(Reading):
    """A file of records with a delimiter between their values."""

    def __init__(self, source: Source, options: ReadOptions, limits: ReadLimits, format: str) -> None:
        """Find the delimiter, the header and the columns. Raises MalformedRequest."""
        super().__init__()
        self.format = format
        self.source = source
        self.limits = limits
        self.options = options
        self.charset = source.charset
        self.layout = layout_of(source, options, format)
        self.delimiter = self.layout.delimiter
        first, sample = self.sample()
        self.first_line, cells = first
        if options.safe:
            cells = [without_apostrophe(cell) for cell in cells]
        self.names, self.has_header = header_of(cells, options)
        if not self.has_header:
            sample = [cells, *sample]
        samples = [dict(zip(self.names, row, strict=False)) for row in sample]
        table = Table(self.names, samples, self.remark(cells))
        self.chosen = choose(table, options, limits)
        self.columns = self.chosen.told()
        self.builder = RowBuilder(limits, options.unlabeled)

    def records(self) -> Iterator[Record | BadLine]:
        """All records from the beginning."""
        return iter(Records(self.source, self.layout.delimiter, self.limits.max_line_bytes, self.layout.skipped_lines))

    def sample(self) -> tuple[Record, list[list[str]]]:
        """The first record that is not blank, and some of those after it. Raises MalformedRequest."""
        found: list[Record] = []
        for record in islice(self.records(), SAMPLE):
            if isinstance(record, BadLine):
                if not found:
                    raise MalformedRequest(f"the header cannot be read: line {record.line}: {record.reason}")
            elif any(map(str.strip, record[1])):
                found.append(record)
        if not found:
            raise MalformedRequest("the file is empty")
        return found[0], [values for _, values in found[1:]]

    def remark(self, cells: list[str]) -> str:
        """What else a refusal says of the columns."""
        name = SHOWN.get(self.layout.delimiter, self.layout.delimiter)
        if self.has_header:
            return f" (delimiter: {name})" if len(cells) > 1 else f" (no delimiter in it; {name} was assumed)"
        return f" (no header; delimiter: {name}; the first row is {quoted(cells)})"

    def rows(self) -> Iterator[Row | BadLine]:
        """A row for each record."""
        records = self.records()
        if self.has_header:
            for record in records:
                if record[0] == self.first_line:
                    break
        places = {name: at for at, name in enumerate(self.names)}
        text = [places[name] for name in self.chosen.text]
        label = None if self.chosen.label is None else places[self.chosen.label]
        key = None if self.chosen.key is None else places[self.chosen.key]
        vector = None if self.chosen.vector is None else places[self.chosen.vector]
        others = [(name, places[name]) for name in self.chosen.fields]
        pick = itemgetter(*text) if text else None
        is_exported = ExportedRows.are_needed(self.options)
        exported = ExportedRows(self.names, self.chosen, self.options, self.builder)
        width, build = len(self.names), self.builder.row
        for record in records:
            if isinstance(record, BadLine):
                yield record
                continue
            line, values = record
            if len(values) != width:
                if any(map(str.strip, values)):
                    yield BadLine(line, f"the record has {fields_in(len(values))} where the first has {width}")
                continue
            if is_exported:
                if any(map(str.strip, values)):
                    yield made(exported, line, values)
                continue
            texts = () if pick is None else (pick(values),) if len(text) == 1 else pick(values)
            if not (texts and texts[0]) and not any(map(str.strip, values)):
                continue  # Excel writes rows of nothing but delimiters
            fields, size = None, 0
            if others:
                fields = {name: value for name, at in others if (value := values[at])}
                size = sum(map(len, fields)) + sum(map(len, fields.values())) + 6 * len(fields)
            try:
                row = build(
                    line,
                    texts,
                    None if key is None else values[key],
                    None if label is None else values[label],
                    fields,
                    size,
                )
                yield row if vector is None else row._replace(vector=vector_bytes(values[vector]))
            except BadRow as error:
                yield BadLine(line, str(error))


def made(rows: ExportedRows, line: int, values: list[str]) -> Row | BadLine:
    """The row of a record that an export wrote."""
    try:
        return rows.row(line, values)
    except BadRow as error:
        return BadLine(line, str(error))


def layout_of(source: Source, options: ReadOptions, format: str) -> Layout:
    """The delimiter, and the line that names it. Raises MalformedRequest."""
    beginning = source.beginning(LOOKED_AT)
    line = SEP_LINE.fullmatch(beginning.partition("\n")[0])
    skipped = 0 if line is None else 1
    if options.delimiter is not None:
        delimiter = NAMES.get(options.delimiter.lower(), options.delimiter)
        if len(delimiter) != 1 or delimiter in '"\n\r\0':
            raise MalformedRequest(
                f"the delimiter {shown(options.delimiter)!r} is not a single character, nor one of {', '.join(NAMES)}"
            )
        return Layout(delimiter, skipped)
    if line is not None and line[1] not in '"\r\0':
        return Layout(line[1], skipped)
    return Layout(likely_delimiter(source, options, format), skipped)


def likely_delimiter(source: Source, options: ReadOptions, format: str) -> str:
    """The delimiter by which the first records have names of columns, or else equally many values."""
    if format == "tsv":
        return "\t"
    return max(DELIMITERS, key=lambda delimiter: score(source, delimiter, options))


def score(source: Source, delimiter: str, options: ReadOptions) -> tuple[bool, float, int]:
    """How well a delimiter divides the first records: known names in the header, equal widths, many values."""
    short = Source(source.file, source.charset, source.codec, source.skipped)
    records = Records(short, delimiter, LOOKED_AT)
    found = [record[1] for record in islice(records, SAMPLE) if isinstance(record[1], list)]
    rows = [row for row in found if any(map(str.strip, row))]
    if not rows or len(rows[0]) < 2:
        return False, 0.0, 0
    width = len(rows[0])
    widths = [len(row) for row in rows]
    alike = sum(n == width for n in widths) / len(rows)
    return looks_like_header(rows[0], options), alike, width if mode(widths) == width else 0


def fields_in(n: int) -> str:
    """A number of fields."""
    return "1 field" if n == 1 else f"{n} fields"
