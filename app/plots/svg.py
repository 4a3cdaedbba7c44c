"""What every plot is made of: SVG elements from plain values, and texts that cannot break out of them."""

import re
import unicodedata
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

WIDTH = 640  # of a plot; the page scales it, and lets it scroll where the screen is narrow
CHARACTER = 7.5  # width of a letter at 12 px, rather too wide than clipped
NARROW = frozenset("iljftrI.,:;'|!()[] \N{NARROW NO-BREAK SPACE}")
WIDE = frozenset("mwMW@%\N{HORIZONTAL ELLIPSIS}\N{EM DASH}")
LONGEST = 300  # characters that a tooltip shows
BRIEF = 80  # characters of a name within a sentence

# What XML 1.0 forbids, even escaped, and what would turn the direction of the text that follows.
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
SPACES = re.compile("[^\\S\xa0\u2007\u202f]+")  # but for those that keep a number together

Cell = str | int | float | None


class Plot(NamedTuple):
    """A plot and the numbers that it shows."""

    svg: str
    columns: list[str]
    rows: list[list[Cell]]  # for the table beside it and for CSV; no NaN among them


def element(tag: str, *children: str, **attributes: str | float | None) -> str:
    """An element; children are SVG already, attributes are escaped, and left out where they are None.

    `class_` is the attribute class, and an underscore within a name a hyphen.
    """
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(value) if isinstance(value, str) else px(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{tag}{written}>{''.join(children)}</{tag}>" if children else f"<{tag}{written}/>"


def px(value: float) -> str:
    """A coordinate, to a tenth of a pixel."""
    return f"{round(value, 1) + 0.0:g}" if abs(value) < 100_000 else f"{value:.0f}"


def cleaned(text: str) -> str:
    """A text on one line, without characters that XML forbids."""
    return SPACES.sub(" ", FORBIDDEN.sub("", text)).strip(" ")


def brief(name: str) -> str:
    """A name within a sentence."""
    return name if len(name) <= BRIEF else f"{name[: BRIEF - 1]}…"


def title(text: str) -> str:
    """What is shown where the pointer rests on an element."""
    whole = cleaned(text)
    return element("title", escape(whole if len(whole) <= LONGEST else whole[: LONGEST - 1] + "…", quote=False))


def text(x: float, y: float, content: str, class_: str, anchor: str | None = None, **more: str | float | None) -> str:
    """A line of text, `anchor`ed at its start, middle or end."""
    return element("text", escape(cleaned(content), quote=False), x=x, y=y, class_=class_, text_anchor=anchor, **more)


def label(
    x: float, y: float, name: str, width: float, class_: str, anchor: str | None = None, **more: str | float | None
) -> str:
    """A name that is shortened to a width; if it was, the whole one is shown under the pointer."""
    whole = cleaned(name)
    short = shortened(whole, width)
    children = [escape(short, quote=False)] + ([title(whole)] if short != whole else [])
    return element("text", *children, x=x, y=y, class_=class_, text_anchor=anchor, **more)


def width_of(content: str) -> float:
    """About how wide a text is at 12 px, in whatever font: generous, so that nothing is clipped."""
    return sum(CHARACTER * share_of_letter(character) for character in content)


def share_of_letter(character: str) -> float:
    """The width of a character in letters."""
    if character in NARROW:
        return 0.6
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.9
    return 1.5 if character in WIDE else 1.25 if character.isupper() else 1.0


def shortened(content: str, width: float) -> str:
    """As much of a text as a width holds, with an ellipsis if that is not all."""
    if width_of(content) <= width:
        return content
    left = width - width_of("…")
    for i, character in enumerate(content):
        left -= CHARACTER * share_of_letter(character)
        if left < 0:
            return content[:i].rstrip() + "…"
    return content


def document(
    name: str, heading: str, description: str, height: float, parts: Sequence[str], width: float = WIDTH
) -> str:
    """A whole plot: `name` is its own on the page, and title and description are read out in its place."""
    name = re.sub(r"[^A-Za-z0-9_-]", "-", name)
    return element(
        "svg",
        element("title", escape(cleaned(heading), quote=False), id=f"{name}-title"),
        element("desc", escape(cleaned(description), quote=False), id=f"{name}-desc"),
        *parts,
        class_="plot" if width == WIDTH else "plot plot-small",
        viewBox=f"0 0 {px(width)} {px(height)}",
        role="img",
        aria_labelledby=f"{name}-title {name}-desc",
    )


def without_numbers(name: str, heading: str, sentence: str, columns: list[str], width: float = WIDTH) -> Plot:
    """What stands in for a plot that has nothing to show yet: a sentence that says so."""
    line = label(width / 2, 44, sentence, width - 24, "p-muted", "middle")
    return Plot(document(name, heading, sentence, 80, [line], width), columns, [])
