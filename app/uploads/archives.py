"""ZIP archives, bounded by what comes out of them and not by what they say of it."""

import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from app.core.errors import MalformedRequest, UnsupportedUpload, UploadTooLarge
from app.uploads.inflate import PIECE, check_size
from app.uploads.limits import ReadLimits

END, END_64 = b"PK\x05\x06", b"PK\x06\x06"
TAIL = 2**16 + 200  # bytes that the end of a directory may be from the end of the file
SMALLEST_ENTRY = 46  # bytes of a directory
LARGEST_ENTRY = 512  # on average
DEFLATED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # of others a few bytes may become gigabytes at once
# What the module raises on archives that somebody has damaged or made up.
DAMAGES = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, ValueError, OSError, IndexError)


def opened(file: BinaryIO, limits: ReadLimits) -> zipfile.ZipFile:
    """The archive in a file. Raises MalformedRequest, UploadTooLarge, UnsupportedUpload."""
    check_directory(file, limits)
    try:
        archive = zipfile.ZipFile(file)
    except DAMAGES as error:
        raise MalformedRequest(f"the ZIP is damaged: {error}") from error
    if len(archive.filelist) > limits.max_files:
        raise UploadTooLarge(f"the ZIP holds {len(archive.filelist)} files, more than {limits.max_files} (MAX_FILES)")
    for info in archive.filelist:
        if info.flag_bits & 0x1:
            raise UnsupportedUpload("the ZIP is encrypted: upload one without a password")
        if info.compress_type not in DEFLATED:
            raise UnsupportedUpload("the ZIP is compressed in another way than by deflate: pack it as other ZIPs are")
    return archive


def check_directory(file: BinaryIO, limits: ReadLimits) -> None:
    """Raise UploadTooLarge for a directory that would fill the memory before anybody could count its files."""
    size = file.seek(0, 2)
    file.seek(max(0, size - TAIL))
    tail = file.read()
    at, at_64 = tail.rfind(END), tail.rfind(END_64)
    found = [int.from_bytes(tail[at + 12 : at + 16], "little")] if at >= 0 else []
    if at_64 >= 0:
        found.append(int.from_bytes(tail[at_64 + 40 : at_64 + 48], "little"))
    n_bytes = min(max(found, default=0), size)
    if n_bytes > max(limits.max_files * SMALLEST_ENTRY, limits.max_files * LARGEST_ENTRY):
        raise UploadTooLarge(f"the ZIP holds more than {limits.max_files} files (MAX_FILES)")


class Inflation:
    """Counts what comes out of an archive."""

    def __init__(self, archive: zipfile.ZipFile, limits: ReadLimits) -> None:
        self.archive = archive
        self.limits = limits
        self.size = 0

    def pieces(self, info: zipfile.ZipInfo) -> Iterator[bytes]:
        """A file of the archive, piece by piece. Raises MalformedRequest, UploadTooLarge."""
        try:
            with self.archive.open(info) as member:
                while data := member.read(PIECE):
                    self.size += len(data)
                    check_size(self.size, self.limits)
                    yield data
        except (*DAMAGES, RuntimeError) as error:
            raise MalformedRequest(f"the ZIP is damaged: {error}") from error


def extracted(archive: zipfile.ZipFile, info: zipfile.ZipInfo, limits: ReadLimits, file: BinaryIO) -> BinaryIO:
    """A file of the archive, written to one of its own. Raises MalformedRequest, UploadTooLarge."""
    for data in Inflation(archive, limits).pieces(info):
        file.write(data)
    return file
