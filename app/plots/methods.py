"""Methods side by side: the mean of each score as a dot, its standard error as whiskers."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from app.plots.axes import TICK, Frame, horizontal_axis, marked
from app.plots.scales import Scale, finite, is_drawable, spread, ticks
from app.plots.svg import WIDTH, Cell, Plot, document, element, label, px, text, title, width_of, without_numbers

COLUMNS = ["method", "score", "mean", "standard error", "splits"]
ROW, TOP, NAMES, BETWEEN = 26, 30, 170, 24  # heights of a method and of the heads, widths of names and gaps
MOST = 40  # methods


class Estimate(NamedTuple):
    """A mean with its standard error over so many splits."""

    mean: float | None
    error: float | None
    n: int


class Method(NamedTuple):
    """A method, and its scores by their names."""

    name: str
    scores: Mapping[str, Estimate]


def plot_methods(methods: Sequence[Method], name: str = "methods") -> Plot:
    """A panel for each score, a line in it for each method; the best mean of a score is a filled dot."""
    heading = "Methods compared"
    scores = [
        score
        for score in dict.fromkeys(score for method in methods for score in method.scores)
        if means_of(methods, score)
    ]
    if not scores:
        return without_numbers(name, heading, "No split has been scored yet.", COLUMNS)
    drawn = methods[:MOST]
    left = min(max(width_of(method.name) for method in drawn), NAMES) + 14
    width = (WIDTH - left - 12 - BETWEEN * (len(scores) - 1)) / len(scores)
    bottom = TOP + ROW * len(drawn)
    parts = [label(left - 10, middle(i) + 4, method.name, left - 14, "p-text", "end") for i, method in enumerate(drawn)]
    for j, score in enumerate(scores):
        start = left + j * (width + BETWEEN)
        parts += panel(drawn, score, Frame(start, TOP, start + width, bottom))
    rows: list[list[Cell]] = [
        [method.name, score, *(each if is_drawable(each) else None for each in (found.mean, found.error)), found.n]
        for method in methods
        for score, found in method.scores.items()
        if score in scores
    ]
    said = described(methods, scores)
    return Plot(document(name, heading, said, bottom + 28, parts), COLUMNS, rows)


def middle(i: int) -> float:
    """Where the line of a method is."""
    return TOP + (i + 0.5) * ROW


def means_of(methods: Sequence[Method], score: str) -> list[float]:
    """The means of a score that can be drawn."""
    return finite(method.scores[score].mean for method in methods if score in method.scores)


def panel(methods: Sequence[Method], score: str, frame: Frame) -> list[str]:
    """One score: its axis, and a dot with whiskers for each method."""
    found = [(i, method.scores[score]) for i, method in enumerate(methods) if score in method.scores]
    ends = finite(end for _, each in found for end in ends_of(each))
    if not ends:
        return [text(frame.left, 16, score, "p-text p-strong")]
    low, high = spread(ends)
    room = (high - low) * 0.08
    x = Scale(low - room, high + room, frame.left, frame.right)
    widest = max(width_of(name) for _, name in marked(ticks(x.low, x.high, 4))) * TICK + 14
    marks = marked(ticks(x.low, x.high, max(int((frame.right - frame.left) / widest), 1)))
    best = max(means_of(methods, score), default=None)
    parts = [text(frame.left, 16, score, "p-text p-strong")]
    parts += horizontal_axis(frame, x, marks, grid=True)
    for i, each in found:
        parts += dot(each, x, middle(i), methods[i].name, score, each.mean == best)
    return parts


def ends_of(found: Estimate) -> list[float | None]:
    """The mean and the ends of its whiskers."""
    if not is_drawable(found.mean) or found.mean is None:
        return []
    error = found.error if is_drawable(found.error) and found.error is not None else 0.0
    return [found.mean - error, found.mean, found.mean + error]


def dot(found: Estimate, x: Scale, y: float, method: str, score: str, is_best: bool) -> list[str]:
    """A mean with its whiskers."""
    ends = finite(ends_of(found))
    if not ends:
        return []
    low, mean, high = (x(end) for end in ends)
    error = f" ± {found.error:.3f}" if found.error is not None else ""
    said = title(f"{method}: {score} {found.mean:.3f}{error}, {found.n} splits{', the best mean' if is_best else ''}")
    whiskers = f"M{px(low)} {px(y - 4)}v8M{px(low)} {px(y)}H{px(high)}M{px(high)} {px(y - 4)}v8"
    parts = [element("path", d=whiskers, class_="p-bracket")] if high > low else []
    return [*parts, element("circle", said, cx=mean, cy=y, r=5, class_="p-dot p-best" if is_best else "p-dot")]


def described(methods: Sequence[Method], scores: Sequence[str]) -> str:
    """The comparison in sentences: which method has the best mean of each score."""
    said = []
    for score in scores:
        scored = [(method.scores[score].mean, method.name) for method in methods if score in method.scores]
        best, name = max(((mean, name) for mean, name in scored if mean is not None and is_drawable(mean)))
        said.append(f"{score}: {name} is best with {best:.3f}.")
    return " ".join(said)
