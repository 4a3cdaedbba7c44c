"""The trace: how a number moved from sweep to sweep, one line a chain, on one axis of sweeps."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from app.plots.axes import Frame, gutter, horizontal_axis, legend, line_style, marked, vertical_axis
from app.plots.scales import Scale, counted, finite, is_drawable, spread, ticks, whole, written
from app.plots.svg import WIDTH, Cell, Plot, brief, document, element, label, px, title, without_numbers
from app.plots.thinning import Points, thinned

COLUMNS = ["quantity", "chain", "sweep", "value"]
TALL, SMALL, BETWEEN = 220, 96, 28  # heights of the first panel and of the others, and the room above each
MOST_POINTS = 600  # of a line
MOST_TOGETHER = 4800  # of all lines, so that the plot stays small with many of them
LEAST_BUCKETS = 10
STUB = 4.0  # length of a line's last step, so that a single sweep can be seen, too


class Line(NamedTuple):
    """One chain's values of a quantity; sweeps rise."""

    chain: int
    sweeps: Sequence[int]
    values: Sequence[float | None]


class Quantity(NamedTuple):
    """Something that each sweep has a value of."""

    name: str
    lines: Sequence[Line]


class Panel(NamedTuple):
    """A quantity as it is drawn."""

    name: str
    lines: list[tuple[int, Points]]  # chain, and its points
    low: float
    high: float
    marks: list[tuple[float, str]]
    is_thinned: bool


