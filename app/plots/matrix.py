"""The matrix of gold labels against the categories that a job found."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from app.plots.heat import Head, Shade, heat_table
from app.plots.scales import counted, is_drawable, percent, written
from app.plots.svg import Cell, Plot, brief, document, without_numbers

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


Strip = TypeVar("Strip", Row, Column)


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
    rows = smallest_last(sorted(totals, key=lambda row: (row.is_new, -totals[row], row.label)), totals)
    of_column: Counter[Column] = Counter()
    for (_, column), n in cells.items():
        of_column[column] += n
    columns = smallest_last(in_order(of_column, rows, cells), of_column)
    row_of, column_of = drawn_at(rows), drawn_at(columns)
    shown: Counter[tuple[int, int]] = Counter()
    of_row: Counter[int] = Counter()
    for (row, column), n in cells.items():
        shown[row_of[row], column_of[column]] += n
        of_row[row_of[row]] += n
    row_heads = heads([(row.label, row.is_new) for row in rows], "labels")
    column_heads = heads([(column.name, column.is_new) for column in columns], "categories")
    shades = {
        (i, j): Shade(n / of_row[i], written(n), tip(row_heads[i].name, column_heads[j].name, n, n / of_row[i]))
        for (i, j), n in shown.items()
    }
    parts, height = heat_table(row_heads, column_heads, shades, "gold label", "category")
    table: list[list[Cell]] = [
        [row.label, column.name, n, n / totals[row]]
        for (row, column), n in sorted(cells.items(), key=lambda each: (row_of[each[0][0]], each[0][0], -each[1]))
    ]
    said = described(rows, columns, sum(totals.values()))
    return Plot(document(name, heading, said, height, parts), COLUMNS, table)


def tip(label: str, category: str, n: int, share: float) -> str:
    """What is said of a cell under the pointer."""
    return f"{brief(label)} → {brief(category)}: {written(n)}, {percent(share)} of the label"


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


def smallest_last(ordered: Sequence[Strip], totals: Mapping[Strip, int]) -> list[Strip]:
    """The order, but for those at the end that are too many to be drawn, which are the smallest."""
    largest = sorted(range(len(ordered)), key=lambda i: (-totals[ordered[i]], i))
    n_kept = len(ordered) if len(ordered) <= MOST else MOST - 1
    return [ordered[i] for i in sorted(largest[:n_kept]) + sorted(largest[n_kept:])]


def drawn_at(ordered: Sequence[Strip]) -> dict[Strip, int]:
    """Where each row or column is drawn; those beyond the last share its place."""
    return {line: i if len(ordered) <= MOST else min(i, MOST - 1) for i, line in enumerate(ordered)}


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
