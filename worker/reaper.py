"""A timer in every worker: says that the worker lives, and sends again the units whose lease ran out.

No worker is special, so none is missed when it dies.
"""

import logging
from typing import Any

from celery import bootsteps

from app import leases, presence, queue
from app.db import connect
from app.settings import Settings

logger = logging.getLogger(__name__)


class Reaper(bootsteps.StartStopStep):  # type: ignore[misc]
    """Runs `reap` every few seconds in the worker's parent process, between its other timers."""

    requires = ("celery.worker.components:Timer",)

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        self.settings = Settings()
        self.database = connect(self.settings.database)
        self.name = ""
        self.timer: Any = None

    def start(self, parent: Any) -> None:
        """Begin to reap."""
        self.name = str(parent.hostname)
        self.reap()
        self.timer = parent.timer.call_repeatedly(self.settings.reap_seconds, self.reap)

    def stop(self, parent: Any) -> None:
        """Reap no more."""
        if self.timer is not None:
            self.timer.cancel()

    def reap(self) -> None:
        """Send again what has no live lease; a database that is away is asked again next time."""
        try:
            with self.database.sessions.begin() as session:
                presence.seen(session, self.name)
                unit_ids = leases.reap(session)
        except Exception:
            logger.warning("nothing was reaped", exc_info=True)
            return
        queue.wake(self.database.sessions, unit_ids)
