"""ZIP, gzip, XLSX and Parquet: what is in them, and bombs that stop at the limit."""

import builtins
import datetime
import gzip
import io
import struct
import sys
import zipfile
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from app.uploads.columns import ReadOptions
from app.uploads.formats import look
from app.uploads.limits import ReadLimits
from app.uploads.rows import Row
from tests.app.uploads.files import opened, read, reasons, refusal, texts, with_members_changed, workbook, zip_of

ROWS = [["Text", "Label"], ["some words", "a"]]
MAIL = (
    "From: =?utf-8?q?J=C3=BCrgen?= <j@example.org>\r\nTo: you@example.org\r\nSubject: =?utf-8?q?K=C3=A4se?=\r\n"
    "Content-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: 8bit\r\n\r\ns\u00fc\u00df\r\n"
).encode("latin-1")


def test_the_folder_of_a_file_is_its_label_and_its_path_the_key() -> None:
    data = zip_of(
        {
            "news/sport/1.txt": "ball",
            "news/art/old/2.txt": "\ufeffpicture\r\nframe",
            "news/unlabeled/3.txt": "who knows",
            "news/Unlabelled/4.txt": "who",
            "./news//5.txt": "top",
            "news/sport/.hidden": "\0",
            "__MACOSX/news/sport/._1.txt": "\0",
            "news/sport/Thumbs.db": "\0",
            "news/empty/": "",
        }
    )
    assert read(data, "news.zip") == [
        Row(1, "ball", "news/sport/1.txt", "sport"),
        Row(2, "picture\nframe", "news/art/old/2.txt", "art/old"),
        Row(3, "who knows", "news/unlabeled/3.txt", None),
        Row(4, "who", "news/Unlabelled/4.txt", None),
        Row(5, "top", "news/5.txt", None),
    ]
    assert {row.label for row in read(data, label="", key="") if isinstance(row, Row)} == {None}


def test_a_folder_that_holds_all_files_is_no_label_and_that_is_reported() -> None:
    reading = opened(zip_of({"mails/1.txt": "a", "mails/2.txt": "b"}))
    assert [row.label for row in reading.rows() if isinstance(row, Row)] == [None, None]
    assert "All files are in the folder 'mails'" in reading.warnings[0]


def test_a_mail_is_its_subject_and_its_plain_text() -> None:
    html = b"Subject: x\nContent-Type: multipart/alternative; boundary=z\n\n--z\nContent-Type: text/html\n\n<b>no</b>\n"
    both = html + b"--z\nContent-Type: text/plain\n\nyes\n--z--\n"
    wrong = b"Subject: x\nContent-Type: text/plain; charset=klingon\n\nhi\n"
    found = read(zip_of({"in/1.eml": MAIL, "in/2.eml": both, "out/3.eml": wrong, "out/4.eml": b"\xff\xfe\0"}))
    assert found[0] == Row(
        1,
        "K\u00e4se\n\ns\u00fc\u00df",
        "in/1.eml",
        "in",
        {"from": "J\u00fcrgen <j@example.org>", "to": "you@example.org"},
    )
    assert texts(found)[2] == "x\n\nyes"
    assert reasons(found)[3] == "out/3.eml: the mail is not in klingon, the charset that it declares"
    assert len(found) == 4


def test_a_single_table_in_a_zip_is_that_table() -> None:
    assert read(zip_of({"data/train.csv": "text,label\na,b\n", "__MACOSX/x": ""})) == [Row(2, "a", None, "b")]
    assert "upload tables one after the other" in refusal(zip_of({"a.csv": "text\n", "b.csv": "text\n"}))


def test_a_picture_among_texts_costs_itself() -> None:
    found = read(
        zip_of({"a/1.png": b"\x89PNG\r\n\x1a\n\0\xff", "a/2.txt": "x", "a/3.txt": "y\0", "b/4.txt": "z" * 5000})
    )
    assert texts(found) == {2: "x"}
    assert reasons(found) == {
        1: "a/1.png: the file is an image, not a text",
        3: "a/3.txt: `text` contains a NUL character",
        4: "a/4.txt: `text` is longer than 4096 bytes (NEWFOUND_MAX_DOCUMENT_BYTES)".replace("a/4", "b/4"),
    }


def test_a_sheet_is_read_with_its_kinds_of_values() -> None:
    when = datetime.datetime
    data = workbook(
        empty=[],
        data=[
            [None, None, None, None, None],
            ["Text", "Label", "When", "Number", "Is"],
            ["some words", 3, when(2020, 1, 2), 2.5, True],
            [None, None, None, None, None],
            [12, " a ", when(2020, 1, 2, 3, 4), 7.0, None],
        ],
        more=[["x"]],
    )
    reading = opened(data)
    assert list(reading.rows()) == [
        Row(3, "some words", None, "3", {"When": "2020-01-02", "Number": 2.5, "Is": True}),
        Row(5, "12", None, "a", {"When": "2020-01-02T03:04:00", "Number": 7}),
    ]
    assert reading.warnings[0].startswith("Only the sheet data was read; the workbook also has more.")
    assert "no column that is known: 'x'" in refusal(data, sheet="more")
    assert refusal(data, sheet="Data").endswith("there is no sheet Data: the workbook has empty, data, more")


