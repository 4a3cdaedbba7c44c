"""XLSX, row by row into a file: a workbook is complete or none at all."""

import re
from typing import Any, BinaryIO

import xlsxwriter
from xlsxwriter.worksheet import Worksheet

from app.exports.cells import MAX_LINES, cell_writer
from app.exports.errors import ExportTooLarge
from app.exports.tables import Column, Table

MAX_ROWS, MAX_CELL = 1_048_576, 32_767
NOT_IN_XML = re.compile("[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\ufffe\uffff]")
ODD = re.compile("[\\x00-\\x08\\x0b-\\x1f\ufffe\uffff]|_x[0-9A-Fa-f]{4}_")


def is_plain_in_sheet(text: str) -> bool:
    """Whether an upload of a workbook reads the text as it is."""
    return bool(text) and not ODD.search(text) and text.count("\n") < MAX_LINES


def write_workbook(table: Table, file: BinaryIO, folder: str) -> None:
    """Write the table as the one sheet of a workbook. Raises ExportTooLarge.

    Rows go into a file in the folder, none stays in memory.
    """
    options = {"constant_memory": True, "tmpdir": folder, "strings_to_urls": False, "strings_to_formulas": False}
    with xlsxwriter.Workbook(file, options) as book:
        sheet = book.add_worksheet(table.name.partition("-")[0])
        write_rows(table, sheet)


def write_rows(table: Table, sheet: Worksheet) -> None:
    """Write the header and all rows. Raises ExportTooLarge."""
    for at, column in enumerate(table.columns):
        write_text(sheet, 0, at, column.name, column.name)
    writers = [CellWriter(column) for column in table.columns]
    n = 0
    for lot in table.lots():
        for row in lot:
            n += 1
            if n >= MAX_ROWS:
                raise ExportTooLarge(f"a sheet has at most {MAX_ROWS} rows, with the header; choose format=csv")
            for at, value in enumerate(row):
                if value is not None:
                    writers[at].write(sheet, n, at, value)


class CellWriter:
    """Writes the values of one column."""

    def __init__(self, column: Column) -> None:
        self.column = column
        self.to_cell = cell_writer(column, is_plain_in_sheet)

    def write(self, sheet: Worksheet, row: int, at: int, value: Any) -> None:
        """Write a value that is not None. Raises ExportTooLarge."""
        if isinstance(value, bool):
            sheet.write_boolean(row, at, value)
        elif isinstance(value, int | float) and (not self.column.is_field or is_exact(value)):
            sheet.write_number(row, at, value)
        else:
            write_text(sheet, row, at, self.to_cell(value)[0], self.column.name)


def is_exact(value: float) -> bool:
    """Whether a sheet keeps all digits of a number: it has sixteen."""
    return float(f"{value:.16G}") == value if abs(value) <= 2**1000 else False


def write_text(sheet: Worksheet, row: int, at: int, text: str, column: str) -> None:
    """Write a text, never as a formula. Raises ExportTooLarge."""
    if len(text) + (0 if text.isascii() else sum(letter > "\uffff" for letter in text)) > MAX_CELL:
        raise ExportTooLarge(
            f"{column} of row {row + 1} is longer than the {MAX_CELL} characters of a cell; choose format=csv"
        )
    if text:
        sheet.write_string(row, at, NOT_IN_XML.sub("\ufffd", text))
