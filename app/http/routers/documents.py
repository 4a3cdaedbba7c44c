"""Documents: upload, read, correct, delete."""

import hashlib
from collections.abc import AsyncIterable, AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from tempfile import SpooledTemporaryFile
from typing import Annotated, Any, BinaryIO, TypeVar, cast

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import TypeAdapter, ValidationError
from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session, sessionmaker

from app.core.db import is_disk_full
from app.core.disk import free_bytes
from app.core.errors import (
    BodyTooLarge,
    CorpusInUse,
    CorpusNotFound,
    DocumentNotFound,
    IdempotencyKeyReused,
    MalformedRequest,
    NothingAccepted,
    ResourceDeleted,
    ServiceError,
    StorageFull,
    UnsupportedUpload,
    UploadAborted,
    UploadTooLarge,
)
from app.core.idempotency import Answer, Once
from app.core.settings import Settings
from app.core.tables import IS_CURRENT, MAX_KEY, MAX_NAME, Document
from app.forecasts.limits import check_disk
from app.http.dependencies import (
    MAX_BODY_BYTES,
    CorpusId,
    KeyedStream,
    Readers,
    ServiceSettings,
    Sessions,
    answer,
    database,
    find_corpus,
    problems,
    rendered,
)
from app.http.document_filters import Fields, field_conditions
from app.http.pages import PAGE, Cursor, Limit, fitting, from_cursor, page
from app.schemas.documents import (
    MAX_CHANGES,
    ChangesOut,
    CorpusDocument,
    CorpusDocumentPage,
    DeletionOut,
    DocumentChange,
    DocumentChanges,
)
from app.schemas.uploads import FileChoices, UploadChoices, UploadOut
from app.uploads import corrections, intake
from app.uploads.body import IN_MEMORY, Spooled, spool
from app.uploads.columns import ReadOptions
from app.uploads.corpus_counts import count, count_labels
from app.uploads.formats import look
from app.uploads.formats.reading import Reading
from app.uploads.label_guards import label_warnings
from app.uploads.limits import ReadLimits
from app.uploads.store import Store

router = APIRouter(prefix="/v1/corpora/{corpus_id}/documents", tags=["documents"])

LOOK_BYTES = 2**24  # of an upload, between looks at how much room is left
NO_ROOM = (
    "the disk under the files of uploads is full (NEWFOUND_UPLOADS_FOLDER): upload less at once, or free some space"
)

Choices = TypeVar("Choices", bound=FileChoices)
RowNumber = TypeAdapter(tuple[int])
DocumentKey = Annotated[
    str, Path(max_length=MAX_KEY, description="Key of the document; a slash in it may stay.", examples=["paper-1"])
]
Label = Annotated[str | None, Query(max_length=MAX_NAME, description="Only documents with this label.")]
Labeled = Annotated[bool | None, Query(description="Only documents with a label, or only those without one.")]

UPLOAD_EXAMPLE = '{"key": "paper-1", "text": "Galaxies at high redshift", "label": "astronomy"}\n{"text": "Solitons"}\n'
FILE: dict[str, Any] = {"type": "string", "format": "binary"}
FORM = {"type": "object", "title": "UploadForm", "required": ["file"], "properties": {"file": FILE}}
UPLOAD_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "A file as the part `file` of a form, or as the body under whatever content type it has. Both "
        "may be compressed with gzip.",
        "content": {
            "multipart/form-data": {"schema": FORM, "example": {"file": UPLOAD_EXAMPLE}},
            "application/octet-stream": {"schema": FILE, "example": UPLOAD_EXAMPLE},
        },
    }
}


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
    )
    if once.key is None:  # else an earlier answer may say more than that the corpus is gone
        await intake.patiently(store.look)
    headers = request.headers
    with room_for_files(settings), SpooledTemporaryFile(max_size=IN_MEMORY, dir=str(settings.uploads)) as temporary:
        file = cast(BinaryIO, temporary)
        sent = headers.get("content-type", ""), headers.get("content-encoding", "")
        spooled = await spool(leaving_room(request.stream(), settings), *sent, file, settings.max_upload_bytes)
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
    return rendered(await intake.patiently(partial(end_upload, sessions, once, answer(HTTPStatus.OK, told))))


@contextmanager
def room_for_files(settings: Settings) -> Iterator[None]:
    """Within this context a full disk under the files of uploads is a refusal. Raises StorageFull."""
    try:
        yield
    except OSError as error:
        if not is_disk_full(error):
            raise
        raise StorageFull(NO_ROOM) from error


async def leaving_room(chunks: AsyncIterable[bytes], settings: Settings) -> AsyncIterator[bytes]:
    """The chunks of an upload, as long as there is room for them. Raises StorageFull."""
    n_bytes = 0
    async for chunk in chunks:
        if n_bytes % LOOK_BYTES + len(chunk) >= LOOK_BYTES and free_bytes(settings.uploads) < settings.min_free_bytes:
            raise StorageFull(NO_ROOM)
        n_bytes += len(chunk)
        yield chunk


