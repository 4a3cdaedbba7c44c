"""Which hosts the service answers to.

A page of another site can have its own name point to this machine (DNS rebinding): for the browser, the service then
belongs to that site, but the Host header of its requests still names it. So only known names are answered to. An
address cannot be rebound: a service that is bound to all addresses answers to whatever address it is reached by.
"""

import re
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address

from app.core.errors import BadRequest, MisdirectedRequest

ALWAYS = ("localhost", "127.0.0.1", "::1")
ALL_ADDRESSES = ("", "0.0.0.0", "::")

HOST = re.compile(rb"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{0,5})?")
MAX_QUOTED = 100


class TrustedHosts:
    """The hosts that requests may name, whatever the port."""

    def __init__(self, bound: str, more: str) -> None:
        """`bound` is the host that the service listens on, `more` the operator's list, with commas."""
        hosts = [host.strip().lower() for host in (*ALWAYS, bound, *more.split(","))]
        self.every = "*" in hosts
        self.every_address = bound in ALL_ADDRESSES
        self.addresses = {address for host in hosts if (address := address_of(host)) is not None}
        self.names = {host.removesuffix(".") for host in hosts if host and not host.startswith("*")}
        self.endings = tuple(host.removeprefix("*") for host in hosts if host.startswith("*."))

    def check(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Raise BadRequest unless a request names one host, MisdirectedRequest unless that one is trusted."""
        named = [value for name, value in headers if name == b"host"]
        if len(named) != 1:
            raise BadRequest(f"the request has {len(named)} Host headers; it must have one")
        match = HOST.fullmatch(named[0])
        if match is None:
            raise BadRequest("the Host header is neither a name nor an address, with or without a port")
        host = match[1].decode("ascii").lower()
        if not self.trusts(host):
            raise MisdirectedRequest(
                f"the request is for the host {host[:MAX_QUOTED]!r}, which is not trusted: if it is a name of this "
                "service, add it to the setting NEWFOUND_TRUSTED_HOSTS"
            )

    def trusts(self, host: str) -> bool:
        """Whether the service answers to a host, in lower case and without a port."""
        if self.every:
            return True
        address = address_of(host)
        if address is not None:
            return self.every_address or address in self.addresses
        name = host.removesuffix(".")
        return name in self.names or name.endswith(self.endings)


def address_of(host: str) -> IPv4Address | IPv6Address | None:
    """The address that a host is, IPv6 with or without brackets; None for a name."""
    try:
        return ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None
