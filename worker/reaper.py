"""A thread in every worker: says that the worker lives, and calls for workers where a lease ran out or a call was lost.

No worker is special, so none is missed when it dies.
"""

import logging
import threading

from app.broker import queue
from app.core import leases, presence
from app.core.db import Database
from app.core.settings import Settings

logger = logging.getLogger(__name__)


class Reaper:
    """Reaps every `reap_seconds`, from its start to its stop."""

    def __init__(self, database: Database, settings: Settings, name: str) -> None:
        self.database, self.settings, self.name = database, settings, name
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.go_on, name="reaper", daemon=True)

    def start(self) -> None:
        """Reap once, then begin to do so again and again."""
        self.reap()
        self.thread.start()

    def stop(self) -> None:
        """Reap no more."""
        self.ended.set()

    def go_on(self) -> None:
        """Reap until the worker ends."""
        while not self.ended.wait(self.settings.reap_seconds):
            self.reap()

    def reap(self) -> None:
        """Free what has no live lease, and call for workers; a database that is away is asked again next time."""
        try:
            with self.database.sessions.begin() as session:
                presence.record(session, self.name)
                unit_ids = leases.reap(session)
        except Exception as error:
            logger.warning("reaping failed, will be retried: %r", error)
            return
        queue.wake(self.database.sessions, unit_ids)
