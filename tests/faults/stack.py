"""A stack with its jobs: how far they are, told by SQL, and what must hold when they have ended."""

import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy import select, update

from app.core.schema import migrate
from app.core.tables import Checkpoint, Draw, Job, Unit
from tests.faults.programs import Program
from tests.faults.service import LEASE_SECONDS, WORKERS, Service
from tests.waits import PATIENCE, SELDOM, wait_for

__all__ = [
    "JOB",
    "LEASE_SECONDS",
    "ON_DEPLOYED",
    "ON_EMBEDDED",
    "SWEEPS",
    "TWO_CHAINS",
    "Held",
    "Report",
    "Stack",
    "rounded",
]

SWEEPS = 600  # a second or more of one core, so that a fault finds the job at work
JOB = {
    "sweeps": SWEEPS,
    "burn_in": 100,
    "chains": 1,
    "seed": 7,
    "hyperparameters": {"n_topics": 16, "n_start": 3},
}
TWO_CHAINS = {"chains": 2, "sweeps": 1_000}  # the first is still at work when the second is too, of warm workers
GRAIN_OF_LOCKS = 0.02  # seconds: longer than a transaction of another process takes
MID_JOB = 25  # sweeps, saved, at which a fault comes
ENDLESS = 100_000  # sweeps of a job that is cancelled

# Both stacks run the same code, so `make test` proves most faults on one of them, and `make test-slow` on the other.
SLOW = pytest.mark.slow
ON_EMBEDDED = pytest.mark.parametrize("opened_stack", ["embedded", pytest.param("deployed", marks=SLOW)], indirect=True)
ON_DEPLOYED = pytest.mark.parametrize("opened_stack", [pytest.param("embedded", marks=SLOW), "deployed"], indirect=True)

Report = Callable[..., None]  # takes down the numbers of a fault


def rounded(seconds: float) -> float:
    """Seconds as the table of faults shows them."""
    return round(seconds, 2)


@dataclass(frozen=True)
class Held:
    """A unit as a fault found it."""

    unit_id: int
    token: str | None
    n_sweeps: int
    sweeps_lost: float  # done since the last save, reckoned from its age


