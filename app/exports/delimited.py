"""CSV as RFC 4180 has it."""

import csv
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from app.exports.cells import IsPlain, cell_writer, is_plain_in_csv, safe
from app.exports.tables import Column, Table


@dataclass(frozen=True)
class CsvOptions:
    """How a client wants its CSV."""

    delimiter: str = ","
    is_safe: bool = True  # for spreadsheets: no text is taken for a formula
    has_mark: bool = False  # a byte order mark, by which Excel knows UTF-8


def csv_pieces(table: Table, options: CsvOptions) -> Iterator[bytes]:
    """The file, piece by piece."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=options.delimiter, lineterminator="\r\n")
    to_cells = [cell_of(column, options.is_safe) for column in table.columns]

    def piece() -> bytes:
        data = out.getvalue().encode()
        out.seek(0)
        out.truncate()
        return data

    if options.has_mark:
        out.write("\ufeff")
    writer.writerow([safe(column.name) if options.is_safe else column.name for column in table.columns])
    for lot in table.lots():
        for row in lot:
            writer.writerow([
                "" if value is None else to_cell(value) for value, to_cell in zip(row, to_cells, strict=True)
            ])  # fmt: skip
        yield piece()
    if out.tell():
        yield piece()


def cell_of(column: Column, is_safe: bool) -> Callable[[Any], str]:
    """A function that writes a value as a cell. No number of ours gets an apostrophe, nor what is written as JSON."""
    is_plain: IsPlain = is_plain_in_csv
    write = cell_writer(column, is_plain)
    if not is_safe:
        return lambda value: write(value)[0]

    def cell(value: Any) -> str:
        text, is_of_client = write(value)
        return safe(text) if is_of_client else text

    return cell
