"""The look of all plots: one style sheet, which a page serves as it is and a file carries within it."""

import re
from importlib.resources import files

from app.plots.svg import Plot

STYLE = files("app.plots").joinpath("plots.css").read_text(encoding="utf-8")

DARK = re.compile(r"@media \(prefers-color-scheme: dark\) \{\s*:root \{(.*?)\}\s*\}", re.DOTALL)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
PROPERTY = re.compile(r"(--[\w-]+):\s*([^;]+);")
USE = re.compile(r"var\((--[\w-]+), ([^()]+)\)")
RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")


def standalone(plot: Plot) -> str:
    """The plot as a file of its own, with its colors for light and dark, a title and a background."""
    found = re.search(r'viewBox="0 0 (\S+) (\S+)"', plot.svg)
    assert found, "every plot has a viewBox"
    width, height = found.groups()
    opening, _, rest = plot.svg.partition(">")
    sized = f'{opening} xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">'
    background = f'<rect width="{width}" height="{height}" class="p-background"/>'
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{sized}<style>{plain_style()}</style>{background}{rest}\n'


def plain_style() -> str:
    """The style sheet without custom properties, which many programs that read SVG do not know."""
    light = COMMENT.sub("", DARK.sub("", STYLE))
    colors = dark_colors()
    dark = "".join(
        f"{selector.strip()}{{{changed}}}"
        for selector, body in RULE.findall(light)
        if (
            changed := ";".join(
                each.strip() for each in body.split(";") if (use := USE.search(each)) and use[1] in colors
            )
        )
    )
    plain = squeezed(USE.sub(r"\2", light))
    themed = squeezed(USE.sub(lambda use: colors[use[1]], dark))
    return f"{plain}@media (prefers-color-scheme:dark){{{themed}}}"


def dark_colors() -> dict[str, str]:
    """The colors for dark surroundings, by custom property."""
    found = DARK.search(STYLE)
    assert found, "plots.css has a block for dark surroundings"
    return dict(PROPERTY.findall(found[1]))


def light_colors() -> dict[str, str]:
    """The colors for light surroundings: what stands in where a page sets no custom property."""
    return {name: value for name, value in USE.findall(STYLE) if name in dark_colors()}


def squeezed(css: str) -> str:
    """Style on as few characters as it needs."""
    return re.sub(r"\s*([{};,])\s*", r"\1", " ".join(css.split()))
