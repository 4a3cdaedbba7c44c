"""Categories over time: how many documents each has in a day, week, month or year, or what share."""

from collections.abc import Sequence
from datetime import date, timedelta
from itertools import pairwise
from typing import NamedTuple

from app.plots.axes import Frame, gutter, horizontal_axis, legend, line_style, marked, vertical_axis
from app.plots.scales import Scale, counted, is_drawable, percent, ticks, written
from app.plots.svg import WIDTH, Cell, Plot, brief, document, element, px, title, without_numbers
from app.plots.thinning import Points, thinned

MOST = 8  # categories with a line of their own
MOST_PERIODS = 400  # that are filled in where no document is of them
MOST_STRETCHES = 150  # of a line, with two points each
HEIGHT = 240
OTHER = "p-line p-other"


class Course(NamedTuple):
    """A category with its documents in each period."""

    name: str
    documents: Sequence[float]


def plot_over_time(
    periods: Sequence[str],
    courses: Sequence[Course],
    shares: bool = False,
    name: str = "over-time",
    more: Sequence[Course] = (),
) -> Plot:
    """A line for each of the eight largest categories and one for all others, by period in rising order.

    `more` are others, too, which have no numbers of their own.
    """
    heading = "Share of documents over time" if shares else "Documents over time"
    others = f"{counted(len(more), 'other')}"
    columns = ["period", *(course.name for course in courses), *([others] if more else [])]
    if not periods or not courses:
        return without_numbers(name, heading, "No document with a category has a date.", columns)
    every = filled(periods)
    at = {period: i for i, period in enumerate(periods)}
    whole, unnamed = (
        [Course(each.name, [held(each, at.get(period)) for period in every]) for each in some]
        for some in (courses, more)
    )
    totals = summed([*whole, *unnamed])
    ordered = sorted(whole, key=lambda course: -sum(course.documents))
    lines, rest = ordered[:MOST], [*ordered[MOST:], *unnamed]
    if rest:
        lines = [*lines, Course(f"{counted(len(rest), 'other')}", summed(rest))]
    values = [
        [share(n, total) if shares else n for n, total in zip(line.documents, totals, strict=True)] for line in lines
    ]

    highest = max((value for line in values for value in line if value is not None), default=0.0) or 1.0
    marks = [(v, percent(v)) for v in ticks(0, highest, 5)] if shares else marked(ticks(0, highest, 5, integers=True))
    left = gutter([each for _, each in marks])
    styles = [line_style(i) if i < MOST else OTHER for i in range(len(lines))]
    parts, top = legend([line.name for line in lines], styles, left, WIDTH - 16, 4)
    frame = Frame(left, top + 12, WIDTH - 24, top + 12 + HEIGHT)
    x = (
        Scale(0, max(len(every) - 1, 1), frame.left + 8, frame.right)
        if len(every) > 1
        else Scale(-1, 1, frame.left, frame.right)
    )
    y = Scale(0, highest, frame.bottom, frame.top)
    parts += vertical_axis(frame, y, marks)
    parts += horizontal_axis(frame, x, labeled(every, frame.right - frame.left))
    for line, own, style in reversed(list(zip(lines, values, styles, strict=True))):  # the largest lies on top
        said = title(f"{line.name}: {counted(int(sum(line.documents)), 'document')}")
        parts.append(element("path", said, d=path(thinned(list(enumerate(own)), MOST_STRETCHES), x, y), class_=style))
    told = [*whole, *([Course(others, summed(unnamed))] if unnamed else [])]
    rows: list[list[Cell]] = [[period, *(course.documents[i] for course in told)] for i, period in enumerate(every)]
    said = described(every, lines, totals)
    return Plot(document(name, heading, said, frame.bottom + 28, parts), columns, rows)


def summed(courses: Sequence[Course]) -> list[float]:
    """The documents of some categories together, by period."""
    return [sum(values) for values in zip(*(course.documents for course in courses), strict=True)]


def held(course: Course, i: int | None) -> float:
    """A category's documents in a period; none in one that had no document at all."""
    value = None if i is None else course.documents[i]
    return value if value is not None and is_drawable(value) else 0


def share(n: float, total: float) -> float | None:
    """A part of a period's documents; None where it has none."""
    return n / total if total else None


def filled(periods: Sequence[str]) -> list[str]:
    """The periods with those in between; as they are where a gap is absurdly long, or they are no dates."""
    found = [periods[0]]
    for before, after in pairwise(periods):
        period = before
        while (period := following(period)) and period < after and len(found) < MOST_PERIODS:
            found.append(period)
        if len(found) >= MOST_PERIODS:
            return list(periods)
        found.append(after)
    return found


def following(period: str) -> str:
    """The next day, week, month or year, written as this one is; empty if there is none such."""
    try:
        if len(period) == 4:
            return f"{int(period) + 1:04}"
        if len(period) == 7:
            year, month = int(period[:4]), int(period[5:])
            return f"{year + month // 12:04}-{month % 12 + 1:02}"
        if "W" in period:
            monday = date.fromisocalendar(int(period[:4]), int(period[6:]), 1) + timedelta(weeks=1)
            return f"{monday.isocalendar().year:04}-W{monday.isocalendar().week:02}"
        return (date.fromisoformat(period) + timedelta(days=1)).isoformat()
    except (ValueError, OverflowError):
        return ""


def labeled(periods: Sequence[str], width: float) -> list[tuple[float, str]]:
    """Periods at even distances, as many as there is room for."""
    step = -(-len(periods) * 80 // int(width))
    return [(i, periods[i]) for i in range(0, len(periods), max(step, 1))]


def path(points: Points, x: Scale, y: Scale) -> str:
    """A line through the values, broken where one is missing; a value alone becomes a dash."""
    found, before = "", None
    for (i, value), (_, after) in pairwise([*points, (0, None)]):
        if value is not None:
            is_alone = before is None and after is None
            place = f"{px(x(i))} {px(y(value))}"
            found += f"M{px(x(i) - 4)} {px(y(value))}h8" if is_alone else f"{'M' if before is None else 'L'}{place}"
        before = value
    return found


def described(periods: Sequence[str], lines: Sequence[Course], totals: Sequence[float]) -> str:
    """The courses in sentences."""
    peak = max(range(len(totals)), key=lambda i: totals[i])
    said = [
        f"{written(sum(totals))} documents from {periods[0]} to {periods[-1]}, "
        f"most of them, {written(totals[peak])}, in {periods[peak]}."
    ]
    for line in lines[:3]:
        best = max(range(len(periods)), key=lambda i: line.documents[i])
        said.append(f"{brief(line.name)}: {written(sum(line.documents))}, most in {periods[best]}.")
    return " ".join(said)
