"""Two requests at a fixed rate, from a process of their own: python -m benchmarks.load.probe PORT RATE PATH ...

Each request has its moment, whatever became of those before, and counts from it: a late answer hides no other one.
Says `ready` after a good answer from every path; after a line on standard input, the samples as JSON.
"""

import asyncio
import json
import sys
import threading
import time
from collections.abc import Mapping
from typing import NamedTuple

HOST = "127.0.0.1"
IN_FLIGHT = 100  # requests of a path that wait for answers; others then wait for their turn, and that counts
GRACE_SECONDS = 10.0  # for answers that are still awaited at the end
NO_ANSWER = 0


class Sample(NamedTuple):
    """One request: its moment by the monotonic clock, how late the probe itself was, and the answer."""

    at: float
    lag: float
    seconds: float
    status: int


class Connection:
    """A connection that is kept for the next request."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.retry_after = 0.0  # seconds, as the last answer said

    async def get(self, path: str) -> int:
        """The status of the answer to a GET, once all of it is here."""
        return (await self.ask("GET", path, b"", {}))[0]

    async def ask(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
        """The status and the body of an answer, once all of it is here."""
        told = {"Host": HOST, **headers, **({"Content-Length": str(len(body))} if body else {})}
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in told.items()), "", ""]
        self.writer.write("\r\n".join(lines).encode() + body)
        head = (await self.reader.readuntil(b"\r\n\r\n")).lower()
        self.retry_after = float(head.partition(b"\r\nretry-after:")[2].partition(b"\r\n")[0] or 0)
        length = head.partition(b"\r\ncontent-length:")[2].partition(b"\r\n")[0]
        return int(head.split(maxsplit=2)[1]), await self.reader.readexactly(int(length))

    def is_closed(self) -> bool:
        """Whether the service has closed it."""
        return self.reader.at_eof() or self.writer.is_closing()


class Probe:
    """Requests of one path."""

    def __init__(self, port: int, path: str, rate: float) -> None:
        self.port, self.path, self.rate = port, path, rate
        self.samples: list[Sample] = []
        self.idle: list[Connection] = []
        self.places = asyncio.Semaphore(IN_FLIGHT)

    async def run(self, stop: asyncio.Event) -> None:
        """Ask until the end, then wait a little for answers."""
        began = time.monotonic()
        asked: set[asyncio.Task[None]] = set()
        while not stop.is_set():
            at = began + len(asked) / self.rate
            await asyncio.sleep(max(at - time.monotonic(), 0.0))
            asked.add(asyncio.create_task(self.ask(at)))
        _, late = await asyncio.wait(asked, timeout=GRACE_SECONDS)
        for task in late:
            task.cancel()
        await asyncio.gather(*late)
        for connection in self.idle:
            connection.writer.close()
            await connection.writer.wait_closed()

    async def ask(self, at: float) -> None:
        """One request, as a sample."""
        status, lag = NO_ANSWER, time.monotonic() - at
        try:
            async with self.places:
                status = await self.status()
        except (OSError, EOFError, asyncio.CancelledError):
            pass  # the sample says so
        self.samples.append(Sample(at, lag, time.monotonic() - at, status))

    async def status(self) -> int:
        """The status of an answer, over a connection that is open, or else over a new one."""
        while self.idle:
            connection = self.idle.pop()
            if not connection.is_closed():
                try:
                    return await self.status_over(connection)
                except (OSError, EOFError):
                    break  # closed just now, as a service does with what is idle for long
        return await self.status_over(Connection(*await asyncio.open_connection(HOST, self.port)))

    async def status_over(self, connection: Connection) -> int:
        """The status of an answer over a connection, which is kept unless that fails."""
        try:
            status = await connection.get(self.path)
        except BaseException:
            connection.writer.close()
            raise
        self.idle.append(connection)
        return status


async def main(port: int, rate: float, paths: list[str]) -> None:
    """Probe until a line comes."""
    probes = [Probe(port, path, rate) for path in paths]
    for probe in probes:
        if await probe.status() != 200:
            raise SystemExit(f"{probe.path} is not well")
    print("ready", flush=True)
    stop, loop = asyncio.Event(), asyncio.get_running_loop()

    def wait() -> None:
        sys.stdin.readline()
        loop.call_soon_threadsafe(stop.set)

    threading.Thread(target=wait, daemon=True).start()
    await asyncio.gather(*(probe.run(stop) for probe in probes))
    print(json.dumps({probe.path: probe.samples for probe in probes}))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]))
