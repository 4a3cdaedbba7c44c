"""Where messages may go: never into the operator's own network, unless the settings name the network.

A name is resolved once; what was checked is the very address that is connected to, so that no second answer of a name
server leads elsewhere.
"""

import re
import socket
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_address, ip_network
from typing import NamedTuple
from urllib.parse import urlsplit

Network = IPv4Network | IPv6Network

MAX_URL = 2_000  # characters
PORTS = {"https": 443, "http": 80}
NOT_PUBLIC = "its address is not a public one"

# Global unicast is all that IPv6 has for us. Left out of it are addresses that stand for others (6to4, Teredo), those
# of protocols, and those of documentation.
PUBLIC_V6 = IPv6Network("2000::/3")
SPECIAL = tuple(map(ip_network, ("2002::/16", "2001::/23", "2001:db8::/32", "3fff::/20", "192.88.99.0/24")))


class Refused(Exception):
    """No message goes to this address; the text says why, without what only the operator's name server knows."""


class Target(NamedTuple):
    """The parts of an address that matter."""

    scheme: str
    host: str
    port: int
    path: str  # with its query


def networks_of(setting: str) -> list[Network]:
    """The networks of a setting. Raises ValueError."""
    return [ip_network(part.strip()) for part in setting.split(",") if part.strip()]


def target_of(url: str, networks: Sequence[Network]) -> Target:
    """The parts of an address, checked as far as they can be without a name server. Raises Refused."""
    if len(url) > MAX_URL or not re.fullmatch(r"[!-\[\]-~]+", url):
        raise Refused(f"it must have at most {MAX_URL} characters of ASCII, without spaces and backslashes")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise Refused("it is not a URL such as https://example.org/hook") from None
    if parts.scheme not in PORTS or not parts.hostname:
        raise Refused("it is not a URL such as https://example.org/hook")
    if "@" in parts.netloc:
        raise Refused("it must not hold a user name or a password; messages are signed")
    if "#" in url:
        raise Refused("it must not have a fragment")
    if parts.scheme == "http" and not networks:
        raise Refused("it must begin with https://")
    target = Target(
        parts.scheme,
        parts.hostname,
        PORTS[parts.scheme] if port is None else port,
        (parts.path or "/") + (f"?{parts.query}" if parts.query else ""),
    )
    try:
        ip_address(target.host)
    except ValueError:
        return target
    check_address(target, target.host, networks)
    return target


def resolved(target: Target, networks: Sequence[Network]) -> list[str]:
    """The addresses of a host, all of which are allowed. Raises Refused, and OSError if there are none."""
    found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(address[0]) for *_, address in found))
    for address in addresses:
        check_address(target, address, networks)
    return addresses


def check_address(target: Target, text: str, networks: Sequence[Network]) -> None:
    """Raise Refused unless messages may go to an address."""
    try:
        address = ip_address(text)
    except ValueError:  # such as one with the name of an interface
        raise Refused(NOT_PUBLIC) from None
    if any(address in network for network in networks):
        return
    if target.scheme == "http":
        raise Refused("it must begin with https://")
    is_public = address.is_global and (isinstance(address, IPv4Address) or address in PUBLIC_V6)
    if not is_public or address.is_multicast or any(address in network for network in SPECIAL):
        raise Refused(NOT_PUBLIC)
