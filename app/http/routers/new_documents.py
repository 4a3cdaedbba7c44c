"""New documents, answered by the frozen model of a job or by one that was imported; and how far they drift."""

import logging
import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from functools import partial
from tempfile import SpooledTemporaryFile
from time import time
from typing import Annotated, Any

from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BeforeValidator
from sqlalchemy.orm import Session, sessionmaker

from app.core.certainty import Thresholds
from app.core.db import AWAY
from app.core.embedding_models import embedder_of
from app.core.errors import (
    JobNotFound,
    MalformedRequest,
    ModelDamaged,
    ModelNotFound,
    NoModel,
    ResultsNotReady,
    StorageFull,
    UnsupportedUpload,
    UploadTooLarge,
)
from app.core.settings import Settings
from app.core.tables import FrozenModel
from app.frozen import answers, drift
from app.frozen.answers import Asked
from app.frozen.models import Categorizer, OpenModels, find_model, model_of_job
from app.http.dependencies import JobId, ModelId, Readers, ServiceSettings, Sessions, open_models, problems
from app.http.files import file_body, look_at, received, room_for_files, sent, with_form
from app.http.long_answers import written
from app.http.routers.results import find_concluded_job
from app.schemas.models import DriftDay, DriftOut, NewDocumentChoices, NewDocumentsOut
from app.uploads import intake
from app.uploads.inflate import IN_MEMORY

logger = logging.getLogger(__name__)

router = APIRouter(prefix="/v1", tags=["new documents"])

EPOCH = date(1970, 1, 1)
ANSWERING_THREADS = 4  # one long file must not keep others waiting
answering_threads: RunVar[CapacityLimiter] = RunVar("answering threads")

EXAMPLE = '{"key": "mail-7", "text": "Tokamak plasmas near the density limit"}\n'
BODY = file_body(
    "NewDocumentsForm",
    "New documents in any format of uploads, one or many: as the part `file` of a form, or as the body under whatever "
    "content type it has. Both may be compressed with gzip. Labels are not looked at.",
    EXAMPLE,
    "application/x-ndjson",
)
NDJSON, CSV = "application/x-ndjson", "text/csv"
ALSO: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "What the model says of each document.",
        "content": {
            NDJSON: {"schema": {"type": "string"}, "example": '{"key":"mail-7","name":"optics","probability":0.97}\n'},
            CSV: {"schema": {"type": "string"}, "example": "key,category,known\r\nmail-7,optics,true\r\n"},
        },
    }
}
REFUSALS = (ModelDamaged, UploadTooLarge, UnsupportedUpload, MalformedRequest, StorageFull)


def written_as_day(value: object) -> object:
    """Refuse the numbers that the framework would take for seconds since 1970. Raises ValueError."""
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d{2}-\d{2}", value, re.ASCII) is None:
        raise ValueError("a day is written as 2026-03-31")
    return value


Since = Annotated[date | None, BeforeValidator(written_as_day), Query(description="Only days from this one on.")]


@router.put("/jobs/{job_id}/categorize", include_in_schema=False)  # `curl -T FILE` says PUT
@router.post(
    "/jobs/{job_id}/categorize",
    operation_id="categorize",
    summary="Categorize new documents",
    response_model=NewDocumentsOut,
    responses={**problems(JobNotFound, ResultsNotReady, NoModel, *REFUSALS), **ALSO},
    openapi_extra=BODY,
)
async def categorize(
    job_id: JobId,
    request: Request,
    sessions: Sessions,
    readers: Readers,
    settings: ServiceSettings,
    choices: Annotated[NewDocumentChoices, Query()],
) -> Response:
    """Categorize documents that the job has not seen, with what it has learned. Nothing is stored but counts by day.

    A document is answered by itself: the same alone or among others, and one with the text of a document of the job
    has the answer that the job gave.
    """

    def find(session: Session) -> FrozenModel:
        return model_of_job(session, find_concluded_job(session, job_id))

    return await answered(find, request, sessions, readers, settings, choices)


@router.put("/models/{model_id}/categorize", include_in_schema=False)
@router.post(
    "/models/{model_id}/categorize",
    operation_id="categorize_by_model",
    summary="Categorize new documents by a model",
    response_model=NewDocumentsOut,
    responses={**problems(ModelNotFound, *REFUSALS), **ALSO},
    openapi_extra=BODY,
)
async def categorize_by_model(
    model_id: ModelId,
    request: Request,
    sessions: Sessions,
    readers: Readers,
    settings: ServiceSettings,
    choices: Annotated[NewDocumentChoices, Query()],
) -> Response:
    """Categorize new documents by a model, of a job or imported: the same file gives the same answers anywhere."""
    return await answered(partial(find_model, model_id=model_id), request, sessions, readers, settings, choices)