def test_a_sheet_may_have_no_header() -> None:
    data = workbook(a=[["some words", "x"], ["others", "y"]])
    assert "header=false" in refusal(data)
    found = read(data, has_header=False, text=("1",), label="2")
    assert found == [Row(1, "some words", None, "x"), Row(2, "others", None, "y")]


def test_a_hidden_sheet_is_read_only_by_its_name() -> None:
    data = workbook(lists=[["no"], ["yes"]], data=ROWS)
    hidden = with_members_changed(data, "workbook.xml", b'name="lists"', b'name="lists" state="hidden"')
    assert "no column that is known: 'no'" in refusal(data)
    assert read(hidden) == [Row(2, "some words", None, "a")]
    assert read(hidden, sheet="lists", text=("no",)) == [Row(2, "yes", None, None)]


def test_an_empty_workbook_is_refused() -> None:
    assert "no sheet of the workbook has anything in it" in refusal(workbook(a=[], b=[]))


def test_parquet_is_read_with_its_kinds_of_values() -> None:
    out = io.BytesIO()
    table = {
        "Text": ["a", None, "c"],
        "label": [1, 2, None],
        "when": [datetime.date(2020, 1, 2), None, None],
        "numbers": [[1.5, float("nan")], [], None],
    }
    parquet.write_table(pyarrow.table(table), out)
    assert read(out.getvalue()) == [
        Row(1, "a", None, "1", {"when": "2020-01-02", "numbers": [1.5, None]}),
        Row(2, "", None, "2", {"numbers": []}),
        Row(3, "c", None, None),
    ]
    assert refusal(out.getvalue()[:-10]).startswith("MalformedRequest: the Parquet file cannot be read")


def test_parquet_says_how_to_install_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    imported = builtins.__import__

    def without_pyarrow(name: str, *arguments: Any, **words: Any) -> Any:
        if name.partition(".")[0] == "pyarrow":
            raise ImportError(name)
        return imported(name, *arguments, **words)

    monkeypatch.setattr(builtins, "__import__", without_pyarrow)
    assert "pip install 'newfound[parquet]'" in refusal(b"PAR1....PAR1")


@pytest.mark.parametrize(
    "data",
    [
        gzip.compress(b'{"text": "a"}\n{"text": "b"}\n'),
        gzip.compress(b'{"text": "a"}\n') + gzip.compress(b'{"text": "b"}\n'),
        gzip.compress(b'{"text": "a"}\n{"text": "b"}\n') + b"\0" * 512,
        gzip.compress(gzip.compress(b'{"text": "a"}\n{"text": "b"}\n')),
        gzip.compress(zip_of({"x.ndjson": b'{"text": "a"}\n{"text": "b"}\n'})),
    ],
    ids=["one", "two streams", "padded", "twice", "zip"],
)
def test_what_is_compressed_by_gzip_is_read(data: bytes) -> None:
    assert texts(read(data, "documents.ndjson.gz")) == {1: "a", 2: "b"}


def test_gzip_that_is_damaged_is_refused() -> None:
    data = gzip.compress(b'{"text": "a"}\n' * 100)
    assert "breaks off before its end" in refusal(data[:-9])
    assert "damaged" in refusal(data[:-6] + b"123456")
    assert "damaged" in refusal(data + b"something else")
    assert "more than 2 times" in refusal(gzip.compress(gzip.compress(data)))


@pytest.mark.parametrize("size", [2**20, 2**18, 2**18 - 1, 2**18 + 1, 3])
def test_gzip_up_to_the_limit_is_read_and_one_byte_more_is_not(size: int) -> None:
    data = gzip.compress(b"x" * (size - 1) + b"\n")
    limits = ReadLimits(max_bytes=size)
    assert opened(data, "a.txt.gz", limits=limits).format == "text"
    limits = ReadLimits(max_bytes=size - 1)
    assert refusal(data, "a.txt.gz", limits=limits) == (
        f"UploadTooLarge: the upload is larger than {size - 1} bytes when it is decompressed "
        "(NEWFOUND_MAX_UPLOAD_BYTES)"
    )


def test_bombs_stop_at_the_limit() -> None:
    zeros = b"\0" * 2**24
    too_large = (
        "UploadTooLarge: the upload is larger than 1048576 bytes when it is decompressed (NEWFOUND_MAX_UPLOAD_BYTES)"
    )
    assert refusal(gzip.compress(zeros)) == too_large
    assert refusal(zip_of({"a.txt": zeros})) == too_large
    assert refusal(zip_of({"a.csv": zeros})) == too_large
    assert refusal(zip_of({f"{n}.txt": b"x" * 2**17 for n in range(9)})) == too_large
    assert (
        refusal(with_members_changed(workbook(a=ROWS), "workbook.xml", b"<sheets>", b" " * 2**24 + b"<sheets>"))
        == too_large
    )