def digest_of(spooled: Spooled, request: Request) -> str:
    """The digest of what was asked: of the file, and of how it is to be read."""
    said = f"{spooled.sha256} {request.url.query} {sorted(spooled.form.items())}"
    return hashlib.sha256(said.encode()).hexdigest()


def with_form(choices: Choices, spooled: Spooled) -> Choices:
    """The choices, and those that came as fields of the form. Raises MalformedRequest.

    Blank ones say nothing, as a form in a browser sends them, but that there is no label or no key.
    """
    given = {
        name: [value for value in values if value or name in ("label", "key")]
        for name, values in spooled.form.items()
    }  # fmt: skip
    lists = ("text", "unlabeled", "json_column")
    fields = {name: values if name in lists else values[-1] for name, values in given.items() if values}
    try:
        return type(choices).model_validate({**fields, **choices.model_dump(exclude_unset=True)})
    except ValidationError as error:
        faults = [
            {"where": f"form.{'.'.join(map(str, each['loc']))}", "reason": each["msg"]} for each in error.errors()
        ]
        raise MalformedRequest(
            f"the form cannot be used: {faults[0]['where']}: {faults[0]['reason']}", faults
        ) from None


def look_at(
    spooled: Spooled, choices: FileChoices, settings: Settings, text: tuple[str, ...] = (), needs_text: bool = True
) -> Reading:
    """The file as it is to be read. Raises MalformedRequest, UnsupportedUpload, UploadTooLarge."""
    options = ReadOptions(
        format=choices.format,
        charset=choices.charset,
        delimiter=choices.delimiter,
        has_header=choices.header,
        sheet=choices.sheet,
        text=text,
        label=choices.label,
        key=choices.key,
        unlabeled=tuple(choices.unlabeled),
        needs_text=needs_text,
        counts=choices.counts,
        fields=choices.fields,
        json_column=tuple(choices.json_column),
        safe=choices.safe,
    )
    return look(spooled.file, spooled.name, spooled.content_type, options, read_limits(settings), str(settings.uploads))


def read_limits(settings: Settings) -> ReadLimits:
    """The limits that the operator set."""
    return ReadLimits(
        max_bytes=settings.max_upload_bytes,
        max_document_bytes=settings.max_document_bytes,
        max_line_bytes=settings.max_line_bytes,
        max_fields_bytes=settings.max_fields_bytes,
        max_columns=settings.max_columns,
        max_files=settings.max_files,
        max_cells=settings.max_cells,
        max_document_tokens=settings.max_document_tokens,
    )


async def take_in(reading: Reading, store: Store, choices: UploadChoices, readers: sessionmaker[Session]) -> UploadOut:
    """Store what was read, or say what would be stored; the answer to the upload. Raises ServiceError."""
    report = intake.Report()
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
        n_documents = count(session, [corpus_id])[corpus_id].documents
        labels = dict(count_labels(session, corpus_id))
    if choices.validate_only:
        n_documents += report.added
        labels = dict(report.labels + report.labels.__class__(labels))
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


@router.get(
    "",
    operation_id="list_corpus_documents",
    summary="Read the documents of a corpus",
    responses=problems(CorpusNotFound, MalformedRequest),
)
def list_documents(
    corpus_id: CorpusId,
    readers: Readers,
    label: Label = None,
    labeled: Labeled = None,
    field: Fields = [],  # noqa: B006 (FastAPI makes one for each request)
    cursor: Cursor = None,
    limit: Limit = PAGE,
) -> CorpusDocumentPage:
    """Read the documents of a corpus as they are now, in the order in which they came."""
    after = from_cursor(cursor, RowNumber)
    query = (
        select(Document.id, func.length(Document.text))
        .where(Document.corpus_id == corpus_id, IS_CURRENT, *chosen(label, labeled, field))
        .order_by(Document.id)
        .limit(limit + 1)
    )
    if after is not None:
        query = query.where(Document.id > after[0])
    with readers.begin() as session:
        find_corpus(session, corpus_id)
        found = session.execute(query).all()
        n_shown = fitting([n_characters for _, n_characters in found], limit)
        shown, following = page(found, n_shown, lambda row: (row[0],))
        rows = session.scalars(select(Document).where(Document.id.in_([row[0] for row in shown])).order_by(Document.id))
        return CorpusDocumentPage(documents=[document_out(row) for row in rows], next=following)


def chosen(label: str | None, labeled: bool | None, field: list[str]) -> list[ColumnElement[bool]]:
    """The conditions that a request names. Raises MalformedRequest."""
    found = field_conditions(field)
    if label is not None:
        found.append(Document.label == label)
    if labeled is not None:
        found.append(Document.label.is_not(None) if labeled else Document.label.is_(None))
    return found


