"""Bodies of uploads: raw, or the one file of a form, however their chunks fall."""

import asyncio
import gzip
import hashlib
import io
from collections.abc import AsyncIterator
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.errors import MalformedRequest, ServiceError, UnsupportedUpload, UploadTooLarge
from app.uploads.body import Spooled, spool

FORM = "multipart/form-data; boundary=xyz"


async def chunks_of(body: bytes, size: int) -> AsyncIterator[bytes]:
    """A body in chunks of some size."""
    for at in range(0, len(body), size):
        yield body[at : at + size]


def spooled(
    body: bytes, content_type: str = "", encoding: str = "", size: int = 1000, max_bytes: int = 2**23
) -> tuple[bytes, Spooled]:
    """What is spooled of a body, and all that is known of it."""
    with SpooledTemporaryFile(max_size=2**20) as file:
        found = asyncio.run(spool(chunks_of(body, size), content_type, encoding, cast(BinaryIO, file), max_bytes))
        assert found.file is file
        return found.file.read(), found


def part(name: str, content: bytes, *, file: str | None = None, content_type: str | None = None) -> bytes:
    """A part of a form, as browsers and curl write it."""
    head = f'--xyz\r\nContent-Disposition: form-data; name="{name}"'
    head += "" if file is None else f'; filename="{file}"'
    head += "" if content_type is None else f"\r\nContent-Type: {content_type}"
    return head.encode() + b"\r\n\r\n" + content + b"\r\n"


END = b"--xyz--\r\n"


@pytest.mark.parametrize("size", [1, 7, 1000, 2**20])
def test_a_raw_body_is_the_file(size: int) -> None:
    body = b"text\r\nsome words\r\n--xyz--\r\n" * 100
    data, found = spooled(body, "text/csv; charset=utf-8", size=size)
    assert data == body
    assert found[1:] == (None, "text/csv; charset=utf-8", len(body), hashlib.sha256(body).hexdigest(), {})


def test_a_large_body_goes_to_disk_and_comes_back() -> None:
    body = bytes(range(256)) * 2**14
    data, found = spooled(body, size=100_000)
    assert data == body
    assert found.sha256 == hashlib.sha256(body).hexdigest()
    assert found.content_type is None


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_a_form_has_one_file_and_fields(size: int) -> None:
    content = b"text,label\r\n--xy,\r\n\r\n--xy z\r\n"
    body = (
        part("label", "Rubrik \u00e4".encode())
        + part("file", content, file="K\u00e4se.csv", content_type="text/csv; charset=utf-8")
        + part("text", b"title")
        + part("text", b"body")
        + END
    )
    data, found = spooled(body, FORM, size=size)
    assert data == content
    assert found[1:] == (
        "K\u00e4se.csv",
        "text/csv; charset=utf-8",
        len(content),
        hashlib.sha256(content).hexdigest(),
        {"label": ["Rubrik \u00e4"], "text": ["title", "body"]},
    )


def test_a_file_may_have_any_name_of_a_part_or_none_of_its_own() -> None:
    assert spooled(part("upload", b"text\n", file="a.csv") + END, FORM)[0] == b"text\n"
    data, found = spooled(part("file", b"text\n") + END, FORM)
    assert (data, found.name, found.content_type) == (b"text\n", None, None)


@pytest.mark.parametrize(
    ("body", "content_type", "reason"),
    [
        (part("label", b"x") + END, FORM, "the form has no file: send it as the part `file`"),
        (END, FORM, "the form has no file"),
        (part("file", b"a", file="a") + part("file", b"b", file="b") + END, FORM, "more than one file"),
        (part("file", b"a", file="a"), FORM, "breaks off before its closing boundary"),
        (b"", FORM, "breaks off before its closing boundary"),
        (b"text,label\n", FORM, "the form cannot be read"),
        (part("file", b"a", file="a") + END, "multipart/form-data", "names no boundary"),
        (part("label", b"x" * 20_000) + END, FORM, "field `label` is longer than 16384 bytes"),
        (part("label", b"\xff") + END, FORM, "not UTF-8"),
        (part("a", b"") * 201 + END, FORM, "more than 200 fields"),
        (b"--xyz\r\n" + b"A: b\r\n" * 50 + b"\r\n" + END, FORM, "the form cannot be read"),
    ],
)
def test_a_form_that_is_not_one_file_is_refused(body: bytes, content_type: str, reason: str) -> None:
    with pytest.raises(MalformedRequest, match=reason.replace("(", "\\(")):
        spooled(body, content_type)


def test_a_body_past_the_limit_is_refused_by_what_was_sent() -> None:
    assert spooled(b"x" * 5000, max_bytes=5000)[0] == b"x" * 5000
    with pytest.raises(UploadTooLarge, match="larger than 4999 bytes"):
        spooled(b"x" * 5000, max_bytes=4999)


def test_a_compressed_body_stays_so() -> None:
    body = gzip.compress(b"text\n")
    assert spooled(body, "text/csv", "gzip")[0] == body
    assert spooled(body, "text/csv", " X-GZIP ", size=1)[0] == body
    with pytest.raises(MalformedRequest, match="not in that format"):
        spooled(b"text\n", "text/csv", "gzip")
    with pytest.raises(UnsupportedUpload, match="the content encoding 'br' is not read"):
        spooled(body, "text/csv", "br")
    with pytest.raises(UnsupportedUpload, match="compress the file in it"):
        spooled(part("file", body, file="a.gz") + END, FORM, "gzip")
    assert spooled(part("file", body, file="a.gz") + END, FORM)[0] == body


pieces = st.one_of(
    st.binary(max_size=30),
    st.sampled_from(
        [
            b"--xyz",
            b"\r\n",
            b"--xyz\r\n",
            b"--xyz--",
            b"Content-Disposition: form-data",
            b'; name="file"',
            b"; filename=",
        ]
    ),
    st.just(part("file", b"a", file="b")),
    st.just(part("label", b"a")),
)


@given(
    body=st.lists(pieces, max_size=12).map(b"".join),
    boundary=st.sampled_from([FORM, "multipart/form-data; boundary=\u00e9"]),
)
def test_no_form_is_answered_with_anything_but_its_file_or_a_refusal(body: bytes, boundary: str) -> None:
    answers: list[Any] = []
    for size in (1, 1000):
        try:
            data, found = spooled(body, boundary, size=size)
            answers.append((data, found[1:]))
        except ServiceError as error:
            answers.append(type(error))
    assert answers[0] == answers[1]


def test_a_spooled_file_may_be_any_file() -> None:
    file = io.BytesIO()
    found = asyncio.run(spool(chunks_of(b"text\n", 2), "text/csv", "identity", file, 100))
    assert found.file.read() == b"text\n"
