"""A name for each request, by which its answer, its problem and its log lines are found again."""

import re
import uuid

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.core.request_ids import current, is_inner

HEADER = b"x-request-id"
GIVEN = re.compile(rb"[A-Za-z0-9._-]{1,64}")  # others could break a line of a log, or fill it


class RequestIds:
    """Middleware that takes the client's id of a request, or makes one, and hands it on and back."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; one within another keeps the id of that."""
        if scope["type"] != "http" or is_inner(scope):
            await self.app(scope, receive, send)
            return
        request_id = given(scope) or uuid.uuid4().hex

        async def named(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), (HEADER, request_id.encode())]
            await send(message)

        scope.setdefault("state", {})["request_id"] = request_id
        token = current.set(request_id)
        try:
            await self.app(scope, receive, named)
        finally:
            current.reset(token)


def given(scope: Scope) -> str | None:
    """The id that the client chose, if it has the shape of one."""
    found = [value for name, value in scope["headers"] if name == HEADER]
    return found[0].decode() if len(found) == 1 and GIVEN.fullmatch(found[0]) else None
