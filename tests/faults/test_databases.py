"""The database goes away under a running job: a server crashes, a file is locked."""

import time

from tests.faults.stack import Report, Stack, rounded

# PostgreSQL crashes and recovers; SQLite's write lock is held for longer than any writer waits for it.
AWAY_SECONDS = {"embedded": 11.5, "deployed": 1.0}


def test_loss_of_the_database_under_a_running_job(stack: Stack, report: Report) -> None:
    job_id = stack.submit()
    [held] = stack.reach(job_id)
    with stack.server.away(AWAY_SECONDS[stack.kind]):
        pass
    back = time.monotonic()
    stack.progress_seconds(job_id, back, than=held.n_sweeps)
    report(takeover_seconds=rounded(time.monotonic() - back), away_seconds=AWAY_SECONDS[stack.kind])
    stack.check(job_id)
