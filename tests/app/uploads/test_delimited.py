"""CSV and TSV as spreadsheets and programs of many countries write them."""

import tracemalloc
from typing import Any

import pytest

from app.uploads.limits import ReadLimits
from app.uploads.rows import Row
from tests.app.uploads.files import opened, read, reasons, refusal, texts

ONE = [Row(2, "some words", "k", "a")]


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"key,text,label\nk,some words,a\n", ONE),
        (b"key;text;label\r\nk;some words;a\r\n", ONE),
        (b"key\ttext\tlabel\nk\tsome words\ta", ONE),
        (b"key|text|label\rk|some words|a\r", ONE),
        (b"\xef\xbb\xbfKEY;Text; LABEL \nk;some words;a\n", ONE),
        (b'"key","text","label"\n"k","some words","a"\n', ONE),
        (b"sep=;\nkey;text;label\nk;some words;a\n", [ONE[0]._replace(line=3)]),
        (b'"sep=;"\r\nkey;text;label\r\nk;some words;a\r\n', [ONE[0]._replace(line=3)]),
        (b"\n\nkey,text,label\n\nk,some words,a\n,,\n  \n;;;\n"[:-5], [ONE[0]._replace(line=5)]),
        (b"key;text;label\n;;\nk;some words;a\n;;\n;;\n", [ONE[0]._replace(line=3)]),
        (b'key;text;label\nk;"some; words";a\n', [ONE[0]._replace(text="some; words")]),
        (b'key,text,label\nk,"two\r\nlines",a\nl,b,\n', [Row(2, "two\nlines", "k", "a"), Row(4, "b", "l", None)]),
        (b'key,text,label\rk,"two\rlines",a\rl,b,\r', [Row(2, "two\nlines", "k", "a"), Row(4, "b", "l", None)]),
        (b'text,label\n"say ""hi""",a\n', [Row(2, 'say "hi"', None, "a")]),
        (b'text,label\nplain 5" pipe,a\n', [Row(2, 'plain 5" pipe', None, "a")]),
        (
            b",text\n0,a\n1,b\n",
            [Row(2, "a", None, None, {"column 1": "0"}), Row(3, "b", None, None, {"column 1": "1"})],
        ),
        (b"text\nhello, world\n", [Row(2, "hello", None, None)]),
        (b"ID,text\n7,a\n", [Row(2, "a", None, None, {"ID": "7"})]),
        (
            "text,label\nline\u2028separator\x0b\x1c\x85,a\n".encode(),
            [Row(2, "line\u2028separator\x0b\x1c\x85", None, "a")],
        ),
        (b"text\nNA\nnull\n", [Row(2, "NA", None, None), Row(3, "null", None, None)]),
        (b"text,label\n,a\n", [Row(2, "", None, "a")]),
        (b"text,year\na,\n", [Row(2, "a", None, None)]),
    ],
)
def test_a_table_is_read_as_it_was_meant(data: bytes, found: list[Row]) -> None:
    if data == b"text\nhello, world\n":  # a comma in a column without quotes cannot be meant
        assert reasons(read(data, "x.csv")) == {2: "the record has 2 fields where the first has 1"}
    else:
        assert read(data) == found


@pytest.mark.parametrize(
    ("options", "delimiter"),
    [
        ({"delimiter": ":"}, ":"),
        ({"delimiter": "comma"}, ","),
        ({"delimiter": "Semicolon"}, ";"),
        ({"delimiter": "tab"}, "\t"),
        ({"delimiter": "\\t"}, "\t"),
        ({"delimiter": "pipe"}, "|"),
    ],
)
def test_a_delimiter_that_the_client_names_is_taken(options: dict[str, Any], delimiter: str) -> None:
    data = f"text{delimiter}label\na, b; c{delimiter}x\n".encode() if delimiter not in ",;" else None
    data = data or f"text{delimiter}label\na{delimiter}x\n".encode()
    reading = opened(data, **options)
    assert reading.delimiter == delimiter
    assert [row.label for row in reading.rows() if isinstance(row, Row)] == ["x"]


@pytest.mark.parametrize("delimiter", ["", "ab", '"', "\n", "\0"])
def test_a_delimiter_that_divides_nothing_is_refused(delimiter: str) -> None:
    assert "is not a single character" in refusal(b"text,label\na,b\n", delimiter=delimiter)


def test_a_file_called_tsv_has_tabs() -> None:
    assert read(b"text\tlabel\na, b, c\tx\n", "data.tsv") == [Row(2, "a, b, c", None, "x")]
    assert read(b"text\tlabel\na, b, c\tx\n", None, "text/tab-separated-values") == [Row(2, "a, b, c", None, "x")]


