"""Results: the trace while a job runs, and its categories once it has succeeded."""

from typing import Annotated, TypeVar

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field, TypeAdapter
from sqlalchemy import func, select, tuple_
from sqlalchemy.orm import Session

from app.core import lifecycle
from app.core.certainty import UNSURE
from app.core.decisions import n_decisions
from app.core.errors import JobNotFound, MalformedRequest, ResultsNotReady
from app.core.tables import MAX_SWEEPS, Answer, Draw, Job, Summary
from app.http.category_answers import category_out
from app.http.dependencies import JobId, Readers, problems
from app.http.long_answers import written
from app.http.new_categories import new_categories, posterior, summary
from app.http.pages import Cursor, from_cursor, linked, page
from app.http.shown import Showing
from app.review.cuts import Cut
from app.review.events import tag_of
from app.review.shown import Shown
from app.schemas.common import MAX_INTEGER
from app.schemas.results import (
    CalibrationOut,
    CategoriesOut,
    DescriptionFit,
    DiagnosticsOut,
    DrawOut,
    NewCategoriesOut,
    PosteriorOut,
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
    request: Request,
    chain: Annotated[Number | None, Query(description="Only this chain.")] = None,
    after: Annotated[Number | None, Query(description="Only draws after this sweep.")] = None,
    every: Annotated[int, Query(ge=1, le=MAX_SWEEPS, description="Only sweeps whose number is a multiple of it.")] = 1,
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
    if every > 1:
        query = query.where(Draw.sweep % every == 0)
    if last is not None:
        query = query.where(tuple_(Draw.chain, Draw.sweep) > last)
    with readers.begin() as session:
        lifecycle.find_job(session, job_id)
        rows = session.execute(query).all()
    shown, following = page(rows, limit, lambda row: (row.chain, row.sweep))
    draws = [DrawOut.model_construct(**row._mapping) for row in shown]  # the columns have the types of its fields
    return linked(request, TracePage(draws=draws, next=following), following)


@router.get(
    "/categories",
    operation_id="get_categories",
    summary="Read the categories",
    response_model=CategoriesOut,
    responses=problems(JobNotFound, ResultsNotReady, MalformedRequest),
)
def get_categories(job_id: JobId, readers: Readers, showing: Showing) -> Response:
    """Read the number of new categories, also in a sentence, all categories, and what the number rests on.

    `GET /v1/jobs/{id}/comparison` says what became of those of another job.
    """
    with readers.begin() as session:
        job = find_concluded_job(session, job_id)
        stored = session.get_one(Summary, (job_id, job.edition))
        shown = showing.show(session, job, counted=True, portrayed=True)
        tag = tag_of(job, n_decisions(session, job_id))
        n_unsure = count_unsure(session, job)
    diagnostics = told(DiagnosticsOut, stored, "diagnostics")
    n_new = posterior(stored.data["n_new"])
    n_known, found = numbers(shown, n_new)
    listed = [category_out(category, shown.unchanged, shown.origin(category.category)) for category in shown.categories]
    response = written(
        CategoriesOut(
            summary=summary(n_known, found, diagnostics),
            new_categories=found,
            categories=listed,
            n_new=n_new,
            n_new_with_documents=posterior(stored.data["n_new_with_documents"]),
            diagnostics=diagnostics,
            calibration=told(CalibrationOut, stored, "calibration"),
            best_chain=stored.best_chain,
            unsure=n_unsure,
            numbers=stored.data.get("numbers"),
            map_fit=stored.data.get("map_fit"),
            descriptions=description_fits(stored, shown),
            cut=shown.told() if isinstance(shown, Cut) else None,
        )
    )
    response.headers["ETag"] = tag
    return response


def count_unsure(session: Session, job: Job) -> int:
    """How many documents have an answer that is unsure; two counts, each of a range of an index."""
    unsure = (Answer.probability < UNSURE, Answer.probability.is_(None))
    count = select(func.count()).where(Answer.job_id == job.id, Answer.edition == job.edition)
    return sum(session.scalars(count.where(condition)).one() for condition in unsure)


def numbers(shown: Shown, n_new: PosteriorOut) -> tuple[int, NewCategoriesOut]:
    """The number of known categories, and that of new ones: by as many as decisions change it, its interval moves.

    Under a cut they are those of the answer.
    """
    of_answer = sum(category.known for category in shown.own)
    found = new_categories(of_answer, len(shown.own) - of_answer, n_new)
    if isinstance(shown, Cut):
        return of_answer, found
    n_known = sum(category.known for category in shown.categories)
    number = len(shown.categories) - n_known
    low, high = (max(limit + number - found.number, 0) for limit in found.interval_90)
    return n_known, NewCategoriesOut(number=number, interval_90=(low, high))


def description_fits(stored: Summary, shown: Shown) -> list[DescriptionFit] | None:
    """What became of the descriptions of the corpus; a category has the index of what is shown in its place."""
    if "descriptions" not in stored.data:
        return None
    fits = [DescriptionFit(**each) for each in stored.data["descriptions"]]
    for each in fits:
        category = None if each.category is None else shown.other(each.category)
        each.category = None if category is None else category.category
    return fits


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
