"""Comparisons of methods over random splits of a corpus with gold labels: submit, follow, cancel, delete."""

from http import HTTPStatus
from typing import Annotated, Any, Literal

from anyio import to_thread
from fastapi import APIRouter, Query, Request, Response
from sqlalchemy import select, tuple_
from sqlalchemy.orm import Session, sessionmaker
from starlette.concurrency import run_in_threadpool

from app.broker import queue
from app.core import lifecycle, method_comparisons
from app.core.errors import (
    BodyTooLarge,
    ComparisonFinished,
    ComparisonNotFinished,
    ComparisonNotFound,
    CorpusNotFound,
    IdempotencyKeyReused,
    JobTooLarge,
    LabelsNotSplittable,
    MalformedRequest,
    NoLabels,
    NoSourceField,
    NothingToCategorize,
    ResourceDeleted,
    TooManyJobs,
)
from app.core.idempotency import Answer, Once
from app.core.method_comparisons import Planned, Submitted
from app.core.runs import LIVE
from app.core.settings import Settings
from app.core.tables import Comparison, is_visible_comparison
from app.http.controls import POLL_SECONDS
from app.http.dependencies import (
    MAX_BODY_BYTES,
    ComparisonId,
    Keyed,
    OnBehalfOf,
    Readers,
    ServiceSettings,
    Sessions,
    answer,
    check_corpus_id,
    problems,
    removal,
    rendered,
)
from app.http.job_facts import write_facts
from app.http.method_comparisons import basics, check_methods, check_room, csv_table, describe, markdown_table, plan
from app.http.pages import PAGE, Cursor, Limit, NewestFirst, from_cursor, linked, page
from app.http.routers.jobs import checks, find_answer
from app.http.searches import indexing
from app.schemas.job_facts import JobFacts
from app.schemas.method_comparisons import MethodComparisonIn, MethodComparisonOut, MethodComparisonPage

router = APIRouter(prefix="/v1/comparisons", tags=["comparisons"])

MAX_SHOWN = 80  # characters of a name within the name of a job
CSV_TYPE, MARKDOWN_TYPE = "text/csv", "text/markdown"
TABLES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The table.",
        "content": {
            CSV_TYPE: {
                "schema": {"type": "string"},
                "example": "method,model,nmi,nmi_se,nmi_n\r\ncalibrated,calibrated,0.82,0.02,10\r\n",
            },
            MARKDOWN_TYPE: {
                "schema": {"type": "string"},
                "example": "| method | NMI |\n| --- | ---: |\n| calibrated | 0.820 ± 0.020 |\n",
            },
        },
    }
}


@router.post(
    "",
    operation_id="compare_methods",
    summary="Compare methods",
    status_code=HTTPStatus.ACCEPTED,
    response_model=MethodComparisonOut,
    responses=problems(
        CorpusNotFound,
        NothingToCategorize,
        NoLabels,
        NoSourceField,
        LabelsNotSplittable,
        JobTooLarge,
        TooManyJobs,
        BodyTooLarge,
        MalformedRequest,
        IdempotencyKeyReused,
        ResourceDeleted,
    ),
    max_body_size=MAX_BODY_BYTES,
)
async def compare_methods(
    body: MethodComparisonIn,
    once: Keyed,
    request: Request,
    sessions: Sessions,
    readers: Readers,
    settings: ServiceSettings,
) -> Response:
    """Queue a job for each method and each random split of a corpus, whose labels are taken as gold.

    A split shows methods a share of the labels of the known categories, and hides all others. Each method categorizes
    what is left, and is scored by the labels that were hidden: the table has means and standard errors over the splits.
    """
    await run_in_threadpool(check_corpus_id, request, body.corpus_id)
    kept = await run_in_threadpool(find_answer, once, readers)
    while kept is None:
        planned, version = await to_thread.run_sync(planned_now, body, readers, settings, limiter=checks())
        kept = await run_in_threadpool(submit, body, planned, version, once, sessions, settings)
    indexing(request).wake(body.corpus_id)
    return rendered(kept)


def planned_now(body: MethodComparisonIn, readers: sessionmaker[Session], settings: Settings) -> tuple[Planned, int]:
    """What is to be done, and the version of the corpus that it is planned for. Raises what `plan` and checks raise."""
    with readers.begin() as session:
        version = lifecycle.find_corpus(session, body.corpus_id).version
        planned = plan(session, body, version, settings)
        check_methods(session, body, planned, settings)
    return planned, version


