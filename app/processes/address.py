"""Whether the API can listen on its address, asked of the system before it tries."""

import errno
import os
import socket
from pathlib import Path

REASONS = {
    errno.EADDRINUSE: "it is in use by another process; end that one, or set NEWFOUND_PORT to another port",
    errno.EACCES: "it requires a privilege, as ports below 1024 do; set NEWFOUND_PORT to another port",
    errno.EADDRNOTAVAIL: "this host has no such address; set NEWFOUND_HOST to one that it has",
}
LOCAL, STATE, INODE, LISTENING = 1, 3, 9, "0A"  # columns of /proc/net/tcp, and a state


class AddressError(RuntimeError):
    """The API cannot listen on its address."""


def check_address(host: str, port: int) -> None:
    """Raise AddressError, with the reason, if nobody could listen there now."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise AddressError(
            f"NEWFOUND_HOST: {host!r} is not an address or the name of a host: {reason_of(error)}"
        ) from error
    refused = [why for family, _, _, _, address in found if (why := refusal(family, address)) is not None]
    # A name may stand for addresses of which the host has only some, as localhost does without IPv6.
    missing = [why for why in refused if why.errno == errno.EADDRNOTAVAIL]
    if len(refused) > len(missing) or len(missing) == len(found):
        worst = next((why for why in refused if why not in missing), refused[0])
        reason = REASONS.get(worst.errno or 0) or reason_of(worst)
        raise AddressError(f"the API cannot listen on port {port} of {host}: {reason}")


def refusal(family: int, address: tuple[str | int, ...] | tuple[int, bytes]) -> OSError | None:
    """Why a socket cannot be bound to an address; None if it can."""
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            probe.bind(address)
    except OSError as error:
        return error
    return None


def reason_of(error: Exception) -> str:
    """The system's words for an error."""
    return str(getattr(error, "strerror", None) or error)


def listens(pid: int, port: int) -> bool:
    """Whether a process itself takes connections on a port; a connection would not tell it from another one's."""
    process = Path("/proc") / str(pid)
    try:
        held = {os.readlink(file) for file in (process / "fd").iterdir()}
        tables = [file.read_text() for file in (process / "net").glob("tcp*") if file.name in ("tcp", "tcp6")]
    except OSError:  # it has just ended, or closed a file meanwhile
        return False
    rows = [line.split() for table in tables for line in table.splitlines()[1:]]
    return any(
        row[STATE] == LISTENING and int(row[LOCAL].rpartition(":")[2], 16) == port and f"socket:[{row[INODE]}]" in held
        for row in rows
    )


def address_of(host: str, port: int) -> str:
    """The URL of the API."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