class Stack(Service):
    """The service on one stack, with a corpus."""

    def __init__(self, kind: str, workers: Sequence[str] = WORKERS) -> None:
        super().__init__(kind, workers)
        self.corpus_id = ""
        self.calm: dict[str, tuple[str, dict[str, Any]]] = {}  # jobs and their outcomes

    def open(self) -> None:
        """Start all there is, and upload the corpus."""
        migrate(self.server.url)
        self.heal()
        self.corpus_id = self.client.upload_sample()

    def heal(self) -> None:
        """Start again what a fault ended, and cancel what a failed test left running."""
        self.broker.start()
        self.heal_processes()
        with self.database.readers.begin() as session:
            live = list(session.scalars(select(Job.id).where(Job.status.in_(("queued", "running", "paused")))))
        for job_id in live:
            self.post(f"/v1/jobs/{job_id}/cancel")

    def submit(self, **fields: Any) -> str:
        """Queue a job; its id."""
        return str(self.post("/v1/jobs", **{**JOB, "corpus_id": self.corpus_id, **fields})["id"])

    def warm_up(self) -> None:
        """Let each worker take a chain and load its kernels for it, so that they keep step afterwards."""
        wait_for(lambda: self.broker.is_heard_by(len(self.workers)), "each worker hears calls")
        job_id = self.submit(chains=2, sweeps=ENDLESS)
        held = self.reach(job_id)
        assert len({pid_of(unit.token) for unit in held if unit.token}) == len(self.workers)
        self.post(f"/v1/jobs/{job_id}/cancel")
        wait_for(lambda: all(unit.token is None for unit in self.units(job_id)), "each worker has stopped")

    def wait_for_end(self, job_id: str) -> Any:
        """The job, once it has ended."""

        wait_for(lambda: self.has_ended(job_id), f"job {job_id} ends", every=SELDOM)
        return self.get(f"/v1/jobs/{job_id}")

    def has_ended(self, job_id: str) -> bool:
        """Whether the job is neither queued nor running."""
        with self.database.readers.begin() as session:
            return session.get_one(Job, job_id).status not in ("queued", "running")

    # SQL

    def units(self, job_id: str) -> list[Unit]:
        """The job's chains as they are now."""
        with self.database.readers.begin() as session:
            return list(
                session.scalars(select(Unit).where(Unit.job_id == job_id, Unit.kind == "chain").order_by(Unit.id))
            )

    def unit(self, job_id: str) -> Unit:
        """The first chain of the job."""
        return self.units(job_id)[0]

    def sweeps(self, job_id: str) -> int:
        """How many sweeps of all chains are saved."""
        return sum(unit.n_sweeps for unit in self.units(job_id))

    def reach(self, job_id: str) -> list[Held]:
        """Wait until each chain has saved so many sweeps and is at work; the chains as they are then."""

        def reached() -> list[Held] | None:
            held, units = self.held(job_id), self.units(job_id)
            assert all(unit.status != "done" for unit in units), "the job was over before the fault"
            are_at_work = all(unit.token is not None and unit.n_sweeps >= MID_JOB for unit in held)
            return held if units and are_at_work else None

        return wait_for(reached, f"job {job_id} reaches {MID_JOB} sweeps")

    def held(self, job_id: str) -> list[Held]:
        """The chains of the job as they are now."""
        found = []
        with self.database.readers.begin() as session:
            for unit in session.scalars(select(Unit).where(Unit.job_id == job_id, Unit.kind == "chain")):
                saved_at = session.scalars(
                    select(Checkpoint.created_at).where(Checkpoint.unit_id == unit.id).order_by(Checkpoint.id.desc())
                ).first()
                age = time.time() - saved_at if saved_at is not None else 0.0
                lost = age * (unit.sweeps_per_second or 0.0)
                found.append(Held(unit.id, unit.token, unit.n_sweeps, lost))
        return found

    def holder(self, job_id: str) -> Program:
        """The worker that the job's first chain is with, once it is with one."""

        def holder() -> Program | None:
            token = self.unit(job_id).token
            return next((worker for worker in self.workers.values() if token and worker.pid == pid_of(token)), None)

        return wait_for(holder, f"job {job_id} is with a worker")

    def takeover_seconds(self, held: Held, since: float) -> float:
        """Seconds from a moment until another leg has claimed the unit."""

        def claimed() -> bool:
            with self.database.readers.begin() as session:
                unit = session.get_one(Unit, held.unit_id)
            return unit.token not in (None, held.token) or unit.status == "done"

        wait_for(claimed, f"unit {held.unit_id} is taken over")
        return time.monotonic() - since

    def start_seconds(self, job_id: str, since: float) -> float:
        """Seconds from a moment until the job's first sweep is saved."""
        wait_for(lambda: self.sweeps(job_id) > 0, f"job {job_id} starts")
        return time.monotonic() - since

    def progress_seconds(self, job_id: str, since: float, than: int | None = None) -> float:
        """Seconds from a moment until more sweeps are saved than there are now, or than there were.

        Its chains may be done by then: a busy machine lets this process look when it likes.
        """
        before = self.sweeps(job_id) if than is None else than

        def has_gone_on() -> bool:
            units = self.units(job_id)
            return sum(unit.n_sweeps for unit in units) > before or all(unit.status == "done" for unit in units)

        wait_for(has_gone_on, f"job {job_id} goes on")
        return time.monotonic() - since

    def age_messages(self) -> None:
        """Set back the time at which each ready unit was sent, in place of half a minute's wait."""
        with self.database.sessions.begin() as session:
            session.execute(update(Unit).where(Unit.status == "ready").values(lease_until=Unit.lease_until - 60.0))

    def is_held_by(self, token: str | None, job_id: str) -> bool:
        """Whether the job's first chain is with the leg of this token, or has been done meanwhile."""
        unit = self.unit(job_id)
        return unit.token == token or unit.status == "done"

    def prolong_lease(self, job_id: str) -> None:
        """Let nobody take the job's chain from the leg that holds it, until that leg renews its lease."""
        with self.database.sessions.begin() as session:
            held = (Unit.job_id == job_id, Unit.status == "running")
            session.execute(update(Unit).where(*held).values(lease_until=Unit.lease_until + PATIENCE))

    def freeze_outside_a_transaction(self, worker: Program, job_id: str) -> None:
        """SIGSTOP a worker at a moment when it holds no lock of the database.

        A stopped process that holds one keeps everybody waiting, on SQLite for the whole file.
        """
        unit_id = self.unit(job_id).id
        for _ in range(50):
            worker.freeze()
            looks = []
            for _ in range(20):  # another process may hold a lock for a moment
                looks.append(self.server.is_locked(unit_id, job_id))
                if not looks[-1]:
                    return
                time.sleep(GRAIN_OF_LOCKS)
            worker.thaw()
            time.sleep(GRAIN_OF_LOCKS)
        raise AssertionError(f"{worker.name} was never seen without a lock")

    # What must hold

    def outcome(self, job_id: str) -> dict[str, Any]:
        """All that a job answers, without its own id."""
        base = f"/v1/jobs/{job_id}"
        job = self.get(base)
        found = {
            "categories": self.get(f"{base}/categories"),
            "documents": self.get(f"{base}/documents?limit=1000"),
        }
        with self.database.readers.begin() as session:
            draws = session.scalars(select(Draw).where(Draw.job_id == job_id).order_by(Draw.chain, Draw.sweep))
            trace = [
                {column.key: getattr(draw, column.key) for column in Draw.__table__.columns if column.key != "job_id"}
                for draw in draws
            ]
        return {
            "digests": [chain["digest"] for chain in job["progress"]["chains"]],
            "trace": trace,
            **{name: without(answer, "job_id", "id") for name, answer in found.items()},
        }

    def undisturbed(self, **fields: Any) -> dict[str, Any]:
        """The outcome of the job when nothing befalls it; run once."""
        return dict(self.run_undisturbed(**fields)[1])

    def undisturbed_job(self, **fields: Any) -> str:
        """The id of the job that nothing befell; what is decided about it leaves `undisturbed` as it is."""
        return self.run_undisturbed(**fields)[0]

    def run_undisturbed(self, **fields: Any) -> tuple[str, dict[str, Any]]:
        """Run the job while nothing befalls it, once: its id and its outcome."""
        name = json.dumps(fields, sort_keys=True)
        if name not in self.calm:
            job_id = self.submit(**fields)
            assert self.wait_for_end(job_id)["status"] == "succeeded"
            self.calm[name] = job_id, self.outcome(job_id)
        return self.calm[name]

    def check(self, job_id: str, **fields: Any) -> None:
        """The job ends as if undisturbed: succeeded, each sweep once, the same digests and answers."""
        job = self.wait_for_end(job_id)
        assert (job["status"], job["error"]) == ("succeeded", None)
        body = {**JOB, **fields}
        expected, found = self.undisturbed(**fields), self.outcome(job_id)
        drawn = [(draw["chain"], draw["sweep"]) for draw in found["trace"]]
        assert drawn == [(chain, sweep) for chain in range(body["chains"]) for sweep in range(1, body["sweeps"] + 1)]
        assert found["digests"] == expected["digests"]
        assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in found["digests"])
        assert found == expected


def without(answer: Any, *names: str) -> Any:
    """JSON without some fields, at any depth."""
    if isinstance(answer, dict):
        return {name: without(value, *names) for name, value in answer.items() if name not in names}
    if isinstance(answer, list):
        return [without(value, *names) for value in answer]
    return answer


def pid_of(token: str) -> int:
    """The process whose leg a token is of."""
    return int(token.split(":")[1])
