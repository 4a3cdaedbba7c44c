"""What formats do to values: which texts and names stand in a table as they are, and what an upload has to be told."""

from dataclasses import dataclass

from app.exports.cells import IsPlain, any_text, is_plain_in_csv
from app.exports.fields import any_name, is_name_in_cell
from app.exports.tables import Kind
from app.exports.workbook import is_plain_in_sheet


@dataclass(frozen=True)
class Shape:
    """One format's way with values."""

    is_plain: IsPlain = any_text
    is_name: IsPlain = any_name
    marked: tuple[Kind, ...] = ()  # kinds of fields that an upload reads back only if it is told that they are JSON
    has_cells: bool = False  # in which texts, keys and labels may be written as JSON


SHEET_KINDS: tuple[Kind, ...] = ("integer", "number", "boolean", "json")
OBJECTS = Shape()
PARQUET = Shape(marked=("json",))
CSV = Shape(is_plain_in_csv, is_name_in_cell, SHEET_KINDS, has_cells=True)
XLSX = Shape(is_plain_in_sheet, is_name_in_cell, SHEET_KINDS, has_cells=True)
