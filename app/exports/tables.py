"""A table to be exported: its columns, and its rows a few at a time."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlencode

# text: as it is. name: a text, key or label that an upload reads back; one that a cell cannot hold is written as JSON.
# value: any value of JSON, for people. json: any value of JSON, which an upload reads back. object: always JSON.
Kind = Literal["text", "integer", "number", "boolean", "name", "value", "json", "object"]

Values = Sequence[Any]  # of a row, in the order of the columns; None for nothing


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    name: str
    kind: Kind = "text"
    is_field: bool = False  # of documents: left out of an object where the document has none


@dataclass(frozen=True)
class Table:
    """Columns, and lots of rows, which can be read once."""

    name: str  # of the file, without its ending
    columns: Sequence[Column]
    lots: Callable[[], Iterator[Iterable[Values]]]
    upload: Sequence[tuple[str, str]] = ()  # parameters under which the file is uploaded again

    @property
    def upload_query(self) -> str:
        """The same as a query. No export has vectors: a field that is called so is none."""
        return urlencode([*self.upload, ("vector", "")])
