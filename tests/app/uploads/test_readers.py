"""Values of every kind to rows, by one rule in every format; what cannot be stored is a bad line."""

import json
import tracemalloc
from typing import Any

import pytest

from app.uploads.limits import ReadLimits
from app.uploads.rows import BadLine, Row
from tests.app.uploads.files import SMALL, read, reasons, refusal, texts, zip_of
from tests.app.uploads.sending import lines

GOOD = {"text": "good", "label": "x", "key": "k", "counts": None, "year": 1}

ONE_LABEL = "; a document has one label: name another column, or upload without labels by `label=`"


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"text": "a\0b"}, "`text` contains a NUL character"),
        ({"text": "a\ud800"}, "`text` contains half of a surrogate pair at character 2"),
        ({"text": "a", "key": "\udfff"}, "`key` contains half of a surrogate pair at character 1"),
        ({"text": "a", "label": "a\0"}, "`label` contains a NUL character"),
        ({"text": "a", "year": "\0"}, "`year` contains a NUL character"),
        ({"text": "a", "year": {"b": [1, ["\ud800"]]}}, "`year` contains half of a surrogate pair at character 1"),
        ({"text": "a", "year": {"\0": 1}}, "`year` contains a NUL character"),
        ({"text": "a", "b\0": 1}, "`a name` contains a NUL character"),
        ({"text": "a", "key": "k" * 501}, "`key` is longer than 500 characters"),
        ({"text": "a", "label": "l" * 201}, "`label` is longer than 200 characters"),
        ({"text": "a", "key": []}, "`key` is a list"),
        ({"text": "a", "label": ["x"]}, f"`label` is a list{ONE_LABEL}"),
        ({"text": "a", "label": {"x": 1}}, f"`label` is an object{ONE_LABEL}"),
        ({"text": ["a", "b"]}, "`text` is not a string"),
        ({"text": True}, "`text` is not a string"),
        ({"text": {"a": "b"}}, "`text` is not a string"),
        ({"label": "a"}, "the field `text` is missing"),
        ({"text": "x" * 5000}, "`text` is longer than 4096 bytes (NEWFOUND_MAX_DOCUMENT_BYTES)"),
        ({"text": "x" * 9000}, "the line is longer than 8192 bytes (NEWFOUND_MAX_LINE_BYTES)"),
        ({"text": "a", "counts": {"b": 1}}, "the object has both `text` and `counts`"),
        ({"counts": {"b": -1}}, "`counts` of 'b' is not a whole number of 0 or more"),
        ({"counts": {"b": 1.5}}, "`counts` of 'b' is not a whole number of 0 or more"),
        ({"counts": {"b": True}}, "`counts` of 'b' is not a whole number of 0 or more"),
        ({"counts": {"b": "1"}}, "`counts` of 'b' is not a whole number of 0 or more"),
        ({"counts": {" ": 1}}, "`counts` has a blank word"),
        ({"counts": ["b"]}, "`counts` is not an object of words and their counts"),
        (
            {"counts": {"b": 600_000, "c": 400_001}},
            "`counts` are 1000001 words, more than 1000000 (NEWFOUND_MAX_DOCUMENT_TOKENS)",
        ),
        (
            {"text": "a", **{f"f{n}": n for n in range(1001)}},
            "the line is longer than 8192 bytes (NEWFOUND_MAX_LINE_BYTES)",
        ),
    ],
)
def test_a_row_that_cannot_be_stored_is_a_bad_line(row: dict[str, Any], reason: str) -> None:
    found = read(lines(GOOD, row, GOOD))
    assert list(texts(found)) == [1, 3]
    assert reasons(found) == {2: reason}


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (None, None),
        ("", None),
        (" \t\n", None),
        ("  Sport ", "Sport"),
        ("NA", "NA"),
        ("null", "null"),
        ("None", "None"),
        ("a,b", "a,b"),
        ("日本語", "日本語"),
        ("🏈", "🏈"),
        ("Cafe\u0301", "Caf\u00e9"),
        ("\u00a0x\u3000", "x"),
        (3, "3"),
        (3.0, "3"),
        (-0.0, "0"),
        (1.5, "1.5"),
        (1e21, "1000000000000000000000"),
        (1e-7, "0.0000001"),
        (2**70, str(2**70)),
        (True, "true"),
        (False, "false"),
    ],
)
def test_labels_and_keys_have_one_name_however_they_are_written(value: object, name: str | None) -> None:
    assert read(lines({"text": "a", "label": value, "key": value})) == [Row(1, "a", name, name)]


@pytest.mark.parametrize(
    ("value", "text"),
    [(12345, "12345"), (1.5, "1.5"), (None, ""), (" \n ", ""), ("\u3000", ""), (" a ", " a "), ("null", "null")],
)
def test_a_text_is_kept_as_it_is_but_for_numbers_and_blanks(value: object, text: str) -> None:
    assert read(lines({"text": value})) == [Row(1, text, None, None)]


def test_other_columns_are_fields_with_their_values() -> None:
    row = {"text": "a", "year": 1990, "score": 0.5, "tags": ["x", {"y": None}], "none": None, "void": "", "ok": False}
    [found] = read(lines(row))
    assert isinstance(found, Row)
    del row["text"], row["none"]
    assert found.fields == row


