"""Going on from a job: another one, with what was decided about it, and with the documents that have arrived since."""

from http import HTTPStatus

from fastapi import APIRouter, Request, Response
from sqlalchemy.orm import Session, sessionmaker

from app.broker import queue
from app.core import lifecycle
from app.core.decisions import n_decisions
from app.core.ends import unfinished_run
from app.core.errors import (
    AnswerChanged,
    BodyTooLarge,
    CorpusNotFound,
    IdempotencyKeyReused,
    JobNotContinuable,
    JobNotFound,
    JobTooLarge,
    MalformedRequest,
    ResourceDeleted,
    TooManyJobs,
)
from app.core.idempotency import Answer, Once
from app.core.settings import Settings
from app.forecasts.corpus_sizes import sizes_of
from app.forecasts.forecast import forecast
from app.forecasts.limits import check_size
from app.http.controls import accepted
from app.http.dependencies import (
    MAX_BODY_BYTES,
    JobId,
    Keyed,
    ServiceSettings,
    Sessions,
    problems,
    rendered,
)
from app.http.job_facts import write_facts
from app.http.routers.decisions import IfMatch
from app.http.searches import indexing
from app.http.webhooks import check_webhook, write_webhook
from app.review.clamped import clamp
from app.review.events import check_tag
from app.schemas.job_settings import ContinuationIn
from app.schemas.jobs import JobOut

router = APIRouter(prefix="/v1/jobs/{job_id}", tags=["review"])


@router.post(
    "/continue",
    operation_id="continue_job",
    summary="Continue a job",
    status_code=HTTPStatus.ACCEPTED,
    response_model=JobOut,
    responses=problems(
        JobNotFound,
        CorpusNotFound,
        JobNotContinuable,
        AnswerChanged,
        JobTooLarge,
        TooManyJobs,
        BodyTooLarge,
        MalformedRequest,
        IdempotencyKeyReused,
        ResourceDeleted,
    ),
    max_body_size=MAX_BODY_BYTES,
)
def continue_job(
    job_id: JobId,
    body: ContinuationIn,
    once: Keyed,
    request: Request,
    sessions: Sessions,
    settings: ServiceSettings,
    if_match: IfMatch = None,
) -> Response:
    """Queue a job that goes on from where this one is, over the corpus as it is now. This one stays as it is.

    What was decided is a label there: a document that somebody gave a category is of that one, and a category that was
    promoted, merged, split or given documents is known. Documents that have arrived since are placed, then sampled with
    all others. It costs a fraction of a job from the start. With `wait` a job that has not ended is continued, too: as
    soon as it has succeeded, with what is decided until then.
    """
    check_webhook(body.webhook, settings)
    kept, corpus_id = continued_once(job_id, body, once, sessions, settings, if_match)
    if corpus_id is not None:
        indexing(request).wake(corpus_id)
    return rendered(kept)


def continued_once(
    job_id: str,
    body: ContinuationIn,
    once: Once,
    sessions: sessionmaker[Session],
    settings: Settings,
    if_match: str | None,
) -> tuple[Answer, str | None]:
    """The answer, or that to an earlier request under the same key; and the corpus of a job that was queued."""
    with sessions.begin() as session:
        kept = once.begin(session)
        if kept is not None:
            return kept, None
        job, source = lifecycle.continue_job(session, job_id, body.sweeps, wait=body.wait)
        check_tag(source, n_decisions(session, job_id), if_match)
        waits = unfinished_run(session, source) is not None
        unit_ids = lifecycle.queue(session, job, waits=waits)
        if not waits:
            clamp(session, job, source)
        write_facts(session, job, body)
        secret = write_webhook(session, job.id, body.webhook)
        expected = forecast(sizes_of(session, job), job.settings, goes_on=True)
        check_size("the job", expected.job_seconds, expected.peak_bytes, settings)
        kept, corpus_id = accepted(session, once, job, settings, secret), job.corpus_id
    queue.wake(sessions, unit_ids)
    return kept, corpus_id
