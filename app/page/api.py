"""The public API as the page asks it: the same requests as any client's, answered within the process."""

import asyncio
import json
from collections.abc import Awaitable, Mapping
from http import HTTPStatus
from typing import Annotated, Any, NamedTuple
from urllib.parse import quote, urlencode

from fastapi import Depends, Request
from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope

from app.core.request_ids import INNER

KEY_COOKIE = "newfound_key"  # in which a browser keeps the key of whoever signed in
Params = Mapping[str, Any]

# What a request of the page passes on: whom it is for, and who asks.
PASSED_ON = (b"host", b"authorization", b"cookie", b"x-forwarded-for", b"x-forwarded-proto")
OF_BODY = (b"content-type", b"content-length", b"content-encoding", b"transfer-encoding")


class Refused(Exception):
    """The API refused; `problem` is the body of its answer, RFC 9457."""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        super().__init__(problem.get("detail", ""))
        self.code = status
        self.problem = problem

    @property
    def kind(self) -> str:
        """The last part of the problem's type, such as `results-not-ready`."""
        return str(self.problem.get("type", "")).rpartition("/")[2].rpartition(":")[2]


class Answered(NamedTuple):
    """An answer of the API."""

    code: int
    headers: Headers
    body: bytes

    def json(self) -> Any:
        """The body. Raises Refused if the answer is a problem."""
        found = json.loads(self.body) if self.body else None
        if self.code >= HTTPStatus.BAD_REQUEST:
            raise Refused(self.code, found or {})
        return found


class Api:
    """The API for one request of the page, on behalf of whoever sent it."""

    def __init__(self, request: Request, key: str | None = None) -> None:
        """`key` is an API key that is tried, in place of what the request presents."""
        self.request, self.key = request, key

    async def get(self, path: str, params: Params | None = None) -> Any:
        """The JSON at a path. Raises Refused."""
        return (await self.ask("GET", path, params)).json()

    async def get_all(self, *paths: str) -> list[Any]:
        """The JSON at several paths, asked at once. Raises Refused."""
        return await at_once(*(self.get(path) for path in paths))

    async def get_or_none(self, path: str, params: Params | None = None) -> Any | None:
        """The JSON at a path; None if the API refuses because of the state of what it is about (409)."""
        try:
            return await self.get(path, params)
        except Refused as refused:
            if refused.code != HTTPStatus.CONFLICT:
                raise
            return None

    async def post(self, path: str, body: Any, params: Params | None = None) -> Any:
        """The answer to a body that is sent as JSON; the page sends none that changes anything. Raises Refused."""
        return (await self.ask("POST", path, params, json.dumps(body).encode(), "application/json")).json()

    async def forward(self, path: str, params: Params | None = None) -> Any:
        """The answer to the body of the request that is being answered, handed on as it comes. Raises Refused."""
        scope = self.scope("POST", path, params)
        scope["headers"] += [(name, value) for name, value in self.request.scope["headers"] if name in OF_BODY]
        return (await self.sent(scope, self.request.receive)).json()

    async def ask(
        self, method: str, path: str, params: Params | None = None, body: bytes = b"", content_type: str = ""
    ) -> Answered:
        """Send one request through the whole application, its front door included."""
        scope = self.scope(method, path, params)
        if content_type:
            scope["headers"] += [(b"content-type", content_type.encode()), (b"content-length", b"%d" % len(body))]
        messages = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Message:
            return messages.pop() if messages else {"type": "http.disconnect"}

        return await self.sent(scope, receive)

    async def sent(self, scope: Scope, receive: Receive) -> Answered:
        """The answer of the application to a request."""
        code, headers, parts = 500, Headers(), []

        async def send(message: Message) -> None:
            nonlocal code, headers
            if message["type"] == "http.response.start":
                code, headers = message["status"], Headers(raw=list(message.get("headers", [])))
            elif message["type"] == "http.response.body":
                parts.append(message.get("body", b""))

        await self.request.app(scope, receive, send)
        return Answered(code, headers, b"".join(parts))

    def scope(self, method: str, path: str, params: Params | None) -> Scope:
        """The request as a server would hand it on."""
        outer = self.request.scope
        headers = [(name, value) for name, value in outer["headers"] if name in PASSED_ON]
        if self.key is not None:
            headers = [(name, value) for name, value in headers if name not in (b"authorization", b"cookie")]
            headers.append((b"authorization", f"Bearer {self.key}".encode()))
        headers.append((b"accept", b"application/json"))
        return {
            "type": "http",
            "asgi": outer.get("asgi", {"version": "3.0"}),
            "http_version": "1.1",
            "method": method,
            "scheme": outer["scheme"],
            "path": path,
            "raw_path": quote(path).encode(),
            "query_string": urlencode(asked(params), doseq=True).encode(),
            "root_path": "",
            "headers": headers,
            "client": outer.get("client"),
            "server": outer.get("server"),
            "state": outer.get("state", {}),
            "extensions": {INNER: {}},
        }


async def at_once(*reads: Awaitable[Any]) -> list[Any]:
    """What several reads find; the first failure, after all have ended: none may go on when the page is answered."""
    found = await asyncio.gather(*reads, return_exceptions=True)
    for each in found:
        if isinstance(each, BaseException):
            raise each
    return found


def asked(params: Params | None) -> dict[str, Any]:
    """Parameters without those that say nothing; a boolean as JSON writes it."""
    return {
        name: str(value).lower() if isinstance(value, bool) else value
        for name, value in (params or {}).items()
        if value is not None and value != "" and value != []
    }


def api_of(request: Request) -> Api:
    """The API for this request."""
    return Api(request)


PublicApi = Annotated[Api, Depends(api_of)]
