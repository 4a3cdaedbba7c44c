"""Which fields documents have, as columns: their names and the kinds of their values, found by reading them once."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from app.exports.cells import IsPlain
from app.exports.tables import Column, Kind

MAX_COLUMNS = 250  # an upload takes a thousand, a header of an answer far fewer bytes
MAX_NAME = 100  # characters
MAX_MARKS = 4_000  # bytes of the names that an upload is told to read as JSON
SUFFIX = "_newfound"
OURS = {
    *("key", "text", "label", "category", "known", "probability", "known_probability", "category_probability"),
    *("runner_up", "runner_up_probability", "stability", "reason", "copy_of", "counts", "fields", "id"),
}
EXACT = 2**53  # up to here a float holds every integer
KINDS = {str: "text", bool: "boolean", int: "integer", float: "number"}


@dataclass
class FieldNames:
    """The names that were seen, each with the kinds of its values."""

    is_plain: IsPlain  # whether a text can stand in a cell
    is_name: Callable[[str], bool]  # whether a text can name a column
    kinds: dict[str, set[str]] = field(default_factory=dict)
    has_others: bool = False  # that are no columns

    def note(self, fields: dict[str, Any]) -> None:
        """Know the fields of a document."""
        for name, value in fields.items():
            kinds = self.kinds.get(name)
            if kinds is None:
                if not self.is_column(name):
                    self.has_others = True
                    continue
                kinds = self.kinds[name] = set()
            kinds.add(self.kind(value))

    def is_column(self, name: str) -> bool:
        """Whether a name that was not seen before becomes a column. One that meets ours always does, if it can."""
        if len(name) > MAX_NAME or not self.is_name(name):
            return False
        return len(self.kinds) < MAX_COLUMNS or name.casefold() in OURS

    def kind(self, value: Any) -> str:
        """The kind of one value."""
        kind = KINDS.get(type(value), "json")
        if kind == "text" and not self.is_plain(value):
            return "json"
        if kind == "integer" and abs(value) > EXACT:
            return "json"
        return kind

    def columns(self, mixed: Kind, marked: Iterable[Kind]) -> list[Column]:
        """The columns. Values of several kinds are `mixed`; there is room to mark so many as being `marked`."""
        found, room = [], MAX_MARKS
        for name, kinds in self.kinds.items():
            kind = common(kinds) or mixed
            if kind in marked:
                room -= len(quote(name)) + len("&json_column=")
                if room < 0 and name.casefold() not in OURS:
                    self.has_others = True
                    continue
            found.append(Column(name, kind, is_field=True))
        return found


def common(kinds: set[str]) -> Kind | None:
    """The kind that all values of a field have, if there is one."""
    for kind, parts in (("text", {"text"}), ("boolean", {"boolean"}), ("integer", {"integer"})):
        if kinds == parts:
            return kind  # type: ignore[return-value]
    return "number" if kinds and kinds <= {"integer", "number"} else None


def own_names(names: Iterable[str], taken: Iterable[str]) -> dict[str, str]:
    """What our columns are called: one that meets a field's name, in whatever case, gets a suffix."""
    met = {name.casefold() for name in taken}
    found = {}
    for name in names:
        called = name
        while called.casefold() in met:
            called += SUFFIX
        found[name] = called
    return found


def any_name(_: str) -> bool:
    """Every text can name a column."""
    return True


def is_name_in_cell(name: str) -> bool:
    """Whether an upload of a table reads a header's cell as it is: without outer blanks, and not empty."""
    return bool(name) and name == name.strip() and not re.search("[\\x00-\\x1f\ufffe\uffff]|_x[0-9A-Fa-f]{4}_", name)
