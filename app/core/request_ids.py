"""The id of the request that is being answered, for whatever logs or traces meanwhile, and which requests have none."""

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

current: ContextVar[str | None] = ContextVar("request_id", default=None)  # set by `app.http.request_ids`

# The extension of the ASGI scope by which a request says that it is part of another one: the page asks the API within
# the process. It is not limited, counted, logged, traced or compressed by itself.
INNER = "newfound.inner"


def is_inner(scope: Mapping[str, Any]) -> bool:
    """Whether a request is a part of another one, which clients sent: nothing that is for clients concerns it."""
    return INNER in (scope.get("extensions") or {})
