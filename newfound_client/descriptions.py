"""Descriptions of the categories of a corpus, which need no labeled document."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from newfound_client.calls import Calls, Json


class Descriptions(Calls):
    """Operations on descriptions of categories."""

    def describe(self, corpus_id: str, descriptions: Iterable[Mapping[str, Any]] | Mapping[str, str]) -> Json:
        """Say what categories are about, in the place of all that was said before.

        Each is a mapping with its `name`, and perhaps `text` and `vector`; or all of them are one, from name to text.
        """
        rows = [dict(each) for each in as_rows(descriptions)]
        stored: Json = self.call("PUT", f"/v1/corpora/{corpus_id}/descriptions", descriptions=rows)
        return stored

    def descriptions(self, corpus_id: str) -> list[Json]:
        """The descriptions of a corpus, in the order of their names."""
        found: list[Json] = self.call("GET", f"/v1/corpora/{corpus_id}/descriptions")["descriptions"]
        return found

    def delete_description(self, corpus_id: str, name: str) -> None:
        """Delete the description of a category."""
        self.call("DELETE", f"/v1/corpora/{corpus_id}/descriptions/{quote(name, safe='')}")


def as_rows(descriptions: Iterable[Mapping[str, Any]] | Mapping[str, str]) -> Iterable[Mapping[str, Any]]:
    """Descriptions as mappings with a name each."""
    if isinstance(descriptions, Mapping):
        return [{"name": name, "text": text} for name, text in descriptions.items()]
    return descriptions


def read_descriptions(path: Path) -> list[Json]:
    """The descriptions in a file: JSON lines, a JSON list, or a JSON object from name to text.

    Raises ValueError, which names the line, for anything else.
    """
    content = path.read_text(encoding="utf-8-sig")
    try:
        found = json.loads(content)
    except ValueError:
        found = [line_of(number, line) for number, line in enumerate(content.splitlines(), start=1) if line.strip()]
    if isinstance(found, dict) and "name" not in found:
        found = as_rows(found)
    rows = [found] if isinstance(found, dict) else found
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError("it should have an object with name and text on each line, a list of these, or one object")
    return rows


def line_of(number: int, line: str) -> Any:
    """The JSON value on a line. Raises ValueError."""
    try:
        return json.loads(line)
    except ValueError as error:
        raise ValueError(f"line {number} is not JSON: {error}") from error
