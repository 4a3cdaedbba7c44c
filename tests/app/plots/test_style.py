"""Colors that everybody can tell apart and read, by the formulas of WCAG and of models of color blindness."""

import re
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import pytest

from app.plots.axes import N_STYLES
from app.plots.heat import FIRST_DARK, SHADES
from app.plots.style import STYLE, dark_colors, light_colors, plain_style

THEMES = pytest.mark.parametrize("colors", [light_colors(), dark_colors()], ids=["light", "dark"])
TEXTS = ("--plot-ink", "--plot-muted", "--plot-newname")
SERIES = [f"--series-{i + 1}" for i in range(N_STYLES)]
TOLD_APART = 20  # in CIELAB, where 2 can just be seen side by side

# Machado, Oliveira and Fernandes (2009), severity 1: what linear RGB looks like to others.
VISION = {
    "usual": np.eye(3),
    "without red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "without green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "without blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}  # fmt: skip
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = TO_XYZ.sum(axis=1)


def rgb(color: str) -> np.ndarray:
    """The color of #rrggbb, from 0 to 1."""
    assert re.fullmatch("#[0-9a-f]{6}", color)
    return np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255


def linear(values: np.ndarray) -> np.ndarray:
    """Light instead of signal."""
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def contrast(first: np.ndarray, second: np.ndarray) -> float:
    """The ratio of WCAG 2.2."""
    low, high = sorted(float(TO_XYZ[1] @ linear(each)) for each in (first, second))
    return (high + 0.05) / (low + 0.05)


def lab(color: str, vision: Sequence[Sequence[float]]) -> np.ndarray:
    """CIELAB of a color as it is seen."""
    seen = np.clip(np.asarray(vision) @ linear(rgb(color)), 0, 1)
    x, y, z = np.cbrt(TO_XYZ @ seen / WHITE)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_light_and_dark_have_the_same_names() -> None:
    assert set(light_colors()) == set(dark_colors())
    assert {*SERIES, *TEXTS, "--plot-surface", "--plot-known", "--plot-new"} < set(light_colors())


def test_a_custom_property_stands_for_one_color_everywhere() -> None:
    uses = set(re.findall(r"var\((--[\w-]+), (#\w+)\)", STYLE))
    assert len(uses) == len({name for name, _ in uses})


@THEMES
def test_texts_are_read_against_the_background(colors: Mapping[str, str]) -> None:
    for name in TEXTS:
        assert contrast(rgb(colors[name]), rgb(colors["--plot-surface"])) >= 4.5


@THEMES
def test_marks_and_lines_are_seen_against_the_background(colors: Mapping[str, str]) -> None:
    for name in (*SERIES, "--plot-known", "--plot-new"):
        assert contrast(rgb(colors[name]), rgb(colors["--plot-surface"])) >= 3


@THEMES
@pytest.mark.parametrize("vision", VISION)
def test_eight_lines_and_two_kinds_are_told_apart_by_everybody(colors: Mapping[str, str], vision: str) -> None:
    for names in (SERIES, ["--plot-known", "--plot-new"]):
        for first, second in combinations(names, 2):
            difference = lab(colors[first], VISION[vision]) - lab(colors[second], VISION[vision])
            assert np.linalg.norm(difference) >= TOLD_APART, (first, second)


def test_no_two_lines_have_the_same_dashes() -> None:
    dashes = [re.search(rf"\.p-s{i} {{.*?(?:dasharray: ([^;]+))?; }}", STYLE) for i in range(N_STYLES)]
    assert len({found and found[1] for found in dashes}) == N_STYLES


@THEMES
def test_numbers_are_read_on_every_shade_and_shades_rise(colors: Mapping[str, str]) -> None:
    surface, ink, heat = (rgb(colors[f"--plot-{name}"]) for name in ("surface", "ink", "heat"))
    opacities = [float(value) for value in re.findall(r"\.p-h\d \{ fill-opacity: ([\d.]+); \}", STYLE)]
    assert len(opacities) == SHADES
    assert opacities == sorted(set(opacities))
    for i, opacity in enumerate(opacities):
        mixed = opacity * heat + (1 - opacity) * surface
        assert contrast(mixed, surface if i >= FIRST_DARK else ink) >= 4.5, i


def test_the_style_of_a_file_needs_no_custom_properties() -> None:
    plain = plain_style()
    light, dark = plain.split("@media (prefers-color-scheme:dark)")
    assert "var(" not in plain
    assert "--" not in plain
    assert set(dark_colors().values()) == set(re.findall("#[0-9a-f]{6}", dark))
    assert set(light_colors().values()) == set(re.findall("#[0-9a-f]{6}", light))
    assert plain.count("{") == plain.count("}")
    assert len(plain) < 4000


def test_a_color_of_a_file_is_that_of_its_rule() -> None:
    light, dark = plain_style().split("@media (prefers-color-scheme:dark)")
    assert f".p-s2{{stroke:{light_colors()['--series-3']};" in light.replace(": ", ":").replace(" {", "{")
    assert f".p-s2{{stroke:{dark_colors()['--series-3']}" in dark.replace(": ", ":").replace(" {", "{")
