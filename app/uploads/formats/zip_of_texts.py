"""A ZIP of text files: each is a document, and its folder the label."""

import io
from collections.abc import Iterator
from itertools import takewhile
from typing import Any
from zipfile import ZipFile, ZipInfo

from app.core.errors import MalformedRequest
from app.uploads.archives import Inflation
from app.uploads.charset import source_of
from app.uploads.columns import ReadOptions
from app.uploads.formats.detection import kind_of_binary
from app.uploads.formats.reading import Reading
from app.uploads.limits import ReadLimits
from app.uploads.mails import mail_of
from app.uploads.rows import BadLine, BadRow, Row, RowBuilder, shown

UNLABELED = ("", "unlabeled", "unlabelled")
MAIL = ".eml"
IN_UTF_8 = 0x800  # the mark of a name that says it is
SKIPPED_FOLDERS = {"__macosx"}
SKIPPED_FILES = {"thumbs.db", "desktop.ini"}


class ZipReading(Reading):
    """An archive of text files."""

    format = "zip"

    def __init__(self, archive: ZipFile, options: ReadOptions, limits: ReadLimits) -> None:
        """Check every file's encoding. Raises MalformedRequest, UploadTooLarge."""
        super().__init__()
        named = [*options.text, *filter(None, (options.label, options.key))]
        if named:
            raise MalformedRequest(f"a ZIP of text files has no column {named[0]}: its folders are the labels")
        self.archive = archive
        self.limits = limits
        self.declared = options.charset
        self.members = members_of(archive)
        if not self.members:
            raise MalformedRequest("the ZIP has no file in it that could be a document")
        self.has_labels = options.label is None
        self.has_keys = options.key is None
        common = common_folders(self.members)
        self.n_common = len(common)
        if common and all(len(parts_of(info)) == self.n_common + 1 for info in self.members):
            self.warnings.append(
                f"All files are in the folder {'/'.join(common)!r}, so it was not taken as a label; "
                "to label documents, put them into folders called as the labels, next to each other."
            )
        self.charset = options.charset or "utf-8"
        has_mails = any(info.filename.lower().endswith(MAIL) for info in self.members)
        self.columns = {
            "text": ["content"],
            "label": "folder" if self.has_labels else None,
            "key": "path" if self.has_keys else None,
            "fields": ["from", "to", "date"] if has_mails else [],
        }
        self.builder = RowBuilder(limits, options.unlabeled)
        for _ in self.texts():
            pass

    def rows(self) -> Iterator[Row | BadLine]:
        """A row for each file."""
        for number, parts, found in self.texts():
            path = "/".join(parts)
            try:
                if isinstance(found, BadRow):
                    raise found
                if ".." in parts:
                    raise BadRow("the path climbs out of the archive with `..`, so that no folder in it is a label")
                text, fields = found
                label = label_of(parts, self.n_common) if self.has_labels else None
                yield self.builder.row(number, (text,), path if self.has_keys else None, label, fields)
            except BadRow as error:
                yield BadLine(number, f"{shown(path)}: {error}")

    def texts(self) -> Iterator[tuple[int, list[str], tuple[str, dict[str, Any]] | BadRow]]:
        """The files with their texts, or why they have none. Raises MalformedRequest, UploadTooLarge."""
        inflation = Inflation(self.archive, self.limits)
        for number, info in enumerate(self.members, 1):
            parts = parts_of(info)
            try:
                yield number, parts, self.text_of("/".join(parts), self.content(inflation, info))
            except BadRow as error:
                yield number, parts, error

    def content(self, inflation: Inflation, info: ZipInfo) -> bytes:
        """The bytes of a file. Raises BadRow if they are too many for a document."""
        parts = []
        left = 4 * self.limits.max_document_bytes + self.limits.max_line_bytes  # of a mail, attachments may be most
        for data in inflation.pieces(info):
            left -= len(data)
            if left >= 0:
                parts.append(data)
        if left < 0:
            raise BadRow(f"the file is longer than a document may be, {self.limits.max_document_bytes} bytes")
        return b"".join(parts)

    def text_of(self, path: str, data: bytes) -> tuple[str, dict[str, Any]]:
        """The text in a file. Raises BadRow, and MalformedRequest if it is in another encoding."""
        if path.lower().endswith(MAIL):
            return mail_of(data)
        kind = kind_of_binary(data[:4096])
        if kind is not None:
            raise BadRow(f"the file is {kind}, not a text")
        source = source_of(io.BytesIO(data), self.declared, shown(path))
        return "".join(source.pieces()), {}


def members_of(archive: ZipFile) -> list[ZipInfo]:
    """The files that may be documents, in the archive's order."""
    return [info for info in archive.filelist if not info.filename.endswith("/") and not is_hidden(parts_of(info))]


def parts_of(info: ZipInfo) -> list[str]:
    """The folders of a file, and its name."""
    return [part for part in name_of(info).replace("\\", "/").split("/") if part not in ("", ".")]


def name_of(info: ZipInfo) -> str:
    """The path of a file; many programs write it in UTF-8 and do not say so."""
    if info.flag_bits & IN_UTF_8 or info.filename.isascii():
        return info.filename
    try:
        return info.filename.encode("cp437").decode()
    except UnicodeError:
        return info.filename


def is_hidden(parts: list[str]) -> bool:
    """Whether a file is none that somebody meant to put into the archive."""
    if not parts or parts[-1].lower() in SKIPPED_FILES:
        return True
    return any((part.startswith(".") and part != "..") or part.lower() in SKIPPED_FOLDERS for part in parts)


def common_folders(members: list[ZipInfo]) -> list[str]:
    """The folders at the top that hold all files: they are no labels, since no document is in another one."""
    common = parts_of(members[0])[:-1]
    for info in members:
        folders = zip(common, parts_of(info)[:-1], strict=False)
        common = [folder for folder, _ in takewhile(lambda pair: pair[0] == pair[1], folders)]
    return common


def label_of(parts: list[str], n_common: int) -> str | None:
    """The label that a file's folder is; none at the top, nor in `unlabeled`."""
    label = "/".join(parts[n_common:-1])
    return label if label.lower() not in UNLABELED else None
