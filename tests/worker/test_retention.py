"""Jobs whose checkpoints have expired: what they share with others is computed again, to the same bytes."""

import pytest
from sqlalchemy import func, select

from app.core import lifecycle
from app.core.db import Database
from app.core.errors import JobNotExtendable
from app.core.settings import Settings
from app.core.tables import AtomRun, EncodingPart, Job, Unit
from app.upkeep.prune import Ages, prune_once
from tests.worker.jobs import finished, run_to_the_end, submit_calibrated


def digests(database: Database, job_id: str) -> list[str | None]:
    """Those of all units that have one."""
    with database.readers.begin() as session:
        mine = select(Unit.digest).where(Unit.job_id == job_id, Unit.digest.is_not(None))
        return list(session.scalars(mine.order_by(Unit.kind, Unit.chain)))


def n_of(database: Database, kind: type[AtomRun | EncodingPart]) -> int:
    """How many rows a table has."""
    with database.readers.begin() as session:
        return session.scalar(select(func.count()).select_from(kind)) or 0


def test_a_job_notes_the_atoms_that_it_uses_and_they_stay_as_long_as_it_may_go_on(
    database: Database, settings: Settings
) -> None:
    job_id = finished(database, settings, submit_calibrated)
    with database.readers.begin() as session:
        noted = session.get_one(Job, job_id).words_digest
        assert set(session.scalars(select(AtomRun.words_digest))) == {noted}
    before = n_of(database, AtomRun), n_of(database, EncodingPart)
    prune_once(database, Ages())
    assert (n_of(database, AtomRun), n_of(database, EncodingPart)) == before
    with database.sessions.begin() as session:
        _, unit_ids = lifecycle.extend(session, job_id, 2)
    assert run_to_the_end(database, settings, unit_ids)


def test_a_new_job_after_all_has_expired_has_the_bytes_of_the_first_one(database: Database, settings: Settings) -> None:
    first = finished(database, settings, submit_calibrated)
    prune_once(database, Ages(checkpoints=0.0))
    assert n_of(database, AtomRun) == n_of(database, EncodingPart) == 0
    with database.readers.begin() as session:
        corpus_id = session.get_one(Job, first).corpus_id
    with pytest.raises(JobNotExtendable, match="have expired"), database.sessions.begin() as session:
        lifecycle.extend(session, first, 2)
    second, unit_ids = submit_calibrated(database, corpus_id)
    run_to_the_end(database, settings, unit_ids)
    assert digests(database, second) == digests(database, first) != []
