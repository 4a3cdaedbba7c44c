"""What all operations are made of: a request, a list that comes in pages, a request that makes something."""

import json
import os
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from newfound_client.connection import Connection
from newfound_client.errors import NoAnswer

Json = dict[str, Any]

# For an answer. An upload may wait a minute for the database before the service refuses it, and a slow machine whose
# processors compile kernels needs many times what a quiet one does. No answer in ten minutes is none.
ANSWER_SECONDS = 600.0
PAGE = 1_000  # rows
KEY_VARIABLE = "NEWFOUND_KEY"


class Calls:
    """Requests to the service at one address."""

    def __init__(self, url: str, timeout: float = ANSWER_SECONDS, key: str | None = None) -> None:
        """`key` is an API key, if the service asks for one; by default that in the environment, as NEWFOUND_KEY.

        Raises ValueError for what is no address of a service.
        """
        self.connection = Connection(url, timeout, key or os.environ.get(KEY_VARIABLE))

    def call(self, method: str, path: str, query: Mapping[str, Any] | None = None, **fields: Any) -> Any:
        """The answer to any request; fields are its JSON body."""
        if not fields:
            return self.connection.request(method, path, query)
        headers = {"Content-Type": "application/json"}
        return self.connection.request(method, path, query, json.dumps(fields).encode(), headers)

    def pages(self, path: str, rows: str, query: Mapping[str, Any]) -> Iterator[Json]:
        """All rows of a paged list, which are read page by page as they are used."""
        cursor = None
        while True:
            page = self.connection.request("GET", path, {"limit": PAGE, **query, "cursor": cursor})
            yield from page[rows]
            cursor = page["next"]
            if cursor is None:
                return

    def posted(self, path: str, body: Json, key: str | None = None, if_match: str | None = None) -> Json:
        """The answer to a request that makes something; sent once more if the connection breaks off."""
        headers = {"Content-Type": "application/json", "Idempotency-Key": key or uuid.uuid4().hex}
        if if_match is not None:
            headers["If-Match"] = if_match
        content = json.dumps(body).encode()
        try:
            answer: Json = self.connection.request("POST", path, None, content, headers)
        except NoAnswer as error:
            if not isinstance(getattr(error.__cause__, "reason", error.__cause__), ConnectionError):
                raise
            answer = self.connection.request("POST", path, None, content, headers)
        return answer
