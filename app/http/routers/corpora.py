"""Corpora: make, fill, look at, delete."""

import uuid
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request, Response
from sqlalchemy import select, tuple_, update
from sqlalchemy.orm import Session, sessionmaker

from app.core.db import now
from app.core.errors import (
    BodyTooLarge,
    CorpusInUse,
    CorpusNotFound,
    IdempotencyKeyReused,
    MalformedRequest,
    NothingAccepted,
    ResourceDeleted,
    StorageFull,
    UnsupportedUpload,
    UploadTooLarge,
)
from app.core.idempotency import Answer, Hashed, Once, touch
from app.core.lifecycle import unfinished_job
from app.core.tables import Corpus, IdempotentRequest
from app.forecasts.limits import check_disk
from app.http.dependencies import (
    MAX_BODY_BYTES,
    CorpusId,
    Keyed,
    KeyedStream,
    Readers,
    ServiceSettings,
    Sessions,
    address,
    answer,
    database,
    find_corpus,
    problems,
    rendered,
)
from app.http.pages import PAGE, Cursor, Limit, NewestFirst, from_cursor, page
from app.schemas.common import CorpusCounts, CorpusDetail, CorpusIn, CorpusOut, CorpusPage, LabelCount, UploadOut
from app.uploads import corpus_counts, intake
from app.uploads.corpus_counts import KnownCounts
from app.uploads.csv_rows import CsvReader
from app.uploads.removal import Removal
from app.uploads.rows import LineReader, NdjsonReader
from app.uploads.store import Store

router = APIRouter(prefix="/v1/corpora", tags=["corpora"])

READERS: dict[str, type[LineReader]] = {
    "application/x-ndjson": NdjsonReader,
    "application/jsonl": NdjsonReader,
    "application/json-lines": NdjsonReader,
    "text/csv": CsvReader,
}

NDJSON_EXAMPLE = '{"key": "paper-1", "text": "Galaxies at high redshift", "label": "astronomy"}\n{"text": "Solitons"}\n'
CSV_EXAMPLE = "key,text,label\npaper-1,Galaxies at high redshift,astronomy\npaper-2,Solitons,\n"
UPLOAD_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "One document per line: `text` and, optionally, a `key` of its own and a `label`.",
        "content": {
            name: {
                "schema": {"type": "string"},
                "example": CSV_EXAMPLE if reader is CsvReader else NDJSON_EXAMPLE,
            }
            for name, reader in READERS.items()
        },
    }
}


def removal(request: Request) -> Removal:
    """Who takes out what has been deleted."""
    found: Removal = request.app.state.removal
    return found


def known_counts(request: Request) -> KnownCounts:
    """The counts that the application remembers."""
    found: KnownCounts = request.app.state.known_counts
    return found


@router.post(
    "",
    operation_id="create_corpus",
    summary="Create an empty corpus",
    status_code=HTTPStatus.CREATED,
    response_model=CorpusOut,
    responses=problems(BodyTooLarge, MalformedRequest, IdempotencyKeyReused, ResourceDeleted),
    max_body_size=MAX_BODY_BYTES,
)
def create_corpus(body: CorpusIn, once: Keyed, sessions: Sessions, settings: ServiceSettings) -> Response:
    """Create an empty corpus; fill it by uploading documents."""
    with sessions.begin() as session:
        kept = once.begin(session)
        if kept is None:
            corpus = Corpus(id=str(uuid.uuid4()), name=body.name)
            session.add(corpus)
            session.flush()
            told = CorpusOut.model_validate(corpus)
            location = address(settings, f"/v1/corpora/{corpus.id}")
            kept = once.end(session, answer(HTTPStatus.CREATED, told, Location=location))
    return rendered(kept)