def test_a_zip_that_lies_about_its_sizes_stops_at_the_limit() -> None:
    data = bytearray(zip_of({"a.txt": b"x" * 2**24}))
    for mark, at in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        place = data.index(mark) + at
        data[place : place + 4] = struct.pack("<I", 2**31)
    assert "larger than 1048576 bytes" in refusal(bytes(data))


def test_a_sheet_with_a_cell_far_away_is_refused_before_it_fills_the_memory() -> None:
    data = workbook(a=ROWS)
    for place in (b'r="XFD1048576"', b"r = 'XFD1048576'", b'r="XFD1048576"' + b" " * 300_000):
        found = refusal(with_members_changed(data, "sheet1.xml", b'r="B2"', place), limits=ReadLimits())
        assert found.startswith(
            "UploadTooLarge: a sheet has 1048576 rows and 16384 columns, more than 5000000 cells (NEWFOUND_MAX_CELLS)"
        )
    found = refusal(with_members_changed(data, "sheet1.xml", b'row r="2"', b'row r="99999999"'), limits=ReadLimits())
    assert "99999999 rows" in found


def test_the_cells_of_all_sheets_count_together() -> None:
    data = workbook(a=[["text"], ["a"]], b=[["text"], ["a"]])
    assert len(read(data, limits=ReadLimits(max_cells=4))) == 1
    assert "the sheets have more than 3 cells (NEWFOUND_MAX_CELLS) together" in refusal(
        data, limits=ReadLimits(max_cells=3)
    )


def test_what_is_decompressed_goes_into_the_folder_that_is_named() -> None:
    data = io.BytesIO(gzip.compress(b"text\n" + b"a\n" * 2**20))
    with pytest.raises(FileNotFoundError):
        look(data, None, None, ReadOptions(), ReadLimits(), folder="/nowhere")


def test_a_string_that_many_cells_share_counts_once_for_each() -> None:
    data = workbook(a=[["text"], *[["x" * 30_000]] * 100])
    assert len(data) < 2**15
    assert (
        refusal(data)
        == "UploadTooLarge: the upload is larger than 1048576 bytes when it is decompressed (NEWFOUND_MAX_UPLOAD_BYTES)"
    )
    assert len(read(data, limits=ReadLimits())) == 100


def test_a_zip_has_a_greatest_number_of_files() -> None:
    data = zip_of({f"a/{n}": "x" for n in range(4)})
    assert len(read(data, limits=ReadLimits(max_files=4))) == 4
    lying = bytearray(data)
    end = data.rindex(b"PK\x05\x06")
    lying[end + 8 : end + 12] = b"\1\0\1\0"  # one file, it says
    assert refusal(bytes(lying), limits=ReadLimits(max_files=3)).startswith("UploadTooLarge: the ZIP holds more than 3")
    assert (
        refusal(data, limits=ReadLimits(max_files=3))
        == "UploadTooLarge: the ZIP holds more than 3 files (NEWFOUND_MAX_FILES)"
    )


def test_the_files_of_a_zip_with_a_large_directory_are_counted_too() -> None:
    """Beyond 65,535 files the directory has another end, of ZIP64."""
    data = zip_of({f"{n}": "" for n in range(2**16)}, zipfile.ZIP_STORED)
    assert "more than 65535 files" in refusal(data, limits=ReadLimits(max_files=2**16 - 1))
    assert sum(1 for _ in opened(data, limits=ReadLimits(max_files=2**16)).rows()) == 2**16


def test_a_zip_with_a_password_or_a_strange_compression_is_refused() -> None:
    data = bytearray(zip_of({"a.txt": "x"}))
    data[data.index(b"PK\x01\x02") + 8] |= 1
    assert "encrypted" in refusal(bytes(data))
    assert "in another way than by deflate" in refusal(zip_of({"a.txt": "x"}, zipfile.ZIP_BZIP2))
    assert refusal(zip_of({"a.txt": "x" * 100})[:-30]).startswith("MalformedRequest: the ZIP is damaged")


def test_a_damaged_file_in_a_zip_is_a_refusal() -> None:
    data = bytearray(zip_of({"a.txt": "some words"}, zipfile.ZIP_STORED))
    data[data.index(b"some")] ^= 1
    assert "the ZIP is damaged: Bad CRC-32" in refusal(bytes(data))


def test_reading_leaves_no_file_open() -> None:
    """A file that is forgotten open is a ResourceWarning, and warnings are errors here."""
    before = len(list_of_open_files())
    for _ in range(2):
        reading = opened(gzip.compress(b"text\n" + b"a\n" * 2**19), limits=ReadLimits())
        assert sum(1 for _ in reading.rows()) == 2**19
        del reading
    assert len(list_of_open_files()) == before


def list_of_open_files() -> list[str]:
    """The files that this process has open."""
    from pathlib import Path

    assert sys.platform == "linux"
    return [str(path) for path in Path("/proc/self/fd").iterdir()]
