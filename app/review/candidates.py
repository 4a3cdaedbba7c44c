"""What the triage of a job is made of, read by indices: as fast for a million answers as for a thousand.

Documents that somebody has decided are never among it; how many there are of each kind is about the answer as it is.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, and_, func, select
from sqlalchemy.orm import Session

from app.core.certainty import UNSURE
from app.core.splits import seen_label
from app.core.tables import Answer, Audit, Category, ClampedLabel, DecidedDocument, Document, Job
from app.review.documents import ids_of, lots
from app.review.triage import (
    Answered,
    Candidate,
    CategorySize,
    Doubted,
    Found,
    Why,
    candidates,
    choose,
    unsure_of_each,
)

MOST_CATEGORIES = 200  # the largest ones, whose least probable documents are candidates
MOST_PAIRED = 10_000  # of the least probable answers is counted which two categories they are between
MOST_DOUBTED = 1_000
SHOWN = 500  # characters of a text


class Asked(NamedTuple):
    """A document that a person is asked about, with its text."""

    candidate: Candidate
    key: str
    text: str
    is_shortened: bool
    label: str | None


class Triage(NamedTuple):
    """The documents to be asked about, and how many there are of each kind."""

    asked: list[Asked]
    numbers: dict[Why, int]


def is_open(job: Job, document_id: Any) -> ColumnElement[bool]:
    """The condition, in SQL, that nobody has decided about a document of a job, here or in one that it continues.

    A decision that was undone leaves the document out all the same: somebody has looked at it.
    """
    decided = select(DecidedDocument.document_id).where(
        DecidedDocument.job_id == job.id, DecidedDocument.document_id == document_id
    )
    clamped = select(ClampedLabel.document_id).where(
        ClampedLabel.job_id == job.id, ClampedLabel.document_id == document_id, ClampedLabel.is_drawn.is_(False)
    )
    return and_(~decided.exists(), ~clamped.exists())


def triage(session: Session, job: Job, categories: Sequence[Category], skipped: Sequence[str], budget: int) -> Triage:
    """The documents of a job's present answer that a person should be asked about; `skipped` keys are left out."""
    out = set(ids_of(session, job, skipped).values())
    found = read(session, job, categories, out)
    offered = list(candidates(found.what))
    while True:
        chosen = choose((each for each in offered if each.document not in out), budget)
        rows = documents_of(session, job, [each.document for each in chosen])
        gone = {each.document for each in chosen} - rows.keys()
        if not gone:
            return Triage([asked(each, rows[each.document]) for each in chosen], found.numbers)
        out |= gone


class Read(NamedTuple):
    """What candidates are made of, and how many there are of each kind in the whole answer."""

    what: Found
    numbers: dict[Why, int]


def read(session: Session, job: Job, categories: Sequence[Category], out: set[int]) -> Read:
    """Read what candidates are made of; documents that are `out` are left out."""
    representative = [key for each in categories if not each.known for key in keys_in(each, "representative")]
    edge = [key for each in categories for key in keys_in(each, "edge")]
    ids = ids_of(session, job, [*representative, *edge])
    label_pairs = label_pairs_of(session, job)
    found = Found(
        {each.category: CategorySize(each.known, each.n_documents) for each in categories},
        list(least_sure(session, job, categories, out)),
        list(answered(session, job, [ids[key] for key in edge if key in ids], out)),
        list(answered(session, job, [ids[key] for key in representative if key in ids], out)),
        list(doubted(session, job, out)),
        unsure_pairs_of(session, job),
        label_pairs,
    )
    numbers: dict[Why, int] = {
        "unsure": session.scalar(select(func.count()).where(*is_unsure(job))) or 0,
        "edge": len(edge),
        "label": sum(label_pairs.values()),
        "representative": len(representative),
    }
    return Read(found, numbers)


def keys_in(category: Category, name: str) -> list[str]:
    """Keys of documents in the portrait of a category, if it has one."""
    return category.portrait[name] if category.portrait else []


def of_job(job: Job) -> list[ColumnElement[bool]]:
    """The conditions that an answer is one of the job's present ones, and nobody has decided about its document."""
    return [Answer.job_id == job.id, Answer.edition == job.edition, is_open(job, Answer.document_id)]