@router.post(
    "/{corpus_id}/documents",
    operation_id="upload_documents",
    summary="Add documents to a corpus",
    response_model=UploadOut,
    responses=problems(
        CorpusNotFound,
        UploadTooLarge,
        UnsupportedUpload,
        NothingAccepted,
        MalformedRequest,
        IdempotencyKeyReused,
        ResourceDeleted,
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
) -> Response:
    """Add documents, one per line of NDJSON or one per record of CSV; labeled, unlabeled or mixed.

    A line that cannot be used is reported with its number and the reason, and the others are accepted all the
    same. A key is unique in its corpus; a document without one is called `document-N` by its number. Under an
    idempotency key, an upload that broke off continues where it stopped when it is sent again as a whole.
    """
    reader = reader_of(request)(settings.max_document_bytes)
    chunks = Hashed(request.stream())
    row = await intake.patiently(partial(begin_upload, sessions, once))
    if row is not None and row.digest is not None:
        await intake.pass_by(chunks, settings.max_upload_bytes)
        once = replace(once, digest=chunks.digest())
        return rendered(await intake.patiently(partial(replay, readers, once, row)))
    upload_id, texts = None if row is None else row.id, request.app.state.remembered_texts
    store = Store(database(request), corpus_id, upload_id, partial(check_disk, settings), texts)
    await intake.patiently(store.look)
    report = intake.Report()
    with report.told():
        await intake.receive(chunks, reader, store, settings.max_upload_bytes, report)
    report.check()
    once = replace(once, digest=chunks.digest())
    made = answer(HTTPStatus.OK, UploadOut.model_validate(report))
    with report.told():
        return rendered(await intake.patiently(partial(end_upload, sessions, once, made)))


def begin_upload(sessions: sessionmaker[Session], once: Once) -> IdempotentRequest | None:
    """The row of an upload under a key; without an answer if the upload is new or broke off."""
    if once.key is None:
        return None
    with sessions.begin() as session:
        row = once.open(session)
        touch(session, row.id)
    return row


def replay(readers: sessionmaker[Session], once: Once, row: IdempotentRequest) -> Answer:
    """The answer to an upload that has ended. Raises IdempotencyKeyReused, ResourceDeleted."""
    with readers.begin() as session:
        return once.answer_of(session, row)


def end_upload(sessions: sessionmaker[Session], once: Once, made: Answer) -> Answer:
    """Keep the answer to an upload under a key."""
    with sessions.begin() as session:
        return once.end(session, made)


def reader_of(request: Request) -> type[LineReader]:
    """The reader for the upload's content type. Raises UnsupportedUpload."""
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type not in READERS:
        raise UnsupportedUpload(f"the content type {content_type!r} is not one of {', '.join(READERS)}")
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise UnsupportedUpload("send the body without a content encoding")
    return READERS[content_type]


@router.get(
    "",
    operation_id="list_corpora",
    summary="List the corpora",
    responses=problems(MalformedRequest),
)
def list_corpora(request: Request, readers: Readers, cursor: Cursor = None, limit: Limit = PAGE) -> CorpusPage:
    """List the corpora with their counts, newest first."""
    after = from_cursor(cursor, NewestFirst)
    query = select(Corpus).where(Corpus.deleted_at.is_(None))
    query = query.order_by(Corpus.created_at.desc(), Corpus.id.desc()).limit(limit + 1)
    if after is not None:
        query = query.where(tuple_(Corpus.created_at, Corpus.id) < after)
    with readers.begin() as session:
        found = session.scalars(query).all()
        shown, following = page(found, limit, lambda corpus: (corpus.created_at, corpus.id))
        counts = known_counts(request).of(session, shown)
    corpora = [CorpusCounts(**facts(corpus), **counts[corpus.id]._asdict()) for corpus in shown]
    return CorpusPage(corpora=corpora, next=following)


@router.get(
    "/{corpus_id}",
    operation_id="get_corpus",
    summary="Get a corpus",
    responses=problems(CorpusNotFound),
)
def get_corpus(corpus_id: CorpusId, readers: Readers) -> CorpusDetail:
    """Get a corpus, with its documents, labels and known categories counted as they are now."""
    with readers.begin() as session:
        corpus = find_corpus(session, corpus_id)
        counts = corpus_counts.count(session, [corpus_id])[corpus_id]
        labels = corpus_counts.count_labels(session, corpus_id)
    categories = [LabelCount(name=name, documents=n_documents) for name, n_documents in labels]
    return CorpusDetail(**facts(corpus), **counts._asdict(), categories=categories)


def facts(corpus: Corpus) -> dict[str, Any]:
    """What is told of a corpus besides its counts."""
    return CorpusOut.model_validate(corpus).model_dump()


@router.delete(
    "/{corpus_id}",
    operation_id="delete_corpus",
    summary="Delete a corpus",
    status_code=HTTPStatus.NO_CONTENT,
    responses=problems(CorpusNotFound, CorpusInUse),
)
def delete_corpus(corpus_id: CorpusId, request: Request, sessions: Sessions) -> None:
    """Delete a corpus with its documents, its jobs and their results; refused while a job over it has not ended.

    It is gone for all clients at once. Its rows are removed afterwards, a few at a time.
    """
    with sessions.begin() as session:
        # Locked first, so that no job is submitted between the question and the deletion.
        there = select(Corpus.id).where(Corpus.id == corpus_id, Corpus.deleted_at.is_(None))
        if session.scalar(there.with_for_update()) is None:
            raise CorpusNotFound(f"there is no corpus {corpus_id}")
        job_id = unfinished_job(session, corpus_id)
        if job_id is not None:
            raise CorpusInUse(f"job {job_id} over corpus {corpus_id} has not ended; cancel it first")
        session.execute(update(Corpus).where(Corpus.id == corpus_id).values(deleted_at=now()))
    removal(request).wake()
