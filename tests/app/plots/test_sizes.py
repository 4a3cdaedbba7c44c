"""Sizes of categories, the bars read back into documents."""

import pytest

from app.plots.sizes import Size, plot_sizes
from tests.app.plots.reading import corners, hint, number, of_class, parsed, texts

SIZES = [
    Size("astronomy", True, 118, (104, 132)),
    Size("new 2: river, flood", False, 90),
    Size("new 1: plasma, electron", False, 203, (181, 225)),
    Size("optics", True, 412, (380, 440)),
]


def test_new_ones_come_first_each_kind_by_falling_size() -> None:
    plot = plot_sizes(SIZES)
    bars = [each for each in parsed(plot).iter("rect") if hint(each)]
    assert [(hint(bar).split(": ")[-1].split(" ")[0], bar.get("class")) for bar in bars] == [
        ("203", "p-new"),
        ("90", "p-new"),
        ("412", "p-known"),
        ("118", "p-known"),
    ]
    assert [row[2] for row in plot.rows] == [203, 90, 412, 118]


def test_a_document_is_as_long_in_every_bar() -> None:
    bars = [each for each in parsed(plot_sizes(SIZES)).iter("rect") if hint(each)]
    a_document = number(bars[2], "width") / 412
    assert [number(bar, "width") for bar in bars] == pytest.approx(
        [n * a_document for n in (203, 90, 412, 118)], abs=0.1
    )


def test_whiskers_span_the_intervals() -> None:
    root = parsed(plot_sizes(SIZES))
    bars = {hint(each).split(":")[0]: each for each in root.iter("rect") if hint(each)}
    start, a_document = number(bars["optics"], "x"), number(bars["optics"], "width") / 412
    whiskers = [corners(each.attrib["d"]) for each in of_class(root, "p-bracket")[1:]]  # the first is the key
    ends = [(strokes[0][0][0], strokes[0][-1][0]) for strokes in whiskers]
    for (low, high), interval in zip(ends, [(181, 225), (380, 440), (104, 132)], strict=True):
        assert (low, high) == pytest.approx([start + n * a_document for n in interval], abs=0.2)


def test_at_most_forty_bars_are_drawn_and_the_rest_is_told() -> None:
    plot = plot_sizes([Size(f"category {i}", i % 2 == 0, i) for i in range(1, 301)])
    root = parsed(plot)
    assert len([each for each in root.iter("rect") if hint(each)]) == 40
    shown = sum(range(221, 301, 2))
    rest = f"260 more with {sum(range(301)) - shown:,} documents together".replace(",", "\u202f")
    assert rest in texts(root)
    assert rest in (root[1].text or "")
    assert len(plot.rows) == 300
    assert len(plot.svg.encode()) < 20_000


def test_a_long_name_is_cut_but_whole_under_the_pointer() -> None:
    root = parsed(plot_sizes([Size("a name " * 20, False, 3)]))
    [name] = [each for each in root.iter("text") if each.find("title") is not None]
    assert (name.text or "").endswith("…")
    assert hint(name) == ("a name " * 20).strip()
