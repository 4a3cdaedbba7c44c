"""The id of the request that is being answered, for whatever writes a log line or a problem meanwhile."""

from contextvars import ContextVar

current: ContextVar[str | None] = ContextVar("request_id", default=None)  # set by `app.http.request_ids`
