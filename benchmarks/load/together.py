"""All at once: two chains sweep, two hundred clients follow their job, twenty upload, somebody looks at the page.

The machine is shared by all of them, the clients included, which would have machines of their own elsewhere. So the
chains are measured alone, over the same sweeps; beside clients that ask a server which does nothing, before the load
and again after it, since machines are not equally fast all the time; and beside clients that ask the service. What they
lose to the service is what they lose to its clients more than to those of nothing.
"""

import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from app.core.tables import Job, Unit
from benchmarks.load.chains import Saves, Watch, relative_speed, sweeps_per_second
from benchmarks.load.client import well
from benchmarks.load.clients import Clients, count
from benchmarks.load.figures import latency, milliseconds
from benchmarks.load.scenarios import Figures, Scenario, named
from benchmarks.load.service import Memory, processor_seconds
from benchmarks.load.traffic import HUNG, Plan, Told
from tests.faults.programs import ROOT
from tests.waits import REQUEST_SECONDS, free_port, wait_for

POLLERS, POLL_SECONDS = 200, 1.0  # at most as often as `Retry-After` says
UPLOADERS, UPLOAD_SECONDS, BATCH = 20, 4.0, 20  # 5 uploads, 100 documents a second, or 360,000 an hour
VIEWERS, VIEW_SECONDS = 2, 5.0  # a page asks the API for all that it shows
JOB = {"model": "lbpl-ntm", "chains": 2, "seed": 7, "burn_in": 1}
WARM_SWEEPS = 100  # after which kernels are loaded, and the rate is known
SPARE_SECONDS, SPARE = 15.0, 1.2  # of the chains, beyond those in which they are measured: a rate is no promise
MOST_POLL_SECONDS = 0.1  # at p99
MOST_LOSS = 0.15


@dataclass(frozen=True)
class Stretch:
    """A time in which chains ran beside something, in seconds since 1970, and what processes spent meanwhile."""

    began: float
    ended: float
    spent: dict[str, float]

    @property
    def cores(self) -> dict[str, float]:
        """Cores that each kept busy."""
        return {name: seconds / (self.ended - self.began) for name, seconds in self.spent.items()}


