"""Results: the trace while a job runs; categories and documents once it has succeeded."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field, TypeAdapter
from sqlalchemy import ColumnElement, and_, select, tuple_
from sqlalchemy.orm import Session, aliased

from app.core import lifecycle
from app.core.errors import JobNotFound, MalformedRequest, ResultsNotReady
from app.core.tables import Answer, Category, Document, Draw, Job, Summary
from app.http.dependencies import JobId, Readers, problems
from app.http.document_filters import Fields, field_conditions
from app.http.long_answers import written
from app.http.new_categories import new_categories, posterior, summary
from app.http.pages import PAGE, Cursor, Limit, from_cursor, page
from app.schemas.common import MAX_INTEGER
from app.schemas.results import (
    CalibrationOut,
    CategoriesOut,
    CategoryOut,
    DiagnosticsOut,
    DocumentOut,
    DocumentPage,
    DrawOut,
    RunnerUp,
    TracePage,
)

router = APIRouter(prefix="/v1/jobs/{job_id}", tags=["results"])

TRACE_PAGE, MAX_TRACE_PAGE = 1_000, 10_000

Told = TypeVar("Told", bound=BaseModel)
Number = Annotated[int, Field(ge=0, le=MAX_INTEGER)]
ChainAndSweep = TypeAdapter(tuple[Number, Number])
RowNumber = TypeAdapter(Annotated[int, Field(ge=0, le=2**63 - 1)])


@router.get(
    "/trace",
    operation_id="get_trace",
    summary="Read the trace",
    response_model=TracePage,
    responses=problems(JobNotFound, MalformedRequest),
)
def get_trace(
    job_id: JobId,
    readers: Readers,
    chain: Annotated[Number | None, Query(description="Only this chain.")] = None,
    after: Annotated[Number | None, Query(description="Only draws after this sweep.")] = None,
    cursor: Cursor = None,
    limit: Annotated[int, Query(ge=1, le=MAX_TRACE_PAGE, description="Maximum number of rows per page.")] = TRACE_PAGE,
) -> Response:
    """Read the draws by chain and sweep, one row per sweep, burn-in included; also while the job runs."""
    last = from_cursor(cursor, ChainAndSweep)
    columns = [getattr(Draw, name) for name in DrawOut.model_fields]
    query = select(*columns).where(Draw.job_id == job_id).order_by(Draw.chain, Draw.sweep).limit(limit + 1)
    if chain is not None:
        query = query.where(Draw.chain == chain)
    if after is not None:
        query = query.where(Draw.sweep > after)
    if last is not None:
        query = query.where(tuple_(Draw.chain, Draw.sweep) > last)
    with readers.begin() as session:
        lifecycle.find_job(session, job_id)
        rows = session.execute(query).all()
    shown, following = page(rows, limit, lambda row: (row.chain, row.sweep))
    draws = [DrawOut.model_construct(**row._mapping) for row in shown]  # the columns have the types of its fields
    return written(TracePage(draws=draws, next=following))


@router.get(
    "/categories",
    operation_id="get_categories",
    summary="Read the categories",
    response_model=CategoriesOut,
    responses=problems(JobNotFound, ResultsNotReady),
)
def get_categories(job_id: JobId, readers: Readers) -> Response:
    """Read the number of new categories, also in a sentence, all categories, and what the number rests on."""
    with readers.begin() as session:
        job = find_concluded_job(session, job_id)
        stored = session.get_one(Summary, (job_id, job.edition))
        categories = categories_of(session, job)
    diagnostics = told(DiagnosticsOut, stored, "diagnostics")
    n_new = posterior(stored.data["n_new"])
    n_known = sum(category.known for category in categories)
    found = new_categories(n_known, len(categories) - n_known, n_new)
    return written(
        CategoriesOut(
            summary=summary(n_known, found, diagnostics),
            new_categories=found,
            categories=[category_out(category) for category in categories],
            n_new=n_new,
            n_new_with_documents=posterior(stored.data["n_new_with_documents"]),
            diagnostics=diagnostics,
            calibration=told(CalibrationOut, stored, "calibration"),
            best_chain=stored.best_chain,
        )
    )


def categories_of(session: Session, job: Job) -> Sequence[Category]:
    """The categories of the job's present results, in index order."""
    present = select(Category).where(Category.job_id == job.id, Category.edition == job.edition)
    return session.scalars(present.order_by(Category.category)).all()


