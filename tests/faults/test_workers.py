"""Workers and the API are killed, frozen and told to leave in mid-job."""

import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from sqlalchemy import select

from app.core.tables import Checkpoint, Draw, Unit
from tests.faults.stack import LEASE_SECONDS, ON_DEPLOYED, ON_EMBEDDED, TWO_CHAINS, Report, Stack, rounded
from tests.waits import slowness, wait_for

QUICK_EXIT = 10.0  # seconds from SIGTERM to the end
POISONED = 3  # claims without a save
FEW = 150  # sweeps of a job that no fault is to find at work
SLOW_TO_START = {"n_topics": 4_096, "n_start": 3}  # so that it is killed before its first save


def test_both_stacks_give_the_same_digests_and_answers(stack: Stack, seen: dict[str, Any]) -> None:
    outcome = stack.undisturbed()
    documents = [without_row_ids(document) for document in outcome["documents"]["documents"]]
    told = {**outcome, "documents": documents}
    assert seen.setdefault("outcome", told) == told
    chain, chains = stack.undisturbed(sweeps=FEW), stack.undisturbed(sweeps=FEW, chains=2)
    assert chains["digests"][0] == chain["digests"][0]  # a chain does not depend on the others
    assert chains["digests"][1] != chains["digests"][0]


def without_row_ids(document: dict[str, Any]) -> dict[str, Any]:
    """A document's answer without the number that its database gave it."""
    return {name: value for name, value in document.items() if name not in ("id", "document_id")}


@ON_DEPLOYED
def test_kill_of_a_worker(stack: Stack, report: Report) -> None:
    job_id = stack.submit()
    stack.reach(job_id)
    worker = stack.holder(job_id)
    [held] = stack.held(job_id)
    fault = time.monotonic()
    worker.kill()
    takeover = stack.takeover_seconds(held, fault)
    worker.start()
    stack.check(job_id)
    report(takeover_seconds=rounded(takeover), sweeps_lost=round(held.sweeps_lost))


@ON_DEPLOYED
def test_kill_of_every_worker_at_once(stack: Stack, report: Report) -> None:
    stack.warm_up()
    job_id = stack.submit(**TWO_CHAINS)
    held = stack.reach(job_id)
    assert stack.get(f"/v1/jobs/{job_id}")["progress"]["note"] is None
    for worker in stack.workers.values():
        worker.kill()
    note = wait_for(lambda: stack.get(f"/v1/jobs/{job_id}")["progress"]["note"], "the job says why it waits")
    assert note.startswith("no worker is running")
    assert stack.get("/health")["workers"] == 0
    started = time.monotonic()
    for worker in stack.workers.values():
        worker.start()
    takeover = max(stack.takeover_seconds(unit, started) for unit in held)
    stack.check(job_id, **TWO_CHAINS)
    report(takeover_seconds=rounded(takeover), sweeps_lost=round(max(unit.sweeps_lost for unit in held)))


@ON_EMBEDDED
def test_kill_of_a_worker_at_a_job_that_continues_another_one(stack: Stack, report: Report) -> None:
    source = stack.undisturbed_job()
    key = stack.get(f"/v1/jobs/{source}/documents?limit=1")["documents"][0]["key"]
    known = stack.get(f"/v1/jobs/{source}/categories")["categories"][0]["id"]
    stack.post(f"/v1/jobs/{source}/decisions", decisions=[{"kind": "pin", "documents": [key], "category": known}])
    undisturbed = stack.post(f"/v1/jobs/{source}/continue")["id"]
    assert stack.wait_for_end(undisturbed)["status"] == "succeeded"
    job_id = stack.post(f"/v1/jobs/{source}/continue")["id"]
    stack.reach(job_id)
    worker = stack.holder(job_id)
    [held] = stack.held(job_id)
    fault = time.monotonic()
    worker.kill()
    takeover = stack.takeover_seconds(held, fault)
    worker.start()
    assert stack.wait_for_end(job_id)["status"] == "succeeded"
    assert stack.outcome(job_id) == stack.outcome(undisturbed)
    report(takeover_seconds=rounded(takeover), sweeps_lost=round(held.sweeps_lost))


