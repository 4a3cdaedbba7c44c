"""Categories from job to job: what became of those of another job, and all jobs that have one."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from sqlalchemy import ColumnElement, select, tuple_
from sqlalchemy.orm import Session

from app.core.decisions import in_force
from app.core.errors import (
    CategoryNotFound,
    CorpusNotFound,
    JobNotFound,
    JobsNotComparable,
    MalformedRequest,
    ResultsNotReady,
)
from app.core.tables import Category, Decision, Job, is_visible_job
from app.http.comparisons import compare
from app.http.dependencies import JobId, OnBehalfOf, Readers, check_corpus_id, check_job_id, problems
from app.http.long_answers import written
from app.http.pages import PAGE, Cursor, Limit, NewestFirst, from_cursor, page
from app.http.routers.results import find_concluded_job
from app.review.decided import categories_of
from app.schemas.common import CORPUS_ID
from app.schemas.lineage import EARLIER_JOB_ID, ComparisonOut, DecisionRef, LineageJob, LineagePage

router = APIRouter(prefix="/v1", tags=["results"])

SHORT_ID_PATTERN = "^c-[0-9a-hjkmnp-tv-z]{1,18}$"


def category_id(
    category_id: Annotated[str, Path(description="Short id of a category.", examples=["c-7q3kx9"])],
) -> str:
    """The short id of the path, if it has the shape of one: no other reaches the database."""
    if not re.fullmatch(SHORT_ID_PATTERN, category_id):
        raise CategoryNotFound("this is not the id of a category: it begins with c-")
    return category_id


CategoryId = Annotated[str, Depends(category_id)]


@router.get(
    "/jobs/{job_id}/comparison",
    operation_id="get_comparison",
    summary="Compare the categories with those of another job",
    response_model=ComparisonOut,
    responses=problems(JobNotFound, ResultsNotReady, JobsNotComparable, MalformedRequest),
)
def get_comparison(
    job_id: JobId,
    request: Request,
    readers: Readers,
    compared_with: Annotated[
        str,
        Query(
            description="Id of a job over the same corpus, of any version, which came before.",
            examples=[EARLIER_JOB_ID],
        ),
    ],
) -> Response:
    """Read what became of the categories of another job: kept, grown, split, merged, new or gone, by the documents that
    both jobs have. Documents with a label count in the category that it names."""
    check_job_id(request, compared_with)
    with readers.begin() as session:
        now, before = find_concluded_job(session, job_id), find_concluded_job(session, compared_with)
        if now.corpus_id != before.corpus_id:
            raise JobsNotComparable(
                f"job {now.id} is over corpus {now.corpus_id}, job {before.id} over corpus {before.corpus_id}"
            )
        found = compare(session, before, now, categories_of(session, before), categories_of(session, now))
    return written(found)


@router.get(
    "/categories/{category_id}/lineage",
    operation_id="get_lineage",
    summary="List the jobs that have a category",
    response_model=LineagePage,
    responses=problems(CategoryNotFound, CorpusNotFound, MalformedRequest),
)
def get_lineage(
    category_id: CategoryId,
    request: Request,
    readers: Readers,
    caller: OnBehalfOf,
    corpus_id: Annotated[str | None, Query(description="Only jobs over this corpus.", examples=[CORPUS_ID])] = None,
    cursor: Cursor = None,
    limit: Limit = PAGE,
) -> Response:
    """Read in which jobs a category is, oldest first, what each of them calls it, and what was decided about it.

    The id of a known category follows from its name, so it is the same in every corpus.
    """
    if corpus_id is not None:
        check_corpus_id(request, corpus_id)
    last = from_cursor(cursor, NewestFirst)
    conditions = [*has_category(category_id, corpus_id), caller.owns(Job.owner)]
    query = select(Job, Category).join(Category, Category.job_id == Job.id).where(*conditions)
    query = query.order_by(Job.created_at, Job.id).limit(limit + 1)
    if last is not None:
        query = query.where(tuple_(Job.created_at, Job.id) > last)
    with readers.begin() as session:
        rows = session.execute(query).all()
        if not rows and last is None:
            where = "" if corpus_id is None else f" over corpus {corpus_id}"
            raise CategoryNotFound(f"no job{where} has a category {category_id} in its results")
        shown, following = page(rows, limit, lambda row: (row[0].created_at, row[0].id))
        decisions = decisions_about(session, category_id, [job.id for job, _ in shown])
        continued = with_category(session, category_id, corpus_id, [job.continues for job, _ in shown if job.continues])
    jobs = [lineage_job(job, category, decisions.get(job.id, []), continued) for job, category in shown]
    return written(LineagePage(id=category_id, jobs=jobs, next=following))


def has_category(category_id: str, corpus_id: str | None) -> list[ColumnElement[bool]]:
    """The conditions that present results of a job, over a corpus if one is given, have this category."""
    found = [Category.short_id == category_id, Category.edition == Job.edition, is_visible_job()]
    return found if corpus_id is None else [*found, Job.corpus_id == corpus_id]


def with_category(session: Session, category_id: str, corpus_id: str | None, job_ids: Sequence[str]) -> set[str]:
    """Those of some jobs that have the category."""
    conditions = has_category(category_id, corpus_id)
    query = select(Job.id).join(Category, Category.job_id == Job.id).where(*conditions, Job.id.in_(job_ids))
    return set(session.scalars(query)) if job_ids else set()


def decisions_about(session: Session, category_id: str, job_ids: Sequence[str]) -> Mapping[str, list[Decision]]:
    """By job, the decisions in force that name a category, in their order."""
    of_jobs: dict[str, list[Decision]] = defaultdict(list)
    query = select(Decision).where(Decision.job_id.in_(job_ids)).order_by(Decision.job_id, Decision.number)
    for decision in session.scalars(query):
        of_jobs[decision.job_id].append(decision)
    return {
        job_id: [each for each in in_force(decisions) if names(each.body, category_id)]
        for job_id, decisions in of_jobs.items()
    }


def names(value: Any, category_id: str) -> bool:
    """Whether a JSON value has this id in it, at any depth."""
    if isinstance(value, dict):
        return any(names(part, category_id) for part in (*value, *value.values()))
    if isinstance(value, list):
        return any(names(part, category_id) for part in value)
    return bool(value == category_id)


def lineage_job(job: Job, category: Category, decisions: Sequence[Decision], continued: set[str]) -> LineageJob:
    """A job with a category, as HTTP reports it."""
    return LineageJob(
        job=job.id,
        job_name=job.name,
        corpus_id=job.corpus_id,
        corpus_version=job.corpus_version,
        created_at=job.created_at,
        continues=job.continues if job.continues in continued else None,
        category=category.category,
        name=category.name,
        known=category.known,
        documents=category.n_documents,
        labeled=category.n_labeled,
        stability=category.stability,
        decisions=[
            DecisionRef(number=each.number, kind=each.kind, author=each.author, made_at=each.made_at)
            for each in decisions
        ],
    )
