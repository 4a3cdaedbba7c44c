"""The id of the request that is being answered, for whatever logs or traces meanwhile."""

from contextvars import ContextVar

current: ContextVar[str | None] = ContextVar("request_id", default=None)
