"""How a leg of any unit begins and ends, whatever becomes of it; what it does in between is one file a kind."""

import logging
import os
import secrets
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from structlog.contextvars import bind_contextvars, bound_contextvars

from app.core import leases
from app.core.counters import counters
from app.core.db import Database, is_away
from app.core.errors import LeaseLost
from app.core.kinds import SideKind, UnitKind
from app.core.settings import Settings
from app.core.tables import Job, SideRun, Unit
from app.observation.tracing import leg_span
from sampler.numerics.threads import Interrupted
from worker.chains import run_chain
from worker.conclude import conclude
from worker.encode import encode
from worker.heartbeat import Heartbeat
from worker.leg import DatabaseAway, Leg, Stopped, reason_of, told
from worker.steps import run_steps
from worker.vectors import run_vectors

logger = logging.getLogger(__name__)


def run(database: Database, settings: Settings, unit_id: int, leaving: Callable[[], bool]) -> list[int]:
    """Run one leg of a unit, if it is free; returns the ids of the units that call for workers now.

    Nothing happens if another leg holds the unit or its run is over. An error of the work itself fails the
    run, as does a row that cannot be read. If the database is away, the lease runs out and a reaper calls again.
    """
    token = new_token()
    with bound_contextvars(unit_id=unit_id, job_id=None):
        return attempt(database, settings, unit_id, token, leaving)


def attempt(database: Database, settings: Settings, unit_id: int, token: str, leaving: Callable[[], bool]) -> list[int]:
    """Run the leg under this token, and whatever becomes of it, log it."""
    try:
        with database.sessions.begin() as session:
            claimed = leases.claim(session, unit_id, token, settings.lease_seconds)
        if claimed is None:
            return []
        bind_contextvars(job_id=claimed.job_id)
        with (
            counted(claimed.kind),
            leg_span(claimed.job_id, unit_id, claimed.kind),
            Heartbeat(database, settings, unit_id, token, leaving) as heartbeat,
        ):
            unit, job = read(database, unit_id)
            logger.info("a leg of %s begins", unit.kind if unit.chain is None else f"{unit.kind} {unit.chain}")
            return work_on(Leg(database, settings, unit, job, heartbeat))
    except DatabaseAway as error:
        logger.warning("unit %d: its lease runs out: %s", unit_id, error)
    except Exception as error:
        if is_away(error):
            logger.warning("unit %d: the database is unavailable, the lease runs out: %s", unit_id, told(error))
        else:
            logger.exception("unit %d cannot be read", unit_id)
            refuse(database, unit_id, error)
    return []


@contextmanager
def counted(kind: str) -> Iterator[None]:
    """Within this context the seconds of a leg are counted."""
    began_at = time.monotonic()
    try:
        yield
    finally:
        counters.add("leg_seconds", time.monotonic() - began_at, kind)


def new_token() -> str:
    """A token for one leg, which names the process that runs it to who looks into the table of units."""
    return f"{socket.gethostname()[:64]}:{os.getpid()}:{secrets.token_hex(8)}"


def read(database: Database, unit_id: int) -> tuple[Unit, Job]:
    """A claimed unit and its job; one that is being extended as it is to be."""
    with database.readers.begin() as session:
        unit = session.get_one(Unit, unit_id)
        job = session.get_one(Job, unit.job_id)
        side = session.get(SideRun, (job.id, unit.side)) if unit.side == SideKind.EXTENSION else None
    if side is not None:
        job.settings = {**job.settings, "sweeps": side.sweeps}
    return unit, job


def refuse(database: Database, unit_id: int, error: Exception) -> None:
    """Fail the run of a unit that no leg can begin with."""
    with database.sessions.begin() as session:
        leases.refuse(session, unit_id, reason_of(f"unit {unit_id} cannot be read", error))


def work_on(leg: Leg) -> list[int]:
    """Do the unit's kind of work, and end the leg properly whatever becomes of it."""
    try:
        return WORK[leg.unit.kind](leg)
    except (LeaseLost, Stopped, Interrupted) as error:
        logger.info("the leg of %s ends: %s", leg.unit.kind, error)
        return leg.give_back("stopped")  # a run that has ended left the lease in our hands
    except DatabaseAway:
        leg.count_end("database_away")
        raise
    except Exception as error:
        if is_away(error):
            leg.count_end("database_away")
            raise
        logger.exception("%s failed", leg.unit.kind)
        leg.fail(error)
        return []


WORK: dict[str, Callable[[Leg], list[int]]] = {
    UnitKind.ENCODE: encode,
    UnitKind.VECTORS: run_vectors,
    UnitKind.ATOMS: run_steps,
    UnitKind.CALIBRATE: run_steps,
    UnitKind.CHAIN: run_chain,
    UnitKind.CONCLUDE: conclude,
    UnitKind.POWER: run_steps,
}
