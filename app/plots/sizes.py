"""The sizes of categories: one bar each, the new ones first."""

from collections.abc import Sequence
from typing import NamedTuple

from app.plots.axes import Frame, horizontal_axis, marked
from app.plots.scales import Scale, counted, is_drawable, ticks, written
from app.plots.svg import WIDTH, Plot, brief, document, element, label, px, text, title, width_of, without_numbers

COLUMNS = ["category", "known or new", "documents", "at least", "at most"]
MOST = 40  # bars
ROW, BAR = 22, 14
NAMES = 210  # width of the names


class Size(NamedTuple):
    """A category with its documents, and between which numbers they are with 90 % probability."""

    name: str
    known: bool
    documents: float
    interval: tuple[float, float] | None = None


def plot_sizes(sizes: Sequence[Size], name: str = "sizes") -> Plot:
    """Bars of the documents of categories, new ones first, each kind by falling size."""
    heading = "Documents by category"
    drawable = [sound(size) for size in sizes if is_drawable(size.documents)]
    ordered = sorted(drawable, key=lambda size: (size.known, -size.documents))
    if not ordered:
        return without_numbers(name, heading, "There is no category yet.", COLUMNS)
    drawn, rest = ordered[:MOST], ordered[MOST:]
    highest = max(max(size.documents, *(size.interval or (0,))) for size in drawn) or 1.0
    room = max(width_of(written(size.documents)) for size in drawn) + 14
    left = min(max(width_of(size.name) for size in drawn), NAMES) + 20
    frame = Frame(left, 28, WIDTH - room, 28 + ROW * len(drawn))
    x = Scale(0, highest, frame.left, frame.right)
    marks = marked(ticks(0, highest, 5, integers=True))
    parts = [*key(left), *horizontal_axis(frame, x, marks, "documents", grid=True)]
    for i, size in enumerate(drawn):
        parts += row(size, frame.top + i * ROW, x)
    parts.append(element("path", d=f"M{px(frame.left)} {px(frame.top)}V{px(frame.bottom)}", class_="p-axis"))
    parts += [text(left, frame.bottom + 54, summed(rest), "p-muted")] if rest else []
    said = described(ordered) + (f" Not drawn: {summed(rest)}." if rest else "")
    height = frame.bottom + (64 if rest else 44)
    return Plot(document(name, heading, said, height, parts), COLUMNS, [cells(size) for size in ordered])


def sound(size: Size) -> Size:
    """A size, without an interval that cannot be drawn."""
    return size if size.interval and all(map(is_drawable, size.interval)) else size._replace(interval=None)


def key(left: float) -> list[str]:
    """What the colors mean."""
    return [
        element("rect", x=left, y=6, width=12, height=12, class_="p-new"),
        text(left + 18, 16, "new", "p-text"),
        element("rect", x=left + 62, y=6, width=12, height=12, class_="p-known"),
        text(left + 80, 16, "known", "p-text"),
        element("path", d=f"M{px(left + 142)} 12h24m-24 -4v8m24 -8v8", class_="p-bracket"),
        text(left + 174, 16, "90 % interval", "p-text"),
    ]


def row(size: Size, top: float, x: Scale) -> list[str]:
    """One category: name, bar, whisker, number."""
    middle, end = top + ROW / 2, x(size.documents)
    said = title(f"{size.name}: {counted_documents(size.documents)}{interval_of(size)}")
    parts = [
        label(x.start - 8, middle + 4, size.name, x.start - 16, "p-text", "end"),
        element(
            "rect",
            said,
            x=x.start,
            y=middle - BAR / 2,
            width=end - x.start,
            height=BAR,
            class_="p-known" if size.known else "p-new",
        ),
    ]
    if size.interval and size.interval[1] > size.interval[0]:
        low, high = (x(each) for each in size.interval)
        whisker = f"M{px(low)} {px(middle - 4)}v8m0 -4H{px(high)}m0 -4v8"
        parts.append(element("path", d=whisker, class_="p-bracket"))
        end = max(end, high)
    return [*parts, text(end + 6, middle + 4, written(size.documents), "p-tick")]


def counted_documents(n: float) -> str:
    """A number of documents."""
    return counted(int(n), "document")


def interval_of(size: Size) -> str:
    """The interval of a size, to be put behind it."""
    return f", {written(size.interval[0])} to {written(size.interval[1])} with 90 %" if size.interval else ""


def cells(size: Size) -> list[str | int | float | None]:
    """A row of the table."""
    low, high = size.interval or (None, None)
    return [size.name, "known" if size.known else "new", size.documents, low, high]


def summed(rest: Sequence[Size]) -> str:
    """What is not drawn."""
    return f"{written(len(rest))} more with {counted_documents(sum(size.documents for size in rest))} together"


def described(sizes: Sequence[Size]) -> str:
    """The sizes in sentences."""
    said = []
    for known, kind in ((False, "new"), (True, "known")):
        own = [size for size in sizes if size.known == known]
        if own:
            documents = counted_documents(sum(size.documents for size in own))
            categories = counted(len(own), f"{kind} category", f"{kind} categories")
            said.append(
                f"{categories} with {documents}; the largest is {brief(own[0].name)} with {written(own[0].documents)}."
            )
    return " ".join(said)
