"""Work is shared fairly: beside a job that would last for weeks a newcomer's is done in its time."""

import time

from tests.faults.service import SETTINGS
from tests.faults.stack import ON_EMBEDDED, Report, Stack, rounded
from tests.waits import slowness, wait_for

LEG_SECONDS = float(SETTINGS["LEG_SECONDS"])
LARGE = {"chains": 64, "sweeps": 100_000}


@ON_EMBEDDED
def test_a_small_job_beside_a_large_one_takes_three_times_its_time_and_two_legs_at_most(
    stack: Stack, report: Report
) -> None:
    alone = seconds_of(stack, seed=21)
    large = stack.submit(**LARGE)
    wait_for(lambda: sum(unit.status == "running" for unit in stack.units(large)) == 2, "both workers are at it")
    beside = seconds_of(stack, seed=22)
    pending = stack.broker.n_pending()
    stack.post(f"/v1/jobs/{large}/cancel")
    assert beside < (3 * alone + 2 * LEG_SECONDS) * slowness()
    assert pending <= LARGE["chains"]
    report(alone_seconds=rounded(alone), beside_seconds=rounded(beside), calls_pending=pending)


def seconds_of(stack: Stack, seed: int) -> float:
    """How long a small job takes from its submission to its end."""
    began = time.monotonic()
    job = stack.wait_for_end(stack.submit(seed=seed))
    assert job["status"] == "succeeded"
    return time.monotonic() - began
