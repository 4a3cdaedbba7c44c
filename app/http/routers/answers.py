"""Answers: the category of each unlabeled document, with its text, and which of them a person should see."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fastapi import APIRouter, Request, Response
from sqlalchemy import func, select
from sqlalchemy.orm import Session, aliased

from app.core.errors import JobNotFound, MalformedRequest, ResultsNotReady
from app.core.tables import Answer, Category, Document, Job
from app.http.answer_filters import AskedAnswers, Thresholds
from app.http.answer_orders import SortBy, cursor_at, place_after, place_of
from app.http.answer_pages import Asked, is_answered, read_places
from app.http.dependencies import JobId, Readers, problems
from app.http.long_answers import written
from app.http.pages import PAGE, Cursor, Limit, fitting
from app.http.routers.results import categories_of, find_concluded_job
from app.http.searches import indexing
from app.schemas.results import DocumentOut, DocumentPage, RunnerUp

router = APIRouter(prefix="/v1/jobs/{job_id}", tags=["results"])


class AnswerRow(NamedTuple):
    """An answer with what is told beside it."""

    answer: Answer
    key: str
    fields: dict[str, Any] | None
    erased: bool
    n_characters: int
    original: str | None


@router.get(
    "/documents",
    operation_id="get_documents",
    summary="Read the documents' categories",
    response_model=DocumentPage,
    responses=problems(JobNotFound, ResultsNotReady, MalformedRequest),
)
def get_documents(
    job_id: JobId,
    readers: Readers,
    request: Request,
    filters: AskedAnswers,
    sort: SortBy = None,
    cursor: Cursor = None,
    limit: Limit = PAGE,
) -> Response:
    """Read the category of each unlabeled document.

    A page is shorter than its limit where texts are long, and where many documents had to be read to find those that
    are wanted; it may be empty then. The list ends with the page whose `next` is null.
    """
    asked = Asked(filters, sort, place_after(cursor, sort), limit + 1)
    with readers.begin() as session:
        job = find_concluded_job(session, job_id)
        categories = categories_of(session, job)
        walked = read_places(session, job, categories, asked, indexing(request).wake)
        rows = read_rows(session, job, [place.key[-1] for place in walked.places if place.key is not None])
        shown = rows[: fitting([row.n_characters for row in rows], limit)]
        texts = texts_of(session, [row.answer.document_id for row in shown])
    following = walked.following
    if shown and len(shown) < len(rows):
        last = shown[-1].answer
        following = place_of(sort, last.probability, last.document_id)
    by_index: dict[int | None, Category] = {category.category: category for category in categories}
    documents = [document_out(row, by_index, filters.thresholds, texts) for row in shown]
    return written(DocumentPage(documents=documents, next=None if following is None else cursor_at(sort, following)))


def read_rows(session: Session, job: Job, document_ids: Sequence[int]) -> list[AnswerRow]:
    """The answers for some documents, in their order."""
    original = aliased(Document)
    columns = (Document.key, Document.fields, Document.erased, func.length(Document.text), original.key)
    query = (
        select(Answer, *columns)
        .join(Document, Document.id == Answer.document_id)
        .outerjoin(original, original.id == Answer.copy_of)
        .where(*is_answered(job, document_ids))
    )
    rows = {row[0].document_id: AnswerRow(*row) for row in session.execute(query)}
    return [rows[document_id] for document_id in document_ids if document_id in rows]


def texts_of(session: Session, document_ids: list[int]) -> dict[int, str]:
    """The texts of documents by their ids."""
    return dict(session.execute(select(Document.id, Document.text).where(Document.id.in_(document_ids))).all())


def document_out(
    row: AnswerRow, categories: Mapping[int | None, Category], thresholds: Thresholds, texts: Mapping[int, str]
) -> DocumentOut:
    """A document's answer as HTTP reports it, with its category, the second choice, and the key of its original."""
    answer = row.answer
    first, second = categories.get(answer.category), categories.get(answer.runner_up)
    known = first.known if first else None
    return DocumentOut(
        key=row.key,
        text=texts.get(answer.document_id, ""),
        fields=row.fields or {},
        erased=row.erased,
        category=answer.category,
        name=first.name if first else None,
        known=known,
        probability=answer.probability,
        known_probability=answer.known_probability,
        category_probability=category_probability(answer, first),
        unsure=thresholds.is_unsure(answer.probability, known),
        runner_up=runner_up(answer, second),
        reason=answer.reason,
        stability=answer.stability,
        copy_of=row.original,
    )


def category_probability(answer: Answer, category: Category | None) -> float | None:
    """How probable the category is if the document is of a known one, or of a new one, as the category is.

    At most 1: copies, stability and rounding change the one probability without the other.
    """
    if category is None or answer.probability is None or answer.known_probability is None:
        return None
    of_side = answer.known_probability if category.known else 1.0 - answer.known_probability
    return 1.0 if of_side <= answer.probability else answer.probability / of_side


def runner_up(answer: Answer, second: Category | None) -> RunnerUp | None:
    """The second choice, if there is one."""
    if second is None or answer.runner_up_probability is None:
        return None
    return RunnerUp(category=second.category, name=second.name, probability=answer.runner_up_probability)
