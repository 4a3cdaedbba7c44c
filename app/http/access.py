"""Who is let in: middleware that asks requests for an API key, and says on whose behalf each one is."""

from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from app.access.callers import Caller, KnownKeys
from app.core.errors import CrossSite, KeyMissing, ScopeMissing, ServiceError
from app.core.request_ids import is_inner
from app.core.settings import Settings
from app.http.front_door import below
from app.http.problems import database_refusal, refusal, unanswered
from app.page.api import KEY_COOKIE

SCHEMES = {
    "key": {"type": "http", "scheme": "bearer", "description": "An API key: `Authorization: Bearer nf_…`."},
    "cookie": {
        "type": "apiKey",
        "in": "cookie",
        "name": KEY_COOKIE,
        "description": "The same key, in a browser that has signed in to the page.",
    },
}
GUARDED = ("/v1", "/metrics")  # and what is below; the page shows nothing that it does not ask the API for
ADMINS = "/metrics"
READING = ("GET", "HEAD", "OPTIONS")


class Access:
    """Middleware that refuses what comes without a key that is good for it.

    `scope["state"]["caller"]` is then on whose behalf a request is.
    """

    def __init__(self, app: ASGIApp, keys: KnownKeys, settings: Settings) -> None:
        self.app, self.keys, self.root_path = app, keys, settings.root_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        path = below(self.root_path, scope["path"]) if scope["type"] == "http" else ""
        if is_guarded(path):
            request = Request(scope)
            try:
                caller = await self.caller_of(request)
                check_scope(caller, scope["method"], path)
            except ServiceError as error:
                await refusal(request, error)(scope, receive, send)
                return
            except DBAPIError as error:
                await database_refusal(request, error)(scope, receive, send)
                return
            except PoolTimeout as error:
                await unanswered(request, error)(scope, receive, send)
                return
            scope["state"] = {**scope.get("state", {}), "caller": caller}
        await self.app(scope, receive, send)

    async def caller_of(self, request: Request) -> Caller:
        """On whose behalf a request is. Raises KeyMissing, CrossSite."""
        presented = key_of(request.headers)
        caller = self.keys.known(presented) or await run_in_threadpool(self.keys.look_up, presented)
        if caller is None:
            raise KeyMissing(
                "this is not an API key that is good now: it may have been revoked, or have expired"
                if presented
                else "this service asks for an API key, as in `Authorization: Bearer nf_…`; its operator makes them"
            )
        if caller.key_id is not None and "authorization" not in request.headers:
            check_same_site(request)
        return caller


def is_guarded(path: str) -> bool:
    """Whether a path is one for which a key may be asked."""
    return any(path == guarded or path.startswith(f"{guarded}/") for guarded in GUARDED)


def key_of(headers: Headers) -> str | None:
    """The key that a request presents, as a header or in the page's cookie."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme:
        return token.strip() if scheme.lower() == "bearer" and token.strip() else scheme
    return cookie_of(headers)


def cookie_of(headers: Headers) -> str | None:
    """The key in the page's cookie."""
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(KEY_COOKIE)
    except CookieError:
        return None
    return found.value if found is not None else None


def check_same_site(request: Request) -> None:
    """Raise CrossSite for a change that the cookie of the page allows, but that another site asks for.

    A browser sends its cookie along whoever asks; of which site that is, it says in `Sec-Fetch-Site` or `Origin`.
    """
    if request.method in READING or is_inner(request.scope):
        return
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin", "")
    is_same = site == "same-origin" if site is not None else urlsplit(origin).netloc == request.headers.get("host")
    if not is_same:
        raise CrossSite("a page of another site asked for this, with the key of whoever is signed in here")


def check_scope(caller: Caller, method: str, path: str) -> None:
    """Raise ScopeMissing for what a key does not allow."""
    if path == ADMINS:
        needed, is_allowed = "admin", caller.sees_all
    elif method in READING:
        needed, is_allowed = "read", bool(caller.scopes)
    else:
        needed, is_allowed = "write", bool(caller.scopes & {"write", "admin"})
    if not is_allowed:
        raise ScopeMissing(
            f"this needs a key with the scope {needed!r}; yours has {' and '.join(sorted(caller.scopes))}"
        )


def caller_of(request: Request) -> Caller:
    """On whose behalf a request is that has been let in; only paths that are guarded have one."""
    found: Caller = request.scope["state"]["caller"]
    return found
