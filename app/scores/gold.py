"""Gold labels, row by row, beside what a job answers for the documents with their keys."""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import numpy as np
from sqlalchemy import and_, select
from sqlalchemy.orm import Session

from app.core.errors import MalformedRequest
from app.core.splits import seen_label
from app.core.tables import Answer, Category, Document, Job, is_part_of
from app.review.shown import Shown
from app.uploads.rows import BadLine, Row
from sampler.corpus import Array

BATCH = 1_000  # rows whose documents are looked up at once
MAX_ERRORS = 100  # rows that are reported
MAX_KEYS = 10  # that are named
# The confusion table is held in memory, and matched as a whole. More labels than these are probably keys or texts.
MAX_LABELS = 5_000
NO_ANSWER, LABELED = -1, -2  # in the place of a category: none was found, or the job knew a label

Number = TypeVar("Number", int, float)


class Names(NamedTuple):
    """The job's categories, known ones first."""

    names: list[str]
    n_known: int


class Answered(NamedTuple):
    """The documents that are scored. Gold labels that are new to the job have numbers from n_known on, of their own."""

    gold: Array  # int64[n], of the label
    category: Array  # int64[n], index of the answer's
    probability: Array  # float64[n], of it; NaN where it is not known
    known_probability: Array  # float64[n], of any known category; the same
    labels: list[str]  # by number; the first n_known are the known categories


@dataclass
class Gold:
    """What was read of a file of gold labels, and what the job says of the same documents."""

    known: Sequence[str]  # names of the known categories
    numbers: dict[str, int] = field(init=False)  # of labels
    document: "array[int]" = field(default_factory=lambda: array("q"))
    label: "array[int]" = field(default_factory=lambda: array("q"))
    category: "array[int]" = field(default_factory=lambda: array("q"))  # of the answer, NO_ANSWER or LABELED
    probability: "array[float]" = field(default_factory=lambda: array("d"))
    known_probability: "array[float]" = field(default_factory=lambda: array("d"))
    n_unlabeled: int = 0
    n_unknown: int = 0
    n_rejected: int = 0
    unknown_keys: list[str] = field(default_factory=list)
    errors: list[BadLine] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Known categories have their own numbers."""
        self.numbers = {name: number for number, name in enumerate(self.known)}

    def refuse(self, line: BadLine) -> None:
        """Count a row that cannot be used."""
        self.n_rejected += 1
        if len(self.errors) < MAX_ERRORS:
            self.errors.append(line)

    def number(self, label: str) -> int:
        """The number of a label. Raises MalformedRequest if there are too many."""
        number = self.numbers.setdefault(label, len(self.numbers))
        if number >= len(self.known) + MAX_LABELS:
            raise MalformedRequest(
                f"the file has more than {MAX_LABELS} different labels that the job does not know; is the column of "
                "the labels the right one?"
            )
        return number

    def add(self, batch: Sequence[Row | BadLine], found: Mapping[str, "Known"]) -> None:
        """Take some rows, with what the job says of their documents. Raises MalformedRequest."""
        rows: list[Row] = []
        for row in batch:
            if isinstance(row, BadLine):
                self.refuse(row)
            elif row.key is None:
                self.refuse(BadLine(row.line, "the row has no key"))
            elif row.label is None:
                self.n_unlabeled += 1
            else:
                rows.append(row)
        for row in rows:
            known = found.get(str(row.key))
            if known is None:
                self.n_unknown += 1
                if len(self.unknown_keys) < MAX_KEYS:
                    self.unknown_keys.append(str(row.key))
                continue
            self.document.append(known.document)
            self.label.append(self.number(str(row.label)))
            self.category.append(LABELED if known.is_labeled else number_or(known.category, NO_ANSWER))
            self.probability.append(number_or(known.probability, np.nan))
            self.known_probability.append(number_or(known.known_probability, np.nan))


def number_or(value: Number | None, default: Number) -> Number:
    """The value, or what stands for none."""
    return default if value is None else value


class Known(NamedTuple):
    """What the job says of a document."""

    document: int
    is_labeled: bool
    category: int | None
    probability: float | None
    known_probability: float | None


def answers(session: Session, job: Job, shown: Shown, batch: Sequence[Row | BadLine]) -> dict[str, Known]:
    """What is shown of the documents with the keys of some rows, by key."""
    number = {category.category: number for number, category in enumerate(known_first(shown))}
    keys = [row.key for row in batch if isinstance(row, Row) and row.key is not None]
    of_job = and_(Answer.document_id == Document.id, Answer.job_id == job.id, Answer.edition == job.edition)
    query = (
        select(
            Document.key,
            Document.id,
            seen_label(job).is_not(None).label("is_labeled"),
            *(Answer.category, Answer.leaf, Answer.runner_up, Answer.runner_up_probability),
            *(Answer.probability, Answer.known_probability, Answer.reason),
        )
        .outerjoin(Answer, of_job)
        .where(Document.corpus_id == job.corpus_id, is_part_of(job.corpus_version), Document.key.in_(keys))
    )
    found = {}
    for row in session.execute(query):
        said = shown.said(row.id, row) or row
        category = shown.of_document(row.id, row)
        index = None if category is None else number[category.category]
        found[row.key] = Known(row.id, row.is_labeled, index, said.probability, said.known_probability)
    return found


def known_first(shown: Shown) -> list[Category]:
    """The categories that are shown, known ones first: a decision may make one known that is not."""
    return sorted(shown.categories, key=lambda category: not category.known)


def names_of(shown: Shown) -> Names:
    """The names of the categories that are shown."""
    categories = known_first(shown)
    return Names([category.name for category in categories], sum(category.known for category in categories))


def count_answered(shown: Shown) -> int:
    """How many documents have a category, of categories that are counted."""
    return sum(category.n_documents for category in shown.categories)


class Merged(NamedTuple):
    """Each document once."""

    answered: Answered
    scored: Array  # int64[n], ids of its documents
    n_documents: int  # with a gold label
    n_without_answer: int
    n_labeled: int
    contradictory: list[int]  # ids of documents with several gold labels
    n_contradictory_answered: int


def merged(gold: Gold) -> Merged:
    """What is to be scored: each document once; not at all if it comes again with another label."""
    label, category = np.array(gold.label, np.int64), np.array(gold.category, np.int64)
    documents, first, place = np.unique(np.array(gold.document, np.int64), return_index=True, return_inverse=True)
    contradicts = np.zeros(documents.size, bool)
    contradicts[place[label != label[first][place]]] = True
    kept = first[~contradicts]
    scored = kept[category[kept] >= 0]
    answered = Answered(
        label[scored],
        category[scored],
        np.array(gold.probability)[scored],
        np.array(gold.known_probability)[scored],
        list(gold.numbers),
    )
    return Merged(
        answered,
        documents[~contradicts][category[kept] >= 0],
        kept.size,
        int((category[kept] == NO_ANSWER).sum()),
        int((category[kept] == LABELED).sum()),
        documents[contradicts].tolist(),
        int((category[first[contradicts]] >= 0).sum()),
    )


def keys_of(session: Session, documents: Sequence[int]) -> list[str]:
    """The keys of the first of some documents."""
    query = select(Document.key).where(Document.id.in_(documents[:MAX_KEYS])).order_by(Document.id)
    return list(session.scalars(query))
