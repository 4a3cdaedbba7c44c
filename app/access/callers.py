"""Callers: on whose behalf requests are, by their keys; what is known of a key is kept for some seconds."""

import hashlib
import ipaddress
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from sqlalchemy import ColumnElement, SQLColumnExpression, true

from app.access import keys
from app.core.db import Database
from app.core.settings import Settings
from app.core.tables import LOCAL

KEPT_SECONDS = 5.0  # so soon a revoked key is refused, by each process of the API
MAX_KEPT = 10_000


class Caller(NamedTuple):
    """On whose behalf a request is."""

    owner: str
    key_id: str | None  # None: no keys are asked for
    scopes: frozenset[str]  # read write admin

    @property
    def sees_all(self) -> bool:
        """Whether what belongs to other owners is there for this one, too."""
        return "admin" in self.scopes

    def owns(self, owner: SQLColumnExpression[str]) -> ColumnElement[bool]:
        """The condition, in SQL, that what has this owner is there for the caller."""
        return true() if self.sees_all else owner == self.owner


ANYONE = Caller(LOCAL, None, frozenset(keys.SCOPES))  # where no keys are asked for


class KnownKeys:
    """The keys that were presented last, so that not each request asks the database for its own."""

    def __init__(self, database: Database, mode: str, clock: Callable[[], float] = time.monotonic) -> None:
        """`mode` is the setting `api_keys`."""
        self.database, self.mode, self.clock = database, mode, clock
        self.lock = threading.Lock()
        self.callers: dict[str, tuple[Caller, float]] = {}  # by the hash of a key, and until when
        self.free_until = 0.0  # in mode auto: no key was ever made, as far as is known
        self.has_keys = False  # which is for good

    def known(self, presented: str | None) -> Caller | None:
        """The caller with a key, or without one, if it is known without asking the database."""
        if self.mode == "off":
            return ANYONE
        at = self.clock()
        if at < self.free_until:
            return ANYONE
        found = self.callers.get(hashed(presented)) if presented else None
        return found[0] if found is not None and at < found[1] else None

    def look_up(self, presented: str | None) -> Caller | None:
        """The caller with a key, or without one, by the database; None if a key is needed, and this is none."""
        if self.mode == "auto" and not self.has_keys and not self.keys_are_made():
            return ANYONE
        return self.holder(presented) if presented else None

    def find(self, presented: str | None) -> Caller | None:
        """The caller with a key, or without one: as it is known, or else by the database."""
        return self.known(presented) or self.look_up(presented)

    def keys_are_made(self) -> bool:
        """Whether any key was ever made."""
        with self.database.readers.begin() as session:
            self.has_keys = keys.are_made(session)
        self.free_until = 0.0 if self.has_keys else self.clock() + KEPT_SECONDS
        return self.has_keys

    def holder(self, presented: str) -> Caller | None:
        """Whose key this is, if it is a good one."""
        with self.database.readers.begin() as session:
            found = keys.find(session, presented)
            is_noted = found is not None and keys.is_noted(session, found.id)
        if found is None:
            return None
        caller = Caller(found.owner, found.id, frozenset(found.scopes.split()))
        with self.lock:
            if len(self.callers) >= MAX_KEPT:
                self.callers.clear()
            self.callers[hashed(presented)] = caller, self.clock() + KEPT_SECONDS
        if not is_noted:  # else nothing is written: readers wait for nobody, also where no disk has room
            with self.database.sessions.begin() as session:
                keys.note_use(session, found.id)
        return caller


def hashed(presented: str) -> str:
    """What a key is remembered by: not the key itself, which a dump of memory would show."""
    return hashlib.sha256(presented.encode("utf-8", "surrogatepass")).hexdigest()


def is_reachable(settings: Settings) -> bool:
    """Whether other machines may reach the API: its address is not one of this machine alone, or a proxy is told of."""
    if settings.trusted_hosts.strip() or settings.forwarded_allow_ips.strip():
        return True
    host = settings.host.strip("[]")
    try:
        return not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host != "localhost"
