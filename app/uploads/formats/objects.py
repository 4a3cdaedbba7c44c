"""Objects of JSON to rows, wherever in a file they stand."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from app.core.errors import MalformedRequest
from app.uploads.column_names import COUNTS, ROLES, VECTOR, normal
from app.uploads.columns import Columns, ReadOptions, Table, choose
from app.uploads.exported import ExportedObjects
from app.uploads.formats.reading import Reading
from app.uploads.limits import ReadLimits
from app.uploads.rows import BadLine, BadRow, Row, RowBuilder, check_deeply, shown
from app.uploads.text_lines import Source
from app.uploads.vector_values import vector_bytes

SAMPLE = 100  # objects whose names are the columns
SAMPLE_BYTES = 2**24  # that are held to see them, and whatever the last one has
NUMBER_BYTES = 8

Item = tuple[int, dict[str, Any], int]  # number, object, and how many characters it has


class ObjectsReading(Reading):
    """A file of JSON objects, one a document."""

    what = "the object"  # as a reason calls it

    def __init__(self, options: ReadOptions, limits: ReadLimits) -> None:
        super().__init__()
        self.options = options
        self.limits = limits

    @abstractmethod
    def items(self) -> Iterator[Item | BadLine]:
        """The objects from the beginning."""

    def restored(self) -> Iterator[Item | BadLine]:
        """The objects as their columns are, if an export wrote them."""
        objects = ExportedObjects(self.options)
        if not objects.is_needed:
            yield from self.items()
            return
        for item in self.items():
            try:
                yield item if isinstance(item, BadLine) else (item[0], objects.restored(item[1]), item[2])
            except BadRow as error:
                yield BadLine(item[0], str(error))

    def find_columns(self) -> None:
        """Choose among the names of the first objects. Raises MalformedRequest."""
        first, left = [], SAMPLE_BYTES
        for item in islice(self.restored(), SAMPLE):
            first.append(item)
            left -= 0 if isinstance(item, BadLine) else size_of(item[1])
            if left < 0:
                break
        sample = [item[1] for item in first if not isinstance(item, BadLine)]
        if not first:
            raise MalformedRequest("the file is empty")
        if not sample:
            raise MalformedRequest(f"the file cannot be read: {self.what} {first[0][0]}: {first[0][1]}")
        names = list(dict.fromkeys(name for fields in sample for name in fields))
        columns = Table(without_variants(names, sample), sample)
        self.chosen = choose(columns, replace(self.options, fields=None), self.limits, can_count=True)
        self.columns = self.chosen.told()
        if self.options.vector is None and all(normal(name) != VECTOR for name in columns.names):
            self.chosen = self.chosen._replace(vector=VECTOR)  # a later object may have one
        self.builder = RowBuilder(self.limits, self.options.unlabeled)

    def rows(self) -> Iterator[Row | BadLine]:
        """A row for each object."""
        make = RowMaker(self.chosen, self.builder, self.options.needs_vector).row
        for item in self.restored():
            if isinstance(item, BadLine):
                yield item
                continue
            try:
                yield make(*item)
            except BadRow as error:
                yield BadLine(item[0], str(error))


class TextObjectsReading(ObjectsReading):
    """A text file of JSON objects."""

    def __init__(self, source: Source, options: ReadOptions, limits: ReadLimits) -> None:
        """Find the columns. Raises MalformedRequest."""
        super().__init__(options, limits)
        self.source = source
        self.charset = source.charset
        self.find_columns()


class RowMaker:
    """Makes rows of objects; a later object may write a column's name in another way."""

    def __init__(self, columns: Columns, builder: RowBuilder, has_no_fields: bool = False) -> None:
        self.columns = columns
        self.has_no_fields = has_no_fields  # what is in no column is left out
        self.builder = builder
        self.names: dict[str, str] = {}  # of columns, by their normal forms
        for name in filter(None, (*columns.text, columns.label, columns.key, columns.counts, columns.vector)):
            self.names.setdefault(normal(name), name)
        others = (name for name in columns.fields if normal(name) not in self.names)
        self.known = frozenset((*self.names.values(), *columns.text, *others))

    def row(self, line: int, fields: dict[str, Any], size: int) -> Row:
        """The row of an object. Raises BadRow."""
        if not fields.keys() <= self.known:
            fields = self.renamed(fields)
        if self.has_no_fields:
            fields = {name: value for name, value in fields.items() if name in self.known}
        columns = self.columns
        missing = [name for name in columns.text if name not in fields]
        texts = [fields.pop(name) for name in columns.text if name in fields]
        label = None if columns.label is None else fields.pop(columns.label, None)
        key = None if columns.key is None else fields.pop(columns.key, None)
        counts = None if columns.counts is None else fields.pop(columns.counts, None)
        vector = None if columns.vector is None else fields.pop(columns.vector, None)
        others = {name: value for name, value in fields.items() if value is not None}
        if others:
            check_deeply("a name", list(others))
        if counts is not None:
            if any(text is not None for text in texts):
                raise BadRow("the object has both `text` and `counts`")
            row = self.builder.row_of_counts(line, counts, key, label, others)
        elif not texts and (columns.text or columns.counts):
            raise BadRow(f"the field `{shown(missing[0] if missing else COUNTS)}` is missing")
        else:
            row = self.builder.row(line, texts, key, label, others, size)
        return row if vector is None else row._replace(vector=vector_bytes(vector))

    def renamed(self, fields: dict[str, Any]) -> dict[str, Any]:
        """The object with the names that its columns have."""
        found = dict(fields)
        for name in fields:
            column = self.names.get(normal(name)) if name not in self.known else None
            if column is not None and column not in found:
                found[column] = found.pop(name)
        return found


def size_of(value: object) -> int:
    """About how many bytes a value has by itself; in the file many rows may share it."""
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, dict):
        return sum(map(size_of, value.values()))
    if isinstance(value, list) and value and not isinstance(value[0], float | int):
        return sum(map(size_of, value))
    return NUMBER_BYTES * len(value) if isinstance(value, list) else NUMBER_BYTES


def object_of(value: object, limits: ReadLimits, what: str) -> dict[str, Any]:
    """The object that a value is. Raises BadRow."""
    if not isinstance(value, dict):
        raise BadRow(f"{what} is JSON, but not an object")
    if len(value) > limits.max_columns:
        raise BadRow(f"the object has {len(value)} fields, more than {limits.max_columns} (NEWFOUND_MAX_COLUMNS)")
    return value


def without_variants(names: Sequence[str], sample: Sequence[Mapping[str, Any]]) -> list[str]:
    """The names of columns, one for those of a role that are written in several ways, but never in one object."""
    left = list(names)
    for role in (*ROLES, VECTOR):
        variants = [name for name in names if normal(name) == role]
        if len(variants) > 1 and all(sum(name in fields for name in variants) < 2 for fields in sample):
            kept = role if role in variants else variants[0]
            left = [name for name in left if name == kept or name not in variants]
    return left


def texts_in(names: Sequence[str]) -> bool:
    """Whether one of the names is that of the text or of the counts."""
    return any(normal(name) in ("text", COUNTS) for name in names)
