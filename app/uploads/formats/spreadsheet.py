"""XLSX: the first sheet that is not empty, or the one that the client names."""

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from itertools import islice
from math import isfinite
from typing import Any
from zipfile import ZipFile

from python_calamine import CalamineError, CalamineSheet, CalamineWorkbook, SheetVisibleEnum

from app.core.errors import MalformedRequest
from app.uploads.columns import ReadOptions, Table, choose
from app.uploads.exported import ExportedRows
from app.uploads.formats.header import header_of, quoted
from app.uploads.formats.reading import Reading
from app.uploads.formats.sheet_size import measured
from app.uploads.inflate import TemporaryFiles
from app.uploads.limits import ReadLimits
from app.uploads.rows import BadLine, BadRow, Row, RowBuilder, name_of, shown
from app.uploads.vector_values import vector_bytes

SAMPLE = 100  # rows
MAX_SHEETS = 100  # that are looked into for the first that is not empty


class SheetReading(Reading):
    """A sheet of a workbook."""

    format = "xlsx"

    def __init__(self, archive: ZipFile, options: ReadOptions, limits: ReadLimits, files: TemporaryFiles) -> None:
        """Find the sheet, its header and columns. Raises MalformedRequest, UploadTooLarge."""
        super().__init__()
        self.file = measured(archive, limits, files.new())
        self.options = options
        self.sheet_name = self.find_sheet(options.sheet)
        numbered = self.records()
        first = next(numbered, None)
        if first is None:
            raise MalformedRequest(f"the sheet {shown(self.sheet_name)} is empty")
        self.first_row, first_values = first
        cells = [cell_name(value) for value in first_values]
        self.names, self.has_header = header_of(cells, options)
        sample = [values for _, values in islice(numbered, SAMPLE)]
        remark = f" (sheet: {shown(self.sheet_name)})"
        if not self.has_header:
            sample = [first_values, *sample]
            remark = f" (sheet: {shown(self.sheet_name)}; no header; the first row is {quoted(cells)})"
        table = Table(self.names, [dict(zip(self.names, row, strict=False)) for row in sample], remark)
        self.chosen = choose(table, options, limits)
        self.columns = self.chosen.told()
        self.builder = RowBuilder(limits, options.unlabeled)

    def workbook(self) -> CalamineWorkbook:
        """The workbook. Raises MalformedRequest."""
        self.file.seek(0)
        try:
            return CalamineWorkbook.from_filelike(self.file)
        except CalamineError as error:
            raise MalformedRequest(f"the workbook cannot be read: {error}") from error

    def find_sheet(self, name: str | None) -> str:
        """The sheet to be read. Raises MalformedRequest."""
        workbook = self.workbook()
        names = workbook.sheet_names
        if name is not None:
            if name not in names:
                raise MalformedRequest(
                    f"there is no sheet {shown(name)}: the workbook has {', '.join(map(shown, names[:20]))}",
                    members={"sheets": names[:MAX_SHEETS]},
                )
            return name
        seen = [sheet.name for sheet in workbook.sheets_metadata if sheet.visible == SheetVisibleEnum.Visible]
        full = [found for found in (seen or names)[:MAX_SHEETS] if not_empty(workbook, found)]
        if not full:
            raise MalformedRequest("no sheet of the workbook has anything in it")
        if len(full) > 1:
            self.warnings.append(
                f"Only the sheet {shown(full[0])} was read; the workbook also has {', '.join(map(shown, full[1:20]))}. "
                "To read another one, name it, as in sheet=NAME."
            )
        return full[0]

    def records(self) -> Iterator[tuple[int, list[Any]]]:
        """The rows of the sheet that are not blank, each with its number."""
        sheet = sheet_of(self.workbook(), self.sheet_name)
        merged = MergedCells(sheet)
        for number, values in enumerate(sheet.iter_rows(), 1):  # from the sheet's first row, empty or not
            if any(value != "" for value in values):
                yield number, merged.filled(number, values)

    def rows(self) -> Iterator[Row | BadLine]:
        """A row for each row of the sheet that is not blank."""
        places = {name: at for at, name in enumerate(self.names)}
        text = [places[name] for name in self.chosen.text]
        label = None if self.chosen.label is None else places[self.chosen.label]
        key = None if self.chosen.key is None else places[self.chosen.key]
        vector = None if self.chosen.vector is None else places[self.chosen.vector]
        others = [(name, places[name]) for name in self.chosen.fields]
        is_exported = ExportedRows.are_needed(self.options)
        exported = ExportedRows(self.names, self.chosen, self.options, self.builder)
        for number, values in self.records():
            if self.has_header and number == self.first_row:
                continue
            try:
                found = [plain(value) for value in values]
                if is_exported:
                    yield exported.row(number, found)
                    continue
                fields = {name: found[at] for name, at in others if found[at] is not None}
                row = self.builder.row(
                    number,
                    [found[at] for at in text],
                    None if key is None else found[key],
                    None if label is None else found[label],
                    fields,
                )
                yield row if vector is None else row._replace(vector=vector_bytes(found[vector]))
            except BadRow as error:
                yield BadLine(number, str(error))


class MergedCells:
    """Cells that go over several rows: their value stands in the first of them, and is meant for each."""

    def __init__(self, sheet: CalamineSheet) -> None:
        first_column = (sheet.start or (0, 0))[1]
        self.ends = {  # of each such cell, by its first row and column, its last row; counted as the rows are
            (top + 1, left - first_column): bottom + 1
            for (top, left), (bottom, _) in sheet.merged_cell_ranges or ()
            if bottom > top
        }
        self.held: dict[int, tuple[int, Any]] = {}  # by columns: until which row, and which value

    def filled(self, number: int, values: list[Any]) -> list[Any]:
        """A row with the values of the cells that began above it."""
        if not self.ends:
            return values
        found = list(values)
        for column, value in enumerate(values):
            last, above = self.held.get(column, (0, ""))
            if (number, column) in self.ends:
                self.held[column] = self.ends[number, column], value
            elif number <= last and value == "":
                found[column] = above
        return found


def sheet_of(workbook: CalamineWorkbook, name: str) -> CalamineSheet:
    """A sheet by its name. Raises MalformedRequest."""
    try:
        return workbook.get_sheet_by_name(name)
    except CalamineError as error:
        raise MalformedRequest(f"the sheet {shown(name)} cannot be read: {error}") from error


def not_empty(workbook: CalamineWorkbook, name: str) -> bool:
    """Whether a sheet has anything in it; one that cannot be read, such as a chart, has not."""
    try:
        return workbook.get_sheet_by_name(name).start is not None
    except CalamineError:
        return False


def cell_name(value: object) -> str:
    """A cell of the header as the name of a column."""
    found = plain(value)
    return found if isinstance(found, str) else "" if found is None else str(name_of("a column's name", found))


def plain(value: object) -> Any:
    """A cell as JSON has it: dates as ISO writes them, whole numbers as such, nothing for an empty cell."""
    if isinstance(value, str):
        return value or None
    if isinstance(value, float):
        if not isfinite(value):
            return None
        return int(value) if value.is_integer() else value
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    if isinstance(value, date | datetime | time):
        return value.isoformat()
    return str(value) if isinstance(value, timedelta) else value
