"""The API on a real server over loopback, and what a raw socket says to it."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn

from app.core.settings import Settings
from app.http.main import create_app
from app.http.server import options
from tests.waits import PATIENCE, REQUEST_SECONDS, wait_for


@dataclass
class Reply:
    """An answer as it came."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


class Connection:
    """A client that says what it likes."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=REQUEST_SECONDS)
        self.read = self.socket.makefile("rb")

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_: object) -> None:
        self.read.close()
        self.socket.close()

    def send(self, data: bytes) -> None:
        """Send all of it, or as much as the server takes before it hangs up."""
        self.socket.sendall(data)

    def reply(self, with_body: bool = True) -> Reply:
        """The next answer."""
        line = self.read.readline()
        assert line.startswith(b"HTTP/1.1 "), line
        headers = {}
        while (header := self.read.readline().decode().strip()) != "":
            name, _, value = header.partition(":")
            headers[name.lower()] = value.strip()
        body = self.read.read(int(headers.get("content-length", 0))) if with_body else b""
        return Reply(int(line.split()[1]), headers, body)

    def is_closed(self) -> bool:
        """Whether the server ends the connection; waits for it."""
        try:
            return self.read.read(1) == b""
        except ConnectionError:
            return True


@dataclass
class Running:
    """A server that runs in a thread of this process."""

    server: uvicorn.Server
    port: int

    def connect(self) -> Connection:
        """A new connection."""
        return Connection(self.port)

    def ask(self, data: bytes) -> Reply:
        """The answer to the bytes of one request, on a connection of its own."""
        with self.connect() as connection:
            connection.send(data)
            return connection.reply()

    @property
    def n_connections(self) -> int:
        """Connections that the server holds."""
        return len(self.server.server_state.connections)


@contextmanager
def running(settings: Settings) -> Iterator[Running]:
    """The API within this context, on a port that is free."""
    settings = settings.model_copy(update={"port": 0})
    config = uvicorn.Config(create_app(settings), **options(settings))
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        wait_for(lambda: server.started or not thread.is_alive(), "the server listens")
        assert thread.is_alive()
        yield Running(server, server.servers[0].sockets[0].getsockname()[1])
    finally:
        server.should_exit = True
        thread.join(timeout=PATIENCE)
