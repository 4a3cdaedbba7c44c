"""How often one may ask: middlewares that count requests by API key, and keys that are no good by address.

The counts are in memory, or in Redis where that is the broker, so that all replicas of the API share them. A Redis that
is away keeps nobody waiting: for a while each process counts by itself then.
"""

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from http import HTTPStatus
from ipaddress import ip_address, ip_network
from typing import TypeVar

from limits import RateLimitItem, parse_many
from limits.aio.storage import MemoryStorage, RedisStorage, Storage
from limits.aio.strategies import SlidingWindowCounterRateLimiter
from limits.util import WindowStats
from redis.exceptions import RedisError
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.access.callers import Caller
from app.core.errors import TooManyRequests
from app.core.request_ids import is_inner
from app.core.settings import NO_LIMIT, Settings
from app.http.access import is_guarded, key_of
from app.http.front_door import below
from app.http.problems import refusal

Result = TypeVar("Result")

logger = logging.getLogger(__name__)

REDIS_SECONDS = 0.5  # for one question; then it counts as away
AWAY_SECONDS, SILENT_SECONDS = 5.0, 60.0  # how long it is not asked then, and after which it is logged again
UNKNOWN = "unknown"  # the address of a client that has none


class Counts:
    """Counts of what somebody did, each against some limits."""

    def __init__(self, settings: Settings, limits: str) -> None:
        """`limits` are those of a setting, such as `100/second;3000/minute`."""
        self.limits = [] if limits == NO_LIMIT else sorted(parse_many(limits))
        self.own = SlidingWindowCounterRateLimiter(MemoryStorage())
        is_shared = bool(self.limits) and settings.broker.startswith("redis")
        self.shared = SlidingWindowCounterRateLimiter(redis(settings)) if is_shared else None
        self.away_until = self.silent_until = -math.inf

    async def hit(self, who: str) -> RateLimitItem | None:
        """Count one more; the limit that this exceeds, if any."""
        return await self.asked(partial(first_full, self.limits, who, True))

    async def full(self, who: str) -> RateLimitItem | None:
        """The limit that one more would exceed, if any."""
        return await self.asked(partial(first_full, self.limits, who, False))

    async def left(self, who: str) -> list[WindowStats]:
        """Of each limit how many are left, and when there are more."""
        return await self.asked(partial(windows, self.limits, who))

    async def asked(self, question: Callable[[SlidingWindowCounterRateLimiter], Awaitable[Result]]) -> Result:
        """The answer of the shared counts, or of this process' own ones while Redis is away."""
        if self.shared is not None and time.monotonic() >= self.away_until:
            try:
                async with asyncio.timeout(REDIS_SECONDS):
                    return await question(self.shared)
            except (RedisError, OSError, TimeoutError) as error:
                self.note(error)
        return await question(self.own)

    def note(self, error: Exception) -> None:
        """Leave Redis alone for a while, and say so once in a while."""
        at = time.monotonic()
        self.away_until = at + AWAY_SECONDS
        if at >= self.silent_until:
            self.silent_until = at + SILENT_SECONDS
            logger.warning("requests are counted by this process alone: Redis does not answer: %r", error)


def redis(settings: Settings) -> Storage:
    """The broker's Redis as a place for counts; nothing is opened before the first one."""
    return RedisStorage(f"async+{settings.broker}", implementation="redispy", key_prefix="newfound:rates")


async def first_full(
    limits: Sequence[RateLimitItem], who: str, counts: bool, limiter: SlidingWindowCounterRateLimiter
) -> RateLimitItem | None:
    """The first limit that is exceeded with one more, which is counted or only thought of."""
    for limit in limits:
        if not await (limiter.hit if counts else limiter.test)(limit, who):
            return limit
    return None


async def windows(
    limits: Sequence[RateLimitItem], who: str, limiter: SlidingWindowCounterRateLimiter
) -> list[WindowStats]:
    """The windows of all limits."""
    return [await limiter.get_window_stats(limit, who) for limit in limits]


class Rates:
    """Middleware that refuses requests beyond the rate of their key, and says how many are left.

    Without keys there is no limit, unless the operator has set one: then it is for each address.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        self.counts = Counts(settings, settings.rate_limit)
        self.is_set = "rate_limit" in settings.model_fields_set

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        who = self.counted_for(scope)
        if who is None or not self.counts.limits:
            await self.app(scope, receive, send)
            return
        full = await self.counts.hit(who)
        left = await self.counts.left(who)

        async def send_with_limits(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(headers(self.counts.limits, left))
            await send(message)

        if full is None:
            await self.app(scope, receive, send_with_limits)
            return
        window = left[self.counts.limits.index(full)]
        error = TooManyRequests(f"more requests than {full} came with this key", retry_after=seconds_until(window))
        await refusal(Request(scope), error)(scope, receive, send_with_limits)

    def counted_for(self, scope: Scope) -> str | None:
        """As whose a request counts, if it does; what the page asks within the process does not."""
        caller: Caller | None = scope.get("state", {}).get("caller")
        if scope["type"] != "http" or caller is None or is_inner(scope):
            return None
        if caller.key_id is not None:
            return f"key:{caller.key_id}"
        return f"address:{address_of(scope)}" if self.is_set else None


class FailedKeys:
    """Middleware that refuses an address from which many keys came that are no good, before these are looked up."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app, self.root_path = app, settings.root_path
        self.counts = Counts(settings, settings.failed_keys_limit)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if not self.presents_key(scope) or not self.counts.limits:
            await self.app(scope, receive, send)
            return
        who = f"failed:{address_of(scope)}"
        full = await self.counts.full(who)
        if full is not None:
            window = (await self.counts.left(who))[self.counts.limits.index(full)]
            reason = f"more keys than {full} came from this address that are no good"
            await refusal(Request(scope), TooManyRequests(reason, retry_after=seconds_until(window)))(
                scope, receive, send
            )
            return

        async def send_and_count(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == HTTPStatus.UNAUTHORIZED:
                await self.counts.hit(who)
            await send(message)

        await self.app(scope, receive, send_and_count)

    def presents_key(self, scope: Scope) -> bool:
        """Whether a request presents a key, good or not, where one may be asked for."""
        if scope["type"] != "http" or not is_guarded(below(self.root_path, scope["path"])):
            return False
        return key_of(Headers(scope=scope)) is not None


def address_of(scope: Scope) -> str:
    """The address of the client; that of the whole network of a /64, of which one client has as many as it likes."""
    found = (scope.get("client") or (UNKNOWN,))[0]
    try:
        address = ip_address(found)
    except ValueError:
        return str(found)
    return str(ip_network((address, 64), strict=False)) if address.version == 6 else str(address)


def headers(limits: Sequence[RateLimitItem], left: Sequence[WindowStats]) -> dict[str, str]:
    """The limits and what is left of them, as draft-ietf-httpapi-ratelimit-headers-10 writes it."""
    policies, rest = [], []
    for limit, window in zip(limits, left, strict=True):
        name = limit.GRANULARITY.name if limit.multiples == 1 else f"{limit.multiples} {limit.GRANULARITY.name}"
        policies.append(f'"{name}";q={limit.amount};w={limit.get_expiry()}')
        rest.append(f'"{name}";r={max(window.remaining, 0)};t={seconds_until(window)}')
    return {"RateLimit-Policy": ", ".join(policies), "RateLimit": ", ".join(rest)}


def seconds_until(window: WindowStats) -> int:
    """Whole seconds until more is left."""
    return max(math.ceil(window.reset_time - time.time()), 1)
