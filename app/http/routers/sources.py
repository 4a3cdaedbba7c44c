"""A job's sources by category: where two exports of different origin may have become two categories."""

import csv
import io
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response

from app.core.errors import JobNotFound, MalformedRequest, ResultsNotReady
from app.core.sources import SOURCE_FIELD
from app.http.dependencies import JobId, Readers, problems
from app.http.long_answers import written
from app.http.routers.groups import safe
from app.http.routers.results import find_concluded_job
from app.http.shown import Wanted
from app.http.source_tables import source_table
from app.schemas.job_settings import SourceField
from app.schemas.sources import SourcesOut

router = APIRouter(prefix="/v1/jobs/{job_id}", tags=["results"])

COLUMNS = ("category", "name", "known", "source", "documents", "labeled", "answered", "share", "one_source")
CSV_EXAMPLE = f'{",".join(COLUMNS)}\r\n6,"new 1: posted, quote",false,forum,57,0,57,0.95,true\r\n'
CSV: dict[str, Any] = {"text/csv": {"schema": {"type": "string"}, "example": CSV_EXAMPLE}}


@router.get(
    "/sources",
    operation_id="get_sources",
    summary="Count the sources of each category",
    response_model=SourcesOut,
    responses={**problems(JobNotFound, ResultsNotReady, MalformedRequest), 200: {"content": CSV}},
)
def get_sources(
    job_id: JobId,
    readers: Readers,
    field: Annotated[
        SourceField | None,
        Query(description="The field that says where a document comes from; by default the job's `source_field`."),
    ] = None,
    decisions: Annotated[bool, Query(description="With what people have decided, which `false` leaves out.")] = True,
    format: Annotated[
        Literal["json", "csv"], Query(description="`csv`: a row for each source of each category.")
    ] = "json",
) -> Response:
    """Count the documents of each source in each category, labeled ones in the category that their label names.

    `one_source` marks the new categories that may be about where their documents come from. Any job has this table, so
    it also shows whether a `source_field` would help.
    """
    with readers.begin() as session:
        job = find_concluded_job(session, job_id)
        name = field or job.settings.get(SOURCE_FIELD)
        if name is None:
            reason = "the job has no source_field: name a field of its documents"
            raise MalformedRequest(f"the query cannot be used: {reason}", [{"where": "query.field", "reason": reason}])
        table = source_table(session, job, Wanted(None, decisions).show(session, job), name)
    return Response(as_csv(table), media_type="text/csv") if format == "csv" else written(table)


def as_csv(table: SourcesOut) -> str:
    """A row for each source of each category; of documents without the field it is empty."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(COLUMNS)
    for each in table.categories:
        known, one_source = ("true" if flag else "false" for flag in (each.known, each.one_source))
        for of in each.sources:
            numbers = (of.documents, of.labeled, of.answered, of.share)
            writer.writerow([each.category, safe(each.name), known, safe(of.source or ""), *numbers, one_source])
    return file.getvalue()
