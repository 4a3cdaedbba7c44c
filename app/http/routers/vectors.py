"""Vectors of documents that are in a corpus already: bring them, or take all of them away."""

from contextlib import closing
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Request

from app.core.errors import (
    CorpusNotFound,
    MalformedRequest,
    NothingAccepted,
    QuotaExceeded,
    StorageFull,
    UnsupportedUpload,
    UploadAborted,
    UploadTooLarge,
)
from app.core.quotas import StorageQuota
from app.forecasts.limits import check_disk
from app.http.dependencies import CorpusId, ServiceSettings, database, problems
from app.http.files import file_body, look_at, received, with_form
from app.schemas.vectors import VectorChoices, VectorsOut
from app.uploads import intake, vector_uploads
from app.uploads.intake import Report
from app.uploads.vector_uploads import Put, Spool

router = APIRouter(prefix="/v1/corpora/{corpus_id}/vectors", tags=["documents"])

VECTORS_EXAMPLE = '{"key": "paper-1", "vector": [0.12, -0.5, 0.33, 0.08]}\n{"key": "paper-2", "vector": null}\n'
VECTORS_BODY = file_body(
    "VectorsForm",
    "Keys and vectors as NDJSON, JSON, CSV, XLSX or Parquet, or what `numpy.savez(file, keys=keys, vectors=vectors)` "
    "writes: as the part `file` of a form, or as the body. All may be compressed with gzip.",
    VECTORS_EXAMPLE,
    "application/x-ndjson",
)


@router.post("", include_in_schema=False)  # `curl -F file=@FILE` says POST
@router.put(
    "",
    operation_id="put_vectors",
    summary="Bring vectors of documents",
    responses=problems(
        CorpusNotFound,
        UploadTooLarge,
        UnsupportedUpload,
        NothingAccepted,
        UploadAborted,
        MalformedRequest,
        QuotaExceeded,
        StorageFull,
    ),
    openapi_extra=VECTORS_BODY,
)
async def put_vectors(
    corpus_id: CorpusId, request: Request, settings: ServiceSettings, choices: Annotated[VectorChoices, Query()]
) -> VectorsOut:
    """Give documents of the corpus vectors by their keys; the corpus gets one new version, and jobs keep theirs.

    All vectors of a corpus have the same length. A row that cannot be used, such as one whose key no document has, is
    reported with its line, and the others are stored all the same, unless `on_error=abort`. Null takes a vector away.
    """
    check_disk(settings)
    async with received(request, settings) as spooled:
        choices = with_form(choices, spooled)
        reading = await intake.read(partial(look_at, spooled, choices, settings, needs_text=False, needs_vector=True))
        vector_uploads.check_has_vectors(reading)
        report, spool = Report(), Spool(str(settings.uploads))
        with closing(spool.file):
            await vector_uploads.spooled(reading, spool, report)
            is_whole, quota = choices.on_error == "abort", StorageQuota.of(settings)
            work = partial(vector_uploads.put, database(request), corpus_id, spool, report, is_whole, quota)
            made, report = await intake.patiently(work)
    return told(made, report, reading.format)


@router.delete("", operation_id="delete_vectors", summary="Take away all vectors", responses=problems(CorpusNotFound))
def delete_vectors(corpus_id: CorpusId, request: Request) -> VectorsOut:
    """Take the vectors that documents have brought out of the versions to come; others may have another length then.

    Jobs keep the version that they were submitted over. Vectors that the service has made are not concerned.
    """
    return told(vector_uploads.remove_all(database(request), corpus_id), Report(), None)


def told(made: Put, report: Report, format: str | None) -> VectorsOut:
    """What became of vectors, as HTTP reports it."""
    return VectorsOut.model_validate(
        {
            "changed": made.n_changed,
            "removed": made.n_removed,
            "unchanged": made.n_unchanged,
            "rejected": report.rejected,
            "errors": [{"line": line, "reason": reason} for line, reason in report.errors],
            "length": made.length,
            "format": format,
            "version": made.version,
        }
    )
