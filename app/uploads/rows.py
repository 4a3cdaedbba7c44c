"""Rows, and the rules that make one of what a file holds: the same in every format."""

import json
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from app.core.errors import MalformedRequest
from app.core.tables import MAX_KEY, MAX_NAME
from app.uploads.limits import ReadLimits
from sampler.text.normal_forms import normal_form

MAX_ERRORS = 1_000  # bad lines of an upload that are told one by one; all are counted
MAX_REMEMBERED = 10_000  # labels whose name need not be found again
MAX_DEPTH = 100  # levels of a field; far deeper ones could be read, but not be written again
BYTES_A_CHARACTER = 6  # at most, in JSON: that many has a control character


class Row(NamedTuple):
    """A document to be."""

    line: int  # where it begins: line of a text file, row of a sheet, number of an item or of a ZIP's file; from 1
    text: str  # "" if it is blank
    key: str | None
    label: str | None
    fields: dict[str, Any] | None = None  # all other columns by their names; None if there are none
    is_counts: bool = False  # a ready bag of words: `text` is JSON, {"word": 3, ...}
    vector: bytes | None = None  # as it is stored; None: the row says nothing of it, b"": there is none any more


class BadLine(NamedTuple):
    """A line that cannot be used; sorts by number."""

    line: int
    reason: str  # empty where MAX_ERRORS others come before it


class BadRow(Exception):
    """The values do not make a row; the message is the reason."""


class RowBuilder:
    """Makes rows of values."""

    def __init__(self, limits: ReadLimits, unlabeled: Iterable[str] = ()) -> None:
        """`unlabeled` are values of the label column that mean: no label. Raises MalformedRequest."""
        self.limits = limits
        try:
            self.unlabeled = {name_of("label", value) for value in unlabeled}
        except BadRow as error:
            raise MalformedRequest(f"a value of unlabeled cannot be a label: {error}") from error
        self.labels: dict[str, str | None] = {}

    def row(
        self,
        line: int,
        texts: Sequence[object],
        key: object,
        label: object,
        fields: dict[str, Any] | None,
        size: int | None = None,
    ) -> Row:
        """The row of a document whose text is in one or several columns. Raises BadRow.

        `size` is how many characters the fields have at most, if that is known: most rows are so short that nobody
        needs to measure their JSON.
        """
        text = text_of(texts[0]) if len(texts) == 1 else "\n\n".join(filter(str.strip, map(text_of, texts)))
        self.check_text(text)
        found = None if key is None else name_of("key", key, MAX_KEY)
        if fields:
            self.check_fields(fields, size)
        return Row(line, text if text.strip() else "", found, self.label_of(label), fields or None)

    def row_of_counts(
        self, line: int, counts: object, key: object, label: object, fields: dict[str, Any] | None
    ) -> Row:
        """The row of a ready bag of words. Raises BadRow."""
        found = None if key is None else name_of("key", key, MAX_KEY)
        words = counted(counts)
        n_tokens = sum(words.values())
        if n_tokens > self.limits.max_document_tokens:
            most = f"{self.limits.max_document_tokens} (NEWFOUND_MAX_DOCUMENT_TOKENS)"
            raise BadRow(f"`counts` are {n_tokens} words, more than {most}")
        text = json.dumps(words, ensure_ascii=False, separators=(",", ":")) if words else ""
        if len(text.encode()) > self.limits.max_document_bytes:
            raise BadRow(
                f"`counts` are longer than {self.limits.max_document_bytes} bytes (NEWFOUND_MAX_DOCUMENT_BYTES)"
            )
        if fields:
            self.check_fields(fields, None)
        return Row(line, text, found, self.label_of(label), fields or None, is_counts=True)

    def label_of(self, value: object) -> str | None:
        """A document's label; None if it has none. Raises BadRow."""
        if not isinstance(value, str):
            found = name_of("label", value, MAX_NAME)
            return None if found in self.unlabeled else found
        if value in self.labels:
            return self.labels[value]
        found = name_of("label", value, MAX_NAME)
        if found in self.unlabeled:
            found = None
        if len(self.labels) < MAX_REMEMBERED:
            self.labels[value] = found
        return found

    def check_text(self, text: str) -> None:
        """Raise BadRow for a text that cannot be stored."""
        check_characters("text", text)
        longest = self.limits.max_document_bytes
        if 4 * len(text) > longest and len(text.encode()) > longest:
            raise BadRow(f"`text` is longer than {longest} bytes (NEWFOUND_MAX_DOCUMENT_BYTES)")

    def check_fields(self, fields: Mapping[str, Any], size: int | None) -> None:
        """Raise BadRow for fields that cannot be stored."""
        for name, value in fields.items():
            if isinstance(value, str):
                check_characters(name, value)
            elif isinstance(value, list | dict):
                check_deeply(name, value)
        if size is not None and BYTES_A_CHARACTER * size <= self.limits.max_fields_bytes:
            return
        if len(json.dumps(fields, ensure_ascii=False).encode()) > self.limits.max_fields_bytes:
            raise BadRow(
                f"the columns besides text, label and key are longer than {self.limits.max_fields_bytes} bytes of JSON "
                "(NEWFOUND_MAX_FIELDS_BYTES)"
            )


