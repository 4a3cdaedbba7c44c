"""Jobs: submit, follow, cancel, pause, resume, extend."""

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
    Keyed,
    Limit,
    NewestFirst,
    Readers,
    ServiceSettings,
    Sessions,
    answer,
    check_corpus_id,
    find_corpus,
    from_cursor,
    problems,
    rendered,
    to_cursor,
)
from app.api.progress import describe
from app.errors import (
    BodyTooLarge,
    CorpusNotFound,
    IdempotencyKeyReused,
    JobFinished,
    JobNotExtendable,
    JobNotFound,
    JobNotPausable,
    JobNotResumable,
    MalformedRequest,
    NothingToCategorize,
    ResourceDeleted,
)
from app.job_schemas import JobOut, JobPage
from app.job_settings import ExtensionIn, JobIn
from app.leases import LIVE
from app.models import Document, Job, is_visible
from app.schemas import CORPUS_ID, Status
from sampler.text import TextOptions, has_usable_word

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])

POLL_SECONDS = "1"  # when to ask again for a live job
ROWS_AT_ONCE = 1_000


@router.post(
    "",
    operation_id="submit_job",
    summary="Queue a job",
    status_code=HTTPStatus.ACCEPTED,
    response_model=JobOut,
    responses=problems(
        CorpusNotFound, NothingToCategorize, BodyTooLarge, MalformedRequest, IdempotencyKeyReused, ResourceDeleted
    ),
    max_body_size=MAX_BODY_BYTES,
)
def submit_job(body: JobIn, once: Keyed, sessions: Sessions, readers: Readers, settings: ServiceSettings) -> Response:
    """Queue a job that gives each unlabeled document of a corpus a category, known or new."""
    check_corpus_id(body.corpus_id)
    with readers.begin() as session:
        kept = once.find(session)
    if kept is not None:
        return rendered(kept)
    check_usable(readers, body.corpus_id, body.text.options())
    unit_ids: list[int] = []
    with sessions.begin() as session:
        kept = once.begin(session)
        if kept is None:
            job, unit_ids = lifecycle.submit(session, body.corpus_id, body.settings())
            [told] = describe(session, [job], settings)
            made = answer(HTTPStatus.ACCEPTED, told, Location=told.links.self, Retry_After=POLL_SECONDS)
            kept = once.end(session, made)
    queue.wake(sessions, unit_ids)
    return rendered(kept)


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
    settings: ServiceSettings,
    status: Annotated[Status | None, Query(description="Only jobs with this status.")] = None,
    corpus_id: Annotated[
        str | None, Query(pattern=ID_PATTERN, description="Only jobs over this corpus.", examples=[CORPUS_ID])
    ] = None,
    cursor: Cursor = None,
    limit: Limit = PAGE,
) -> JobPage:
    """List the jobs, newest first."""
    after = from_cursor(cursor, NewestFirst)
    query = select(Job).where(is_visible(Job.corpus_id))
    query = query.order_by(Job.created_at.desc(), Job.id.desc()).limit(limit + 1)
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
        answers = describe(session, jobs, settings)
    return JobPage(jobs=answers, next=to_cursor((jobs[-1].created_at, jobs[-1].id)) if more else None)


@router.get(
    "/{job_id}",
    operation_id="get_job",
    summary="Follow a job",
    responses=problems(JobNotFound),
)
def get_job(job_id: JobId, readers: Readers, settings: ServiceSettings, response: Response) -> JobOut:
    """Follow a job: its status, progress, rate and time left. A live job says when to ask again."""
    with readers.begin() as session:
        job = lifecycle.find_job(session, job_id)
        [told] = describe(session, [job], settings)
    if told.status in LIVE:
        response.headers["Retry-After"] = POLL_SECONDS
    return told


@router.post(
    "/{job_id}/cancel",
    operation_id="cancel_job",
    summary="Cancel a job",
    responses=problems(JobNotFound, JobFinished),
)
def cancel_job(job_id: JobId, sessions: Sessions, settings: ServiceSettings) -> JobOut:
    """Cancel a job that has not ended. It stops within a sweep and keeps its draws, so it can be resumed."""
    with sessions.begin() as session:
        job = lifecycle.cancel(session, job_id)
        [told] = describe(session, [job], settings)
    return told


@router.post(
    "/{job_id}/pause",
    operation_id="pause_job",
    summary="Pause a job",
    responses=problems(JobNotFound, JobNotPausable),
)
def pause_job(job_id: JobId, sessions: Sessions, settings: ServiceSettings) -> JobOut:
    """Pause a queued or running job. It stops within a sweep and keeps its draws, until it is resumed."""
    with sessions.begin() as session:
        job = lifecycle.pause(session, job_id)
        [told] = describe(session, [job], settings)
    return told


@router.post(
    "/{job_id}/resume",
    operation_id="resume_job",
    summary="Resume a job",
    status_code=HTTPStatus.ACCEPTED,
    responses=problems(JobNotFound, JobNotResumable),
)
def resume_job(job_id: JobId, sessions: Sessions, settings: ServiceSettings, response: Response) -> JobOut:
    """Queue a paused, cancelled or failed job again; it goes on from its last checkpoints."""
    with sessions.begin() as session:
        job, unit_ids = lifecycle.resume(session, job_id)
        [told] = describe(session, [job], settings)
    queue.wake(sessions, unit_ids)
    return queued(told, response)


@router.post(
    "/{job_id}/extend",
    operation_id="extend_job",
    summary="Extend a job",
    status_code=HTTPStatus.ACCEPTED,
    responses=problems(JobNotFound, JobNotExtendable, BodyTooLarge, MalformedRequest),
    max_body_size=MAX_BODY_BYTES,
)
def extend_job(
    job_id: JobId, body: ExtensionIn, sessions: Sessions, settings: ServiceSettings, response: Response
) -> JobOut:
    """Queue a succeeded job again for more sweeps. It goes on from where it was, with the same burn-in, and ends
    as if it had been submitted with all its sweeps; until then it has no results.
    """
    with sessions.begin() as session:
        job, unit_ids = lifecycle.extend(session, job_id, body.sweeps)
        [told] = describe(session, [job], settings)
    queue.wake(sessions, unit_ids)
    return queued(told, response)


def queued(told: JobOut, response: Response) -> JobOut:
    """Say where and when to follow a job that is queued again."""
    response.headers["Location"] = told.links.self
    response.headers["Retry-After"] = POLL_SECONDS
    return told
