"""Parquet, if pyarrow is installed."""

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from math import isinf, isnan
from typing import Any, BinaryIO

from app.core.errors import MalformedRequest, UnsupportedUpload, UploadTooLarge
from app.uploads.columns import ReadOptions
from app.uploads.formats.objects import Item, ObjectsReading, size_of
from app.uploads.inflate import larger_than
from app.uploads.limits import ReadLimits
from app.uploads.rows import BadLine, BadRow
from app.uploads.vector_values import all_finite

BATCH = 256  # rows
BATCH_BYTES = 2**25  # of a batch, if all its rows are the largest one: many may share it, which costs the file nothing
MAX_DEPTH = 50


class ParquetReading(ObjectsReading):
    """A file of Parquet."""

    format = "parquet"
    what = "row"

    def __init__(self, file: BinaryIO, options: ReadOptions, limits: ReadLimits) -> None:
        """Find the columns. Raises MalformedRequest, UnsupportedUpload, UploadTooLarge."""
        super().__init__(options, limits)
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError as error:
            raise UnsupportedUpload(
                "Parquet is not read here: the service needs its extra, pip install 'newfound[parquet]'; "
                "or upload NDJSON or CSV"
            ) from error
        self.damages = (pyarrow.ArrowException, OSError, ValueError, NotImplementedError, MemoryError)
        try:
            self.table = parquet.ParquetFile(file)
            names = self.table.schema_arrow.names
            groups = [self.table.metadata.row_group(n) for n in range(self.table.metadata.num_row_groups)]
            size = sum(group.total_byte_size for group in groups)
            largest = max(
                (group.column(n).total_uncompressed_size for group in groups for n in range(len(names))), default=0
            )
        except self.damages as error:
            raise MalformedRequest(f"the Parquet file cannot be read: {first_line(error)}") from error
        if len(names) > limits.max_columns:
            raise MalformedRequest(
                f"the file has {len(names)} columns, more than {limits.max_columns} (NEWFOUND_MAX_COLUMNS)"
            )
        if size > limits.max_bytes:
            raise UploadTooLarge(larger_than(limits))
        if len(set(names)) < len(names):
            raise MalformedRequest("two columns of the Parquet file have the same name: rename one")
        self.batch = min(max(BATCH_BYTES // max(largest, 1), 1), BATCH)
        self.find_columns()

    def items(self) -> Iterator[Item | BadLine]:
        """The rows as objects. What is damaged ends them."""
        number, n_bytes = 0, 0
        try:
            for batch in self.table.iter_batches(batch_size=self.batch, use_threads=False):
                for row in batch.to_pylist():
                    n_bytes += size_of(row)
                    if n_bytes > self.limits.max_bytes:
                        yield BadLine(number + 1, larger_than(self.limits))
                        return
                    number += 1
                    try:
                        yield number, {name: plain(value) for name, value in row.items()}, 2**40
                    except BadRow as error:
                        yield BadLine(number, str(error))
        except self.damages as error:
            yield BadLine(number + 1, f"the Parquet file is damaged: {first_line(error)}; nothing after it can be read")


def first_line(error: BaseException) -> str:
    """The first line of what the library says."""
    return (str(error).splitlines() or [type(error).__name__])[0][:300]


def plain(value: object, depth: int = 0) -> Any:
    """A value as JSON has it. Raises BadRow."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        if isinf(value):
            raise BadRow("an infinite number is no number of JSON")
        return None if isnan(value) else value
    if depth > MAX_DEPTH:
        raise BadRow("a value is too deeply nested")
    if isinstance(value, list) and all_finite(value):  # as vectors are, which are long
        return value
    if isinstance(value, list | tuple):
        return [plain(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {str(name): plain(item, depth + 1) for name, item in value.items()}
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError as error:
            raise BadRow("a value is of bytes that are not UTF-8") from error
    if isinstance(value, Decimal | timedelta):
        return str(value)
    return str(value)