@ON_DEPLOYED
def test_kill_of_the_api(stack: Stack, report: Report) -> None:
    job_id = stack.submit()
    [held] = stack.reach(job_id)
    stack.api.kill()
    progress = stack.progress_seconds(job_id, time.monotonic())  # nobody needs the API
    assert stack.is_held_by(held.token, job_id)
    began = time.monotonic()
    stack.api.start()
    stack.wait_until_up()
    report(takeover_seconds=rounded(progress), api_back_seconds=rounded(time.monotonic() - began), sweeps_lost=0)
    stack.check(job_id)


@ON_EMBEDDED
def test_a_worker_stopped_past_its_lease_writes_nothing_when_it_wakes(stack: Stack, report: Report) -> None:
    job_id = stack.submit()
    stack.reach(job_id)
    first = stack.holder(job_id)
    stack.freeze_outside_a_transaction(first, job_id)
    fault = time.monotonic()
    [held] = stack.held(job_id)
    takeover = stack.takeover_seconds(held, fault)
    second = stack.holder(job_id)
    assert second is not first
    # The other one is stopped too, under a lease that does not end, so that each write would be the woken one's.
    stack.freeze_outside_a_transaction(second, job_id)
    stack.prolong_lease(job_id)
    before = rows(stack, job_id)
    first.thaw()
    time.sleep(LEASE_SECONDS / 2)
    assert rows(stack, job_id) == before
    assert before["token"] not in (None, held.token)
    second.thaw()
    stack.check(job_id)
    report(takeover_seconds=rounded(takeover), sweeps_lost=round(held.sweeps_lost))


def rows(stack: Stack, job_id: str) -> dict[str, Any]:
    """All that a leg of the job's first chain could write."""
    with stack.database.readers.begin() as session:
        unit = session.scalars(select(Unit).where(Unit.job_id == job_id, Unit.kind == "chain")).one()
        checkpoints = select(Checkpoint.id, Checkpoint.data).where(Checkpoint.unit_id == unit.id)
        draws = select(Draw.sweep, Draw.log_joint).where(Draw.job_id == job_id)
        return {
            **{column.key: getattr(unit, column.key) for column in Unit.__table__.columns},
            "checkpoints": [tuple(row) for row in session.execute(checkpoints.order_by(Checkpoint.id))],
            "draws": [tuple(row) for row in session.execute(draws.order_by(Draw.sweep))],
        }


@ON_EMBEDDED
def test_sigterm_ends_a_worker_in_seconds_and_nothing_is_lost(stack: Stack, report: Report) -> None:
    job_id = stack.submit()
    stack.reach(job_id)
    worker = stack.holder(job_id)
    [held] = stack.held(job_id)
    fault = time.monotonic()
    with ThreadPoolExecutor(1) as pool:
        leaving = pool.submit(worker.terminate)
        takeover = stack.takeover_seconds(held, fault)
        code, seconds = leaving.result()
    worker.start()
    assert code == 0
    assert seconds < QUICK_EXIT * slowness()
    assert takeover < LEASE_SECONDS * slowness()  # the lease was given back, not waited for
    assert stack.unit(job_id).attempts <= 1  # a leg that left in peace is no attempt that failed
    report(takeover_seconds=rounded(takeover), exit_seconds=rounded(seconds), sweeps_lost=0)
    stack.check(job_id)


@ON_DEPLOYED
def test_a_unit_that_kills_its_worker_each_time_fails_its_job_and_no_other(stack: Stack, report: Report) -> None:
    began = time.monotonic()
    poison = stack.submit(seed=13, hyperparameters=SLOW_TO_START)
    other = ""
    for n_claims in range(1, POISONED + 1):
        wait_for(partial(was_claimed, stack, poison, n_claims), f"claim {n_claims}")
        victim = stack.holder(poison)
        victim.kill()
        victim.start()
        other = other or stack.submit()  # which only the first kill may have hindered
    job = stack.wait_for_end(poison)
    assert (job["status"], stack.unit(poison).n_sweeps) == ("failed", 0)
    assert "claimed 3 times" in job["error"]
    report(ended_seconds=rounded(time.monotonic() - began))
    stack.age_messages()  # a call may have died in the hands of a worker
    stack.check(other)


def was_claimed(stack: Stack, job_id: str, n_claims: int) -> bool:
    """Whether the job's chain was claimed so often, never to be saved."""
    unit = stack.unit(job_id)
    assert unit.n_sweeps == 0, "the worker was killed too late"
    return unit.attempts == n_claims
