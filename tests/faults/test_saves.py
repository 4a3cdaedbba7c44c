"""What happens within a save and between reapers, in this process, over both databases."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import Engine, event, select, text, update

from app.core import leases
from app.core.db import Database
from app.core.settings import Settings
from app.core.tables import Checkpoint, Draw, Unit
from tests.waits import PATIENCE
from tests.worker import jobs
from worker import runner, store

FOREVER = 60.0  # seconds of a lease
SHORT = 0.5
N_REAPERS = 8
N_ROUNDS = 10


def with_changes(settings: Settings, **changes: float) -> Settings:
    return settings.model_copy(update=changes)


def first_chain(database: Database, settings: Settings, **fields: Any) -> tuple[str, int]:
    """A job with one chain, encoded; its id and the chain's unit."""
    corpus_id = jobs.upload(database, jobs.rows())
    return next_chain(database, settings, corpus_id, **fields)


def next_chain(database: Database, settings: Settings, corpus_id: str, **fields: Any) -> tuple[str, int]:
    job_id, unit_ids = jobs.submit(database, corpus_id, chains=1, **fields)
    [chain_unit] = runner.run(database, settings, unit_ids[0], lambda: False)
    return job_id, chain_unit


def unit(database: Database, unit_id: int) -> Unit:
    with database.readers.begin() as session:
        return session.get_one(Unit, unit_id)


def test_of_many_reapers_one_takes_an_expired_unit(database: Database, settings: Settings) -> None:
    _, chain_unit = first_chain(database, settings)
    barrier = threading.Barrier(N_REAPERS)

    def reap() -> list[int]:
        barrier.wait(timeout=PATIENCE)
        with database.sessions.begin() as session:
            return leases.reap(session)

    with ThreadPoolExecutor(N_REAPERS) as pool:
        for _ in range(N_ROUNDS):
            with database.sessions.begin() as session:
                assert leases.claim(session, chain_unit, "a dead leg", FOREVER) is not None
                late = update(Unit).where(Unit.id == chain_unit).values(lease_until=0.0, attempts=1)
                session.execute(late)
            reaped = [
                unit_id for future in [pool.submit(reap) for _ in range(N_REAPERS)] for unit_id in future.result()
            ]
            assert reaped == [chain_unit]
            assert (unit(database, chain_unit).status, unit(database, chain_unit).token) == ("ready", None)


def test_of_many_claims_of_an_expired_unit_one_succeeds(database: Database, settings: Settings) -> None:
    _, chain_unit = first_chain(database, settings)
    barrier = threading.Barrier(N_REAPERS)

    def claim(token: str) -> bool:
        barrier.wait(timeout=PATIENCE)
        with database.sessions.begin() as session:
            return leases.claim(session, chain_unit, token, FOREVER) is not None

    with ThreadPoolExecutor(N_REAPERS) as pool:
        for turn in range(N_ROUNDS):
            tokens = [f"{turn}-{number}" for number in range(N_REAPERS)]
            won = [token for token, has_won in zip(tokens, pool.map(claim, tokens), strict=True) if has_won]
            assert [unit(database, chain_unit).token] == won
            with database.sessions.begin() as session:
                session.execute(update(Unit).where(Unit.id == chain_unit).values(lease_until=0.0, attempts=1))


