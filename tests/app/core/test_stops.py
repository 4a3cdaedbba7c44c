"""Pausing, extending and poison on both databases: what stops a job, and how it goes on."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from app.core import leases, lifecycle
from app.core.db import Database
from app.core.errors import JobFinished, JobNotExtendable, JobNotFound, JobNotPausable, LeaseLost, SideRunNotFound
from app.core.tables import MAX_SWEEPS, Job, SideRun
from tests.app.legs import cancel, claim, extend, fail, finish, pause, reap, release, renew, resume, sampling, save
from tests.app.rows import CORPUS, expire, job_of, run, submit, succeed, units


def test_a_leg_of_a_paused_job_saves_once_more_and_stops(database: Database) -> None:
    job_id, [chain, other] = sampling(database)
    claim(database, chain, "a")
    pause(database, job_id)
    assert not renew(database, chain, "a")
    assert not save(database, chain, "a", n_sweeps=3)
    assert not release(database, chain, "a")
    expire(database, chain, other)
    assert reap(database) == [], "nothing of a paused job is sent"
    assert claim(database, chain, "b") is None
    job = job_of(database, job_id)
    assert (job.status, job.finished_at) == ("paused", None)
    assert resume(database, job_id) == [chain, other]
    unit = claim(database, chain, "c")
    assert unit is not None and unit.n_sweeps == 3


def test_a_paused_job_is_cancelled_as_any_other(database: Database) -> None:
    job_id, _ = submit(database)
    pause(database, job_id)
    with pytest.raises(JobNotPausable, match="is paused"):
        pause(database, job_id)
    cancel(database, job_id)
    assert job_of(database, job_id).finished_at is not None
    with pytest.raises(JobFinished):
        cancel(database, job_id)
    with pytest.raises(JobNotPausable, match="is cancelled"):
        pause(database, job_id)
    with pytest.raises(JobNotFound):
        pause(database, CORPUS)


def test_an_answer_that_comes_under_a_pause_is_written_after_the_resume(database: Database) -> None:
    job_id, [chain] = sampling(database, chains=1)
    [conclude] = run(database, chain)
    claim(database, conclude, "a")
    pause(database, job_id)
    with pytest.raises(LeaseLost):
        finish(database, conclude, "a")
    assert not release(database, conclude, "a")
    assert resume(database, job_id) == [conclude]
    run(database, conclude)
    assert job_of(database, job_id).status == "succeeded"


def test_a_leg_that_fails_under_a_pause_leaves_the_job_paused(database: Database) -> None:
    job_id, [chain, _] = sampling(database)
    claim(database, chain, "a")
    pause(database, job_id)
    fail(database, chain, "a")
    assert job_of(database, job_id).status == "paused"
    assert chain in resume(database, job_id)
    assert claim(database, chain, "b")


def test_an_extended_job_runs_its_chains_on_and_concludes_again(database: Database) -> None:
    job_id, [first, second] = sampling(database)
    for chain in (first, second):
        claim(database, chain, "a")
        save(database, chain, "a", n_sweeps=10, digest="d" * 64)
        ready = finish(database, chain, "a")
    succeed(database, job_id, ready)
    before = job_of(database, job_id)

    assert extend(database, job_id, sweeps=7) == [first, second]
    assert facts(database, job_id) == facts_of(before), "the job stays what it is"
    side = side_run_of(database, job_id, "extension")
    assert (side.status, side.sweeps, side.started_at, side.finished_at) == ("queued", 17, None, None)
    assert [unit.status for unit in units(database, job_id, "encode")] == ["done"]
    assert [unit.status for unit in units(database, job_id, "conclude")] == ["waiting"]
    unit = claim(database, first, "b")
    assert unit is not None and (unit.n_sweeps, unit.digest) == (10, "d" * 64)
    assert side_run_of(database, job_id, "extension").status == "running"
    assert finish(database, first, "b") == [], "the other chain is not through"
    [conclude] = run(database, second)
    assert facts(database, job_id) == facts_of(before)
    run(database, conclude)
    assert job_of(database, job_id).settings == {**before.settings, "sweeps": 17}
    side = side_run_of(database, job_id, "extension")
    assert side.status == "succeeded" and side.finished_at is not None
    assert {unit.side for kind in ("chain", "conclude") for unit in units(database, job_id, kind)} == {None}
    assert extend(database, job_id) == [first, second], "and once more"


def facts(database: Database, job_id: str) -> tuple[Any, ...]:
    """What a side run must not change."""
    return facts_of(job_of(database, job_id))


def facts_of(job: Job) -> tuple[Any, ...]:
    return job.status, job.error, job.started_at, job.finished_at, job.settings, job.edition


def side_run_of(database: Database, job_id: str, kind: str) -> SideRun:
    """A side run as it is now."""
    with database.readers.begin() as session:
        return session.get_one(SideRun, (job_id, kind))


def test_stopping_a_side_run_stops_it_alone(database: Database) -> None:
    job_id, unit_ids = submit(database)
    succeed(database, job_id, unit_ids)
    before = facts(database, job_id)
    first, second = extend(database, job_id, sweeps=7)
    claim(database, first, "a")
    pause(database, job_id, "extension")
    assert not save(database, first, "a", n_sweeps=12), "its leg is told to stop"
    assert not release(database, first, "a")
    assert claim(database, second, "b") is None
    cancel(database, job_id, "extension")
    assert facts(database, job_id) == before
    with pytest.raises(JobNotExtendable, match="is cancelled; resume it"):
        extend(database, job_id)
    with pytest.raises(SideRunNotFound):
        cancel(database, job_id, "power")
    assert resume(database, job_id, "extension") == [first, second]
    succeed(database, job_id, [first, second])
    assert job_of(database, job_id).settings["sweeps"] == 17


def test_a_side_run_that_fails_fails_alone(database: Database) -> None:
    job_id, unit_ids = submit(database)
    succeed(database, job_id, unit_ids)
    before = facts(database, job_id)
    first, _ = extend(database, job_id)
    claim(database, first, "a")
    fail(database, first, "a", "chain: MemoryError: ")
    assert facts(database, job_id) == before
    side = side_run_of(database, job_id, "extension")
    assert (side.status, side.error) == ("failed", "chain: MemoryError: ")


def test_a_corpus_with_a_side_run_under_way_is_in_use(database: Database) -> None:
    job_id, unit_ids = submit(database)
    succeed(database, job_id, unit_ids)
    with database.readers.begin() as session:
        assert lifecycle.unfinished_job(session, CORPUS) is None
    extend(database, job_id)
    with database.readers.begin() as session:
        assert lifecycle.unfinished_job(session, CORPUS) == job_id


def test_an_extended_job_whose_message_was_lost_is_sent_again(database: Database) -> None:
    job_id, unit_ids = submit(database)
    succeed(database, job_id, unit_ids)
    chains = extend(database, job_id)
    expire(database, *chains)
    assert reap(database) == chains


def test_a_job_is_not_extended_beyond_the_limit(database: Database) -> None:
    job_id, unit_ids = submit(database)
    succeed(database, job_id, unit_ids)
    with pytest.raises(JobNotExtendable, match=f"more than {MAX_SWEEPS}"):
        extend(database, job_id, sweeps=MAX_SWEEPS - 9)
    assert job_of(database, job_id).status == "succeeded"
    succeed(database, job_id, extend(database, job_id, sweeps=MAX_SWEEPS - 10))
    assert job_of(database, job_id).settings["sweeps"] == MAX_SWEEPS


def test_of_many_extensions_at_once_one_counts(database: Database) -> None:
    job_id, unit_ids = submit(database)
    succeed(database, job_id, unit_ids)

    def was_extended(_: int) -> bool:
        try:
            return bool(extend(database, job_id, sweeps=7))
        except JobNotExtendable:
            return False

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(was_extended, range(6))) == 1
    assert side_run_of(database, job_id, "extension").sweeps == 17


def test_a_job_that_is_not_over_keeps_its_units_when_an_extension_is_refused(database: Database) -> None:
    job_id, [first, _] = sampling(database)
    run(database, first)
    with pytest.raises(JobNotExtendable, match="is running"):
        extend(database, job_id)
    assert units(database, job_id, "chain")[0].status == "done"
    with pytest.raises(JobNotFound):
        extend(database, CORPUS)


def test_the_digest_is_kept_with_a_save_and_stays_where_none_is_given(database: Database) -> None:
    job_id, [chain, _] = sampling(database)
    claim(database, chain, "a")
    assert units(database, job_id, "chain")[0].digest is None
    save(database, chain, "a", digest="a" * 64)
    save(database, chain, "a", n_sweeps=2)
    unit = units(database, job_id, "chain")[0]
    assert (unit.n_sweeps, unit.digest) == (2, "a" * 64)


def die(database: Database, unit_id: int, token: str) -> list[int]:
    """Claim a unit, be killed and found dead; the ids that are sent again."""
    assert claim(database, unit_id, token)
    expire(database, unit_id)
    return reap(database)


def test_legs_that_end_in_order_are_no_attempts(database: Database) -> None:
    job_id, [chain, other] = sampling(database)
    cancelled, paused = 0, 0
    for n in range(5 * leases.MAX_ATTEMPTS):
        assert claim(database, chain, f"token-{n}"), "neither a stop of the worker nor of the job counts"
        if n % 3 == 1:
            pause(database, job_id)
            paused += 1
        if n % 3 == 2:
            cancel(database, job_id)
            cancelled += 1
        release(database, chain, f"token-{n}")
        if n % 3:
            resume(database, job_id)
    assert (paused, cancelled) == (5, 5)
    unit = units(database, job_id, "chain")[0]
    assert (unit.id, unit.attempts) == (chain, 0)
    assert die(database, chain, "a") == [chain]
    claim(database, chain, "b")
    release(database, chain, "b")
    assert units(database, job_id, "chain")[0].attempts == 1, "but what a dead leg left is remembered"
    assert die(database, chain, "c") == [chain]
    assert die(database, chain, "d") == []
    assert job_of(database, job_id).status == "failed"
    assert other not in reap(database)


def test_a_poisoned_job_says_which_unit_and_how_often_and_starts_afresh_when_resumed(database: Database) -> None:
    job_id, [_, poison] = sampling(database)
    for n in range(leases.MAX_ATTEMPTS):
        die(database, poison, f"token-{n}")
    job = job_of(database, job_id)
    assert job.status == "failed"
    assert job.error == (
        f"chain 1 (unit {poison}) was claimed 3 times without a save; its last error: none was recorded, "
        "so its workers were killed or died, perhaps for lack of memory"
    )
    assert poison in resume(database, job_id)
    assert units(database, job_id, "chain")[1].attempts == 0
    for n in range(leases.MAX_ATTEMPTS - 1):
        assert die(database, poison, f"again-{n}") == [poison]


def test_a_poisoned_job_tells_the_last_error_that_a_leg_left(database: Database) -> None:
    job_id, [chain, _] = sampling(database)
    claim(database, chain, "a")
    fail(database, chain, "a", "chain: ValueError: the corpus is cursed")
    resume(database, job_id)
    for n in range(leases.MAX_ATTEMPTS):
        die(database, chain, f"token-{n}")
    error = job_of(database, job_id).error
    assert error is not None and error.endswith("its last error: chain: ValueError: the corpus is cursed")
    resume(database, job_id)
    claim(database, chain, "b")
    save(database, chain, "b")
    assert units(database, job_id, "chain")[0].error is None, "a save puts it behind"


def test_a_unit_that_too_many_legs_died_of_is_left_to_the_reaper(database: Database) -> None:
    job_id, [chain, _] = sampling(database)
    for n in range(leases.MAX_ATTEMPTS):
        assert claim(database, chain, f"token-{n}"), "a message that is delivered again may be faster than the reaper"
        expire(database, chain)
    assert claim(database, chain, "one more") is None
    assert reap(database) == []
    assert job_of(database, job_id).status == "failed"
