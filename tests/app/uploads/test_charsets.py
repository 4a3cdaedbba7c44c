"""Encodings: declared and honoured, or UTF-8; otherwise the whole file is refused, with a guess."""

import gzip
from typing import Any

import pytest

from app.uploads.limits import ReadLimits
from app.uploads.rows import Row
from tests.app.uploads.files import opened, read, refusal, zip_of

GERMAN = "text,label\r\nder K\u00e4se war s\u00fc\u00df,K\u00fcche\r\nplain,Koch\r\n"
ROWS = [Row(2, "der K\u00e4se war s\u00fc\u00df", None, "K\u00fcche"), Row(3, "plain", None, "Koch")]
CHINESE = "text,label\n\u8fd9\u662f\u4e00\u4e2a\u5173\u4e8e\u4e2d\u6587\u6587\u672c\u7684\u6d4b\u8bd5,\u4f53\u80b2\n"
RUSSIAN = "text,label\nпроверка кодировки текста,спорт\n"  # noqa: RUF001


@pytest.mark.parametrize(
    ("encoding", "options"),
    [
        ("utf-8", {}),
        ("utf-8-sig", {}),
        ("utf-8-sig", {"charset": "UTF-8"}),
        ("utf-16", {}),
        ("utf-16", {"charset": "utf-16"}),
        ("utf-32", {}),
        ("utf-16-le", {"charset": "utf-16-le"}),
        ("utf-16-be", {"charset": "UTF-16BE"}),
        ("utf-16-be", {"charset": "utf-16"}),
        ("utf-16-le", {"charset": "utf-16"}),
        ("cp1252", {"charset": "windows-1252"}),
        ("cp1252", {"charset": "cp1252"}),
        ("latin-1", {"charset": "ISO-8859-1"}),
        ("cp850", {"charset": "cp850"}),
        ("mac_roman", {"charset": "macintosh"}),
        ("gb18030", {"charset": "gb18030"}),
    ],
)
def test_a_file_in_its_declared_encoding_or_with_a_mark_is_read(encoding: str, options: dict[str, Any]) -> None:
    assert read(GERMAN.encode(encoding), "x.csv", **options) == ROWS


def test_a_charset_may_be_declared_in_the_content_type() -> None:
    assert read(GERMAN.encode("cp1252"), None, 'text/csv; charset="windows-1252"') == ROWS
    assert "which is it?" in refusal(GERMAN.encode(), None, "text/csv; charset=utf-8", charset="cp1252")
    assert read(GERMAN.encode("cp1252"), None, "text/csv; charset=windows-1252", charset="cp1252") == ROWS


@pytest.mark.parametrize(
    ("text", "encoding", "guess"),
    [
        (GERMAN, "cp1252", "windows-1252"),
        (GERMAN, "utf-16-le", "utf-16-le"),
        (GERMAN, "utf-16-be", "utf-16-be"),
        (CHINESE, "gb18030", "gb18030"),
        (RUSSIAN, "cp1251", "windows-1251"),
    ],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_an_undeclared_encoding_is_a_refusal_of_the_whole_file_with_a_guess(
    text: str, encoding: str, guess: str, pack: Any
) -> None:
    found = refusal(pack(text.encode(encoding)), "x.csv")
    assert found.startswith("MalformedRequest: the file is not ")
    assert found.endswith(f"it looks like {guess}: upload it with charset={guess}")
    content, _, label = text.splitlines()[1].rpartition(",")
    assert read(pack(text.encode(encoding)), "x.csv", charset=guess)[0] == Row(2, content, None, label)


@pytest.mark.parametrize("n_before", [0, 1, 1000, 2**20 - 8, 2**20 - 1, 2**20, 2**20 + 5])
def test_the_refusal_says_where_the_encoding_is_broken(n_before: int) -> None:
    """Files are checked in pieces of 2^20 bytes; a character may lie across their border."""
    start = b"text\n" + b"\xc3\xa9" * (n_before // 2) + b"x" * (n_before % 2) + b"\r\n"
    found = refusal(start + b"\xc3\xa9 \xff\n" + b"more\n", "x.csv", limits=ReadLimits())
    assert f"at byte offset {len(start) + 3} (line 3)" in found


def test_a_file_that_breaks_off_within_a_character_is_refused() -> None:
    assert "at byte offset 6 (line 2)" in refusal(b"text\na\xc3", "x.csv")
    assert "at byte offset 14 (line 2)" in refusal("text\na".encode("utf-16") + b"\0", "x.csv")


@pytest.mark.parametrize(
    "charset", ["klingon", "", "rot13", "base64", "zlib", "utf-7", "idna", "unicode_escape", "a\0", "\u00e9", "x" * 99]
)
def test_a_charset_that_is_none_is_refused_with_some_that_are(charset: str) -> None:
    if charset:
        assert "is not known; some that are: utf-8, utf-16" in refusal(b"text\na\n", charset=charset)
    else:
        assert read(b"text\na\n", charset=charset) == [Row(2, "a", None, None)]


def test_a_charset_that_the_file_is_not_in_is_refused() -> None:
    assert "the file is not ascii, the declared charset, at byte offset 17 (line 2)" in refusal(
        GERMAN.encode("cp1252"), "x.csv", charset="ascii"
    )
    assert "begins with the byte order mark of utf-8" in refusal(GERMAN.encode("utf-8-sig"), charset="cp1252")
    assert "begins with the byte order mark of utf-16-le" in refusal(GERMAN.encode("utf-16"), charset="utf-8")


def test_a_zip_is_refused_with_the_name_of_the_file_that_is_not_utf_8() -> None:
    data = zip_of({"a/1.txt": "fine", "b/2.txt": "der K\u00e4se war s\u00fc\u00df".encode("cp1252")})
    assert refusal(data).startswith(
        "MalformedRequest: b/2.txt: the file is not utf-8, at byte offset 5 (line 1); it looks like"
    )
    assert [row.text for row in read(data, charset="windows-1252") if isinstance(row, Row)] == [
        "fine",
        "der K\u00e4se war s\u00fc\u00df",
    ]


def test_a_charset_means_nothing_where_the_format_has_its_own() -> None:
    assert opened(b"text\na\n").charset == "utf-8"
    assert opened("text\na\n".encode("utf-16")).charset == "utf-16-le"
    assert opened(b"text\na\n", charset="cp1252").charset == "windows-1252"
