"""The body of an upload to a file: sent as it is, or as the one file of a form."""

from collections.abc import AsyncIterable
from hashlib import sha256
from typing import BinaryIO, NamedTuple

from anyio import to_thread
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from app.core.errors import MalformedRequest, UnsupportedUpload, UploadTooLarge
from app.uploads.inflate import GZIP, IN_MEMORY, PIECE

MAX_FORM_FIELDS = 200
MAX_FORM_FIELD_BYTES = 2**14


class Spooled(NamedTuple):
    """The file that somebody uploaded, as it was sent."""

    file: BinaryIO
    name: str | None
    content_type: str | None
    size: int  # bytes
    sha256: str  # of the file's bytes, without the form around them
    form: dict[str, list[str]]  # the other fields of the form


async def spool(
    chunks: AsyncIterable[bytes], content_type: str, content_encoding: str, file: BinaryIO, max_bytes: int
) -> Spooled:
    """Write a body's file. Raises UploadTooLarge, UnsupportedUpload, MalformedRequest.

    The file stays compressed if it was sent so: it begins with the mark of gzip then, and whoever reads it sees that.
    """
    encoding = content_encoding.strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip"):
        raise UnsupportedUpload(f"the content encoding {encoding!r} is not read; send the body as it is, or gzip")
    writer = Writer(file)
    kind, options = parse_options_header(content_type)
    form = None
    if kind == b"multipart/form-data":
        if encoding.endswith("gzip"):
            raise UnsupportedUpload("a form is read as it is; compress the file in it instead, or send it as the body")
        form = Form(options.get(b"boundary", b""))
    n_bytes = 0
    async for chunk in chunks:
        n_bytes += len(chunk)
        if n_bytes > max_bytes:
            raise UploadTooLarge(f"the body is larger than {max_bytes} bytes (NEWFOUND_MAX_UPLOAD_BYTES)")
        for data in [chunk] if form is None else form.feed(chunk):
            await writer.write(data)
    await writer.flush()
    if encoding.endswith("gzip") and writer.beginning != GZIP:
        raise MalformedRequest("the content encoding is gzip, but the body is not in that format")
    digest = writer.digest.hexdigest()
    file.seek(0)
    if form is None:
        return Spooled(file, None, content_type or None, writer.size, digest, {})
    form.end()
    return Spooled(file, form.name, form.content_type, writer.size, digest, form.fields)


class Writer:
    """Writes pieces that are large enough, in a thread as soon as they go to a disk."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.held = bytearray()
        self.size = 0
        self.beginning = b""
        self.digest = sha256()

    async def write(self, data: bytes) -> None:
        """Write some bytes, now or later."""
        self.held += data
        if len(self.held) >= PIECE:
            await self.flush()

    async def flush(self) -> None:
        """Write what is held."""
        if self.size + len(self.held) > IN_MEMORY:
            await to_thread.run_sync(self.put)
        else:
            self.put()

    def put(self) -> None:
        """Write what is held, here."""
        self.beginning = self.beginning or bytes(self.held[: len(GZIP)])
        self.file.write(self.held)
        self.digest.update(self.held)
        self.size += len(self.held)
        self.held.clear()


class Form:
    """Takes a form apart as it comes: one file, and fields of which each is short."""

    def __init__(self, boundary: bytes) -> None:
        self.name: str | None = None
        self.content_type: str | None = None
        self.fields: dict[str, list[str]] = {}
        self.has_file = False
        self.is_whole = False
        self.data: list[bytes] = []  # of the file, from the last chunk
        self.field: str | None = None  # the name of the field that is read; None for the file
        self.value = bytearray()
        self.header = (bytearray(), bytearray())
        self.headers: dict[bytes, bytes] = {}
        if not boundary:
            raise MalformedRequest("the content type is multipart/form-data, but names no boundary")
        try:
            self.parser = MultipartParser(
                boundary,
                {
                    "on_part_begin": self.begin_part,
                    "on_header_field": lambda data, start, end: self.header[0].extend(data[start:end]),
                    "on_header_value": lambda data, start, end: self.header[1].extend(data[start:end]),
                    "on_header_end": self.end_header,
                    "on_headers_finished": self.end_headers,
                    "on_part_data": self.take,
                    "on_part_end": self.end_part,
                    "on_end": self.finish,
                },
            )
        except FormParserError as error:
            raise MalformedRequest(f"the form cannot be read: {error}") from error

    def feed(self, chunk: bytes) -> list[bytes]:
        """Read a chunk; returns the bytes of the file in it. Raises MalformedRequest."""
        self.data = []
        try:
            self.parser.write(chunk)
        except FormParserError as error:
            raise MalformedRequest(f"the form cannot be read: {error}") from error
        return self.data

    def end(self) -> None:
        """Raise MalformedRequest unless the form has come to its end, with a file in it."""
        if not self.is_whole:
            raise MalformedRequest("the form breaks off before its closing boundary")
        if not self.has_file:
            raise MalformedRequest("the form has no file: send it as the part `file`, as in curl -F file=@NAME")

    def begin_part(self) -> None:
        """A part begins."""
        self.headers = {}
        self.value.clear()

    def end_header(self) -> None:
        """A header of the part is complete."""
        name, value = self.header
        self.headers[bytes(name).lower()] = bytes(value)
        name.clear()
        value.clear()

    def end_headers(self) -> None:
        """All headers are read: is it the file, or a field?"""
        _, options = parse_options_header(self.headers.get(b"content-disposition", b""))
        name, file_name = decoded(options.get(b"name", b"")), options.get(b"filename")
        if file_name is None and name != "file":
            self.field = name
            return
        if self.has_file:
            raise MalformedRequest("the form has more than one file; upload them one after the other, or as a ZIP")
        self.has_file, self.field = True, None
        self.name = file_name.decode(errors="replace") if file_name else None  # only its ending matters
        self.content_type = decoded(self.headers.get(b"content-type", b"")) or None

    def take(self, data: bytes, start: int, end: int) -> None:
        """Some bytes of the part."""
        if self.field is None:
            self.data.append(data[start:end])
            return
        self.value += data[start:end]
        if len(self.value) > MAX_FORM_FIELD_BYTES:
            raise MalformedRequest(f"the form's field `{self.field[:100]}` is longer than {MAX_FORM_FIELD_BYTES} bytes")

    def end_part(self) -> None:
        """A part ends."""
        if self.field is None:
            return
        if sum(map(len, self.fields.values())) >= MAX_FORM_FIELDS:
            raise MalformedRequest(f"the form has more than {MAX_FORM_FIELDS} fields")
        self.fields.setdefault(self.field, []).append(decoded(bytes(self.value)))

    def finish(self) -> None:
        """The closing boundary was read."""
        self.is_whole = True


def decoded(data: bytes) -> str:
    """A name or a value of a form. Raises MalformedRequest."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise MalformedRequest("a name or a value in the form is not UTF-8") from error
