"""Clients of a service, as a process of their own: python -m benchmarks.load.traffic, with a plan on standard input.

Pollers ask for a job, viewers for its page, uploaders send small batches, each one thing after the other and over a
connection that is kept. Like well-behaved clients everywhere, uploaders send a batch again, under the same key, until
it is answered. Everything has its moment, whatever became of what came before, and its seconds count from there.

Says `ready`, begins with the next line, ends with the one after it or with the input, and then prints a `Told`.
"""

import asyncio
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

from benchmarks.load import documents
from benchmarks.load.probe import HOST, NO_ANSWER, Connection, Sample

HUNG = -1  # in the place of a status: nothing came for as long as a client waits
AGAIN_SECONDS = 0.5  # after which what was not answered is sent again
AGAIN = (HUNG, NO_ANSWER, 429, 503)
JITTER = 0.1  # of the time between two requests of a client, either way
N_TEXTS = 200  # that uploaded documents take turns to have


class Plan(NamedTuple):
    """What the clients do."""

    port: int
    polled: str
    pollers: int
    poll_seconds: float  # between two polls of one of them, or more if the service says so (Retry-After)
    viewed: str
    viewers: int
    view_seconds: float
    corpora: list[str]  # one for each uploader
    batch: int  # documents of an upload
    upload_seconds: float
    patience: float = 30.0  # seconds for which a client waits for an answer


class Told(NamedTuple):
    """What became of it. A poll is a sample as probes have them; so is an upload, by its last try."""

    polls: list[Sample]
    views: list[Sample]
    uploads: list[Sample]
    tries: dict[str, int]  # to upload, by the status that was answered
    longest_try: float  # seconds
    accepted: dict[str, list[str]]  # by corpus, the keys that the service has said it took
    unanswered: dict[str, list[str]]  # those of batches that were under way at the end


class Caller:
    """A client with one connection, which is made again when it is lost."""

    def __init__(self, port: int, patience: float) -> None:
        self.port, self.patience = port, patience
        self.connection: Connection | None = None
        self.longest = 0.0

    async def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, bytes]:
        """The status and the body of an answer; NO_ANSWER and HUNG stand for none."""
        began = time.monotonic()
        try:
            async with asyncio.timeout(self.patience):
                if self.connection is None or self.connection.is_closed():
                    self.connection = Connection(*await asyncio.open_connection(HOST, self.port))
                return await self.connection.ask(method, path, body, headers)
        except TimeoutError:
            self.close()
            return HUNG, b""
        except (OSError, EOFError):
            self.close()
            return NO_ANSWER, b""
        finally:
            self.longest = max(self.longest, time.monotonic() - began)

    def retry_after(self) -> float:
        """Seconds after which the service wants to be asked again."""
        return 0.0 if self.connection is None else self.connection.retry_after

    def close(self) -> None:
        """Give the connection up."""
        if self.connection is not None:
            self.connection.writer.close()
            self.connection = None


class Uploader:
    """A client that fills a corpus."""

    def __init__(self, caller: Caller, corpus_id: str, texts: Sequence[str], batch: int) -> None:
        self.caller, self.corpus_id, self.texts, self.batch = caller, corpus_id, texts, batch
        self.n_sent = 0
        self.tries: Counter[str] = Counter()
        self.accepted: list[str] = []
        self.unanswered: list[str] = []

    async def upload(self) -> int:
        """Send the next batch until it is answered; the status of the answer."""
        numbers = range(self.n_sent, self.n_sent + self.batch)
        self.n_sent += self.batch
        self.unanswered = [f"document-{number}" for number in numbers]
        body = b"".join(
            json.dumps(
                {
                    "key": f"document-{number}",
                    "text": f"{self.texts[number % len(self.texts)]} {number}",
                    "label": documents.label(number),
                }
            ).encode()
            + b"\n"
            for number in numbers
        )
        while True:
            status, told = await self.caller.ask(
                "POST",
                f"/v1/corpora/{self.corpus_id}/documents",
                body,
                **{"Content-Type": "application/x-ndjson", "Idempotency-Key": f"batch-{numbers.start}"},
            )
            self.tries[str(status)] += 1
            if status not in AGAIN:
                break
            await asyncio.sleep(AGAIN_SECONDS)
        if status == 200 and json.loads(told).get("accepted") == self.batch:
            self.accepted += self.unanswered
            self.unanswered = []
        return status


