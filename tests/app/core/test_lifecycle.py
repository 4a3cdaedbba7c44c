"""The life of jobs and units on both databases: who may hold what, and what follows what."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.core import leases, lifecycle
from app.core.db import Database
from app.core.errors import CorpusNotFound, JobFinished, JobNotFound, JobNotResumable, LeaseLost
from tests.app.legs import cancel, claim, fail, finish, reap, release, renew, resume, sampling, save
from tests.app.rows import CORPUS, SETTINGS, expire, job_of, run, submit, succeed, units


def test_a_job_goes_from_encode_over_its_chains_to_conclude(database: Database) -> None:
    job_id, [encode] = submit(database)
    assert job_of(database, job_id).status == "queued"
    chains = run(database, encode)
    assert job_of(database, job_id).status == "running"
    assert chains == [unit.id for unit in units(database, job_id, "chain")]
    assert run(database, chains[1]) == []
    [conclude] = run(database, chains[0])
    assert run(database, conclude) == []
    job = job_of(database, job_id)
    assert job.status == "succeeded"
    assert job.finished_at is not None and job.started_at is not None
    assert job.created_at <= job.started_at <= job.finished_at


def test_a_job_over_an_unknown_corpus_is_refused(database: Database) -> None:
    with pytest.raises(CorpusNotFound), database.sessions.begin() as session:
        lifecycle.submit(session, CORPUS, SETTINGS)


def test_a_unit_is_claimed_once(database: Database) -> None:
    _, [encode] = submit(database)
    assert claim(database, encode, "a")
    assert claim(database, encode, "b") is None


def test_of_many_claims_at_once_one_wins(database: Database) -> None:
    _, [encode] = submit(database)
    with ThreadPoolExecutor(8) as pool:
        claimed = list(pool.map(lambda n: claim(database, encode, f"token-{n}"), range(20)))
    [unit] = [unit for unit in claimed if unit is not None]
    assert unit.attempts == 1


def test_a_waiting_a_done_and_an_unknown_unit_cannot_be_claimed(database: Database) -> None:
    job_id, [encode] = submit(database)
    [waiting, *_] = units(database, job_id, "chain")
    run(database, encode)
    assert claim(database, encode, "a") is None
    assert claim(database, 10**9, "a") is None
    job_id, _ = submit(database)
    [waiting, *_] = units(database, job_id, "chain")
    assert claim(database, waiting.id, "a") is None


def test_a_lease_that_ran_out_goes_to_the_next_and_fences_the_first_out(database: Database) -> None:
    _, [chain, _] = sampling(database)
    assert claim(database, chain, "first")
    expire(database, chain)
    unit = claim(database, chain, "second")
    assert unit is not None and unit.attempts == 2
    assert not renew(database, chain, "first")
    with pytest.raises(LeaseLost):
        save(database, chain, "first")
    with pytest.raises(LeaseLost):
        finish(database, chain, "first")
    assert not release(database, chain, "first")
    fail(database, chain, "first")
    assert save(database, chain, "second")
    assert renew(database, chain, "second")


def test_a_lease_that_ran_out_unnoticed_still_saves(database: Database) -> None:
    _, [chain, _] = sampling(database)
    claim(database, chain, "first")
    expire(database, chain)
    assert save(database, chain, "first")
    assert claim(database, chain, "second") is None


def test_a_save_keeps_the_progress_and_forgives_attempts(database: Database) -> None:
    job_id, [chain, _] = sampling(database)
    claim(database, chain, "a")
    assert save(database, chain, "a", n_sweeps=4)
    unit = units(database, job_id, "chain")[0]
    assert (unit.n_sweeps, unit.n_categories, unit.sweeps_per_second, unit.attempts) == (4, 7, 3.5, 0)


def test_a_released_unit_is_sent_and_claimed_again(database: Database) -> None:
    _, [chain, _] = sampling(database)
    claim(database, chain, "a")
    assert release(database, chain, "a")
    assert not release(database, chain, "a")
    assert claim(database, chain, "b")


def test_chains_that_finish_at_once_make_conclude_ready_once(database: Database) -> None:
    _, chains = sampling(database, chains=8)
    for chain in chains:
        claim(database, chain, f"token-{chain}")
    with ThreadPoolExecutor(8) as pool:
        ready = list(pool.map(lambda chain: finish(database, chain, f"token-{chain}"), chains))
    assert len([unit_id for unit_ids in ready for unit_id in unit_ids]) == 1


def test_a_failed_leg_fails_the_job_with_its_error_and_stops_the_others(database: Database) -> None:
    job_id, [broken, other] = sampling(database)
    claim(database, broken, "a")
    claim(database, other, "b")
    fail(database, broken, "a", "the disk\0 is full")
    job = job_of(database, job_id)
    assert (job.status, job.error) == ("failed", "the disk\ufffd is full")
    assert units(database, job_id, "chain")[0].error == job.error
    assert not renew(database, other, "b")
    assert not save(database, other, "b")
    assert not release(database, other, "b")
    assert claim(database, broken, "c") is None
    assert sorted(resume(database, job_id)) == [broken, other]
    assert job_of(database, job_id).error is None
    assert claim(database, broken, "d")


def test_a_job_is_cancelled_once(database: Database) -> None:
    job_id, _ = submit(database)
    cancel(database, job_id)
    with pytest.raises(JobFinished, match="already ended \\(cancelled\\)"):
        cancel(database, job_id)
    with pytest.raises(JobNotFound):
        cancel(database, CORPUS)


def test_a_finished_job_can_be_neither_cancelled_nor_resumed(database: Database) -> None:
    job_id, unit_ids = submit(database)
    succeed(database, job_id, unit_ids)
    with pytest.raises(JobFinished, match="already ended \\(succeeded\\)"):
        cancel(database, job_id)
    with pytest.raises(JobNotResumable):
        resume(database, job_id)
    with pytest.raises(JobNotFound):
        resume(database, CORPUS)


def test_a_live_job_cannot_be_resumed_and_its_units_stay_as_they_are(database: Database) -> None:
    job_id, [chain, _] = sampling(database)
    claim(database, chain, "a")
    with pytest.raises(JobNotResumable):
        resume(database, job_id)
    assert units(database, job_id, "chain")[0].attempts == 1


def test_a_leg_of_a_cancelled_job_saves_once_more_and_stops(database: Database) -> None:
    job_id, [chain, _] = sampling(database)
    claim(database, chain, "a")
    cancel(database, job_id)
    assert not renew(database, chain, "a")
    assert not save(database, chain, "a", n_sweeps=3)
    assert not release(database, chain, "a")
    assert claim(database, chain, "b") is None
    assert units(database, job_id, "chain")[0].n_sweeps == 3


def test_a_resumed_job_goes_on_from_where_it_was(database: Database) -> None:
    job_id, [first, second] = sampling(database)
    run(database, first)
    claim(database, second, "a")
    save(database, second, "a", n_sweeps=6)
    cancel(database, job_id)
    release(database, second, "a")
    assert resume(database, job_id) == [second]
    job = job_of(database, job_id)
    assert (job.status, job.finished_at) == ("queued", None)
    unit = claim(database, second, "b")
    assert unit is not None and unit.n_sweeps == 6
    [conclude] = finish(database, second, "b")
    run(database, conclude)
    assert job_of(database, job_id).status == "succeeded"


def test_a_leg_that_has_not_seen_the_cancel_goes_on_after_the_resume(database: Database) -> None:
    job_id, [chain, _] = sampling(database)
    claim(database, chain, "old")
    cancel(database, job_id)
    assert chain in resume(database, job_id)
    assert claim(database, chain, "new") is None, "the old leg still holds the unit"
    assert save(database, chain, "old")


def test_a_leg_that_winds_down_after_the_resume_hands_its_unit_on(database: Database) -> None:
    job_id, [chain, _] = sampling(database)
    claim(database, chain, "old")
    cancel(database, job_id)
    assert not save(database, chain, "old")
    resume(database, job_id)
    assert release(database, chain, "old"), "somebody must send it now"
    assert claim(database, chain, "new")


def test_a_leg_that_died_before_the_resume_is_reaped_after_it(database: Database) -> None:
    job_id, [chain, other] = sampling(database)
    claim(database, chain, "dead")
    cancel(database, job_id)
    expire(database, chain, other)
    assert reap(database) == [], "nothing of a cancelled job is sent"
    resume(database, job_id)
    assert reap(database) == [chain]
    assert claim(database, chain, "new")
    with pytest.raises(LeaseLost):
        save(database, chain, "dead")


def test_a_chain_that_ends_under_a_cancelled_job_counts_after_the_resume(database: Database) -> None:
    job_id, [first, second] = sampling(database)
    run(database, first)
    claim(database, second, "a")
    cancel(database, job_id)
    assert finish(database, second, "a") == [], "nothing of a cancelled job is sent"
    assert resume(database, job_id) == [unit.id for unit in units(database, job_id, "conclude")]


def test_an_answer_that_comes_after_the_cancel_is_not_written(database: Database) -> None:
    job_id, [chain] = sampling(database, chains=1)
    [conclude] = run(database, chain)
    claim(database, conclude, "a")
    cancel(database, job_id)
    with pytest.raises(LeaseLost):
        finish(database, conclude, "a")
    assert job_of(database, job_id).status == "cancelled"
    assert not release(database, conclude, "a")
    assert resume(database, job_id) == [conclude]
    run(database, conclude)
    assert job_of(database, job_id).status == "succeeded"


def test_what_nobody_claims_in_time_is_sent_again_once(database: Database) -> None:
    _, [encode] = submit(database)
    assert reap(database) == [], "its time is not up"
    expire(database, encode)
    assert reap(database) == [encode]
    assert reap(database) == []


def test_of_many_reapers_at_once_one_sends(database: Database) -> None:
    _, [encode] = submit(database)
    expire(database, encode)
    with ThreadPoolExecutor(4) as pool:
        sent = [unit_id for unit_ids in pool.map(lambda _: reap(database), range(8)) for unit_id in unit_ids]
    assert sent == [encode]


def test_a_unit_that_three_legs_died_of_fails_its_job(database: Database) -> None:
    job_id, [poison, _] = sampling(database)
    for n in range(leases.MAX_ATTEMPTS):
        assert claim(database, poison, f"token-{n}")
        expire(database, poison)
        sent = reap(database)
        assert sent == ([poison] if n < leases.MAX_ATTEMPTS - 1 else [])
    job = job_of(database, job_id)
    assert job.status == "failed"
    assert job.error is not None and "claimed 3 times" in job.error


def test_a_unit_that_only_waits_for_a_worker_is_no_poison(database: Database) -> None:
    job_id, [encode] = submit(database)
    for _ in range(2 * leases.MAX_ATTEMPTS):
        expire(database, encode)
        assert reap(database) == [encode]
    assert job_of(database, job_id).status == "queued"


def test_the_databases_clock_tells_seconds_since_1970(database: Database) -> None:
    job_id, _ = submit(database)
    assert abs(job_of(database, job_id).created_at - time.time()) < 5
