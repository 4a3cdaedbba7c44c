"""From a file to its rows: look at it once, refuse it as a whole or say how it will be read, then read it."""

import weakref
from itertools import islice
from pathlib import PurePosixPath
from typing import BinaryIO

from python_multipart.multipart import parse_options_header

from app.core.errors import MalformedRequest, UnsupportedUpload
from app.uploads.archives import extracted, opened
from app.uploads.charset import codec_of, source_of
from app.uploads.columns import ReadOptions, looks_like_header
from app.uploads.formats.delimited import SAMPLE, DelimitedReading, layout_of
from app.uploads.formats.detection import NAMES, check_is_rows, check_readable, declared_format, json_kind
from app.uploads.formats.json_items import JsonReading, check_is_json
from app.uploads.formats.ndjson import NdjsonReading
from app.uploads.formats.npz import NpzReading, is_npz
from app.uploads.formats.parquet import ParquetReading
from app.uploads.formats.plain_text import PlainTextReading
from app.uploads.formats.reading import Reading
from app.uploads.formats.records import Records
from app.uploads.formats.spreadsheet import SheetReading
from app.uploads.formats.svmlight import SvmlightReading, looks_like_svmlight
from app.uploads.formats.zip_of_texts import ZipReading, members_of
from app.uploads.inflate import TemporaryFiles, inflated
from app.uploads.limits import ReadLimits
from app.uploads.rows import shown
from app.uploads.text_lines import Source

__all__ = ["Reading", "look"]
BEGINNING = 2**16  # characters that are looked at
DELIMITED = {"csv", "tsv"}
OF_COLUMNS = {"ndjson", "json", "xlsx", "parquet"}
FORMATS_OF_OPTIONS = {
    "charset": DELIMITED | {"ndjson", "json", "text", "svmlight", "zip"},
    "delimiter": DELIMITED,
    "has_header": DELIMITED | {"xlsx"},
    "sheet": {"xlsx"},
    "counts": DELIMITED | OF_COLUMNS,
    "fields": DELIMITED | OF_COLUMNS,
    "json_column": DELIMITED | OF_COLUMNS,
    "safe": DELIMITED,
    "vector": DELIMITED | OF_COLUMNS,
}
DOCUMENTS = (  # which folder and which file a ZIP has that is one
    ("word/", ("[Content_Types].xml",), "a Word document"),
    ("ppt/", ("[Content_Types].xml",), "a presentation"),
    ("META-INF/", ("mimetype",), "an OpenDocument or an e-book"),
    ("Index/", ("Index/Document.iwa",), "a document of Apple's Numbers, Pages or Keynote"),
)
TABLES = {"ndjson", "json", "csv", "tsv", "xlsx", "parquet", "svmlight"}  # formats of many documents a file


def look(
    file: BinaryIO,
    name: str | None,
    content_type: str | None,
    options: ReadOptions,
    limits: ReadLimits,
    folder: str | None = None,
) -> Reading:
    """How a file will be read. Raises MalformedRequest, UnsupportedUpload, UploadTooLarge.

    `name` is the file's, `content_type` what its sender called it; both may be missing or wrong. What is compressed
    goes into a file of its own in the folder, which closes with the reading.
    """
    with TemporaryFiles(folder) as files:
        reading = reading_of(inflated(file, limits, files), name, content_type, options, limits, files)
        check_options(reading, options)
        weakref.finalize(reading, files.pop_all().close)
    return reading


def reading_of(
    file: BinaryIO,
    name: str | None,
    content_type: str | None,
    options: ReadOptions,
    limits: ReadLimits,
    files: TemporaryFiles,
) -> Reading:
    """How a file that is not compressed will be read."""
    check_readable(file)
    file.seek(0)
    beginning = file.read(8)
    if beginning.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return reading_of_zip(file, options, limits, files)
    if beginning.startswith(b"PAR1"):
        return ParquetReading(file, options, limits)
    declared = declared_format(name, content_type, options)
    if declared in ("zip", "xlsx", "parquet"):
        raise MalformedRequest(f"the file is said to be {declared.upper()}, but does not begin as one")
    source = source_of(file, charset_of(content_type, options))
    return reading_of_text(source, declared, options, limits)


def check_options(reading: Reading, options: ReadOptions) -> None:
    """Raise MalformedRequest for an option that means nothing in this format: nothing is ignored in silence."""
    for option, formats in FORMATS_OF_OPTIONS.items():
        if getattr(options, option) not in (None, ()) and reading.format not in formats:
            raise MalformedRequest(f"{option.removeprefix('has_')} means nothing here: the file is {reading.format}")


