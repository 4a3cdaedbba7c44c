"""Documents of a corpus: read, correct, delete."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import Field, TypeAdapter
from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.orm import Session

from app.core.document_vectors import has_vector
from app.core.errors import BodyTooLarge, CorpusInUse, CorpusNotFound, DocumentNotFound, MalformedRequest, QuotaExceeded
from app.core.lifecycle import find_corpus
from app.core.quotas import StorageQuota
from app.core.settings import Settings
from app.core.tables import FOREVER, IS_CURRENT, MAX_KEY, MAX_NAME, Document
from app.http.dependencies import (
    MAX_BODY_BYTES,
    CorpusId,
    Readers,
    ServiceSettings,
    database,
    problems,
)
from app.http.document_filters import Fields, field_conditions
from app.http.files import read_limits
from app.http.pages import PAGE, Cursor, Limit, fitting, from_cursor, linked, to_cursor
from app.http.searches import Scope, SearchText, corpus_scope, indexing, look_up, search_of
from app.http.walks import Filters, Place, Stretch, walk
from app.review.unindexed import unindexed
from app.schemas.common import Storable
from app.schemas.documents import (
    MAX_CHANGES,
    ChangesOut,
    CorpusDocument,
    CorpusDocumentPage,
    DeletionOut,
    DocumentChange,
    DocumentChanges,
)
from app.uploads import corrections

router = APIRouter(prefix="/v1/corpora/{corpus_id}/documents", tags=["documents"])

RowNumber = TypeAdapter(tuple[Annotated[int, Field(ge=0, le=2**63 - 1)]])
DocumentKey = Annotated[
    Storable,
    Path(max_length=MAX_KEY, description="Key of the document; a slash in it may stay.", examples=["paper-1"]),
]
Label = Annotated[Storable | None, Query(max_length=MAX_NAME, description="Only documents with this label.")]
Labeled = Annotated[bool | None, Query(description="Only documents with a label, or only those without one.")]


@router.get(
    "",
    operation_id="list_corpus_documents",
    summary="Read the documents of a corpus",
    response_model=CorpusDocumentPage,
    responses=problems(CorpusNotFound, MalformedRequest),
)
def list_documents(
    corpus_id: CorpusId,
    readers: Readers,
    request: Request,
    label: Label = None,
    labeled: Labeled = None,
    field: Fields = [],  # noqa: B006 (FastAPI makes one for each request)
    search: SearchText = None,
    cursor: Cursor = None,
    limit: Limit = PAGE,
) -> Response:
    """Read the documents of a corpus as they are now, in the order in which they came.

    A page is shorter than its limit where texts are long, and where many documents had to be read to find those that
    are wanted; it may be empty then. The list ends with the page whose `next` is null.
    """
    start, searched = Place(0, from_cursor(cursor, RowNumber)), search_of(search)
    indexed, residual = chosen(label, labeled, []), field_conditions(field)
    with readers.begin() as session:
        find_corpus(session, corpus_id)
        within = Scope(corpus_id, None, None) if searched is None else corpus_scope(session, corpus_id)
        found = look_up(session, searched, within, indexing(request).wake)
        mine = [Document.corpus_id == corpus_id, IS_CURRENT, *indexed]
        if found.document_ids is not None:  # few, each of which SQLite is to look up
            mine = [unindexed(Document.corpus_id) == corpus_id, unindexed(Document.until) == FOREVER, *indexed]
            mine, residual = [*mine, *residual, Document.id.in_(found.document_ids)], []
        current = Stretch((Document.id,), tuple(mine))
        filters = Filters(residual, Document.text, found.matches)
        walked = walk(session, [current], start, limit + 1, (rows_of, rows_of), filters)
        ids = [place.key[0] for place in walked.places if place.key is not None]
        sizes = session.execute(select(Document.id, func.length(Document.text)).where(Document.id.in_(ids))).all()
        shown = ids[: fitting([n_characters for _, n_characters in sorted(sizes)], limit)]
        rows = session.scalars(select(Document).where(Document.id.in_(shown)).order_by(Document.id))
        having = with_vectors(session, shown)
        last = shown[-1:] if len(shown) < len(ids) else walked.following and walked.following.key
        following = to_cursor(last) if last else None
        documents = [document_out(row, row.id in having) for row in rows]
    return linked(request, CorpusDocumentPage(documents=documents, next=following), following)


def rows_of(columns: Sequence[Any]) -> Select[Any]:
    """Columns of documents."""
    return select(*columns).select_from(Document)


def chosen(label: str | None, labeled: bool | None, field: list[str]) -> list[ColumnElement[bool]]:
    """The conditions that a request names. Raises MalformedRequest."""
    found = field_conditions(field)
    if label is not None:
        found.append(Document.label == label)
    if labeled is not None:
        found.append(Document.label.is_not(None) if labeled else Document.label.is_(None))
    return found


def with_vectors(session: Session, document_ids: Sequence[int]) -> set[int]:
    """Those of some documents that have brought a vector."""
    return set(session.scalars(select(Document.id).where(Document.id.in_(document_ids), has_vector(FOREVER))))


def document_out(row: Document, has_vector: bool) -> CorpusDocument:
    """A document as HTTP reports it."""
    return CorpusDocument(
        key=row.key,
        text=row.text,
        label=row.label,
        fields=row.fields or {},
        is_counts=row.is_counts,
        erased=row.erased,
        has_vector=has_vector,
        version=row.version,
    )


@router.patch(
    "",
    operation_id="change_documents",
    summary="Correct many documents",
    responses=problems(CorpusNotFound, DocumentNotFound, QuotaExceeded, BodyTooLarge, MalformedRequest),
    max_body_size=MAX_BODY_BYTES,
)
def change_documents(
    corpus_id: CorpusId, body: DocumentChanges, request: Request, settings: ServiceSettings
) -> ChangesOut:
    """Correct texts, labels, fields or vectors of documents, all or none of them; the corpus gets a new version.

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
    made = corrections.change(
        database(request), corpus_id, changes, read_limits(settings), texts, StorageQuota.of(settings)
    )
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
    key: Annotated[list[Storable], Query(max_length=MAX_CHANGES, description="Keys of documents.")] = [],  # noqa: B006
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
    if erase:
        indexing(request).forget_erased()
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
        return document_out(found, found.id in with_vectors(session, [found.id]))


@router.patch(
    "/{key:path}",
    operation_id="change_document",
    summary="Correct a document",
    responses=problems(CorpusNotFound, DocumentNotFound, QuotaExceeded, BodyTooLarge, MalformedRequest),
    max_body_size=2 * MAX_BODY_BYTES,
)
def change_document(
    corpus_id: CorpusId, key: DocumentKey, body: DocumentChange, request: Request, settings: ServiceSettings
) -> ChangesOut:
    """Correct a text, a label, fields or a vector; the corpus gets a new version, and jobs keep theirs."""
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
