"""The posterior of the number of new categories: how often each number occurred among the kept draws."""

from collections import defaultdict
from collections.abc import Sequence
from math import ceil

from app.plots.axes import Frame, gutter, horizontal_axis, marked, vertical_axis
from app.plots.scales import Scale, is_drawable, percent, ticks
from app.plots.svg import WIDTH, Plot, document, element, px, text, title, width_of, without_numbers

COLUMNS = ["new categories", "frequency"]
TOP, HEIGHT = 46, 160  # of the bars' frame
MOST_BARS = 120  # beyond, a bar stands for several numbers
SMALLEST = 1e-9  # share of draws: nobody keeps so many
MOST_WIDTH = 56  # of a bar: two of them shall not look like walls


def plot_posterior(
    frequencies: Sequence[tuple[int, float]],
    interval: tuple[int, int] | None,
    number: int | None,
    name: str = "posterior",
) -> Plot:
    """Frequencies of numbers, with the 90 % interval as a bracket and the answer's number marked."""
    heading = "How many new categories there are"
    shares = {n: share for n, share in sorted(frequencies) if is_drawable(share) and share >= 0}
    if max(shares.values(), default=0.0) < SMALLEST:
        return without_numbers(name, heading, "No draw has been kept yet.", COLUMNS)
    reach = [*shares, *(interval or ()), *([] if number is None else [number])]
    size = ceil((max(reach) - min(reach) + 1) / MOST_BARS)
    low = min(reach) // size * size
    bars: dict[int, float] = defaultdict(float)
    for n, share in shares.items():
        bars[(n - low) // size * size + low] += share

    highest = max(bars.values())
    grid = ticks(0, highest, 4)
    fine = 1 if len(grid) > 1 and grid[1] < 0.01 else 0
    marks = [(share, percent(share, fine)) for share in grid]
    frame = Frame(gutter([each for _, each in marks]), TOP, WIDTH - 12, TOP + HEIGHT)
    edges = min(low, min(reach)) - 0.5, max(reach) // size * size + size - 0.5
    middle, half = sum(edges) / 2, max((edges[1] - edges[0]) / 2, (frame.right - frame.left) / MOST_WIDTH / 2)
    x = Scale(middle - half, middle + half, frame.left, frame.right)
    y = Scale(0, highest, frame.bottom, frame.top)
    numbers = [n for n in ticks(edges[0], edges[1], 12, integers=True) if edges[0] < n < edges[1]]
    parts = vertical_axis(frame, y, marks)
    parts += [bar(n, size, share, x, y, interval) for n, share in sorted(bars.items()) if share]
    parts += horizontal_axis(frame, x, marked(numbers), "new categories")
    parts += bracket(interval, x, frame) if interval else []
    parts += [] if number is None else answer(number, x, frame)
    said = described(shares, interval, number)
    return Plot(document(name, heading, said, frame.bottom + 46, parts), COLUMNS, [[n, s] for n, s in shares.items()])


def bar(n: int, size: int, share: float, x: Scale, y: Scale, interval: tuple[int, int] | None) -> str:
    """The bar of a number, or of several; paler outside the interval."""
    left, right = x(n - 0.5), x(n + size - 0.5)
    gap = min(4.0, (right - left) * 0.1)
    numbers = f"{n}" if size == 1 else f"{n} to {n + size - 1}"
    inside = interval is None or (interval[0] < n + size and n <= interval[1])
    return element(
        "rect",
        title(f"{numbers}: {percent(share, 1)} of the draws"),
        x=left + gap,
        y=y(share),
        width=right - left - 2 * gap,
        height=y(0) - y(share),
        class_="p-new" if inside else "p-new p-pale",
    )


def bracket(interval: tuple[int, int], x: Scale, frame: Frame) -> list[str]:
    """The interval, above the bars that it holds, with its numbers on the side where there is room."""
    left, right, y = x(interval[0] - 0.5) + 2, x(interval[1] + 0.5) - 2, frame.top - 14
    said = f"90 %: {interval[0]}" + (f" to {interval[1]}" if interval[1] > interval[0] else "")
    path = f"M{px(left)} {px(y + 8)}v-8H{px(right)}v8"
    if right + 8 + width_of(said) <= frame.right:
        place, anchor = right + 8, "start"
    else:
        place, anchor = max(left - 8, width_of(said) + 2), "end"
    return [element("path", d=path, class_="p-bracket"), text(place, y + 6, said, "p-text p-halo", anchor)]


def answer(number: int, x: Scale, frame: Frame) -> list[str]:
    """A mark at the number of the answer, in a line of its own above everything."""
    at = x(number)
    said = f"answer: {number}"
    anchor, beside = ("end", -9) if at + 9 + width_of(said) > frame.right else ("start", 9)
    return [
        element("path", d=f"M{px(at)} 16v{px(frame.bottom - 16)}", class_="p-cut"),
        element("path", title(said), d=f"M{px(at - 5)} 8h10l-5 9z", class_="p-ink"),
        text(at + beside, 17, said, "p-text p-strong", anchor),
    ]


def described(shares: dict[int, float], interval: tuple[int, int] | None, number: int | None) -> str:
    """The posterior in sentences."""
    best = max(shares, key=lambda n: shares[n])
    said = [f"{best} occurred most often, in {percent(shares[best])} of the kept draws."]
    if interval:
        said.append(f"With 90 % probability there are {interval[0]} to {interval[1]}.")
    if number is not None:
        said.append(f"The answer has {number}.")
    return " ".join(said)