def plot_trace(quantities: Sequence[Quantity], burn_in: int = 0, last_sweep: int = 0, name: str = "trace") -> Plot:
    """The quantities by sweep, the first one large; `last_sweep` leaves room for the sweeps to come."""
    drawn = [quantity for quantity in quantities if any(finite(line.values) for line in quantity.lines)]
    heading = f"{brief(drawn[0].name)} by sweep" if drawn else "Trace"
    if not drawn:
        return without_numbers(name, heading, "No sweep has been made yet.", COLUMNS)
    n_lines = sum(len(quantity.lines) for quantity in drawn)
    n_buckets = max(min(MOST_POINTS, MOST_TOGETHER // n_lines) // 2, LEAST_BUCKETS)
    panels = [panel_of(quantity, n_buckets) for quantity in drawn]
    sweeps = [sweep for quantity in drawn for line in quantity.lines for sweep in line.sweeps]
    first, last = min(sweeps), max(max(sweeps), last_sweep)
    chains = sorted({line.chain for quantity in drawn for line in quantity.lines})
    styles = {chain: line_style(i) for i, chain in enumerate(chains)}

    left = max(gutter([mark for _, mark in panel.marks]) for panel in panels)
    x = Scale(first, max(last, first + 1), left, WIDTH - 12)
    parts, y = key(styles, burn_in, left)
    for panel in panels:
        top = y + BETWEEN
        frame = Frame(left, top, x.end, top + (TALL if panel is panels[0] else SMALL))
        parts += drawing(panel, frame, x, styles, burn_in)
        y = frame.bottom
    parts += horizontal_axis(frame, x, marked(ticks(first, x.high, 6, integers=True)), "sweep")
    rows: list[list[Cell]] = [
        [panel.name, chain, sweep, value]
        for panel in panels
        for chain, points in panel.lines
        for sweep, value in points
    ]
    return Plot(document(name, heading, described(drawn, chains, burn_in, last), y + 44, parts), COLUMNS, rows)


def panel_of(quantity: Quantity, n_buckets: int) -> Panel:
    """A quantity thinned, with the range over all its lines, and ticks."""
    lines = [(line.chain, thinned(points_of(line), n_buckets)) for line in quantity.lines]
    values = finite(value for _, points in lines for _, value in points)
    integers = whole(values)
    low, high = spread(values, integers)
    is_thinned = any(len(line.sweeps) > len(points) for line, (_, points) in zip(quantity.lines, lines, strict=True))
    return Panel(quantity.name, lines, low, high, marked(ticks(low, high, 4, integers)), is_thinned)


def drawing(panel: Panel, frame: Frame, x: Scale, styles: Mapping[int, str], burn_in: int) -> list[str]:
    """One panel: its name, the shade of the burn-in, grid lines, and the lines; thinner ones where they are dense."""
    y = Scale(panel.low, panel.high, frame.bottom - 4, frame.top + 4)
    dense = " p-dense" if panel.is_thinned else ""
    lines = [
        element("path", title(f"{panel.name}, chain {chain}"), d=d, class_=styles[chain] + dense)
        for chain, points in panel.lines
        if (d := stepped(points, x, y))
    ]
    base = element("path", d=f"M{px(frame.left)} {px(frame.bottom)}H{px(frame.right)}", class_="p-axis")
    heading = label(frame.left, frame.top - 10, panel.name, (frame.right - frame.left) * 0.9, "p-text p-strong")
    return [heading, *shaded(frame, x, burn_in), *vertical_axis(frame, y, panel.marks), *lines, base]


def points_of(line: Line) -> Points:
    """The points of a line; what cannot be drawn breaks it."""
    values = (value if is_drawable(value) else None for value in line.values)
    return list(zip(line.sweeps, values, strict=True))


def stepped(points: Points, x: Scale, y: Scale) -> str:
    """The path of a line that keeps each value until the next sweep; broken where a value is missing.

    Moves are from point to point, which takes half the bytes; they are between rounded places, so no error grows.
    """
    places = [(round(x(sweep), 1), None if value is None else round(y(value), 1)) for sweep, value in points]
    path, level = "", None
    run = 0.0  # how far the line goes on at its level
    for (here, up), (there, _) in pairwise([*places, *places[-1:]]):
        if up is None:
            path += f"h{px(run)}" if run else ""
            level, run = None, 0.0
            continue
        if level is None:
            path += f"M{px(here)} {px(up)}"
        elif up != level:
            path += f"h{px(run)}v{px(up - level)}"
            run = 0.0
        level, run = up, run + there - here
    return path + (f"h{px(max(run, STUB))}" if level is not None else "")


def shaded(frame: Frame, x: Scale, burn_in: int) -> list[str]:
    """The sweeps that are not kept."""
    end = x(min(burn_in, x.high))
    if end <= frame.left:
        return []
    height = frame.bottom - frame.top
    return [element("rect", x=frame.left, y=frame.top, width=end - frame.left, height=height, class_="p-shade")]


def key(styles: Mapping[int, str], burn_in: int, left: float) -> tuple[list[str], float]:
    """What the lines and the shade mean, and where the first panel may begin."""
    end = WIDTH - 140 if burn_in > 0 else WIDTH - 12
    parts, y = legend([f"chain {chain}" for chain in styles], list(styles.values()), left, end, 4)
    if burn_in > 0:
        said = f"burn-in: {written(burn_in)}"
        parts.append(element("rect", x=end + 16, y=5, width=14, height=14, class_="p-shade p-edge"))
        parts.append(label(end + 36, 16, said, WIDTH - end - 40, "p-text"))
    return parts, y


def described(quantities: Sequence[Quantity], chains: Sequence[int], burn_in: int, last: int) -> str:
    """The trace in sentences: where each quantity came from, and where it is."""
    said = [f"{counted(len(chains), 'chain')}, up to sweep {written(last)}; burn-in until sweep {written(burn_in)}."]
    for quantity in quantities:
        values = finite(value for line in quantity.lines for value in line.values)
        step = 1.0 if whole(values) else max((max(values) - min(values)) / 100, 1e-6)
        ends = [finite(line.values)[-1] for line in quantity.lines if finite(line.values)]
        said.append(
            f"{brief(quantity.name)}: between {written(min(values), step)} and {written(max(values), step)}, "
            f"at the end {', '.join(written(end, step) for end in ends)}."
        )
    return " ".join(said)