def test_a_lease_that_ends_in_the_middle_of_a_save_lets_one_of_both_write(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The save began first, so it is written whole; the claim comes after it and goes on from there."""
    calm_id, calm_chain = first_chain(database, settings)
    jobs.run_to_the_end(database, settings, [calm_chain])
    job_id, chain_unit = next_chain(database, settings, jobs.job(database, calm_id).corpus_id)

    in_save, claimed = threading.Event(), threading.Event()
    save_chain = store.save_chain

    def slow_save(*arguments: Any) -> None:
        monkeypatch.setattr(store, "save_chain", save_chain)  # the first save only
        save_chain(*arguments)
        in_save.set()
        time.sleep(3 * SHORT)
        assert not claimed.is_set()  # the lease is long over, but the save holds the lock

    def claim() -> int | None:
        in_save.wait(timeout=PATIENCE)
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            with database.sessions.begin() as session:
                taken = leases.claim(session, chain_unit, "another", FOREVER)
                if taken is not None:
                    claimed.set()
                    return taken.n_sweeps
        return None

    monkeypatch.setattr(store, "save_chain", slow_save)
    one_sweep_a_save = with_changes(settings, lease_seconds=SHORT, heartbeat_seconds=FOREVER, save_seconds=1e-9)
    with ThreadPoolExecutor(1) as pool:
        claiming = pool.submit(claim)
        assert runner.run(database, one_sweep_a_save, chain_unit, lambda: claimed.wait(timeout=PATIENCE)) == []
        n_sweeps = claiming.result()
    assert n_sweeps == 1  # what the slow save wrote, and nothing after it
    with database.readers.begin() as session:
        assert session.get_one(Unit, chain_unit).token == "another"
        assert list(session.scalars(select(Draw.sweep).where(Draw.job_id == job_id))) == [1]
        assert list(session.scalars(select(Checkpoint.n_sweeps).where(Checkpoint.unit_id == chain_unit))) == [1]

    with database.sessions.begin() as session:
        leases.release(session, chain_unit, "another")
    jobs.run_to_the_end(database, settings, [chain_unit])
    assert jobs.outcome(database, job_id) == jobs.outcome(database, calm_id)


def test_a_unit_that_was_claimed_three_times_without_a_save_fails_its_job_with_the_reason(
    database: Database, settings: Settings
) -> None:
    job_id, chain_unit = first_chain(database, settings)
    for number in range(leases.MAX_ATTEMPTS):
        assert jobs.job(database, job_id).status == "running"
        with database.sessions.begin() as session:
            assert leases.claim(session, chain_unit, f"leg {number}", FOREVER) is not None
            session.execute(update(Unit).where(Unit.id == chain_unit).values(lease_until=0.0))
        with database.sessions.begin() as session:
            is_last = number == leases.MAX_ATTEMPTS - 1
            assert leases.reap(session) == ([] if is_last else [chain_unit])
    job = jobs.job(database, job_id)
    assert job.status == "failed"
    assert job.error is not None
    assert f"unit {chain_unit}" in job.error
    assert "claimed 3 times" in job.error
    with database.sessions.begin() as session:
        assert leases.claim(session, chain_unit, "a late message", FOREVER) is None


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
def test_a_full_disk_makes_a_leg_wait_and_leaves_the_old_checkpoint_whole(
    database: Database, settings: Settings
) -> None:
    calm_id, calm_chain = first_chain(database, settings, sweeps=150)
    jobs.run_to_the_end(database, settings, [calm_chain])
    job_id, chain_unit = next_chain(database, settings, jobs.job(database, calm_id).corpus_id, sweeps=150)
    one_sweep_a_leg = with_changes(settings, save_seconds=1e-9, leg_seconds=1e-9)
    assert runner.run(database, one_sweep_a_leg, chain_unit, lambda: False) == [chain_unit]

    disk = SmallDisk(database.engine)
    one_save_a_leg = with_changes(settings, save_seconds=0.05)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(runner.run, database, one_save_a_leg, chain_unit, lambda: False)
        disk.wait_until_full()
        saved = unit(database, chain_unit).n_sweeps
        checkpoint = newest(database, chain_unit)
        time.sleep(10 * one_save_a_leg.save_seconds)
        assert not running.done()
        assert unit(database, chain_unit).n_sweeps == saved < 150
        assert newest(database, chain_unit) == checkpoint
        assert jobs.job(database, job_id).status == "running"
        disk.grow()
        unit_ids = running.result(timeout=PATIENCE)
    jobs.run_to_the_end(database, settings, unit_ids)
    assert jobs.job(database, job_id).status == "succeeded"
    assert jobs.outcome(database, job_id) == jobs.outcome(database, calm_id)


def newest(database: Database, unit_id: int) -> bytes:
    with database.readers.begin() as session:
        return jobs.newest_checkpoint(session, session.get_one(Unit, unit_id))


class SmallDisk:
    """Lets the database grow no further: SQLite says SQLITE_FULL, as it does on a full disk."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.is_small, self.was_full = engine, True, threading.Event()
        with engine.connect() as connection:
            self.n_pages = int(connection.execute(text("PRAGMA page_count")).scalar_one())
            free = int(connection.execute(text("PRAGMA freelist_count")).scalar_one())
        self.n_pages += 0 if free else 1
        event.listen(engine, "checkout", self.limit)
        event.listen(engine, "handle_error", self.notice)

    def limit(self, connection: Any, *_: Any) -> None:
        """Set the limit of a connection that is about to be used."""
        connection.execute(f"PRAGMA max_page_count={self.n_pages if self.is_small else 2**30}")

    def notice(self, context: Any) -> None:
        """See the error that a full disk gives."""
        if "database or disk is full" in str(context.original_exception):
            self.was_full.set()

    def wait_until_full(self) -> None:
        """Wait until a write has failed for want of room."""
        assert self.was_full.wait(timeout=PATIENCE), "the disk never was full"

    def grow(self) -> None:
        """Give room again."""
        self.is_small = False