def submit(
    body: MethodComparisonIn,
    planned: Planned,
    version: int,
    once: Once,
    sessions: sessionmaker[Session],
    settings: Settings,
) -> Answer | None:
    """Queue the jobs and wake workers, unless another request under the same key has done so.

    None if the corpus is not the one any more that it was planned for.
    """
    unit_ids: list[int] = []
    with sessions.begin() as session:
        if lifecycle.lock_corpus(session, body.corpus_id) != version:
            return None
        kept = once.begin(session)
        if kept is None:
            made = method_comparisons.submit(session, body.corpus_id, body.name, planned)
            name_jobs(session, made, planned)
            check_room(session, settings, [job for row in made.jobs for job in row])
            told = describe(session, made.comparison, settings)
            kept = answer(HTTPStatus.ACCEPTED, told, Location=told.links.self, Retry_After=POLL_SECONDS)
            kept, unit_ids = once.end(session, kept), made.unit_ids
    queue.wake(sessions, unit_ids)
    return kept


def name_jobs(session: Session, made: Submitted, planned: Planned) -> None:
    """Name jobs by their comparison, method and split, for lists of jobs."""
    what = (made.comparison.name or "comparison")[:MAX_SHOWN]
    for (method, _), row in zip(planned.methods, made.jobs, strict=True):
        for number, job in enumerate(row):
            write_facts(session, job, JobFacts(name=f"{what}: {method[:MAX_SHOWN]}, split {number}"))


@router.get(
    "",
    operation_id="list_comparisons",
    summary="List the comparisons of methods",
    response_model=MethodComparisonPage,
    responses=problems(MalformedRequest),
)
def list_comparisons(
    request: Request,
    readers: Readers,
    settings: ServiceSettings,
    caller: OnBehalfOf,
    cursor: Cursor = None,
    limit: Limit = PAGE,
) -> Response:
    """List the comparisons of methods in short form, newest first; the address of each has its table."""
    after = from_cursor(cursor, NewestFirst)
    query = select(Comparison).where(is_visible_comparison(), caller.owns(Comparison.owner))
    query = query.order_by(Comparison.created_at.desc(), Comparison.id.desc()).limit(limit + 1)
    if after is not None:
        query = query.where(tuple_(Comparison.created_at, Comparison.id) < after)
    with readers.begin() as session:
        rows, following = page(session.scalars(query).all(), limit, lambda each: (each.created_at, each.id))
        counts = method_comparisons.statuses(session, [each.id for each in rows])
        listed = [basics(each, counts[each.id], settings) for each in rows]
    return linked(request, MethodComparisonPage(comparisons=listed, next=following), following)


@router.get(
    "/{comparison_id}",
    operation_id="get_method_comparison",
    summary="Read a comparison of methods",
    responses=problems(ComparisonNotFound),
)
def get_comparison(
    comparison_id: ComparisonId, readers: Readers, settings: ServiceSettings, response: Response
) -> MethodComparisonOut:
    """Read the table of a comparison: a row a method, with means and standard errors over the splits that have
    succeeded so far, and the job and the scores of each split. While it is live, `Retry-After` says when to poll again.
    """
    with readers.begin() as session:
        told = describe(session, method_comparisons.find(session, comparison_id), settings)
    if told.status in LIVE:
        response.headers["Retry-After"] = POLL_SECONDS
    return told


@router.get(
    "/{comparison_id}/table",
    operation_id="get_comparison_table",
    summary="Read the table of a comparison as text",
    response_class=Response,
    responses={**problems(ComparisonNotFound, MalformedRequest), **TABLES},
)
def get_table(
    comparison_id: ComparisonId,
    readers: Readers,
    settings: ServiceSettings,
    format: Annotated[Literal["csv", "markdown"], Query(description="Of the table.")] = "csv",
) -> Response:
    """Read the means and standard errors of each method as CSV or as a table in Markdown."""
    with readers.begin() as session:
        told = describe(session, method_comparisons.find(session, comparison_id), settings)
    if format == "csv":
        return Response(csv_table(told.table), media_type=f"{CSV_TYPE}; charset=utf-8; header=present")
    return Response(markdown_table(told.table), media_type=f"{MARKDOWN_TYPE}; charset=utf-8")


@router.post(
    "/{comparison_id}/cancel",
    operation_id="cancel_comparison",
    summary="Cancel a comparison of methods",
    responses=problems(ComparisonNotFound, ComparisonFinished),
)
def cancel_comparison(
    comparison_id: ComparisonId, sessions: Sessions, settings: ServiceSettings
) -> MethodComparisonOut:
    """Cancel the jobs that have not ended. What has succeeded stays in the table; each job can be resumed by itself."""
    with sessions.begin() as session:
        return describe(session, method_comparisons.cancel(session, comparison_id), settings)


@router.delete(
    "/{comparison_id}",
    operation_id="delete_comparison",
    summary="Delete a comparison of methods",
    status_code=HTTPStatus.NO_CONTENT,
    responses=problems(ComparisonNotFound, ComparisonNotFinished),
)
def delete_comparison(comparison_id: ComparisonId, request: Request, sessions: Sessions) -> None:
    """Delete a comparison with its jobs and their results; refused while one of them has not ended."""
    with sessions.begin() as session:
        method_comparisons.delete(session, comparison_id)
    removal(request).wake()
