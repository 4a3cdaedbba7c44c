"""Which format a file has: as declared, or by its name, or by how it begins."""

import json
import re
from typing import BinaryIO

from app.core.errors import MalformedRequest, UnsupportedUpload
from app.uploads.column_names import COUNTS, normal
from app.uploads.columns import ReadOptions
from app.uploads.rows import shown

NAMES = {
    "ndjson": "ndjson",
    "jsonl": "ndjson",
    "jsonlines": "ndjson",
    "json": "json",
    "csv": "csv",
    "tsv": "tsv",
    "tab": "tsv",
    "text": "text",
    "txt": "text",
    "zip": "zip",
    "xlsx": "xlsx",
    "xlsm": "xlsx",
    "parquet": "parquet",
    "pq": "parquet",
    "svmlight": "svmlight",
    "libsvm": "svmlight",
    "svm": "svmlight",
}
CONTENT_TYPES = {
    "application/x-ndjson": "ndjson",
    "application/ndjson": "ndjson",
    "application/jsonl": "ndjson",
    "application/x-jsonlines": "ndjson",
    "application/jsonlines": "ndjson",
    "application/json-lines": "ndjson",
    "application/json": "json",
    "text/json": "json",
    "text/csv": "csv",
    "application/csv": "csv",
    "text/tab-separated-values": "tsv",
    "application/zip": "zip",
    "application/x-zip-compressed": "zip",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "application/vnd.apache.parquet": "parquet",
    "application/x-parquet": "parquet",
    "text/x-svmlight": "svmlight",
    "text/plain": "text",
}
# What clients say when they know nothing; browsers on Windows call a CSV file Excel's.
GENERIC = {
    "",
    "application/octet-stream",
    "binary/octet-stream",
    "application/x-www-form-urlencoded",
    "application/vnd.ms-excel",
    "application/gzip",
    "application/x-gzip",
    "application/x-svmlight",
}
FORMATS = ("ndjson", "json", "csv", "tsv", "text", "zip", "xlsx", "parquet", "svmlight")
NUMPY_ADVICE = "write bags of words as NDJSON with `counts`, and vectors by numpy.savez(file, keys=..., vectors=...)"
BINARIES = (
    (b"%PDF-", "a PDF", "extract its text first"),
    (b"\x89PNG", "an image", ""),
    (b"\xff\xd8\xff", "an image", ""),
    (b"GIF8", "an image", ""),
    (b"RIFF", "an image or a sound", ""),
    (b"BZh", "compressed by bzip2", "compress it by gzip, or not at all"),
    (b"\xfd7zXZ\0", "compressed by xz", "compress it by gzip, or not at all"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd", "compress it by gzip, or not at all"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "pack it as a ZIP"),
    (b"Rar!", "a RAR archive", "pack it as a ZIP"),
    (b"SQLite format 3\0", "a SQLite database", "export the table as CSV"),
    (
        b"\x93NUMPY",
        "an array of NumPy",
        NUMPY_ADVICE,
    ),
    (b"\x89HDF", "an HDF5 file", "write it as Parquet or CSV"),
    (b"ARROW1", "an Arrow file", "write it as Parquet"),
    (b"Obj\x01", "an Avro file", "write it as Parquet or NDJSON"),
    (b"\x80\x04\x95", "a pickle of Python", "write it as NDJSON, CSV or Parquet"),
    (b"\x80\x05\x95", "a pickle of Python", "write it as NDJSON, CSV or Parquet"),
    (b"\x7fELF", "a program", ""),
    (b"{\\rtf", "an RTF document", "save it as plain text"),
)
BY_COLUMNS = re.compile(r'\s*\{\s*"((?:[^"\\]|\\.)*)"\s*:\s*\{\s*"0"\s*:')
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
HEADER = re.compile(rb"^([\w-]{1,80}):", re.MULTILINE)
MAIL_HEAD = re.compile(rb"([\w-]{1,80}:[^\r\n]*\r?\n([ \t][^\r\n]*\r?\n)*)+\r?\n")
HTML = re.compile(rb"\s*(<!doctype html|<html|<head|<body)", re.IGNORECASE)


def declared_format(name: str | None, content_type: str | None, options: ReadOptions) -> str | None:
    """The format that somebody said a file has; None if nobody did. Raises UnsupportedUpload.

    What is said in the request's address was written by a person, and a content type often by a program.
    """
    if options.format is not None:
        found = NAMES.get(options.format.strip().lower().lstrip("."))
        if found is None:
            raise UnsupportedUpload(f"the format {shown(options.format)!r} is not one of {', '.join(FORMATS)}")
        return found
    kind = (content_type or "").partition(";")[0].strip().lower()
    if kind not in GENERIC and kind not in CONTENT_TYPES:
        raise UnsupportedUpload(
            f"the content type {shown(kind)!r} is not one of {', '.join(CONTENT_TYPES)}; "
            "application/octet-stream leaves it to the file's content"
        )
    by_type = CONTENT_TYPES.get(kind)
    if by_type is not None and by_type != "text":
        return by_type
    stem, _, ending = (name or "").strip().lower().rpartition(".")
    if ending == "gz":
        ending = stem.rpartition(".")[2]
    return NAMES.get(ending, by_type)


def kind_of_binary(beginning: bytes) -> str | None:
    """What a file recognizably is, if it is nothing that could hold rows or text; None otherwise."""
    found = next((kind for mark, kind, _ in BINARIES if beginning.startswith(mark)), None)
    if found is None and beginning.startswith(OLE):
        return "an old Office document"
    return "a ZIP" if beginning.startswith(b"PK\x03\x04") else found


def check_readable(file: BinaryIO) -> None:
    """Raise UnsupportedUpload for a file that is recognizably something else, and say what to do."""
    file.seek(0)
    beginning = file.read(2**16)
    for mark, kind, advice in BINARIES:
        if beginning.startswith(mark):
            raise UnsupportedUpload(f"the file is {kind}" + (f": {advice}" if advice else ", and holds no rows"))
    if beginning.startswith(OLE):
        if ENCRYPTED in beginning or ENCRYPTED in tail(file):
            raise UnsupportedUpload("the workbook is encrypted: save it without a password")
        raise UnsupportedUpload(
            "the file is an old Office document: save a workbook as XLSX or CSV, a text as plain text"
        )
    if HTML.match(beginning.removeprefix(b"\xef\xbb\xbf")):
        raise UnsupportedUpload("the file is a web page (HTML): upload its table as CSV, or pages as a ZIP of files")
    if beginning.removeprefix(b"\xef\xbb\xbf").lstrip()[:5] == b"<?xml":
        raise UnsupportedUpload("the file is XML: convert it into CSV or NDJSON")
    if beginning[257:262] == b"ustar":
        raise UnsupportedUpload("the file is a tar archive: pack it as a ZIP")
    if re.match(rb"From \S+@\S+ .*\r?\n[\w-]+:", beginning):
        raise UnsupportedUpload("the file is a mailbox (mbox): upload its mails as a ZIP of .eml files")
    head = MAIL_HEAD.match(beginning)
    if head is not None and {b"from", b"subject"} <= {name.lower() for name in HEADER.findall(head[0])}:
        raise UnsupportedUpload("the file is a mail: upload mails as a ZIP of .eml files, in a folder for each label")


def tail(file: BinaryIO) -> bytes:
    """The last bytes of a file."""
    size = file.seek(0, 2)
    file.seek(max(0, size - 2**16))
    return file.read()


def check_is_rows(beginning: str) -> None:
    """Raise MalformedRequest for a table that pandas has written by its columns."""
    found = BY_COLUMNS.match(beginning)
    if found and normal(found[1]) != COUNTS and "\n" not in beginning.strip():
        raise MalformedRequest(
            "the file is one object with an object for each column, as pandas writes a table by default: write it by "
            "to_json(..., orient='records', lines=True)"
        )


def json_kind(beginning: str, is_all: bool) -> str | None:
    """Whether objects stand one a line ("ndjson") or otherwise ("json"); None if the text is not like JSON."""
    text = beginning.lstrip()
    if re.match(r"\[\s*([\[{\]\"]|$)", text):
        return "json"
    if not re.match(r'\{\s*["}]', text):
        return None
    lines = [line for line in text.split("\n") if line.strip()]
    first = parsed(lines[0])
    if isinstance(first, dict):
        lone = is_all and len(lines) == 1 and len(first) < 20
        return "json" if lone and not has_text(first) and holds_objects(first) else "ndjson"
    if re.match(r'\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\[\s*[{\]]', text):
        return "json"
    whole = lines[1:] if is_all else lines[1:-1]
    if any(isinstance(parsed(line), dict) for line in whole[:20]):
        return "ndjson"
    return "json" if is_open(lines[0]) or (re.search(r"\}\s*\{", lines[0]) and starts_with_object(text)) else "ndjson"


def parsed(line: str) -> object:
    """The JSON in a line; None if it is none."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def starts_with_object(text: str) -> bool:
    """Whether a whole object stands at the beginning, whatever comes after it."""
    try:
        return isinstance(json.JSONDecoder().raw_decode(text)[0], dict)
    except (ValueError, RecursionError):
        return False


def has_text(fields: dict[str, object]) -> bool:
    """Whether an object is a document itself."""
    return any(isinstance(value, str) and name.strip().lower() == "text" for name, value in fields.items())


def holds_objects(fields: dict[str, object]) -> bool:
    """Whether a member of an object is an array of objects."""
    return any(isinstance(value, list) and value and isinstance(value[0], dict) for value in fields.values())


def is_open(line: str) -> bool:
    """Whether a line ends as a part of a larger piece of JSON does."""
    return line.rstrip().endswith(("{", "[", ",", ":"))
