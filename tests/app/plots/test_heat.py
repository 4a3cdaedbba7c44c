"""The tables of shades: gold labels by categories, and categories by topics."""

import random

import pytest

from app.plots.heat import SHADES
from app.plots.matrix import Count, plot_matrix
from app.plots.svg import Plot
from app.plots.topics import CategoryRow, TopicColumn, plot_topics
from tests.app.plots.reading import corners, hint, number, of_class, parsed, texts

COUNTS = [
    Count("optics", True, 1, "optics", True, 90),
    Count("optics", True, 0, "astronomy", True, 10),
    Count("astronomy", True, 0, "astronomy", True, 40),
    Count("plasma", False, 2, "new 1: river", False, 1),
    Count("plasma", False, 3, "new 2: plasma", False, 59),
    Count("flood", False, 2, "new 1: river", False, 30),
]


def square(n: int) -> list[Count]:
    """As many labels as categories, half of them known, every pair with documents."""
    rng = random.Random(n)
    return [
        Count(f"label {i}", i < n // 2, j, f"label {j}" if j < n // 2 else f"new {j}", j < n // 2, documents)
        for i in range(n)
        for j in range(n)
        if (documents := rng.randint(1, 9) + (300 if i == j else 0))
    ]


def cells(plot: Plot) -> dict[str, tuple[float, float, int]]:
    """Column, row and shade of each cell, by what is said of it."""
    return {
        hint(each).split(":" if "→" not in hint(each) else ": ")[0]: (
            number(each, "x"),
            number(each, "y"),
            int(each.attrib["class"].removeprefix("p-h")),
        )
        for each in parsed(plot).iter("rect")
        if hint(each)
    }


def test_a_cell_is_as_dark_as_its_share_of_the_row() -> None:
    shades = {
        hint(each).split("% of")[0].rsplit(" ", 1)[-1].strip("\u202f<>"): int(each.attrib["class"].removeprefix("p-h"))
        for each in parsed(plot_matrix(COUNTS)).iter("rect")
        if hint(each)
    }
    assert shades == {"90": 9, "10": 1, "100": SHADES - 1, "2": 0, "98": 9}


def test_agreement_lies_on_the_diagonal() -> None:
    root = parsed(plot_matrix(COUNTS))
    cells = [each for each in root.iter("rect") if hint(each)]
    columns = sorted({number(each, "x") for each in cells})
    rows = sorted({number(each, "y") for each in cells})
    found = {(rows.index(number(each, "y")), columns.index(number(each, "x"))): hint(each) for each in cells}
    assert {place: said.split(":")[-1].split(",")[0].strip() for place, said in found.items()} == {
        (0, 0): "90", (0, 1): "10", (1, 1): "40", (2, 2): "59", (2, 3): "1", (3, 3): "30"
    }  # fmt: skip
    assert [each.text for each in of_class(root, "p-newname")] == ["new 2: plasma", "new 1: river", "plasma", "flood"]


@pytest.mark.parametrize("n", [40, 41, 120])
def test_large_tables_lose_no_document(n: int) -> None:
    counts = square(n)
    plot = plot_matrix(counts)
    root = parsed(plot)
    drawn = [each for each in root.iter("rect") if hint(each)]
    pale = [stroke for each in of_class(root, "p-h0", tag="path") for stroke in corners(each.attrib["d"])]
    size = min(n, 40)
    assert len(drawn) + len(pale) == size**2
    assert sum(int(row[2] or 0) for row in plot.rows) == sum(count.documents for count in counts)
    assert len(plot.svg.encode()) < 100_000
    more = [each for each in texts(root) if "more" in each]
    assert more == ([] if n == 40 else [f"{n - 39} more categories", f"{n - 39} more labels"])


def test_the_largest_labels_and_categories_stay() -> None:
    counts = [*square(60), Count("rare", True, 999, "rare", True, 1), Count("big", False, 998, "new big", False, 10**6)]
    lines = texts(parsed(plot_matrix(counts)))
    assert {"big", "new big"} <= set(lines)
    assert "rare" not in lines


def test_numbers_are_printed_where_they_fit() -> None:
    few = texts(parsed(plot_matrix(COUNTS)))
    many = texts(parsed(plot_matrix(square(40))))
    assert {"90", "10", "40", "59", "1", "30"} <= set(few)
    assert not [each for each in many if each.isdigit()]


CATEGORIES = [CategoryRow("new 1", False, {0: 0.62, 4: 0.2, 7: 0.003}), CategoryRow("optics", True, {4: 0.95})]
TOPICS = [TopicColumn(topic, [f"word{topic}", "b"]) for topic in (0, 4, 7)]


def test_topics_are_as_dark_as_their_weight() -> None:
    plot = plot_topics(CATEGORIES, TOPICS)
    root = parsed(plot)
    shades = [(hint(each)[:6], each.get("class")) for each in root.iter("rect") if hint(each)]
    assert shades == [("new 1:", "p-h6"), ("new 1:", "p-h2"), ("new 1:", "p-h0"), ("optics", "p-h9")]
    assert {"62", "20", "95", "0: word0, b"} <= set(texts(root))
    assert plot.rows == [["new 1", 0, 0.62], ["new 1", 4, 0.2], ["new 1", 7, 0.003], ["optics", 4, 0.95]]


def test_at_most_forty_categories_and_twenty_topics_are_drawn() -> None:
    topics = [TopicColumn(topic, ["word"]) for topic in range(50)]
    plot = plot_topics([CategoryRow(f"category {i}", True, dict.fromkeys(range(50), 0.02)) for i in range(300)], topics)
    root = parsed(plot)
    pale = [stroke for each in of_class(root, "p-h0", tag="path") for stroke in corners(each.attrib["d"])]
    assert len(pale) + len([each for each in root.iter("rect") if hint(each)]) == 40 * 20
    assert "first 40 categories and 20 topics" in (root[1].text or "")
    assert len(plot.rows) == 300 * 50
    assert len(plot.svg.encode()) < 100_000


def test_heads_do_not_reach_beyond_the_plot() -> None:
    counts = [Count(f"{i} {'long name ' * 5}", True, i, f"{i} {'long name ' * 5}", True, 5) for i in range(12)]
    root = parsed(plot_matrix(counts))
    heads = [each for each in root.iter("text") if each.get("transform")]
    assert len(heads) == 12
    assert all(number(each, "x") + 140 * 0.7072 <= 640 + 5 for each in heads)
    assert all(number(each, "y") - 140 * 0.7072 >= 10 for each in heads)