async def answered(
    find: Callable[[Session], FrozenModel],
    request: Request,
    sessions: sessionmaker[Session],
    readers: sessionmaker[Session],
    settings: Settings,
    choices: NewDocumentChoices,
) -> Response:
    """The answer to a request that brings new documents."""
    models = open_models(request)
    row, model = await intake.patiently(partial(open_model, find, readers, models))
    async with received(request, settings) as spooled:
        choices = with_form(choices, spooled)
        reading = await intake.read(partial(look_at, spooled, choices, settings, tuple(choices.text)))
        thresholds = Thresholds(choices.unsure_known, choices.unsure_new)
        embedder = await to_thread.run_sync(embedder_of, model.embedding_model, settings)
        asked = Asked(model, reading, thresholds, choices.novel, choices.bom, embedder=embedder)
        if choices.answer_format == "json":
            work = partial(one_value, asked, row.id)
        else:
            work = partial(as_file, asked, choices.answer_format == "csv", settings)
        response = await to_thread.run_sync(work, limiter=intake.limiter(answering_threads, ANSWERING_THREADS))
    await to_thread.run_sync(partial(note, sessions, row.id, asked))
    return response


def open_model(
    find: Callable[[Session], FrozenModel], readers: sessionmaker[Session], models: OpenModels
) -> tuple[FrozenModel, Categorizer]:
    """The model, its row and ready to answer."""
    with readers.begin() as session:
        row = find(session)
        return row, models.get(session, row)


def one_value(asked: Asked, model_id: str) -> Response:
    """All answers as one value of JSON."""
    documents = answers.documents(asked)
    return written(
        NewDocumentsOut(
            model=model_id,
            documents=documents,
            novel=sum(document["novel"] is True for document in documents),
            expected_novel=asked.model.arrays.expected_novel,
            errors=[{"line": line, "reason": reason} for line, reason in asked.errors],
            warnings=asked.warnings,
        )
    )


def as_file(asked: Asked, is_table: bool, settings: Settings) -> Response:
    """All answers as a file, which is whole before the first of it is sent. Raises StorageFull."""
    pieces: Iterator[bytes] = (answers.delimited if is_table else answers.ndjson)(asked)
    with room_for_files(settings):
        file = SpooledTemporaryFile(max_size=IN_MEMORY, dir=str(settings.uploads))  # noqa: SIM115 (closed when sent)
        try:
            for piece in pieces:
                file.write(piece)
        except BaseException:
            file.close()
            raise
    file.seek(0)
    media_type = f"{CSV}; charset=utf-8; header=present" if is_table else NDJSON
    return StreamingResponse(sent(file), media_type=media_type)


def note(sessions: sessionmaker[Session], model_id: str, asked: Asked) -> None:
    """Count what was answered today; an answer does not wait for a database that takes no counts."""
    if asked.counts.n_documents == 0:
        return
    try:
        with sessions.begin() as session:
            if session.get(FrozenModel, model_id) is not None:
                drift.record(session, model_id, time(), asked.counts)
    except AWAY as error:
        logger.warning("model %s: %d documents are not counted: %s", model_id, asked.counts.n_documents, error)


@router.get(
    "/jobs/{job_id}/drift",
    operation_id="get_drift",
    summary="Watch how far new documents drift",
    responses=problems(JobNotFound, ResultsNotReady, NoModel, ModelDamaged, MalformedRequest),
)
def get_drift(job_id: JobId, request: Request, readers: Readers, since: Since = None) -> DriftOut:
    """Read how many of the documents that were categorized on each day are novel, and whether that is more than chance.

    A job that is extended has a new model, which counts anew.
    """

    def find(session: Session) -> FrozenModel:
        return model_of_job(session, find_concluded_job(session, job_id))

    return drift_of(find, request, readers, since)


@router.get(
    "/models/{model_id}/drift",
    operation_id="get_drift_of_model",
    summary="Watch how far new documents drift from a model",
    responses=problems(ModelNotFound, ModelDamaged, MalformedRequest),
)
def get_drift_of_model(model_id: ModelId, request: Request, readers: Readers, since: Since = None) -> DriftOut:
    """Read how many of the documents that a model has answered on each day are novel."""
    return drift_of(partial(find_model, model_id=model_id), request, readers, since)


def drift_of(
    find: Callable[[Session], FrozenModel], request: Request, readers: sessionmaker[Session], since: date | None
) -> DriftOut:
    """The days of a model."""
    models = open_models(request)
    first = None if since is None else (since - EPOCH).days
    with readers.begin() as session:
        row = find(session)
        expected = models.get(session, row).arrays.expected_novel
        days = drift.days_of(session, row.id, first)
    return DriftOut(
        model=row.id,
        expected=expected,
        days=[day_of(EPOCH + timedelta(days=each.day), drift.counts_of(each), expected) for each in days],
    )


def day_of(day: date, counts: drift.DayCounts, expected: float) -> DriftDay:
    """A day as HTTP reports it."""
    n_judged = counts.n_documents - counts.n_without_evidence
    share, level = counts.n_novel / n_judged if n_judged else 0.0, drift.alarm_level(expected, n_judged)
    return DriftDay(
        day=day,
        documents=counts.n_documents,
        novel=counts.n_novel,
        without_evidence=counts.n_without_evidence,
        share=share,
        level=level,
        alarm=share > level,
    )
