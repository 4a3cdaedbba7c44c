"""What holds for every request, whichever its route: its host, method, query, and the kind and size of its body."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property
from http import HTTPStatus
from itertools import islice
from typing import NamedTuple, get_origin
from urllib.parse import parse_qsl, quote

from fastapi.dependencies.models import Dependant
from fastapi.routing import iter_route_contexts
from pydantic import BaseModel
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from app.core.errors import BodyTooLarge, MalformedRequest, ServiceError, UnsupportedBody
from app.core.settings import Settings
from app.http.hosts import TrustedHosts
from app.http.problems import http_problem, refusal

MAX_FAULTS = 10  # told one by one
MAX_QUOTED = 100
JSON_TYPE = re.compile(r"application/([^;\s/]+\+)?json\s*(;.*)?", re.IGNORECASE)


class Operation(NamedTuple):
    """What is known of a route before it is entered."""

    path: re.Pattern[str]
    methods: frozenset[str]
    query: dict[str, bool] | None  # its parameters, and whether each may come again; None for a page, which takes any
    takes_json: bool
    max_body_bytes: int | None


def operations(routes: Sequence[BaseRoute]) -> list[Operation]:
    """The operations of an application."""
    found = []
    for route in iter_route_contexts(routes):
        methods = set(route.methods or {"GET"})
        is_page = not getattr(route, "include_in_schema", False)
        found.append(
            Operation(
                path=route.path_regex,
                methods=frozenset(methods | ({"HEAD"} if "GET" in methods else set())),
                query=None if is_page else dict(query_parameters(route.dependant)),
                takes_json=not is_page and getattr(route, "body_field", None) is not None,
                max_body_bytes=getattr(route, "max_body_size", None),
            )
        )
    return found


def query_parameters(dependant: Dependant) -> Iterator[tuple[str, bool]]:
    """The names of the query parameters that a route and its dependencies take, and whether each takes many values."""
    for parameter in dependant.query_params:
        kind = parameter.field_info.annotation
        of_model = kind.model_fields if isinstance(kind, type) and issubclass(kind, BaseModel) else None
        for name, field in (of_model or {parameter.alias: parameter.field_info}).items():
            yield name, get_origin(field.annotation) is list
    for inner in dependant.dependencies:
        yield from query_parameters(inner)


class FrontDoor:
    """Middleware that answers what no route need see, and lets in the rest."""

    def __init__(self, app: ASGIApp, routes: Sequence[BaseRoute], settings: Settings) -> None:
        self.app = app
        self.routes = routes
        self.root_path = settings.root_path
        self.trusted_hosts = TrustedHosts(settings.host, settings.trusted_hosts)

    @cached_property
    def operations(self) -> list[Operation]:
        """The operations, looked up with the first request: by then all routes are there."""
        return operations(self.routes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path = self.path_of(scope)
        scope = {**scope, "root_path": self.root_path, "path": self.root_path + path}
        try:
            answer = self.answer(scope, path)
        except ServiceError as error:
            answer = refusal(Request(scope), error)
        if answer is not None:
            await answer(scope, receive, send)
        elif scope["method"] == "HEAD":  # the server sends no body where it was asked for none
            await self.app({**scope, "method": "GET"}, receive, send)
        else:
            await self.app(scope, receive, send)

    def path_of(self, scope: Scope) -> str:
        """The path below the root path, whether or not the proxy has taken that off."""
        path: str = scope["path"]
        if path == self.root_path:
            return "/"
        if self.root_path and path.startswith(f"{self.root_path}/"):
            return path.removeprefix(self.root_path)
        return path

    def answer(self, scope: Scope, path: str) -> Response | None:
        """The answer to a request that goes no further. Raises ServiceError for one that is refused."""
        self.trusted_hosts.check(scope["headers"])
        here = self.at(path)
        if not here:
            without_slash = path.rstrip("/")
            return self.moved(scope, without_slash) if self.at(without_slash) else None
        allow = {"Allow": ", ".join(sorted({"OPTIONS"}.union(*(operation.methods for operation in here))))}
        if scope["method"] == "OPTIONS":
            return Response(status_code=HTTPStatus.NO_CONTENT, headers=allow)
        for operation in here:
            if scope["method"] in operation.methods:
                check_query(operation, scope["query_string"])
                check_body(operation, Headers(scope=scope))
                return None
        detail = f"{path[:MAX_QUOTED]} does not allow {scope['method']}; it allows {allow['Allow']}"
        return http_problem(Request(scope), HTTPStatus.METHOD_NOT_ALLOWED, detail, allow)

    def at(self, path: str) -> list[Operation]:
        """The operations that a path has."""
        return [operation for operation in self.operations if operation.path.match(path)]

    def moved(self, scope: Scope, path: str) -> Response:
        """The answer to a path with a slash too many. It names no host, so that no client is sent to another one."""
        location = quote(self.root_path + path)
        if scope["query_string"]:
            location += f"?{scope['query_string'].decode('latin-1')}"
        return Response(status_code=HTTPStatus.PERMANENT_REDIRECT, headers={"Location": location})


def check_query(operation: Operation, query: bytes) -> None:
    """Raise MalformedRequest for parameters that the operation does not have, or has once."""
    if operation.query is None or not query:
        return
    names = [name for name, _ in parse_qsl(query.decode("latin-1"), keep_blank_values=True)]
    faults = list(islice(query_faults(operation.query, names), MAX_FAULTS))
    if faults:
        raise MalformedRequest(f"the query cannot be used: {faults[0]['reason']}", faults)


def query_faults(known: Mapping[str, bool], names: Sequence[str]) -> Iterator[dict[str, str]]:
    """What is wrong with the names of a query, each name once."""
    seen: set[str] = set()
    told: set[str] = set()
    for name in names:
        if name in told:
            continue
        quoted = name[:MAX_QUOTED]
        if name not in known:
            told.add(name)
            yield {"where": f"query.{quoted}", "reason": f"there is no parameter {quoted!r}{instead(known, quoted)}"}
        elif name in seen and not known[name]:
            told.add(name)
            yield {"where": f"query.{quoted}", "reason": f"the parameter {quoted!r} is given more than once"}
        seen.add(name)


def instead(known: Iterable[str], name: str) -> str:
    """What could have been meant."""
    near = get_close_matches(name, list(known), n=1)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; the parameters are {', '.join(sorted(known))}" if known else "; this operation has none"


def check_body(operation: Operation, headers: Headers) -> None:
    """Raise UnsupportedBody for a body that is not JSON where JSON is expected, BodyTooLarge for too long a one."""
    length = headers.get("content-length")
    if operation.max_body_bytes is not None and length is not None and int(length) > operation.max_body_bytes:
        raise BodyTooLarge(f"the body has {length} bytes; at most {operation.max_body_bytes} are accepted")
    has_body = length not in (None, "0") or "transfer-encoding" in headers
    content_type = headers.get("content-type", "").strip()
    if operation.takes_json and has_body and not JSON_TYPE.fullmatch(content_type):
        came = f"it is {content_type[:MAX_QUOTED]!r}" if content_type else "there is none"
        raise UnsupportedBody(f"the content type must be application/json or application/*+json; {came}")
