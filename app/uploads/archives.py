"""ZIP archives, bounded by what comes out of them and not by what they say of it."""

import struct
import time
import zipfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from app.core.errors import MalformedRequest, UnsupportedUpload, UploadTooLarge
from app.uploads.inflate import PIECE, check_size
from app.uploads.limits import ReadLimits

MARK, END, END_64 = b"PK\x01\x02", b"PK\x05\x06", b"PK\x06\x06"
ENTRY = struct.Struct("<4s24x3H12x")  # of a directory: a mark, the bytes of name, extra field and comment that follow
END_SIZE = 22  # bytes, without the comment
TURN = 0.0002  # seconds
TAIL = 2**16 + 200  # bytes that the end of a directory may be from the end of the file
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
    for info in archive.filelist:
        if info.flag_bits & 0x1:
            raise UnsupportedUpload("the ZIP is encrypted: upload one without a password")
        if info.compress_type not in DEFLATED:
            raise UnsupportedUpload("the ZIP is compressed in another way than by deflate: pack it as other ZIPs are")
    return archive


def check_directory(file: BinaryIO, limits: ReadLimits) -> None:
    """Raise UploadTooLarge for a directory of so many files that reading it would fill the memory.

    Its entries are counted: what the archive says of their number need not be true.
    """
    size = file.seek(0, 2)
    start = max(0, size - TAIL)
    file.seek(start)
    tail = file.read()
    ends = [(at, 12, 4) for at in (tail.rfind(END), len(tail) - END_SIZE) if at >= 0]
    ends += [(at, 40, 8) for at in (tail.rfind(END_64),) if at >= 0]
    for at, place, width in ends:
        n_bytes = int.from_bytes(tail[at + place : at + place + width], "little")
        if n_bytes <= start + at and count_entries(file, start + at - n_bytes, limits.max_files) > limits.max_files:
            raise UploadTooLarge(f"the ZIP holds more than {limits.max_files} files (NEWFOUND_MAX_FILES)")


def count_entries(file: BinaryIO, start: int, most: int) -> int:
    """How many entries a directory has that begins at a place; hardly more than `most` are counted.

    Other threads get their turn after each piece: to wait until the interpreter takes it away makes a request that
    needs ten turns wait fifty milliseconds.
    """
    n, data, at = 0, b"", 0
    while n <= most:
        if at + ENTRY.size > len(data):
            time.sleep(TURN)
            start, at = start + at, 0
            file.seek(start)
            data = file.read(PIECE)
            if len(data) < ENTRY.size:
                return n
        mark, name, extra, comment = ENTRY.unpack_from(data, at)
        if mark != MARK:
            return n
        at += ENTRY.size + name + extra + comment
        n += 1
    return n


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
