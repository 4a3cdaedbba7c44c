"""Reads that many clients ask for at once, made once for all of them: two hundred who follow a job are no load.

An answer is never older than its request: whoever comes while a read is being made waits for the next one.
"""

import asyncio
import re
from asyncio import Lock, Task
from collections.abc import Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import NamedTuple
from weakref import WeakValueDictionary

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.access.callers import Caller
from app.core.request_ids import is_inner
from app.http.front_door import below
from app.http.header_lists import joined

FOLLOWED = re.compile("/v1/jobs/[^/]+")  # what clients ask for again and again
PAUSE_SECONDS = 0.05  # after a read that several have waited for; who asks alone never waits
PATIENCE_SECONDS = 1.0  # with another's read: a database that hangs is to keep nobody waiting twice
OF_BODY = (b"content-length", b"transfer-encoding")


class Asked(NamedTuple):
    """All of a request that its answer depends on."""

    path: str
    query: bytes
    owner: str
    sees_all: bool
    host: str | None
    accept: str | None


class Read(NamedTuple):
    """The answer to a request, and whose request it was."""

    scope: Scope
    messages: Sequence[Message]

    def is_for(self, scope: Scope) -> bool:
        """Whether it is an answer to this request, too: a refusal names the one that it was made for."""
        return scope is self.scope or self.messages[0]["status"] == HTTPStatus.OK


class SharedReads:
    """Middleware that makes one read of those that wait for the same; each is let in and counted by itself, outside."""

    def __init__(self, app: ASGIApp, root_path: str) -> None:
        self.app, self.root_path = app, root_path
        self.turns: WeakValueDictionary[Asked, Turns] = WeakValueDictionary()  # for as long as somebody takes them

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        asked = asked_by(scope, self.root_path)
        if asked is not None:
            read = await self.turns.setdefault(asked, Turns(self.app)).next_read(scope)
            if read is not None and read.is_for(scope):
                for message in read.messages:
                    await send(copied(message))
                return
        await self.app(scope, receive, send)


class Turns:
    """The reads of one thing, one after the other."""

    def __init__(self, app: ASGIApp) -> None:
        self.app, self.lock = app, Lock()
        self.next: Task[Read] | None = None  # waits for its turn
        self.n_waiting = 0  # for that

    async def next_read(self, scope: Scope) -> Read | None:
        """The next read that begins: one that others wait for already, unless it takes too long, or one for this."""
        is_first = self.next is None
        if self.next is None:
            self.next = asyncio.create_task(self.read(scope))
        self.n_waiting += 1
        with suppress(TimeoutError):
            async with asyncio.timeout(None if is_first else PATIENCE_SECONDS):
                return await asyncio.shield(self.next)  # the others wait on if this client's request ends
        return None

    async def read(self, scope: Scope) -> Read:
        """Read when it is this one's turn, or when the one before takes too long."""
        has_turn = await self.take_turn()
        pause = PAUSE_SECONDS if self.n_waiting > 1 else 0.0
        self.next, self.n_waiting = None, 0
        try:
            return Read(scope, await answered(self.app, scope))
        finally:
            if has_turn:
                asyncio.get_running_loop().call_later(pause, self.give_way)

    async def take_turn(self) -> bool:
        """Wait for the turn; False if it does not come."""
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_SECONDS):
                return await self.lock.acquire()
        return False

    def give_way(self) -> None:
        """Let the next one begin."""
        self.lock.release()


def asked_by(scope: Scope, root_path: str) -> Asked | None:
    """What a request asks for, if that is a read which others may ask for as well."""
    if scope["type"] != "http" or scope["method"] != "GET" or is_inner(scope):
        return None
    path, headers = below(root_path, scope["path"]), scope["headers"]
    caller: Caller | None = scope.get("state", {}).get("caller")
    if caller is None or not FOLLOWED.fullmatch(path) or any(name in OF_BODY for name, _ in headers):
        return None
    host, accept = joined(headers, b"host"), joined(headers, b"accept")
    return Asked(path, scope["query_string"], caller.owner, caller.sees_all, host, accept)


async def answered(app: ASGIApp, scope: Scope) -> list[Message]:
    """All messages of the answer to a request without a body."""
    messages: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        messages.append(message)

    await app(scope, receive, send)
    return messages


def copied(message: Message) -> Message:
    """A message of its own for each answer: on its way out headers are added."""
    return {**message, **({"headers": list(message["headers"])} if "headers" in message else {})}
