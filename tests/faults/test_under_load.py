"""Each process is killed in turn while clients upload, poll and submit; what they were promised is there afterwards.

Clients send what was not answered again, under the same key, as the API's guide says.
"""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import func, select

from app.core.tables import Job
from app.http.controls import MOST_POLL_SECONDS
from benchmarks.load.client import NO_ANSWER, Client
from benchmarks.load.clients import Clients, count
from benchmarks.load.traffic import HUNG, Plan
from tests.faults.stack import JOB, Report, Stack, rounded
from tests.waits import PATIENCE, slowness, wait_for

CHAINS = {"chains": 2, "sweeps": 3_000}  # that are at work for as long as faults come
SMALL = {**JOB, "sweeps": 20, "burn_in": 10}
UPLOADERS, POLLERS, BATCH = 4, 20, 10
SUBMIT_SECONDS = 2.0
HANG_SECONDS = 30.0  # no answer, not even a refusal, takes so long
CALM_SECONDS = 1.0  # before the first fault, and after each
DOWN_SECONDS = 1.0
FAULTS = {"embedded": ("worker", "api"), "deployed": ("worker", "api", "database", "broker")}
GOOD = {200, 303, 503, NO_ANSWER}  # of what is read; the database was away, or the API


class Submitter:
    """Within this context a client submits small jobs, each under a key and again until it is accepted."""

    def __init__(self, stack: Stack) -> None:
        self.client, self.corpus_id = Client(stack.port), stack.corpus_id
        self.patience = HANG_SECONDS * slowness()
        self.statuses: Counter[int] = Counter()
        self.accepted: list[str] = []
        self.n_sent = 0
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.submit_all, name="submitter")

    def __enter__(self) -> "Submitter":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.is_over.set()
        self.thread.join()

    def submit_all(self) -> None:
        """Submit one job after the other; the last one, too, until it is accepted."""
        while not self.is_over.wait(SUBMIT_SECONDS):
            self.n_sent += 1
            while (job_id := self.submit(f"small {self.n_sent}")) is None:
                time.sleep(0.2)
            self.accepted.append(job_id)

    def submit(self, name: str) -> str | None:
        """The id of the job, if it was accepted."""
        fields = {**SMALL, "corpus_id": self.corpus_id, "name": name, "seed": self.n_sent}
        try:
            answer = self.client.post(time.monotonic() + self.patience, "/v1/jobs", fields, {"Idempotency-Key": name})
        except TimeoutError:
            self.statuses[HUNG] += 1
            return None
        except OSError:  # nobody listens
            self.statuses[NO_ANSWER] += 1
            return None
        self.statuses[answer.status] += 1
        return str(answer.fields["id"]) if answer.status == 202 else None


@contextmanager
def fault(stack: Stack, name: str, job_id: str) -> Iterator[None]:
    """Something is killed, and is down within this context."""
    if name == "api":
        stack.api.kill()
        yield
        stack.api.start()
        stack.wait_until_up()
    elif name == "worker":
        victim = stack.holder(job_id)
        victim.kill()
        yield
        stack.heal_workers()
    elif name == "broker":
        stack.kill_broker()
        yield
        stack.restart_broker()
    else:
        with stack.server.away(0.0):
            yield


@pytest.mark.slow
def test_what_was_accepted_under_load_is_there_once_whatever_is_killed_meanwhile(stack: Stack, report: Report) -> None:
    before = n_jobs(stack)
    job_id = stack.submit(**CHAINS)
    clients = Clients(plan_of(stack, job_id))
    recovered: dict[str, float] = {}
    try:
        with Submitter(stack) as submitter:
            clients.begin()
            stack.reach(job_id)
            for name in FAULTS[stack.kind]:
                time.sleep(CALM_SECONDS)
                with fault(stack, name, job_id):
                    time.sleep(DOWN_SECONDS)
                recovered[f"{name}_seconds"] = rounded(accepted_again(submitter))
        healed = time.monotonic()
        time.sleep(MOST_POLL_SECONDS + 1)  # by then each of the pollers has asked again
        told = clients.end(PATIENCE)
    finally:
        clients.close()

    assert {sample.status for sample in (*told.polls, *told.views)} <= GOOD
    assert {int(status) for status in told.tries} <= GOOD
    assert {*submitter.statuses} <= {202, 503, NO_ANSWER}
    assert told.longest_try < HANG_SECONDS * slowness()
    late = [sample.status for sample in told.polls if sample.at > healed]
    assert late and {*late} == {200}

    counted = count(stack.database, told, lambda id_: int(stack.get(f"/v1/corpora/{id_}")["documents"]))
    assert counted == (0, 0, 0)
    assert all(len(keys) > BATCH for keys in told.accepted.values())
    assert len({*submitter.accepted}) == submitter.n_sent == n_jobs(stack) - before - 1
    for small in submitter.accepted:
        assert stack.wait_for_end(small)["status"] == "succeeded"
    stack.check(job_id, **CHAINS)
    report(**recovered, uploads=len(told.uploads), jobs=submitter.n_sent, longest_try=rounded(told.longest_try))


def plan_of(stack: Stack, job_id: str) -> Plan:
    """A few clients of each kind, quick ones: a fault is to find each of them at something."""
    corpora = [str(stack.post("/v1/corpora", name="under load")["id"]) for _ in range(UPLOADERS)]
    return Plan(
        port=stack.port,
        polled=f"/v1/jobs/{job_id}",
        pollers=POLLERS,
        poll_seconds=1.0,
        viewed=f"/jobs/{job_id}/chains",
        viewers=1,
        view_seconds=2.0,
        corpora=corpora,
        batch=BATCH,
        upload_seconds=0.5,
        patience=HANG_SECONDS * slowness(),
    )


def accepted_again(submitter: Submitter) -> float:
    """Seconds until a job is accepted that was sent after this moment, or a little before."""
    began, n_accepted = time.monotonic(), len(submitter.accepted)
    wait_for(lambda: len(submitter.accepted) > n_accepted, "a job is accepted again")
    return time.monotonic() - began


def n_jobs(stack: Stack) -> int:
    """Jobs in the database."""
    with stack.database.readers.begin() as session:
        found: Any = session.scalar(select(func.count()).select_from(Job))
    return int(found)
