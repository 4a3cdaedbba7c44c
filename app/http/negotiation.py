"""Accept on reading (RFC 9110, 12.5.1): lists also come as the files that their exports are, other types are a 406.

What an operation answers is what its description says. A `format` in the query counts for more than Accept.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import quote

from fastapi.routing import iter_route_contexts
from starlette.requests import Request
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.core.errors import NotAcceptable
from app.core.request_ids import is_inner
from app.http.front_door import below, query_parameters
from app.http.header_lists import joined, varying, weighed
from app.http.problems import refusal

JSON = "application/json"
# The `format` by which each type is asked for. Two files of labeling tools are JSON and NDJSON, too, but not meant.
FORMATS = {
    JSON: "json",
    "text/csv": "csv",
    "application/x-ndjson": "ndjson",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "application/vnd.apache.parquet": "parquet",
    "text/markdown": "markdown",
}
# Lists, each with the path of its export.
EXPORTS = {
    "/v1/corpora/{corpus_id}/documents": "/v1/corpora/{corpus_id}/export",
    "/v1/jobs/{job_id}/documents": "/v1/jobs/{job_id}/documents/export",
    "/v1/jobs/{job_id}/categories": "/v1/jobs/{job_id}/categories/export",
    "/v1/jobs/{job_id}/trace": "/v1/jobs/{job_id}/trace/export",
}
HAS_FORMAT = re.compile(rb"(^|&)format=")
MAX_QUOTED = 100


class Offer(NamedTuple):
    """A type that an operation answers, the `format` that its query needs for that, and where it is."""

    kind: str
    format: str | None = None
    path: str | None = None  # of the export, with names for its parameters


class Reading(NamedTuple):
    """An operation that reads: its path, and what it offers, the default first."""

    path: re.Pattern[str]
    offers: Sequence[Offer]


def readings(routes: Sequence[BaseRoute]) -> list[Reading]:
    """The operations that read, in the order in which paths are looked up."""
    found = [route for route in iter_route_contexts(routes) if is_reading(route)]
    offered = {str(route.path): offers_of(route) for route in found}
    for path, export in EXPORTS.items():
        of_export = [offer._replace(path=export) for offer in offered[export] if offer.kind != JSON]
        offered[path] = [*offered[path], *of_export]
    return [Reading(route.path_regex, offered[str(route.path)]) for route in found]


def is_reading(route: Any) -> bool:
    """Whether a route is an operation of the API that reads."""
    is_described = getattr(route, "include_in_schema", False) and str(route.path).startswith("/v1/")
    return bool(is_described and "GET" in (route.methods or ()))


def offers_of(route: Any) -> list[Offer]:
    """What a route answers, by its description."""
    described = route.responses.get(200, {}).get("content", {})
    kinds = [*([] if route.response_model is None else [JSON]), *described]
    if "format" not in dict(query_parameters(route.dependant)):
        return [Offer(kind) for kind in kinds]
    formats = FORMATS if route.response_model is not None else {k: v for k, v in FORMATS.items() if k != JSON}
    return [Offer(kind, formats[kind]) for kind in kinds if kind in formats]


class Negotiation:
    """Middleware that turns a request for another type into that for the right format or export."""

    def __init__(self, app: ASGIApp, routes: Sequence[BaseRoute], root_path: str) -> None:
        self.app, self.routes, self.root_path = app, routes, root_path

    @cached_property
    def readings(self) -> list[Reading]:
        """The operations that read, looked up with the first request: by then all routes are there."""
        return readings(self.routes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD") or is_inner(scope):
            await self.app(scope, receive, send)
            return
        path = below(self.root_path, scope["path"])
        found = next(((each, match) for each in self.readings if (match := each.path.match(path))), None)
        if found is None or HAS_FORMAT.search(scope["query_string"]):
            await self.app(scope, receive, send)
            return
        reading, match = found

        async def varied(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = varying(message["headers"], b"Accept")
            await send(message)

        answered = varied if len(reading.offers) > 1 else send
        accepted = joined(scope["headers"], b"accept")
        chosen = best(accepted, reading.offers)
        if chosen is None:
            await refused(scope, reading.offers, str(accepted))(scope, receive, answered)
        elif chosen is reading.offers[0]:
            await self.app(scope, receive, answered)
        else:
            await self.app(asking(scope, chosen, self.root_path, match.groupdict()), receive, answered)


def best(accepted: str | None, offers: Sequence[Offer]) -> Offer | None:
    """The offer that a client likes best; of equals the one that it names most exactly, then the first one."""
    if accepted is None or not accepted.strip() or accepted.strip() == "*/*":
        return offers[0]
    ranges = list(weighed(accepted))
    liked = [(*liking(offer.kind, ranges), -place) for place, offer in enumerate(offers)]
    weight, _, place = max(liked)
    return offers[-place] if weight > 0 else None


def liking(kind: str, ranges: Sequence[tuple[str, float]]) -> tuple[float, int]:
    """How much a type is wanted, and how exactly it is named; the most exact range that it is in counts."""
    of_kind = {kind: 2, f"{kind.partition('/')[0]}/*": 1, "*/*": 0}
    found = [(of_kind[value], weight) for value, weight in ranges if value in of_kind]
    exactness, weight = max(found, default=(0, 0.0))
    return weight, exactness


def asking(scope: Scope, offer: Offer, root_path: str, names: Mapping[str, str]) -> Scope:
    """The request as one for an offer."""
    query: bytes = scope["query_string"]
    parts = [query, f"format={offer.format}".encode()]
    found = {**scope, "query_string": b"&".join(part for part in parts if part)}
    if offer.path is not None:
        path = root_path + offer.path.format(**names)
        found |= {"path": path, "raw_path": quote(path).encode()}
    return found


def refused(scope: Scope, offers: Sequence[Offer], accepted: str) -> ASGIApp:
    """The refusal of a request that accepts nothing of what there is."""
    there = ", ".join(dict.fromkeys(offer.kind for offer in offers))
    return refusal(
        Request(scope),
        NotAcceptable(f"this comes as {there}; the request accepts {accepted[:MAX_QUOTED]!r}, which is none of these"),
    )
