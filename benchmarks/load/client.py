"""Plain HTTP over loopback, with a moment after which nobody waits any more."""

import http.client
import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")

HOST = "127.0.0.1"
NO_ANSWER = 0  # in the place of a status: the connection was closed without an answer
NICENESS = 10  # of threads that make load: clients on other machines would not take the service's processor time


class Answer(NamedTuple):
    """What a request was answered, and after how many seconds."""

    status: int
    body: bytes
    seconds: float

    @property
    def fields(self) -> Any:
        """The body as JSON; empty if it is none."""
        try:
            return json.loads(self.body)
        except ValueError:
            return {}


class Client:
    """A client of the API on a port; each request has a connection of its own."""

    def __init__(self, port: int) -> None:
        self.port = port

    def ask(
        self,
        until: float,
        method: str,
        path: str,
        body: Sequence[bytes] = (),
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """The answer to a request, also to one that is refused before its body was read.

        Raises TimeoutError at `until`, a moment of the monotonic clock.
        """
        began, n_bytes = time.monotonic(), sum(map(len, body))
        connection = http.client.HTTPConnection(HOST, self.port, timeout=left(until))

        def timed(chunks: Iterable[bytes]) -> Iterator[bytes]:
            for chunk in chunks:
                connection.sock.settimeout(left(until))
                yield chunk

        try:
            with suppress(BrokenPipeError, ConnectionResetError):
                connection.request(method, path, timed(body), {"Content-Length": str(n_bytes), **(headers or {})})
            try:
                if connection.sock is not None:
                    connection.sock.settimeout(left(until))
                response = connection.getresponse()
                answer = response.status, response.read()
            except (ConnectionError, http.client.HTTPException):
                answer = NO_ANSWER, b""
        finally:
            connection.close()
        return Answer(*answer, time.monotonic() - began)

    def get(self, until: float, path: str) -> Answer:
        """The answer to a GET."""
        return self.ask(until, "GET", path)

    def post(
        self,
        until: float,
        path: str,
        fields: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """The answer to a POST of JSON."""
        body = [] if fields is None else [json.dumps(fields).encode()]
        return self.ask(until, "POST", path, body, {"Content-Type": "application/json", **(headers or {})})

    def upload(
        self, until: float, corpus_id: str, pieces: Sequence[bytes], kind: str = "application/x-ndjson"
    ) -> Answer:
        """The answer to an upload of documents."""
        return self.ask(until, "POST", f"/v1/corpora/{corpus_id}/documents", pieces, {"Content-Type": kind})

    def make_corpus(self, until: float) -> str:
        """The id of a new corpus."""
        return str(well(self.post(until, "/v1/corpora", {"name": "load"})).fields["id"])


def well(answer: Answer) -> Answer:
    """The answer, if it is a good one; what a scenario stands on must not fail."""
    if not 200 <= answer.status < 300:
        raise RuntimeError(f"answered {answer.status}: {answer.body[:500]!r}")
    return answer


def left(until: float) -> float:
    """Seconds until then. Raises TimeoutError if there are none."""
    seconds = until - time.monotonic()
    if seconds <= 0:
        raise TimeoutError
    return seconds


def at_once(tasks: Iterable[Callable[[], T]]) -> list[T | None]:
    """What tasks return that run at the same time, a thread each; None in the place of one that timed out."""

    def run(task: Callable[[], T]) -> T | None:
        make_room()
        try:
            return task()
        except TimeoutError:
            return None

    tasks = list(tasks)
    with ThreadPoolExecutor(len(tasks)) as threads:
        return list(threads.map(run, tasks))


def make_room() -> None:
    """Let this thread leave the processor to the service (Linux: a thread has a priority of its own)."""
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
