"""The top words of one category as small bars; a page has many of these, so each is a few bytes."""

from collections.abc import Sequence

from app.plots.scales import finite, is_drawable, written
from app.plots.svg import Plot, document, element, label, px, text, width_of, without_numbers

COLUMNS = ["word", "documents"]
WIDTH, ROW, BAR = 240, 18, 10
MOST = 8  # words
WORDS = 96  # width of the words


def plot_word_bars(words: Sequence[tuple[str, float]], known: bool, heading: str, name: str) -> Plot:
    """Words with a bar each, as long as its value; `name` must be another for each plot of a page."""
    drawn = [(word, value) for word, value in words if is_drawable(value) and value >= 0][:MOST]
    if not drawn:
        return without_numbers(name, heading, "No word stands out.", COLUMNS, WIDTH)
    highest = max(finite(value for _, value in drawn)) or 1.0
    step = 1.0 if highest >= 1 else highest / 100
    room = max(width_of(written(value, step)) for _, value in drawn)
    longest = WIDTH - WORDS - room - 16
    bars, parts = "", []
    for i, (word, value) in enumerate(drawn):
        y, length = i * ROW + 14, px(value / highest * longest)
        bars += f"M{WORDS + 6} {y - 9}h{length}v{BAR}h-{length}z"
        parts.append(label(WORDS, y, word, WORDS - 4, "p-text", "end"))
        parts.append(text(WORDS + 10 + float(length), y, written(value, step), "p-tick"))
    area = element("path", d=bars, class_="p-known" if known else "p-new")
    said = ", ".join(word for word, _ in drawn[:3])
    return Plot(
        document(name, heading, said, ROW * len(drawn) + 4, [area, *parts], WIDTH), COLUMNS, [list(d) for d in drawn]
    )
