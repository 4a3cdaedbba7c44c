"""Whatever bytes are sent as a file, nothing comes out but rows, bad lines and the documented refusals."""

import gzip
import io
import json
import random
import zipfile

import pyarrow
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from app.core.errors import MalformedRequest, UnsupportedUpload, UploadTooLarge
from app.uploads.columns import ReadOptions
from app.uploads.formats import look
from app.uploads.limits import ReadLimits
from app.uploads.rows import BadLine
from tests.app.uploads.files import workbook, zip_of

LIMITS = ReadLimits(
    max_bytes=2**20, max_document_bytes=500, max_line_bytes=1000, max_fields_bytes=300, max_columns=20, max_files=20
)


def parquet_of(rows: dict[str, list[object]]) -> bytes:
    """A file of Parquet."""
    out = io.BytesIO()
    parquet.write_table(pyarrow.table(rows), out)
    return out.getvalue()


MAIL = (
    "From: a@example.org\nSubject: =?utf-8?q?K=C3=A4se?=\nContent-Type: multipart/mixed; boundary=z\n\n"
    "--z\nContent-Type: text/plain; charset=iso-8859-1\n\nhi\n--z--\n"
)
FILES = {
    "csv": b'key,text,label,year\nk,"a\nb",x,1\nl,"open,y,2\nm,c,,3\n;;\n',
    "tsv": b"text\tlabel\r\na\tx\r\nb\t\r\n",
    "ndjson": b'{"text": "a", "label": 1.5, "z": {"q": [1, null]}}\n{"text": "b\\ud83d\\ude00"}\n',
    "counts": b'{"counts": {"a": 1, "b": 2.0}, "label": "x"}\n{"counts": {}}\n',
    "json": b'{"documents": [{"text": "a"}, {"text": "b", "x": {"y": [1, NaN]}}], "n": 3}',
    "text": b"a line\nanother line\n",
    "svmlight": b"1 1:3 4:1\n-1 qid:2 2:2 # note\n",
    "utf-16": "text,label\n\u00e4,\u00f6\n".encode("utf-16"),
    "gzip": gzip.compress(b'{"text": "a"}\n' * 3),
    "zip": zip_of({"top/sport/1.txt": "ball", "top/unlabeled/2.txt": "x", "top/a/3.eml": MAIL}),
    "table in a zip": zip_of({"a.csv": "text,label\na,b\n"}),
    "xlsx": workbook(a=[["Text", "Label", "n"], ["x y", 3, 2.5], ["u", "v", True]]),
    "parquet": parquet_of({"text": ["a", None, "c"], "label": [1, 2, 3], "l": [[1.5], [], None]}),
}

options = st.builds(
    ReadOptions,
    format=st.sampled_from([None, None, None, "csv", "tsv", "ndjson", "json", "text", "svmlight"]),
    charset=st.sampled_from([None, None, None, "utf-8", "utf-16", "cp1252", "shift_jis", "utf-16-be"]),
    delimiter=st.sampled_from([None, None, None, ";", "tab", "\u00e9"]),
    has_header=st.sampled_from([None, None, True, False]),
    text=st.sampled_from([(), (), ("text",), ("1",), ("a", "b")]),
    label=st.sampled_from([None, None, "", "2"]),
)


def check(data: bytes, said: ReadOptions = ReadOptions(), name: str | None = None) -> None:  # noqa: B008
    """Read some bytes: whatever comes out can be stored, and is the same again."""
    try:
        reading = look(io.BytesIO(data), name, None, said, LIMITS)
        found = list(reading.rows())
        assert list(reading.rows()) == found
    except (MalformedRequest, UnsupportedUpload, UploadTooLarge) as error:
        error.detail.encode()
        assert len(error.detail) < 10_000
        return
    json.dumps([reading.columns, reading.warnings], allow_nan=False)
    for row in found:
        assert row.line > 0
        if isinstance(row, BadLine):
            row.reason.encode()
            assert len(row.reason) < 1_000
            continue
        stored = [row.text, row.key or "", row.label or "", json.dumps(row.fields, ensure_ascii=False, allow_nan=False)]
        assert not any("\0" in value for value in stored)
        "".join(stored).encode()
        assert row.text == "" or row.text.strip()
        assert len(row.text.encode()) <= 500
        assert row.key is None or 0 < len(row.key) <= 500
        assert row.label is None or 0 < len(row.label) <= 200


@given(data=st.binary(max_size=300), said=options)
@example(data=b"", said=ReadOptions())
def test_any_bytes_are_rows_or_a_refusal(data: bytes, said: ReadOptions) -> None:
    check(data, said)


alphabet = st.text(st.sampled_from(list("{}[]\":,;\t|\n\r '\\#0123.eE+-aétext\ufeff\u2028\0")), max_size=80)


@given(data=alphabet, said=options, start=st.sampled_from(["", "text,label\n", "[", '{"text":', '{"a": [{', "1 1:"]))
def test_any_text_of_special_characters_is_rows_or_a_refusal(data: str, said: ReadOptions, start: str) -> None:
    check((start + data).encode(), said)


@settings(max_examples=200)
@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["text", "TEXT", "label", "key", "counts", "a", "b\0", "\ud800"]),
            st.recursive(
                st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("\ud800"),
                lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
                max_leaves=5,
            ),
        ),
        max_size=5,
    )
)
def test_any_objects_are_rows_or_a_refusal(rows: list[dict[str, object]]) -> None:
    check("\n".join(map(json.dumps, rows)).encode())
    check(json.dumps(rows).encode())


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Some bytes that are nearly these."""
    found = bytearray(data)
    for _ in range(chance.choice([1, 1, 2, 5])):
        at, action = chance.randrange(len(found) + 1), chance.randrange(4)
        if action == 0:
            found[at : at + 1] = bytes([chance.randrange(256)])
        elif action == 1:
            del found[at : at + chance.randrange(20)]
        elif action == 2:
            found[at:at] = chance.randbytes(chance.randrange(6))
        else:
            found[at:at] = found[chance.randrange(len(found) + 1) :][:40]
    return bytes(found)


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_is_rows_or_a_refusal(name: str) -> None:
    chance = random.Random(name)
    for _ in range(300):
        check(damaged(FILES[name], chance))


@pytest.mark.parametrize("name", ["zip", "xlsx", "table in a zip", "gzip"])
def test_a_sound_archive_of_damaged_files_is_rows_or_a_refusal(name: str) -> None:
    chance = random.Random(name)
    for _ in range(300):
        if name == "gzip":
            check(gzip.compress(damaged(gzip.decompress(FILES[name]), chance)))
            continue
        with zipfile.ZipFile(io.BytesIO(FILES[name])) as archive:
            files = {member: archive.read(member) for member in archive.namelist()}
        hurt = chance.choice(list(files))
        check(zip_of({**files, hurt: damaged(files[hurt], chance)}))


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_breaks_off_anywhere_is_rows_or_a_refusal(name: str) -> None:
    data = FILES[name]
    for end in range(0, len(data), max(1, len(data) // 200)):
        check(data[:end])
