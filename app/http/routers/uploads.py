"""Uploads: a file of documents into a corpus."""

import hashlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from sqlalchemy.orm import Session, sessionmaker

from app.core.errors import (
    CorpusNotFound,
    IdempotencyKeyReused,
    MalformedRequest,
    NothingAccepted,
    QuotaExceeded,
    ResourceDeleted,
    ServiceError,
    StorageFull,
    UnsupportedUpload,
    UploadAborted,
    UploadTooLarge,
)
from app.core.idempotency import Answer, Once
from app.core.quotas import StorageQuota
from app.forecasts.limits import check_disk
from app.http.dependencies import (
    CorpusId,
    KeyedStream,
    Readers,
    ServiceSettings,
    Sessions,
    answer,
    database,
    problems,
    rendered,
)
from app.http.files import file_body, look_at, received, with_form
from app.observation.metrics import Metrics
from app.schemas.uploads import UploadChoices, UploadOut
from app.uploads import intake
from app.uploads.body import Spooled
from app.uploads.corpus_counts import count_by_label
from app.uploads.formats.reading import Reading
from app.uploads.label_guards import label_warnings
from app.uploads.store import Store

router = APIRouter(prefix="/v1/corpora/{corpus_id}/documents", tags=["documents"])

UPLOAD_EXAMPLE = '{"key": "paper-1", "text": "Galaxies at high redshift", "label": "astronomy"}\n{"text": "Solitons"}\n'
UPLOAD_BODY = file_body(
    "UploadForm",
    "A file as the part `file` of a form, or as the body under whatever content type it has. Both may be compressed "
    "with gzip.",
    UPLOAD_EXAMPLE,
    "application/x-ndjson",
)


@router.put("", include_in_schema=False)  # `curl -T FILE` says PUT
@router.post(
    "",
    operation_id="upload_documents",
    summary="Add documents to a corpus",
    response_model=UploadOut,
    responses=problems(
        CorpusNotFound,
        UploadTooLarge,
        UnsupportedUpload,
        NothingAccepted,
        UploadAborted,
        MalformedRequest,
        IdempotencyKeyReused,
        ResourceDeleted,
        QuotaExceeded,
        StorageFull,
    ),
    openapi_extra=UPLOAD_BODY,
)
async def upload_documents(
    corpus_id: CorpusId,
    request: Request,
    once: KeyedStream,
    sessions: Sessions,
    readers: Readers,
    settings: ServiceSettings,
    choices: Annotated[UploadChoices, Query()],
) -> Response:
    """Add documents from a file: NDJSON, JSON, CSV, TSV, text, a ZIP of texts, XLSX, Parquet or SVMlight.

    The file is read when it has come as a whole. A row that cannot be used is reported with its line and the reason,
    and the others are accepted all the same, unless `on_error=abort`. A key is unique in its corpus; a document without
    one gets a key that is made of its text, so that a file which is uploaded twice changes nothing.
    """
    store = Store(
        database(request),
        corpus_id,
        choices.on_conflict,
        settings.max_documents,
        partial(check_disk, settings),
        request.app.state.remembered_texts,
        StorageQuota.of(settings),
    )
    if once.key is None:  # else an earlier answer may say more than that the corpus is gone
        await intake.patiently(store.look)
    metrics: Metrics = request.app.state.metrics
    with counted_if_refused(metrics):
        async with received(request, settings) as spooled:
            metrics.uploaded_bytes.inc(spooled.size)
            once = replace(once, digest=digest_of(spooled, request))
            kept = await intake.patiently(partial(begin_upload, sessions, once))
            if kept is not None:
                return rendered(kept)
            try:
                choices = with_form(choices, spooled)
                store.on_conflict = choices.on_conflict
                if once.key is not None:
                    await intake.patiently(store.look)
                reading = await intake.read(partial(look_at, spooled, choices, settings, tuple(choices.text)))
                told = await take_in(reading, store, choices, readers)
            except ServiceError:
                await intake.patiently(partial(withdraw_upload, sessions, once))
                raise
    if not choices.validate_only:
        metrics.count_upload("accepted", told.accepted, told.rejected)
    return rendered(await intake.patiently(partial(end_upload, sessions, once, answer(HTTPStatus.OK, told))))


@contextmanager
def counted_if_refused(metrics: Metrics) -> Iterator[None]:
    """Within this context a refusal of an upload is counted, with its rows where it came so far."""
    try:
        yield
    except ServiceError as error:
        metrics.count_upload("refused", *(int(error.members.get(name) or 0) for name in ("accepted", "rejected")))
        raise


def digest_of(spooled: Spooled, request: Request) -> str:
    """The digest of what was asked: of the file, and of how it is to be read."""
    said = f"{spooled.sha256} {request.url.query} {sorted(spooled.form.items())}"
    return hashlib.sha256(said.encode()).hexdigest()


async def take_in(reading: Reading, store: Store, choices: UploadChoices, readers: sessionmaker[Session]) -> UploadOut:
    """Store what was read, or say what would be stored; the answer to the upload. Raises ServiceError."""
    is_whole = choices.on_error == "abort"
    if is_whole or choices.validate_only:
        report = await intake.check(reading, store)
        if is_whole:
            report.check_all()
        report.check()
    if not choices.validate_only:
        report, store = intake.Report(), store.anew()
        with report.told():
            await intake.receive(reading, store, report)
        if is_whole and report.rejected:  # somebody else has taken a key meanwhile
            await intake.patiently(store.take_back)
            report.check_all()
        report.check()
    warnings = await intake.patiently(partial(warnings_of, reading, store.corpus_id, report, choices, readers))
    return UploadOut(
        **{name: getattr(report, name) for name in UploadOut.model_fields if hasattr(report, name)},
        validated_only=choices.validate_only,
        format=reading.format,
        charset=reading.charset,
        delimiter=reading.delimiter,
        columns=reading.columns,
        warnings=warnings,
    )


def warnings_of(
    reading: Reading, corpus_id: str, report: intake.Report, choices: UploadChoices, readers: sessionmaker[Session]
) -> list[str]:
    """What may be wrong with an upload, and with its corpus after it."""
    with readers.begin() as session:
        counts = count_by_label(session, corpus_id)
    n_documents = sum(counts.values())
    labels = Counter({label: n_labeled for label, n_labeled in counts.items() if label is not None})
    if choices.validate_only:
        n_documents += report.added
        labels += report.labels
    return [*reading.warnings, *report.remarks(), *label_warnings(sorted(labels.items()), n_documents)]


def begin_upload(sessions: sessionmaker[Session], once: Once) -> Answer | None:
    """Note an upload under its key; the answer to it, if it has been answered."""
    with sessions.begin() as session:
        return once.begin(session)


def withdraw_upload(sessions: sessionmaker[Session], once: Once) -> None:
    """Forget that an upload came under its key, since it was refused."""
    if once.key is not None:
        with sessions.begin() as session:
            once.withdraw(session)


def end_upload(sessions: sessionmaker[Session], once: Once, made: Answer) -> Answer:
    """Keep the answer to an upload under a key."""
    if once.key is None:
        return made
    with sessions.begin() as session:
        return once.end(session, made)
