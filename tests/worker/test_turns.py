"""Turns: which unit a worker claims next, and that calls for workers never pile up."""

import time
from collections import Counter

import pytest
from sqlalchemy import select, update

from app.broker import queue
from app.core import leases
from app.core.db import Database, now
from app.core.next_unit import Free, next_unit, others_wait
from app.core.settings import Settings
from app.core.tables import Job, Unit
from tests.app.legs import claim, extend, finish, reap, release, sampling
from tests.app.rows import expire, submit, succeed
from tests.waits import PATIENCE
from tests.worker import jobs
from worker import leg, runner, turns

N_CHAINS = 8
AN_HOUR = range(0, 3_600, 30)  # seconds: as often as a ready unit calls for a worker


def next_of(database: Database, turn_of: str | None = None) -> Free | None:
    with database.readers.begin() as session:
        return next_unit(session, turn_of)


def take(database: Database, token: str, turn_of: str | None = None) -> Free:
    """Claim what is next."""
    free = next_of(database, turn_of)
    assert free is not None
    assert claim(database, free.unit_id, token)
    return free


def test_a_newcomer_comes_before_a_job_that_has_a_worker(database: Database) -> None:
    large, _ = sampling(database, N_CHAINS)
    assert take(database, "first").job_id == large
    newcomer, [encode] = submit(database)
    assert take(database, "second") == Free(encode, newcomer, None)
    finish(database, encode, "second")
    assert take(database, "second").job_id == newcomer, "its chains follow: the large job still has its worker"


def test_a_job_without_any_worker_is_waited_for(database: Database) -> None:
    large, chains = sampling(database, 2)
    claim(database, chains[0], "a")
    with database.readers.begin() as session:
        assert not others_wait(session, large), "nobody waits but its own chain"
    newcomer, [encode] = submit(database)
    with database.readers.begin() as session:
        assert others_wait(session, large)
        assert not others_wait(session, newcomer), "the large job has its worker"
    claim(database, encode, "b")
    with database.readers.begin() as session:
        assert not others_wait(session, large)


def test_a_leg_gives_way_to_a_job_that_nobody_works_on(database: Database, settings: Settings) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    large, unit_ids = jobs.submit(database, corpus_id, chains=2, sweeps=100_000)
    ready = runner.run(database, settings, unit_ids[0], lambda: False)
    newcomer, _ = jobs.submit(database, corpus_id)
    began = time.monotonic()
    forever = settings.model_copy(update={"save_seconds": 0.01, "leg_seconds": PATIENCE})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(leg, "LEAST_SHARE", 0.0)
        patch.setattr(leg, "WORTH", 0.0)  # a leg that compiles its kernels first would stay until the chain is done
        assert runner.run(database, forever, ready[0], lambda: False) == [ready[0]]
    assert time.monotonic() - began < PATIENCE, "the leg was over by itself"
    free = next_of(database)
    assert free is not None and free.job_id == newcomer
    assert jobs.job(database, large).status == "running"


def test_jobs_take_turns_on_one_worker(database: Database) -> None:
    """The one that waited longest is next, however many units it has."""
    (first, _), (second, _), (third, _) = sampling(database, N_CHAINS), sampling(database, 1), sampling(database, 2)
    served = []
    for n in range(6):
        free = take(database, f"token-{n}")
        served.append(free.job_id)
        release(database, free.unit_id, f"token-{n}")
    assert served == [first, second, third] * 2


def test_a_job_keeps_its_turn_while_it_lasts(database: Database) -> None:
    first, _ = sampling(database, N_CHAINS)
    second, _ = sampling(database, N_CHAINS)
    free = take(database, "a")
    assert free.job_id == first
    release(database, free.unit_id, "a")
    kept, passed_on = next_of(database, turn_of=first), next_of(database)
    assert kept is not None and passed_on is not None
    assert (kept.job_id, passed_on.job_id) == (first, second)


def test_the_units_of_a_job_come_in_turns(database: Database) -> None:
    _, chains = sampling(database, 3)
    served = []
    for n in range(6):
        free = take(database, f"token-{n}")
        served.append(free.unit_id)
        release(database, free.unit_id, f"token-{n}")
    assert served == chains * 2


def test_what_cannot_be_claimed_is_never_next(database: Database) -> None:
    job_id, [chain] = sampling(database, 1)
    assert claim(database, chain, "a")
    assert next_of(database) is None, "another leg holds it"
    expire(database, chain)
    free = next_of(database)
    assert free is not None and free.unit_id == chain, "its leg is dead"
    with database.sessions.begin() as session:
        session.execute(update(Unit).where(Unit.id == chain).values(attempts=leases.MAX_ATTEMPTS))
    assert next_of(database) is None, "too many legs have died of it"
    with database.sessions.begin() as session:
        session.execute(update(Unit).where(Unit.id == chain).values(attempts=0))
        session.execute(update(Job).where(Job.id == job_id).values(status="paused"))
    assert next_of(database) is None, "its job is paused"


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def test_in_an_hour_under_a_large_job_no_more_calls_wait_than_units(database: Database, settings: Settings) -> None:
    """Nobody hears the calls, as if both workers sat over their legs all the time; reapers call again and again."""
    queue.configure(settings)
    sampling(database, 64)
    job_id, unit_ids = submit(database)
    queue.wake(database.sessions, unit_ids)
    most = 0
    for _ in AN_HOUR:
        with database.sessions.begin() as session:
            session.execute(update(Unit).where(Unit.status == "ready").values(lease_until=now() - 1.0))
        for _ in range(2):  # two workers
            with database.sessions.begin() as session:
                reaped = leases.reap(session)
            queue.wake(database.sessions, reaped)
        most = max(most, queue.calls_waiting() or 0)
    assert most == 65, "one for each chain, and one for the newcomer"
    assert next_of(database) is not None and job_id


