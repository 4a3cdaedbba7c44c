"""Answers as gzip for clients that accept it: texts of some length at once, streams of text as they come."""

import re
import zlib
from http import HTTPStatus
from typing import Any

from anyio import to_thread
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.core.request_ids import is_inner
from app.http.header_lists import RawHeaders, joined, varying, weighed, without

LEVEL = 4  # of nine: the next ones take twice the time for a few percent
LEAST_BYTES = 1_000  # of an answer in one piece; a shorter one fits into a packet
LONG_BYTES = 2**15  # a longer piece is packed in a thread: it would hold up all other requests for milliseconds

TEXT = re.compile(
    r"(text/(?!event-stream)[\w.+-]+|application/(json|[\w.+-]+\+json|x-ndjson|javascript)|image/svg\+xml)\s*(;.*)?",
    re.IGNORECASE,
)
SUFFIX = "-gzip"  # within the tag of an answer as gzip, whose bytes are others than those of the plain one
SUFFIXED = re.compile(rb'-gzip(?=")')
CONDITIONS = (b"if-match", b"if-none-match")


class Compression:
    """Middleware that packs what is worth it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or is_inner(scope):
            await self.app(scope, receive, send)
            return
        headers: RawHeaders = scope["headers"]
        packing = Packing(send, takes_gzip(joined(headers, b"accept-encoding")))
        if any(name in CONDITIONS and SUFFIXED.search(value) for name, value in headers):
            packing.knows_packed = joined(headers, b"if-none-match") or ""
            plain = [(name, SUFFIXED.sub(b"", value) if name in CONDITIONS else value) for name, value in headers]
            scope = {**scope, "headers": plain}
        await self.app(scope, receive, packing.send)


def takes_gzip(accepted: str | None) -> bool:
    """Whether a client takes gzip, and likes it as well as the plain answer, by its Accept-Encoding."""
    if accepted is None or ("gzip" not in accepted.lower() and "*" not in accepted):
        return False
    weights = {value.removeprefix("x-"): weight for value, weight in weighed(accepted)}
    weight = weights.get("gzip", weights.get("*", 0.0))
    return weight > 0 and weight >= weights.get("identity", 0.0)


class Packing:
    """One answer on its way: its head is held until its body shows how long it is."""

    def __init__(self, send: Send, is_wanted: bool) -> None:
        self.forward, self.is_wanted = send, is_wanted
        self.knows_packed = ""  # the If-None-Match of the request, if it names tags of packed answers
        self.head: Message | None = None
        self.packer: Any = None  # of a stream

    async def send(self, message: Message) -> None:
        """Take one message of the answer."""
        if message["type"] == "http.response.start":
            await self.start(message)
        elif message["type"] != "http.response.body" or (self.head is None and self.packer is None):
            await self.forward(message)
        elif self.packer is not None:
            await self.stream(message)
        else:
            await self.first(message)

    async def start(self, message: Message) -> None:
        """Look at the head of the answer."""
        headers: RawHeaders = list(message.get("headers", ()))
        if message["status"] == HTTPStatus.NOT_MODIFIED:
            await self.forward({**message, "headers": self.of_unmodified(headers)})
            return
        if not is_text(headers) or message["status"] == HTTPStatus.PARTIAL_CONTENT:
            await self.forward(message)
            return
        message = {**message, "headers": varying(headers, b"Accept-Encoding")}
        if self.is_wanted:
            self.head = message
        else:
            await self.forward(message)

    def of_unmodified(self, headers: RawHeaders) -> RawHeaders:
        """The headers of a 304: its tag is the one that the client has named."""
        tag = joined(headers, b"etag")
        if tag is not None and suffixed(tag) in self.knows_packed:
            headers = [*without(headers, b"etag"), (b"etag", suffixed(tag).encode("latin-1"))]
        return varying(headers, b"Accept-Encoding")

    async def first(self, message: Message) -> None:
        """Decide by the first piece of the body, which may be all of it."""
        assert self.head is not None
        head, self.head = self.head, None
        body, is_whole = message.get("body", b""), not message.get("more_body", False)
        if is_whole and len(body) < LEAST_BYTES:
            await self.forward(head)
            await self.forward(message)
            return
        headers = packed_headers(head["headers"])
        self.packer = zlib.compressobj(LEVEL, zlib.DEFLATED, 31)
        if is_whole:
            message = {**message, "body": await self.packed(body, is_last=True)}
            headers.append((b"content-length", b"%d" % len(message["body"])))
        await self.forward({**head, "headers": headers})
        if is_whole:
            await self.forward(message)
        else:
            await self.stream(message)

    async def stream(self, message: Message) -> None:
        """Pack a piece and send what has come out, which is nothing for most of the small ones."""
        has_more = message.get("more_body", False)
        data = await self.packed(message.get("body", b""), is_last=not has_more)
        if data or not has_more:
            await self.forward({**message, "body": data})

    async def packed(self, piece: bytes, *, is_last: bool) -> bytes:
        """What comes out of the packer for a piece."""
        packer = self.packer

        def pack() -> bytes:
            data: bytes = packer.compress(piece)
            return data + packer.flush() if is_last else data

        return await to_thread.run_sync(pack) if len(piece) > LONG_BYTES else pack()


def is_text(headers: RawHeaders) -> bool:
    """Whether an answer is a text that nobody has packed yet."""
    kind = joined(headers, b"content-type")
    return kind is not None and TEXT.fullmatch(kind) is not None and joined(headers, b"content-encoding") is None


def packed_headers(headers: RawHeaders) -> RawHeaders:
    """The headers of an answer as those of the packed one, without its length."""
    tag = joined(headers, b"etag")
    packed = without(headers, b"content-length", b"etag", b"accept-ranges")
    packed.append((b"content-encoding", b"gzip"))
    return packed if tag is None else [*packed, (b"etag", suffixed(tag).encode("latin-1"))]


def suffixed(tag: str) -> str:
    """The tag of an answer as gzip."""
    return f'{tag[:-1]}{SUFFIX}"'
