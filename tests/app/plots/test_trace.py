"""The trace, its lines read back into values."""

import random
from itertools import pairwise

import pytest

from app.plots.thinning import thinned
from app.plots.trace import Line, Quantity, plot_trace, points_of
from tests.app.plots.reading import corners, hint, number, of_class, parsed, texts

N_SWEEPS = 10_000


def long_line(chain: int, integers: bool = True) -> Line:
    """A chain that jumps at every sweep."""
    rng = random.Random(chain)
    values = [float(rng.randint(0, 20)) if integers else rng.gauss(0, 1) for _ in range(N_SWEEPS)]
    return Line(chain, range(1, N_SWEEPS + 1), values)


def test_each_chain_is_a_line_that_holds_every_value_until_the_next_sweep() -> None:
    values = {0: [2, 3, 3, 5], 1: [4, 1, 0, 2]}
    plot = plot_trace([Quantity("new categories", [Line(chain, [1, 2, 3, 4], each) for chain, each in values.items()])])
    lines = of_class(parsed(plot), "p-line", tag="path")[2:]  # the first two are the legend
    assert [hint(line) for line in lines] == ["new categories, chain 0", "new categories, chain 1"]
    unit_x, unit_y, origin = scale_of(corners(lines[0].attrib["d"])[0], [2, 3, 3, 5])
    for line, each in zip(lines, values.values(), strict=True):
        [stroke] = corners(line.attrib["d"])
        left = stroke[0][0]
        for i in range(3):  # in the middle between two sweeps the line is at the value of the first
            at = left + (i + 0.5) * unit_x
            level = next(y for (x, y), (after, _) in pairwise(stroke) if x <= at <= after)
            assert origin - level == pytest.approx(each[i] * unit_y, abs=0.2)


def scale_of(stroke: list[tuple[float, float]], values: list[int]) -> tuple[float, float, float]:
    """Pixels a sweep, pixels a unit, and where zero is, by the first step and the last level of a line."""
    (x0, y0), (x1, _) = stroke[:2]
    unit = (y0 - stroke[-1][1]) / (values[-1] - values[0])
    return x1 - x0, unit, y0 + unit * values[0]


def test_a_missing_value_breaks_the_line() -> None:
    plot = plot_trace([Quantity("alpha", [Line(0, [1, 2, 3, 4], [0.5, float("nan"), 0.7, 0.6])])])
    line = of_class(parsed(plot), "p-line", tag="path")[1]
    assert len(corners(line.attrib["d"])) == 2
    assert [row[3] for row in plot.rows] == [0.5, None, 0.7, 0.6]


@pytest.mark.parametrize("integers", [True, False])
def test_thinning_keeps_the_extremes_of_every_stretch_in_order(integers: bool) -> None:
    line = long_line(3, integers)
    points = thinned(points_of(line), 300)
    assert len(points) <= 601
    assert [sweep for sweep, _ in points] == sorted({sweep for sweep, _ in points})
    assert all(line.values[sweep - 1] == value for sweep, value in points)
    size = -(-N_SWEEPS // 300)
    for start in range(0, N_SWEEPS, size):
        stretch = list(line.values[start : start + size])
        kept = [value for sweep, value in points if start < sweep <= start + size]
        assert (min(kept), max(kept)) == (min(stretch), max(stretch))  # type: ignore[type-var]


def test_a_short_line_is_not_thinned() -> None:
    assert thinned([(1, 1), (2, 1), (3, 1)], 10) == [(1, 1), (2, 1), (3, 1)]


@pytest.mark.parametrize("n_chains", [1, 4, 16])
def test_four_quantities_of_long_chains_stay_below_60_kb(n_chains: int) -> None:
    names = ("new categories", "alpha", "gamma", "log joint")
    chains = range(n_chains)
    plot = plot_trace([Quantity(name, [long_line(chain, i == 0) for chain in chains]) for i, name in enumerate(names)])
    assert len(plot.svg.encode()) < 60_000
    drawn = of_class(parsed(plot), "p-line", "p-dense")
    assert len(drawn) == 4 * n_chains
    assert len({line.attrib["class"] for line in drawn}) == min(n_chains, 8)


def test_whole_numbers_have_whole_ticks() -> None:
    plot = plot_trace([Quantity("new categories", [Line(0, [1, 2], [3, 4])])])
    ticks = [each.text for each in of_class(parsed(plot), "p-tick") if each.get("text-anchor") == "end"]
    assert ticks == ["4", "3"][::-1]


def test_the_burn_in_is_shaded_in_every_panel_and_named_once() -> None:
    quantities = [Quantity(name, [Line(0, range(1, 102), [1.0] * 100 + [2.0])]) for name in ("n", "alpha")]
    root = parsed(plot_trace(quantities, burn_in=26))
    shades = [each for each in of_class(root, "p-shade") if "p-edge" not in each.attrib["class"]]
    axis = corners(of_class(root, "p-axis")[0].attrib["d"])[0]
    width = axis[-1][0] - axis[0][0]
    assert [number(each, "width") for each in shades] == pytest.approx([width / 4] * 2, abs=0.2)
    assert texts(root).count("burn-in: 26") == 1


def test_a_burn_in_that_is_not_over_shades_what_there_is() -> None:
    [shade] = of_class(parsed(plot_trace([Quantity("n", [Line(0, [1, 2], [1, 2])])], 500, 100)), "p-shade")[1:]
    assert number(shade, "x") + number(shade, "width") == 628


def test_room_is_left_for_the_sweeps_to_come() -> None:
    line = Quantity("n", [Line(0, [1, 51], [1, 2])])
    ends = [
        corners(of_class(parsed(plot_trace([line], last_sweep=last)), "p-line")[1].attrib["d"])[0][-1][0]
        for last in (0, 101)
    ]
    assert ends[1] - 30 == pytest.approx((ends[0] - 30) / 2, abs=12)