def test_what_means_no_label_is_none() -> None:
    rows = [{"text": "a", "label": value} for value in ("N/A", " n/a", "0", 0, "x")]
    found = read(lines(*rows), unlabeled=("N/A", " 0 "))
    assert [row.label for row in found if isinstance(row, Row)] == [None, "n/a", None, None, "x"]


def test_a_value_that_could_be_no_label_means_nothing() -> None:
    assert "a value of unlabeled cannot be a label" in refusal(b"text,label\na,b\n", unlabeled=("\0",))


def test_a_ready_bag_of_words_is_sorted_and_holds_what_occurs() -> None:
    found = read(lines({"counts": {"zebra": 1, "ä": 2.0, 'a"': 3, "none": 0}, "label": 1, "year": 2}, {"counts": {}}))
    assert found == [
        Row(1, '{"a\\"":3,"zebra":1,"ä":2}', None, "1", {"year": 2}, is_counts=True),
        Row(2, "", None, None, None, is_counts=True),
    ]
    assert json.loads(found[0].text) == {'a"': 3, "zebra": 1, "ä": 2}  # type: ignore[union-attr]


def test_a_text_is_as_long_as_its_bytes_in_utf_8() -> None:
    found = read("text\n{}\n{}\n".format("é" * 2048, "é" * 2049).encode())
    assert reasons(found) == {3: "`text` is longer than 4096 bytes (NEWFOUND_MAX_DOCUMENT_BYTES)"}


def test_fields_are_bounded_together_and_say_so() -> None:
    limits = ReadLimits(max_fields_bytes=100)
    whole = {"text": "a", "b": "x" * 50, "c": "y" * 32}  # {"b": "...", "c": "..."} is 100 bytes
    data = lines(whole, {**whole, "d": 1}, {**whole, "c": "é" * 32})
    assert reasons(read(data, limits=limits)) == dict.fromkeys(
        (2, 3), "the columns besides text, label and key are longer than 100 bytes of JSON (NEWFOUND_MAX_FIELDS_BYTES)"
    )
    assert reasons(read(b"text,b,c\n,%s,%s\n,%s,\n" % (b"x" * 50, b"y" * 33, b"\x01" * 30), limits=limits)).keys() == {
        2,
        3,
    }


def test_columns_are_bounded() -> None:
    limits = ReadLimits(max_columns=3)
    assert "4 columns, more than 3 (NEWFOUND_MAX_COLUMNS)" in refusal(b"text,b,c,d\n", limits=limits)
    found = read(b'{"text": "a"}\n' * 100 + b'{"text": "a", "b": 1, "c": 2, "d": 3}\n', limits=limits)
    assert reasons(found) == {101: "the object has 4 fields, more than 3 (NEWFOUND_MAX_COLUMNS)"}


@pytest.mark.parametrize("line", [b"[" * 150_000, b'{"text": "a", "key": ' + b"9" * 4400 + b"}", b'{"a":' * 50_000])
def test_json_made_to_break_a_parser_is_a_bad_line(line: bytes) -> None:
    found = read(b'{"text": "a"}\n' + line + b'\n{"text": "b"}\n', limits=ReadLimits())
    assert texts(found) == {1: "a", 3: "b"}
    assert list(reasons(found)) == [2]


@pytest.mark.parametrize(
    "data",
    [
        b"text,label\n" + b"some words,a\n" * 30_000,
        b'{"text": "some words", "label": "a"}\n' * 20_000,
        b"[" + b'{"text": "some words", "label": "a"},' * 20_000 + b'{"text": ""}]',
        b'{"text": "some words", "vector": [1, 2, 3, 4]}\n' * 20_000,
        b"some words here\n" * 30_000,
        b"1 1:2 5:1\n" * 30_000,
    ],
    ids=["csv", "ndjson", "json", "vectors", "text", "svmlight"],
)
def test_a_large_file_is_read_in_flat_memory(data: bytes) -> None:
    """Rows that were kept would take more than 3 MB beside the data."""
    reading_limits = ReadLimits()
    tracemalloc.start()
    n_rows = count(data[: len(data) // 20], reading_limits)
    _, small = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    assert count(data, reading_limits) > 15 * n_rows
    _, large = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert large < small + len(data) + 3 * 2**20  # the data themselves are in memory here


def count(data: bytes, limits: ReadLimits) -> int:
    """How many rows a file has, none of which is kept."""
    from tests.app.uploads.files import opened

    return sum(isinstance(row, Row) for row in opened(data, limits=limits).rows())


def test_a_field_is_nested_up_to_a_hundred_levels() -> None:
    found = read(b"".join(b'{"text": "a", "b": %s1%s}\n' % (b"[" * n, b"]" * n) for n in (99, 100, 900)))
    assert texts(found) == {1: "a"}
    assert reasons(found) == dict.fromkeys((2, 3), "`b` is nested more than 100 levels deep")


def test_a_file_without_rows_is_refused() -> None:
    for data in (b"", b"\n \r\n", b"\xef\xbb\xbf", b"\xff\xfe"):
        assert refusal(data) == "MalformedRequest: the file is empty"
    assert "no file in it" in refusal(zip_of({"__MACOSX/a": "b", ".DS_Store": "c", "folder/": ""}))
    assert read(b"text,label\n", limits=SMALL) == []


def test_bad_lines_sort_by_number() -> None:
    assert sorted([BadLine(3, "a"), BadLine(1, "b")]) == [BadLine(1, "b"), BadLine(3, "a")]