def test_a_worker_that_is_called_works_until_nothing_is_ready(database: Database, settings: Settings) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    first, _ = jobs.submit(database, corpus_id, sweeps=3)
    second, _ = jobs.submit(database, corpus_id, sweeps=3)
    n_legs = turns.work(database, settings, lambda: False)
    assert n_legs == 2 * (1 + 2 + 1)
    assert {jobs.job(database, job_id).status for job_id in (first, second)} == {"succeeded"}


def test_a_worker_that_leaves_calls_for_another(database: Database, settings: Settings) -> None:
    queue.configure(settings)
    corpus_id = jobs.upload(database, jobs.rows())
    jobs.submit(database, corpus_id, sweeps=3)
    leaves_in_the_second_leg = iter([False] * 4)

    def leaving() -> bool:
        return next(leaves_in_the_second_leg, True)

    assert turns.work(database, settings, leaving) >= 1
    with database.readers.begin() as session:
        n_ready = len(session.scalars(select(Unit.id).where(Unit.status == "ready")).all())
    assert n_ready > 0
    assert (queue.calls_waiting() or 0) >= 1


def test_a_call_that_a_leaving_worker_hears_is_passed_on(database: Database, settings: Settings) -> None:
    queue.configure(settings)
    assert turns.work(database, settings, lambda: True) == 0
    assert queue.calls_waiting() == 1


def queued_for(database: Database, owner: str, n_jobs: int, chains: int = N_CHAINS) -> list[str]:
    """Jobs of an owner, whose chains are next."""
    job_ids = [sampling(database, chains)[0] for _ in range(n_jobs)]
    with database.sessions.begin() as session:
        session.execute(update(Job).where(Job.id.in_(job_ids)).values(owner=owner, claimed_at=None))
    return job_ids


def owner_of(database: Database, free: Free) -> str:
    with database.readers.begin() as session:
        return session.get_one(Job, free.job_id).owner


def legs(database: Database, n_workers: int, n_legs: int) -> Counter[str]:
    """Whose units so many legs work on, one of the workers after the other ending its leg; by owner."""
    served: Counter[str] = Counter()
    held: list[tuple[Free, str]] = []
    for n in range(n_legs):
        if len(held) == n_workers:
            free, token = held.pop(0)
            release(database, free.unit_id, token)
        free = take(database, f"token-{n}")
        held.append((free, f"token-{n}"))
        served[owner_of(database, free)] += 1
    for free, token in held:
        release(database, free.unit_id, token)
    return served


@pytest.mark.parametrize("n_workers", [1, 2, 3])
def test_an_owner_with_many_jobs_gets_no_more_of_the_workers_than_one_with_one(
    database: Database, n_workers: int
) -> None:
    queued_for(database, "many", 12)
    queued_for(database, "one", 1)
    served = legs(database, n_workers, 24)
    assert served["many"] == served["one"] == 12


def test_three_owners_share_two_workers_whatever_their_jobs(database: Database) -> None:
    for owner, n_jobs in (("a", 1), ("b", 3), ("c", 8)):
        queued_for(database, owner, n_jobs)
    assert legs(database, 2, 24) == {"a": 8, "b": 8, "c": 8}


def test_an_owner_alone_gets_all_workers(database: Database) -> None:
    queued_for(database, "alone", 2)
    assert legs(database, 3, 9) == {"alone": 9}


def test_the_jobs_of_an_owner_take_turns_among_themselves(database: Database) -> None:
    mine = queued_for(database, "mine", 3)
    queued_for(database, "other", 1)
    served = []
    for n in range(12):
        free = take(database, f"token-{n}")
        served.append(free.job_id)
        release(database, free.unit_id, f"token-{n}")
    assert [job_id for job_id in served if job_id in mine] == mine * 2


def test_a_leg_gives_way_to_an_owner_with_fewer_workers_and_not_to_one_with_as_many(database: Database) -> None:
    [first], [second] = queued_for(database, "first", 1), queued_for(database, "second", 1)
    held = take(database, "a"), take(database, "b")
    assert {free.job_id for free in held} == {first, second}
    queued_for(database, "first", 1)
    with database.readers.begin() as session:
        assert others_wait(session, first), "another job of the same owner has no worker"
        assert not others_wait(session, second), "a worker that left would come back: its owner would have none"
    queued_for(database, "third", 1)
    with database.readers.begin() as session:
        assert others_wait(session, second)


def test_a_side_run_takes_its_turn_among_jobs(database: Database) -> None:
    job_id, unit_ids = submit(database)
    succeed(database, job_id, unit_ids)
    extend(database, job_id)
    newcomer, _ = sampling(database, 1)
    served = []
    for n in range(4):
        free = take(database, f"token-{n}")
        served.append((free.job_id, free.side))
        release(database, free.unit_id, f"token-{n}")
    assert set(served) == {(job_id, "extension"), (newcomer, None)}
    assert served[:2] == served[2:]


def test_reapers_call_again_for_some_of_a_long_queue(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "CALLS_AT_ONCE", 3)
    _, chains = sampling(database, N_CHAINS)
    expire(database, *chains)
    called = [reap(database) for _ in range(4)]
    assert [len(each) for each in called] == [3, 3, 2, 0]
    assert sorted(unit_id for each in called for unit_id in each) == chains
