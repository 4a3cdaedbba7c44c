"""The posterior, its bars read back into frequencies."""

from itertools import pairwise

import pytest

from app.plots.posterior import MOST_BARS, plot_posterior
from tests.app.plots.reading import corners, hint, number, of_class, parsed, texts

FREQUENCIES = [(3, 0.02), (4, 0.71), (5, 0.2), (6, 0.05), (8, 0.02)]


def test_bars_are_as_high_as_the_frequencies() -> None:
    bars = of_class(parsed(plot_posterior(FREQUENCIES, (4, 5), 4)), "p-new", tag="rect")
    assert [hint(bar).split(":")[0] for bar in bars] == ["3", "4", "5", "6", "8"]
    heights = [number(bar, "height") for bar in bars]
    assert heights == pytest.approx([share / 0.71 * 160 for _, share in FREQUENCIES], abs=0.11)
    assert {number(bar, "y") + number(bar, "height") for bar in bars} == {206.0}


def test_bars_stand_as_far_apart_as_the_numbers() -> None:
    root = parsed(plot_posterior(FREQUENCIES, (4, 5), 4))
    middles = [number(bar, "x") + number(bar, "width") / 2 for bar in of_class(root, "p-new", tag="rect")]
    unit = middles[1] - middles[0]
    assert [(middle - middles[0]) / unit for middle in middles] == pytest.approx([0, 1, 2, 3, 5], abs=0.02)
    ticks = [each for each in of_class(root, "p-tick") if each.get("text-anchor") == "middle"]
    assert [each.text for each in ticks] == ["3", "4", "5", "6", "7", "8"]
    assert number(ticks[1], "x") == pytest.approx(middles[1], abs=0.1)


def test_the_bracket_spans_the_interval_and_what_is_outside_is_pale() -> None:
    root = parsed(plot_posterior(FREQUENCIES, (4, 5), 4))
    bars = of_class(root, "p-new", tag="rect")
    [bracket] = corners(of_class(root, "p-bracket")[0].attrib["d"])
    assert bracket[0][0] == pytest.approx(number(bars[1], "x"), abs=3)
    assert bracket[-1][0] == pytest.approx(number(bars[2], "x") + number(bars[2], "width"), abs=3)
    assert [hint(bar)[0] for bar in of_class(root, "p-pale")] == ["3", "6", "8"]
    assert "90 %: 4 to 5" in texts(root)


@pytest.mark.parametrize("number_of_answer", [3, 5, 8])
def test_the_answer_is_marked_above_its_bar(number_of_answer: int) -> None:
    root = parsed(plot_posterior(FREQUENCIES, (4, 5), number_of_answer))
    bar = next(each for each in of_class(root, "p-new", tag="rect") if hint(each).startswith(f"{number_of_answer}:"))
    [line] = corners(of_class(root, "p-cut")[0].attrib["d"])
    assert line[0][0] == pytest.approx(number(bar, "x") + number(bar, "width") / 2, abs=0.1)
    assert f"answer: {number_of_answer}" in texts(root)


def test_an_answer_without_a_draw_is_within_the_plot() -> None:
    root = parsed(plot_posterior([(3, 1.0)], (3, 4), 9))
    [line] = corners(of_class(root, "p-cut")[0].attrib["d"])
    assert 0 < line[0][0] < 640


def test_many_numbers_share_bars_that_lose_nothing() -> None:
    frequencies = [(n, 1 / 1000) for n in range(7, 1007)]
    plot = plot_posterior(frequencies, (57, 956), 500)
    bars = of_class(parsed(plot), "p-new", tag="rect")
    assert 50 < len(bars) <= MOST_BARS + 1
    spans = [[int(end) for end in hint(bar).split(":")[0].split(" to ")] for bar in bars]
    assert all(after[0] == before[1] + 1 for before, after in pairwise(spans))
    full = max(number(bar, "height") for bar in bars)
    size = spans[1][1] - spans[1][0] + 1
    assert sum(number(bar, "height") for bar in bars) / full * size == pytest.approx(1000, rel=0.01)
    assert len(plot.rows) == 1000
