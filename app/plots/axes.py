"""The frame that plots stand in: axes with muted grid lines, and legends."""

from collections.abc import Sequence
from typing import NamedTuple

from app.plots.scales import Scale, written
from app.plots.svg import WIDTH, element, label, px, text, width_of

N_STYLES = 8  # that plots.css has for lines, each with a color and a dash pattern of its own
TICK = 0.92  # ticks are written at 11 px, not 12
LEGEND_LINE = 20  # height of a line of a legend


class Frame(NamedTuple):
    """Where the values of a plot are drawn."""

    left: float
    top: float
    right: float
    bottom: float


def gutter(labels: Sequence[str]) -> float:
    """How much room the labels of a vertical axis need beside it."""
    return max((width_of(each) for each in labels), default=0.0) * TICK + 12


def vertical_axis(frame: Frame, scale: Scale, marks: Sequence[tuple[float, str]]) -> list[str]:
    """Grid lines across the frame, with their labels to the left of it."""
    grid = "".join(f"M{px(frame.left)} {px(scale(value))}H{px(frame.right)}" for value, _ in marks)
    labels = [text(frame.left - 6, scale(value) + 4, name, "p-tick", "end") for value, name in marks]
    return [element("path", d=grid, class_="p-grid"), *labels] if marks else []


def horizontal_axis(
    frame: Frame, scale: Scale, marks: Sequence[tuple[float, str]], caption: str = "", grid: bool = False
) -> list[str]:
    """The line below the frame, with its labels and what they count; grid lines only if they are wanted."""
    top = frame.top if grid else frame.bottom
    lines = "".join(f"M{px(scale(value))} {px(top)}V{px(frame.bottom + 4)}" for value, _ in marks)
    labels = [text(within(scale(value), name), frame.bottom + 17, name, "p-tick", "middle") for value, name in marks]
    base = element("path", d=f"M{px(frame.left)} {px(frame.bottom)}H{px(frame.right)}", class_="p-axis")
    below = [text((frame.left + frame.right) / 2, frame.bottom + 35, caption, "p-muted", "middle")] if caption else []
    return [element("path", d=lines, class_="p-grid" if grid else "p-axis"), base, *labels, *below]


def within(x: float, name: str) -> float:
    """Where the middle of a tick's label is, so that the last one does not reach beyond the plot."""
    return min(x, WIDTH - width_of(name) * TICK / 2 - 1)


def marked(values: Sequence[float]) -> list[tuple[float, str]]:
    """Ticks and how they are written, as exact as they are apart."""
    step = values[1] - values[0] if len(values) > 1 else abs(values[0]) if values and values[0] else 1.0
    return [(value, written(value, step)) for value in values]


def line_style(i: int) -> str:
    """The class of a line: color and dashes, which come again after eight."""
    return f"p-line p-s{i % N_STYLES}"


def legend(
    names: Sequence[str], classes: Sequence[str], left: float, right: float, top: float
) -> tuple[list[str], float]:
    """Line samples with names, in as many lines as they need, and where the next thing may begin."""
    parts: list[str] = []
    x, y = left, top
    for name, class_ in zip(names, classes, strict=True):
        room = min(width_of(name), (right - left) / 2 - 34)
        if x > left and x + 34 + room > right:
            x, y = left, y + LEGEND_LINE
        parts.append(element("path", d=f"M{px(x)} {px(y + 8)}h24", class_=class_))
        parts.append(label(x + 30, y + 12, name, room, "p-text"))
        x += 30 + room + 16
    return parts, y + LEGEND_LINE if names else top
