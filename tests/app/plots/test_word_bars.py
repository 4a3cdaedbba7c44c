"""The small bars of top words."""

import pytest

from app.plots.word_bars import plot_word_bars
from tests.app.plots.reading import corners, of_class, parsed, texts

WORDS = [(f"interferometry{i}", 1234 - 100 * i) for i in range(10)]


def test_a_document_is_as_long_for_every_word() -> None:
    root = parsed(plot_word_bars(WORDS, False, "Top words of new 1", "words-6"))
    [bars] = of_class(root, "p-new")
    strokes = corners(bars.attrib["d"])
    lengths = [stroke[1][0] - stroke[0][0] for stroke in strokes]
    assert len(lengths) == 8
    assert lengths == pytest.approx([n / 1234 * lengths[0] for _, n in WORDS[:8]], abs=0.1)
    assert [stroke[0][1] for stroke in strokes] == sorted({stroke[0][1] for stroke in strokes})
    assert [each for each in texts(root) if each.isdigit()] == [str(n) for _, n in WORDS[:8]]


def test_it_is_less_than_one_and_a_half_kilobytes() -> None:
    plain = [
        (word, n) for word, n in zip(("plasma", "electron", "tokamak", "laser") * 2, range(900, 100, -100), strict=True)
    ]
    plot = plot_word_bars(plain, False, "Top words of new 12: plasma, electron, laser", "words-c-7q3kx9")
    assert len(plot.svg.encode()) < 1500


def test_shares_are_drawn_as_well_as_counts() -> None:
    root = parsed(plot_word_bars([("a", 0.02), ("b", 0.01)], True, "Top words", "words"))
    first, second = corners(of_class(root, "p-known")[0].attrib["d"])
    assert first[1][0] - first[0][0] == pytest.approx(2 * (second[1][0] - second[0][0]), abs=0.1)
    assert {"0.0200", "0.0100"} <= set(texts(root))


def test_each_has_a_name_of_its_own_on_the_page() -> None:
    first, second = (parsed(plot_word_bars(WORDS, False, "Top words", name)) for name in ("words-1", "words <2>"))
    assert [each.get("id") for each in (first[0], second[0])] == ["words-1-title", "words--2--title"]


def test_it_does_not_grow_with_the_page_as_other_plots_do() -> None:
    classes = [parsed(plot_word_bars(words, False, "Top words", "words")).get("class") for words in (WORDS, [])]
    assert classes == ["plot plot-small"] * 2
