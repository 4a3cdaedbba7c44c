"""If-Match on requests that change something: what the client has seen must be what GET at the same path answers now.

Of two such requests for one path that reach a process at once, the second is compared with what the first one did. What
others change between the comparison and the change, such as a worker or another process of the API, is not seen: those
are milliseconds, and for decisions about an answer, which people make at once, the comparison is in the transaction.
"""

from asyncio import Lock
from collections.abc import Sequence
from functools import cached_property
from http import HTTPStatus
from weakref import WeakValueDictionary

from starlette.requests import Request
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.core.errors import ChangedSince
from app.core.request_ids import INNER
from app.http.front_door import Operation, below, operations
from app.http.header_lists import joined, names_tag, without
from app.http.problems import refusal
from app.http.shared_reads import answered
from app.http.validators import tag_of_answer

METHODS = ("PATCH", "PUT", "DELETE")
# The answer whose tag is compared is the JSON that is read by default, and nobody has sent anything for it.
NOT_OF_READING = (
    b"accept", b"content-type", b"content-length", b"content-encoding", b"transfer-encoding", b"if-match",
    b"if-none-match", b"idempotency-key",
)  # fmt: skip


class Preconditions:
    """Middleware that refuses a change of what is not any more as the client has seen it."""

    def __init__(self, app: ASGIApp, routes: Sequence[BaseRoute], root_path: str) -> None:
        self.app, self.routes, self.root_path = app, routes, root_path
        self.locks: WeakValueDictionary[str, Lock] = WeakValueDictionary()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        wanted = joined(scope["headers"], b"if-match") if scope.get("method") in METHODS else None
        if wanted is None or not self.is_operation(scope):
            await self.app(scope, receive, send)
            return
        async with self.locks.setdefault(scope["path"], Lock()):
            messages = await self.read(scope)
            status, tag = int(messages[0]["status"]), tag_of(messages)
            if status >= HTTPStatus.INTERNAL_SERVER_ERROR:  # nobody knows what is there now
                for message in messages:
                    await send(message)
                return
            if status == HTTPStatus.NOT_FOUND or (tag is not None and names_tag(wanted, tag)):
                await self.app(scope, receive, send)  # which says best what is not there
                return
        now = f"its ETag is {tag} now" if tag is not None else "it cannot be read, so it has no ETag"
        response = refusal(Request(scope), ChangedSince(f"{scope['path']} is not what If-Match names: {now}"))
        if tag is not None:
            response.headers["ETag"] = tag
        await response(scope, receive, send)

    @cached_property
    def operations(self) -> list[Operation]:
        """The operations, looked up with the first such request: by then all routes are there."""
        return operations(self.routes)

    def is_operation(self, scope: Scope) -> bool:
        """Whether the path has the method at all; else the refusal is another one."""
        path = below(self.root_path, scope["path"])
        return any(each.path.match(path) and scope["method"] in each.methods for each in self.operations)

    async def read(self, scope: Scope) -> list[Message]:
        """What GET at the same path is answered with."""
        inner = {
            **scope,
            "method": "GET",
            "query_string": b"",
            "headers": without(scope["headers"], *NOT_OF_READING),
            "extensions": {**scope.get("extensions", {}), INNER: {}},
        }
        return await answered(self.app, inner)


def tag_of(messages: Sequence[Message]) -> str | None:
    """The tag of an answer; None for one that has none, or is a refusal."""
    start, *parts = messages
    if start["status"] != HTTPStatus.OK:
        return None
    return tag_of_answer(list(start["headers"]), b"".join(part.get("body", b"") for part in parts))
