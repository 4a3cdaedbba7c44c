"""Documents as tables: those of a corpus, and those of a job with their answers."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any, Protocol

from sqlalchemy import ColumnElement, Select, and_, exists, or_, select
from sqlalchemy.orm import Session, aliased, sessionmaker

from app.core.certainty import category_probability
from app.core.errors import JobNotFound
from app.core.lifecycle import find_corpus
from app.core.splits import seen_label
from app.core.tables import Answer, Category, Document, Job, is_part_of
from app.exports.errors import ResultsReplaced
from app.exports.fields import FieldNames, own_names
from app.exports.lots import lots
from app.exports.shapes import Shape
from app.exports.tables import Column, Kind, Table, Values

ANSWER_COLUMNS: dict[str, Kind] = {
    "key": "text",
    "text": "text",
    "label": "text",
    "category": "text",
    "known": "boolean",
    "probability": "number",
    "known_probability": "number",
    "category_probability": "number",
    "runner_up": "text",
    "runner_up_probability": "number",
    "stability": "number",
    "reason": "text",
    "copy_of": "text",
    "decision": "integer",
}
DOCUMENT = [getattr(Document, name) for name in ("key", "text", "fields", "is_counts", "erased")]

Readers = sessionmaker[Session]
Lots = Iterator[Iterable[Any]]


class FieldColumns:
    """The fields of documents as columns; what can be none goes into one column of objects."""

    def __init__(self, read: Callable[..., Lots], shape: Shape, mixed: Kind) -> None:
        """Read all fields once, with `read`, to know their names and kinds."""
        found = FieldNames(shape.is_plain if mixed == "json" else lambda _: True, shape.is_name)
        for lot in read(Document.fields):
            for _, fields in lot:
                found.note(fields or {})
        self.columns = found.columns(mixed, shape.marked if mixed == "json" else ())
        self.names = [column.name for column in self.columns]
        self.known = frozenset(self.names)
        self.has_others = found.has_others

    def values(self, fields: dict[str, Any] | None) -> list[Any]:
        """The values of a document's fields, and the object of all others."""
        if not fields:
            return [None] * (len(self.names) + self.has_others)
        values = list(map(fields.get, self.names))
        if self.has_others:
            values.append({name: value for name, value in fields.items() if name not in self.known} or None)
        return values


@dataclass(frozen=True)
class Layout:
    """The columns of a table whose upload gives the same documents, and how it is uploaded."""

    columns: list[Column]
    upload: list[tuple[str, str]]
    has_counts: bool


def layout(fields: FieldColumns, shape: Shape, has_counts: bool) -> Layout:
    """The columns: our own first, then the fields."""
    names = own_names(("key", "text", "label", "counts", "fields"), fields.names)
    ours: list[Kind] = ["name" if shape.has_cells else "text"] * 3
    columns = [Column(names[name], kind) for name, kind in zip(("key", "text", "label"), ours, strict=True)]
    upload = [(name, names[name]) for name in ("key", "text", "label")]
    if has_counts:
        columns.append(Column(names["counts"], "object"))
        upload.append(("counts", names["counts"]))
    columns += fields.columns
    if fields.has_others:
        columns.append(Column(names["fields"], "object", is_field=True))
        upload.append(("fields", names["fields"]))
    marked = [names[name] for name in ("key", "text", "label")] if shape.has_cells else []
    marked += [column.name for column in fields.columns if column.kind in shape.marked]
    return Layout(columns, upload + [("json_column", name) for name in marked], has_counts)


def as_uploaded(row: Any, label: str | None, fields: FieldColumns, has_counts: bool, counts: Any) -> Values:
    """A document as the upload of a table has it."""
    bag = [counts(row.text) if row.is_counts else None] if has_counts else []
    text = None if row.is_counts or row.erased else row.text
    return [row.key, text, label, *bag, *fields.values(row.fields)]


def bag_of(text: str) -> dict[str, int]:
    """A ready bag of words; an empty one is stored as no text."""
    return dict(json.loads(text)) if text else {}


