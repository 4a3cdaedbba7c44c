"""The id of the request that is being answered, for whatever logs or traces meanwhile."""

from contextvars import ContextVar

current: ContextVar[str | None] = ContextVar("request_id", default=None)

# The extension of the ASGI scope by which a request says that it is part of another one: the page asks the API within
# the process. It is not limited, counted, logged or traced by itself.
INNER = "newfound.inner"
