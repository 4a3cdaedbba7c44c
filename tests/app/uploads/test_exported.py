"""What uploads make of cells as exports write them; the round trips are with the exports."""

from typing import Any

import pytest

from app.uploads.rows import Row
from tests.app.uploads.files import opened, read, reasons, refusal, workbook


def rows(data: bytes, **options: Any) -> list[Row]:
    """The rows of a file that has no bad line."""
    found = read(data, **options)
    assert not reasons(found)
    return [row for row in found if isinstance(row, Row)]


def test_cells_of_json_columns_are_json_where_they_can_be_read_as_such() -> None:
    table = b'text,year,list\n"""a\\r\\n""",2024,"[1, ""b""]"\n2024,"""2024""",[x\n"""a"" b",,null\n'
    found = rows(table, json_column=("text", "year", "list"))
    assert [row.text for row in found] == ["a\r\n", "2024", '"a" b']
    assert [row.fields for row in found] == [{"year": 2024, "list": [1, "b"]}, {"year": "2024", "list": "[x"}, None]


def test_an_apostrophe_is_taken_off_where_an_export_puts_one() -> None:
    table = b"text,label,'=n\n'=1,'-,''@\n'tis,'ok,'=\n"
    found = rows(table, safe=True)
    assert [(row.text, row.label) for row in found] == [("=1", "-"), ("'tis", "'ok")]
    assert [row.fields for row in found] == [{"=n": "'@"}, {"=n": "="}]
    assert rows(table)[0].text == "'=1"


def test_bags_of_words_and_objects_of_fields_may_stand_in_a_table() -> None:
    header, values = ["key", "text", "bag", "rest"], ["k", None, '{"b": 2, "a": 1}', '{" x": 1, "y": null}']
    csv = b'key,text,bag,rest\nk,,"{""b"": 2, ""a"": 1}","{"" x"": 1, ""y"": null}"\n'
    for data in (csv, workbook(sheet=[header, values])):
        [found] = rows(data, counts="bag", fields="rest")
        assert (found.text, found.is_counts, found.fields) == ('{"a":1,"b":2}', True, {" x": 1})


def test_members_of_an_object_in_json_are_columns() -> None:
    data = b'[{"id": 1, "data": {"body": "a", "kind": "b", "n": 1}}]'
    [found] = rows(data, fields="data", text=("body",), label="kind")
    assert (found.text, found.label, found.fields) == ("a", "b", {"id": 1, "n": 1})


@pytest.mark.parametrize("cell", ["[1]", "{", "x"])
def test_a_cell_that_is_no_object_costs_its_row(cell: str) -> None:
    found = read(f"text|counts\n|{cell}\na|\n".encode(), counts="counts", delimiter="|")
    assert reasons(found) == {2: "`counts` is not an object of JSON"}
    found = read(b'text|counts\na|{"b": 1}\na|\n', counts="counts", delimiter="|")
    assert reasons(found) == {2: "the row has both a text and a bag of words"}


def test_what_means_nothing_is_refused() -> None:
    assert "safe means nothing here: the file is ndjson" in refusal(b'{"text": "a"}\n', safe=True)
    for option, value in (("counts", "a"), ("fields", "a"), ("json_column", ("a",))):
        assert f"{option} means nothing here" in refusal(b"a text\n", format="text", **{option: value})
    for option in ("counts", "fields"):
        assert "there is no column nowhere" in refusal(b"text,label\na,b\n", **{option: "nowhere"})
    assert opened(b"text,label\na,b\n", counts="label", label="").columns["text"] == ["text", "label"]
