"""Sources of documents: the field of a document that says where it comes from, as a job's settings name it."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

SOURCE_FIELD = "source_field"  # of a job's settings
MAX_SOURCES = 64  # that are told apart; of more, the rarest are one together
MAX_VALUE = 200  # characters


def source_of(fields: Mapping[str, Any] | None, name: str) -> str | None:
    """The value of a document's field as text, as it is in JSON; None if it has none."""
    value = (fields or {}).get(name)
    if value is None:
        return None
    return (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))[:MAX_VALUE]


def told_apart(values: Sequence[str | None]) -> list[str]:
    """The sources that have a number, the most frequent first: all, or all but one of MAX_SOURCES."""
    counts = Counter(value for value in values if value is not None)
    in_order = sorted(counts, key=lambda value: (-counts[value], value))
    return in_order if len(in_order) <= MAX_SOURCES else in_order[: MAX_SOURCES - 1]
