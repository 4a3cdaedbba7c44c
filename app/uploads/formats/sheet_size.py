"""How much memory a workbook will take, measured from its XML before the library reads it.

The library holds the whole rectangle from a sheet's first cell to its last, also if nothing is in between, and a copy
of a string for each cell that shares it. A process whose memory does not suffice for that is killed, so nothing may be
read that was not measured: the XML is read by a parser, not by patterns, and what was measured is packed into an
archive of our own, since two programs may find different files in one ZIP.
"""

from typing import BinaryIO
from xml.parsers.expat import ExpatError, ParserCreate
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from app.core.errors import MalformedRequest, UploadTooLarge
from app.uploads.archives import Inflation
from app.uploads.inflate import larger_than
from app.uploads.limits import ReadLimits
from app.uploads.rows import shown

LONGEST_TAG = 2**20  # bytes
DEEPEST = 256  # tags in tags
CELLS_OF_A_MERGED_ONE = 10  # whose memory the place of a merged cell takes
BYTES_A_CELL = 64  # that all texts may have together, for each cell that a workbook may have
READ = (".xml", ".rels")
UNREAD = ("docprops/", "customxml/")
STRINGS = "xl/sharedstrings.xml"
LARGE = 2**31  # bytes of a file in a ZIP that says so in advance


def measured(archive: ZipFile, limits: ReadLimits, file: BinaryIO) -> BinaryIO:
    """A workbook's files that the library reads, packed anew. Raises MalformedRequest, UploadTooLarge."""
    inflation = Inflation(archive, limits)
    files = files_of(archive)
    lengths: list[int] = []
    n_cells = n_bytes = 0
    with ZipFile(file, "w", ZIP_DEFLATED, compresslevel=1) as packed:
        for name in sorted(files, key=lambda name: name != STRINGS):
            sheet = SheetSize(files[name].filename, limits, lengths, n_bytes)
            large = limits.max_bytes >= LARGE
            with packed.open(files[name].filename, "w", force_zip64=large) as copy:
                for data in inflation.pieces(files[name]):
                    sheet.read(data)
                    copy.write(data)
            sheet.end()
            n_cells += sheet.n_rows * sheet.n_columns
            n_bytes = sheet.n_bytes
            if n_cells > limits.max_cells:
                reason = f"the sheets have more than {limits.max_cells} cells (NEWFOUND_MAX_CELLS) together"
                raise UploadTooLarge(reason)
            if name == STRINGS:
                lengths += sheet.string_lengths()
    return file


def files_of(archive: ZipFile) -> dict[str, ZipInfo]:
    """The files that the library may read, by their names as it compares them. Raises MalformedRequest."""
    found: dict[str, ZipInfo] = {}
    for info in archive.filelist:
        name = info.filename.replace("\\", "/").lower()
        if name.endswith(READ) and not name.startswith(UNREAD):
            if name in found:
                raise MalformedRequest(f"the workbook is damaged: it has two files called {shown(info.filename)}")
            found[name] = info
    return found


