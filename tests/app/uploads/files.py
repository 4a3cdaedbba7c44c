"""Files as somebody may upload them, and what is read from them."""

import datetime
import io
import zipfile
from typing import Any

import xlsxwriter

from app.core.errors import ServiceError
from app.uploads.columns import ReadOptions
from app.uploads.formats import Reading, look
from app.uploads.limits import ReadLimits
from app.uploads.rows import BadLine, Row

SMALL = ReadLimits(max_bytes=2**20, max_document_bytes=2**12, max_line_bytes=2**13)


def opened(
    data: bytes, name: str | None = None, content_type: str | None = None, limits: ReadLimits = SMALL, **options: Any
) -> Reading:
    """How a file will be read."""
    return look(io.BytesIO(data), name, content_type, ReadOptions(**options), limits)


def read(data: bytes, *arguments: Any, **options: Any) -> list[Row | BadLine]:
    """What is read from a file, the same each time."""
    reading = opened(data, *arguments, **options)
    found = list(reading.rows())
    assert list(reading.rows()) == found
    return found


def refusal(data: bytes, *arguments: Any, **options: Any) -> str:
    """Why a file is refused as a whole: the kind of refusal and its detail."""
    try:
        opened(data, *arguments, **options)
    except ServiceError as error:
        return f"{type(error).__name__}: {error}"
    raise AssertionError("the file was not refused")


def texts(found: list[Row | BadLine]) -> dict[int, str]:
    """Texts by the lines that they begin on."""
    return {row.line: row.text for row in found if isinstance(row, Row)}


def reasons(found: list[Row | BadLine]) -> dict[int, str]:
    """Reasons by the lines that cannot be used."""
    return {bad.line: bad.reason for bad in found if isinstance(bad, BadLine)}


def zip_of(files: dict[str, str | bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A ZIP with some files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def with_members_changed(data: bytes, ending: str, old: bytes, new: bytes) -> bytes:
    """A ZIP in which the files with an ending have other bytes."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    return zip_of({name: file.replace(old, new) if name.endswith(ending) else file for name, file in files.items()})


def workbook(**sheets: list[list[Any]]) -> bytes:
    """An XLSX with some sheets."""
    out = io.BytesIO()
    with xlsxwriter.Workbook(out) as book:
        dates = book.add_format({"num_format": "yyyy-mm-dd hh:mm"})
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for row, values in enumerate(rows):
                for column, value in enumerate(values):
                    if isinstance(value, datetime.datetime):
                        sheet.write_datetime(row, column, value, dates)
                    elif value is not None:
                        sheet.write(row, column, value)
    return out.getvalue()
