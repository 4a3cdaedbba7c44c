"""Hosts that are network namespaces, cabled to two switches; cables can be pulled out and put back.

Nothing of it is seen from outside: the switches are bridges in a namespace of their own, and every
cable runs from one namespace into another.
"""

import ctypes
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

PREFIX = "newfound-test"
SWITCHES = {"data": "10.203.1", "broker": "10.203.2"}  # two networks: one for the database, one for Redis alone
CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)


def ip(*arguments: str) -> None:
    """Run `ip`; what it complains of is the error."""
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True)
    assert done.returncode == 0, f"ip {' '.join(arguments)}: {done.stderr}"


class Network:
    """Namespaces for the hosts, and one for the switches, until `close`."""

    def __init__(self, hosts: list[str]) -> None:
        self.hosts = hosts
        self.names = [self.namespace(host) for host in (*hosts, "switch")]
        self.made = left_behind()
        self.close()
        try:
            for name in self.names:
                ip("netns", "add", name)
                self.made.append(name)
                ip("-n", name, "link", "set", "lo", "up")
            for switch in SWITCHES:
                ip("-n", self.namespace("switch"), "link", "add", switch, "type", "bridge")
                ip("-n", self.namespace("switch"), "link", "set", switch, "up")
                for host in hosts:
                    self.cable(host, switch)
        except BaseException:
            self.close()
            raise

    def namespace(self, host: str) -> str:
        """The name of a host's namespace: unlike that of any other test run."""
        return f"{PREFIX}-{os.getpid()}-{host}"

    def address(self, host: str, switch: str) -> str:
        """A host's address on one of the networks."""
        return f"{SWITCHES[switch]}.{self.hosts.index(host) + 1}"

    def launcher(self, host: str) -> list[str]:
        """What to put before a command, so that it runs on the host."""
        return ["ip", "netns", "exec", self.namespace(host)]

    def cable(self, host: str, switch: str) -> None:
        """A cable from the host's interface, named as the switch, to a port of the switch, named as both."""
        here, there, port = self.namespace(host), self.namespace("switch"), self.port(host, switch)
        ip("-n", here, "link", "add", switch, "type", "veth", "peer", "name", port, "netns", there)
        ip("-n", there, "link", "set", port, "master", switch)
        ip("-n", there, "link", "set", port, "up")
        ip("-n", here, "address", "add", f"{self.address(host, switch)}/24", "dev", switch)
        ip("-n", here, "link", "set", switch, "up")

    def port(self, host: str, switch: str) -> str:
        """The switch's end of a cable."""
        return f"{host}-{switch}"

    def unplug(self, host: str, *switches: str) -> None:
        """Pull cables out: packets vanish in both directions, and nobody is told."""
        for switch in switches:
            ip("-n", self.namespace("switch"), "link", "set", self.port(host, switch), "down")

    def plug(self, host: str, *switches: str) -> None:
        """Put cables back."""
        for switch in switches:
            ip("-n", self.namespace("switch"), "link", "set", self.port(host, switch), "up")

    def close(self) -> None:
        """Take the namespaces away, and with them all that is in them."""
        for name in self.made:
            subprocess.run(["ip", "netns", "delete", name], check=False)
        self.made = []

    @contextmanager
    def on(self, host: str) -> Iterator[None]:
        """This thread opens its connections from the host."""
        home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        there = os.open(f"/run/netns/{self.namespace(host)}", os.O_RDONLY)
        try:
            enter(there)
            yield
        finally:
            enter(home)
            os.close(there)
            os.close(home)


def left_behind() -> list[str]:
    """The namespaces of test processes that are gone: killed before they could take them away."""
    names = [path.name for path in Path("/run/netns").glob(f"{PREFIX}-*")]
    return [name for name in names if not psutil.pid_exists(int(name.removeprefix(f"{PREFIX}-").split("-")[0]))]


def enter(namespace: int) -> None:
    """Move this thread into a network namespace."""
    if LIBC.setns(namespace, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")
