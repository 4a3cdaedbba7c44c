"""Answers: the category of each unlabeled document, with its text, and which of them a person should see."""

from typing import Annotated, Any, Literal, NamedTuple

from fastapi import APIRouter, Query, Response
from sqlalchemy import ColumnElement, and_, case, func, or_, select
from sqlalchemy.orm import Session, aliased

from app.core.errors import JobNotFound, MalformedRequest, ResultsNotReady
from app.core.tables import MAX_NAME, Answer, Category, Document
from app.http.cuts import Cut, InCut, find_cut
from app.http.dependencies import JobId, Readers, problems
from app.http.document_filters import Fields, field_conditions
from app.http.long_answers import written
from app.http.pages import PAGE, Cursor, Limit, fitting, from_cursor, page
from app.http.routers.results import Number, RowNumber, categories_of, find_concluded_job
from app.schemas.results import DocumentOut, DocumentPage, RunnerUp

router = APIRouter(prefix="/v1/jobs/{job_id}", tags=["results"])

UNSURE = 0.5

InCategory = Annotated[
    Number | Literal["none"] | None,
    Query(description="Only documents of the category with this index, or `none` for those without one."),
]
IsKnown = Annotated[bool | None, Query(description="Only documents of known, or only of new categories.")]
Threshold = Annotated[float, Query(ge=0.0, le=1.0)]


class Thresholds(NamedTuple):
    """Below which probability an answer is unsure."""

    known: float
    new: float


class AnswerRow(NamedTuple):
    """An answer with what is told beside it."""

    answer: Answer
    key: str
    fields: dict[str, Any] | None
    erased: bool
    n_characters: int
    first: Category | None
    second: Category | None
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
    category: InCategory = None,
    name: Annotated[
        str | None, Query(max_length=MAX_NAME, description="Only documents of the category with this name.")
    ] = None,
    known: IsKnown = None,
    categories: InCut = None,
    unsure: Annotated[bool | None, Query(description="Only documents whose answer is unsure, or only others.")] = None,
    unsure_known: Annotated[
        Threshold, Query(description="An answer with a known category is unsure below this probability.")
    ] = UNSURE,
    unsure_new: Annotated[
        Threshold, Query(description="An answer with a new category is unsure below this probability.")
    ] = UNSURE,
    field: Fields = [],  # noqa: B006 (FastAPI makes one for each request)
    cursor: Cursor = None,
    limit: Limit = PAGE,
) -> Response:
    """Read the category of each unlabeled document, in the order of their upload; a page of long texts is shorter."""
    last = from_cursor(cursor, RowNumber)
    first, second, original = aliased(Category), aliased(Category), aliased(Document)
    is_unsure = unsure_where(first, Thresholds(unsure_known, unsure_new))
    wanted = field_conditions(field)
    if category is not None and categories is None:
        wanted.append(Answer.category.is_(None) if category == "none" else Answer.category == category)
    if name is not None and categories is None:
        wanted.append(first.name == name)
    if known is not None:
        wanted.append(first.known.is_(known))
    if unsure is not None:
        wanted.append(is_unsure if unsure else ~is_unsure)
    if last is not None:
        wanted.append(Answer.document_id > last)
    columns = (Document.key, Document.fields, Document.erased, func.length(Document.text))
    query = (
        select(Answer, *columns, first, second, original.key, is_unsure)
        .join(Document, Document.id == Answer.document_id)
        .outerjoin(first, of_answer(first) & (first.category == Answer.category))
        .outerjoin(second, of_answer(second) & (second.category == Answer.runner_up))
        .outerjoin(original, original.id == Answer.copy_of)
        .where(Answer.job_id == job_id, *wanted)
        .order_by(Answer.document_id)
        .limit(limit + 1)
    )
    with readers.begin() as session:
        job = find_concluded_job(session, job_id)
        cut = None if categories is None else find_cut(session, job, categories, categories_of(session, job))
        in_cut = [] if cut is None else cut.where(category, name)
        rows = session.execute(query.where(Answer.edition == job.edition, *in_cut)).all()
        n_shown = fitting([row[4] for row in rows], limit)
        shown, following = page(rows, n_shown, lambda row: row[0].document_id)
        texts = texts_of(session, [row[0].document_id for row in shown])
    documents = [document_out(within(cut, AnswerRow(*row)), is_unsure, texts) for *row, is_unsure in shown]
    return written(DocumentPage(documents=documents, next=following))


def within(cut: Cut | None, row: AnswerRow) -> AnswerRow:
    """The row with the categories that a cut has; the second choice goes if the cut joins it with the first."""
    if cut is None:
        return row
    first, second = cut.of_document(row.answer.category, row.answer.leaf), cut.other(row.answer.runner_up)
    return row._replace(first=first, second=None if second is first else second)


def of_answer(category: type[Category]) -> ColumnElement[bool]:
    """The condition that a category belongs to the same results as an answer."""
    return and_(category.job_id == Answer.job_id, category.edition == Answer.edition)


def unsure_where(category: type[Category], thresholds: Thresholds) -> ColumnElement[bool]:
    """The condition that an answer is unsure; one without a category is."""
    threshold = case((category.known, thresholds.known), else_=thresholds.new)
    return or_(Answer.category.is_(None), Answer.probability < threshold)


def texts_of(session: Session, document_ids: list[int]) -> dict[int, str]:
    """The texts of documents by their ids."""
    return dict(session.execute(select(Document.id, Document.text).where(Document.id.in_(document_ids))).all())


def document_out(row: AnswerRow, is_unsure: bool, texts: dict[int, str]) -> DocumentOut:
    """A document's answer as HTTP reports it, with its category, the second choice, and the key of its original."""
    answer = row.answer
    return DocumentOut(
        key=row.key,
        text=texts.get(answer.document_id, ""),
        fields=row.fields or {},
        erased=row.erased,
        category=row.first.category if row.first else None,
        name=row.first.name if row.first else None,
        known=row.first.known if row.first else None,
        probability=answer.probability,
        known_probability=answer.known_probability,
        category_probability=category_probability(answer, row.first),
        unsure=is_unsure,
        runner_up=runner_up(answer, row.second),
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
