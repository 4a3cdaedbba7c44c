"""Whether the API can listen on its address, asked of the system before it tries."""

import errno
import socket

REASONS = {
    errno.EADDRINUSE: "it is in use by another process; end that one, or set NEWFOUND_PORT to another port",
    errno.EACCES: "it needs a privilege, as ports below 1024 do; set NEWFOUND_PORT to another port",
    errno.EADDRNOTAVAIL: "this host has no such address; set NEWFOUND_HOST to one that it has",
}
CONNECT_SECONDS = 0.2


class AddressError(RuntimeError):
    """The API cannot listen on its address."""


def check_address(host: str, port: int) -> None:
    """Raise AddressError, with the reason, if nobody could listen there now."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise AddressError(f"NEWFOUND_HOST: {host!r} is no address or name of a host: {reason_of(error)}") from error
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


def listens(host: str, port: int) -> bool:
    """Whether somebody takes connections there."""
    try:
        socket.create_connection((host, port), timeout=CONNECT_SECONDS).close()
    except (OSError, UnicodeError):
        return False
    return True


def address_of(host: str, port: int) -> str:
    """The URL of the API."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
