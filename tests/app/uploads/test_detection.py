"""Formats: as declared, by the file's name, or by how it begins; what is something else is named."""

import codecs
from typing import Any

import pytest

from app.uploads.rows import Row
from tests.app.uploads.files import opened, read, refusal, workbook, zip_of

CSV = b"text,label\na,b\n"
NDJSON = b'{"text": "a", "label": "b"}\n'
GENERIC = (
    None,
    "",
    "application/octet-stream",
    "application/x-www-form-urlencoded",
    "text/plain",
    "APPLICATION/OCTET-STREAM",
)


@pytest.mark.parametrize("content_type", GENERIC)
@pytest.mark.parametrize(
    ("data", "format"),
    [
        (CSV, "csv"),
        (NDJSON, "ndjson"),
        (b"[" + NDJSON + b"]", "json"),
        (b"1 1:2 3:1\n-1 2:1\n", "svmlight"),
        (workbook(a=[["text"], ["a"]]), "xlsx"),
        (zip_of({"a/b.txt": "c"}), "zip"),
        (b"First a line of prose.\nThen another one, with a comma.\n", "text"),
    ],
)
def test_a_client_that_knows_nothing_leaves_it_to_the_content(
    content_type: str | None, data: bytes, format: str
) -> None:
    assert opened(data, None, content_type).format == format


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("a.csv", "csv"),
        ("A.CSV", "csv"),
        ("a.b.tsv", "tsv"),
        ("a.tab", "tsv"),
        ("a.txt", "csv"),
        ("a.csv.gz", "csv"),
        ("noname", "csv"),
        ("", "csv"),
        ("a.", "csv"),
    ],
)
def test_the_ending_of_a_name_says_the_format(name: str, format: str) -> None:
    data = CSV.replace(b",", b"\t")
    assert opened(data, name).format == format
    assert read(data, name) == [Row(2, "a", None, "b")]


def test_what_the_client_says_comes_before_what_the_file_looks_like() -> None:
    assert [row.text for row in read(CSV, format="text") if isinstance(row, Row)] == ["text,label", "a,b"]
    assert opened(b"text\nonly one column\n", None, "text/csv").format == "csv"
    assert opened(b"text\nonly one column\n", "a.csv", "application/octet-stream").format == "csv"
    assert opened(CSV, "a.ndjson", "text/csv").format == "csv"
    assert opened(CSV, "a.csv", "application/vnd.ms-excel").format == "csv"
    assert opened(b"prose\nlines\n", "a.txt").format == "text"
    assert refusal(CSV, format="xml").startswith("UnsupportedUpload: the format 'xml' is not one of ndjson, json, csv")


@pytest.mark.parametrize("content_type", ["image/png", "application/xml", "text/html", "nonsense", "\u00e9/\0"])
def test_a_content_type_that_is_none_of_ours_is_refused(content_type: str) -> None:
    assert refusal(CSV, None, content_type).startswith("UnsupportedUpload: the content type ")


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (b"%PDF-1.7\n", "the file is a PDF: extract its text first"),
        (b"\x89PNG\r\n\x1a\n", "the file is an image"),
        (b"\xff\xd8\xff\xe0", "the file is an image"),
        (b"BZh91AY", "compressed by bzip2: compress it by gzip"),
        (b"\xfd7zXZ\0\0", "compressed by xz"),
        (b"\x28\xb5\x2f\xfd\0", "compressed by zstd"),
        (b"7z\xbc\xaf\x27\x1c", "a 7z archive: pack it as a ZIP"),
        (b"Rar!\x1a\x07", "a RAR archive"),
        (b"SQLite format 3\0", "a SQLite database"),
        (b"{\\rtf1 hello}", "an RTF document"),
        (b"\x80\x04\x95abc", "a pickle of Python"),
        (b"<!DOCTYPE html><p>", "a web page (HTML)"),
        (b"\xef\xbb\xbf <html>", "a web page (HTML)"),
        (b'<?xml version="1.0"?>', "the file is XML"),
        (b"x" * 257 + b"ustar", "a tar archive"),
        (b"From me@x.org Mon Jan 1\nSubject: x\n", "a mailbox (mbox): upload its mails as a ZIP"),
        (codecs.decode("d0cf11e0a1b11ae1", "hex") + b"\0" * 600, "an old Office document: save a workbook as XLSX"),
        (
            codecs.decode("d0cf11e0a1b11ae1", "hex") + "EncryptedPackage".encode("utf-16-le"),
            "the workbook is encrypted: save it without a password",
        ),
        (zip_of({"word/document.xml": "", "[Content_Types].xml": ""}), "a Word document"),
        (zip_of({"ppt/x.xml": "", "[Content_Types].xml": ""}), "a presentation"),
        (zip_of({"mimetype": "application/vnd.oasis", "META-INF/manifest.xml": ""}), "an OpenDocument"),
    ],
)
@pytest.mark.parametrize("content_type", [None, "text/csv"])
def test_what_is_recognizably_something_else_is_named(data: bytes, part: str, content_type: str | None) -> None:
    found = refusal(data, None, content_type)
    assert found.startswith("UnsupportedUpload: the file is ") or "workbook is encrypted" in found
    assert part in found


@pytest.mark.parametrize("format", ["xlsx", "zip", "parquet"])
def test_a_file_that_does_not_begin_as_it_is_said_to_is_refused(format: str) -> None:
    assert refusal(CSV, f"a.{format}") == (
        f"MalformedRequest: the file is said to be {format.upper()}, but does not begin as one"
    )


@pytest.mark.parametrize(
    ("data", "options", "part"),
    [
        (NDJSON, {"delimiter": ";"}, "delimiter means nothing here: the file is ndjson"),
        (NDJSON, {"has_header": True}, "header means nothing here: the file is ndjson"),
        (CSV, {"sheet": "a"}, "sheet means nothing here: the file is csv"),
        (workbook(a=[["text"], ["a"]]), {"charset": "utf-8"}, "charset means nothing here: the file is xlsx"),
        (b"prose\nlines\n", {"format": "text", "label": "x"}, "it has no column x"),
        (b"1 1:2\n", {"key": "x"}, "a file of SVMlight has no column x"),
        (zip_of({"a/b.txt": "c"}), {"text": ("x",)}, "a ZIP of text files has no column x"),
    ],
)
def test_an_option_without_a_meaning_is_refused(data: bytes, options: dict[str, Any], part: str) -> None:
    assert part in refusal(data, **options)


def test_a_table_that_is_said_to_be_svmlight_is_refused() -> None:
    assert "is not SVMlight: its first 100 lines have no word with a count" in refusal(CSV, format="svmlight")


def test_svmlight_is_a_bag_of_numbered_words() -> None:
    data = b"# written by hand\n+1 1:3 14:1 # first\n-1 qid:7 2:2.0\n1.0 3:1.5\n\nspam 5:1\n4:1 4:1\n6:1\n2 \n3 7:x\n"
    found = read(data, "a.svm")
    assert found[0] == Row(2, '{"f1":3,"f14":1}', None, "1", {"comment": "first"}, is_counts=True)
    assert found[1] == Row(3, '{"f2":2}', None, "-1", {"qid": "7"}, is_counts=True)
    assert [type(row).__name__ for row in found] == ["Row", "Row", "BadLine", "Row", "BadLine", "Row", "Row", "BadLine"]
    assert [row.label for row in found if isinstance(row, Row)] == ["1", "-1", "spam", None, "2"]
    assert [row.label for row in read(b"1 1:2\n0 2:1\n", unlabeled=("0",)) if isinstance(row, Row)] == ["1", None]
