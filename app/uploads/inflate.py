"""Files that are compressed by gzip, bounded by what comes out."""

import zlib
from contextlib import ExitStack
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast

from app.core.errors import MalformedRequest, UploadTooLarge
from app.uploads.limits import ReadLimits

GZIP = b"\x1f\x8b"
PIECE = 2**18  # bytes that are read or written at once
IN_MEMORY = 2**20  # bytes that a temporary file holds before it goes to the disk
MAX_STREAMS = 100_000  # in a row: each costs a copy of what is left of a piece
MAX_LAYERS = 2  # a file that was compressed, in a body that was


def is_gzip(file: BinaryIO) -> bool:
    """Whether a file is compressed by gzip."""
    file.seek(0)
    return file.read(len(GZIP)) == GZIP


class TemporaryFiles(ExitStack):
    """Files that are needed to read another one, and close together."""

    def __init__(self, folder: str | None = None) -> None:
        super().__init__()
        self.folder = folder  # by default the system's, which may be small

    def new(self) -> BinaryIO:
        """A new file, on the disk once it is large."""
        return cast(BinaryIO, self.enter_context(SpooledTemporaryFile(max_size=IN_MEMORY, dir=self.folder)))


def inflated(file: BinaryIO, limits: ReadLimits, files: TemporaryFiles) -> BinaryIO:
    """The file itself, or what is compressed in it.

    Raises MalformedRequest, UploadTooLarge.
    """
    for _ in range(MAX_LAYERS):
        if not is_gzip(file):
            return file
        file = inflated_once(file, limits, files)
    if is_gzip(file):
        raise MalformedRequest(f"the file is compressed more than {MAX_LAYERS} times")
    return file


def inflated_once(file: BinaryIO, limits: ReadLimits, files: TemporaryFiles) -> BinaryIO:
    """What is compressed in a file: one stream of gzip, or several of them in a row."""
    found = files.new()
    inflater = zlib.decompressobj(wbits=31)
    size, n_streams, out = 0, 1, b""
    file.seek(0)
    data = file.read(PIECE)
    try:
        while data or len(out) == PIECE:  # a full piece: there may be more of it
            out = inflater.decompress(data, PIECE)
            size += len(out)
            check_size(size, limits)
            found.write(out)
            data = inflater.unconsumed_tail or inflater.unused_data or file.read(PIECE)
            if inflater.eof:
                out = b""
                data = data.lstrip(b"\0") or file.read(PIECE).lstrip(b"\0")  # zeros may fill a block
                if data:
                    inflater = zlib.decompressobj(wbits=31)
                    n_streams += 1
                if n_streams > MAX_STREAMS:
                    raise MalformedRequest(f"the file has more than {MAX_STREAMS} streams of gzip in a row")
    except zlib.error as error:
        raise MalformedRequest(f"the file is compressed by gzip, but damaged: {error}") from error
    if not inflater.eof:
        raise MalformedRequest("the file is compressed by gzip, but breaks off before its end")
    return found


def check_size(size: int, limits: ReadLimits) -> None:
    """Raise UploadTooLarge past the limit."""
    if size > limits.max_bytes:
        raise UploadTooLarge(larger_than(limits))


def larger_than(limits: ReadLimits) -> str:
    """That an upload is too large when it is unpacked."""
    return f"the upload is larger than {limits.max_bytes} bytes when it is decompressed (NEWFOUND_MAX_UPLOAD_BYTES)"
