"""The pages that show the OpenAPI document, with what they load from this service alone and a policy that says so."""

import base64
import hashlib
import re

from fastapi import FastAPI, Request
from fastapi.openapi.docs import get_redoc_html, get_swagger_ui_html
from fastapi_offline import FastAPIOffline
from starlette.responses import HTMLResponse

STATIC = "/static-offline-docs"
INLINE = re.compile(rb"<script>(.*?)</script>", re.DOTALL)


def make_app(**facts: object) -> FastAPI:
    """An application with these pages, whose files come with it."""
    app: FastAPI = FastAPIOffline(docs_url=None, redoc_url=None, static_url=STATIC, **facts)
    app.add_api_route("/docs", swagger, include_in_schema=False)
    app.add_api_route("/redoc", redoc, include_in_schema=False)
    return app


async def swagger(request: Request) -> HTMLResponse:
    """Swagger UI, in which operations are tried."""
    base = request.scope["root_path"]
    page = get_swagger_ui_html(
        openapi_url=f"{base}/openapi.json",
        title=f"{request.app.title} - Swagger UI",
        swagger_js_url=f"{base}{STATIC}/swagger-ui-bundle.js",
        swagger_css_url=f"{base}{STATIC}/swagger-ui.css",
        swagger_favicon_url=f"{base}{STATIC}/favicon.png",
    )
    return guarded(page)


async def redoc(request: Request) -> HTMLResponse:
    """ReDoc, in which operations are read."""
    base = request.scope["root_path"]
    page = get_redoc_html(
        openapi_url=f"{base}/openapi.json",
        title=f"{request.app.title} - ReDoc",
        redoc_js_url=f"{base}{STATIC}/redoc.standalone.js",
        redoc_favicon_url=f"{base}{STATIC}/favicon.png",
        with_google_fonts=False,
    )
    return guarded(page)


def guarded(page: HTMLResponse) -> HTMLResponse:
    """The page, which runs its own scripts and no others. Both tools write styles while they run."""
    digests = (hashlib.sha256(script).digest() for script in INLINE.findall(bytes(page.body)))
    scripts = " ".join(["'self'", *(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)])
    page.headers["Content-Security-Policy"] = (
        f"default-src 'none'; script-src {scripts}; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        "connect-src 'self'; worker-src blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return page