def corpus_table(readers: Readers, corpus_id: str, conditions: Sequence[ColumnElement[bool]], shape: Shape) -> Table:
    """The documents of a corpus as they are now, for an upload that gives the same. Raises CorpusNotFound.

    Whoever corrects the corpus meanwhile makes other versions of it.
    """
    with readers.begin() as session:
        version = find_corpus(session, corpus_id).version
    mine = (Document.corpus_id == corpus_id, is_part_of(version), *conditions)
    check = partial(find_corpus, corpus_id=corpus_id)

    def read(*columns: Any, where: Sequence[ColumnElement[bool]] = ()) -> Lots:
        query = select(Document.id, *columns).where(*mine, *where).order_by(Document.id)
        return lots(readers, check, query, itemgetter(0), Document.id.__gt__)

    fields = FieldColumns(partial(read, where=[Document.fields.is_not(None)]), shape, "json")
    with readers.begin() as session:
        has_counts = bool(session.scalar(select(exists().where(*mine, Document.is_counts))))
    plan = layout(fields, shape, has_counts)

    def rows() -> Iterator[Iterable[Values]]:
        for lot in read(*DOCUMENT, Document.label):
            yield [as_uploaded(row, row.label, fields, has_counts, bag_of) for row in lot]

    return Table(f"corpus-{corpus_id[:8]}", plan.columns, rows, plan.upload)


@dataclass(frozen=True)
class Chosen:
    """Which documents of a job are exported."""

    conditions: Sequence[ColumnElement[bool]] = ()  # on answers and documents
    of_category: Sequence[ColumnElement[bool]] = ()  # on answers, that they are of some categories
    labels: Collection[str] = ()  # the names of those categories
    has_labeled: bool = False  # documents that bear a label, too
    document_ids: Sequence[int] | None = None  # of those that a search finds
    matches: Callable[[str], bool] | None = None  # what it asks of texts if they are many


class Shown(Protocol):
    """What is shown of the answer: see `app.review.shown`, which stands on more than exports do."""

    def said(self, document_id: int, answer: Any) -> Any:
        """`category`, `probability`, `known_probability` and `reason`, where they are not those of the answer."""

    def of_document(self, document_id: int, answer: Any) -> Category | None:
        """The category of a document with this answer."""

    def other(self, category: int | None) -> Category | None:
        """What has all documents of one of the answer's categories, if anything has."""


class JobDocuments:
    """The documents of a job with the answers of one edition of its results."""

    def __init__(self, readers: Readers, job: Job, shown: Shown, chosen: Chosen) -> None:
        self.readers, self.job, self.shown, self.chosen = readers, job, shown, chosen

    def check(self, session: Session) -> None:
        """Raise ServiceError if the answers that are being read are no longer there."""
        edition = session.get(Job, self.job.id)
        if edition is None:
            raise JobNotFound(f"there is no job {self.job.id}")
        if edition.edition != self.job.edition:
            raise ResultsReplaced(f"the results of job {self.job.id} were replaced while they were exported")

    def query(self, *columns: Any) -> tuple[Select[Any], Any]:
        """The documents in order, and the column of their numbers."""
        of_job = (Answer.job_id == self.job.id) & (Answer.edition == self.job.edition)
        if not self.chosen.has_labeled:
            query = select(Answer.document_id.label("id"), *columns).join(Document, Document.id == Answer.document_id)
            place: Any = Answer.document_id
            query = query.where(of_job)
        else:
            query = select(Document.id, *columns).outerjoin(Answer, of_job & (Answer.document_id == Document.id))
            place = Document.id
            mine = (Document.corpus_id == self.job.corpus_id, is_part_of(self.job.corpus_version))
            query = query.where(*mine, Answer.document_id.is_not(None) | Document.label.is_not(None))
        conditions = [*self.chosen.conditions, *self.of_category()]
        if self.chosen.document_ids is not None:
            conditions.append(place.in_(self.chosen.document_ids))
        return query.where(*conditions).order_by(place), place

    def of_category(self) -> list[ColumnElement[bool]]:
        """The condition of the categories that were named; a labeled document is of the one that its label names."""
        if not self.chosen.of_category or not self.chosen.has_labeled:
            return list(self.chosen.of_category)
        is_answered = and_(Answer.document_id.is_not(None), *self.chosen.of_category)
        return [or_(is_answered, and_(Answer.document_id.is_(None), Document.label.in_(self.chosen.labels)))]

    def first(self, row: Any) -> Category | None:
        """The category of a document; of a labeled one that which somebody decided, if anybody has."""
        return self.shown.of_document(row.id, row)

    def second(self, row: Any) -> Category | None:
        """The second choice for it; none where it is shown as the first."""
        found = self.shown.other(row.runner_up)
        return None if found is self.first(row) else found

    def read(self, *columns: Any, where: Sequence[ColumnElement[bool]] = ()) -> Lots:
        """The documents a lot at a time."""
        matches = self.chosen.matches
        query, place = self.query(*columns, *(() if matches is None else (Document.text,)))
        found = lots(self.readers, self.check, query.where(*where), itemgetter(0), place.__gt__)
        if matches is None:
            return found
        return ([row[:-1] for row in lot if matches(row[-1])] for lot in found)

    def answered(self) -> Iterator[list[Any]]:
        """The documents with their answers."""
        original, matches = aliased(Document), self.chosen.matches
        answer = [getattr(Answer, name) for name in ANSWER_PARTS]
        label = seen_label(self.job).label("label")
        query, place = self.query(*DOCUMENT, label, *answer, original.key.label("original"))
        query = query.outerjoin(original, original.id == Answer.copy_of)
        for lot in lots(self.readers, self.check, query, itemgetter(0), place.__gt__):
            yield lot if matches is None else [row for row in lot if matches(row.text)]

    def fields(self, shape: Shape, mixed: Kind) -> FieldColumns:
        """The columns of the fields."""
        return FieldColumns(partial(self.read, where=[Document.fields.is_not(None)]), shape, mixed)


