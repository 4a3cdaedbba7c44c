"""Exports: documents, categories and the trace as files to download."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from tempfile import SpooledTemporaryFile, TemporaryDirectory
from typing import Annotated, Any, BinaryIO, Literal, cast

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import StreamingResponse

from app.core import lifecycle
from app.core.errors import CorpusNotFound, JobNotFound, MalformedRequest, ResultsNotReady
from app.core.settings import Settings
from app.exports.delimited import CsvOptions, csv_pieces
from app.exports.documents import JobDocuments, answers_table, corpus_table, labels_table
from app.exports.errors import ExportTooLarge, FormatNotInstalled, ResultsReplaced
from app.exports.objects import doccano_pieces, label_studio_pieces, ndjson_pieces
from app.exports.parquet import check_installed, parquet_pieces
from app.exports.results import categories_table, trace_table
from app.exports.shapes import CSV, OBJECTS, PARQUET, XLSX, Shape
from app.exports.tables import Table
from app.exports.workbook import write_workbook
from app.http.answer_filters import AskedAnswers
from app.http.answer_pages import exported
from app.http.dependencies import CorpusId, JobId, Readers, ServiceSettings, problems
from app.http.document_filters import Fields
from app.http.files import sent
from app.http.routers.documents import Label, Labeled, chosen
from app.http.routers.results import find_concluded_job
from app.http.searches import indexing
from app.http.shown import Showing
from app.uploads.inflate import IN_MEMORY

router = APIRouter(prefix="/v1", tags=["exports"])

Tabular = Literal["csv", "xlsx", "ndjson", "parquet"]
Labeling = Literal["csv", "xlsx", "ndjson", "parquet", "label-studio", "doccano"]

NDJSON_TYPE, CSV_TYPE = "application/x-ndjson", "text/csv"
XLSX_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
PARQUET_TYPE = "application/vnd.apache.parquet"
TYPES = {
    "csv": CSV_TYPE,
    "xlsx": XLSX_TYPE,
    "ndjson": NDJSON_TYPE,
    "parquet": PARQUET_TYPE,
    "label-studio": "application/json",
    "doccano": NDJSON_TYPE,
}
ENDINGS = {"label-studio": "label-studio.json", "doccano": "doccano.jsonl"}
SHAPES: dict[str, Shape] = {"csv": CSV, "xlsx": XLSX, "parquet": PARQUET}
DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}

EXAMPLES = {
    CSV_TYPE: "key,text,label\r\npaper-1,Galaxies at high redshift,astronomy\r\n",
    NDJSON_TYPE: '{"key":"paper-1","text":"Galaxies at high redshift","label":"astronomy"}\n',
    XLSX_TYPE: "PK…",
    PARQUET_TYPE: "PAR1…",
    "application/json": [{"data": {"key": "paper-1", "text": "Galaxies at high redshift"}}],
}
BINARY = (XLSX_TYPE, PARQUET_TYPE)


def files(*types: str) -> dict[int | str, dict[str, Any]]:
    """The description of a download, for OpenAPI."""
    contents: dict[str, Any] = {}
    for name in types:
        schema = {"type": "string", **({"format": "binary"} if name in BINARY else {})}
        if name == "application/json":
            schema = {"type": "array", "items": {"type": "object"}}  # type: ignore[dict-item]
        contents[name] = {"schema": schema, "example": EXAMPLES[name]}
    return {200: {"description": "The file.", "content": contents}}


TABLES = (CSV_TYPE, NDJSON_TYPE, XLSX_TYPE, PARQUET_TYPE)


@dataclass(frozen=True)
class Writing:
    """How a client wants its file."""

    csv: CsvOptions
    is_said: list[str]  # options of CSV alone that were named


def writing(
    delimiter: Annotated[
        Literal["comma", "semicolon", "tab", "pipe", ",", ";", "|"] | None,
        Query(description="Of CSV, between columns; a comma by default."),
    ] = None,
    safe: Annotated[
        bool | None,
        Query(description="Of CSV: an apostrophe before texts that a spreadsheet takes for formulas; true by default."),
    ] = None,
    bom: Annotated[
        bool | None, Query(description="Of CSV: a byte order mark, by which Excel knows UTF-8; false by default.")
    ] = None,
) -> Writing:
    """What the parameters of a request say of its file."""
    options = CsvOptions(DELIMITERS.get(delimiter or ",", delimiter or ","), safe is not False, bool(bom))
    said = {"delimiter": delimiter, "safe": safe, "bom": bom}
    return Writing(options, [name for name, value in said.items() if value is not None])


Asked = Annotated[Writing, Depends(writing)]


@router.get(
    "/corpora/{corpus_id}/export",
    operation_id="export_corpus",
    summary="Export a corpus",
    response_class=Response,
    responses={**problems(CorpusNotFound, ExportTooLarge, FormatNotInstalled, MalformedRequest), **files(*TABLES)},
)
def export_corpus(
    corpus_id: CorpusId,
    readers: Readers,
    settings: ServiceSettings,
    asked: Asked,
    format: Annotated[Tabular, Query(description="Of the file.")] = "csv",
    label: Label = None,
    labeled: Labeled = None,
    field: Fields = [],  # noqa: B006 (FastAPI makes one for each request)
) -> Response:
    """Export the documents of a corpus as they are now, with texts, labels and fields.

    Uploaded again with the parameters in the header `Upload-Query`, the file changes nothing.
    """
    check_asked(format, asked)
    conditions = chosen(label, labeled, field)
    table = corpus_table(readers, corpus_id, conditions, SHAPES.get(format, OBJECTS))
    return download(table, format, asked, settings)


@router.get(
    "/jobs/{job_id}/documents/export",
    operation_id="export_documents",
    summary="Export the documents' categories",
    response_class=Response,
    responses={
        **problems(JobNotFound, ResultsNotReady, ResultsReplaced, ExportTooLarge, FormatNotInstalled, MalformedRequest),
        **files(*TABLES, "application/json"),
    },
)
def export_documents(
    job_id: JobId,
    readers: Readers,
    settings: ServiceSettings,
    asked: Asked,
    format: Annotated[Labeling, Query(description="Of the file.")] = "csv",
    as_: Annotated[
        Literal["answers", "labels"],
        Query(alias="as", description="With `labels`, a corpus to upload, in which each category is the label."),
    ] = "answers",
    include: Annotated[
        Literal["unlabeled", "all"], Query(description="With `all`, documents that bear a label, too.")
    ] = "unlabeled",
    *,
    showing: Showing,
    filters: AskedAnswers,
    request: Request,
) -> Response:
    """Export the category of each unlabeled document, with its text and fields, in the order of their upload.

    The filters are those of the list. A document with a label is of the category that the label names, and has no
    probability.
    """
    check_asked(format, asked)
    with readers.begin() as session:
        job = find_concluded_job(session, job_id)
        shown = showing.show(session, job)
        wanted = exported(session, job, shown, filters, indexing(request).wake, has_labeled=include == "all")
        documents = JobDocuments(readers, job, shown, wanted)
    if as_ == "labels" and format in ENDINGS:
        reason = f"as=labels means nothing with format={format}"
        raise MalformedRequest(reason, [{"where": "query.as", "reason": reason}])
    shape = SHAPES.get(format, OBJECTS)
    if as_ == "labels":
        return download(labels_table(documents, shape), format, asked, settings)
    table = answers_table(documents, shape)
    model = f"newfound {job_id} edition {job.edition}"
    return download(table, format, asked, settings, model)


@router.get(
    "/jobs/{job_id}/categories/export",
    operation_id="export_categories",
    summary="Export the categories",
    response_class=Response,
    responses={
        **problems(JobNotFound, ResultsNotReady, ExportTooLarge, FormatNotInstalled, MalformedRequest),
        **files(*TABLES),
    },
)
def export_categories(
    job_id: JobId,
    readers: Readers,
    settings: ServiceSettings,
    asked: Asked,
    format: Annotated[Tabular, Query(description="Of the file.")] = "csv",
    *,
    showing: Showing,
) -> Response:
    """Export the categories, known and new, with their sizes and words."""
    check_asked(format, asked)
    with readers.begin() as session:
        job = find_concluded_job(session, job_id)
        shown = showing.show(session, job, counted=True, portrayed=True)
        table = categories_table(job_id, shown.categories, shown.unchanged)
    return download(table, format, asked, settings)


@router.get(
    "/jobs/{job_id}/trace/export",
    operation_id="export_trace",
    summary="Export the trace",
    response_class=Response,
    responses={**problems(JobNotFound, ExportTooLarge, FormatNotInstalled, MalformedRequest), **files(*TABLES)},
)
def export_trace(
    job_id: JobId,
    readers: Readers,
    settings: ServiceSettings,
    asked: Asked,
    format: Annotated[Tabular, Query(description="Of the file.")] = "csv",
) -> Response:
    """Export the draws by chain and sweep, one row per sweep, burn-in included; also while the job runs."""
    check_asked(format, asked)
    check = partial(lifecycle.find_job, job_id=job_id)
    with readers.begin() as session:
        check(session)
    return download(trace_table(readers, job_id, check), format, asked, settings)


def check_asked(format: str, asked: Writing) -> None:
    """Raise MalformedRequest for an option that means nothing in this format, FormatNotInstalled for want of it."""
    if format != "csv" and asked.is_said:
        reason = f"{asked.is_said[0]} means nothing here: the format is {format}"
        raise MalformedRequest(reason, [{"where": f"query.{asked.is_said[0]}", "reason": reason}])
    if format == "parquet":
        check_installed()


def download(table: Table, format: str, asked: Writing, settings: Settings, model: str = "") -> Response:
    """The file as an answer, which is written while it is sent; a workbook is written before. Raises ExportTooLarge."""
    headers = {"Content-Disposition": f'attachment; filename="{table.name}.{ENDINGS.get(format, format)}"'}
    if table.upload:
        headers["Upload-Query"] = upload_query(table, format, asked)
    pieces = workbook(table, settings) if format == "xlsx" else PIECES[format](table, asked, model)
    charset = "; charset=utf-8; header=present" if format == "csv" else ""
    return StreamingResponse(pieces, headers=headers, media_type=TYPES[format] + charset)


PIECES: dict[str, Callable[[Table, Writing, str], Iterator[bytes]]] = {
    "csv": lambda table, asked, _: csv_pieces(table, asked.csv),
    "ndjson": lambda table, _, __: ndjson_pieces(table),
    "parquet": lambda table, _, __: parquet_pieces(table),
    "label-studio": lambda table, _, model: label_studio_pieces(table, model),
    "doccano": lambda table, _, __: doccano_pieces(table),
}


def upload_query(table: Table, format: str, asked: Writing) -> str:
    """The parameters under which the file is uploaded again."""
    if format == "label-studio":
        return f"format=json&fields=data&{table.upload_query}"
    if format == "doccano":
        return "format=ndjson&key=id&text=text&label=category&vector="
    said = f"format={format}&{table.upload_query}"
    if format == "csv":
        said += "&safe=true" if asked.csv.is_safe else ""
        said += "".join(f"&delimiter={name}" for name, sign in DELIMITERS.items() if sign == asked.csv.delimiter)
    return said


def workbook(table: Table, settings: Settings) -> Iterator[bytes]:
    """A workbook, which is complete before the first of it is sent. Raises ExportTooLarge."""
    folder = str(settings.uploads)
    temporary = SpooledTemporaryFile(max_size=IN_MEMORY, dir=folder)  # noqa: SIM115 (closed when it was sent)
    file = cast(BinaryIO, temporary)
    try:
        with TemporaryDirectory(dir=folder) as parts:
            write_workbook(table, file, parts)
    except BaseException:
        temporary.close()
        raise
    temporary.seek(0)
    return sent(temporary)
