"""Answers as flat rows: for files with columns, and for pandas."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

# As exports and answers about new documents have them: those that an answer has.
COLUMNS = (
    "key",
    "text",
    "label",
    "category",
    "known",
    "probability",
    "known_probability",
    "category_probability",
    "runner_up",
    "runner_up_probability",
    "unsure",
    "novelty",
    "novel",
    "unknown_words",
    "evidence",
    "stability",
    "reason",
    "copy_of",
    "line",
)
OF_NEW_DOCUMENTS = tuple(
    name for name in COLUMNS if name not in ("key", "text", "label", "stability", "copy_of", "line")
)


def flat(document: Mapping[str, Any]) -> dict[str, Any]:
    """A document's answer in one row: categories by name, then what else the document came with.

    A field that has the name of another column is called `fields.` and that name.
    """
    second = second_choice(document)
    values = {
        **document,
        "category": document.get("name"),
        "runner_up": second.get("name"),
        "runner_up_probability": second.get("probability"),
    }
    evidence = values.pop("evidence", None)  # of a job's answers it is null unless it was requested
    if evidence is not None:
        values["evidence"] = " ".join(each["word"] for each in evidence)
    row = {name: values[name] for name in COLUMNS if name in values}
    for name, value in document.get("fields", {}).items():
        row[f"fields.{name}" if name in COLUMNS else name] = value
    return row


def second_choice(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The runner-up, which answers about new documents have among their likely categories."""
    if "runner_up" in document:
        return document["runner_up"] or {}
    likely = document.get("likely") or []
    return likely[1] if len(likely) > 1 else {}


def to_frame(documents: Iterable[Mapping[str, Any]]) -> Any:
    """The answers as a pandas frame. Raises ImportError if pandas is not installed."""
    import pandas

    return pandas.DataFrame([flat(document) for document in documents])


def beside_frame(frame: Any, answers: Sequence[Mapping[str, Any]]) -> Any:
    """Answers about the rows of a frame, as a frame with its index. Raises ImportError if pandas is not installed."""
    import pandas

    rows: list[dict[str, Any]] = [{} for _ in range(len(frame))]
    for answer in answers:
        rows[answer["line"] - 1] = flat(answer)
    return pandas.DataFrame(rows, columns=list(OF_NEW_DOCUMENTS)).set_index(frame.index)
