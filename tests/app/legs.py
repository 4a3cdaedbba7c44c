"""What workers and clients do to units and jobs, each in a transaction of its own."""

from app.core import leases, lifecycle
from app.core.db import Database
from app.core.leases import UnitProgress
from app.core.runs import Run
from app.core.tables import Unit
from tests.app.rows import run, submit

LEASE = 60.0


def claim(database: Database, unit_id: int, token: str) -> Unit | None:
    """Claim a unit under a token."""
    with database.sessions.begin() as session:
        return leases.claim(session, unit_id, token, LEASE)


def save(database: Database, unit_id: int, token: str, n_sweeps: int = 1, digest: str | None = None) -> bool:
    """Save as a leg does."""
    with database.sessions.begin() as session:
        return leases.record_progress(session, unit_id, token, LEASE, UnitProgress(n_sweeps, 7, 3.5, digest))


def save_step(database: Database, unit_id: int, token: str, n_done: int, n_steps: int | None = None) -> bool:
    """Save as a leg of a stepwise unit does."""
    with database.sessions.begin() as session:
        return leases.record_progress(session, unit_id, token, LEASE, UnitProgress(n_done, n_steps=n_steps))


def renew(database: Database, unit_id: int, token: str) -> bool:
    """Renew as a heartbeat does."""
    with database.sessions.begin() as session:
        return leases.renew(session, unit_id, token, LEASE)


def release(database: Database, unit_id: int, token: str) -> bool:
    """End a leg."""
    with database.sessions.begin() as session:
        return leases.release(session, unit_id, token)


def finish(database: Database, unit_id: int, token: str) -> list[int]:
    """Finish a unit."""
    with database.sessions.begin() as session:
        return leases.finish(session, unit_id, token)


def fail(database: Database, unit_id: int, token: str, error: str = "it broke") -> None:
    """Fail a leg."""
    with database.sessions.begin() as session:
        leases.fail(session, unit_id, token, error)


def cancel(database: Database, job_id: str, side: str | None = None) -> None:
    """Cancel a job."""
    with database.sessions.begin() as session:
        lifecycle.cancel(session, Run(job_id, side))


def pause(database: Database, job_id: str, side: str | None = None) -> None:
    """Pause a job."""
    with database.sessions.begin() as session:
        lifecycle.pause(session, Run(job_id, side))


def resume(database: Database, job_id: str, side: str | None = None) -> list[int]:
    """Resume a job; the unit ids that were to be sent."""
    with database.sessions.begin() as session:
        return lifecycle.resume(session, Run(job_id, side))[1]


def extend(database: Database, job_id: str, sweeps: int = 5) -> list[int]:
    """Extend a job; the unit ids that were to be sent."""
    with database.sessions.begin() as session:
        return lifecycle.extend(session, job_id, sweeps)[1]


def power_test(database: Database, job_id: str) -> list[int]:
    """Ask for a power test of a job; the unit ids that were to be sent."""
    with database.sessions.begin() as session:
        return lifecycle.begin_power_test(session, job_id)[1]


def reap(database: Database) -> list[int]:
    """Reap once; the unit ids that were to be sent."""
    with database.sessions.begin() as session:
        return leases.reap(session)


def sampling(database: Database, chains: int = 2) -> tuple[str, list[int]]:
    """A job whose encode is done; its id and the chains' unit ids."""
    job_id, [encode] = submit(database, chains)
    return job_id, run(database, encode)
