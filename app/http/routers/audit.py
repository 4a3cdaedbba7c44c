"""The audit of a job's labels, once it has succeeded."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from pydantic import Field, FiniteFloat, TypeAdapter
from sqlalchemy import ColumnElement, and_, select, tuple_
from sqlalchemy.orm import aliased

from app.core.errors import JobNotFound, MalformedRequest, ResultsNotReady
from app.core.tables import Audit, Category, Document
from app.http.dependencies import JobId, Readers, problems
from app.http.pages import PAGE, Cursor, Limit, from_cursor, linked, page
from app.http.routers.results import find_concluded_job
from app.schemas.audit import AuditedOut, AuditPage, SuggestionOut

router = APIRouter(prefix="/v1/jobs/{job_id}", tags=["results"])

Place = TypeAdapter(tuple[FiniteFloat, Annotated[int, Field(ge=0, le=2**63 - 1)]])  # probability, id of a row
IS_DOUBTFUL = Audit.suggested.is_not(None)


@router.get(
    "/audit",
    operation_id="get_audit",
    summary="Read the doubtful labels",
    response_model=AuditPage,
    responses=problems(JobNotFound, ResultsNotReady, MalformedRequest),
)
def get_audit(
    job_id: JobId, readers: Readers, request: Request, cursor: Cursor = None, limit: Limit = PAGE
) -> Response:
    """Read the labeled documents whose label is doubtful, the most unlikely first.

    What the other labels teach speaks against it, or documents with the same text bear another label. No label is
    changed: that is up to the client.
    """
    shown, following = read_audits(readers, job_id, cursor, limit, IS_DOUBTFUL)
    documents = [audited_out(audit, key, str(label), name) for audit, key, label, name in shown]
    return linked(request, AuditPage(documents=documents, next=following), following)


def read_audits(
    readers: Readers, job_id: str, cursor: str | None, limit: int, *conditions: ColumnElement[bool]
) -> tuple[Sequence[Any], str | None]:
    """A page of a job's audits, the least probable label first, and the cursor of the next one.

    Each with the document's key and label, and the name of the category that is suggested.
    """
    last = from_cursor(cursor, Place)
    suggested = aliased(Category)
    query = (
        select(Audit, Document.key, Document.label, suggested.name)
        .join(Document, Document.id == Audit.document_id)
        .outerjoin(suggested, of_audit(suggested))
        .where(Audit.job_id == job_id, *conditions)
        .order_by(Audit.probability, Audit.document_id)
        .limit(limit + 1)
    )
    if last is not None:
        query = query.where(tuple_(Audit.probability, Audit.document_id) > last)
    with readers.begin() as session:
        job = find_concluded_job(session, job_id)
        rows = session.execute(query.where(Audit.edition == job.edition)).all()
    return page(rows, limit, lambda row: (row[0].probability, row[0].document_id))


def of_audit(category: type[Category]) -> ColumnElement[bool]:
    """The condition that a category is the one that an audit suggests."""
    return and_(
        category.job_id == Audit.job_id, category.edition == Audit.edition, category.category == Audit.suggested
    )


def audited_out(audit: Audit, key: str, label: str, suggested: str | None) -> AuditedOut:
    """A doubtful label as HTTP reports it."""
    suggestion = None
    if suggested is not None and audit.suggested is not None and audit.suggested_probability is not None:
        suggestion = SuggestionOut(category=audit.suggested, name=suggested, probability=audit.suggested_probability)
    return AuditedOut(
        key=key,
        label=label,
        reason="copies" if audit.by_copies else "words",
        probability=audit.probability,
        suggestion=suggestion,
    )