class SheetSize:
    """Measures the rectangle of a sheet's cells, and the strings in them, as its XML goes by."""

    def __init__(self, name: str, limits: ReadLimits, lengths: list[int], n_bytes: int = 0) -> None:
        self.name = name
        self.limits = limits
        self.lengths = lengths  # of the shared strings
        self.row = self.column = self.n_rows = self.n_columns = 0
        self.n_bytes = n_bytes  # of texts, with those of the sheets before
        self.n_merged = 0
        self.open: list[str] = []  # tags
        self.in_sheet = self.is_shared = False
        self.value = ""  # that is read
        self.strings: list[int] = []  # where each begins
        self.n_read = 0
        # Whatever the file says of its encoding, the library takes it for UTF-8.
        self.parser = ParserCreate("utf-8")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.begin
        self.parser.EndElementHandler = self.finish
        self.parser.CharacterDataHandler = self.take
        self.parser.StartDoctypeDeclHandler = self.refuse_doctype

    def read(self, data: bytes) -> None:
        """Read a piece of the XML. Raises UploadTooLarge, MalformedRequest."""
        self.n_read += len(data)
        self.parse(data)
        if self.n_read - self.parser.CurrentByteIndex > LONGEST_TAG:
            raise MalformedRequest(f"the workbook cannot be read: a tag in it is longer than {LONGEST_TAG} bytes")
        self.check()

    def end(self) -> None:
        """The XML has come to its end. Raises UploadTooLarge, MalformedRequest."""
        self.parse(b"", True)
        self.check()

    def parse(self, data: bytes, is_last: bool = False) -> None:
        """Let the parser read a piece. Raises MalformedRequest."""
        try:
            self.parser.Parse(data, is_last)
        except ExpatError as error:
            raise MalformedRequest(f"the workbook cannot be read: {shown(self.name)} is no XML: {error}") from error

    def check(self) -> None:
        """Raise UploadTooLarge for what would be too large in memory."""
        limits = self.limits
        if self.n_rows * self.n_columns > limits.max_cells:
            raise UploadTooLarge(
                f"a sheet has {self.n_rows} rows and {self.n_columns} columns, more than {limits.max_cells} "
                "cells (NEWFOUND_MAX_CELLS); upload it as CSV, or delete what stands far from the rest"
            )
        if CELLS_OF_A_MERGED_ONE * self.n_merged > limits.max_cells:
            raise UploadTooLarge(
                f"a sheet has more than {limits.max_cells // CELLS_OF_A_MERGED_ONE} merged cells, a tenth of "
                "NEWFOUND_MAX_CELLS; upload it as CSV"
            )
        if self.n_bytes > limits.max_bytes:
            raise UploadTooLarge(larger_than(limits))
        if self.n_bytes > max(BYTES_A_CELL * limits.max_cells, LONGEST_TAG):
            raise UploadTooLarge(
                f"the texts of the workbook have more than {BYTES_A_CELL * limits.max_cells} bytes together, "
                f"{BYTES_A_CELL} for each of NEWFOUND_MAX_CELLS; upload it as CSV"
            )

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        """A tag opens. A row or a cell without a place comes after the one before. Raises MalformedRequest."""
        tag = name.rpartition(":")[2]
        self.value = ""
        if tag == "c" and self.in_sheet:
            self.check_parent("c", "row")
            letters, row = place_of(attributes.get("r", ""))
            self.column = column_number(letters) if letters else self.column + 1
            self.row = row or self.row
            self.n_columns = max(self.n_columns, self.column)
            self.n_rows = max(self.n_rows, self.row)
            self.is_shared = attributes.get("t") == "s"
        elif tag == "row" and self.in_sheet:
            self.check_parent("row", "sheetData")
            self.row = place_of(attributes.get("r", ""))[1] or self.row + 1
            self.column = 0
            self.n_rows = max(self.n_rows, self.row)
        elif tag == "sheetData":
            self.in_sheet = True
        elif tag == "mergeCell":
            self.n_merged += 1
        elif tag == "si":
            self.strings.append(self.parser.CurrentByteIndex)
        self.open.append(tag)
        if len(self.open) > DEEPEST:
            raise MalformedRequest(f"the workbook cannot be read: more than {DEEPEST} tags in tags")

    def check_parent(self, tag: str, parent: str) -> None:
        """Raise MalformedRequest for a tag in another one than it belongs into: who counts them might be misled."""
        if self.open[-1] != parent:
            raise MalformedRequest(f"the workbook cannot be read: <{tag}> in <{shown(self.open[-1])}>")

    def finish(self, _: str) -> None:
        """A tag closes."""
        tag = self.open.pop()
        if tag == "v" and self.is_shared:
            digits = self.value.strip()
            if digits.isdecimal() and int(digits[:9]) < len(self.lengths):
                self.n_bytes += self.lengths[int(digits[:9])]
        elif tag == "sheetData":
            self.in_sheet = False

    def take(self, text: str) -> None:
        """Some text."""
        self.n_bytes += len(text)
        self.value = (self.value + text)[:10]

    def refuse_doctype(self, *_: object) -> None:
        """Raise MalformedRequest: no program that writes workbooks declares entities."""
        raise MalformedRequest("the workbook cannot be read: its XML declares a document type")

    def string_lengths(self) -> list[int]:
        """About how many bytes each shared string has."""
        ends = [*self.strings[1:], self.n_read]
        return [end - start for start, end in zip(self.strings, ends, strict=False)]


def place_of(reference: str) -> tuple[str, int]:
    """The letters and the number of a place such as B12, if it has any."""
    letters = reference.strip().rstrip("0123456789")
    digits = reference.strip()[len(letters) :]
    return letters[:10], int(digits[:9]) if digits else 0


def column_number(letters: str) -> int:
    """The number of a column by its letters: 1 for A, 27 for AA."""
    number = 0
    for letter in letters[:6].upper():
        number = 26 * number + ord(letter) - 64
    return max(number, 1)
