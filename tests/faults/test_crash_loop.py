"""A hundred random kills over a small job, submitted again whenever it ends before them: the same bytes each time."""

import random
import time
from collections.abc import Callable

import pytest

from tests.faults.stack import LEASE_SECONDS, ON_DEPLOYED, Report, Stack, rounded
from tests.waits import slowness, wait_for

N_KILLS = 100
LONG = 3_000  # sweeps of each of two chains: more than a hundred saves
LONGEST_START = 2.5  # seconds within which a worker is surely up
LONGEST_CALM = 1.0  # seconds between a sign of progress and the next kill


@pytest.mark.slow
def test_a_job_ends_in_the_same_bytes_after_a_hundred_kills(stack: Stack, report: Report) -> None:
    stack.undisturbed(chains=2, sweeps=LONG)
    dice, began, n_kills, n_jobs = random.Random(1), time.monotonic(), 0, 0
    while n_kills < N_KILLS:
        n_jobs += 1
        job_id = stack.submit(chains=2, sweeps=LONG)
        while n_kills < N_KILLS and goes_on(stack, job_id):
            time.sleep(dice.uniform(0.0, LONGEST_CALM))
            dice.choice(FAULTS)(stack, dice)
            n_kills += 1
            stack.heal_processes()
        stack.check(job_id, chains=2, sweeps=LONG)
    report(kills=n_kills, jobs=n_jobs, ended_seconds=rounded(time.monotonic() - began))


def goes_on(stack: Stack, job_id: str) -> bool:
    """Wait for progress, so that a unit is not killed three times before its first save; False at the job's end."""
    before = stack.sweeps(job_id)
    wait_for(lambda: stack.sweeps(job_id) > before or stack.has_ended(job_id), f"job {job_id} goes on")
    return not stack.has_ended(job_id)


def kill_a_worker(stack: Stack, dice: random.Random) -> None:
    dice.choice(list(stack.workers.values())).kill()


def kill_a_newborn_worker(stack: Stack, dice: random.Random) -> None:
    """While it starts: it loads its code, asks for the schema, opens the broker, waits for its first call."""
    worker = dice.choice(list(stack.workers.values()))
    for _ in range(3):
        worker.kill()
        worker.start()
        time.sleep(dice.uniform(0.0, LONGEST_START))


def kill_all_workers(stack: Stack, dice: random.Random) -> None:
    for worker in stack.workers.values():
        worker.kill()


def kill_the_api(stack: Stack, dice: random.Random) -> None:
    stack.api.kill()


def stop_a_worker_past_its_lease(stack: Stack, dice: random.Random) -> None:
    """Wherever it is: one that holds a lock of the database keeps the others waiting for so long."""
    worker = dice.choice(list(stack.workers.values()))
    worker.freeze()
    time.sleep(LEASE_SECONDS + 1.0)
    worker.thaw()


FAULTS: list[Callable[[Stack, random.Random], None]] = [
    kill_a_newborn_worker,
    kill_a_worker,
    kill_all_workers,
    kill_the_api,
    stop_a_worker_past_its_lease,
]


@ON_DEPLOYED
def test_after_random_kills_of_idle_and_newborn_workers_a_job_is_done(stack: Stack, report: Report) -> None:
    """Nobody works, so no lease tells that somebody died: the next call must find a worker all the same."""
    dice, began = random.Random(2), time.monotonic()
    for fault in (kill_all_workers, kill_a_newborn_worker):
        fault(stack, dice)
    stack.heal_processes()
    job_id = stack.submit()
    started = stack.start_seconds(job_id, time.monotonic())
    assert started < 2 * LEASE_SECONDS * slowness()
    stack.check(job_id)
    report(takeover_seconds=rounded(started), ended_seconds=rounded(time.monotonic() - began))
