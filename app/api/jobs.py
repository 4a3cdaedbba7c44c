"""Jobs: submit, follow, cancel, resume."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query, Response
from sqlalchemy import select, tuple_
from sqlalchemy.orm import Session, sessionmaker

from app import lifecycle, queue
from app.api.common import (
    ID_PATTERN,
    MAX_BODY_BYTES,
    PAGE,
    Cursor,
    JobId,
    Limit,
    NewestFirst,
    Readers,
    Sessions,
    check_corpus_id,
    find_corpus,
    from_cursor,
    problems,
    to_cursor,
)
from app.api.progress import describe
from app.errors import (
    BodyTooLarge,
    CorpusNotFound,
    JobFinished,
    JobNotFound,
    JobNotResumable,
    MalformedRequest,
    NothingToCategorize,
)
from app.job_schemas import JobOut, JobPage
from app.models import Document, Job
from app.schemas import CORPUS_ID, JobIn, Status
from sampler.text import TextOptions, has_usable_word

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])

POLL_SECONDS = "1"  # when to ask again for a live job
ROWS_AT_ONCE = 1_000


@router.post(
    "",
    operation_id="submit_job",
    summary="Queue a job",
    status_code=HTTPStatus.ACCEPTED,
    responses=problems(CorpusNotFound, NothingToCategorize, BodyTooLarge, MalformedRequest),
    max_body_size=MAX_BODY_BYTES,
)
def submit_job(body: JobIn, sessions: Sessions, readers: Readers, response: Response) -> JobOut:
    """Queue a job that gives each unlabeled document of a corpus a category, known or new."""
    check_corpus_id(body.corpus_id)
    check_usable(readers, body.corpus_id, body.text.options())
    with sessions.begin() as session:
        job, unit_ids = lifecycle.submit(session, body.corpus_id, body.settings())
        [answer] = describe(session, [job])
    queue.send(unit_ids)
    response.headers["Location"] = answer.links.self
    response.headers["Retry-After"] = POLL_SECONDS
    return answer


def check_usable(readers: sessionmaker[Session], corpus_id: str, options: TextOptions) -> None:
    """Raise NothingToCategorize, with what to do, if a job over the corpus could answer no document."""
    documents = select(Document.text, Document.label.is_(None)).where(Document.corpus_id == corpus_id)
    with readers.begin() as session:
        find_corpus(session, corpus_id)
        if not session.scalar(select(documents.exists())):
            raise NothingToCategorize(f"corpus {corpus_id} holds no documents: upload some first")
        if not session.scalar(select(documents.where(Document.label.is_(None)).exists())):
            raise NothingToCategorize(
                f"corpus {corpus_id} holds no unlabeled documents: upload what is to be categorized"
            )
        # Closed by `with`: the search stops at the first hit, mostly long before the last row.
        with session.execute(documents.order_by(Document.id).execution_options(yield_per=ROWS_AT_ONCE)) as rows:
            is_usable = has_usable_word(((text, is_unlabeled) for text, is_unlabeled in rows), options)
        if not is_usable:
            raise NothingToCategorize(
                f"no unlabeled document of corpus {corpus_id} keeps a word under these text options: "
                f"lower min_document_frequency (now {options.min_document_frequency}) or "
                f"min_word_length (now {options.min_word_length}), or drop fewer stop words"
            )


@router.get(
    "",
    operation_id="list_jobs",
    summary="List the jobs",
    responses=problems(MalformedRequest),
)
def list_jobs(
    readers: Readers,
    status: Annotated[Status | None, Query(description="Only jobs with this status.")] = None,
    corpus_id: Annotated[
        str | None, Query(pattern=ID_PATTERN, description="Only jobs over this corpus.", examples=[CORPUS_ID])
    ] = None,
    cursor: Cursor = None,
    limit: Limit = PAGE,
) -> JobPage:
    """List the jobs, newest first."""
    after = from_cursor(cursor, NewestFirst)
    query = select(Job).order_by(Job.created_at.desc(), Job.id.desc()).limit(limit + 1)
    if status is not None:
        query = query.where(Job.status == status)
    if corpus_id is not None:
        query = query.where(Job.corpus_id == corpus_id)
    if after is not None:
        query = query.where(tuple_(Job.created_at, Job.id) < after)
    with readers.begin() as session:
        jobs = list(session.scalars(query))
        more = len(jobs) > limit
        jobs = jobs[:limit]
        answers = describe(session, jobs)
    return JobPage(jobs=answers, next=to_cursor((jobs[-1].created_at, jobs[-1].id)) if more else None)


@router.get(
    "/{job_id}",
    operation_id="get_job",
    summary="Follow a job",
    responses=problems(JobNotFound),
)
def get_job(job_id: JobId, readers: Readers, response: Response) -> JobOut:
    """Follow a job: its status, progress, rate and time left. A live job says when to ask again."""
    with readers.begin() as session:
        job = lifecycle.find_job(session, job_id)
        [answer] = describe(session, [job])
    if answer.status in lifecycle.LIVE:
        response.headers["Retry-After"] = POLL_SECONDS
    return answer


@router.post(
    "/{job_id}/cancel",
    operation_id="cancel_job",
    summary="Cancel a job",
    responses=problems(JobNotFound, JobFinished),
)
def cancel_job(job_id: JobId, sessions: Sessions) -> JobOut:
    """Cancel a queued or running job. It stops within a sweep and keeps its draws, so it can be resumed."""
    with sessions.begin() as session:
        job = lifecycle.cancel(session, job_id)
        [answer] = describe(session, [job])
    return answer


@router.post(
    "/{job_id}/resume",
    operation_id="resume_job",
    summary="Resume a job",
    status_code=HTTPStatus.ACCEPTED,
    responses=problems(JobNotFound, JobNotResumable),
)
def resume_job(job_id: JobId, sessions: Sessions, response: Response) -> JobOut:
    """Queue a cancelled or failed job again; it goes on from its last checkpoints."""
    with sessions.begin() as session:
        job, unit_ids = lifecycle.resume(session, job_id)
        [answer] = describe(session, [job])
    queue.send(unit_ids)
    response.headers["Location"] = answer.links.self
    response.headers["Retry-After"] = POLL_SECONDS
    return answer
