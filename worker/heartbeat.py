"""A thread that renews a unit's lease while a long sweep runs: compiled kernels leave it the interpreter."""

import logging
import threading
import time
from types import TracebackType

from app import leases
from app.db import Database
from app.settings import Settings

logger = logging.getLogger(__name__)


class Heartbeat:
    """Within this context the lease of a unit is renewed; `lease_is_lost` says when its leg must stop."""

    def __init__(self, database: Database, settings: Settings, unit_id: int, token: str) -> None:
        self.database, self.settings = database, settings
        self.unit_id, self.token = unit_id, token
        self.ended, self.lost = threading.Event(), threading.Event()
        self.renewed_at = time.monotonic()
        self.thread = threading.Thread(target=self.beat, name=f"heartbeat-{unit_id}", daemon=True)

    def __enter__(self) -> "Heartbeat":
        self.thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ended.set()
        self.thread.join()

    def lease_is_lost(self) -> bool:
        """Whether the lease was refused, or could not be renewed in time."""
        return self.lost.is_set() or time.monotonic() - self.renewed_at > self.settings.lease_seconds

    def beat(self) -> None:
        """Renew until the leg ends or the lease is refused."""
        while not self.lost.is_set() and not self.ended.wait(self.settings.heartbeat_seconds):
            asked_at = time.monotonic()
            try:
                with self.database.sessions.begin() as session:
                    held = leases.renew(session, self.unit_id, self.token, self.settings.lease_seconds)
            except Exception:
                logger.warning("unit %d: the lease was not renewed", self.unit_id, exc_info=True)
                continue
            if held:
                self.renewed_at = asked_at
            else:
                self.lost.set()