async def paced(
    seconds: float,
    act: Callable[[], Awaitable[int]],
    samples: list[Sample],
    stop: asyncio.Event,
    least: Callable[[], float] = lambda: 0.0,
) -> None:
    """Act once in so many seconds, or in more if it is to be `least`, or nearly so, until the end."""
    at = time.monotonic() + random.uniform(0.0, seconds)
    while not stop.is_set():
        await until(at, stop)
        if not stop.is_set():
            lag = time.monotonic() - at
            status = await act()
            samples.append(Sample(at, max(lag, 0.0), time.monotonic() - at, status))
            at += max(seconds, least()) * random.uniform(1 - JITTER, 1 + JITTER)


async def until(at: float, stop: asyncio.Event) -> None:
    """Wait for a moment, or for the end."""
    try:
        async with asyncio.timeout(max(at - time.monotonic(), 0.0)):
            await stop.wait()
    except TimeoutError:
        pass


async def run(plan: Plan, stop: asyncio.Event) -> Told:
    """All clients, until the end; batches that are under way by then are still answered."""
    texts = list(documents.texts(N_TEXTS, seed=5, n_words=60))
    callers = [Caller(plan.port, plan.patience) for _ in range(plan.pollers + plan.viewers + len(plan.corpora))]
    of_pollers, others = callers[: plan.pollers], callers[plan.pollers :]
    of_viewers, of_uploaders = others[: plan.viewers], others[plan.viewers :]
    uploaders = [
        Uploader(caller, corpus_id, texts, plan.batch)
        for caller, corpus_id in zip(of_uploaders, plan.corpora, strict=True)
    ]

    def getting(caller: Caller, path: str) -> Callable[[], Awaitable[int]]:
        async def get() -> int:
            return (await caller.ask("GET", path))[0]

        return get

    polls, views, uploads = list[Sample](), list[Sample](), list[Sample]()
    await asyncio.gather(
        *(paced(plan.poll_seconds, getting(each, plan.polled), polls, stop, each.retry_after) for each in of_pollers),
        *(paced(plan.view_seconds, getting(caller, plan.viewed), views, stop) for caller in of_viewers),
        *(paced(plan.upload_seconds, uploader.upload, uploads, stop) for uploader in uploaders),
    )
    for caller in callers:
        caller.close()
    return Told(
        polls=polls,
        views=views,
        uploads=uploads,
        tries=dict(sum((uploader.tries for uploader in uploaders), Counter())),
        longest_try=max(caller.longest for caller in callers),
        accepted={uploader.corpus_id: uploader.accepted for uploader in uploaders},
        unanswered={uploader.corpus_id: uploader.unanswered for uploader in uploaders},
    )


def told_from(output: str) -> Told:
    """What the process has printed."""
    fields: dict[str, Any] = json.loads(output)
    samples = {name: [Sample(*sample) for sample in fields[name]] for name in ("polls", "views", "uploads")}
    return Told(**{**fields, **samples})


async def main() -> None:
    """Read the plan, wait for the beginning, and go on until the end."""
    plan, stop, loop = Plan(**json.loads(sys.stdin.readline())), asyncio.Event(), asyncio.get_running_loop()
    random.seed(7)
    print("ready", flush=True)
    if not sys.stdin.readline():
        return
    end = loop.run_in_executor(None, sys.stdin.readline)
    end.add_done_callback(lambda _: stop.set())
    print(json.dumps((await run(plan, stop))._asdict()))
    await end


if __name__ == "__main__":
    asyncio.run(main())
