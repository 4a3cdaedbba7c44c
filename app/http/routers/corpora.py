"""Corpora: make, look at, rename, delete."""

import uuid
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request, Response
from sqlalchemy import select, tuple_, update

from app.core.db import now
from app.core.errors import (
    BodyTooLarge,
    CorpusInUse,
    CorpusNotFound,
    IdempotencyKeyReused,
    MalformedRequest,
    ResourceDeleted,
)
from app.core.lifecycle import find_corpus, unfinished_job
from app.core.tables import Corpus
from app.http.dependencies import (
    MAX_BODY_BYTES,
    CorpusId,
    Keyed,
    OnBehalfOf,
    Readers,
    ServiceSettings,
    Sessions,
    address,
    answer,
    known_counts,
    problems,
    removal,
    rendered,
)
from app.http.pages import PAGE, Cursor, Limit, NewestFirst, from_cursor, page
from app.schemas.common import CorpusCounts, CorpusDetail, CorpusIn, CorpusOut, CorpusPage, LabelCount, VectorCount
from app.uploads import corpus_counts
from app.uploads.corpus_counts import Counts
from app.uploads.label_guards import label_warnings

router = APIRouter(prefix="/v1/corpora", tags=["corpora"])


@router.post(
    "",
    operation_id="create_corpus",
    summary="Create an empty corpus",
    status_code=HTTPStatus.CREATED,
    response_model=CorpusOut,
    responses=problems(BodyTooLarge, MalformedRequest, IdempotencyKeyReused, ResourceDeleted),
    max_body_size=MAX_BODY_BYTES,
)
def create_corpus(
    body: CorpusIn, once: Keyed, sessions: Sessions, settings: ServiceSettings, caller: OnBehalfOf
) -> Response:
    """Create an empty corpus; fill it by uploading documents."""
    with sessions.begin() as session:
        kept = once.begin(session)
        if kept is None:
            corpus = Corpus(id=str(uuid.uuid4()), name=body.name, owner=caller.owner)
            session.add(corpus)
            session.flush()
            told = CorpusOut.model_validate(corpus)
            location = address(settings, f"/v1/corpora/{corpus.id}")
            kept = once.end(session, answer(HTTPStatus.CREATED, told, Location=location))
    return rendered(kept)


@router.get(
    "",
    operation_id="list_corpora",
    summary="List the corpora",
    responses=problems(MalformedRequest),
)
def list_corpora(
    request: Request, readers: Readers, caller: OnBehalfOf, cursor: Cursor = None, limit: Limit = PAGE
) -> CorpusPage:
    """List the corpora with their counts, newest first."""
    after = from_cursor(cursor, NewestFirst)
    query = select(Corpus).where(Corpus.deleted_at.is_(None), caller.owns(Corpus.owner))
    query = query.order_by(Corpus.created_at.desc(), Corpus.id.desc()).limit(limit + 1)
    if after is not None:
        query = query.where(tuple_(Corpus.created_at, Corpus.id) < after)
    with readers.begin() as session:
        found = session.scalars(query).all()
        shown, following = page(found, limit, lambda corpus: (corpus.created_at, corpus.id))
        counts = known_counts(request).of(session, shown)
    corpora = [CorpusCounts(**facts(corpus), **told_of(corpus, counts[corpus.id])) for corpus in shown]
    return CorpusPage(corpora=corpora, next=following)


@router.get(
    "/{corpus_id}",
    operation_id="get_corpus",
    summary="Get a corpus",
    responses=problems(CorpusNotFound),
)
def get_corpus(corpus_id: CorpusId, request: Request, readers: Readers) -> CorpusDetail:
    """Get a corpus, with its documents, labels and known categories counted as they are now."""
    with readers.begin() as session:
        corpus = find_corpus(session, corpus_id)
        counts = known_counts(request).of(session, [corpus])[corpus_id]
        labels = corpus_counts.count_labels(session, corpus_id)
    categories = [LabelCount(name=name, documents=n_documents) for name, n_documents in labels]
    warnings = label_warnings(labels, counts.documents)
    return CorpusDetail(**facts(corpus), **told_of(corpus, counts), categories=categories, warnings=warnings)


def facts(corpus: Corpus) -> dict[str, Any]:
    """What is told of a corpus besides its counts."""
    return CorpusOut.model_validate(corpus).model_dump()


def told_of(corpus: Corpus, counts: Counts) -> dict[str, Any]:
    """The counts of a corpus as HTTP reports them."""
    vectors = VectorCount(documents=counts.vectors, length=corpus.vector_length)
    return {**counts._asdict(), "vectors": vectors}


@router.patch(
    "/{corpus_id}",
    operation_id="rename_corpus",
    summary="Rename a corpus",
    responses=problems(CorpusNotFound, BodyTooLarge, MalformedRequest),
    max_body_size=MAX_BODY_BYTES,
)
def rename_corpus(corpus_id: CorpusId, body: CorpusIn, sessions: Sessions) -> CorpusOut:
    """Give a corpus another name."""
    with sessions.begin() as session:
        corpus = find_corpus(session, corpus_id)
        corpus.name = body.name
        session.flush()
        return CorpusOut.model_validate(corpus)


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
