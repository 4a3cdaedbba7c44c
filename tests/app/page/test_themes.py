"""Light and dark: what a visitor chose, or else what the system has."""

import re

from app.page.assets import STATIC
from app.plots.style import dark_colors, light_colors


def test_plots_have_the_colours_of_their_own_style_sheet_in_either_theme() -> None:
    css = (STATIC / "page.css").read_text(encoding="utf-8")
    for theme, colours in (("light", light_colors()), ("dark", dark_colors())):
        blocks = re.findall(rf':root\[data-theme="{theme}"\] \{{(.*?)\}}', css, re.DOTALL)
        found = dict(re.findall(r"(--[\w-]+): ([^;]+);", " ".join(blocks)))
        assert {name: found.get(name) for name in colours} == dict(colours)
