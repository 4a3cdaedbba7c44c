"""Results: the trace while a job runs, and its categories once it has succeeded."""

from collections.abc import Sequence
from typing import Annotated, TypeVar

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field, TypeAdapter
from sqlalchemy import select, tuple_
from sqlalchemy.orm import Session

from app.core import lifecycle
from app.core.errors import JobNotFound, MalformedRequest, ResultsNotReady
from app.core.tables import Category, Draw, Job, Summary
from app.http.category_answers import category_out
from app.http.cuts import InCut, by_index, find_cut
from app.http.dependencies import JobId, Readers, problems
from app.http.long_answers import written
from app.http.new_categories import new_categories, posterior, summary
from app.http.pages import Cursor, from_cursor, page
from app.schemas.common import MAX_INTEGER
from app.schemas.results import (
    CalibrationOut,
    CategoriesOut,
    DiagnosticsOut,
    DrawOut,
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
    responses=problems(JobNotFound, ResultsNotReady, MalformedRequest),
)
def get_categories(job_id: JobId, readers: Readers, categories: InCut = None) -> Response:
    """Read the number of new categories, also in a sentence, all categories, and what the number rests on.

    `GET /v1/jobs/{id}/comparison` says what became of those of another job.
    """
    with readers.begin() as session:
        job = find_concluded_job(session, job_id)
        stored = session.get_one(Summary, (job_id, job.edition))
        own = categories_of(session, job)
        cut = find_cut(session, job, categories, own)
    diagnostics = told(DiagnosticsOut, stored, "diagnostics")
    n_new = posterior(stored.data["n_new"])
    n_known = sum(category.known for category in own)
    found = new_categories(n_known, len(own) - n_known, n_new)
    named = by_index(own)
    shown = (
        [category_out(category, named.get) for category in own]
        if cut is None
        else [category_out(group.category, cut.unchanged, group.origin) for group in cut.groups]
    )
    return written(
        CategoriesOut(
            summary=summary(n_known, found, diagnostics),
            new_categories=found,
            categories=shown,
            n_new=n_new,
            n_new_with_documents=posterior(stored.data["n_new_with_documents"]),
            diagnostics=diagnostics,
            calibration=told(CalibrationOut, stored, "calibration"),
            best_chain=stored.best_chain,
            cut=None if cut is None else cut.told(),
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
