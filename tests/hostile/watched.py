"""A real API process that is watched: its memory, how soon it says that it is well, what it leaves in its folder."""

import http.client
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import psutil

from app.core.schema import migrate
from tests.faults.processes import Processes
from tests.waits import PATIENCE

MAX_UPLOAD = 100_000_000
PAUSE = 0.02  # seconds between two looks


class Answer(NamedTuple):
    """What a request was answered."""

    status: int
    content_type: str
    body: bytes


class Seen(NamedTuple):
    """What was seen while something was done."""

    grown: int  # bytes of memory, at most, over what the process had before
    slowest: float  # seconds that /health took, at most


class Watched(Processes):
    """The API of an embedded service, without workers."""

    def __init__(self) -> None:
        super().__init__("embedded", {"MAX_UPLOAD_BYTES": str(MAX_UPLOAD)}, ())
        migrate(self.server.url)
        self.api.start()
        self.wait_until_up()
        self.idle = self.memory()

    @property
    def uploads(self) -> Path:
        """Where files lie while they are read."""
        return self.folder / "data" / "uploads"

    def memory(self) -> int:
        """Bytes of the process."""
        assert self.api.pid is not None
        return int(psutil.Process(self.api.pid).memory_info().rss)

    def send(
        self, method: str, path: str, body: bytes | Iterable[bytes] = b"", headers: Mapping[str, str] | None = None
    ) -> Answer:
        """The answer to a request; a body in pieces is sent in chunks. What is refused early need not be sent whole."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            try:
                chunked = not isinstance(body, bytes)
                connection.request(method, path, body, dict(headers or {}), encode_chunked=chunked)
            except (BrokenPipeError, ConnectionResetError):
                pass  # the answer is there already
            response = connection.getresponse()
            return Answer(response.status, response.getheader("content-type", ""), response.read())
        finally:
            connection.close()

    def descriptors(self) -> list[str]:
        """Files of the folder of uploads that the process has open; they have no names there."""
        assert self.api.pid is not None
        found = []
        for link in Path(f"/proc/{self.api.pid}/fd").iterdir():
            try:
                target = str(link.readlink())
            except OSError:
                continue
            if target.startswith(str(self.uploads)):
                found.append(target)
        return found

    @contextmanager
    def watching(self) -> Iterator[list[Seen]]:
        """Within this context the process is watched; what was seen is in the list afterwards."""
        seen: list[Seen] = []
        is_over = threading.Event()
        before, grown, slowest = self.memory(), 0, 0.0

        def look() -> None:
            nonlocal grown
            while not is_over.wait(PAUSE):
                grown = max(grown, self.memory() - before)

        def ask() -> None:
            nonlocal slowest
            while not is_over.wait(PAUSE):
                began = time.monotonic()
                assert self.send("GET", "/health").status == 200
                slowest = max(slowest, time.monotonic() - began)

        threads = [threading.Thread(target=each) for each in (look, ask)]
        for thread in threads:
            thread.start()
        try:
            yield seen
        finally:
            is_over.set()
            for thread in threads:
                thread.join()
            seen.append(Seen(grown, slowest))

    def close(self) -> None:
        """End it, and delete its data."""
        self.api.stop()
        super().close()