def document_out(row: Document) -> CorpusDocument:
    """A document as HTTP reports it."""
    return CorpusDocument(
        key=row.key,
        text=row.text,
        label=row.label,
        fields=row.fields or {},
        is_counts=row.is_counts,
        erased=row.erased,
        version=row.version,
    )


@router.patch(
    "",
    operation_id="change_documents",
    summary="Correct many documents",
    responses=problems(CorpusNotFound, DocumentNotFound, BodyTooLarge, MalformedRequest),
    max_body_size=MAX_BODY_BYTES,
)
def change_documents(
    corpus_id: CorpusId, body: DocumentChanges, request: Request, settings: ServiceSettings
) -> ChangesOut:
    """Correct texts, labels or fields of documents, all or none of them; the corpus gets a new version.

    More than 1,000 documents are corrected by an upload with `on_conflict=replace`.
    """
    changes: dict[str, dict[str, Any]] = {}
    for each in body.changes:
        if each.key in changes:
            raise MalformedRequest(f"the key {each.key!r} comes twice; name each document once")
        changes[each.key] = each.model_dump(exclude_unset=True, exclude={"key"})
    return changed(request, corpus_id, changes, settings)


def changed(request: Request, corpus_id: str, changes: dict[str, dict[str, Any]], settings: Settings) -> ChangesOut:
    """Make changes, and tell what became of them."""
    texts = request.app.state.remembered_texts
    made = corrections.change(database(request), corpus_id, changes, read_limits(settings), texts)
    return ChangesOut(changed=made.n_changed, unchanged=made.n_unchanged, version=made.version)


@router.delete(
    "",
    operation_id="delete_documents",
    summary="Delete many documents",
    responses=problems(CorpusNotFound, DocumentNotFound, CorpusInUse, MalformedRequest),
)
def delete_documents(
    corpus_id: CorpusId,
    request: Request,
    key: Annotated[list[str], Query(max_length=MAX_CHANGES, description="Keys of documents.")] = [],  # noqa: B006
    label: Label = None,
    field: Fields = [],  # noqa: B006
    erase: Annotated[bool, Query(description="Take their texts out of all versions, too.")] = False,
) -> DeletionOut:
    """Delete the documents with these keys, or those that meet all conditions; the corpus gets a new version.

    Jobs keep the version that they were submitted over, unless `erase` takes the texts out of all of them. A job that
    needs an erased text cannot be extended.
    """
    conditions = chosen(label, None, field)
    if not key and not conditions:
        raise MalformedRequest("say which documents: by key, by label or by field; a whole corpus is deleted as such")
    if key:
        conditions.append(Document.key.in_(key))
    return deleted(request, corpus_id, conditions, key, erase)


def deleted(
    request: Request, corpus_id: str, which: Sequence[ColumnElement[bool]], keys: Sequence[str], erase: bool
) -> DeletionOut:
    """Delete, and tell what became of it."""
    gone = corrections.remove(database(request), corpus_id, which, keys, erase)
    return DeletionOut(deleted=gone.n_changed, erased=erase, version=gone.version)


@router.get(
    "/{key:path}",
    operation_id="get_corpus_document",
    summary="Read a document of a corpus",
    responses=problems(CorpusNotFound, DocumentNotFound),
)
def get_document(corpus_id: CorpusId, key: DocumentKey, readers: Readers) -> CorpusDocument:
    """Read a document as it is now."""
    with readers.begin() as session:
        find_corpus(session, corpus_id)
        mine = (Document.corpus_id == corpus_id, IS_CURRENT, Document.key == key)
        found = None if "\0" in key else session.scalar(select(Document).where(*mine))
        if found is None:
            raise DocumentNotFound(f"corpus {corpus_id} has no document {key[:100]!r}")
        return document_out(found)


@router.patch(
    "/{key:path}",
    operation_id="change_document",
    summary="Correct a document",
    responses=problems(CorpusNotFound, DocumentNotFound, BodyTooLarge, MalformedRequest),
    max_body_size=2 * MAX_BODY_BYTES,
)
def change_document(
    corpus_id: CorpusId, key: DocumentKey, body: DocumentChange, request: Request, settings: ServiceSettings
) -> ChangesOut:
    """Correct the text, the label or the fields of a document; the corpus gets a new version, and jobs keep theirs."""
    return changed(request, corpus_id, {key: body.model_dump(exclude_unset=True)}, settings)


@router.delete(
    "/{key:path}",
    operation_id="delete_document",
    summary="Delete a document",
    responses=problems(CorpusNotFound, DocumentNotFound, CorpusInUse),
)
def delete_document(
    corpus_id: CorpusId,
    key: DocumentKey,
    request: Request,
    erase: Annotated[bool, Query(description="Take its text out of all versions, too.")] = False,
) -> DeletionOut:
    """Delete a document; the corpus gets a new version. Jobs keep theirs, unless `erase` takes the text out of all."""
    return deleted(request, corpus_id, [Document.key == key], [key], erase)
