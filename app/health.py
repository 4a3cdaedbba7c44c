"""Whether the service is well, part by part: its schema, its broker, its workers and its disk."""

import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from app import disk, presence, queue
from app.db import Database, head_revision, schema_revision
from app.settings import Settings

BROKER_SECONDS = 5.0  # for which what is known of the broker holds
NO_WORKER = "no worker is running: start one with `newfound worker`"
NO_BROKER = "the broker does not answer: jobs wait until it does"


class Broker:
    """Whether the broker answers, as it was seen lately.

    A broker that is away takes seconds to be noticed: nobody who asks waits for that, except for the first one.
    """

    def __init__(self, look: Callable[[], int | None] = queue.calls_waiting) -> None:
        self.look, self.lock = look, threading.Lock()
        self.answers: bool | None = None
        self.seen_at = 0.0

    def is_there(self) -> bool:
        """Whether it answered when it was last asked; if that is a while ago, it is asked again meanwhile."""
        if self.answers is None:
            self.ask()
        elif time.monotonic() - self.seen_at > BROKER_SECONDS and not self.lock.locked():
            threading.Thread(target=self.ask, name="broker", daemon=True).start()
        return bool(self.answers)

    def ask(self) -> None:
        """Ask it now, unless somebody else does."""
        if self.lock.acquire(blocking=self.answers is None):
            try:
                self.answers, self.seen_at = self.look() is not None, time.monotonic()
            finally:
                self.lock.release()


class Health(NamedTuple):
    """How the service is; `faults` names what is not well, with the reason."""

    schema: str
    workers: int
    faults: dict[str, str]


def examine(database: Database, settings: Settings, broker: Broker) -> Health:
    """Look at each part. Raises what the database raises if it does not answer."""
    revision, head = schema_revision(database) or "none", head_revision()
    with database.readers.begin() as session:
        workers = presence.alive(session, settings)
    reasons = {
        "schema": None if revision == head else f"the schema is at {revision}, not at {head}: run `newfound migrate`",
        "broker": None if broker.is_there() else NO_BROKER,
        "workers": None if workers else NO_WORKER,
        "disk": disk.shortage(settings),
    }
    return Health(revision, workers, {name: reason for name, reason in reasons.items() if reason is not None})
