"""The map of categories, its marks read back into places and documents."""

import random
from itertools import combinations, pairwise
from math import dist, pi

import pytest

from app.plots.category_map import Place, plot_category_map
from app.plots.svg import Plot, width_of
from tests.app.plots.reading import corners, hint, number, numbers, of_class, parsed, texts

PLACES = [
    Place("astronomy", True, 118, 0.0, 0.0),
    Place("new 1: plasma", False, 400, 3.0, 4.0),
    Place("optics", True, 25, 6.0, 0.0),
    Place("new 2: river", False, 203, 1.0, 2.0),
]


def many(n: int) -> list[Place]:
    """Categories at random places."""
    rng = random.Random(n)
    return [
        Place(f"category {i}", i % 3 > 0, int(1000 * rng.random() ** 4), rng.gauss(0, 2), rng.gauss(0, 1))
        for i in range(n)
    ]


def marks(plot: Plot) -> dict[str, tuple[float, float, float]]:
    """By name: the middle, and the area."""
    found = {}
    for each in of_class(parsed(plot), "p-mark"):
        if hint(each):
            name = hint(each).rsplit(": ", 1)[0]
            if each.tag == "circle":
                found[name] = number(each, "cx"), number(each, "cy"), pi * number(each, "r") ** 2
            else:
                x, y, _, up, *_ = numbers(each.attrib["d"])
                found[name] = x, y, 2 * up**2
    return found


def test_distances_are_in_proportion_in_every_direction() -> None:
    found = marks(plot_category_map(PLACES))
    ratios = [
        dist(found[first.name][:2], found[second.name][:2])
        / dist((first.x or 0, first.y or 0), (second.x or 0, second.y or 0))
        for first, second in combinations(PLACES, 2)
    ]
    assert ratios == pytest.approx([ratios[0]] * 6, rel=0.01)
    assert found["new 1: plasma"][1] < found["astronomy"][1]  # more y is further up


def test_areas_are_in_proportion_to_documents_whatever_the_shape() -> None:
    found = marks(plot_category_map(PLACES))
    ratios = [found[place.name][2] / place.documents for place in PLACES]
    assert ratios == pytest.approx([ratios[0]] * 4, rel=0.05)


def test_known_ones_are_discs_and_new_ones_diamonds() -> None:
    shapes = {hint(each).split(":")[0]: each for each in of_class(parsed(plot_category_map(PLACES)), "p-mark")}
    assert [(shapes[name].tag, "p-known" in shapes[name].attrib["class"]) for name in ("astronomy", "new 1")] == [
        ("circle", True),
        ("path", False),
    ]


def test_labels_lie_within_the_frame_and_cover_neither_each_other_nor_the_middle_of_a_mark() -> None:
    plot = plot_category_map(many(300))
    found = marks(plot)
    assert len(found) == 300
    assert len(plot.svg.encode()) < 50_000
    names = of_class(parsed(plot), "p-halo")
    assert len(names) > 15
    boxes = []
    for each in names:
        width, x, y = width_of(each.text or ""), number(each, "x"), number(each, "y")
        left = x - {"start": 0, "middle": width / 2, "end": width}[each.attrib["text-anchor"]]
        boxes.append((left, y - 10, left + width, y + 2))
        assert left >= 0
        assert left + width <= 640
    for (left, top, right, bottom), other in combinations(boxes, 2):
        assert right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top
    for x, y, _ in found.values():
        assert not any(left < x < right and top < y < bottom for left, top, right, bottom in boxes)


def test_of_more_than_three_hundred_the_largest_are_drawn() -> None:
    plot = plot_category_map(many(310))
    drawn = marks(plot)
    documents = sorted((place.documents for place in many(310)), reverse=True)
    assert len(drawn) == 300
    assert [row[2] for row in plot.rows] == documents
    assert "10 smaller ones are not drawn." in (parsed(plot)[1].text or "")


def test_a_category_without_a_place_is_told() -> None:
    plot = plot_category_map([*PLACES, Place("lost", True, 9, None, 1.0)])
    assert len(marks(plot)) == 4
    assert "1 category has no place." in (parsed(plot)[1].text or "")
    assert "lost" not in texts(parsed(plot))


def test_a_diamond_is_closed_around_its_middle() -> None:
    [mark] = [each for each in of_class(parsed(plot_category_map([Place("a", False, 9, 0.0, 0.0)])), "p-mark", "p-new")
              if hint(each)]  # fmt: skip
    x, y, _, top, *steps = numbers(mark.attrib["d"])
    up = -top
    ends = [(x, y - up)]
    for dx, dy in zip(steps[::2], steps[1::2], strict=True):
        ends.append((ends[-1][0] + dx, ends[-1][1] + dy))
    assert ends == [(x, y - up), (x + up, y), (x, y + up), (x - up, y)]
    assert mark.attrib["d"].endswith("z")
    assert all(dist(a, b) == pytest.approx(up * 2**0.5) for a, b in pairwise(ends))
    assert corners("M0 0z") == [[(0.0, 0.0)]]
