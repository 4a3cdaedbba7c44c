"""One leg of one unit: what its work needs to know, and how it writes."""

import logging
import time
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.orm import Session

from app import leases
from app.db import Database
from app.models import Job, Unit
from app.settings import Settings
from worker.corpus_files import CorpusFiles

logger = logging.getLogger(__name__)

Result = TypeVar("Result")
AWAY = (OperationalError, InterfaceError)  # the database does not answer, is locked, or its disk is full


class Leg(NamedTuple):
    """What the work of a leg needs to know."""

    database: Database
    settings: Settings
    unit: Unit
    job: Job
    leaving: Callable[[], bool]  # asked between sweeps: the worker is to end
    lease_is_lost: Callable[[], bool]  # asked between sweeps: lost, or the job has ended

    @property
    def token(self) -> str:
        """What every write of this leg carries."""
        return str(self.unit.token)

    @property
    def files(self) -> CorpusFiles:
        """Where this host keeps encoded corpora."""
        return CorpusFiles(self.settings.encodings, self.settings.max_encodings_bytes)

    def must_stop(self) -> bool:
        """Whether this sweep is to be the last one."""
        return self.leaving() or self.lease_is_lost()

    def write(self, work: Callable[[Session], Result]) -> Result:
        """Do the work in one transaction, again and again while the database is away or its disk is full.

        The fence decides whether it may still be done by then: what another leg has taken over raises LeaseLost.
        """
        while True:
            try:
                with self.database.sessions.begin() as session:
                    return work(session)
            except AWAY as error:
                if self.leaving():
                    raise
                logger.warning("job %s: nothing can be saved, trying again: %s", self.job.id, error.orig)
                time.sleep(self.settings.save_seconds)

    def saved(self, session: Session, **progress: Any) -> bool:
        """Fence a write and note the progress; False if the job is over."""
        nothing = {"n_sweeps": self.unit.n_sweeps, "n_categories": None, "sweeps_per_second": None}
        return leases.saved(session, self.unit.id, self.token, self.settings.lease_seconds, **(nothing | progress))

    def finish(self, session: Session) -> list[int]:
        """End the unit; returns the units to send."""
        return leases.finish(session, self.unit.id, self.token)

    def release(self, session: Session) -> list[int]:
        """End the leg before its unit is done; returns the unit, to be sent again, if its job goes on."""
        return [self.unit.id] if leases.release(session, self.unit.id, self.token) else []

    def fail(self, session: Session, error: Exception) -> None:
        """Fail the job with the reason."""
        reason = f"{self.unit.kind}: {type(error).__name__}: {error}"
        leases.fail(session, self.unit.id, self.token, reason)
