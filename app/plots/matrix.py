"""The matrix of gold labels against the categories that a job found."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from app.plots.heat import Head, Shade, heat_table
from app.plots.scales import counted, is_drawable, percent, written
from app.plots.svg import Cell, Plot, document, without_numbers

COLUMNS = ["label", "category", "documents", "share of the label"]
MOST = 40  # rows, and columns; what is beyond is summed in the last one


class Count(NamedTuple):
    """How many documents with a gold label were given a category."""

    label: str
    label_known: bool
    category: int
    name: str
    known: bool
    documents: int


class Row(NamedTuple):
    """A gold label, known ones first."""

    is_new: bool
    label: str


class Column(NamedTuple):
    """A category, known ones first."""

    is_new: bool
    category: int
    name: str


def plot_matrix(counts: Sequence[Count], name: str = "matrix") -> Plot:
    """Gold labels by row, categories by column; a cell is as dark as its share of the row."""
    heading = "Gold labels and the categories that were found"
    present = [count for count in counts if is_drawable(count.documents) and count.documents > 0]
    if not present:
        return without_numbers(name, heading, "No document has both a gold label and a category.", COLUMNS)
    cells: Counter[tuple[Row, Column]] = Counter()
    for each in present:
        row = Row(not each.label_known, each.label)
        cells[row, Column(not each.known, each.category, each.name)] += each.documents
    totals: Counter[Row] = Counter()
    for (row, _), n in cells.items():
        totals[row] += n
    rows = sorted(totals, key=lambda row: (row.is_new, -totals[row], row.label))
    columns = in_order({column for _, column in cells}, rows, cells)
    row_of, column_of = (dict(at(each)) for each in (rows, columns))
    shown: Counter[tuple[int, int]] = Counter()
    of_row: Counter[int] = Counter()
    for (row, column), n in cells.items():
        shown[row_of[row], column_of[column]] += n
        of_row[row_of[row]] += n
    row_heads, column_heads = (
        heads([(row.label, row.is_new) for row in rows], "labels"),
        heads([(column.name, column.is_new) for column in columns], "categories"),
    )
    shades = {
        (i, j): Shade(n / of_row[i], written(n), f"{row_heads[i].name} → {column_heads[j].name}: {written(n)}, "
                      f"{percent(n / of_row[i])} of the label")
        for (i, j), n in shown.items()
    }  # fmt: skip
    parts, height = heat_table(row_heads, column_heads, shades, "gold label", "category")
    table: list[list[Cell]] = [
        [row.label, column.name, n, n / totals[row]]
        for (row, column), n in sorted(cells.items(), key=lambda each: (rows.index(each[0][0]), -each[1]))
    ]
    said = described(rows, columns, sum(totals.values()))
    return Plot(document(name, heading, said, height, parts), COLUMNS, table)


def in_order(columns: Iterable[Column], rows: Sequence[Row], cells: Counter[tuple[Row, Column]]) -> list[Column]:
    """The columns so that agreement lies on the diagonal.

    A known category stands where the label of its name does; a new one by the label that most of its documents have.
    """
    named = {row.label: i for i, row in enumerate(rows) if not row.is_new}

    def place(column: Column) -> tuple[bool, int, int, int]:
        own = [(cells[row, column], -i) for i, row in enumerate(rows)]
        n, best = max(own)
        at = -best if column.is_new else named.get(column.name, len(rows))
        return column.is_new, at, -n, column.category

    return sorted(columns, key=place)


def at(ordered: Sequence[Row | Column]) -> Iterable[tuple[Row | Column, int]]:
    """The place of each row or column; those beyond the last share its place."""
    last = MOST - 1
    return ((each, i if len(ordered) <= MOST else min(i, last)) for i, each in enumerate(ordered))


def heads(named: Sequence[tuple[str, bool]], what: str) -> list[Head]:
    """Names of rows or columns, new ones in the color of the new."""
    found = [Head(name, "p-text p-newname" if is_new else "p-text") for name, is_new in named]
    if len(found) <= MOST:
        return found
    return [*found[: MOST - 1], Head(f"{len(found) - MOST + 1} more {what}", "p-muted")]


def described(rows: Sequence[Row], columns: Sequence[Column], n: int) -> str:
    """The matrix in sentences."""
    labels, categories = counted(len(rows), "gold label"), counted(len(columns), "category", "categories")
    more = [
        f"{len(each) - MOST + 1} {what} are summed in the last {line}."
        for each, what, line in ((rows, "labels", "row"), (columns, "categories", "column"))
        if len(each) > MOST
    ]
    said = (
        f"{counted(n, 'document')}: {labels} by row, {categories} by column; the darker, the larger a share of the row."
    )
    return " ".join([said, *more])