def test_commas_in_texts_do_not_outvote_the_delimiter() -> None:
    data = b"Nr;Beitrag;Sparte\n" + b"1;one, two, three, four;a\n" * 5
    reading = opened(data, "x.csv", text=("Beitrag",), label="Sparte")
    assert reading.delimiter == ";"
    roles = {"text": ["Beitrag"], "label": "Sparte", "key": None, "vector": None}
    assert reading.columns == {**roles, "fields": ["Nr"]}


def test_a_file_without_a_header_is_refused_until_the_client_says_so() -> None:
    data = b"hello there,sport\ngood bye,art\n"
    assert refusal(data).startswith("MalformedRequest: the first row names no column that is known: 'hello there', 's")
    assert "header=false" in refusal(data)
    assert "the file has the columns 1, 2 (no header" in refusal(data, has_header=False)
    assert read(data, has_header=False, text=("1",), label="2") == [
        Row(1, "hello there", None, "sport"),
        Row(2, "good bye", None, "art"),
    ]


def test_a_single_column_without_a_header_is_the_text() -> None:
    assert read(b"hello\nworld\n", "x.csv", has_header=False) == [
        Row(1, "hello", None, None),
        Row(2, "world", None, None),
    ]


def test_a_header_that_nobody_knows_is_one_if_the_client_says_so() -> None:
    assert read(b"foo,bar\na,b\n", text=("bar",)) == [Row(2, "b", None, None, {"foo": "a"})]
    assert "there is no column `text`: the file has the columns foo, bar (delimiter: comma)" in refusal(
        b"foo,bar\na,b\n", has_header=True
    )


def test_a_record_of_another_width_is_a_bad_line() -> None:
    found = read(b"text,key\na\nb,1,2\nc,3\n")
    assert texts(found) == {4: "c"}
    assert reasons(found) == {
        2: "the record has 1 field where the first has 2",
        3: "the record has 3 fields where the first has 2",
    }


def test_a_nul_costs_its_row() -> None:
    found = read(b"text,label,year\na\0,x,1\nb,\0,1\nc,x,\0\nd,x,1\n")
    assert texts(found) == {5: "d"}
    assert [reason.split("`")[1] for reason in reasons(found).values()] == ["text", "label", "year"]


def test_a_quote_that_is_never_closed_costs_one_line() -> None:
    found = read(b'text,key\na,1\n"b,2\nc,3\nd,4\n')
    assert texts(found) == {2: "a", 4: "c", 5: "d"}
    assert reasons(found) == {3: "a quote that opens here is never closed"}


def test_a_quote_that_is_not_closed_within_the_limit_costs_one_line() -> None:
    limits = ReadLimits(max_line_bytes=200)
    found = read(b'text\n"open\n' + b"".join(b"line %d\n" % n for n in range(100)), "x.csv", limits=limits)
    assert reasons(found) == {
        2: "a quote that opens here is not closed within 200 bytes (NEWFOUND_MAX_LINE_BYTES) and 50000 lines"
    }
    assert len(texts(found)) == 100


def test_a_line_that_is_too_long_costs_itself() -> None:
    limits = ReadLimits(max_line_bytes=50)
    data = b'text,key\na,1\n%s\nb,2\n"c\n%s\nd,3\n' % (b"x" * 60, b"y" * 60)
    found = read(data, limits=limits)
    assert texts(found) == {2: "a", 4: "b", 7: "d"}
    assert reasons(found) == {
        3: "the line is longer than 50 bytes (NEWFOUND_MAX_LINE_BYTES)",
        5: "a quote that opens here is not closed before a line that is too long",
        6: "the line is longer than 50 bytes (NEWFOUND_MAX_LINE_BYTES)",
    }


def test_quotes_that_open_again_and_again_take_linear_time() -> None:
    found = read(b'text,key\n"open\n' + b'a"b,"c\n' * 30_000, limits=ReadLimits())
    assert len(found) == 30_001
    assert texts(found) == {}


def test_a_record_of_many_lines_takes_the_memory_of_its_bytes() -> None:
    data = b'text,key\n"' + b"\n" * 200_000
    reading = opened(data, limits=ReadLimits())
    tracemalloc.start()
    found = list(reading.rows())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert reasons(found) == {
        2: "a quote that opens here is not closed within 4194304 bytes (NEWFOUND_MAX_LINE_BYTES) and 50000 lines"
    }
    assert peak < 8 * 2**20


@pytest.mark.parametrize("n_before", range(2**18 - 12, 2**18 + 4, 3))
def test_a_record_may_lie_where_two_pieces_meet(n_before: int) -> None:
    """Pieces of a file are 2^18 bytes; here a record, its CRLF and an umlaut lie across the first border."""
    filler = b"x" * (n_before - 12) + b",\r\n"
    data = b"text,label\r\n" + filler + 'k\u00e4se "wow",\u00e4\r\n"a\r\nb",c\r\n'.encode()
    found = read(data, limits=ReadLimits())
    assert found[1:] == [Row(3, 'k\u00e4se "wow"', None, "\u00e4"), Row(4, "a\nb", None, "c")]
