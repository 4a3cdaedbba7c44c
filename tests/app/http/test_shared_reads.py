"""Reads that are made once for all who ask at once: none is older than its request, and none is another owner's."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from starlette.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

from app.access.callers import Caller
from app.core.db import Database
from app.http import shared_reads
from app.http.shared_reads import SharedReads
from tests.app.rows import CORPUS, add_corpus

JOB = "/v1/jobs/0e8dd4b8-8a3a-4b3f-9d55-000000000001"
READ_SECONDS = 0.02
OWNER, OTHER, ADMIN = (
    Caller("one", "1", frozenset({"read"})),
    Caller("other", "2", frozenset({"read"})),
    Caller("one", "3", frozenset({"read", "admin"})),
)


class Counting:
    """An application that answers how often something had changed when a read of it began, and counts the reads."""

    def __init__(self, status: int = 200) -> None:
        self.status = status
        self.n_changes = self.n_reads = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.n_reads += 1
        seen = f"{scope['state']['caller'].owner} {self.n_changes}".encode()
        await asyncio.sleep(READ_SECONDS)
        await send({"type": "http.response.start", "status": self.status, "headers": [(b"a", b"b")]})
        await send({"type": "http.response.body", "body": seen})


def asked(path: str = JOB, caller: Caller = OWNER, method: str = "GET", **headers: str) -> Scope:
    """A request that has been let in."""
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    state = {"caller": caller}
    return {"type": "http", "method": method, "path": path, "query_string": b"", "headers": raw, "state": state}


async def answer(app: SharedReads, scope: Scope) -> list[Message]:
    """The messages of an answer; each header is then added to, as middlewares do."""
    messages: list[Message] = []

    async def send(message: Message) -> None:
        messages.append(message)
        if "headers" in message:
            message["headers"].append((b"x-own", b"1"))

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    await app(scope, receive, send)
    return messages


def body(messages: list[Message]) -> str:
    return str(messages[1]["body"].decode())


def run(act: Callable[[], Awaitable[Any]]) -> Any:
    async def within() -> Any:
        async with asyncio.timeout(30):
            return await act()

    return asyncio.run(within())


def test_many_who_ask_at_once_share_a_read_and_each_has_an_answer_of_its_own() -> None:
    counting = Counting()
    app = SharedReads(counting, "")

    async def all_at_once() -> Any:
        return await asyncio.gather(*(answer(app, asked()) for _ in range(200)))

    answers = run(all_at_once)
    assert counting.n_reads == 1
    assert {body(messages) for messages in answers} == {"one 0"}
    assert all(messages[0]["headers"] == [(b"a", b"b"), (b"x-own", b"1")] for messages in answers)


def test_no_answer_is_older_than_its_request() -> None:
    """Requests come all the while, and something changes all the while."""
    counting = Counting()
    app = SharedReads(counting, "")
    n_requests = 300

    async def ask() -> None:
        counting.n_changes += 1
        before = counting.n_changes
        assert int(body(await answer(app, asked())).split()[1]) >= before

    async def all_the_while() -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(n_requests):
                group.create_task(ask())
                await asyncio.sleep(0.001)

    run(all_the_while)
    # 300 requests take 0.3 s at least, of which each read has its time and a pause: 5 of them, and twice as many where
    # the machine is slow to begin.
    assert counting.n_reads < n_requests / 5


def test_who_asks_alone_waits_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_reads, "PAUSE_SECONDS", 60.0)
    counting = Counting()
    app = SharedReads(counting, "")

    async def one_after_the_other() -> None:
        for _ in range(5):
            await answer(app, asked())

    run(one_after_the_other)
    assert counting.n_reads == 5
    assert not app.turns, "nothing is remembered of those who have left"


@pytest.mark.parametrize(
    "other",
    [
        asked(caller=OTHER),
        asked(caller=ADMIN),
        asked(f"{JOB}0"),
        asked(accept="text/csv"),
        asked(host="elsewhere"),
        {**asked(), "query_string": b"a=1"},
    ],
)
def test_who_asks_for_something_else_has_a_read_of_its_own(other: Scope) -> None:
    counting = Counting()
    app = SharedReads(counting, "")

    async def both() -> Any:
        return await asyncio.gather(answer(app, asked()), answer(app, other))

    mine, others = run(both)
    assert (body(mine), body(others)) == ("one 0", f"{other['state']['caller'].owner} 0")
    assert counting.n_reads == 2


@pytest.mark.parametrize("scope", [asked(method="POST"), asked(f"{JOB}/cancel"), asked(content_length="1")])
def test_what_is_no_plain_read_of_a_job_is_not_shared(scope: Scope) -> None:
    counting = Counting()
    app = SharedReads(counting, "")

    async def three() -> None:
        await asyncio.gather(*(answer(app, {**scope}) for _ in range(3)))

    run(three)
    assert counting.n_reads == 3


def test_a_refusal_is_for_one_request_alone() -> None:
    counting = Counting(status=404)
    app = SharedReads(counting, "")

    async def three() -> Any:
        return await asyncio.gather(*(answer(app, asked()) for _ in range(3)))

    assert [messages[0]["status"] for messages in run(three)] == [404] * 3
    assert counting.n_reads == 3


def test_a_read_that_hangs_keeps_nobody_else_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_reads, "PATIENCE_SECONDS", 0.05)

    class Hanging(Counting):
        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            if self.n_reads == 0:
                self.n_reads += 1
                await asyncio.sleep(3_600)
            await super().__call__(scope, receive, send)

    app = SharedReads(Hanging(), "")

    async def one_then_others() -> Any:
        first = asyncio.create_task(answer(app, asked()))
        await asyncio.sleep(0)
        others = await asyncio.gather(*(answer(app, asked()) for _ in range(5)))
        assert not first.done()
        first.cancel()
        return others

    assert {body(messages) for messages in run(one_then_others)} == {"one 0"}


def test_a_client_that_leaves_takes_nobody_with_it() -> None:
    app = SharedReads(Counting(), "")

    async def two() -> str:
        first = asyncio.create_task(answer(app, asked()))
        second = asyncio.create_task(answer(app, asked()))
        await asyncio.sleep(READ_SECONDS / 2)
        first.cancel()
        return body(await second)

    assert run(two) == "one 0"


def test_a_fault_is_everybodys_and_the_next_read_is_well() -> None:
    class Failing(Counting):
        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            if self.n_reads == 0:
                self.n_reads += 1
                raise ZeroDivisionError
            await super().__call__(scope, receive, send)

    app = SharedReads(Failing(), "")

    async def two_then_one() -> Any:
        failed = await asyncio.gather(*(answer(app, asked()) for _ in range(2)), return_exceptions=True)
        return [*failed, await answer(app, asked())]

    one, other, last = run(two_then_one)
    assert isinstance(one, ZeroDivisionError) and isinstance(other, ZeroDivisionError)
    assert body(last) == "one 0"


def test_a_change_is_in_the_next_answer_of_the_service(client: TestClient, database: Database) -> None:
    with database.sessions.begin() as session:
        add_corpus(session)
    options = {"text": {"stop_words": "none", "min_document_frequency": 1}, "discover": True}
    job = client.post("/v1/jobs", json={"corpus_id": CORPUS, **options}).json()["links"]["self"]
    for act, status in (("pause", "paused"), ("resume", "queued"), ("cancel", "cancelled")):
        client.post(f"{job}/{act}")
        assert client.get(job).json()["status"] == status