def charset_of(content_type: str | None, options: ReadOptions) -> str | None:
    """The charset that was declared. Raises MalformedRequest."""
    found = parse_options_header(content_type or "")[1].get(b"charset")
    declared = found.decode("ascii", "replace") if found else None
    if options.charset and declared and codec_of(options.charset) != codec_of(declared):
        raise MalformedRequest(f"the charset is {options.charset}, but {declared} in the content type: which is it?")
    return options.charset or declared


def reading_of_text(source: Source, declared: str | None, options: ReadOptions, limits: ReadLimits) -> Reading:
    """How a text file will be read."""
    beginning = source.beginning(BEGINNING)
    if not beginning.strip():
        raise MalformedRequest("the file is empty")
    check_is_rows(beginning)
    found = text_format(source, beginning, declared, options)
    if found == "ndjson":
        return NdjsonReading(source, options, limits)
    if found == "json":
        check_is_json(source)
        return JsonReading(source, options, limits)
    if found == "svmlight":
        return SvmlightReading(source, options, limits)
    if found == "text":
        return PlainTextReading(source, options, limits)
    return DelimitedReading(source, options, limits, found)


def text_format(source: Source, beginning: str, declared: str | None, options: ReadOptions) -> str:
    """The format of a text file: as declared, but objects may stand in a file of JSON in several ways."""
    if declared in ("ndjson", "json"):
        return json_kind(beginning, len(beginning) < BEGINNING) or declared
    if declared in DELIMITED and options.format is None and beginning.lstrip()[:1] == "{":  # a program's mistake
        return json_kind(beginning, len(beginning) < BEGINNING) or declared
    if declared not in (None, "text") or options.format is not None:
        return declared or "text"
    kind = json_kind(beginning, len(beginning) < BEGINNING)
    if kind is not None:
        return kind
    if looks_like_svmlight(beginning):
        return "svmlight"
    if looks_like_table(source, options, is_sure=declared == "text"):
        return "csv"
    return "text"


def looks_like_table(source: Source, options: ReadOptions, is_sure: bool) -> bool:
    """Whether the first lines are a table; of a file that is called a text, whether its header says so."""
    if options.delimiter is not None or options.has_header is not None or options.text:
        return True
    layout = layout_of(source, options, "csv")
    if layout.skipped_lines:
        return True
    records = [record[1] for record in islice(Records(source, layout.delimiter, BEGINNING), SAMPLE)]
    rows = [row for row in records if isinstance(row, list) and any(map(str.strip, row))]
    if not rows or len(rows[0]) == 1:
        return bool(rows) and len(rows) > 1 and rows[0][0].strip().lower() == "text"
    if looks_like_header(rows[0], options):
        return True
    return not is_sure and len(rows) > 1 and all(len(row) == len(rows[0]) for row in rows)


def reading_of_zip(file: BinaryIO, options: ReadOptions, limits: ReadLimits, files: TemporaryFiles) -> Reading:
    """How an archive will be read: a workbook, text files, or the one table in it."""
    archive = opened(file, limits)
    files.callback(archive.close)
    names = {info.filename for info in archive.filelist[:1000]}
    if any(name.startswith("xl/") for name in names) and "[Content_Types].xml" in names:
        return SheetReading(archive, options, limits, files)
    if is_npz(names):
        if not options.needs_vector:
            raise UnsupportedUpload("the file holds keys and vectors: PUT it to /v1/corpora/{id}/vectors")
        return NpzReading(archive, limits, files)
    for beginning, marks, kind in DOCUMENTS:
        if any(name.startswith(beginning) for name in names) and not names.isdisjoint(marks):
            raise UnsupportedUpload(f"the file is {kind}: save a table as XLSX or CSV, a text as plain text")
    members = members_of(archive)
    tables = [info for info in members if NAMES.get(PurePosixPath(info.filename).suffix.lower()[1:]) in TABLES]
    if not tables:
        return ZipReading(archive, options, limits)
    if len(members) > 1:
        raise UnsupportedUpload(
            f"the ZIP holds {shown(tables[0].filename)} and other files: upload tables one after the other"
        )
    [info] = tables
    return reading_of(extracted(archive, info, limits, files.new()), info.filename, None, options, limits, files)
