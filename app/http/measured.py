"""Middleware that counts each request for `/metrics` and logs it in one line: what was asked, how it ended, how long.

Neither has anything that a client chose: of a path its route and ids, of the query, headers and bodies nothing.
"""

import logging
import time
from http import HTTPStatus

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.core.request_ids import is_inner
from app.http.problems import SHOWN_PATH
from app.http.route_names import Found, RouteNames
from app.observation.metrics import Metrics

logger = logging.getLogger("app.http.access")

METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
LEFT = 499  # the status of a request whose client left before the answer began, as proxies write it
# Asked every second or so, by everybody who waits: logged as DEBUG if well.
ROUTINE = frozenset({"/health", "/livez", "/metrics", "/readyz", "/v1/jobs/{job_id}"})


class Measured:
    """Measures every request from outside; one that the page sends to the API is part of another."""

    def __init__(self, app: ASGIApp, names: RouteNames, metrics: Metrics) -> None:
        self.app, self.names, self.metrics = app, names, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or is_inner(scope):
            await self.app(scope, receive, send)
            return
        found = self.names.find(scope["path"])
        scope[SHOWN_PATH] = found.path
        status, n_bytes, began_at = LEFT, 0, time.perf_counter()

        async def counting(message: Message) -> None:
            nonlocal status, n_bytes
            if message["type"] == "http.response.start":
                status = message["status"]
            elif message["type"] == "http.response.body":
                n_bytes += len(message.get("body", b""))
            await send(message)

        self.metrics.in_flight.inc()
        try:
            await self.app(scope, receive, counting)
        except Exception:  # answered outside
            status = HTTPStatus.INTERNAL_SERVER_ERROR
            raise
        finally:
            self.metrics.in_flight.dec()
            seconds = time.perf_counter() - began_at
            method = scope["method"] if scope["method"] in METHODS else "other"
            self.metrics.count_request(method, found.route, int(status), seconds)
            log(scope, method, found, int(status), seconds, n_bytes)


def log(scope: Scope, method: str, found: Found, status: int, seconds: float, n_bytes: int) -> None:
    """Log a request that has ended."""
    is_routine = method == "GET" and found.route in ROUTINE and status < HTTPStatus.BAD_REQUEST
    level = logging.DEBUG if is_routine else logging.INFO
    if not logger.isEnabledFor(level):
        return
    client, caller = scope.get("client"), scope.get("state", {}).get("caller")
    fields = {
        "method": method,
        "path": found.path,
        "route": found.route,
        "status": status,
        "milliseconds": round(1000 * seconds, 1),
        "bytes": n_bytes,
        "client": client[0] if client else None,
        "owner": getattr(caller, "owner", None),
        "key_id": getattr(caller, "key_id", None),
    }
    logger.log(level, "request", extra={"fields": fields})
