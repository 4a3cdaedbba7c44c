"""Lines and records of the worst files that somebody may send, however their chunks fall."""

import tracemalloc
from typing import Any

import pytest

from app.uploads.csv_rows import CsvReader
from app.uploads.rows import BadLine, NdjsonReader, Row
from app.uploads.store import Batch
from tests.app.uploads.sending import lines


def read(reader: NdjsonReader | CsvReader, data: bytes, size: int) -> list[Row | BadLine]:
    """What a reader finds in data that comes in chunks of some size."""
    found = [row for at in range(0, len(data), size) for row in reader.feed(data[at : at + size])]
    return found + list(reader.end())


def reasons(found: list[Row | BadLine]) -> dict[int, str]:
    return {bad.line: bad.reason for bad in found if isinstance(bad, BadLine)}


def texts(found: list[Row | BadLine]) -> dict[int, str]:
    return {row.line: row.text for row in found if isinstance(row, Row)}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"text": "a\0b"}, "NUL"),
        ({"text": "a\ud800"}, "surrogate"),
        ({"text": "a", "key": "\udfff"}, "surrogate"),
        ({"text": "a", "label": "\0"}, "NUL"),
        ({"text": "a", "key": "k" * 501}, "500"),
        ({"text": "a", "label": "l" * 201}, "200"),
        ({"text": "a", "key": 1.5}, "neither"),
        ({"text": "a", "key": True}, "neither"),
        ({"text": "a", "key": []}, "neither"),
        ({"text": "a", "label": 3}, "neither"),
        ({"text": None}, "not a string"),
        ({"text": "x" * 5000}, "longer than 4096 bytes"),
    ],
)
def test_a_row_that_cannot_be_stored_is_a_bad_line(row: dict[str, Any], reason: str) -> None:
    found = read(NdjsonReader(4096), lines({"text": "good"}, row, {"text": "good"}), size=100)
    assert list(texts(found)) == [1, 3]
    assert reason in reasons(found)[2]


@pytest.mark.parametrize("line", [b"[" * 4000, b'{"text": "a", "key": ' + b"9" * 4400 + b"}"])
def test_json_made_to_break_a_parser_is_a_bad_line(line: bytes) -> None:
    assert list(reasons(read(NdjsonReader(10_000), line, size=10_000))) == [1]
    assert list(reasons(read(NdjsonReader(200_000), b"[" * 150_000, size=10_000))) == [1]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_lines_are_the_same_however_the_chunks_fall(size: int) -> None:
    data = (
        b'\xef\xbb\xbf{"text": "a"}\r\n\r\n  \n{"text": "\xc3\xa9"}\r\n{"text": "' + b"x" * 90 + b'"}\n{"text": "b"}\r'
    )
    found = read(NdjsonReader(50), data, size)
    assert texts(found) == {1: "a", 4: "é", 6: "b"}
    assert reasons(found) == {5: "the line is longer than 50 bytes"}


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_a_csv_record_may_go_over_several_lines(size: int) -> None:
    data = b'\xef\xbb\xbftext,key\r\n"one ""quoted""\r\n\r\nthree",a\r\nplain 5" pipe,b\r\n\n"",c\n"x, y"z,"d"\n'
    found = read(CsvReader(1000), data, size)
    assert texts(found) == {2: 'one "quoted"\n\nthree', 5: 'plain 5" pipe', 7: "", 8: "x, yz"}
    assert [row.key for row in found if isinstance(row, Row)] == ["a", "b", "c", "d"]


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_quote_that_is_never_closed_costs_one_line(size: int) -> None:
    found = read(CsvReader(1000), b'text,key\na,1\n"b,2\nc,3\nd,4\n', size)
    assert texts(found) == {2: "a", 4: "c", 5: "d"}
    assert list(reasons(found)) == [3]


def test_a_quote_that_is_not_closed_within_the_limit_costs_one_line() -> None:
    data = b'text\n"open\n' + b"".join(b"line %d\n" % n for n in range(100))
    found = read(CsvReader(200), data, 64)
    assert list(reasons(found)) == [2]
    assert len(texts(found)) == 100


def test_quotes_that_open_again_and_again_take_linear_time() -> None:
    found = read(CsvReader(2**20), b'text,key\n"open\n' + b'a"b,"c\n' * 30_000, 2**16)
    assert len(found) == 30_001
    assert texts(found) == {}


def test_a_record_of_many_lines_takes_the_memory_of_its_bytes() -> None:
    tracemalloc.start()
    reader = CsvReader(2**20)
    found = read(reader, b'text,key\n"' + b"\n" * 200_000, 2**14)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert reasons(found) == {2: "a quote that opens here is never closed"}
    assert peak < 4 * 2**20


def test_a_batch_is_full_by_the_memory_of_all_its_fields() -> None:
    for text, key in (("a" * 300_000, "k"), ("a", "k" * 300_000), ("\N{GREEK SMALL LETTER PI}" * 75_000, "k")):
        batch = Batch()
        batch.add(Row(1, text, key, None))
        assert not batch.is_full
        batch.add(Row(2, text, key, None))
        assert batch.is_full


def test_a_csv_record_with_other_fields_than_the_header_is_a_bad_line() -> None:
    found = read(CsvReader(1000), b"text,key\na\nb,1,2\nc,3\nd\rd,4\ne\xff,5\n\x00,6\n", 1000)
    assert texts(found) == {4: "c"}
    assert list(reasons(found)) == [2, 3, 5, 6, 7]


def test_an_object_with_more_fields_than_anybody_needs_is_a_bad_line() -> None:
    row = b'{"text": "a", ' + b",".join(b'"%d":1' % n for n in range(1100)) + b"}"
    found = read(NdjsonReader(2**20), row, size=1000)
    assert reasons(found) == {1: "the object has 1101 fields, more than 1000"}
