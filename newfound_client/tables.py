"""Answers as flat rows: for files with columns, and for pandas."""

from collections.abc import Iterable, Mapping
from typing import Any

COLUMNS = (
    "key",
    "text",
    "category",
    "known",
    "probability",
    "known_probability",
    "runner_up",
    "runner_up_probability",
    "stability",
    "copy_of",
    "reason",
)


def flat(document: Mapping[str, Any]) -> dict[str, Any]:
    """A document's answer in one row: categories by name, then what else the document came with.

    A field that has the name of another column is called `fields.` and that name.
    """
    second = document["runner_up"] or {"name": None, "probability": None}
    values = {
        **document,
        "category": document["name"],
        "runner_up": second["name"],
        "runner_up_probability": second["probability"],
    }
    row = {name: values[name] for name in COLUMNS if name in values}
    for name, value in document["fields"].items():
        row[f"fields.{name}" if name in COLUMNS else name] = value
    return row


def to_frame(documents: Iterable[Mapping[str, Any]]) -> Any:
    """The answers as a pandas frame. Raises ImportError if pandas is not installed."""
    import pandas

    return pandas.DataFrame([flat(document) for document in documents])
