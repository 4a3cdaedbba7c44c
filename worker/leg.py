"""One leg of one unit: what its work needs to know, and how it writes."""

import errno
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from sqlalchemy.orm import Session

from app.core import disk, leases
from app.core.counters import counters
from app.core.db import AWAY, Database, is_away
from app.core.embedding_models import embedding_digest
from app.core.leases import UnitProgress
from app.core.next_unit import others_wait
from app.core.settings import Settings
from app.core.tables import Job, Unit
from sampler.numerics.threads import Threads
from worker.corpus_cache import CorpusCache
from worker.heartbeat import Heartbeat

logger = logging.getLogger(__name__)

Result = TypeVar("Result")
LEAST_SHARE = 0.1  # of a leg's time, after which it gives way to a job that nobody works on
WORTH = 5.0  # times the time that it took to begin
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


class Stopped(Exception):
    """The work was given up, because its worker leaves or its lease is lost."""


class DatabaseAway(Exception):
    """The database does not answer, is locked, or its disk is full."""


def nothing(session: Session) -> None:
    """Save nothing but the progress."""


@dataclass(frozen=True)
class Leg:
    """What the work of a leg needs to know."""

    database: Database
    settings: Settings
    unit: Unit
    job: Job
    heartbeat: Heartbeat
    began_at: float = field(default_factory=time.monotonic)

    @property
    def token(self) -> str:
        """What every write of this leg carries."""
        return str(self.unit.token)

    @property
    def files(self) -> CorpusCache:
        """Where this host keeps encoded corpora."""
        kept = self.settings.min_free_bytes // 2  # as that of workers' writes, see `app.core.disk`
        return CorpusCache(self.settings.encodings, self.settings.max_encodings_bytes, kept)

    @property
    def seconds(self) -> float:
        """How long all legs of the unit have worked up to now."""
        return float(self.unit.seconds) + time.monotonic() - self.began_at

    def threads(self) -> Threads:
        """Threads for the leg's computations, which are broken off if the leg does not stop in time."""
        return Threads(self.settings.threads, stop=self.heartbeat.flag)

    def leaving(self) -> bool:
        """Whether the worker is to end."""
        return self.heartbeat.leaving()

    def must_stop(self) -> bool:
        """Whether this sweep is to be the last one."""
        return self.heartbeat.must_stop()

    def is_over(self, first_work_at: float) -> bool:
        """Whether it is another's turn: the leg's time is up, or part of it is and another job has no worker at all.

        That part is longer for a leg that took long to begin with its work, so that the work stays the most of it.
        """
        seconds, limit = time.monotonic() - first_work_at, self.settings.leg_seconds
        if self.must_stop() or seconds > limit:
            return True
        if seconds < max(LEAST_SHARE * limit, WORTH * (first_work_at - self.began_at)):
            return False
        try:
            with self.database.readers.begin() as session:
                return others_wait(session, self.job.id, embedding_digest(self.settings))
        except AWAY:
            return False  # the next save waits for the database

    def write(self, work: Callable[[Session], Result]) -> Result:
        """Do the work in one transaction, again and again while the database is away or its disk is full.

        The fence decides whether it may still be done by then: what another leg has taken over raises LeaseLost.
        Raises DatabaseAway if the worker leaves meanwhile.
        """
        while True:
            reason = disk.shortage(self.settings, share=0.5)
            # What ends a leg is little, and must not keep the worker: a disk that is full is no reason then.
            if reason is None or self.must_stop():
                try:
                    with self.database.sessions.begin() as session:
                        return work(session)
                except AWAY as error:
                    if not is_away(error):
                        raise
                    reason = f"the database does not accept writes: {told(error)}"
            if self.leaving():
                raise DatabaseAway(reason)
            self.wait(reason)

    def wait(self, reason: str) -> None:
        """Wait a little, and say in the job's note why."""
        logger.warning("the job waits: %s", reason)
        try:
            with self.database.sessions.begin() as session:
                leases.note(session, self.unit.id, self.token, reason)
        except AWAY:
            pass  # nobody could read it
        time.sleep(self.settings.save_seconds)

    def save(self, work: Callable[[Session], object] = nothing, progress: UnitProgress | None = None) -> bool:
        """Save something in one transaction with the unit's progress, fenced by the lease; False if the run is over.

        Waits as `write` does.
        """

        def fenced(session: Session) -> bool:
            goes_on = self.record_progress(session, progress)
            work(session)
            return goes_on

        return self.write(fenced)

    def record_progress(self, session: Session, progress: UnitProgress | None = None) -> bool:
        """Fence a write and record the unit's progress, by default that it began with; False if the run is over."""
        present = (progress or UnitProgress(self.unit.n_sweeps))._replace(seconds=self.seconds)
        return leases.record_progress(session, self.unit.id, self.token, self.settings.lease_seconds, present)

    def end(self, work: Callable[[Session], object] = nothing) -> list[int]:
        """End the unit, and save its last results with it; returns the units that call for workers now."""

        def finish(session: Session) -> list[int]:
            next_units = leases.finish(session, self.unit.id, self.token, self.seconds)
            work(session)
            return next_units

        ready = self.write(finish)
        self.count_end("done")
        return ready

    def give_back(self, end: str = "turn_over") -> list[int]:
        """End the leg before its unit is done; returns the unit, if its run goes on."""
        self.count_end(end)
        is_due = self.write(lambda session: leases.release(session, self.unit.id, self.token))
        return [self.unit.id] if is_due else []

    def fail(self, error: Exception) -> None:
        """Fail the run with the reason."""
        self.count_end("failed")
        reason = reason_of(self.unit.kind, error)
        self.write(lambda session: leases.fail(session, self.unit.id, self.token, reason))

    def count_end(self, end: str) -> None:
        """Count how the leg ends."""
        counters.add("legs", kind=self.unit.kind, part=end)


def reason_of(kind: str, error: Exception) -> str:
    """Why a run has failed, as its owner reads it."""
    return f"{kind}: {type(error).__name__}: {told(error)}"


def told(error: Exception) -> str:
    """What an error says, without the statement that it happened in."""
    return str(getattr(error, "orig", None) or error)
