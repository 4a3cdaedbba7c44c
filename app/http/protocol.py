"""HTTP/1.1 on one connection, within bounds: of the size of a head, a client's silence, the number of connections.

Uvicorn's protocol, which parses and answers, has none of these. Bytes are handed to it in pieces that end where a
message ends, so that one request is answered before the next one is read, and a head is refused before it is held.

About 300 lines, in one class: every callback reads and moves the same stage, so halves would know each other whole.
"""

import json
from asyncio import AbstractEventLoop, TimerHandle, Transport
from enum import Enum
from http import HTTPStatus
from typing import Any, ClassVar, NamedTuple

import httptools
from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from app.core.errors import PROBLEM, BadRequest, HeadTooLarge, RequestTimeout, ServiceError, TooManyConnections
from app.core.settings import Settings
from app.http.problems import RETRY_SECONDS, problem_of

MAX_HEAD_BYTES = 2**16  # of the request line and all headers
MAX_HEADERS = 100
PIECE_BYTES = 2**13
END_OF_HEAD = b"\r\n\r\n"

LEAST_BYTES = 2**10  # of a body that are to come, of an answer that are to be taken, in the time of a silent client
LOOKS = 4  # in that time
# A client that is still sending when it is refused does not see the answer if it is cut off at once.
LINGER_SECONDS = 1.0
EVENT_STREAMS = "event_streams"  # in the application's state: what is to leave when the server ends


class Limits(NamedTuple):
    """What an operator may set."""

    client_seconds: float
    max_connections: int


class Stage(Enum):
    """What a connection waits for."""

    IDLE = "the next request, for as long as uvicorn keeps connections alive"
    HEAD = "the rest of a head"
    BODY = "the rest of a body"
    ANSWER = "the service; what the client sends meanwhile is left unread"
    CROWDED = "the request that is answered with too many connections"
    CLOSED = "the end; what the client still sends is thrown away"


class Flow(FlowControl):
    """Flow control that does not read while a request waits for the answer to another, whoever listens."""

    is_held = False

    def resume_reading(self) -> None:
        """Read on, if nothing is held back."""
        if not self.is_held:
            super().resume_reading()


