"""Files of answers, one row a document; the ending of a file's name says the format."""

import csv
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, TextIO

from newfound_client.tables import COLUMNS

Rows = Iterable[Mapping[str, Any]]

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # beginnings that spreadsheets may take for one
BOM = "\ufeff"  # spreadsheets know UTF-8 by it


def write_ndjson(rows: Rows, file: TextIO) -> int:
    """One JSON object a line; returns how many there are."""
    n_rows = 0
    for row in rows:
        file.write(json.dumps(row, ensure_ascii=False) + "\n")
        n_rows += 1
    return n_rows


def write_csv(rows: Rows, file: TextIO) -> int:
    """Comma-separated values for a spreadsheet; returns how many rows there are.

    Which columns there are is known at the end alone, so the rows go to a temporary file first.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8") as kept:
        names = dict.fromkeys(COLUMNS)
        n_rows = write_ndjson(noting_names(rows, names), kept)
        kept.seek(0)
        file.write(BOM)
        writer = csv.DictWriter(file, list(names), restval="")
        writer.writeheader()
        writer.writerows({name: cell(value) for name, value in row.items()} for row in read_back(kept))
    return n_rows


def noting_names(rows: Rows, names: dict[str, None]) -> Iterator[Mapping[str, Any]]:
    """The rows, while their columns are added to the names."""
    for row in rows:
        names.update(dict.fromkeys(row))
        yield row


def read_back(file: IO[str]) -> Iterator[dict[str, Any]]:
    """The rows of a file of NDJSON."""
    yield from map(json.loads, file)


def cell(value: Any) -> str:
    """A value as a spreadsheet shows it; text that would be taken for a formula gets an apostrophe before it."""
    if value is None:
        return ""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(FORMULA) else value
    return json.dumps(value, ensure_ascii=False)


WRITERS: dict[str, Callable[[Rows, TextIO], int]] = {
    ".csv": write_csv,
    ".ndjson": write_ndjson,
    ".jsonl": write_ndjson,
}


class AnswerFile:
    """A file of answers that takes the place of an older one only when it is complete."""

    def __init__(self, path: Path) -> None:
        """Raises OSError if it cannot be written."""
        self.path, self.beside = path, path.with_name(f".{path.name}.part")
        self.file = self.beside.open("w", encoding="utf-8", newline="")

    def __enter__(self) -> "AnswerFile":
        return self

    def write(self, rows: Rows) -> int:
        """Write all rows and put the file in its place; returns how many there are."""
        n_rows = WRITERS[self.path.suffix.lower()](rows, self.file)
        self.file.close()
        self.beside.replace(self.path)
        return n_rows

    def __exit__(self, *_: object) -> None:
        self.file.close()
        self.beside.unlink(missing_ok=True)
