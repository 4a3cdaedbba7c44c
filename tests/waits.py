"""How long tests wait, in one place.

A wait ends as soon as the thing happens, so its limit costs nothing, and is long enough for any machine: it only ends
a test that would never end. Where a limit is the point of a test, it is multiplied by the slowness of the machine, as
it is at that moment: a limit that was set when the tests began knows nothing of what has kept the machine busy since.
"""

import socket
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

PATIENCE = 1_200.0  # seconds: a slow, busy machine compiles all kernels and runs a job in less
REQUEST_SECONDS = 120.0  # for the answer to one request
GRAIN = 0.01  # seconds between two looks
SELDOM = 0.05  # the same, where what is waited for takes seconds, and each look takes time from it

REFERENCE_SECONDS = 0.25  # what WORK takes on the machine that the limits were set on
WORK = "import asyncio, http.client, sqlite3; sum(i * i for i in range(3_000_000))"
SLOWEST = 10.0
FRESH_SECONDS = 30.0  # after which the slowness is measured again

measured: list[tuple[float, float]] = []  # when, and what it was


def wait_for(met: Callable[[], Any], what: str, seconds: float = PATIENCE, every: float = GRAIN) -> Any:
    """What `met` returns, once it is true."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        value = met()
        if value:
            return value
        time.sleep(every)
    raise AssertionError(f"{what}: not within {seconds:g} s")


def slowness() -> float:
    """How many times slower this machine is now than the one that the limits were set on; 1 if it is faster."""
    if measured and time.monotonic() - measured[-1][0] < FRESH_SECONDS:
        return measured[-1][1]
    took = []
    for _ in range(3):
        began = time.monotonic()
        subprocess.run([sys.executable, "-I", "-c", WORK], check=True)
        took.append(time.monotonic() - began)
    measured.append((time.monotonic(), min(max(median(took) / REFERENCE_SECONDS, 1.0), SLOWEST)))
    return measured[-1][1]


def free_port() -> int:
    """A port of the loopback interface that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
