"""Headers that keep an answer harmless in a browser, whatever it quotes and wherever it is shown."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.core.request_ids import is_inner

# Where a route says otherwise, that counts: pages, reports and assets have policies and lifetimes of their own.
DEFAULTS = {
    "Cache-Control": "private, no-cache",  # kept by nobody but the client, who asks again by the ETag
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
RAW = [(name.lower().encode(), value.encode()) for name, value in DEFAULTS.items()]


class SecurityHeaders:
    """Middleware that adds each of these headers that an answer has not."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = list(message.get("headers", ()))
                there = {name.lower() for name, _ in headers}
                message["headers"] = headers + [header for header in RAW if header[0] not in there]
            await send(message)

        is_outer = scope["type"] == "http" and not is_inner(scope)
        await self.app(scope, receive, guarded if is_outer else send)
