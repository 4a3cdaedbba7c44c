"""Refusals of files list what a program can offer its user: the columns, the sheets, and what was probably meant."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.app.uploads.files import workbook
from tests.app.uploads.sending import new_corpus


def refused(client: TestClient, name: str, content: bytes, **options: Any) -> Any:
    """The problem that an upload ends with."""
    corpus = new_corpus(client)
    answer = client.post(f"{corpus}/documents", files={"file": (name, content)}, params=options)
    assert answer.status_code == 422, answer.text
    assert client.get(corpus).json()["documents"] == 0
    return answer.json()


def test_a_refusal_about_columns_lists_them_and_what_they_are_probably_for(client: TestClient) -> None:
    found = refused(client, "x.csv", b"Title;Abstract;Category\nA;a long text of a document;x\n")
    assert found["columns"] == ["Title", "Abstract", "Category"]
    assert found["suggested"] == {"text": ["Abstract"], "label": "Category", "key": None}


def test_what_is_suggested_is_accepted(client: TestClient) -> None:
    content = b"Title;Abstract;Category\nA;a long text of a document;x\nB;another one of them;y\n"
    suggested = refused(client, "x.csv", content)["suggested"]
    options = {name: value for name, value in suggested.items() if value is not None}
    answer = client.post(f"{new_corpus(client)}/documents", files={"file": ("x.csv", content)}, params=options)
    assert answer.json()["labeled"] == 2


@pytest.mark.parametrize(
    ("content", "options", "columns", "suggested"),
    [
        (b"text,Class\na,b\n", {}, ["text", "Class"], {"text": ["text"], "label": "Class", "key": None}),
        (b"text,key\na,b\n", {"label": "nil"}, ["text", "key"], {"text": ["text"], "label": None, "key": "key"}),
        (b"text,a,a\nb,c,d\n", {}, ["text", "a", "a"], {"text": ["text"], "label": None, "key": None}),
    ],
)
def test_so_does_one_about_a_label_or_about_names(
    client: TestClient, content: bytes, options: dict[str, str], columns: list[str], suggested: dict[str, Any]
) -> None:
    found = refused(client, "x.csv", content, **options)
    assert (found["columns"], found["suggested"]) == (columns, suggested)


def test_a_first_row_that_may_be_a_header_is_listed(client: TestClient) -> None:
    found = refused(client, "x.csv", b"alpha,beta,\none,two,three\n")
    assert found["columns"] == ["alpha", "beta", "column 3"]
    assert "suggested" not in found


@pytest.mark.parametrize("encoding", ["windows-1252", "utf-16-le"])
def test_a_refusal_about_the_encoding_suggests_one(client: TestClient, encoding: str) -> None:
    content = "text,label\nder K\u00e4se war s\u00fc\u00df,K\u00fcche\n".encode(encoding)
    assert refused(client, "x.csv", content)["suggested"] == {"charset": encoding}


def test_a_refusal_about_a_sheet_lists_all_of_them(client: TestClient) -> None:
    content = workbook(first=[["text"], ["a"]], second=[["text"], ["b"]])
    assert refused(client, "x.xlsx", content, sheet="third")["sheets"] == ["first", "second"]