def told(kind: type[Told], stored: Summary, name: str) -> Told | None:
    """A part of the stored summary that some models have."""
    return kind.model_validate(stored.data[name]) if name in stored.data else None


def find_concluded_job(session: Session, job_id: str) -> Job:
    """The job. Raises JobNotFound, or ResultsNotReady while there is nothing to read.

    Its results are those of `job.edition`. They can be read while it is extended or its power is tested.
    """
    job = lifecycle.find_job(session, job_id)
    if job.edition == 0:
        raise ResultsNotReady(f"job {job_id} is {job.status}; results are available once it has succeeded")
    return job


def category_out(category: Category) -> CategoryOut:
    """A category as HTTP reports it."""
    return CategoryOut(
        category=category.category,
        name=category.name,
        known=category.known,
        documents=category.n_documents,
        labeled=category.n_labeled,
        share=category.share,
        top_words=category.top_words,
        stability=category.stability,
        topics=category.topics,
    )


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
    category: Annotated[
        Number | Literal["none"] | None,
        Query(description="Only documents of the category with this index, or `none` for those without one."),
    ] = None,
    known: Annotated[bool | None, Query(description="Only documents of known, or only of new categories.")] = None,
    field: Fields = [],  # noqa: B006 (FastAPI makes one for each request)
    cursor: Cursor = None,
    limit: Limit = PAGE,
) -> Response:
    """Read the category of each unlabeled document, in the order of their upload."""
    last = from_cursor(cursor, RowNumber)
    first, second, original = aliased(Category), aliased(Category), aliased(Document)
    query = (
        select(Answer, Document.key, Document.fields, Document.erased, first, second, original.key)
        .join(Document, Document.id == Answer.document_id)
        .outerjoin(first, of_answer(first) & (first.category == Answer.category))
        .outerjoin(second, of_answer(second) & (second.category == Answer.runner_up))
        .outerjoin(original, original.id == Answer.copy_of)
        .where(Answer.job_id == job_id, *field_conditions(field))
        .order_by(Answer.document_id)
        .limit(limit + 1)
    )
    if category == "none":
        query = query.where(Answer.category.is_(None))
    elif category is not None:
        query = query.where(Answer.category == category)
    if known is not None:
        query = query.where(first.known.is_(known))
    if last is not None:
        query = query.where(Answer.document_id > last)
    with readers.begin() as session:
        job = find_concluded_job(session, job_id)
        rows = session.execute(query.where(Answer.edition == job.edition)).all()
    shown, following = page(rows, limit, lambda row: row[0].document_id)
    return written(DocumentPage(documents=[document_out(*row) for row in shown], next=following))


def of_answer(category: type[Category]) -> ColumnElement[bool]:
    """The condition that a category belongs to the same results as an answer."""
    return and_(category.job_id == Answer.job_id, category.edition == Answer.edition)


def document_out(
    answer: Answer,
    key: str,
    fields: dict[str, Any] | None,
    erased: bool,
    first: Category | None,
    second: Category | None,
    original: str | None,
) -> DocumentOut:
    """A document's answer as HTTP reports it, with its category, the second choice, and the key of its original."""
    return DocumentOut(
        key=key,
        fields=fields or {},
        erased=erased,
        category=answer.category,
        name=first.name if first else None,
        known=first.known if first else None,
        probability=answer.probability,
        known_probability=answer.known_probability,
        category_probability=category_probability(answer, first),
        runner_up=runner_up(answer, second),
        reason=answer.reason,
        stability=answer.stability,
        copy_of=original,
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
