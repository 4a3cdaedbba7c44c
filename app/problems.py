"""How refusals and errors are told over HTTP, the one way: RFC 9457 problem+json.

Apart from `errors`, for the sake of workers: they refuse as well, but have no use for the framework.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.errors import (
    PROBLEM,
    BodyTooLarge,
    DatabaseUnavailable,
    InternalError,
    MalformedRequest,
    ServiceError,
    title_of,
    type_of,
)

logger = logging.getLogger(__name__)

METHODS = ("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT")


class ProblemResponse(JSONResponse):
    """A problem in ASCII: what it quotes from a request may hold characters that UTF-8 cannot say."""

    media_type = PROBLEM

    def render(self, content: Any) -> bytes:
        """The body."""
        return json.dumps(content).encode("ascii")


def problem(
    request: Request,
    status: int,
    type_: str,
    title: str,
    detail: str,
    errors: Sequence[Mapping[str, str]] = (),
    members: Mapping[str, int] | None = None,
) -> ProblemResponse:
    """A problem as the answer to a request; `members` are its own, beside those of all problems."""
    body = {"type": type_, "title": title, "status": int(status), "detail": detail, "instance": request.url.path}
    body |= members or {}
    return ProblemResponse({**body, "errors": list(errors)} if errors else body, status)


def refusal(request: Request, error: ServiceError) -> ProblemResponse:
    """The answer to a request that the service refuses."""
    kind = type(error)
    type_, title = type_of(kind.__name__), title_of(kind)
    response = problem(request, kind.status, type_, title, error.detail, error.errors, error.members)
    if kind.status == HTTPStatus.SERVICE_UNAVAILABLE:
        response.headers["Retry-After"] = "5"
    return response


def http_refusal(request: Request, error: HTTPException) -> ProblemResponse:
    """The answer to a request that the framework refuses, such as one for an unknown path."""
    if error.status_code == HTTPStatus.BAD_REQUEST:  # a body that is not JSON in UTF-8
        return refusal(request, MalformedRequest(str(error.detail)))
    if error.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return refusal(request, BodyTooLarge(str(error.detail)))
    phrase = HTTPStatus(error.status_code).phrase
    response = problem(request, error.status_code, type_of(phrase), phrase, str(error.detail))
    response.headers.update(error.headers or {})
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        response.headers["Allow"] = ", ".join(allowed_methods(request))
    return response


def allowed_methods(request: Request) -> list[str]:
    """All methods that the path of the request has; the framework names those of its first route alone."""
    return [
        method
        for method in METHODS
        if any(route.matches({**request.scope, "method": method})[0] is Match.FULL for route in request.app.routes)
    ]


def validation_refusal(request: Request, error: RequestValidationError) -> ProblemResponse:
    """The answer to a request whose parts are not what the schema says."""
    errors = [{"where": ".".join(map(str, part["loc"])), "reason": str(part["msg"])} for part in error.errors()]
    count = "1 part" if len(errors) == 1 else f"{len(errors)} parts"
    return refusal(request, MalformedRequest(f"{count} of the request cannot be used; see errors", errors))


def database_refusal(request: Request, error: Exception) -> ProblemResponse:
    """The answer while the database is away or overloaded."""
    logger.error("%s %s: the database failed", request.method, request.url.path, exc_info=error)
    return refusal(request, DatabaseUnavailable("the database did not answer in time"))


def internal_error(request: Request, error: Exception) -> ProblemResponse:
    """The answer where nothing else fits; tells nothing of the error, which the server logs."""
    logger.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return refusal(request, InternalError("the error has been logged"))


def disconnected(request: Request, error: Exception) -> ProblemResponse:
    """The end of a request whose client has left; nobody reads it."""
    return refusal(request, MalformedRequest("the client left before its request was complete"))


def render_errors(app: FastAPI) -> None:
    """Answer every error of the application with a problem."""
    handlers: dict[type[Exception], Any] = {
        ServiceError: refusal,
        HTTPException: http_refusal,
        RequestValidationError: validation_refusal,
        OperationalError: database_refusal,
        PoolTimeout: database_refusal,
        ClientDisconnect: disconnected,
        Exception: internal_error,
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)
    app.add_middleware(PlainTextToProblem)


class PlainTextToProblem:
    """Middleware that turns the plain text 413 of Starlette's body limit into a problem.

    The limit answers a Content-Length that is too large by itself, past all exception handlers.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        replaced = False

        async def send_problem(message: Message) -> None:
            nonlocal replaced
            if message["type"] == "http.response.start" and message["status"] == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
                content_type = MutableHeaders(raw=message["headers"]).get("content-type", "")
                replaced = content_type.startswith("text/plain")
            if not replaced:
                await send(message)
            elif message["type"] == "http.response.start":
                answer = refusal(Request(scope), BodyTooLarge("send a smaller body"))
                await answer(scope, receive, send)

        await self.app(scope, receive, send_problem)
