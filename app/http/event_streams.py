"""The progress of jobs as server-sent events: one look a second at each job that somebody listens to, for all who do.

A listener keeps its own place, since it may have come late or have been away, and may read slowly. Where it is level
with the others, it is sent what the shared look has found; what it lacks besides it reads itself, page by page.
"""

import asyncio
import hashlib
import json
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import NamedTuple

from anyio import CancelScope, CapacityLimiter, to_thread
from anyio.lowlevel import RunVar
from fastapi.responses import StreamingResponse
from fastapi.sse import format_sse_event
from sqlalchemy import select
from starlette.types import Receive, Scope, Send

from app.core import lifecycle
from app.core.db import AWAY, Database
from app.core.errors import JobNotFound, TooManyListeners
from app.core.kinds import UnitKind
from app.core.runs import UNFINISHED
from app.core.settings import Settings
from app.core.tables import Unit
from app.http.event_places import MAX_DRAWS, Place, Sweeps, as_json, draws_between, is_level, lacking
from app.http.progress import describe
from app.schemas.results import DrawOut
from app.uploads.intake import limiter

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
HEARTBEAT_SECONDS = 15.0  # without an event; proxies cut a connection on which nothing comes
KEY_SECONDS = 15.0  # so often the key of a listener is looked at again
RETRY_MILLISECONDS = 2_000  # until a client that was cut off comes again
LOOKS_AT_ONCE = 4  # of all jobs: the database and the threads are there for requests first
LOOKS: RunVar[CapacityLimiter] = RunVar("looks at jobs that are listened to")
# A cache keeps none of it, and nginx passes on what comes as it comes.
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
HEARTBEAT = format_sse_event(comment="nothing new")
DELETED = json.dumps({"status": "deleted", "error": None})


class Look(NamedTuple):
    """A job as it was at one moment."""

    job: str  # as JSON
    end: str | None  # how it has ended, as JSON; None if it has not
    since: Sweeps  # that the look before has seen
    sweeps: Sweeps  # that are saved
    draws: str | None  # those between, as JSON; None if they are too many for a message

    @property
    def digest(self) -> str:
        """What tells the job from how it was before."""
        return hashlib.sha256(self.job.encode()).hexdigest()[:16]


class Watch:
    """A job that somebody listens to."""

    def __init__(self, job_id: str, look: Look) -> None:
        self.job_id = job_id
        self.look = look
        self.news = asyncio.Event()  # set once, and then another one is there
        self.n_listeners = 0
        self.has_failed = False
        self.following = CancelScope()  # which, unlike a cancelled task, ends no sooner than a look in a thread does

    def tell(self) -> None:
        """Wake all who wait for news."""
        news, self.news = self.news, asyncio.Event()
        news.set()


