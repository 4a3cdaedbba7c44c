"""Vectors in files of all formats: what is one, what is refused, and what stays a field."""

import io
import json
import math
from typing import Any

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from app.core.vectors import from_bytes, to_bytes
from app.uploads.columns import ReadOptions
from app.uploads.formats import look
from app.uploads.rows import BadLine, BadRow, Row
from app.uploads.vector_values import vector_bytes
from tests.app.uploads.files import SMALL, opened, read, reasons, refusal, workbook, zip_of
from tests.app.uploads.sending import lines

GIVEN = [0.5, -1.0, 2, 0.25]
STORED = to_bytes(GIVEN)


def table(**columns: Any) -> bytes:
    """A file of Parquet."""
    out = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), out)
    return out.getvalue()


def csv(*rows: tuple[str, ...]) -> bytes:
    """A file of CSV whose cells need quotes."""
    return "".join(",".join('"' + cell.replace('"', '""') + '"' for cell in row) + "\n" for row in rows).encode()


def npz(**arrays: Any) -> bytes:
    """What numpy.savez writes."""
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def vectors(data: bytes, **options: Any) -> dict[int, bytes | str | None]:
    """What a file of keys and vectors says, by line."""
    found = look(io.BytesIO(data), None, None, ReadOptions(needs_text=False, needs_vector=True, **options), SMALL)
    return {each.line: each.reason if isinstance(each, BadLine) else each.vector for each in found.rows()}


FILES = {
    "ndjson": lines({"text": "a", "vector": GIVEN}, {"text": "b", "vector": None}, {"text": "c"}),
    "json": json.dumps([{"text": "a", "vector": GIVEN}, {"text": "b", "vector": None}, {"text": "c"}]).encode(),
    "csv": csv(("text", "vector"), ("a", "[0.5, -1, 2, 0.25]"), ("b", ""), ("c", "null")),
    "xlsx": workbook(one=[["text", "vector"], ["a", "[0.5, -1, 2, 0.25]"], ["b", ""], ["c", None]]),
    "parquet": table(text=["a", "b", "c"], vector=[GIVEN, None, None]),
    "fixed-size parquet": table(
        text=["a", "b", "c"],
        vector=pyarrow.array([GIVEN, None, None], pyarrow.list_(pyarrow.float32(), 4)),
    ),
    "zip": zip_of({"a.ndjson": lines({"text": "a", "vector": GIVEN}, {"text": "b"}, {"text": "c"})}),
}


@pytest.mark.parametrize("data", FILES.values(), ids=FILES)
def test_a_vector_is_read_in_every_format_of_columns_and_is_no_field(data: bytes) -> None:
    found = read(data)
    assert [row.vector for row in found if isinstance(row, Row)] == [STORED, None, None]
    assert [row.fields for row in found if isinstance(row, Row)] == [None, None, None]
    assert opened(data).columns["vector"] == "vector"


def test_a_stored_vector_has_the_direction_of_the_given_one() -> None:
    stored = from_bytes(STORED).astype(float)
    cosine = stored @ np.array(GIVEN) / np.linalg.norm(stored) / np.linalg.norm(GIVEN)
    assert cosine == pytest.approx(1.0, abs=1e-6)  # float16 keeps 11 bits of each number
    assert np.linalg.norm(stored) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ([1, 2, 3], "3 numbers"),
        ([], "0 numbers"),
        ([1.0] * 4097, "4,097 numbers"),
        ([1, 2, None, 4], "null or NaN at place 3"),
        ([[1, 2, 3, 4]] * 4, "a list at place 1"),
        ([1, 2, 3, {}], "an object at place 4"),
        ([1, "2", 3, 4], "'2' at place 2"),
        ([1, 2, True, 4], "True at place 3"),
        ([1, 2, 3, math.inf], "an infinite number at place 4"),
        ([1, 2, 3, math.nan], "NaN at place 4"),
        ([1, 2, 3, 10**400], "too large"),
        ("[1, 2", "not JSON"),
        ({"a": 1}, "not a list"),
        (3.5, "not a list"),
    ],
)
def test_what_is_no_vector_is_refused_with_the_place(value: object, reason: str) -> None:
    with pytest.raises(BadRow, match=reason):
        vector_bytes(value)


@pytest.mark.parametrize("value", [[0, 0, 0, 0], [0.0] * 4, [1e-320] * 4, [1e300] * 4, [-(10**300)] * 4])
def test_zeros_and_numbers_of_any_size_are_a_vector(value: list[float]) -> None:
    stored = from_bytes(vector_bytes(value) or b"")
    assert np.isfinite(stored).all()
    assert stored.any() == any(value)


def test_a_line_whose_vector_cannot_be_used_is_reported_and_the_others_are_read() -> None:
    data = b'{"text": "a", "vector": [1, 2, 3, NaN]}\n{"text": "b", "vector": [1, 2, 3, 4]}\n'
    data += b'{"text": "c", "vector": [1, 2, 3, Infinity]}\n{"text": "d", "vector": [[1, 2], [3, 4]]}\n'
    found = read(data)
    assert [row.text for row in found if isinstance(row, Row)] == ["b"]
    said = reasons(found)
    assert "NaN" in said[1] and "Infinity" in said[3] and "a list at place 1" in said[4]
    in_parquet = read(table(text=["a", "b"], vector=[[1.0, 2.0, math.nan, 4.0], [1.0, 2.0, 3.0, 4.0]]))
    assert list(reasons(in_parquet)) == [1]


