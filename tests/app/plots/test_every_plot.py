"""What holds for all plots: they say what they show, break at nothing, and let nothing out of its quotes."""

import json
import re
from collections.abc import Callable

import pytest

from app.plots.style import STYLE, standalone
from app.plots.svg import Plot
from tests.app.plots.examples import EXAMPLES, LITTLE, NOTHING
from tests.app.plots.reading import number, parsed, texts

HOSTILE = "</text><script>alert(1)</script>\" onload='x' & ]]>\x00\x1b[31m\ufffe\u202e\N{GRINNING FACE}"
XML_SPACE = "{http://www.w3.org/2000/svg}"


def every(name: str) -> list[Plot]:
    return [example(name) for example in EXAMPLES] + [case() for cases in (NOTHING, LITTLE) for case in cases.values()]


def test_a_plot_is_an_image_with_title_and_description() -> None:
    for plot in every("a name"):
        root = parsed(plot)
        title, description = root[0], root[1]
        assert (root.tag, root.get("role"), title.tag, description.tag) == ("svg", "img", "title", "desc")
        assert root.get("aria-labelledby") == f"{title.get('id')} {description.get('id')}"
        assert title.text
        assert description.text


def test_nothing_within_a_plot_has_a_style_of_its_own() -> None:
    for plot in every("a name"):
        for each in parsed(plot).iter():
            assert each.tag not in ("style", "script", "foreignObject", "a", "image")
            assert not {name for name in each.attrib if name in ("style", "fill", "stroke") or name.startswith("on")}


def test_every_class_is_in_the_style_sheet() -> None:
    known = set(re.findall(r"\.([\w-]+)", STYLE))
    used = {name for plot in every("a name") for each in parsed(plot).iter() for name in each.get("class", "").split()}
    assert used <= known
    assert len(used) > 15


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_name_that_is_markup_is_text(example: Callable[[str], Plot]) -> None:
    plain, hostile = parsed(example("name")), parsed(example(HOSTILE))
    assert {each.tag for each in hostile.iter()} <= {each.tag for each in plain.iter()} | {"title"}
    assert {key for each in hostile.iter() for key in each.attrib} == {
        key for each in plain.iter() for key in each.attrib
    }
    whole = "".join(hostile.itertext())
    assert ("<script>" in whole) == ("name" in "".join(plain.itertext()))
    assert not re.search("[\x00-\x08\x0b-\x1f\ufffe\u202e]", whole)


def test_the_numbers_of_a_plot_are_a_table_without_nan() -> None:
    for plot in every(HOSTILE):
        assert all(len(row) == len(plot.columns) for row in plot.rows)
        json.dumps(plot.rows, allow_nan=False)


@pytest.mark.parametrize("case", NOTHING)
def test_a_plot_of_nothing_says_so_in_a_sentence(case: str) -> None:
    plot = NOTHING[case]()
    [sentence] = texts(parsed(plot))
    assert sentence.endswith(".")
    assert parsed(plot)[1].text == sentence
    assert plot.rows == []
    assert plot.columns


@pytest.mark.parametrize("case", LITTLE)
def test_little_or_broken_numbers_are_drawn(case: str) -> None:
    plot = LITTLE[case]()
    assert plot.rows
    assert not re.search(r'="[^"]*(nan|inf)', plot.svg)


def test_positions_lie_within_the_plot() -> None:
    for plot in every("a name"):
        root = parsed(plot)
        _, _, width, height = map(float, root.attrib["viewBox"].split())
        for each in root.iter():
            for name, largest in (("x", width), ("cx", width), ("y", height), ("cy", height)):
                if name in each.attrib:
                    assert -0.5 <= number(each, name) <= largest
            assert number(each, "x") + number(each, "width") <= width + 0.5 if each.tag == "rect" else True


def test_the_same_numbers_give_the_same_bytes() -> None:
    assert every("a name") == every("a name")


def test_a_file_has_its_colors_its_background_and_its_size() -> None:
    for plot in every(HOSTILE):
        file = standalone(plot)
        assert file.startswith('<?xml version="1.0" encoding="UTF-8"?>\n')
        root = parsed(plot._replace(svg=file.partition("\n")[2]))
        style, background = root[0], root[1]
        assert (root.tag, style.tag, background.tag) == (f"{XML_SPACE}svg", f"{XML_SPACE}style", f"{XML_SPACE}rect")
        _, _, width, height = root.attrib["viewBox"].split()
        assert (root.get("width"), root.get("height")) == (width, height)
        assert (background.get("width"), background.get("height")) == (width, height)
        assert [each.tag for each in root[2:]] == [f"{XML_SPACE}{each.tag}" for each in parsed(plot)]