class EventStreams:
    """All streams of this process; used within its event loop alone."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self.database, self.settings = database, settings
        self.watches: dict[str, Watch] = {}
        self.tasks: set[asyncio.Task[None]] = set()  # that look at jobs
        self.n_open = 0
        self.is_leaving = False

    def check_room(self) -> None:
        """Raise TooManyListeners if there are as many streams as the settings allow."""
        limit = self.settings.max_event_streams
        if self.n_open >= limit:
            raise TooManyListeners(f"{limit} streams are open, as many as are allowed; poll, or try again later")

    def leave(self) -> None:
        """Let all streams say goodbye and end: the server is about to."""
        self.is_leaving = True
        for watch in self.watches.values():
            watch.tell()

    async def stop(self) -> None:
        """End what looks at jobs."""
        self.leave()
        for watch in self.watches.values():
            watch.following.cancel()
        await asyncio.gather(*self.tasks)

    def join(self, job_id: str, look: Look) -> Watch:
        """Listen to a job, of which the listener has had a look."""
        watch = self.watches.get(job_id)
        if watch is None:
            watch = self.watches[job_id] = Watch(job_id, look)
            if look.end is None:
                task = asyncio.create_task(self.follow(watch))
                self.tasks.add(task)
                task.add_done_callback(self.tasks.discard)
        watch.n_listeners += 1
        self.n_open += 1
        return watch

    def part(self, watch: Watch) -> None:
        """Listen no more; the last one ends the looks."""
        watch.n_listeners -= 1
        self.n_open -= 1
        if watch.n_listeners == 0:
            self.forget(watch)
            watch.following.cancel()

    def forget(self, watch: Watch) -> None:
        """Let whoever listens next look anew: the job may be resumed by then."""
        if self.watches.get(watch.job_id) is watch:
            del self.watches[watch.job_id]

    async def follow(self, watch: Watch) -> None:
        """Look at a job every second, until it has ended or nobody listens any more."""
        try:
            with watch.following:
                await self.look_on(watch)
        except Exception:
            logger.exception("the event streams of a job failed; their clients are sent away, and may come again")
            watch.has_failed = True
        self.forget(watch)
        watch.tell()

    async def look_on(self, watch: Watch) -> None:
        """Look at a job every second, until it has ended. Raises what databases raise that are there."""
        is_away = False
        while watch.look.end is None:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                look, is_away = await self.look(watch.job_id, watch.look.sweeps), False
            except AWAY as error:
                if not is_away:
                    logger.warning("event streams wait for the database: %s", str(error).partition("\n")[0])
                is_away = True
                continue
            except JobNotFound:
                look = watch.look._replace(end=DELETED, since=watch.look.sweeps, draws="[]")
            has_news = look.end is not None or (look.job, look.sweeps) != (watch.look.job, watch.look.sweeps)
            watch.look = look
            if has_news:
                watch.tell()

    async def look(self, job_id: str, since: Sweeps | None = None) -> Look:
        """Look at a job, in a thread. Raises JobNotFound, and what databases raise."""
        return await to_thread.run_sync(self.look_now, job_id, since, limiter=limiter(LOOKS, LOOKS_AT_ONCE))

    def look_now(self, job_id: str, since: Sweeps | None) -> Look:
        """Look at a job; at draws that were saved since the look before, too. Raises JobNotFound."""
        with self.database.readers.begin() as session:
            job = lifecycle.find_job(session, job_id)
            [told] = describe(session, [job], self.settings)
            # After the job itself: once that has ended, all draws are there.
            chains = select(Unit.chain, Unit.n_sweeps).where(Unit.job_id == job_id, Unit.kind == UnitKind.CHAIN)
            sweeps = {chain: n_sweeps for chain, n_sweeps in session.execute(chains) if chain is not None}
            since = sweeps if since is None else since
            # A chain that begins anew after a crash makes the same draws again: it has been there.
            sweeps = {chain: max(last, since.get(chain, 0)) for chain, last in sweeps.items()}
            is_short = sum(sweeps.values()) - sum(since.get(chain, 0) for chain in sweeps) <= MAX_DRAWS
            draws = draws_between(session, job_id, since, sweeps) if is_short else None
        has_ended = all(run is None or run.status not in UNFINISHED for run in (told, told.extension, told.power_test))
        end = json.dumps({"status": told.status, "error": told.error}) if has_ended else None
        return Look(told.model_dump_json(by_alias=True), end, since, sweeps, None if draws is None else as_json(draws))

    async def events(
        self, watch: Watch, place: Place, with_draws: bool, is_let_in: Callable[[], Awaitable[bool]]
    ) -> AsyncIterator[bytes]:
        """The events that a listener at a place lacks, as they come; the end of the job is the last one."""
        yield format_sse_event(retry=RETRY_MILLISECONDS)
        place, seen, let_in_at = place._replace(is_end=False), None, time.monotonic()
        while not self.is_leaving:
            if time.monotonic() - let_in_at > KEY_SECONDS:
                if not await is_let_in():
                    break
                let_in_at = time.monotonic()
            news, look = watch.news, watch.look
            if look is seen:
                if watch.has_failed:
                    break
                try:
                    async with asyncio.timeout(HEARTBEAT_SECONDS):
                        await news.wait()
                except TimeoutError:
                    yield HEARTBEAT
                continue
            seen = look
            if with_draws and look.draws is not None and is_level(place.sweeps, look.since):
                place = place._replace(sweeps=look.sweeps)
                if look.draws != "[]":
                    yield event("draws", look.draws, place)
            while with_draws and not self.is_leaving and lacking(place.sweeps, look.sweeps):
                place, draws = await self.more_draws(watch.job_id, place, look.sweeps)
                if draws:
                    yield event("draws", as_json(draws), place)
            if look.digest != place.digest:
                place = place._replace(digest=look.digest)
                yield event("progress", look.job, place)
            if look.end is not None:
                yield event("end", look.end, place._replace(is_end=True))
                return
        yield event("bye", "{}", place)  # the client comes again by itself, and lacks nothing

    async def more_draws(self, job_id: str, place: Place, until: Sweeps) -> tuple[Place, list[DrawOut]]:
        """A message of draws that a listener lacks, and its place with them; none while the database is away."""
        read = partial(self.read_draws, job_id, place.sweeps, until)
        try:
            draws = await to_thread.run_sync(read, limiter=limiter(LOOKS, LOOKS_AT_ONCE))
        except AWAY:
            await asyncio.sleep(LOOK_SECONDS)
            return place, []
        reached = {draw.chain: draw.sweep for draw in draws}
        if len(draws) < MAX_DRAWS:  # these are all: also where rows are gone, as those of a job that was deleted
            reached = lacking(place.sweeps, until)
        return place._replace(sweeps={**place.sweeps, **reached}), draws

    def read_draws(self, job_id: str, after: Sweeps, until: Sweeps) -> list[DrawOut]:
        """Draws between two places, as many as go into a message."""
        with self.database.readers.begin() as session:
            return draws_between(session, job_id, after, until)


class EventStream(StreamingResponse):
    """The answer to a listener; it is counted from its first byte to its last."""

    media_type = "text/event-stream"

    def __init__(
        self,
        streams: EventStreams,
        job_id: str,
        look: Look,
        place: Place,
        with_draws: bool,
        is_let_in: Callable[[], Awaitable[bool]],
    ) -> None:
        super().__init__(iter(()), headers=HEADERS)
        self.streams, self.job_id, self.first_look = streams, job_id, look
        self.place, self.with_draws, self.is_let_in = place, with_draws, is_let_in

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the job or the service ends, or the client leaves."""
        watch = self.streams.join(self.job_id, self.first_look)
        self.body_iterator = self.streams.events(watch, self.place, self.with_draws, self.is_let_in)
        try:
            await super().__call__(scope, receive, send)
        finally:
            self.streams.part(watch)


def event(name: str, data: str, place: Place) -> bytes:
    """An event as it is sent."""
    return format_sse_event(event=name, data_str=data, id=place.id())
