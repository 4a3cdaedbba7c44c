"""Methods side by side, their dots and whiskers read back into means and errors."""

from itertools import pairwise

import pytest

from app.plots.methods import MOST, Estimate, Method, plot_methods
from app.plots.svg import Plot
from tests.app.plots.reading import corners, hint, number, of_class, parsed, texts

METHODS = [
    Method("calibrated", {"NMI": Estimate(0.82, 0.02, 10), "ARI": Estimate(0.7, 0.05, 10)}),
    Method("lbpl-ntm", {"NMI": Estimate(0.8, 0.01, 10), "ARI": Estimate(0.75, None, 1)}),
    Method("sskm", {"NMI": Estimate(0.6, 0.04, 10), "ARI": Estimate(None, None, 0)}),
]


def dots(plot: Plot, score: str) -> dict[str, tuple[float, float]]:
    """Where the mean of each method is, by the method."""
    found = {}
    for dot in of_class(parsed(plot), "p-dot"):
        method, _, said = hint(dot).partition(": ")
        if said.startswith(score):
            found[method] = (number(dot, "cx"), number(dot, "cy"))
    return found


def test_dots_stand_as_far_apart_as_the_means_and_a_method_on_one_line() -> None:
    plot = plot_methods(METHODS)
    nmi, ari = dots(plot, "NMI"), dots(plot, "ARI")
    assert list(nmi) == ["calibrated", "lbpl-ntm", "sskm"]
    assert list(ari) == ["calibrated", "lbpl-ntm"], "what has no mean has no dot"
    per_unit = (nmi["calibrated"][0] - nmi["sskm"][0]) / 0.22
    assert nmi["lbpl-ntm"][0] - nmi["sskm"][0] == pytest.approx(0.2 * per_unit, abs=0.2)
    assert ari["calibrated"][1] == nmi["calibrated"][1]
    assert [below - above for (_, above), (_, below) in pairwise(nmi.values())] == [26.0, 26.0]


def test_whiskers_are_one_standard_error_to_each_side() -> None:
    plot = plot_methods(METHODS)
    nmi = dots(plot, "NMI")
    per_unit = (nmi["calibrated"][0] - nmi["sskm"][0]) / 0.22
    whiskers = [corners(each.attrib["d"]) for each in of_class(parsed(plot), "p-bracket")]
    assert len(whiskers) == 4, "one split has no error"
    [left, across, right] = whiskers[0]
    assert across[-1][0] - across[0][0] == pytest.approx(2 * 0.02 * per_unit, abs=0.3)
    assert (across[0][0] + across[-1][0]) / 2 == pytest.approx(nmi["calibrated"][0], abs=0.2)
    assert (left[0][0], right[0][0]) == (across[0][0], across[-1][0])


def test_the_best_mean_of_each_score_is_filled_and_named() -> None:
    plot = plot_methods(METHODS)
    best = [hint(dot).partition(": ")[0] for dot in of_class(parsed(plot), "p-best")]
    assert best == ["calibrated", "lbpl-ntm"]
    assert parsed(plot)[1].text == "NMI: calibrated is best with 0.820. ARI: lbpl-ntm is best with 0.750."


def test_the_table_has_what_is_drawn() -> None:
    assert plot_methods(METHODS).rows[:2] == [
        ["calibrated", "NMI", 0.82, 0.02, 10],
        ["calibrated", "ARI", 0.7, 0.05, 10],
    ]


def test_a_score_that_no_method_has_is_no_panel() -> None:
    plot = plot_methods([Method("a", {"NMI": Estimate(0.5, 0.1, 2), "ARI": Estimate(None, None, 0)})])
    assert "NMI" in texts(parsed(plot))
    assert "ARI" not in texts(parsed(plot))


def test_many_methods_are_drawn_up_to_a_number_and_all_in_the_table() -> None:
    plot = plot_methods([Method(f"m{i}", {"NMI": Estimate(i / 100, 0.01, 3)}) for i in range(MOST + 5)])
    assert len(of_class(parsed(plot), "p-dot")) == MOST
    assert len(plot.rows) == MOST + 5
