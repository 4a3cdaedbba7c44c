"""The load benchmark's largest scenario: how speeds are compared, what clients do, and how they are counted."""

import asyncio
import math
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from app.core.db import Database
from app.core.tables import Corpus, Document
from benchmarks.load.chains import Save, relative_speed, sweeps_per_second
from benchmarks.load.clients import Clients, count
from benchmarks.load.probe import NO_ANSWER
from benchmarks.load.together import Together
from benchmarks.load.traffic import HUNG, Caller, Plan, Told, Uploader
from tests.faults.programs import ROOT
from tests.waits import free_port

HOST = "127.0.0.1"
CORPUS = "0e8dd4b8-8a3a-4b3f-9d55-111111111111"
GOOD = {
    "poll p99 ms": 40.0,
    "answers that were not 200": {},
    "loss to the service": 0.1,
    "documents accepted": 100,
    "lost": 0,
    "doubled": 0,
    "counts unlike": 0,
    "digests": "equal",
}
Answering = Callable[[bytes], Awaitable[bytes | None]]


def test_a_chain_that_takes_twice_as_long_for_the_same_sweeps_has_half_its_speed():
    alone = {0: [Save(n / 20 + n**2 / 2_000, n) for n in range(0, 201, 2)]}  # the later sweeps cost more
    slowed = {0: [Save(1_000.0 + 2 * save.at, save.n_sweeps) for save in alone[0]]}
    for began, ended in ((1_000.0, 1_060.0), (1_005.0, 1_015.0), (1_015.0, 1_045.0)):
        # Between saves, 2 sweeps apart, the cost of a sweep changes by 2 / 1000 of a second at most.
        assert relative_speed(slowed, alone, began, ended) == pytest.approx(0.5, abs=0.001)
    assert relative_speed(alone, alone, 3.0, 22.0) == pytest.approx(1.0, abs=0.001)


def test_a_moment_in_which_the_machine_stood_still_does_not_make_a_chain_alone_slow():
    """The curve through a step of 1 s in the middle of 30 s rises by 1.5 / 30 = 0.05 more a second; the step by 1."""
    even = {0: [Save(n / 10, n) for n in range(301)]}
    stood_still = {0: [Save(save.at + (save.n_sweeps > 150), save.n_sweeps) for save in even[0]]}
    for began, ended in ((5.0, 10.0), (14.0, 16.0), (20.0, 25.0)):
        assert relative_speed(even, stood_still, began, ended) == pytest.approx(1.0, abs=0.06)


def test_the_speed_of_chains_is_unknown_when_one_was_not_at_work_all_the_time():
    alone = {0: [Save(0.0, 0), Save(10.0, 100)], 1: [Save(0.0, 0), Save(20.0, 100)]}
    assert relative_speed(alone, alone, 1.0, 9.0) == pytest.approx(1.0)
    for began, ended, other in ((1.0, 11.0, alone), (-1.0, 9.0, alone), (1.0, 9.0, {0: alone[0]})):
        assert math.isnan(relative_speed(alone, other, began, ended))


def test_sweeps_a_second_are_those_of_all_chains():
    assert sweeps_per_second({0: [Save(5.0, 10), Save(15.0, 110)], 1: [Save(0.0, 0), Save(20.0, 100)]}) == 15.0


