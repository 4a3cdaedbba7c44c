"""Bar charts as SVG, written by hand: panels one under another, groups of bars, one legend."""

from typing import NamedTuple
from xml.sax.saxutils import escape

COLORS = ("#4e79a7", "#f28e2b", "#e15759", "#76b7b2", "#59a14f", "#edc948", "#b07aa1", "#9c755f", "#bab0ac", "#333333")
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 900, 150, 40, 26, 22  # of a panel's plot, and the room around it
LEGEND_ROW, LEGEND_COLUMNS = 18, 4
N_TICKS = 5


class Panel(NamedTuple):
    """One chart: a bar for each series in each group."""

    title: str
    groups: list[str]
    series: dict[str, list[float | None]]  # by name, a value for each group; None where there is no bar
    highest: float = 1.0  # the top of the axis, which begins at 0


def chart(panels: list[Panel]) -> str:
    """The panels as one SVG document. Series of one name have one color."""
    names = list(dict.fromkeys(name for panel in panels for name in panel.series))
    color = {name: COLORS[n % len(COLORS)] for n, name in enumerate(names)}
    top = LEGEND_ROW * (1 + (len(names) - 1) // LEGEND_COLUMNS) + 8 if names else 0
    parts = legend(color)
    for number, panel in enumerate(panels):
        parts += drawn(panel, top + number * (TOP + HEIGHT + BOTTOM) + TOP, color)
    height = top + len(panels) * (TOP + HEIGHT + BOTTOM)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH} {height}" '
        f'font-family="sans-serif" font-size="11">\n<rect width="100%" height="100%" fill="white"/>'
    )
    return "\n".join([head, *parts, "</svg>", ""])


def legend(color: dict[str, str]) -> list[str]:
    """The names of the series with their colors."""
    parts = []
    for n, (name, fill) in enumerate(color.items()):
        x, y = LEFT + n % LEGEND_COLUMNS * (WIDTH // LEGEND_COLUMNS), 6 + n // LEGEND_COLUMNS * LEGEND_ROW
        parts.append(f'<rect x="{x}" y="{y}" width="10" height="10" fill="{fill}"/>')
        parts.append(f'<text x="{x + 14}" y="{y + 9}">{escape(name)}</text>')
    return parts


def drawn(panel: Panel, top: int, color: dict[str, str]) -> list[str]:
    """The parts of a panel whose plot begins at `top`."""
    parts = [f'<text x="{LEFT}" y="{top - 8}" font-weight="bold">{escape(panel.title)}</text>']
    for tick in range(N_TICKS + 1):
        y = top + HEIGHT * (1 - tick / N_TICKS)
        parts.append(f'<line x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        value = panel.highest * tick / N_TICKS
        parts.append(f'<text x="{LEFT - 4}" y="{y + 4:.1f}" text-anchor="end">{value:.2g}</text>')
    of_group = WIDTH / max(len(panel.groups), 1)
    of_bar = 0.8 * of_group / max(len(panel.series), 1)
    for g, group in enumerate(panel.groups):
        middle = LEFT + (g + 0.5) * of_group
        parts.append(f'<text x="{middle:.1f}" y="{top + HEIGHT + 14}" text-anchor="middle">{escape(group)}</text>')
        for s, (name, values) in enumerate(panel.series.items()):
            parts += bar(name, values[g], middle - 0.4 * of_group + s * of_bar, of_bar, top, panel.highest, color[name])
    return parts


def bar(name: str, value: float | None, left: float, width: float, top: int, highest: float, fill: str) -> list[str]:
    """A bar that reports its value to the pointer; none for no value."""
    if value is None:
        return []
    height = HEIGHT * min(max(value / highest, 0.0), 1.0)
    return [
        f'<rect x="{left:.1f}" y="{top + HEIGHT - height:.1f}" width="{0.9 * width:.1f}" height="{height:.1f}" '
        f'fill="{fill}"><title>{escape(name)}: {value:.3f}</title></rect>'
    ]
