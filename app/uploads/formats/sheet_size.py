"""How much memory a workbook will take, measured from its XML before the library reads it."""

import re
from zipfile import ZipFile

from app.core.errors import MalformedRequest, UploadTooLarge
from app.uploads.archives import Inflation
from app.uploads.inflate import larger_than
from app.uploads.limits import ReadLimits

TAG = re.compile(rb"<(?:[\w.-]+:)?(row|c|v|si|mergeCell)\b([^>]*)>([^<]*)")
ROW = re.compile(rb"""\br\s*=\s*["']\s*(\d+)""")
CELL = re.compile(rb"""\br\s*=\s*["']\s*([A-Za-z]+)(\d+)""")
IS_SHARED = re.compile(rb"""\bt\s*=\s*["']s["']""")
LONGEST_TAG = 2**20  # bytes
CELLS_OF_A_MERGED_ONE = 10  # whose memory the place of a merged cell takes
STRINGS = "sharedstrings.xml"


def check_workbook(archive: ZipFile, limits: ReadLimits) -> None:
    """Raise UploadTooLarge for a workbook that would become too large in memory.

    The library holds the whole rectangle from a sheet's first cell to its last, also if nothing is in between, and a
    copy of a string for each cell that shares it.
    """
    inflation = Inflation(archive, limits)
    files = [info for info in archive.filelist if not info.filename.endswith("/")]
    lengths: list[int] = []
    n_cells = 0
    for info in sorted(files, key=lambda info: not info.filename.lower().endswith(STRINGS)):
        sheet = SheetSize(limits, lengths)
        for data in inflation.pieces(info):
            sheet.read(data)
        n_cells += sheet.n_rows * sheet.n_columns
        if n_cells > limits.max_cells:
            raise UploadTooLarge(f"the sheets have more than {limits.max_cells} cells (NEWFOUND_MAX_CELLS) together")
        if info.filename.lower().endswith(STRINGS):
            lengths += sheet.string_lengths()


class SheetSize:
    """Measures the rectangle of a sheet's cells, and the strings in them, as its XML goes by."""

    def __init__(self, limits: ReadLimits, lengths: list[int]) -> None:
        self.limits = limits
        self.lengths = lengths  # of the shared strings
        self.row = self.column = self.n_rows = self.n_columns = 0
        self.n_bytes = self.n_merged = 0
        self.is_shared = False
        self.rest = b""
        self.at = 0  # where the rest begins
        self.strings: list[int] = []  # where each begins

    def read(self, data: bytes) -> None:
        """Read a piece of the XML. Raises UploadTooLarge, MalformedRequest."""
        text = self.rest + data
        end = max(text.rfind(b"<"), 0)
        if len(text) - end > LONGEST_TAG:
            if b">" not in text[end:] and text[end : end + 1] == b"<":
                raise MalformedRequest(f"the workbook cannot be read: a tag in it is longer than {LONGEST_TAG} bytes")
            end = len(text)
        for found in TAG.finditer(text, 0, end):
            self.take(found)
        self.rest = text[end:]
        self.at += end
        if self.n_rows * self.n_columns > self.limits.max_cells:
            raise UploadTooLarge(
                f"a sheet has {self.n_rows} rows and {self.n_columns} columns, more than {self.limits.max_cells} "
                "cells (NEWFOUND_MAX_CELLS); upload it as CSV, or delete what stands far from the rest"
            )
        if CELLS_OF_A_MERGED_ONE * self.n_merged > self.limits.max_cells:
            raise UploadTooLarge(
                f"a sheet has more than {self.limits.max_cells // CELLS_OF_A_MERGED_ONE} merged cells, a tenth of "
                "NEWFOUND_MAX_CELLS; upload it as CSV"
            )
        if self.n_bytes > self.limits.max_bytes:
            raise UploadTooLarge(larger_than(self.limits))

    def take(self, found: re.Match[bytes]) -> None:
        """Take a tag into account; a row or a cell without a place comes after the one before."""
        tag, attributes, content = found.groups()
        if tag == b"v":
            if self.is_shared and content.isdigit() and int(content[:9]) < len(self.lengths):
                self.n_bytes += self.lengths[int(content[:9])]
        elif tag == b"mergeCell":
            self.n_merged += 1
        elif tag == b"si":
            self.strings.append(self.at + found.start())
        elif tag == b"row":
            place = ROW.search(attributes)
            self.row = int(place[1][:9]) if place else self.row + 1
            self.column = 0
        else:
            place = CELL.search(attributes)
            self.column = column_number(place[1]) if place else self.column + 1
            self.row = int(place[2][:9]) if place else self.row
            self.is_shared = IS_SHARED.search(attributes) is not None
        self.n_rows = max(self.n_rows, self.row)
        self.n_columns = max(self.n_columns, self.column)

    def string_lengths(self) -> list[int]:
        """About how many bytes each shared string has."""
        ends = [*self.strings[1:], self.at + len(self.rest)]
        return [end - start for start, end in zip(self.strings, ends, strict=False)]


def column_number(letters: bytes) -> int:
    """The number of a column by its letters: 1 for A, 27 for AA."""
    number = 0
    for letter in letters[:6].upper():
        number = 26 * number + letter - 64
    return number
