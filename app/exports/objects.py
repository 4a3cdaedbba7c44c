"""NDJSON, and what programs for labeling read: Label Studio's tasks and doccano's lines."""

from collections.abc import Iterator
from typing import Any

from app.exports.cells import ENCODER
from app.exports.tables import Column, Table, Values

KEY, TEXT, LABEL, CATEGORY, PROBABILITY = 0, 1, 2, 3, 5  # places in a row of answers


def object_of(columns: list[tuple[str, bool]], row: Values) -> dict[str, Any]:
    """A row as an object; fields that a document has not are left out."""
    return {
        name: value
        for (name, is_field), value in zip(columns, row, strict=True)
        if value is not None or not is_field
    }  # fmt: skip


def named(columns: Any) -> list[tuple[str, bool]]:
    """What an object needs to know of columns."""
    return [(column.name, column.is_field) for column in columns]


def ndjson_pieces(table: Table) -> Iterator[bytes]:
    """The file, piece by piece: an object a line."""
    columns, encode = named(table.columns), ENCODER.encode
    for lot in table.lots():
        yield lines("".join([encode(object_of(columns, row)) + "\n" for row in lot]))


def lines(text: str) -> bytes:
    """Lines that are lines to everybody: some clients end one at other characters, too."""
    for mark in "\x85\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text.encode()


def label_studio_pieces(answers: Table, model_version: str) -> Iterator[bytes]:
    """Tasks: answers are predictions, labels are annotations."""
    columns = named(answers.columns)
    before = b"[\n"
    for lot in answers.lots():
        tasks = [ENCODER.encode(task(columns, row, model_version)) for row in lot]
        if tasks:
            yield before + ",\n".join(tasks).encode()
            before = b",\n"
    yield b"\n]\n" if before != b"[\n" else b"[]\n"


def task(columns: list[tuple[str, bool]], row: Values, model_version: str) -> dict[str, Any]:
    """A task of Label Studio. `category` is the control's name in its labeling configuration, `text` the object's."""
    data = object_of(columns, row)
    data[columns[TEXT][0]] = row[TEXT] or ""
    found: dict[str, Any] = {"data": data}
    if row[CATEGORY] is not None:
        prediction = {"model_version": model_version, "score": row[PROBABILITY], "result": choice(row[CATEGORY])}
        found["predictions"] = [prediction]
    if row[LABEL] is not None:
        found["annotations"] = [{"result": choice(row[LABEL])}]
    return found


def choice(name: str) -> list[dict[str, Any]]:
    """The choice of one category."""
    return [{"from_name": "category", "to_name": "text", "type": "choices", "value": {"choices": [name]}}]


def doccano_pieces(answers: Table) -> Iterator[bytes]:
    """Lines for a project of text classification: `label` is a list; the rest is metadata to doccano."""
    columns = doccano_columns(answers.columns)
    for lot in answers.lots():
        yield lines("".join([ENCODER.encode(line(columns, row)) + "\n" for row in lot]))


def doccano_columns(columns: Any) -> list[Column]:
    """The columns with the names that doccano knows; a field of such a name has a suffix instead."""
    theirs = {KEY: "id", TEXT: "text", LABEL: "label"}
    return [
        Column(theirs.get(at, f"{column.name}_field" if column.name in theirs.values() else column.name),
               column.kind, column.is_field)
        for at, column in enumerate(columns)
    ]  # fmt: skip


def line(columns: list[Column], row: Values) -> dict[str, Any]:
    """A document as doccano reads it."""
    name = row[LABEL] if row[LABEL] is not None else row[CATEGORY]
    known = {"id": row[KEY], "text": row[TEXT] or "", "label": [] if name is None else [name]}
    return known | {
        column.name: value for column, value in list(zip(columns, row, strict=True))[CATEGORY:] if value is not None
    }
