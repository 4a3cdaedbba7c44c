"""Requests over HTTP, with urllib: JSON or a file there, JSON, a file or a problem back."""

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlencode, urlsplit

from newfound_client.errors import NoAnswer, Refused

Body = bytes | Iterable[bytes]
PIECE = 2**18  # bytes of an answer that are read at once
SHOWN = 200  # characters of an answer that nobody expected


class Connection:
    """Speaks to the service at one address."""

    def __init__(self, url: str, timeout: float, key: str | None = None) -> None:
        """`timeout` is in seconds, for one answer. Raises ValueError for what is no address of a service, or no key."""
        if key is not None and not (key.isascii() and key.isprintable() and key.strip() == key != ""):
            raise ValueError("this is not an API key: they begin with nf_")  # which is told nowhere
        self.key = key
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError(f"{url!r} is not an address such as http://127.0.0.1:8000")
        self.url, self.timeout = url.rstrip("/"), timeout
        handlers: list[urllib.request.BaseHandler] = [Plain(), Encrypted()]
        if is_local(parts.hostname):  # no proxy leads there, whatever the environment says
            handlers.append(urllib.request.ProxyHandler({}))
        self.opener = urllib.request.build_opener(*handlers)

    def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None = None,
        body: Body | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """The JSON that a request is answered with; None if the answer has no body. Raises Refused, NoAnswer.

        An answer that has an ETag holds it as `etag`, and the seconds after which to ask again as `retry_after`.
        """
        with self.opened(method, path, query, body, headers) as response:
            content, told = b"".join(pieces_of(response)), from_headers(response)
        try:
            answer = json.loads(content) if content else None
        except ValueError as error:
            raise NoAnswer(f"{method} {path} was not answered by a Newfound service at {self.url}") from error
        return {**answer, **told} if isinstance(answer, dict) else answer

    def pieces(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None = None,
        body: Body | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Iterator[bytes]:
        """The bytes that a request is answered with, as they come.

        Raises Refused, and NoAnswer, also for an answer that breaks off.
        """
        with self.opened(method, path, query, body, headers) as response:
            yield from pieces_of(response)

    @contextmanager
    def opened(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None,
        body: Body | None,
        headers: Mapping[str, str] | None,
    ) -> Iterator[http.client.HTTPResponse]:
        """Within this context the answer to a request is read. Raises as `pieces` does."""
        address = f"{self.url}{path}{encoded(query or {})}"
        request = urllib.request.Request(address, body, dict(headers or {}), method=method)
        if self.key is not None:  # not passed on to where an answer redirects to
            request.add_unredirected_header("Authorization", f"Bearer {self.key}")
        try:
            with self.opener.open(request, timeout=self.timeout) as response:
                yield response
        except urllib.error.HTTPError as error:
            raise Refused(error.code, problem_of(error)) from None
        except http.client.IncompleteRead as error:
            raise NoAnswer(f"the answer of {self.url} to {method} {path} broke off") from error
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            raise NoAnswer(f"{method} {path} was not answered by {self.url}: {reason}") from error


def pieces_of(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """The bytes of an answer, as they come. Raises IncompleteRead for one that breaks off."""
    while piece := response.read(PIECE):
        yield piece
    if response.length:  # it says how long it is, and what is missing is otherwise passed over
        raise http.client.IncompleteRead(b"", response.length)


def from_headers(response: http.client.HTTPResponse) -> dict[str, Any]:
    """What the headers of an answer say to its reader: of which version it is, and when to ask again."""
    etag, seconds = response.headers.get("ETag"), response.headers.get("Retry-After", "")
    return {
        **({} if etag is None else {"etag": etag}),
        **({"retry_after": float(seconds)} if seconds.isdecimal() else {}),  # else it is a date, of no service of ours
    }


class PatientHttp(http.client.HTTPConnection):
    """Looks for an answer also where the service has stopped to read, as it does for what is too large."""

    def send(self, data: Any) -> None:
        """Send, or let it be if nobody takes it."""
        with suppress(BrokenPipeError, ConnectionResetError):
            super().send(data)


class PatientHttps(PatientHttp, http.client.HTTPSConnection):
    """The same, encrypted."""


class Plain(urllib.request.HTTPHandler):
    """Opens http: addresses."""

    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        """Send a request."""
        return self.do_open(PatientHttp, request)


class Encrypted(urllib.request.HTTPSHandler):
    """Opens https: addresses."""

    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        """Send a request."""
        return self.do_open(PatientHttps, request)


def is_local(host: str) -> bool:
    """Whether a host is this one."""
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost"


def encoded(query: Mapping[str, Any]) -> str:
    """The query of an address; None says nothing, and a list comes value by value."""
    given = {name: in_query(value) for name, value in query.items() if value is not None}
    return f"?{urlencode(given, doseq=True)}" if given else ""


def in_query(value: Any) -> Any:
    """A value as queries have it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return list(value) if isinstance(value, list | tuple | set) else value


def problem_of(error: urllib.error.HTTPError) -> dict[str, Any]:
    """The problem that the service answered with, or one like it if something before the service answered."""
    content = error.read()
    with suppress(ValueError):
        problem = json.loads(content)
        if isinstance(problem, dict) and "detail" in problem:
            return problem
    said = " ".join(content.decode(errors="replace").split())[:SHOWN]
    return {"detail": f"the answer was {error.code} {error.reason}" + (f": {said}" if said else "")}