class Together(Scenario):
    """Chains, pollers, uploaders and viewers on one machine."""

    name = "together"
    least_workers = 2
    probe_rate = 2.0  # the clients are the load, and what the chains lose is to be lost to them

    def prepare(self) -> None:
        """Run the job by itself, then again; when that is at work, beside clients of a server that does nothing."""
        until = time.monotonic() + REQUEST_SECONDS
        self.corpus_id = self.client.make_corpus(until)
        for name in ("labeled", "unlabeled"):
            body = (ROOT / "examples" / f"{name}.ndjson").read_bytes()
            well(self.client.upload(until, self.corpus_id, [body]))
        corpora = [self.client.make_corpus(until) for _ in range(UPLOADERS)]
        _, warm = self.run_job(WARM_SWEEPS)
        seconds = 2 * self.scale.null_seconds + self.scale.together_seconds + SPARE_SECONDS
        self.sweeps = math.ceil(sweeps_per_second(warm) / len(warm) * seconds * SPARE)
        self.calm_id, self.alone = self.run_job(self.sweeps)

        self.job_id = self.submit(self.sweeps)
        self.watch = Watch(self.service.database, self.job_id)
        self.watch.__enter__()
        try:
            wait_for(lambda: len(self.watch.saves) == JOB["chains"], "all chains are at work")
            self.plan = Plan(
                port=self.service.port,
                polled=f"/v1/jobs/{self.job_id}",
                pollers=POLLERS,
                poll_seconds=POLL_SECONDS,
                viewed=f"/jobs/{self.job_id}/chains",
                viewers=VIEWERS,
                view_seconds=VIEW_SECONDS,
                corpora=corpora,
                batch=BATCH,
                upload_seconds=UPLOAD_SECONDS,
            )
            self.beside_nothing = [self.measure_nothing()]
            self.clients = Clients(self.plan)
        except BaseException:
            self.watch.__exit__()
            raise

    def submit(self, sweeps: int) -> str:
        """The id of a new job."""
        body = {**JOB, "corpus_id": self.corpus_id, "sweeps": sweeps}
        return str(well(self.client.post(time.monotonic() + REQUEST_SECONDS, "/v1/jobs", body)).fields["id"])

    def run_job(self, sweeps: int) -> tuple[str, Saves]:
        """The id of a job that has ended, and when its chains were saved."""
        job_id = self.submit(sweeps)
        with Watch(self.service.database, job_id) as watch:
            self.wait_for_end(job_id)
        return job_id, watch.saves

    def wait_for_end(self, job_id: str) -> None:
        """Wait until a job has succeeded."""

        def has_ended() -> bool:
            with self.service.database.readers.begin() as session:
                status = session.scalar(select(Job.status).where(Job.id == job_id))
            if status == "failed":
                raise RuntimeError(f"job {job_id} failed")
            return status == "succeeded"

        wait_for(has_ended, f"job {job_id} ends", every=0.2)

    def measure_nothing(self) -> Stretch:
        """The time beside clients that ask a server which does nothing."""
        size = len(well(self.client.get(time.monotonic() + REQUEST_SECONDS, self.plan.polled)).body)
        port = free_port()
        command = [sys.executable, "-m", "benchmarks.load.nothing", str(port), str(size)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as server:
            try:
                assert server.stdout is not None
                if server.stdout.readline() != b"ready\n":
                    raise RuntimeError("the server that does nothing did not start")
                clients = Clients(self.plan._replace(port=port))
                return self.stretch(clients, self.scale.null_seconds, {"server": server.pid})[0]
            finally:
                server.kill()

    def stretch(self, clients: Clients, seconds: float, more: dict[str, int]) -> tuple[Stretch, Told]:
        """So many seconds with clients; `more` are processes beside those of the service."""
        processes = {**self.service.processes(), **more, "clients": clients.process.pid}
        before, began = processor_seconds(processes), time.time()
        clients.begin()
        time.sleep(seconds)
        after, ended = processor_seconds(processes), time.time()
        told = clients.end()
        return Stretch(began, ended, {name: after[name] - before[name] for name in processes}), told

    def load(self, until: float) -> Figures:
        """Let the clients ask the service."""
        memories = [Memory(worker) for worker in self.service.workers.values()]
        began = time.monotonic()
        self.beside_service, self.told = self.stretch(self.clients, self.scale.together_seconds, {})
        polls = latency(self.told.polls, began, began + self.scale.together_seconds)
        views, uploads = (latency(samples, began, until) for samples in (self.told.views, self.told.uploads))
        statuses = [sample.status for sample in (*self.told.polls, *self.told.views)]
        tried = {int(status): count for status, count in self.told.tries.items()}
        bad = {status: statuses.count(status) for status in {*statuses} - {200}}
        bad |= {status: bad.get(status, 0) + count for status, count in tried.items() if status != 200}
        return {
            "polls": polls.n,
            "poll p50 ms": polls.p50 * 1e3,
            "poll p99 ms": polls.p99 * 1e3,
            "page p99 ms": views.p99 * 1e3,
            "uploads": uploads.n,
            "upload p99 ms": uploads.p99 * 1e3,
            "answers that were not 200": {answer_name(status): count for status, count in bad.items()},
            "a worker's peak MB": max(memory.peak for memory in memories),
        }

    def afterwards(self) -> Figures:
        """Measure beside nothing again, let the job end, then count and compare."""
        try:
            self.beside_nothing.append(self.measure_nothing())
            self.wait_for_end(self.job_id)
        finally:
            self.watch.__exit__()
        *of_nothing, service = (
            relative_speed(self.watch.saves, self.alone, stretch.began, stretch.ended)
            for stretch in (*self.beside_nothing, self.beside_service)
        )
        nothing = statistics.mean(of_nothing)
        counted = count(self.service.database, self.told, self.n_told)
        return {
            "sweeps a second alone": sweeps_per_second(self.alone),
            "speed beside clients of nothing": " and ".join(f"{speed:.3f}" for speed in of_nothing),
            "beside the service": service,
            "loss to the service": 1 - service / nothing,
            "cores then": {name: f"{cores:.2f}" for name, cores in self.beside_service.cores.items()},
            "documents accepted": sum(map(len, self.told.accepted.values())),
            "lost": counted.lost,
            "doubled": counted.doubled,
            "counts unlike": counted.unlike,
            "digests": "equal" if self.digests(self.job_id) == self.digests(self.calm_id) else "unlike",
        }

    def n_told(self, corpus_id: str) -> int:
        """Documents of a corpus as the API counts them."""
        answer = self.client.get(time.monotonic() + REQUEST_SECONDS, f"/v1/corpora/{corpus_id}")
        return int(well(answer).fields["documents"])

    def digests(self, job_id: str) -> list[str | None]:
        """The digest of each chain."""
        chains = select(Unit.digest).where(Unit.job_id == job_id, Unit.kind == "chain").order_by(Unit.chain)
        with self.service.database.readers.begin() as session:
            return list(session.scalars(chains))

    def misses(self, figures: Figures) -> list[str]:
        """Polls are quick, chains lose little, every answer is a good one, nothing is lost, nothing is there twice."""
        checks: dict[str, tuple[Callable[[Any], bool], str]] = {
            "poll p99 ms": (
                lambda ms: ms < MOST_POLL_SECONDS * 1e3,
                f"polls of two hundred clients, not under {milliseconds(MOST_POLL_SECONDS)} at p99",
            ),
            "answers that were not 200": (lambda found: not found, "there are some"),
            "loss to the service": (lambda loss: loss < MOST_LOSS, f"not under {MOST_LOSS}"),
            "documents accepted": (lambda n: n > 0, "none"),
            "lost": (lambda n: n == 0, "documents that were accepted"),
            "doubled": (lambda n: n == 0, "documents"),
            "counts unlike": (lambda n: n == 0, "corpora"),
            "digests": (lambda told: told == "equal", "those of a job that ran undisturbed"),
        }
        return [
            f"{name}: {figures[name]}; {said}" for name, (holds, said) in checks.items() if not holds(figures[name])
        ]


def answer_name(status: int) -> str:
    """A status as figures have it."""
    return "none in half a minute" if status == HUNG else named(status)