ANSWER_PARTS = (
    "category",
    "probability",
    "known_probability",
    "runner_up",
    "runner_up_probability",
    "stability",
    "reason",
    "leaf",
)


def answers_table(documents: JobDocuments, shape: Shape) -> Table:
    """The answers of a job for people and programs, with texts and fields."""
    fields = documents.fields(shape, "value")
    names = own_names((*ANSWER_COLUMNS, "fields"), fields.names)
    columns = [Column(names[name], kind) for name, kind in ANSWER_COLUMNS.items()]
    columns += fields.columns
    if fields.has_others:
        columns.append(Column(names["fields"], "object", is_field=True))

    def values(row: Any) -> Values:
        first, second = documents.first(row), documents.second(row)
        decided = documents.shown.said(row.id, row)
        said = decided or row
        return [
            row.key,
            None if row.erased else row.text,
            row.label,
            first and first.name,
            first and first.known,
            said.probability,
            said.known_probability,
            category_probability(said.probability, said.known_probability, None if first is None else first.known),
            second and second.name,
            None if second is None else row.runner_up_probability,
            row.stability,
            said.reason,
            row.original,
            decided and decided.decision,
            *fields.values(row.fields),
        ]

    def rows() -> Iterator[Iterable[Values]]:
        return ([values(row) for row in lot] for lot in documents.answered())

    upload = [(role, names[name]) for role, name in (("key", "key"), ("text", "text"), ("label", "category"))]
    return Table(f"documents-{documents.job.id[:8]}", columns, rows, upload)


def labels_table(documents: JobDocuments, shape: Shape) -> Table:
    """The documents of a job as a corpus in which each bears the category that it was given as its label."""
    fields = documents.fields(shape, "json")
    with documents.readers.begin() as session:
        query, _ = documents.query()
        has_counts = session.execute(query.where(Document.is_counts).order_by(None).limit(1)).first() is not None
    plan = layout(fields, shape, has_counts)

    def label(row: Any) -> str | None:
        first = documents.first(row)
        return row.label if first is None else first.name

    def rows() -> Iterator[Iterable[Values]]:
        for lot in documents.answered():
            yield [as_uploaded(row, label(row), fields, has_counts, bag_of) for row in lot]

    return Table(f"labels-{documents.job.id[:8]}", plan.columns, rows, plan.upload)
