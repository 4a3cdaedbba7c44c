"""Templates rendered to pages, with the headers that keep whatever they quote harmless."""

from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from functools import cache
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse

from app.core.errors import ServiceError, title_of
from app.page.api import KEY_COOKIE, Refused
from app.page.assets import DIGEST

# No inline script or style, nothing from elsewhere, and no page of another host around this one.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
MINUTE, HOUR, DAY = 60, 3_600, 86_400
NOTHING = "\u2013"  # stands for a value that there is not


@cache
def templates() -> Environment:
    """The templates; whatever they are given is escaped, and a name that nobody gave is an error."""
    found = Environment(
        loader=PackageLoader("app.page"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    found.filters |= {
        "number": number,
        "percent": percent,
        "duration": duration,
        "ago": ago,
        "moment": moment,
        "plural": plural,
        "first_sentence": first_sentence,
        "sentence": sentence_case,
    }
    return found


def page(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """A template as an answer; `base` is where the service is below its host."""
    base = request.app.state.settings.root_path
    rendered = templates().get_template(template).render(
        **values,
        base=base,
        assets=f"{base}/static/{DIGEST}",
        path=request.url.path.removeprefix(base),
        is_signed_in=KEY_COOKIE in request.cookies,
    )  # fmt: skip
    return HTMLResponse(rendered, status, HEADERS)


def sign_in(request: Request, status: int, back_to: str, reason: str = "") -> HTMLResponse:
    """The form for an API key; `back_to` is the address, below that of the service, to go on to."""
    return page(request, "sign_in.html", status, back_to=back_to, reason=reason)


class PageRoute(APIRoute):
    """A route whose refusals are pages, too."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler of the route, and of what it raises."""
        handle = super().get_route_handler()

        async def answered(request: Request) -> Response:
            try:
                return await handle(request)
            except Refused as refused:
                if refused.code == HTTPStatus.UNAUTHORIZED:
                    return sign_in(request, refused.code, here(request), reason_of(request, refused))
                told = refused.problem
                return page(request, "refused.html", refused.code, title=told.get("title", ""), detail=str(refused))
            except ServiceError as error:
                return page(request, "refused.html", error.status, title=title_of(type(error)), detail=error.detail)

        return answered


def here(request: Request) -> str:
    """The address of a view that was asked for, to go back to it; home after anything else."""
    if request.method != "GET":
        return "/"
    path = request.url.path.removeprefix(request.app.state.settings.root_path)
    return f"{path}?{request.url.query}" if request.url.query else path


def reason_of(request: Request, refused: Refused) -> str:
    """Why nobody is let in, for whoever presented a key."""
    return str(refused) if KEY_COOKIE in request.cookies else ""


def page_router() -> APIRouter:
    """A router of pages, which the OpenAPI document does not list."""
    return APIRouter(route_class=PageRoute, include_in_schema=False, default_response_class=HTMLResponse)


def number(value: float | None, digits: int = 0) -> str:
    """A number with commas between thousands, or a dash for none."""
    return NOTHING if value is None else f"{value:,.{digits}f}"


def percent(share: float | None, digits: int = 0) -> str:
    """A share as a percentage. One that is not nothing, or not all, is not shown as if it were."""
    if share is None:
        return NOTHING
    least = 10.0**-digits
    if 0 < 100 * share < least / 2:
        return f"< {least:.{digits}f} %"
    if 100 - least / 2 < 100 * share < 100:
        return f"> {100 - least:.{digits}f} %"
    return f"{100 * share:.{digits}f} %"


def duration(seconds: float | None) -> str:
    """A stretch of time in words that a person would use."""
    if seconds is None:
        return NOTHING
    for unit, name in ((DAY, "day"), (HOUR, "hour"), (MINUTE, "minute")):
        if seconds >= 1.5 * unit:
            return plural(round(seconds / unit), name)
    return plural(max(round(seconds), 1), "second")


def moment(value: str | None) -> str:
    """A moment of the API, to the minute, in UTC."""
    return NOTHING if value is None else f"{datetime.fromisoformat(value).astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def ago(value: str | None) -> str:
    """How long ago a moment of the API was."""
    if value is None:
        return NOTHING
    return f"{duration((datetime.now(UTC) - datetime.fromisoformat(value)).total_seconds())} ago"


def first_sentence(text: str) -> str:
    """The first of the sentences of a summary."""
    first, dot, _ = text.partition(". ")
    return first + dot.strip()


def sentence_case(text: str) -> str:
    """A text with a capital at its beginning, and all else as it is."""
    return text[:1].upper() + text[1:]


def plural(n: int, name: str, several: str | None = None) -> str:
    """A number with its noun, such as `1 category` and `4 categories`."""
    return f"{number(n)} {name if n == 1 else several or f'{name}s'}"
