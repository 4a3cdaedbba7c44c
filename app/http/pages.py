"""Pages of lists: how many rows, from where on, where the next page begins, and the links that say so."""

import base64
import binascii
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Annotated, Any, TypeVar
from urllib.parse import parse_qsl, quote, urlencode

from fastapi import Query, Request, Response
from pydantic import BaseModel, FiniteFloat, StringConstraints, TypeAdapter, ValidationError
from pydantic_core import to_json

from app.core.errors import MalformedRequest
from app.http.dependencies import ID_PATTERN
from app.http.long_answers import written

PAGE, MAX_PAGE = 100, 1000
MAX_PAGE_CHARACTERS = 2**22  # of texts

Key = TypeVar("Key")
Row = TypeVar("Row")

Limit = Annotated[int, Query(ge=1, le=MAX_PAGE, description="Maximum number of rows per page.")]
Cursor = Annotated[str | None, Query(max_length=500, description="`next` of the previous page.")]

NewestFirst = TypeAdapter(tuple[FiniteFloat, Annotated[str, StringConstraints(pattern=ID_PATTERN)]])


def page(rows: Sequence[Row], limit: int, key: Callable[[Row], Any]) -> tuple[Sequence[Row], str | None]:
    """The rows of a page and the cursor of the next one, None on the last.

    `rows` are up to one more than the limit; `key` is what the list is ordered by.
    """
    shown = rows[:limit]
    return shown, to_cursor(key(shown[-1])) if len(rows) > limit else None


def linked(request: Request, body: BaseModel, following: str | None) -> Response:
    """A page as an answer, with links (RFC 8288) to the first page and to the next one, if there is one.

    The operation names its `response_model`.
    """
    response = written(body)
    links = {"first": None} | ({} if following is None else {"next": following})
    response.headers["Link"] = ", ".join(f'<{at(request, cursor)}>; rel="{name}"' for name, cursor in links.items())
    return response


def at(request: Request, cursor: str | None) -> str:
    """The address of another page of the list that a request asks for, below the host."""
    query = [(name, value) for name, value in parse_qsl(request.url.query, keep_blank_values=True) if name != "cursor"]
    query += [] if cursor is None else [("cursor", cursor)]
    path = quote(request.url.path)
    return f"{path}?{urlencode(query)}" if query else path


def fitting(n_characters: Sequence[int], limit: int) -> int:
    """How many rows a page has whose texts are so long: not more than a limit of either, and at least one."""
    return max(1, min(limit, sum(n <= MAX_PAGE_CHARACTERS for n in accumulate(n_characters))))


def to_cursor(key: Any) -> str:
    """The place after a row in a list, as a client hands it back; opaque to it."""
    return base64.urlsafe_b64encode(to_json(key)).decode().rstrip("=")


def from_cursor(cursor: str | None, kind: TypeAdapter[Key]) -> Key | None:
    """The key of the last row of the page before. Raises MalformedRequest."""
    if cursor is None:
        return None
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        return kind.validate_json(base64.b64decode(padded, altchars=b"-_", validate=True), strict=True)
    except (binascii.Error, ValidationError, ValueError) as error:
        reason = "this is not a cursor of this list"
        raise MalformedRequest(reason, [{"where": "query.cursor", "reason": reason}]) from error
