"""One message to one address: a single request over a connection to an address that was checked."""

import http.client
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from threading import Timer

from app.webhooks.addresses import Network, Target, resolved

SECONDS = 10.0  # for all of it, once the name is resolved


def post(target: Target, networks: Sequence[Network], headers: Mapping[str, str], body: bytes) -> int:
    """The status of the answer, whose body is not read. Raises Refused, OSError, HTTPException.

    No redirect is followed, and no proxy of the environment is used.
    """
    with connected(resolved(target, networks), target.port) as plain, limited(plain):
        sock: socket.socket = plain
        kind: Callable[..., http.client.HTTPConnection] = http.client.HTTPConnection
        if target.scheme == "https":
            sock = ssl.create_default_context().wrap_socket(plain, server_hostname=target.host)
            kind = http.client.HTTPSConnection
        connection = kind(target.host, target.port)  # says `Host`; it connects to nothing, since it has a socket
        connection.sock = sock
        try:
            connection.request("POST", target.path, body, {**headers, "Connection": "close"})
            return connection.getresponse().status
        finally:
            connection.close()


@contextmanager
def connected(addresses: Sequence[str], port: int) -> Iterator[socket.socket]:
    """A connection to the first address that takes one, within this context. Raises OSError."""
    error: OSError = OSError("the name has no address")
    for address in addresses[:2]:
        try:
            sock = socket.create_connection((address, port), timeout=SECONDS / 2)
        except OSError as failed:
            error = failed
            continue
        with sock:
            yield sock
            return
    raise error


@contextmanager
def limited(sock: socket.socket) -> Iterator[None]:
    """Cut the connection when the time is up: a receiver that sends a byte now and then holds nobody."""

    def cut() -> None:
        with suppress(OSError):
            duplicate.shutdown(socket.SHUT_RDWR)

    sock.settimeout(SECONDS)
    # Of the connection itself: TLS takes the socket over, and leaves this object without one.
    duplicate = sock.dup()
    timer = Timer(SECONDS, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        duplicate.close()
