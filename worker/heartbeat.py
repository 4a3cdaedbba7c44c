"""A thread beside a leg: renews its unit's lease, and tells it to stop. Kernels leave it the interpreter."""

import logging
import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from types import TracebackType

import numpy as np

from app.core import leases
from app.core.db import Database
from app.core.settings import Settings
from sampler.corpus import Array

logger = logging.getLogger(__name__)

LOOK_SECONDS = 0.3  # between two looks whether the leg is to stop
GRACE_SECONDS = 0.7  # for the present sweep to end and be saved; what still computes then is broken off


class Heartbeat:
    """Within this context the lease of a unit is renewed.

    `must_stop` says that the leg is to end after its present sweep: its worker leaves, its lease is lost, or its run is
    no longer live. A little later `flag` is raised, which breaks off whatever the sampler is at.
    """

    def __init__(
        self, database: Database, settings: Settings, unit_id: int, token: str, leaving: Callable[[], bool]
    ) -> None:
        self.database, self.settings = database, settings
        self.unit_id, self.token, self.leaving = unit_id, token, leaving
        self.flag: Array = np.zeros(1, np.int64)  # read by kernels while it changes
        self.ended, self.lost = threading.Event(), threading.Event()
        self.renewed_at = time.monotonic()
        beat = partial(copy_context().run, self.beat)  # what it logs is of the job and unit as well
        self.thread = threading.Thread(target=beat, name=f"heartbeat-{unit_id}", daemon=True)

    def __enter__(self) -> "Heartbeat":
        self.thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ended.set()
        self.thread.join()

    def lease_is_lost(self) -> bool:
        """Whether the lease was refused, could not be renewed in time, or the run is not live."""
        return self.lost.is_set() or time.monotonic() - self.renewed_at > self.settings.lease_seconds

    def must_stop(self) -> bool:
        """Whether the leg is to end after its present sweep."""
        return self.leaving() or self.lease_is_lost()

    def beat(self) -> None:
        """Renew and look until the leg has ended."""
        while not self.ended.wait(LOOK_SECONDS):
            if self.must_stop():
                if not self.ended.wait(GRACE_SECONDS):
                    self.flag[0] = 1
                return
            if time.monotonic() - self.renewed_at >= self.settings.heartbeat_seconds:
                self.renew()
            elif not self.is_held():
                self.lost.set()

    def renew(self) -> None:
        """Extend the lease; a database that is away is asked again at the next look."""
        asked_at = time.monotonic()
        try:
            with self.database.sessions.begin() as session:
                held = leases.renew(session, self.unit_id, self.token, self.settings.lease_seconds)
        except Exception as error:
            logger.warning("the lease was not renewed: %r", error)
            return
        if held:
            self.renewed_at = asked_at
        else:
            self.lost.set()

    def is_held(self) -> bool:
        """Whether the leg may go on, as far as the database can be asked."""
        try:
            with self.database.readers.begin() as session:
                return leases.is_held(session, self.unit_id, self.token)
        except Exception as error:
            logger.debug("the database was not asked: %r", error)
            return True
