"""How refusals and errors are answered over HTTP, the one way: RFC 9457 problem+json.

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
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.exceptions import HTTPException
from starlette.middleware.body_limit import MAX_BODY_SIZE_SCOPE_KEY
from starlette.requests import ClientDisconnect

from app.core import request_ids
from app.core.db import is_disk_full
from app.core.errors import (
    PROBLEM,
    BodyTooLarge,
    DatabaseUnavailable,
    InternalError,
    MalformedRequest,
    ServiceError,
    StorageFull,
    title_of,
    type_of,
)

logger = logging.getLogger(__name__)

# What drivers raise while the database is away. Others may, too; then SQLAlchemy has seen the connection break.
AWAY = (OperationalError, InterfaceError)

RETRY_SECONDS = "5"  # where nobody knows better
HOW_TO_SIGN_IN = 'Bearer realm="Newfound"'
SHOWN_PATH = "newfound.path"  # in the scope: the path as logs show it, see `measured`


class ProblemResponse(JSONResponse):
    """A problem in ASCII: what it quotes from a request may hold characters that UTF-8 cannot say."""

    media_type = PROBLEM

    def render(self, content: Any) -> bytes:
        """The body."""
        return json.dumps(content).encode("ascii")


def problem(
    status: int,
    type_: str,
    title: str,
    detail: str,
    instance: str,
    errors: Sequence[Mapping[str, str]] = (),
    members: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The body of a problem; `members` are its own, beside those of all problems.

    Refused before it is one, a request has no id.
    """
    body = {"type": type_, "title": title, "status": int(status), "detail": detail, "instance": instance}
    request_id = request_ids.current.get()
    body |= {} if request_id is None else {"request_id": request_id}
    body |= members or {}
    return {**body, "errors": list(errors)} if errors else body


def problem_of(error: ServiceError, instance: str) -> dict[str, Any]:
    """The body of a refusal."""
    kind = type(error)
    name = type_of(kind.__name__)
    return problem(kind.status, name, title_of(kind), error.detail, instance, error.errors, error.members)


def refusal(request: Request, error: ServiceError) -> ProblemResponse:
    """The answer to a request that the service refuses."""
    response = ProblemResponse(problem_of(error, request.url.path), error.status)
    if error.status in (HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS):
        response.headers["Retry-After"] = str(error.retry_after) if error.retry_after else RETRY_SECONDS
    if error.status == HTTPStatus.UNAUTHORIZED:
        response.headers["WWW-Authenticate"] = HOW_TO_SIGN_IN
    return response


def http_problem(request: Request, status: int, detail: str, headers: Mapping[str, str] | None) -> ProblemResponse:
    """A problem that is no more than its HTTP status."""
    phrase = HTTPStatus(status).phrase
    response = ProblemResponse(problem(status, type_of(phrase), phrase, detail, request.url.path), status)
    response.headers.update(headers or {})
    return response


def http_refusal(request: Request, error: HTTPException) -> ProblemResponse:
    """The answer to a request that the framework refuses, such as one for an unknown path."""
    if error.status_code == HTTPStatus.BAD_REQUEST:
        return refusal(request, MalformedRequest("the body is not JSON in UTF-8, or is nested too deeply"))
    if error.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:  # without a Content-Length; see `front_door`
        return refusal(request, BodyTooLarge(f"the body is larger than {request.scope[MAX_BODY_SIZE_SCOPE_KEY]} bytes"))
    return http_problem(request, error.status_code, str(error.detail), error.headers)


def validation_refusal(request: Request, error: RequestValidationError) -> ProblemResponse:
    """The answer to a request whose parts are not what the schema says."""
    errors = [{"where": ".".join(map(str, part["loc"])), "reason": reason(part)} for part in error.errors()]
    count = "1 part" if len(errors) == 1 else f"{len(errors)} parts"
    return refusal(request, MalformedRequest(f"{count} of the request cannot be used; see errors", errors))


def reason(part: Mapping[str, Any]) -> str:
    """Why a part of a request cannot be used."""
    if part["type"] == "missing" and part["loc"] == ("body",):
        return "the request has no body; send a JSON object"
    if part["type"] == "json_invalid":
        return f"this is not JSON: {part['ctx']['error']}"
    return str(part["msg"]).removeprefix("Value error, ")  # which are our own words


def database_refusal(request: Request, error: DBAPIError) -> ProblemResponse:
    """The answer to an error of the database: it is away, its disk is full, or the service has a fault."""
    if is_disk_full(error):
        log_refusal(request, error.orig)
        return refusal(
            request,
            StorageFull(
                "the database could not write: its disk is full; delete what is not needed, or free some space"
            ),
        )
    if isinstance(error, AWAY) or error.connection_invalidated:
        return unanswered(request, error.orig)
    return internal_error(request, error)


def unanswered(request: Request, error: BaseException | None) -> ProblemResponse:
    """The answer while the database is away or overloaded."""
    log_refusal(request, error)
    return refusal(request, DatabaseUnavailable("the database did not answer in time"))


def log_refusal(request: Request, error: BaseException | None) -> None:
    """Log in one line why the database failed; its statement and parameters may hold what clients sent."""
    first_line = str(error).partition("\n")[0]
    logger.error("%s %s: %s: %s", request.method, shown_path(request), type(error).__name__, first_line)


def shown_path(request: Request) -> str:
    """The path of a request as logs show it: without keys of documents and other words of clients."""
    return str(request.scope.get(SHOWN_PATH, "a path"))


def internal_error(request: Request, error: Exception) -> ProblemResponse:
    """The answer where nothing else fits; tells nothing of the error, which the server logs."""
    logger.error("%s %s failed", request.method, shown_path(request), exc_info=error)
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
        DBAPIError: database_refusal,
        PoolTimeout: unanswered,
        ClientDisconnect: disconnected,
        Exception: internal_error,
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)
