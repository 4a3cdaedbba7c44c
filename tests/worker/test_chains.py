"""Legs that sweep a chain, over real databases: however they are cut, stopped or damaged, the draws are the same."""

import time
from typing import Any

import pytest
from sqlalchemy import select, update
from sqlalchemy.exc import OperationalError

from app.core import leases, lifecycle
from app.core.db import Database
from app.core.runs import Run
from app.core.settings import Settings
from app.core.tables import Checkpoint, Draw, Job, Unit
from sampler.lbpl_ntm import chain
from tests.waits import slowness
from tests.worker import jobs
from worker import runner, store


def test_each_sweep_leaves_one_draw_and_the_last_two_checkpoints_are_kept(
    database: Database, settings: Settings
) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    job_id, unit_ids = jobs.submit(database, corpus_id)
    jobs.run_to_the_end(database, jobs.with_changes(settings, **jobs.SAVE_AFTER_EVERY_SWEEP), unit_ids)
    drawn = [(draw["chain"], draw["sweep"]) for draw in jobs.outcome(database, job_id)["draws"]]
    assert drawn == [(chain_number, sweep) for chain_number in (0, 1) for sweep in range(1, 13)]
    with database.readers.begin() as session:
        kept = list(session.scalars(select(Checkpoint.n_sweeps).order_by(Checkpoint.unit_id, Checkpoint.id)))
    assert kept == [11, 12, 11, 12]


def test_a_job_in_many_legs_leaves_the_same_bytes_as_one_in_few(database: Database, settings: Settings) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    few_id, unit_ids = jobs.submit(database, corpus_id)
    n_few = jobs.run_to_the_end(database, settings, unit_ids)
    many_id, unit_ids = jobs.submit(database, corpus_id)
    n_many = jobs.run_to_the_end(database, jobs.with_changes(settings, **jobs.ONE_STEP_A_LEG), unit_ids)
    assert (n_few, n_many) == (4, 2 + 2 * 12)
    assert jobs.outcome(database, many_id) == jobs.outcome(database, few_id)


@pytest.mark.parametrize("kernel", sorted(chain.KERNELS))
def test_threads_change_no_result(database: Database, settings: Settings, kernel: str) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    outcomes = []
    for threads in (1, 2):
        job_id, unit_ids = jobs.submit(database, corpus_id, kernel=kernel, chains=1)
        jobs.run_to_the_end(database, jobs.with_changes(settings, threads=threads), unit_ids)
        outcomes.append(jobs.outcome(database, job_id))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("told", ["blocked", "collapsed", None])
def test_a_chain_starts_under_the_kernel_of_its_job(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch, told: str | None
) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    job_id, unit_ids = jobs.submit(database, corpus_id, chains=1, kernel=told or "blocked")
    if told is None:  # as a job has it from before there was a choice
        with database.sessions.begin() as session:
            job = session.get_one(Job, job_id)
            job.settings = {name: value for name, value in job.settings.items() if name != "kernel"}
    started: list[object] = []

    def start(*arguments: object) -> None:
        started.append(arguments[4])
        raise ValueError("it is only looked at")

    monkeypatch.setattr(chain, "start", start)
    jobs.run_to_the_end(database, settings, unit_ids)
    assert started == [told or "collapsed"]


def test_a_leg_that_is_told_to_leave_saves_and_is_sent_again(database: Database, settings: Settings) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    job_id, unit_ids = jobs.submit(database, corpus_id, chains=1)
    [chain_unit] = runner.run(database, settings, unit_ids[0], lambda: False)
    assert runner.run(database, settings, chain_unit, jobs.Asked(False, True)) == [chain_unit]
    with database.readers.begin() as session:
        unit = session.get_one(Unit, chain_unit)
    assert (unit.status, unit.token, unit.n_sweeps) == ("ready", None, 2)
    assert len(jobs.outcome(database, job_id)["draws"]) == 2


