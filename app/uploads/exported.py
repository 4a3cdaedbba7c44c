"""Cells as our own exports write them: JSON in some columns, and an apostrophe before what looks like a formula."""

import re
from collections.abc import Sequence
from typing import Any

from app.uploads.columns import Columns, ReadOptions
from app.uploads.json_values import DECODER
from app.uploads.rows import BadRow, Row, RowBuilder, shown
from app.uploads.vector_values import vector_bytes

# An apostrophe stands before these, and before apostrophes that stand before them: see app.exports.cells.
ESCAPED = re.compile("'+[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")


def without_apostrophe(cell: Any) -> Any:
    """The cell as it was before it was made safe for spreadsheets."""
    return cell[1:] if isinstance(cell, str) and ESCAPED.match(cell) else cell


def decoded(cell: Any) -> Any:
    """The JSON in a cell, or the cell as it is if it is not JSON."""
    if not isinstance(cell, str):
        return cell
    try:
        return DECODER.decode(cell)
    except (ValueError, RecursionError):
        return cell


def decoded_string(cell: Any) -> Any:
    """The JSON string in a cell, or the cell as it is if it is anything else."""
    if isinstance(cell, str) and cell.startswith('"'):
        found = decoded(cell)
        return found if isinstance(found, str) else cell
    return cell


def object_in(name: str, cell: Any) -> dict[str, Any] | None:
    """The object in a cell; None for an empty one. Raises BadRow."""
    found = decoded(cell) if cell != "" else None
    if found is not None and not isinstance(found, dict):
        raise BadRow(f"`{shown(name)}` is not an object of JSON")
    return found


class ExportedRows:
    """Makes rows of a table whose cells an export wrote."""

    def __init__(self, names: Sequence[str], columns: Columns, options: ReadOptions, builder: RowBuilder) -> None:
        self.columns = columns
        self.builder = builder
        self.is_safe = bool(options.safe)
        self.places = {name: at for at, name in enumerate(names)}
        self.json = frozenset(options.json_column)

    @staticmethod
    def are_needed(options: ReadOptions) -> bool:
        """Whether the client said that there is anything that no other table has."""
        return bool(options.safe or options.json_column or options.counts or options.fields)

    def row(self, line: int, cells: Sequence[Any]) -> Row:
        """The row of a record. Raises BadRow."""
        columns = self.columns
        texts = [self.named(name, cells) for name in columns.text]
        key, label = (None if name is None else self.named(name, cells) for name in (columns.key, columns.label))
        counts, members = (
            None if name is None else object_in(name, self.cell(name, cells))
            for name in (columns.counts, columns.members)
        )
        fields = {name: value for name in columns.fields if (value := self.field(name, cells)) is not None}
        fields |= {name: value for name, value in (members or {}).items() if value is not None}
        vector = None if columns.vector is None else vector_bytes(self.cell(columns.vector, cells))
        if counts is None:
            return self.builder.row(line, texts or [None], key, label, fields)._replace(vector=vector)
        if any(text not in (None, "") for text in texts):
            raise BadRow("the row has both a text and a bag of words")
        return self.builder.row_of_counts(line, counts, key, label, fields)._replace(vector=vector)

    def cell(self, name: str, cells: Sequence[Any]) -> Any:
        """A cell without its apostrophe."""
        value = cells[self.places[name]]
        return without_apostrophe(value) if self.is_safe else value

    def named(self, name: str, cells: Sequence[Any]) -> Any:
        """A text, key or label."""
        value = self.cell(name, cells)
        return decoded_string(value) if name in self.json else value

    def field(self, name: str, cells: Sequence[Any]) -> Any:
        """The value of a field; None if the document has none."""
        value = cells[self.places[name]]
        if value == "":
            return None
        found = decoded(value) if name in self.json else value
        return without_apostrophe(value) if self.is_safe and found is value else found


class ExportedObjects:
    """Makes an object of one in which columns are JSON in texts, and others are members of an object in it."""

    def __init__(self, options: ReadOptions) -> None:
        self.members = options.fields
        self.counts = options.counts
        named = {*options.text, options.label, options.key}
        self.json = [(name, decoded_string if name in named else decoded) for name in options.json_column]
        self.is_needed = bool(options.fields or options.counts or options.json_column)

    def restored(self, fields: dict[str, Any]) -> dict[str, Any]:
        """The object as its columns are. Raises BadRow."""
        if not self.is_needed:
            return fields
        found = dict(fields)
        for name, decode in self.json:
            if name in found:
                found[name] = decode(found[name])
        if self.counts in found:
            found[self.counts] = object_in(self.counts, found[self.counts])
        if self.members in found:
            found |= object_in(self.members, found.pop(self.members)) or {}
        return found
