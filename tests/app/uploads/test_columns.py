"""Columns: found by name whatever the writing, chosen by the client, and refused with what was probably meant."""

from typing import Any

import pytest

from app.uploads.rows import Row
from tests.app.uploads.files import opened, read, refusal


@pytest.mark.parametrize("name", ["text", "Text", "TEXT", " t_e-x t ", "\uff34\uff45\uff58\uff54"])  # the last is wide
def test_a_columns_name_is_the_same_in_any_case_and_width(name: str) -> None:
    assert read(f"{name},Label,KEY\na,b,c\n".encode(), "x.csv") == [Row(2, "a", "c", "b")]


@pytest.mark.parametrize(
    ("header", "meant"),
    [
        ("Abstract,Category", "did you mean text=Abstract and label=Category?"),
        ("Kategorie;Inhalt", "did you mean text=Inhalt and label=Kategorie?"),
        ("title,body,topic", "did you mean text=body and label=topic?"),
        ("\u5206\u7c7b,\u5185\u5bb9", "did you mean text=\u5185\u5bb9 and label=\u5206\u7c7b?"),
        ("foo,label,bar", "did you mean text=bar?"),
        ("Class,foo,bar", "did you mean text=bar and label=Class?"),
        ("cat\u00e9gorie,R\u00e9sum\u00e9", "did you mean text=R\u00e9sum\u00e9 and label=cat\u00e9gorie?"),
    ],
)
def test_a_table_without_text_is_refused_with_what_was_probably_meant(header: str, meant: str) -> None:
    delimiter = ";" if ";" in header else ","
    n = header.count(delimiter) + 1
    row = delimiter.join(["short", "a bit longer", "the longest of all of them"][:n])
    found = refusal(f"{header}\n{row}\n{row}\n".encode())
    assert found.startswith("MalformedRequest: there is no column `text`: the file has the columns ")
    assert all(name in found for name in header.split(delimiter))
    assert f"(delimiter: {'semicolon' if delimiter == ';' else 'comma'})" in found
    assert meant in found


def test_a_label_by_another_name_is_refused_unless_the_client_says_that_there_is_none() -> None:
    data = b"text,Category\na,x\n"
    assert refusal(data) == (
        "MalformedRequest: there is no column `label`: the file has the columns text, Category (delimiter: comma); "
        "did you mean label=Category? An empty `label=` uploads the documents without labels"
    )
    assert read(data, label="category") == [Row(2, "a", None, "x")]
    assert read(data, label="") == [Row(2, "a", None, None, {"Category": "x"})]


def test_a_list_of_tags_is_no_label() -> None:
    assert read(b'{"text": "a", "tags": ["x"]}\n') == [Row(1, "a", None, None, {"tags": ["x"]})]


@pytest.mark.parametrize(
    ("options", "row"),
    [
        ({"text": ("title", "body")}, Row(2, "T\n\nB", "k", "a", {"id": "7"})),
        ({"text": ("body", "title")}, Row(2, "B\n\nT", "k", "a", {"id": "7"})),
        ({"text": ("Body",)}, Row(2, "B", "k", "a", {"id": "7", "title": "T"})),
        ({"text": ("body",), "key": "ID"}, Row(2, "B", "7", "a", {"title": "T", "key": "k"})),
        ({"text": ("body",), "key": ""}, Row(2, "B", None, "a", {"id": "7", "title": "T", "key": "k"})),
        ({"text": ("body",), "label": "title"}, Row(2, "B", "k", "T", {"id": "7", "label": "a"})),
        ({"text": ("body", "body")}, Row(2, "B", "k", "a", {"id": "7", "title": "T"})),
    ],
)
def test_the_client_says_which_column_is_what(options: dict[str, Any], row: Row) -> None:
    assert read(b"id,title,body,key,label\n7,T,B,k,a\n", **options) == [row]


def test_an_empty_part_of_a_text_is_left_out() -> None:
    found = read(b"title,body\nT,B\n,B\nT, \n,\n", text=("title", "body"))
    assert [row.text for row in found if isinstance(row, Row)] == ["T\n\nB", "B", "T"]


@pytest.mark.parametrize(
    ("header", "options", "part"),
    [
        (
            "text,label",
            {"label": "Rubrik"},
            "there is no column Rubrik (label=Rubrik): the file has the columns text, label",
        ),
        ("text,label", {"key": "id"}, "there is no column id (key=id)"),
        ("text,label", {"text": ("text", "more")}, "there is no column more (text=more)"),
        ("text,text", {}, "two columns are called text"),
        ("text,a,a", {}, "two columns are called a"),
        ("Text,TEXT", {}, "several columns are called `text`, Text and TEXT"),
        ("text,A b,a_B", {"label": "AB"}, "label=AB may mean A b or a_B"),
        ("text,label", {"text": ("label",)}, "the column label cannot be two of text, label, key and vector"),
        ("text,label", {"label": "text"}, "the column text cannot be two of text, label, key and vector"),
    ],
)
def test_columns_that_cannot_be_meant_are_refused(header: str, options: dict[str, Any], part: str) -> None:
    values = ",".join("x" * header.split(",").__len__())
    found = refusal(f"{header}\n{values}\n".encode(), "x.csv", **options)
    assert found.startswith("MalformedRequest: ")
    assert part in found


def test_a_reading_names_the_columns_that_it_chose() -> None:
    reading = opened(b"Year,Text,Label\n1,a,b\n")
    assert reading.columns == {"text": ["Text"], "label": "Label", "key": None, "vector": None, "fields": ["Year"]}
    assert (reading.format, reading.charset, reading.delimiter) == ("csv", "utf-8", ",")