async def answered(answering: Answering, act: Callable[[int], Awaitable[Any]]) -> Any:
    """What an act returns with the port of a server that answers a request by its body; None closes the connection."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = head.partition(b"Content-Length: ")[2].partition(b"\r\n")[0]
                found = await answering(head + await reader.readexactly(int(length or 0)))
                if found is None:
                    return
                writer.write(found)
        except EOFError:
            pass  # the client has left
        finally:
            writer.close()

    server = await asyncio.start_server(serve, HOST, 0)
    try:
        return await act(server.sockets[0].getsockname()[1])
    finally:
        server.close()


def reply(status: int, body: bytes = b"{}") -> bytes:
    """An answer as bytes."""
    return b"HTTP/1.1 %d Told\r\nContent-Length: %d\r\n\r\n%b" % (status, len(body), body)


def test_an_uploader_sends_the_same_batch_again_until_it_is_answered(monkeypatch):
    monkeypatch.setattr("benchmarks.load.traffic.AGAIN_SECONDS", 0.01)
    asked = list[bytes]()
    answers = iter([None, reply(503), reply(429), reply(200, b'{"accepted": 3}'), reply(200, b'{"accepted": 2}')])

    async def answering(request: bytes) -> bytes | None:
        asked.append(request)
        return next(answers)

    async def act(port: int) -> Uploader:
        uploader = Uploader(Caller(port, 10.0), CORPUS, ["some words"], 3)
        assert await uploader.upload() == 200
        assert await uploader.upload() == 200
        uploader.caller.close()
        return uploader

    uploader = asyncio.run(answered(answering, act))
    assert len({*asked[:4]}) == 1 and asked[3] != asked[4]
    assert b"Idempotency-Key: batch-0\r\n" in asked[0] and b"Idempotency-Key: batch-3\r\n" in asked[4]
    assert uploader.tries == {str(NO_ANSWER): 1, "503": 1, "429": 1, "200": 2}
    assert uploader.accepted == ["document-0", "document-1", "document-2"]
    assert uploader.unanswered == ["document-3", "document-4", "document-5"]  # the service took two of them


def test_a_client_that_is_not_answered_in_time_says_so_and_asks_over_another_connection():
    hung = [True]

    async def answering(_: bytes) -> bytes:
        if hung.pop() if hung else False:
            await asyncio.sleep(0.5)
        return reply(200)

    async def act(port: int) -> list[int]:
        caller = Caller(port, 0.2)
        statuses = [(await caller.ask("GET", "/"))[0] for _ in range(2)]
        caller.close()
        await asyncio.sleep(0.4)  # until the late answer finds nobody
        return statuses

    assert asyncio.run(answered(answering, act)) == [HUNG, 200]


def test_clients_of_a_server_that_does_nothing_keep_their_pace():
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.load.nothing", str(port), "300"]
    plan = Plan(
        port=port, polled="/v1/jobs/1", pollers=10, poll_seconds=0.1, viewed="/", viewers=1, view_seconds=0.5,
        corpora=[CORPUS], batch=2, upload_seconds=0.2,
    )  # fmt: skip
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as server:
        try:
            assert server.stdout is not None and server.stdout.readline() == b"ready\n"
            clients = Clients(plan)
            began = time.monotonic()
            clients.begin()
            time.sleep(2.0)
            told = clients.end()
            seconds = time.monotonic() - began
        finally:
            server.kill()
    assert {sample.status for sample in (*told.polls, *told.views, *told.uploads)} == {200}
    # Ten times a second each, ten per cent more or less often; a machine that is busy starts them late.
    assert 10 <= len(told.polls) <= 10 * (seconds / 0.09 + 1)
    assert told.accepted == {CORPUS: []}  # the server does not claim to have taken anything


def test_documents_that_are_lost_or_that_nobody_sent_are_counted(database: Database) -> None:
    with database.sessions.begin() as session:
        session.add(Corpus(id=CORPUS, name="load", version=1))
        session.flush()
        session.add_all(
            Document(corpus_id=CORPUS, version=1, key=key, text="some words")
            for key in ("a", "b", "under way", "alien")
        )
    told = Told([], [], [], {}, 0.0, accepted={CORPUS: ["a", "b"]}, unanswered={CORPUS: ["under way", "other"]})
    assert count(database, told, lambda _: 4) == (0, 1, 0)
    told.accepted[CORPUS].append("gone")
    told.unanswered[CORPUS].append("alien")
    assert count(database, told, lambda _: 5) == (1, 0, 1)


@pytest.mark.parametrize(
    ("figure", "value"),
    [
        ("poll p99 ms", 100.0),
        ("poll p99 ms", math.nan),
        ("answers that were not 200", {"503": 1}),
        ("loss to the service", 0.15),
        ("loss to the service", math.nan),
        ("documents accepted", 0),
        ("lost", 1),
        ("doubled", 1),
        ("counts unlike", 1),
        ("digests", "unlike"),
    ],
)
def test_each_floor_of_the_whole_that_is_missed_is_a_sentence(figure: str, value: Any) -> None:
    scenario = Together.__new__(Together)
    assert scenario.misses(GOOD) == []
    [miss] = scenario.misses({**GOOD, figure: value})
    assert miss.startswith(f"{figure}: ")