def is_unsure(job: Job) -> list[ColumnElement[bool]]:
    """The conditions that an answer of the job is unsure."""
    return [Answer.job_id == job.id, Answer.edition == job.edition, Answer.probability < UNSURE]


ANSWERED = (
    *(Answer.document_id, Answer.copy_of, Answer.category, Answer.probability),
    *(Answer.runner_up, Answer.runner_up_probability),
)


def read_answers(session: Session, query: Select[*tuple[Any, ...]], out: set[int]) -> Iterator[Answered]:
    """The answers that a query of ANSWERED finds; those without a category are of no use."""
    for document, original, category, probability, other, other_probability in session.execute(query):
        if document not in out and category is not None:
            text = document if original is None else original
            yield Answered(document, text, category, probability, other, other_probability or 0.0)


def least_sure(session: Session, job: Job, categories: Sequence[Category], out: set[int]) -> Iterator[Answered]:
    """The least probable answers of each category."""
    largest = sorted(categories, key=lambda each: (-each.n_documents, each.category))[:MOST_CATEGORIES]
    n = unsure_of_each(len(categories))
    query = select(*ANSWERED).where(*of_job(job)).order_by(Answer.probability, Answer.document_id).limit(n + len(out))
    for category in largest:
        if category.n_documents:
            yield from read_answers(session, query.where(Answer.category == category.category), out)


def answered(session: Session, job: Job, document_ids: Sequence[int], out: set[int]) -> Iterator[Answered]:
    """The answers of some documents, by their ids; labeled ones have none."""
    for some in lots(sorted(document_ids)):
        yield from read_answers(session, select(*ANSWERED).where(*of_job(job), Answer.document_id.in_(some)), out)


def unsure_pairs_of(session: Session, job: Job) -> dict[tuple[int, int], int]:
    """How many unsure documents there are of each category and runner-up, among the least probable ones."""
    least = (
        select(Answer.category, Answer.runner_up)
        .where(*is_unsure(job))
        .order_by(Answer.probability, Answer.document_id)
        .limit(MOST_PAIRED)
        .subquery()
    )
    pair = (least.c.category, least.c.runner_up)
    rows = session.execute(select(*pair, func.count()).group_by(*pair))
    return {(category, other): n for category, other, n in rows if other is not None}


def is_doubtful(job: Job) -> list[ColumnElement[bool]]:
    """The conditions that an audit is one of the job's present ones, and doubts a label."""
    return [Audit.job_id == job.id, Audit.edition == job.edition, Audit.suggested.is_not(None)]


def label_pairs_of(session: Session, job: Job) -> dict[tuple[int, int], int]:
    """How many doubtful labels there are of each label and suggestion."""
    pair = (Audit.category, Audit.suggested)
    rows = session.execute(select(*pair, func.count()).where(*is_doubtful(job)).group_by(*pair))
    return {(category, suggested): n for category, suggested, n in rows if suggested is not None}


def doubted(session: Session, job: Job, out: set[int]) -> Iterator[Doubted]:
    """The least probable labels that are doubtful."""
    columns = (Audit.document_id, Audit.category, Audit.probability, Audit.suggested, Audit.suggested_probability)
    query = (
        select(*columns)
        .where(*is_doubtful(job), is_open(job, Audit.document_id))
        .order_by(Audit.probability, Audit.document_id)
        .limit(MOST_DOUBTED)
    )
    for document, category, probability, suggested, suggested_probability in session.execute(query):
        if document not in out and suggested is not None:
            yield Doubted(document, category, probability, suggested, suggested_probability or 0.0)


def documents_of(session: Session, job: Job, document_ids: Sequence[int]) -> dict[int, Any]:
    """The documents with these ids whose text has not been erased."""
    columns = (
        *(Document.id, Document.key, seen_label(job).label("label")),
        func.substr(Document.text, 1, SHOWN).label("text"),
        (func.length(Document.text) > SHOWN).label("is_shortened"),
    )
    query = select(*columns).where(Document.id.in_(document_ids), Document.erased.is_(False))
    return {row.id: row for row in session.execute(query)}


def asked(candidate: Candidate, row: Any) -> Asked:
    """A candidate with its text."""
    return Asked(candidate, row.key, row.text, bool(row.is_shortened), row.label)
