"""Parquet, a group of rows at a time, if pyarrow is installed."""

import io
from collections.abc import Callable, Iterator
from typing import Any

from app.exports.cells import any_text, cell_writer
from app.exports.errors import FormatNotInstalled
from app.exports.tables import Column, Table

GROUP_ROWS = 20_000  # at most, with the last lot; what the file says of each group stays in memory until its end
GROUP_BYTES = 2**23


def check_installed() -> None:
    """Raise FormatNotInstalled without the library."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        raise FormatNotInstalled(
            "Parquet is not written here: the service needs its extra, pip install 'newfound[parquet]'; "
            "or choose format=ndjson"
        ) from error


def parquet_pieces(table: Table) -> Iterator[bytes]:
    """The file, piece by piece; some lots are a group of rows."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    types = {"boolean": pa.bool_(), "integer": pa.int64(), "number": pa.float64()}
    schema = pa.schema([(column.name, types.get(column.kind, pa.string())) for column in table.columns])
    to_values = [column_of(column) for column in table.columns]
    out = io.BytesIO()
    held: list[Any] = []

    def group() -> bytes:
        writer.write_table(pa.Table.from_batches(held, schema))
        held.clear()
        return taken(out)

    with ParquetWriter(out, schema, compression="snappy") as writer:
        for lot in table.lots():
            if columns := list(zip(*lot, strict=True)):
                arrays = [pa.array(to_values[at](values), schema.types[at]) for at, values in enumerate(columns)]
                held.append(pa.record_batch(arrays, schema=schema))
            if (
                sum(batch.num_rows for batch in held) >= GROUP_ROWS
                or sum(batch.nbytes for batch in held) >= GROUP_BYTES
            ):
                yield group()
        if held:
            yield group()
    yield out.getvalue()


def taken(out: io.BytesIO) -> bytes:
    """What was written since the last time."""
    data = out.getvalue()
    out.seek(0)
    out.truncate()
    return data


def column_of(column: Column) -> Callable[[Any], list[Any]]:
    """A function that makes values ready for an array."""
    if column.kind in ("boolean", "integer", "number", "text"):
        return list
    write = cell_writer(column, any_text)
    return lambda values: [None if value is None else write(value)[0] for value in values]
