"""Documents as a corpus has them now, and in what a row differs from one."""

from typing import Any, NamedTuple

from app.core.tables import Document
from app.uploads.rows import Row, shortened


class Current(NamedTuple):
    """A document as the corpus has it now."""

    id: int
    version: int
    key: str
    text: str
    label: str | None
    fields: dict[str, Any] | None
    is_counts: bool
    vector: bytes = b""  # that it has brought; known only where rows say something of vectors


CURRENT = tuple(getattr(Document, name) for name in Current._fields if name != "vector")


def is_repeated(before: Current | Row, row: Row) -> bool:
    """Whether a row says what a document, or a row before it, says; without a vector it says nothing of it."""
    said = (before.text, before.label, before.fields, before.is_counts)
    return said == (row.text, row.label, row.fields, row.is_counts) and row.vector in (None, before.vector)


def difference(row: Row, current: Current) -> str:
    """In what a row differs from a document with its key."""
    if (row.text, row.is_counts) != (current.text, current.is_counts):
        return "another text"
    if row.vector is not None and row.vector != current.vector:
        return "another vector" if current.vector else "a vector"
    if row.label != current.label:
        return f"the label {named(row.label)} instead of {named(current.label)}"
    return "other fields"


def named(label: str | None) -> str:
    """A label as a reason tells it."""
    return "none" if label is None else shortened(label)
