"""Conditional reading (RFC 9110, 13): an answer has an entity tag, and a client that has it already gets a 304.

The answer is made all the same; what a client saves is its way, and the look at what it knows.
"""

import hashlib
from http import HTTPStatus

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.core.request_ids import is_inner
from app.http.header_lists import RawHeaders, joined, names_tag, without

# What speaks of a body, which a 304 has not.
OF_BODY = (b"content-type", b"content-length", b"content-encoding", b"content-disposition", b"last-modified")


class Validators:
    """Middleware that gives answers to GET their tags and answers If-None-Match; streams without a tag pass."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD") or is_inner(scope):
            await self.app(scope, receive, send)
            return
        tagging = Tagging(send, joined(scope["headers"], b"if-none-match"))
        await self.app(scope, receive, tagging.send)


class Tagging:
    """One answer on its way: its head is held until its body shows whether it is in one piece."""

    def __init__(self, send: Send, known: str | None) -> None:
        """`known` is the If-None-Match of the request."""
        self.forward, self.known = send, known
        self.head: Message | None = None
        self.is_over = False  # what comes after a 304 is the body that it does not have

    async def send(self, message: Message) -> None:
        """Take one message of the answer."""
        if self.is_over:
            return
        if message["type"] == "http.response.start" and message["status"] == HTTPStatus.OK:
            self.head = message
            return
        if self.head is not None:
            head, self.head = self.head, None
            body = None if message.get("more_body", False) else message.get("body", b"")
            headers = list(head.get("headers", ()))
            tag = tag_of_answer(headers, body)
            if tag is not None and self.known is not None and names_tag(self.known, tag, weakly=True):
                await self.not_modified(headers, tag)
                return
            await self.forward({**head, "headers": headers if tag is None else tagged(headers, tag)})
        await self.forward(message)

    async def not_modified(self, headers: RawHeaders, tag: str) -> None:
        """Answer that nothing has changed."""
        self.is_over = True
        kept = tagged(without(headers, *OF_BODY), tag)
        await self.forward({"type": "http.response.start", "status": int(HTTPStatus.NOT_MODIFIED), "headers": kept})
        await self.forward({"type": "http.response.body", "body": b""})


def tag_of_answer(headers: RawHeaders, body: bytes | None) -> str | None:
    """The tag that the route gave an answer, or one of its bytes; None for a stream, and for a page, which tells time.

    `body` is the whole body, or None for a stream.
    """
    own = joined(headers, b"etag")
    if own is not None:
        return own
    if body is None or (joined(headers, b"content-type") or "").startswith("text/html"):
        return None
    return f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'


def tagged(headers: RawHeaders, tag: str) -> RawHeaders:
    """The headers with this tag."""
    return [*without(headers, b"etag"), (b"etag", tag.encode("latin-1"))]