@pytest.mark.parametrize("value", ["mosquito", ["aedes", "culex"], {"kind": "tick"}, 3])
def test_a_column_that_only_happens_to_be_called_vector_stays_a_field(value: object) -> None:
    [first, second] = read(lines({"text": "a", "vector": value}, {"text": "b", "vector": [1, 2, 3, 4]}))
    assert isinstance(first, Row) and isinstance(second, Row)
    assert (first.fields, first.vector) == ({"vector": value}, None)
    assert (second.fields, second.vector) == ({"vector": [1, 2, 3, 4]}, None)
    assert opened(lines({"text": "a", "vector": value})).columns["vector"] is None
    [said] = read(lines({"text": "a", "vector": value}), vector="vector")
    assert isinstance(said, BadLine), "unless the client says that it is one"


def test_the_first_vector_may_come_after_the_lines_that_are_looked_at() -> None:
    found = read(lines(*({"text": f"text {n}"} for n in range(150)), {"text": "last", "vector": GIVEN}))
    assert isinstance(found[-1], Row)
    assert (found[-1].vector, found[-1].fields) == (STORED, None)


def test_the_column_of_the_vector_may_have_another_name_or_be_left_alone() -> None:
    data = lines({"text": "a", "embedding": GIVEN, "vector": [1, 2, 3, 4]})
    [named] = read(data, vector="embedding")
    assert isinstance(named, Row)
    assert (named.vector, named.fields) == (STORED, {"vector": [1, 2, 3, 4]})
    [none] = read(data, vector="")
    assert isinstance(none, Row)
    assert (none.vector, none.fields) == (None, {"embedding": GIVEN, "vector": [1, 2, 3, 4]})
    assert "there is no column other" in refusal(data, vector="other")
    assert "vector means nothing here" in refusal(b"some text\nof two lines\n", vector="v")


def test_keys_and_vectors_are_read_from_arrays_of_numpy() -> None:
    given = np.array([GIVEN, [0, 0, 0, 0], [1, 2, np.nan, 4]], np.float32)
    keys = np.array(["a", "", "c"])
    assert vectors(npz(keys=keys, vectors=given)) == {
        1: STORED,
        2: to_bytes([0, 0, 0, 0]),
        3: "NaN at place 3 of `vector`; a vector is a list of numbers, none of them missing: leave it out as a whole "
        "where there is none",
    }
    assert vectors(npz(keys=np.arange(3), vectors=given.astype(np.float16)))[1] == STORED


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ({"keys": np.array(["a"], object), "vectors": np.ones((1, 4))}, "objects of Python"),
        ({"keys": np.array(["a"]), "vectors": np.ones((1, 4), object)}, "objects of Python"),
        ({"keys": np.array(["a", "b"]), "vectors": np.ones((1, 4))}, "2 keys, but 1 vectors"),
        ({"keys": np.array([["a"]]), "vectors": np.ones((1, 4))}, "list of strings"),
        ({"keys": np.array([1.5]), "vectors": np.ones((1, 4))}, "list of strings"),
        ({"keys": np.array(["a"]), "vectors": np.ones(4)}, "a table of numbers"),
        ({"keys": np.array(["a"]), "vectors": np.ones((1, 4)) + 1j}, "a table of numbers"),
        ({"keys": np.array(["a"]), "vectors": np.ones((1, 3))}, "from 4 to 4,096"),
        ({"keys": np.array(["a" * 501]), "vectors": np.ones((1, 4))}, "500 characters"),
        ({"keys": np.array(["a", "b"]), "vectors": np.asfortranarray(np.ones((2, 4)))}, "ascontiguousarray"),
    ],
)
def test_arrays_that_are_no_keys_and_vectors_are_refused(arrays: dict[str, Any], reason: str) -> None:
    data = npz(**arrays)
    with pytest.raises(Exception, match=reason):
        vectors(data)
    assert "PUT it to" in refusal(data), "and no documents"


def test_an_array_that_breaks_off_is_refused() -> None:
    def array(value: Any) -> bytes:
        out = io.BytesIO()
        np.save(out, value)
        return out.getvalue()

    whole = array(np.ones((1, 4)))
    for broken in (whole[:-8], whole + b"12345678", whole[:20], b"", b"no array at all"):
        with pytest.raises(Exception, match="`vectors` is"):
            vectors(zip_of({"keys.npy": array(np.array(["a"])), "vectors.npy": broken}))


def test_a_file_of_vectors_needs_both_columns_and_no_other_is_read() -> None:
    assert vectors(lines({"key": "a", "vector": GIVEN, "text": [], "label": {}})) == {1: STORED}
    assert vectors(csv(("key", "vector", "text"), ("a", "[0.5, -1, 2, 0.25]", "x"))) == {2: STORED}
    for data in (lines({"key": "a", "embedding": GIVEN}), lines({"id": "a", "vector": GIVEN})):
        with pytest.raises(Exception, match=r"there is no column `(vector|key)`"):
            vectors(data)
    assert vectors(lines({"id": "a", "embedding": GIVEN}), key="id", vector="embedding") == {1: STORED}
