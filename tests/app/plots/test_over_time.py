"""Categories over time, the lines read back into documents."""

from itertools import pairwise

import pytest

from app.plots.over_time import Course, filled, plot_over_time
from app.plots.svg import Plot
from tests.app.plots.reading import corners, hint, number, of_class, parsed, texts

PERIODS = ["2024-01", "2024-02", "2024-03"]
COURSES = [Course("new 1", [10, 0, 30]), Course("optics", [5, 20, 10])]


def lines(plot: Plot) -> dict[str, list[list[tuple[float, float]]]]:
    """The strokes of each line, by name."""
    return {
        hint(each).rsplit(":", 1)[0]: corners(each.attrib["d"])
        for each in of_class(parsed(plot), "p-line")
        if hint(each)
    }


def test_lines_are_as_high_as_the_documents() -> None:
    found = lines(plot_over_time(PERIODS, COURSES))
    base = found["new 1"][0][1][1]
    unit = (base - found["new 1"][0][2][1]) / 30
    for course in COURSES:
        assert [(base - y) / unit for _, y in found[course.name][0]] == pytest.approx(course.documents, abs=0.03)


def test_what_has_no_line_of_its_own_is_one_of_the_others() -> None:
    courses = [Course(f"new {i}", [90 - i, 1, 90]) for i in range(10)]
    more = [Course(f"small {i}", [1, 0, 2]) for i in range(30)]
    plot = plot_over_time(PERIODS, courses, more=more)
    found = lines(plot)
    assert set(found) == {*(course.name for course in courses[:8]), "32 others"}
    assert plot.columns == ["period", *(course.name for course in courses), "30 others"]
    assert [row[-1] for row in plot.rows] == [30, 0, 60]
    base = found["new 0"][0][1][1]
    unit = (base - found["new 0"][0][0][1]) / 89
    own = [sum(each.documents[i] for each in (*courses[8:], *more)) for i in range(3)]
    assert [1 + (base - y) / unit for _, y in found["32 others"][0]] == pytest.approx(own, abs=0.5)


def test_shares_are_of_the_documents_of_the_period() -> None:
    found = lines(plot_over_time(PERIODS, COURSES, shares=True))
    first, second = found["new 1"][0], found["optics"][0]
    base, top = first[1][1], second[1][1]  # in the second month the one has none of the documents, the other all
    assert [(base - y) / (base - top) for _, y in first] == pytest.approx([2 / 3, 0, 3 / 4], abs=0.01)
    assert [(base - y) / (base - top) for _, y in second] == pytest.approx([1 / 3, 1, 1 / 4], abs=0.01)


def test_a_month_without_documents_has_none_and_no_share() -> None:
    course = Course("a", [10, 30])
    counts = plot_over_time(["2024-01", "2024-03"], [course])
    shares = plot_over_time(["2024-01", "2024-03"], [course, Course("b", [1, 1])], shares=True)
    assert counts.rows == [["2024-01", 10], ["2024-02", 0], ["2024-03", 30]]
    assert len(lines(counts)["a"][0]) == 3
    assert len(lines(shares)["a"]) == 2
    assert [each.text for each in of_class(parsed(counts), "p-tick") if each.get("text-anchor") == "middle"] == PERIODS


@pytest.mark.parametrize(
    ("periods", "expected"),
    [
        (["2023-11", "2024-02"], ["2023-11", "2023-12", "2024-01", "2024-02"]),
        (["2020-W52", "2021-W01"], ["2020-W52", "2020-W53", "2021-W01"]),
        (["2024-02-28", "2024-03-01"], ["2024-02-28", "2024-02-29", "2024-03-01"]),
        (["1999", "2002"], ["1999", "2000", "2001", "2002"]),
        (["0001-01-01", "2024-01-01"], ["0001-01-01", "2024-01-01"]),
        (["a", "b"], ["a", "b"]),
        (["2024"], ["2024"]),
    ],
)
def test_periods_in_between_are_filled_in(periods: list[str], expected: list[str]) -> None:
    assert filled(periods) == expected


def test_eight_categories_have_lines_of_their_own_and_the_rest_one() -> None:
    courses = [Course(f"category {i}", [i, i + 1, 0]) for i in range(300)]
    plot = plot_over_time(PERIODS, courses)
    found = lines(plot)
    assert set(found) == {f"category {i}" for i in range(292, 300)} | {"292 others"}
    base = found["category 299"][0][2][1]
    heights = {name: base - strokes[0][1][1] for name, strokes in found.items()}
    assert heights["292 others"] / heights["category 299"] == pytest.approx(sum(range(1, 293)) / 300, rel=0.05)
    assert len({each.get("class") for each in of_class(parsed(plot), "p-line") if hint(each)}) == 9
    assert {f"category {i}" for i in range(292, 300)} <= set(texts(parsed(plot)))
    assert len(plot.rows[0]) == 301


def test_ten_years_of_days_are_labeled_without_overlap_and_stay_small() -> None:
    periods = [f"{1000 + i}" for i in range(3650)]
    plot = plot_over_time(periods, [Course(f"category {i}", [(i * j) % 17 for j in range(3650)]) for i in range(9)])
    assert len(plot.svg.encode()) < 60_000
    ticks = [each for each in of_class(parsed(plot), "p-tick") if each.get("text-anchor") == "middle"]
    places = [number(each, "x") for each in ticks]
    assert 5 < len(places) < 10
    assert all(after - before > 60 for before, after in pairwise(places[:-1]))
