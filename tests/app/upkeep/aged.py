"""Jobs that ended some days ago, and what hangs on them."""

from typing import Any

from sqlalchemy import func, select, update

from app.core.db import Database, now
from app.core.tables import AtomRun, Base, CalibrationStep, Checkpoint, EncodingPart, Job, SideRun
from app.upkeep.due import DAY_SECONDS
from tests.app import rows
from tests.app.rows import CORPUS


def ended(database: Database, days: float = 0.0, model: str = "calibrated") -> str:
    """A job that has succeeded so many days ago, with answers, checkpoints, steps, an encoding and atoms of its own."""
    job_id, _ = rows.submit(database, model=model)
    rows.end(database, job_id)
    rows.add_encoding(database, job_id)
    rows.add_draws(database, job_id, chains=2, sweeps=5)
    rows.add_results(database, job_id)
    chains = rows.units(database, job_id, "chain")
    with database.sessions.begin() as session:
        job = session.get_one(Job, job_id)
        job.words_digest = job_id
        session.add_all(Checkpoint(unit_id=unit.id, n_sweeps=10, data=b"state" * 100) for unit in chains)
        session.add_all(CalibrationStep(job_id=job_id, number=n, data=b"step") for n in range(3))
        atoms = {"corpus_id": CORPUS, "words_digest": job_id, "options": "{}", "data": b"atoms"}
        session.add_all(AtomRun(**atoms, number=n) for n in (0, 1))
        session.add_all(EncodingPart(encoding_id=job.encoding_id, number=n, data=b"part") for n in range(6))
    age(database, job_id, days)
    return job_id


def age(database: Database, job_id: str, days: float) -> None:
    """Let a job and its side runs have ended so many days ago."""
    then = now() - days * DAY_SECONDS
    with database.sessions.begin() as session:
        session.execute(update(Job).where(Job.id == job_id).values(finished_at=then))
        session.execute(update(SideRun).where(SideRun.job_id == job_id).values(finished_at=then))


def set_job(database: Database, job_id: str, **values: Any) -> None:
    """Give the columns of a job other values."""
    with database.sessions.begin() as session:
        session.execute(update(Job).where(Job.id == job_id).values(**values))


def n_rows(database: Database) -> int:
    """The rows of all tables."""
    with database.readers.begin() as session:
        counts = [session.scalar(select(func.count()).select_from(table)) for table in Base.metadata.sorted_tables]
    return sum(count or 0 for count in counts)


def count(database: Database, kind: type[Base], **values: Any) -> int:
    """The rows of a table that have some values."""
    with database.readers.begin() as session:
        return session.scalar(select(func.count()).select_from(kind).filter_by(**values)) or 0


def job_ids(database: Database) -> set[str]:
    """The ids of the jobs that there are."""
    with database.readers.begin() as session:
        return set(session.scalars(select(Job.id).where(Job.deleted_at.is_(None))))