def test_a_cancelled_job_keeps_its_draws_and_a_resumed_one_ends_as_if_undisturbed(
    database: Database, settings: Settings
) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    calm_id, unit_ids = jobs.submit(database, corpus_id, chains=1)
    jobs.run_to_the_end(database, settings, unit_ids)

    job_id, unit_ids = jobs.submit(database, corpus_id, chains=1)
    [chain_unit] = runner.run(database, settings, unit_ids[0], lambda: False)

    def cancel() -> None:
        with database.sessions.begin() as session:
            lifecycle.cancel(session, Run(job_id))

    one_sweep_a_save = jobs.with_changes(settings, **jobs.SAVE_AFTER_EVERY_SWEEP)
    assert runner.run(database, one_sweep_a_save, chain_unit, jobs.Asked(*[False] * 4, cancel, False)) == []
    assert jobs.job(database, job_id).status == "cancelled"
    n_draws = len(jobs.outcome(database, job_id)["draws"])
    assert 4 <= n_draws < 12
    assert runner.run(database, settings, chain_unit, lambda: False) == []  # a late message finds nothing to do

    with database.sessions.begin() as session:
        _, unit_ids = lifecycle.resume(session, Run(job_id))
    jobs.run_to_the_end(database, settings, unit_ids)
    assert jobs.job(database, job_id).status == "succeeded"
    assert jobs.outcome(database, job_id) == jobs.outcome(database, calm_id)


def test_a_leg_whose_lease_was_taken_over_writes_nothing(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    _, unit_ids = jobs.submit(database, corpus_id, chains=1)
    [chain_unit] = runner.run(database, settings, unit_ids[0], lambda: False)
    sweep = chain.sweep

    def sweep_while_another_takes_over(*arguments: object) -> object:
        with database.sessions.begin() as session:
            session.execute(update(Unit).where(Unit.id == chain_unit).values(lease_until=0.0))
            assert leases.claim(session, chain_unit, "another", 60.0) is not None
        monkeypatch.setattr(chain, "sweep", sweep)
        return sweep(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(chain, "sweep", sweep_while_another_takes_over)
    assert (
        runner.run(database, jobs.with_changes(settings, **jobs.SAVE_AFTER_EVERY_SWEEP), chain_unit, lambda: False)
        == []
    )
    with database.readers.begin() as session:
        assert session.get_one(Unit, chain_unit).token == "another"
        assert list(session.scalars(select(Draw))) == []
        assert list(session.scalars(select(Checkpoint))) == []


def test_a_damaged_checkpoint_is_passed_over_for_the_one_before_it(database: Database, settings: Settings) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    calm_id, unit_ids = jobs.submit(database, corpus_id, chains=1)
    jobs.run_to_the_end(database, settings, unit_ids)

    job_id, unit_ids = jobs.submit(database, corpus_id, chains=1)
    [chain_unit] = runner.run(database, settings, unit_ids[0], lambda: False)
    one_sweep_a_leg = jobs.with_changes(settings, **jobs.ONE_STEP_A_LEG)
    for _ in range(5):
        runner.run(database, one_sweep_a_leg, chain_unit, lambda: False)
    with database.sessions.begin() as session:
        newest = session.scalars(
            select(Checkpoint).where(Checkpoint.unit_id == chain_unit).order_by(Checkpoint.id.desc()).limit(1)
        ).one()
        newest.data = jobs.damaged(newest.data)
    jobs.run_to_the_end(database, settings, [chain_unit])
    assert jobs.outcome(database, job_id) == jobs.outcome(database, calm_id)


def test_a_save_waits_for_a_database_that_is_away(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    calm_id, unit_ids = jobs.submit(database, corpus_id, chains=1)
    jobs.run_to_the_end(database, settings, unit_ids)

    job_id, unit_ids = jobs.submit(database, corpus_id, chains=1)
    save_chain, times_away = store.save_chain, iter(range(3))

    def save_when_it_is_back(*arguments: Any) -> None:
        save_chain(*arguments)  # what is written in this transaction is undone
        for _ in times_away:
            raise OperationalError("COMMIT", {}, Exception("the server closed the connection"))

    monkeypatch.setattr(store, "save_chain", save_when_it_is_back)
    jobs.run_to_the_end(database, jobs.with_changes(settings, save_seconds=0.01), unit_ids)
    assert next(times_away, None) is None
    assert jobs.outcome(database, job_id) == jobs.outcome(database, calm_id)


def test_the_heartbeat_keeps_the_lease_through_a_long_sweep(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    job_id, unit_ids = jobs.submit(database, corpus_id, chains=1, sweeps=1)
    lease = 0.6 * slowness()
    short = jobs.with_changes(settings, lease_seconds=lease, heartbeat_seconds=lease / 6)
    [chain_unit] = runner.run(database, short, unit_ids[0], lambda: False)
    sweep = chain.sweep

    def long_sweep(*arguments: object) -> object:
        time.sleep(2.5 * lease)
        with database.sessions.begin() as session:
            assert leases.reap(session) == []
            assert leases.claim(session, chain_unit, "another", 60.0) is None
        return sweep(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(chain, "sweep", long_sweep)
    jobs.run_to_the_end(database, short, [chain_unit])
    assert jobs.job(database, job_id).status == "succeeded"
