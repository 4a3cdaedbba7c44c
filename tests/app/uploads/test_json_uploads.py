"""JSON as programs write it: a line each, an array, an array in an object, or one after the other."""

import json

import pytest

from app.uploads.limits import ReadLimits
from app.uploads.rows import Row
from tests.app.uploads.files import opened, read, reasons, refusal, texts

TWO = [Row(1, "one two", None, "a"), Row(2, "three", None, None)]
OBJECTS = [{"text": "one two", "label": "a"}, {"text": "three"}]


@pytest.mark.parametrize(
    ("data", "format"),
    [
        ("\n".join(map(json.dumps, OBJECTS)), "ndjson"),
        ("\r\n".join(map(json.dumps, OBJECTS)) + "\r\n", "ndjson"),
        ("\r".join(map(json.dumps, OBJECTS)), "ndjson"),
        ("\ufeff" + "\n".join(map(json.dumps, OBJECTS)), "ndjson"),
        (json.dumps(OBJECTS), "json"),
        (json.dumps(OBJECTS, indent=2), "json"),
        ("[" + ",\n".join(map(json.dumps, OBJECTS)) + "]", "json"),
        (json.dumps({"documents": OBJECTS}), "json"),
        (json.dumps({"documents": OBJECTS, "n": 2, "by": {"x": [1]}}, indent=1), "json"),
        ('{"data": [\n' + ",\n".join(map(json.dumps, OBJECTS)) + "\n]}", "json"),
        ("\n".join(json.dumps(row, indent=2) for row in OBJECTS), "json"),
        ("".join(map(json.dumps, OBJECTS)), "json"),
    ],
)
@pytest.mark.parametrize("content_type", [None, "application/json", "application/x-ndjson", "text/plain"])
def test_objects_are_found_wherever_they_stand(data: str, format: str, content_type: str | None) -> None:
    reading = opened(data.encode(), None, content_type)
    found = [row._replace(line=n) for n, row in enumerate(reading.rows(), 1)]
    assert found == TWO
    if "}{" not in data:
        assert reading.format == format


def test_a_line_that_is_no_object_is_a_bad_line() -> None:
    data = b'{"text": "a"}\n\n["b"]\n3\nnonsense\n{"text": "c"\n  \n{"text": "d", "n": Infinity}\n{"text": "e"}'
    found = read(data)
    assert texts(found) == {1: "a", 9: "e"}
    assert reasons(found) == {
        3: "the line is JSON, but not an object",
        4: "the line is JSON, but not an object",
        5: "the line is not JSON: Expecting value at character 1",
        6: "the line is not JSON: Expecting ',' delimiter at character 13",
        8: "the line has Infinity, which is no number of JSON",
    }


def test_what_python_writes_for_missing_values_is_null() -> None:
    assert read(b'{"text": "a", "label": NaN, "n": NaN}\n') == [Row(1, "a", None, None)]


def test_a_number_that_no_float_holds_is_refused_with_its_line() -> None:
    assert reasons(read(b'{"text": "a"}\n{"text": "b", "n": 1e999}')) == {2: "the line has a number that is too large"}


def test_an_item_that_is_no_object_costs_itself() -> None:
    found = read(b'[{"text": "a"}, 3, [], {"text": "b"}]')
    assert texts(found) == {1: "a", 4: "b"}
    assert set(reasons(found)) == {2, 3}


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (b"", "the array breaks off before its end"),
        (b",", "the item is not JSON"),
        (b', {"text": "b"', "the item is not JSON"),
        (b' {"text": "b"}]', "the item before has no comma after it"),
        (b", nonsense]", "the item is not JSON"),
        (b"] more", "there is more after the array"),
        (b', {"text": 1e999}]', "the item has a number that is too large"),
        (b', {"text": "' + b"x" * 9000 + b'"}]', "the item is longer than 8192 bytes"),
    ],
)
def test_what_is_damaged_ends_an_array_and_says_so(end: bytes, reason: str) -> None:
    found = read(b'[{"text": "a"}' + end)
    assert texts(found) == {1: "a"}
    assert list(reasons(found)) == [2]
    assert reasons(found)[2].startswith(reason)
    assert reasons(found)[2].endswith("; nothing after it can be read")


def test_what_holds_no_objects_is_refused() -> None:
    assert refusal(b'["a", "b"]') == (
        "MalformedRequest: the file cannot be read: item 1: the item is JSON, but not an object"
    )
    assert refusal(b"{}").endswith("there is no column `text`: the file has no columns")
    assert refusal(b"[]").endswith("the file is empty")


def test_a_second_array_of_objects_is_not_lost_in_silence() -> None:
    found = read(b'{"train": [{"text": "a"}], "test": [{"text": "b"}]}')
    assert reasons(found) == {2: "the object holds a second array of objects; nothing after it can be read"}


def test_an_item_may_be_as_long_as_several_pieces() -> None:
    rows = [{"text": "x" * 700_000, "label": "a"}, {"text": "y"}]
    found = read(json.dumps(rows).encode(), limits=ReadLimits())
    assert [row.text for row in found if isinstance(row, Row)] == ["x" * 700_000, "y"]


def test_the_columns_are_those_of_the_first_hundred_objects() -> None:
    late = [{"text": "a"}] * 99 + [{"text": "a", "Class": "x"}]
    assert "did you mean label=Class?" in refusal("\n".join(map(json.dumps, late)).encode())
    later = [{"text": "a"}] * 100 + [{"text": "a", "Class": "x"}]
    last = read("\n".join(map(json.dumps, later)).encode())[-1]
    assert last == Row(101, "a", None, None, {"Class": "x"})


def test_a_later_object_may_write_a_columns_name_in_another_way() -> None:
    data = b'{"text": "a", "label": "x"}\n{"TEXT": "b", "La bel": "y"}\n{"text": "c", "Text": "d"}\n'
    assert "several columns" not in str(read(data))
    assert [row[1:5] for row in read(data)] == [
        ("a", None, "x", None),
        ("b", None, "y", None),
        ("c", None, None, {"Text": "d"}),
    ]


def test_objects_without_any_text_are_refused_together() -> None:
    data = b'{"id": 1, "body": "long words here", "n": "x"}\n'
    assert "the file has the columns id, body, n; did you mean text=body?" in refusal(data)
    assert read(data, text=("body",), label="n", key="id") == [Row(1, "long words here", "1", "x")]
