"""Jobs: submit, follow, name, cancel, pause, resume, extend, delete."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated, Any

from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar
from fastapi import APIRouter, Query, Request, Response
from sqlalchemy import tuple_
from sqlalchemy.orm import Session, sessionmaker
from starlette.concurrency import run_in_threadpool

from app.broker import queue
from app.core import lifecycle
from app.core.document_vectors import with_vectors
from app.core.errors import (
    BodyTooLarge,
    CorpusNotFound,
    IdempotencyKeyReused,
    JobFinished,
    JobNotExtendable,
    JobNotFinished,
    JobNotFound,
    JobNotPausable,
    JobNotResumable,
    JobTooLarge,
    MalformedRequest,
    NoLabels,
    NoSourceField,
    NothingToCategorize,
    ResourceDeleted,
    TooFewCategories,
    TooManyJobs,
)
from app.core.idempotency import Answer, Once
from app.core.kinds import MODELS, SIDE_KINDS, SideKind, n_chains, numbers_of
from app.core.quotas import Live
from app.core.runs import Run
from app.core.settings import Settings
from app.core.tables import Job, is_visible_job
from app.forecasts.corpus_sample import check_usable, read_sample
from app.forecasts.corpus_sizes import expected_sizes, sizes_of
from app.forecasts.forecast import forecast
from app.forecasts.limits import check_room, check_size
from app.http.controls import accepted, poll_seconds, queued, resume, stop
from app.http.dependencies import (
    ID_PATTERN,
    MAX_BODY_BYTES,
    JobId,
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
from app.http.dry_runs import Checked, dry_run
from app.http.job_facts import fact_conditions, write_facts
from app.http.job_list import SUMMARIES, summaries
from app.http.pages import PAGE, Cursor, Limit, NewestFirst, from_cursor, linked, page
from app.http.progress import describe
from app.http.searches import indexing
from app.http.source_tables import check_source_field
from app.http.webhooks import check_webhook, write_webhook
from app.schemas.common import CORPUS_ID, Name, Status
from app.schemas.job_facts import MAX_TAGS, JobChange, Tag
from app.schemas.job_settings import ExtensionIn, JobIn
from app.schemas.jobs import JobDryRun, JobOut, JobPage
from app.uploads.corpus_counts import count_labels
from app.uploads.intake import limiter
from app.uploads.label_guards import label_warnings

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])

CHECKS_AT_ONCE = 2
CHECKS: RunVar[CapacityLimiter] = RunVar("checks of jobs")


@router.post(
    "",
    operation_id="submit_job",
    summary="Queue a job",
    status_code=HTTPStatus.ACCEPTED,
    response_model=JobOut,
    responses={
        **problems(
            CorpusNotFound,
            NothingToCategorize,
            NoLabels,
            NoSourceField,
            TooFewCategories,
            JobTooLarge,
            TooManyJobs,
            BodyTooLarge,
            MalformedRequest,
            IdempotencyKeyReused,
            ResourceDeleted,
        ),
        HTTPStatus.OK.value: {"model": JobDryRun, "description": "With `validate_only`: what would become of the job."},
    },
    max_body_size=MAX_BODY_BYTES,
)
async def submit_job(
    body: JobIn,
    once: Keyed,
    request: Request,
    sessions: Sessions,
    readers: Readers,
    settings: ServiceSettings,
    validate_only: Annotated[
        bool,
        Query(description="Say what would become of the job, with status 200, and store nothing, the key neither."),
    ] = False,
) -> Response:
    """Queue a job that gives each unlabeled document of a corpus a category, known or new."""
    await run_in_threadpool(check_corpus_id, request, body.corpus_id)
    check_webhook(body.webhook, settings)
    kept = None if validate_only else await run_in_threadpool(find_answer, once, readers)
    if kept is None:
        # Its turn is waited for without a thread: however many jobs come at once, others are answered.
        checked = await to_thread.run_sync(check_job, body, readers, settings, limiter=checks())
        if validate_only:
            return rendered(answer(HTTPStatus.OK, await run_in_threadpool(dry_run, checked, readers, settings)))
        kept = await run_in_threadpool(submit, body, once, sessions, settings, checked.warnings)
        indexing(request).wake(body.corpus_id)  # while the job is computed, so that its texts can be searched then
    return rendered(kept)


def find_answer(once: Once, readers: sessionmaker[Session]) -> Answer | None:
    """The answer that an earlier request under this key got."""
    with readers.begin() as session:
        return once.find(session)


def check_job(body: JobIn, readers: sessionmaker[Session], settings: Settings) -> Checked:
    """The job as it would be, and what is probably wrong with the corpus' labels.

    Raises NothingToCategorize if the job could answer no document, NoLabels if it has nothing to learn from and nobody
    said that it should do without, TooFewCategories if the model is told fewer than there are known ones, NoSourceField
    if the field that is named does not say where documents come from, JobTooLarge if it would take too much.
    """
    with readers.begin() as session:
        corpus = lifecycle.find_corpus(session, body.corpus_id)
        sample = read_sample(session, body.corpus_id)
        check_usable(session, body.corpus_id, sample, body.text.options())
        labels = count_labels(session, body.corpus_id)
        if not labels and not body.discover:
            raise NoLabels(
                f"none of the {sample.n_documents} documents of corpus {body.corpus_id} has a label: upload some that "
                "have, or say discover=true for a job in which all categories are new"
            )
        chosen = with_vectors(session, corpus.id, corpus.version, body.settings(), body.vectors, settings)
        check_numbers(chosen, len(labels))
        if body.source_field is not None:
            check_source_field(session, body.corpus_id, body.source_field)
        sizes = expected_sizes(session, corpus.id, corpus.version, chosen["text"], sample)
    expected = forecast(sizes, chosen)
    check_size("the job", expected.job_seconds, expected.peak_bytes, settings, body.model)
    live = Live(1, n_chains(chosen), sizes.n_tokens)
    return Checked(chosen, expected, label_warnings(labels, sample.n_documents), corpus.owner, live)


def check_numbers(settings: Mapping[str, Any], n_known: int) -> None:
    """Raise TooFewCategories if a model that sees the labels is told fewer categories than they name."""
    numbers = numbers_of(settings)
    if numbers and MODELS[settings["model"]].sees_labels and numbers[0] < n_known:
        raise TooFewCategories(
            f"n_categories = {numbers[0]} is below {n_known}, the number of categories that labels of the corpus name: "
            "it counts the known ones, too"
        )


def submit(body: JobIn, once: Once, sessions: sessionmaker[Session], settings: Settings, warnings: list[str]) -> Answer:
    """Queue the job, unless another request under the same key has done so; wake a worker."""
    unit_ids: list[int] = []
    with sessions.begin() as session:
        kept = once.begin(session)
        if kept is None:
            version = lifecycle.lock_corpus(session, body.corpus_id)
            chosen = with_vectors(session, body.corpus_id, version, body.settings(), body.vectors, settings)
            job, unit_ids = lifecycle.submit(session, body.corpus_id, chosen, warnings)
            write_facts(session, job, body)
            secret = write_webhook(session, job.id, body.webhook)
            kept = accepted(session, once, job, settings, secret)
    queue.wake(sessions, unit_ids)
    return kept


def checks() -> CapacityLimiter:
    """Who may check a job now: a few at a time, of each event loop."""
    return limiter(CHECKS, CHECKS_AT_ONCE)


@router.get(
    "",
    operation_id="list_jobs",
    summary="List the jobs",
    response_model=JobPage,
    responses=problems(MalformedRequest),
)
def list_jobs(
    request: Request,
    readers: Readers,
    caller: OnBehalfOf,
    settings: ServiceSettings,
    status: Annotated[Status | None, Query(description="Only jobs with this status.")] = None,
    corpus_id: Annotated[
        str | None, Query(pattern=ID_PATTERN, description="Only jobs over this corpus.", examples=[CORPUS_ID])
    ] = None,
    name: Annotated[
        Name | None,
        Query(
            description="Only jobs whose name contains this, in upper or lower case.",
            examples=["tickets"],
        ),
    ] = None,
    tag: Annotated[
        list[Tag],
        Query(
            max_length=MAX_TAGS,
            description="Only jobs with this tag, in upper or lower case; given several times, with all of them.",
            examples=[["tickets"]],
        ),
    ] = [],  # noqa: B006 (FastAPI makes one for each request)
    cursor: Cursor = None,
    limit: Limit = PAGE,
) -> Response:
    """List the jobs in short form, newest first; the address of each has its full settings and its chains."""
    after = from_cursor(cursor, NewestFirst)
    query = SUMMARIES.where(is_visible_job(), caller.owns(Job.owner), *fact_conditions(name, tag))
    query = query.order_by(Job.created_at.desc(), Job.id.desc()).limit(limit + 1)
    if status is not None:
        query = query.where(Job.status == status)
    if corpus_id is not None:
        query = query.where(Job.corpus_id == corpus_id)
    if after is not None:
        query = query.where(tuple_(Job.created_at, Job.id) < after)
    with readers.begin() as session:
        shown, following = page(session.execute(query).all(), limit, lambda job: (job.created_at, job.id))
        listed = summaries(session, shown, settings)
    return linked(request, JobPage(jobs=listed, next=following), following)


@router.get(
    "/{job_id}",
    operation_id="get_job",
    summary="Follow a job",
    responses=problems(JobNotFound),
)
def get_job(job_id: JobId, readers: Readers, settings: ServiceSettings, response: Response) -> JobOut:
    """Follow a job: its status, progress, rate and time left. For a live job, `Retry-After` says when to poll again:
    the sooner, the less time is left."""
    with readers.begin() as session:
        job = lifecycle.find_job(session, job_id)
        [told] = describe(session, [job], settings)
    if (seconds := poll_seconds(told)) is not None:
        response.headers["Retry-After"] = seconds
    return told


@router.patch(
    "/{job_id}",
    operation_id="change_job",
    summary="Name a job",
    responses=problems(JobNotFound, BodyTooLarge, MalformedRequest),
    max_body_size=MAX_BODY_BYTES,
)
def change_job(job_id: JobId, body: JobChange, sessions: Sessions, settings: ServiceSettings) -> JobOut:
    """Give a job another name, other tags or another note; what is not given stays."""
    with sessions.begin() as session:
        job = lifecycle.find_job(session, job_id)
        write_facts(session, job, body)
        [told] = describe(session, [job], settings)
    return told


@router.delete(
    "/{job_id}",
    operation_id="delete_job",
    summary="Delete a job",
    status_code=HTTPStatus.NO_CONTENT,
    responses=problems(JobNotFound, JobNotFinished),
)
def delete_job(job_id: JobId, request: Request, sessions: Sessions) -> None:
    """Delete a job with its results; refused while it, its extension or its power test has not ended.

    It is gone for all clients at once. Its rows are removed afterwards, a few at a time. The corpus stays.
    """
    with sessions.begin() as session:
        lifecycle.delete(session, job_id)
    removal(request).wake()


@router.post(
    "/{job_id}/cancel",
    operation_id="cancel_job",
    summary="Cancel a job",
    responses=problems(JobNotFound, JobFinished),
)
def cancel_job(job_id: JobId, sessions: Sessions, settings: ServiceSettings) -> JobOut:
    """Cancel a job that has not ended. It stops within a sweep and keeps its draws, so it can be resumed."""
    return stop(lifecycle.cancel, Run(job_id), sessions, settings)


@router.post(
    "/{job_id}/pause",
    operation_id="pause_job",
    summary="Pause a job",
    responses=problems(JobNotFound, JobNotPausable),
)
def pause_job(job_id: JobId, sessions: Sessions, settings: ServiceSettings) -> JobOut:
    """Pause a queued or running job. It stops within a sweep and keeps its draws, until it is resumed."""
    return stop(lifecycle.pause, Run(job_id), sessions, settings)


@router.post(
    "/{job_id}/resume",
    operation_id="resume_job",
    summary="Resume a job",
    status_code=HTTPStatus.ACCEPTED,
    responses=problems(JobNotFound, JobNotResumable, TooManyJobs),
)
def resume_job(job_id: JobId, sessions: Sessions, settings: ServiceSettings, response: Response) -> JobOut:
    """Queue a paused, cancelled or failed job again; it continues from its last checkpoints."""
    return resume(Run(job_id), sessions, settings, response)


@router.post(
    "/{job_id}/extend",
    operation_id="extend_job",
    summary="Extend a job",
    status_code=HTTPStatus.ACCEPTED,
    responses=problems(JobNotFound, JobNotExtendable, JobTooLarge, TooManyJobs, BodyTooLarge, MalformedRequest),
    max_body_size=MAX_BODY_BYTES,
)
def extend_job(
    job_id: JobId, body: ExtensionIn, sessions: Sessions, settings: ServiceSettings, response: Response
) -> JobOut:
    """Begin an extension of a succeeded job: more sweeps. It continues from where it was, with the same burn-in, and
    ends as if it had been submitted with all its sweeps. Until then the job and its results stay as they are.
    """
    with sessions.begin() as session:
        job, unit_ids = lifecycle.extend(session, job_id, body.sweeps)
        expected = forecast(sizes_of(session, job), {**job.settings, "sweeps": body.sweeps})
        seconds = sum(expected.seconds(kind) for kind in SIDE_KINDS[SideKind.EXTENSION])
        check_size("the extension", seconds, expected.peak_bytes, settings)
        check_room(session, settings, job)
        [told] = describe(session, [job], settings)
    queue.wake(sessions, unit_ids)
    return queued(told, response)