def text_of(value: object) -> str:
    """The text in a cell; a number is its decimal name, nothing at all is blank. Raises BadRow."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadRow("`text` is not a string")
    return decimal_name(value)


def name_of(column: str, value: object, longest: int | None = None) -> str | None:
    """The label or the key in a cell, in NFC and without outer blanks; None if it is blank. Raises BadRow."""
    if value is None:
        return None
    if isinstance(value, bool):
        name = "true" if value else "false"
    elif isinstance(value, int | float):
        name = decimal_name(value)
    elif isinstance(value, str):
        name = value.strip()
    else:
        kind = "a list" if isinstance(value, list) else "an object" if isinstance(value, dict) else "not a string"
        advice = "; a document has one label: name another column, or upload without labels by `label=`"
        raise BadRow(f"`{column}` is {kind}{advice if column == 'label' else ''}")
    name = normal_form("NFC", name)
    check_characters(column, name)
    if longest is not None and len(name) > longest:
        raise BadRow(f"`{column}` is longer than {longest} characters")
    return name or None


def decimal_name(value: float) -> str:
    """A number as people write it: 3 for 3.0, and never with an exponent."""
    if isinstance(value, int):
        return str(value)
    if value.is_integer():
        return format(value, ".0f") if value else "0"  # not -0
    return format(Decimal(repr(value)), "f")


def counted(counts: object) -> dict[str, int]:
    """Words with their counts, sorted by word, without those that do not occur. Raises BadRow."""
    if not isinstance(counts, dict):
        raise BadRow("`counts` is not an object of words and their counts")
    words = sorted(counts)
    check_characters("counts", "".join(words))
    if not all(map(str.strip, words)):
        raise BadRow("`counts` has a blank word")
    if set(map(type, counts.values())) != {int} or min(counts.values()) < 0:
        for word, n in counts.items():
            if isinstance(n, bool) or not isinstance(n, int | float) or n != n // 1 or n < 0:
                raise BadRow(f"`counts` of {shortened(word)} is not a whole number of 0 or more")
    return {word: int(counts[word]) for word in words if counts[word]}


def check_deeply(name: str, value: object) -> None:
    """Raise BadRow for what a database cannot hold, anywhere in a value of JSON: characters, or too many levels."""
    level = [value]
    for _ in range(MAX_DEPTH):
        below: list[object] = []
        for item in level:
            if isinstance(item, str):
                check_characters(name, item)
            elif isinstance(item, list):
                below += item
            elif isinstance(item, dict):
                below += [*item, *item.values()]
        if not below:
            return
        level = below
    raise BadRow(f"`{shown(name)}` is nested more than {MAX_DEPTH} levels deep")


def check_characters(name: str, value: str) -> None:
    """Raise BadRow for characters that a database cannot hold."""
    if "\0" in value:
        raise BadRow(f"`{shown(name)}` contains a NUL character")
    if value.isascii():
        return
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise BadRow(f"`{shown(name)}` contains half of a surrogate pair at character {error.start + 1}") from error


def shown(name: str) -> str:
    """A name as it is shown: not too long, and nothing that an answer in UTF-8 cannot hold."""
    name = name if len(name) <= 100 else name[:99] + "…"
    return name.encode("utf-8", "replace").decode()


def shortened(value: str) -> str:
    """A value as it is quoted in a reason."""
    return repr(value if len(value) <= 50 else value[:49] + "…")
