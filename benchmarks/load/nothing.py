"""A server that does nothing but answer: python -m benchmarks.load.nothing PORT BYTES

What clients cost the machine that they share with a service is measured with it: they send it what they would send
the service, and it answers at once, with 200 and a body of so many bytes that claims that all is well.
"""

import asyncio
import sys

HOST = "127.0.0.1"


class Nothing(asyncio.Protocol):
    """One connection."""

    body: bytes

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin with nothing read."""
        assert isinstance(transport, asyncio.Transport)
        self.transport, self.unread = transport, b""

    def data_received(self, data: bytes) -> None:
        """Answer each request that is here as a whole."""
        self.unread += data
        while True:
            head, end, rest = self.unread.partition(b"\r\n\r\n")
            length = int(head.lower().partition(b"\r\ncontent-length:")[2].partition(b"\r\n")[0] or 0)
            if not end or len(rest) < length:
                return
            self.unread = rest[length:]
            self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(self.body), self.body))


async def main(port: int, n_bytes: int) -> None:
    """Serve until it is killed."""
    Nothing.body = b'{"accepted": null}'.ljust(n_bytes)
    server = await asyncio.get_running_loop().create_server(Nothing, HOST, port)
    print("ready", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(*map(int, sys.argv[1:])))