class BoundedProtocol(HttpToolsProtocol):
    """One connection; a subclass has the limits."""

    limits: ClassVar[Limits]

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.stage = Stage.HEAD
        self.since = 0.0  # the stage lasts, or the present window of a body
        self.watch: TimerHandle | None = None
        self.fault: ServiceError | None = None  # why a callback of the parser raised

        self.unread = b""  # behind the end of a message that is being answered
        self.last_bytes = b""  # of the head so far: its end may lie across two pieces
        self.n_overhead = 0  # bytes since the head began, or since the last byte of the body
        self.n_body_bytes = 0  # in the present window
        self.body_left: int | None = 0  # bytes; None for a chunked body, which does not say

        self.n_unsent = 0  # bytes of answers, when the client last took some
        self.unsent_since = 0.0

    # From the transport

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Begin to watch a client, or turn it away."""
        super().connection_made(transport)
        self.flow: Flow = Flow(transport)
        self.enter(Stage.HEAD)
        self.look_later()
        n_connections, limit = len(self.connections), self.limits.max_connections
        if n_connections > 2 * limit:  # those that are turned away are there for a moment, too
            transport.abort()
        elif n_connections > limit:
            self.enter(Stage.CROWDED)
            self.loop.call_later(LINGER_SECONDS, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the client."""
        if self.watch is not None:
            self.watch.cancel()
        self.unread = b""
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Begin to end. Event streams end by themselves, now: others have the time that uvicorn waits for them."""
        super().shutdown()
        if EVENT_STREAMS in self.app_state:
            self.app_state[EVENT_STREAMS].leave()

    def data_received(self, data: bytes) -> None:
        """Take what has come, as far as the end of a message that is to be answered first."""
        self._unset_keepalive_if_required()
        if self.stage is Stage.CROWDED:
            self.refuse(TooManyConnections(f"at most {self.limits.max_connections} connections are accepted"))
        data, self.unread = self.unread + data, b""
        view, start = memoryview(data), 0
        while start < len(data) and self.stage not in (Stage.ANSWER, Stage.CLOSED):
            end = self.end_of_piece(data, start)
            self.take(view[start:end])
            start = end
        if start < len(data) and self.stage is Stage.ANSWER:
            self.unread = data[start:]
            self.flow.is_held = True
            self.flow.pause_reading()

    # From data to the parser

    def end_of_piece(self, data: bytes, start: int) -> int:
        """How far to read at once: not beyond the end of a message, nor beyond what a head may have."""
        if self.stage is Stage.BODY:
            return start + (PIECE_BYTES if self.body_left is None else self.body_left)
        if self.stage is Stage.IDLE:
            self.begin_head()
        known, most = self.last_bytes, min(PIECE_BYTES, MAX_HEAD_BYTES - self.n_overhead)
        text = known + data[start : start + most]
        found = text.find(END_OF_HEAD)
        text = text if found < 0 else text[: found + len(END_OF_HEAD)]
        self.last_bytes = text[1 - len(END_OF_HEAD) :]
        return start + len(text) - len(known)

    def take(self, piece: memoryview) -> None:
        """Parse a piece; refuse what is not HTTP, and heads and framing that are too large."""
        self.n_overhead += len(piece)
        try:
            self.parser.feed_data(piece)
        except httptools.HttpParserUpgrade:
            self.cycle.keep_alive = False  # whatever follows is of another protocol: it is not read
        except httptools.HttpParserError as error:
            if self.stage is Stage.ANSWER:  # the fault lies behind the end of a chunked body
                self.cycle.keep_alive = False
            else:
                self.refuse(
                    self.fault or BadRequest(f"the request cannot be parsed: {error or 'its target is not a path'}")
                )
        if self.n_overhead >= MAX_HEAD_BYTES and self.stage in (Stage.HEAD, Stage.BODY):
            self.refuse(
                HeadTooLarge(f"the request line and all headers together may have at most {MAX_HEAD_BYTES} bytes")
            )

    def begin_head(self) -> None:
        """Wait for a head. Whatever comes is part of it, also empty lines, which the parser passes over."""
        self._unset_keepalive_if_required()
        self.enter(Stage.HEAD)
        self.n_overhead = 0
        self.last_bytes = b""

    # From the parser

    def on_message_begin(self) -> None:
        """Begin a request."""
        if self.stage is Stage.ANSWER:  # behind a chunked body, whose end only the parser sees: not read, see `take`
            raise httptools.HttpParserError
        if self.stage is Stage.IDLE:
            self.begin_head()
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header. Those that follow a body are dropped: the application has read the head by then."""
        if self.stage is Stage.BODY:
            return
        super().on_header(name, value)
        if len(self.headers) > MAX_HEADERS:
            self.fault = HeadTooLarge(f"a request may have at most {MAX_HEADERS} headers")
            raise self.fault

    def on_headers_complete(self) -> None:
        """Begin to answer a request."""
        headers = dict(self.headers)
        self.body_left = None if b"transfer-encoding" in headers else int(headers.get(b"content-length", 0))
        # The parser would take the body for the other protocol.
        if self.parser.should_upgrade() and self.body_left != 0:
            self.fault = BadRequest("the service supports no other protocol: send the body without the Upgrade header")
            raise self.fault
        super().on_headers_complete()
        self.enter(Stage.BODY)
        self.n_overhead = self.n_body_bytes = 0

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        self.n_overhead = 0
        self.n_body_bytes += len(body)
        if self.body_left is not None:
            self.body_left -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Wait for the service, unless it has answered before the body was there."""
        super().on_message_complete()
        if self.cycle.response_complete:
            self.enter(Stage.IDLE)
            self._unset_keepalive_if_required()
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )
        else:
            self.enter(Stage.ANSWER)

    # To the client

    def on_response_complete(self) -> None:
        """Go on with what the client has sent meanwhile."""
        self.enter(Stage.IDLE if self.stage is Stage.ANSWER else self.stage)
        self.flow.is_held = False
        super().on_response_complete()
        if self.unread and not self.transport.is_closing():
            self.data_received(b"")

    def refuse(self, error: ServiceError) -> None:
        """Answer for the connection as a whole, and end it: write no more, and soon read no more."""
        cycle = self.cycle if self.stage is Stage.BODY else None
        self.enter(Stage.CLOSED)
        if cycle is None or not cycle.response_started:
            self.logger.info("%s refused with %d: %s", self.client, type(error).status, error.detail)
            self.transport.write(self.rendered(error, "/" if cycle is None else cycle.scope["path"]))
        if cycle is not None and not cycle.response_complete:  # for the application, the client has left
            cycle.disconnected = True
            cycle.message_event.set()
        self.transport.write_eof()
        self.flow.resume_reading()
        self.loop.call_later(LINGER_SECONDS, self.transport.close)

    def rendered(self, error: ServiceError, instance: str) -> bytes:
        """A refusal as it is sent."""
        status = type(error).status
        body = json.dumps(problem_of(error, instance)).encode("ascii")
        headers = [
            *self.server_state.default_headers,
            (b"content-type", PROBLEM.encode()),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        if status == HTTPStatus.SERVICE_UNAVAILABLE:
            headers.append((b"retry-after", RETRY_SECONDS.encode()))
        return STATUS_LINE[status] + b"".join(b"%b: %b\r\n" % header for header in headers) + b"\r\n" + body

    # Silence

    def enter(self, stage: Stage) -> None:
        """Begin a stage."""
        self.stage = stage
        self.since = self.loop.time()

    def look_later(self) -> None:
        """Look at the client several times in the time that it may be silent for."""
        self.watch = self.loop.call_later(self.limits.client_seconds / LOOKS, self.look)

    def look(self) -> None:
        """Cut the client off if it is silent."""
        self.look_later()
        if self.takes_nothing():
            self.transport.abort()
        elif self.sends_nothing():
            self.refuse(RequestTimeout(f"the client was silent for {self.limits.client_seconds:g} s"))

    def takes_nothing(self) -> bool:
        """Whether the client has not read on in what was sent to it."""
        now, n_unsent = self.loop.time(), self.transport.get_write_buffer_size()
        if n_unsent == 0 or n_unsent > self.n_unsent or self.n_unsent - n_unsent >= LEAST_BYTES:
            self.n_unsent, self.unsent_since = n_unsent, now
        return now - self.unsent_since >= self.limits.client_seconds

    def sends_nothing(self) -> bool:
        """Whether the client sent no head, or next to nothing of a body, and did not wait for the service itself."""
        now = self.loop.time()
        if self.stage not in (Stage.HEAD, Stage.BODY) or self.transport.is_closing():
            return False
        if self.stage is Stage.HEAD or self.cycle.response_complete:
            return now - self.since >= self.limits.client_seconds
        is_kept_waiting = self.flow.read_paused or self.cycle.waiting_for_100_continue
        is_over = now - self.since >= self.limits.client_seconds
        if is_kept_waiting or (is_over and self.n_body_bytes >= LEAST_BYTES):
            self.since, self.n_body_bytes = now, 0
            return False
        return is_over


def bounded(settings: Settings) -> type[BoundedProtocol]:
    """The protocol within the limits of the settings."""

    class Bounded(BoundedProtocol):
        limits = Limits(settings.client_seconds, settings.max_connections)

    return Bounded
