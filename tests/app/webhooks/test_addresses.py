"""Where webhooks may go: what is checked is the address itself, however it is written or resolved."""

import socket
from typing import Any

import pytest

from app.webhooks import post as posting
from app.webhooks.addresses import Refused, networks_of, resolved, target_of
from app.webhooks.post import post

PRIVATE = [
    "127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
    "239.255.255.250", "240.0.0.1", "255.255.255.255", "192.0.2.1", "198.18.0.1", "192.88.99.1", "::1", "::", "fe80::1",
    "fc00::1", "fd12:3456::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "64:ff9b::7f00:1",
    "64:ff9b::808:808", "64:ff9b:1::1", "2002:7f00:1::1", "2002:808:808::1", "2001::1", "2001:db8::1", "fec0::1",
    "3fff::1", "5f00::1", "100::1", "fe80::1%eth0",
]  # fmt: skip
PUBLIC = ["8.8.8.8", "93.184.215.14", "2606:4700:4700::1111", "2a00:1450:4001:80b::200e"]


def answered(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> list[str]:
    """Let the name server answer with these; returns the names that it is asked for."""
    asked = []

    def getaddrinfo(host: str, port: int, **_: Any) -> list[Any]:
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return asked


@pytest.mark.parametrize("address", PRIVATE)
def test_no_message_goes_to_an_address_that_is_not_public(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    host = f"[{address}]" if ":" in address else address
    with pytest.raises(Refused):
        resolved(target_of(f"https://{host}/hook", []), [])
    answered(monkeypatch, address)
    with pytest.raises(Refused, match=r"^its address is not a public one$"):
        resolved(target_of("https://hook.example.org", []), [])
    answered(monkeypatch, "8.8.8.8", address)  # one of several is enough
    with pytest.raises(Refused):
        resolved(target_of("https://hook.example.org", []), [])


@pytest.mark.parametrize("address", PUBLIC)
def test_messages_go_to_public_addresses_by_https_alone(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    answered(monkeypatch, address)
    target = target_of("https://hook.example.org/a?b=c", [])
    assert (target, resolved(target, [])) == (("https", "hook.example.org", 443, "/a?b=c"), [address])
    for networks in ([], networks_of("10.0.0.0/8")):
        with pytest.raises(Refused, match="must begin with https"):
            resolved(target_of("http://hook.example.org", networks), networks)


@pytest.mark.parametrize("host", ["2130706433", "0x7f.1", "017700000001", "127.1", "localhost"])
def test_other_ways_to_write_an_address_lead_nowhere_else(host: str) -> None:
    with pytest.raises(Refused):
        resolved(target_of(f"https://{host}", []), [])


def test_a_network_of_the_settings_is_allowed_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    networks = networks_of("10.1.0.0/16, fd00:1::/64")
    for address in ("10.1.2.3", "fd00:1::9"):
        answered(monkeypatch, address)
        for scheme in ("http", "https"):
            assert resolved(target_of(f"{scheme}://hook.example.org:8080", networks), networks) == [address]
    for address in ("10.2.0.1", "fd00:2::1", "::ffff:10.1.2.3", "127.0.0.1"):
        answered(monkeypatch, address)
        with pytest.raises(Refused):
            resolved(target_of("https://hook.example.org", networks), networks)


@pytest.mark.parametrize(
    "url",
    [
        "", "hook", "//example.org", "https:", "https://", "https:///a", "ftp://example.org", "file:///etc/passwd",
        "https://user@example.org", "https://user:secret@example.org", "https://example.org#a", "https://example.org#",
        "https://exa mple.org", "https://example.org/\r\nX: y", "https://example.org\\@127.0.0.1", "https://[::1",
        "https://example.org:port", "https://example.org:99999", "https://ex\u00e4mple.org",
        "https://e.org/" + "a" * 2000,
    ],
)  # fmt: skip
def test_what_is_no_plain_url_is_refused(url: str) -> None:
    with pytest.raises(Refused):
        target_of(url, networks_of("0.0.0.0/0,::/0"))


def test_the_connection_goes_to_the_address_that_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name server that answers otherwise the second time (DNS rebinding) is not asked a second time."""
    asked, connected = answered(monkeypatch, "8.8.8.8"), []

    def create_connection(address: tuple[str, int], timeout: float) -> socket.socket:
        connected.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(posting.socket, "create_connection", create_connection)
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:1")
    with pytest.raises(ConnectionRefusedError):
        post(target_of("https://rebind.example.org:8443/a", []), [], {}, b"{}")
    assert (asked, connected) == (["rebind.example.org"], [("8.8.8.8", 8443)])
