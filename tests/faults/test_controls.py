"""Owners pause, cancel, resume and extend jobs while real workers sweep them."""

import time

from sqlalchemy import select

from app.core.tables import Draw
from tests.faults.stack import ON_DEPLOYED, ON_EMBEDDED, SWEEPS, Report, Stack, rounded
from tests.waits import slowness, wait_for

SOON = 5.0  # seconds: a heartbeat and a sweep


def draws(stack: Stack, job_id: str) -> list[int]:
    """The sweeps that are in the trace."""
    with stack.database.readers.begin() as session:
        return list(session.scalars(select(Draw.sweep).where(Draw.job_id == job_id).order_by(Draw.sweep)))


def stop_and_go_on(stack: Stack, report: Report, verb: str, status: str) -> None:
    """Stop a job in its midst, see that it keeps what it has and does no more, and resume it."""
    job_id = stack.submit()
    [held] = stack.reach(job_id)
    asked = time.monotonic()
    assert stack.post(f"/v1/jobs/{job_id}/{verb}")["status"] == status
    wait_for(lambda: stack.unit(job_id).status == "ready", "the leg ends", SOON * slowness())
    stopped = time.monotonic() - asked
    kept = draws(stack, job_id)
    assert kept == list(range(1, stack.unit(job_id).n_sweeps + 1))
    assert held.n_sweeps <= len(kept) < SWEEPS
    stack.flood(1)  # a late call finds nothing to do
    time.sleep(1)
    assert draws(stack, job_id) == kept
    assert stack.get(f"/v1/jobs/{job_id}")["status"] == status
    resumed = time.monotonic()
    assert stack.post(f"/v1/jobs/{job_id}/resume")["status"] == "queued"
    progress = stack.progress_seconds(job_id, resumed)
    report(takeover_seconds=rounded(progress), stopped_seconds=rounded(stopped), sweeps_lost=0)
    stack.check(job_id)


@ON_EMBEDDED
def test_a_paused_job_keeps_its_draws_and_goes_on_when_it_is_resumed(stack: Stack, report: Report) -> None:
    stop_and_go_on(stack, report, "pause", "paused")


@ON_DEPLOYED
def test_a_cancelled_job_keeps_its_draws_and_goes_on_when_it_is_resumed(stack: Stack, report: Report) -> None:
    stop_and_go_on(stack, report, "cancel", "cancelled")


@ON_EMBEDDED
def test_an_extended_job_ends_as_one_that_was_submitted_with_all_sweeps(stack: Stack, report: Report) -> None:
    job_id = stack.submit(sweeps=SWEEPS // 2)
    assert stack.wait_for_end(job_id)["status"] == "succeeded"
    before = stack.outcome(job_id)
    asked = time.monotonic()
    assert stack.post(f"/v1/jobs/{job_id}/extend", sweeps=SWEEPS - SWEEPS // 2)["status"] == "succeeded"
    progress = stack.progress_seconds(job_id, asked, than=SWEEPS // 2)
    wait_for(lambda: stack.get(f"/v1/jobs/{job_id}")["extension"]["status"] == "succeeded", "the extension ends")
    report(takeover_seconds=rounded(progress), sweeps_lost=0)
    stack.check(job_id)
    after = stack.outcome(job_id)
    assert after["trace"][: SWEEPS // 2] == before["trace"]
    assert after["digests"] != before["digests"]
