"""Signing in to the page with an API key, which the browser then keeps in a cookie, and signing out."""

from http import HTTPStatus
from typing import Annotated

from fastapi import Form, Request, Response
from starlette.responses import RedirectResponse

from app.page.api import KEY_COOKIE, Api, Refused
from app.page.rendering import page_router, sign_in

router = page_router()

MAX_KEY, MAX_ADDRESS = 200, 2_000


@router.get("/sign-in")
async def asked(request: Request) -> Response:
    """The form."""
    return sign_in(request, HTTPStatus.OK, back_to="/")


@router.post("/sign-in")
async def signed_in(
    request: Request,
    key: Annotated[str, Form(max_length=MAX_KEY)] = "",
    back_to: Annotated[str, Form(max_length=MAX_ADDRESS)] = "/",
) -> Response:
    """Back to where the key was missed, with the cookie; or the form again, with the reason."""
    key = key.strip()
    if not key.isascii() or not key.isprintable() or not key:
        return sign_in(request, HTTPStatus.UNAUTHORIZED, back_to, "this is not an API key: they begin with nf_")
    try:
        await Api(request, key).get("/v1/corpora", {"limit": 1})
    except Refused as refused:
        return sign_in(request, refused.code, back_to, str(refused))
    answer = RedirectResponse(local(request, back_to), HTTPStatus.SEE_OTHER)
    is_https = request.url.scheme == "https"
    answer.set_cookie(KEY_COOKIE, key, path=base(request), secure=is_https, httponly=True, samesite="lax")
    return answer


@router.post("/sign-out")
async def signed_out(request: Request) -> Response:
    """Home, without the cookie."""
    answer = RedirectResponse(local(request, "/"), HTTPStatus.SEE_OTHER)
    answer.delete_cookie(KEY_COOKIE, path=base(request), httponly=True, samesite="lax")
    return answer


def local(request: Request, address: str) -> str:
    """An address of the page itself; of anything else, home."""
    is_ours = address.startswith("/") and not address.startswith(("//", "/\\")) and address.isprintable()
    return str(request.app.state.settings.root_path) + (address if is_ours else "/")


def base(request: Request) -> str:
    """The path of the service, for its cookie."""
    return str(request.app.state.settings.root_path) or "/"
