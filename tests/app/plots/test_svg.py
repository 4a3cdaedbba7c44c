"""Texts in SVG."""

import xml.etree.ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from app.plots.svg import LONGEST, cleaned, element, label, px, shortened, text, width_of


@given(st.text(st.characters(), max_size=40))
def test_any_text_comes_back_as_it_was_but_for_what_xml_forbids(content: str) -> None:
    read = ET.fromstring(text(1, 2, content, "p-text")).text or ""
    assert read == cleaned(content)
    assert [c for c in content if c.isalnum()] == [c for c in read if c.isalnum()]


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_any_attribute_stays_within_its_quotes(content: str) -> None:
    read = ET.fromstring(element("g", id=cleaned(content)))
    assert read.attrib == {"id": cleaned(content)}


@given(st.text(max_size=60), st.floats(20, 400))
def test_a_shortened_name_fits_and_is_whole_or_ends_with_an_ellipsis(name: str, width: float) -> None:
    short = shortened(name, width)
    assert width_of(short) <= width
    assert short == name or (short.endswith("…") and name.startswith(short[:-1]))


def test_a_name_that_is_cut_is_whole_under_the_pointer() -> None:
    cut, whole = (ET.fromstring(label(0, 0, name, 100, "p-text")) for name in ("a very long name indeed", "short"))
    assert cut.findtext("title") == "a very long name indeed"
    assert (cut.text or "").endswith("…")
    assert whole.find("title") is None


def test_a_name_without_end_does_not_fill_the_page() -> None:
    cut = ET.fromstring(label(0, 0, "x" * 100_000, 100, "p-text"))
    assert len(cut.findtext("title") or "") == LONGEST


def test_coordinates_have_a_tenth_of_a_pixel() -> None:
    assert [px(value) for value in (0, -0.01, 1.25, 3.0, 639.96, 12345.67, 1e6)] == [
        "0", "0", "1.2", "3", "640", "12345.7", "1000000"
    ]  # fmt: skip
