"""Files that clients send: where they lie meanwhile, how they are to be read, and within which limits."""

from collections.abc import AsyncIterable, AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO, TypeVar, cast

from fastapi import Request
from pydantic import ValidationError

from app.core.db import is_disk_full
from app.core.disk import free_bytes
from app.core.errors import MalformedRequest, StorageFull
from app.core.settings import Settings
from app.http.problems import reason
from app.schemas.uploads import FileChoices
from app.uploads.body import Spooled, spool
from app.uploads.columns import ReadOptions
from app.uploads.formats import look
from app.uploads.formats.reading import Reading
from app.uploads.inflate import IN_MEMORY
from app.uploads.limits import ReadLimits

PIECE = 2**18  # bytes of a file that is sent from the disk
LOOK_BYTES = 2**24  # of an upload, between looks at how much room is left
NO_ROOM = (
    "the disk under the files of uploads is full (NEWFOUND_UPLOADS_FOLDER): upload less at once, or free some space"
)


Choices = TypeVar("Choices", bound=FileChoices)


FILE: dict[str, Any] = {"type": "string", "format": "binary"}


def file_body(title: str, description: str, example: str, kind: str | None = None) -> dict[str, Any]:
    """The description of a body that is a file, for OpenAPI; `title` is that of its form, `kind` the example's type."""
    form = {"type": "object", "title": title, "required": ["file"], "properties": {"file": FILE}}
    content = {
        "multipart/form-data": {"schema": form, "example": {"file": example}},
        "application/octet-stream": {"schema": FILE, "example": example},
    }
    if kind is not None:
        content[kind] = {"schema": FILE, "example": example}
    return {"requestBody": {"required": True, "description": description, "content": content}}


@asynccontextmanager
async def received(request: Request, settings: Settings) -> AsyncIterator[Spooled]:
    """Within this context the file of a request lies in the folder of uploads.

    Raises UploadTooLarge, UnsupportedUpload, MalformedRequest, StorageFull.
    """
    headers = request.headers
    with room_for_files(settings), SpooledTemporaryFile(max_size=IN_MEMORY, dir=str(settings.uploads)) as temporary:
        sent = headers.get("content-type", ""), headers.get("content-encoding", "")
        chunks = leaving_room(request.stream(), settings)
        yield await spool(chunks, *sent, cast(BinaryIO, temporary), settings.max_upload_bytes)


@contextmanager
def room_for_files(settings: Settings) -> Iterator[None]:
    """Within this context a full disk under the files of uploads is a refusal. Raises StorageFull."""
    try:
        yield
    except OSError as error:
        if not is_disk_full(error):
            raise
        raise StorageFull(NO_ROOM) from error


async def leaving_room(chunks: AsyncIterable[bytes], settings: Settings) -> AsyncIterator[bytes]:
    """The chunks of an upload, as long as there is room for them. Raises StorageFull."""
    n_bytes = 0
    async for chunk in chunks:
        if n_bytes % LOOK_BYTES + len(chunk) >= LOOK_BYTES and free_bytes(settings.uploads) < settings.min_free_bytes:
            raise StorageFull(NO_ROOM)
        n_bytes += len(chunk)
        yield chunk


def with_form(choices: Choices, spooled: Spooled) -> Choices:
    """The choices, and those that came as fields of the form. Raises MalformedRequest.

    Blank ones say nothing, as a form in a browser sends them, but that there is no label or no key.
    """
    given = {
        name: [value for value in values if value or name in ("label", "key", "vector")]
        for name, values in spooled.form.items()
    }  # fmt: skip
    lists = ("text", "unlabeled", "json_column")
    fields = {name: values if name in lists else values[-1] for name, values in given.items() if values}
    try:
        return type(choices).model_validate({**fields, **choices.model_dump(exclude_unset=True)})
    except ValidationError as error:
        faults = [
            {"where": f"form.{'.'.join(map(str, each['loc']))}", "reason": reason(each)} for each in error.errors()
        ]
        raise MalformedRequest(
            f"the form cannot be used: {faults[0]['where']}: {faults[0]['reason']}", faults
        ) from None


def look_at(
    spooled: Spooled,
    choices: FileChoices,
    settings: Settings,
    text: tuple[str, ...] = (),
    *,
    needs_text: bool = True,
    needs_vector: bool = False,
) -> Reading:
    """The file as it is to be read. Raises MalformedRequest, UnsupportedUpload, UploadTooLarge."""
    options = ReadOptions(
        format=choices.format,
        charset=choices.charset,
        delimiter=choices.delimiter,
        has_header=choices.header,
        sheet=choices.sheet,
        text=text,
        label=choices.label,
        key=choices.key,
        unlabeled=tuple(choices.unlabeled),
        needs_text=needs_text,
        vector=choices.vector,
        needs_vector=needs_vector,
        counts=choices.counts,
        fields=choices.fields,
        json_column=tuple(choices.json_column),
        safe=choices.safe,
    )
    return look(spooled.file, spooled.name, spooled.content_type, options, read_limits(settings), str(settings.uploads))


def read_limits(settings: Settings) -> ReadLimits:
    """The limits that the operator set."""
    return ReadLimits(
        max_bytes=settings.max_upload_bytes,
        max_document_bytes=settings.max_document_bytes,
        max_line_bytes=settings.max_line_bytes,
        max_fields_bytes=settings.max_fields_bytes,
        max_columns=settings.max_columns,
        max_files=settings.max_files,
        max_cells=settings.max_cells,
        max_document_tokens=settings.max_document_tokens,
    )


def sent(file: Any) -> Iterator[bytes]:
    """A file piece by piece; it is closed after the last one, or when nobody wants more."""
    with file:
        while data := file.read(PIECE):
            yield data
