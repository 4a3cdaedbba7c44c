"""The broker is killed, emptied and flooded: messages only wake workers up, so nothing depends on one."""

import time

from tests.faults.stack import ON_DEPLOYED, ON_EMBEDDED, TWO_CHAINS, Report, Stack, rounded
from tests.waits import wait_for

N_COPIES = 20


@ON_EMBEDDED
def test_twenty_calls_for_one_unit(stack: Stack, report: Report) -> None:
    job_id = stack.submit()
    stack.reach(job_id)
    fault = time.monotonic()
    stack.flood(N_COPIES)
    wait_for(lambda: stack.broker.n_pending() == 0, "the calls are heard")
    assert stack.unit(job_id).attempts <= 1, "no call has taken it from the leg that holds it"
    report(takeover_seconds=rounded(time.monotonic() - fault), sweeps_lost=0)
    stack.check(job_id)


@ON_DEPLOYED
def test_kill_of_the_broker_and_a_job_submitted_while_it_is_down(stack: Stack, report: Report) -> None:
    running = stack.submit()
    [held] = stack.reach(running)
    fault = time.monotonic()
    stack.kill_broker()
    if stack.broker.outlived:
        stack.progress_seconds(running, fault, than=held.n_sweeps)
        assert stack.is_held_by(held.token, running)  # the leg needs no broker
    waiting = stack.submit()
    stack.restart_broker()
    back = time.monotonic()
    progress = stack.progress_seconds(running, fault, than=held.n_sweeps)
    sent_again = stack.start_seconds(waiting, back)  # what could not be sent was due at once
    report(takeover_seconds=rounded(progress), sent_again_seconds=rounded(sent_again))
    stack.check(running)
    stack.check(waiting)


@ON_DEPLOYED
def test_loss_of_all_messages(stack: Stack, report: Report) -> None:
    stack.warm_up()
    busy = stack.submit(**TWO_CHAINS)
    stack.reach(busy)
    waiting = stack.submit()
    wait_for(lambda: stack.broker.n_pending() == 1, "a message waits for a worker")
    fault = time.monotonic()
    stack.broker.lose_data()
    assert stack.broker.n_pending() == 0
    progress = stack.progress_seconds(busy, fault)
    stack.age_messages()
    aged = time.monotonic()
    sent_again = stack.start_seconds(waiting, aged)
    report(takeover_seconds=rounded(progress), sent_again_seconds=rounded(sent_again), sweeps_lost=0)
    stack.check(busy, **TWO_CHAINS)
    stack.check(waiting)
