"""A table of shaded cells: what the matrix of labels and that of topics have in common."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from app.plots.axes import TICK
from app.plots.svg import WIDTH, element, label, px, text, title, width_of

SHADES = 10  # classes p-h0 ... p-h9 of plots.css
FIRST_DARK = 6  # from this shade on numbers are written in the color of the background
NAMES, HEADS = 190, 140  # at most this wide and this high
SLANT = 0.72  # of the length of a slanted head: how far it reaches to the side, and upwards
NARROWEST_SLANTED = 24  # columns; heads of narrower ones stand upright
MANY = 400  # cells
NARROWEST_NUMBERED = 18  # columns; in narrower ones only small numbers would be told
WIDEST, TALLEST, FLATTEST = 56, 24, 16


class Head(NamedTuple):
    """The name of a row or a column, and its class."""

    name: str
    class_: str = "p-text"


class Shade(NamedTuple):
    """A cell: how dark it is from 0 to 1, its number, and what is said of it."""

    value: float
    number: str
    said: str


def heat_table(
    rows: Sequence[Head], columns: Sequence[Head], cells: Mapping[tuple[int, int], Shade], side: str, top: str
) -> tuple[list[str], float]:
    """The table below `top` and to the right of `side`, what rows and columns are, and its height."""
    left = min(max(*(width_of(row.name) for row in rows), width_of(side)), NAMES) + 14
    longest = min(max(width_of(column.name) for column in columns), HEADS)
    aslant = longest * SLANT
    slanted = (WIDTH - left - aslant) / len(columns) >= NARROWEST_SLANTED
    width = min((WIDTH - left - (aslant if slanted else 12)) / len(columns), WIDEST)
    height = min(max(width, FLATTEST), TALLEST)
    first = 36 + (aslant if slanted else longest)
    parts = [text(left, 14, f"{top} →", "p-muted"), text(left - 8, first - 8, f"{side} ↓", "p-muted", "end")]
    for j, column in enumerate(columns):
        x, y = left + (j + 0.5) * width + (0 if slanted else 4), first - 6
        turn = f"rotate({-45 if slanted else -90} {px(x)} {px(y)})"
        parts.append(label(x, y, column.name, longest, column.class_, transform=turn))
    for i, row in enumerate(rows):
        parts.append(label(left - 8, first + (i + 0.5) * height + 4, row.name, left - 14, row.class_, "end"))
    frame = element("rect", x=left, y=first, width=width * len(columns), height=height * len(rows), class_="p-frame")
    parts.append(frame)
    pale = ""  # of a large table: cells that a title each would make ten times as heavy
    for (i, j), cell in sorted(cells.items()):
        x, y = left + j * width, first + i * height
        if len(cells) > MANY and shade_of(cell) == 0:
            pale += f"M{px(x + 0.5)} {px(y + 0.5)}h{px(width - 1)}v{px(height - 1)}h-{px(width - 1)}z"
            parts += number(cell, x, y, width, height)
        else:
            parts += shaded(cell, x, y, width, height)
    parts += [element("path", d=pale, class_="p-h0")] if pale else []
    return parts, first + height * len(rows) + 10


def shade_of(cell: Shade) -> int:
    """Which of the shades a cell has."""
    return min(int(max(cell.value, 0.0) * SHADES), SHADES - 1)


def shaded(cell: Shade, x: float, y: float, width: float, height: float) -> list[str]:
    """A cell, with its number if that fits."""
    class_ = f"p-h{shade_of(cell)}"
    area = element("rect", title(cell.said), x=x + 0.5, y=y + 0.5, width=width - 1, height=height - 1, class_=class_)
    return [area, *number(cell, x, y, width, height)]


def number(cell: Shade, x: float, y: float, width: float, height: float) -> list[str]:
    """The number of a cell, if it fits, in a color that can be read on its shade."""
    if width < NARROWEST_NUMBERED or width_of(cell.number) * TICK > width:
        return []
    class_ = "p-tick p-on" if shade_of(cell) >= FIRST_DARK else "p-tick p-off"
    return [text(x + width / 2, y + height / 2 + 4, cell.number, class_, "middle")]
