"""Which columns of a file are the text, the label and the key: by name, or as the client says."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from app.core.errors import MalformedRequest
from app.uploads.column_names import COUNTS, KEY, LABEL, LIKE_LABEL, LIKE_TEXT, TEXT, VECTOR, is_known, normal
from app.uploads.limits import ReadLimits
from app.uploads.rows import shown
from app.uploads.vector_values import could_be_vectors

SHOWN = 20  # names in a refusal
TOLD = 1_000  # names in its list for programs


@dataclass(frozen=True)
class ReadOptions:
    """What the client said of a file; all of it is optional."""

    format: str | None = None
    charset: str | None = None
    delimiter: str | None = None
    has_header: bool | None = None
    sheet: str | None = None
    text: tuple[str, ...] = ()  # names of columns
    label: str | None = None  # the name of a column; "" means that there is none
    key: str | None = None
    unlabeled: tuple[str, ...] = ()  # values of the label column that mean: no label
    needs_text: bool = True  # else a file of keys and labels will do, whose texts are blank then
    vector: str | None = None  # the name of a column; "" means that there is none
    needs_vector: bool = False  # it is a file of keys and vectors
    counts: str | None = None  # the column of ready bags of words
    fields: str | None = None  # the column of objects whose members are columns
    json_column: tuple[str, ...] = ()  # whose cells are JSON where they can be read as such
    safe: bool | None = None  # whether cells have an apostrophe before what spreadsheets take for formulas


class Columns(NamedTuple):
    """The columns of a file by what they are for."""

    text: tuple[str, ...]
    label: str | None
    key: str | None
    fields: tuple[str, ...]
    counts: str | None = None  # of ready bags of words, which stand for the text
    members: str | None = None  # of objects whose members are further fields
    vector: str | None = None

    def told(self) -> dict[str, Any]:
        """The columns as a client reads of them."""
        text = [*self.text, *([self.counts] if self.counts else [])]
        found = {"text": text, "label": self.label, "key": self.key, "vector": self.vector}
        return {**found, "fields": list(self.fields)}


class Table:
    """The columns that were found, and how a refusal speaks of them."""

    def __init__(self, names: Sequence[str], samples: Iterable[Mapping[str, Any]], remark: str = "") -> None:
        """`samples` are values of the first rows; `remark` says what else matters, such as the delimiter."""
        self.names = list(names)
        self.samples = list(samples)
        self.remark = remark

    def found(self) -> str:
        """The columns, in words."""
        if not self.names:
            return "the file has no columns"
        names = ", ".join(shown(name) for name in self.names[:SHOWN])
        more = f" and {len(self.names) - SHOWN} more" if len(self.names) > SHOWN else ""
        return f"the file has {'the columns' if len(self.names) > 1 else 'the column'} {names}{more}{self.remark}"

    def named(self, name: str, role: str) -> str:
        """The column that the client names. Raises MalformedRequest."""
        if name in self.names:
            return name
        alike = [column for column in self.names if normal(column) == normal(name)]
        if not alike:
            raise MalformedRequest(f"there is no column {shown(name)} ({role}={shown(name)}): {self.found()}")
        if len(alike) > 1:
            raise MalformedRequest(f"{role}={shown(name)} may mean {' or '.join(map(shown, alike))}: write it as it is")
        return alike[0]

    def by_default(self, role: str) -> str | None:
        """The column that has the name of its role. Raises MalformedRequest if there are several."""
        alike = [column for column in self.names if normal(column) == role]
        if len(alike) > 1 and role not in alike:
            raise MalformedRequest(f"several columns are called `{role}`, {' and '.join(map(shown, alike))}: name one")
        return None if not alike else role if role in alike else alike[0]

    def length(self, name: str) -> int:
        """How long the values of a column are, in all."""
        return sum(len(value) for row in self.samples if isinstance(value := row.get(name), str))

    def likely_text(self, others: Sequence[str]) -> str | None:
        """The column that is probably the text: of those with a name for it, or else of all, the longest."""
        named = [name for name in self.names if normal(name) in LIKE_TEXT and name not in others]
        rest = [name for name in self.names if name not in others and normal(name) != VECTOR]
        found = max(named or rest, key=self.length, default=None)
        return found if found is not None and (named or self.length(found)) else None

    def likely_label(self) -> str | None:
        """The column that is probably the label, by its name; lists of tags are none."""
        return next((name for name in self.names if normal(name) in LIKE_LABEL and self.could_be_label(name)), None)

    def vector(self, options: ReadOptions) -> str | None:
        """The column of the vectors: the one that the client names, or that has the name and nothing else in it.

        Raises MalformedRequest.
        """
        if options.vector is not None:
            return options.vector and self.named(options.vector, VECTOR)
        found = self.by_default(VECTOR)
        if found is None or options.needs_vector:
            return found
        return found if could_be_vectors(row.get(found) for row in self.samples) else None

    def suggested(self) -> dict[str, Any]:
        """What the columns are probably for, as the parameters of an upload say it."""
        alike = {role: next((name for name in self.names if normal(name) == role), None) for role in (TEXT, LABEL, KEY)}
        label = alike[LABEL] or self.likely_label()
        text = alike[TEXT] or self.likely_text([name for name in (label, alike[KEY]) if name])
        return {TEXT: [text] if text is not None else [], LABEL: label, KEY: alike[KEY]}

    def could_be_label(self, name: str) -> bool:
        """Whether a column has values that may be labels."""
        return not any(isinstance(row.get(name), list | dict) for row in self.samples)


def choose(table: Table, options: ReadOptions, limits: ReadLimits, *, can_count: bool = False) -> Columns:
    """The columns of a table by what they are for.

    Raises MalformedRequest, which lists the columns and what they are probably for: a program can offer the choice.
    """
    try:
        return chosen(table, options, limits, can_count)
    except MalformedRequest as error:
        error.members = {"columns": table.names[:TOLD], "suggested": table.suggested()}
        raise


def chosen(table: Table, options: ReadOptions, limits: ReadLimits, can_count: bool) -> Columns:
    """The columns of a table by what they are for. Raises MalformedRequest."""
    if len(table.names) > limits.max_columns:
        raise MalformedRequest(
            f"the file has {len(table.names)} columns, more than {limits.max_columns} (NEWFOUND_MAX_COLUMNS)"
        )
    check_unique(table)
    text = tuple(dict.fromkeys(table.named(name, TEXT) for name in options.text if name))
    if not text:
        text = tuple(filter(None, [table.by_default(TEXT)]))
    counts = table.by_default(COUNTS) if can_count and not options.text else None
    if options.counts:
        counts = table.named(options.counts, COUNTS)
    members = table.named(options.fields, "fields") if options.fields else None
    label = table.by_default(LABEL) if options.label is None else options.label and table.named(options.label, LABEL)
    key = table.by_default(KEY) if options.key is None else options.key and table.named(options.key, KEY)
    vector = table.vector(options)
    if options.needs_vector:
        return key_and_vector(table, key or None, vector or None)
    if not text and not counts and options.needs_text:
        raise MalformedRequest(no_text(table, label or None, options))
    if label is None:
        check_label(table, text)
    used = [*text, *filter(None, (counts, label, key, members, vector))]
    if len(set(used)) < len(used):
        twice = next(name for name in used if used.count(name) > 1)
        raise MalformedRequest(f"the column {shown(twice)} cannot be two of text, label, key and vector at once")
    fields = tuple(name for name in table.names if name not in used)
    return Columns(text, label or None, key or None, fields, counts, members, vector or None)


def check_unique(table: Table) -> None:
    """Raise MalformedRequest if two columns have one name."""
    seen: set[str] = set()
    for name in table.names:
        if name in seen:
            raise MalformedRequest(f"two columns are called {shown(name)}: {table.found()}; rename one")
        seen.add(name)


def key_and_vector(table: Table, key: str | None, vector: str | None) -> Columns:
    """The columns of a file of vectors, of which no others are read. Raises MalformedRequest unless both are there."""
    for role, column in ((KEY, key), (VECTOR, vector)):
        if column is None:
            raise MalformedRequest(f"there is no column `{role}`: {table.found()}; name it, as in {role}=NAME")
    return Columns((), None, key, (), vector=vector)


def no_text(table: Table, label: str | None, options: ReadOptions) -> str:
    """That there is no text, and what was probably meant."""
    likely_label = None if label or options.label == "" else table.likely_label()
    likely = table.likely_text([name for name in (label, likely_label) if name])
    meant = [f"text={shown(likely)}"] if likely is not None else []
    meant += [f"label={shown(likely_label)}"] if likely_label is not None else []
    question = f"; did you mean {' and '.join(meant)}?" if meant else ""
    return f"there is no column `text`: {table.found()}{question}"


def check_label(table: Table, text: Sequence[str]) -> None:
    """Raise MalformedRequest if there is no label, but a column that looks like one.

    Without labels a job learns of no category: it would run for nothing.
    """
    likely = table.likely_label()
    if likely is not None and likely not in text:
        raise MalformedRequest(
            f"there is no column `label`: {table.found()}; did you mean label={shown(likely)}? "
            "An empty `label=` uploads the documents without labels"
        )


def looks_like_header(names: Sequence[str], options: ReadOptions) -> bool:
    """Whether one of the cells is the name of a column, as far as anybody can know."""
    named = {normal(name) for name in (*options.text, options.label, options.key, options.vector) if name}
    return any(is_known(name) or normal(name) in named for name in names)
