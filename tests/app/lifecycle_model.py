"""The model of jobs and units that a machine of random events is held against, and the steps on both.

The model is of plain objects and knows neither SQL nor clocks.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis.stateful import RuleBasedStateMachine, invariant
from sqlalchemy import delete, select

from app.db import Database
from app.errors import LeaseLost, ServiceError
from app.models import Corpus, Job, Unit
from tests.app import legs
from tests.app.rows import expire

MAX_JOBS, MAX_ATTEMPTS = 2, 3
FOLLOWING = {
    "encode": ("atoms", "chain"),
    "atoms": ("calibrate",),
    "calibrate": ("chain",),
    "chain": ("conclude",),
    "conclude": (),
    "power": (),
}
LAST = {"conclude", "power"}
LIVE = {"queued", "running"}

# All that may happen to a job's status: by which function, from what, to what. Under a job that was resumed
# a leg from before may still work: so a queued job can also end at once.
ALLOWED = {
    ("claim", "queued", "running"),
    ("finish", "running", "succeeded"),
    ("finish", "queued", "succeeded"),
    ("fail", "running", "failed"),
    ("fail", "queued", "failed"),
    ("reap", "running", "failed"),
    ("reap", "queued", "failed"),
    ("cancel", "queued", "cancelled"),
    ("cancel", "running", "cancelled"),
    ("cancel", "paused", "cancelled"),
    ("pause", "queued", "paused"),
    ("pause", "running", "paused"),
    ("resume", "paused", "queued"),
    ("resume", "cancelled", "queued"),
    ("resume", "failed", "queued"),
    ("extend", "succeeded", "queued"),
    ("power_test", "succeeded", "queued"),
}
VERBS = ("cancel", "pause", "resume", "extend", "power_test")  # of owners
FROM = {verb: {old for by, old, _ in ALLOWED if by == verb} for verb in VERBS}
TO = {"cancel": "cancelled", "pause": "paused", "resume": "queued", "extend": "queued", "power_test": "queued"}
RARE = {
    ("finish", "queued", "succeeded"),
    ("fail", "queued", "failed"),
    ("reap", "queued", "failed"),
    ("cancel", "queued", "cancelled"),
}  # a run of examples may miss them


@dataclass
class ModelUnit:
    """A unit as it ought to be."""

    kind: str
    status: str
    token: str | None = None
    late: bool = False  # its lease, or the time for its message, has run out
    attempts: int = 0
    n_sweeps: int = 0


@dataclass
class ModelJob:
    """A job as it ought to be."""

    status: str
    units: dict[int, ModelUnit]

    def has(self, kind: str) -> bool:
        return any(unit.kind == kind for unit in self.units.values())


@dataclass
class Leg:
    """A leg as a worker sees it; the worker may be stopped, and wake up when others have gone on."""

    unit_id: int
    token: str
    n_sweeps: int
    believes: bool = True  # that it holds its unit, by its own clock


@dataclass
class World:
    """The model: all jobs and all legs there ever were."""

    jobs: dict[str, ModelJob] = field(default_factory=dict)
    legs: list[Leg] = field(default_factory=list)

    def units(self) -> list[int]:
        return [unit_id for job in self.jobs.values() for unit_id in job.units]

    def find(self, unit_id: int) -> tuple[ModelJob, ModelUnit]:
        return next((job, job.units[unit_id]) for job in self.jobs.values() if unit_id in job.units)

    def holds(self, leg: Leg) -> bool:
        _, unit = self.find(leg.unit_id)
        return unit.status == "running" and unit.token == leg.token


class LifecycleSteps(RuleBasedStateMachine):
    """Jobs in the database and the model of them: each step is taken in both, and compared."""

    database: Database
    seen: Counter[tuple[str, str, str]]

    def __init__(self) -> None:
        super().__init__()
        with self.database.sessions.begin() as session:
            session.execute(delete(Corpus))
        self.world = World()
        self.n_tokens = 0
        self.before: dict[str, str] = {}  # status of each job after the last step
        self.n_sweeps: dict[int, int] = {}  # of each unit, after the last step
        self.verb = ""

    def claimed(self, unit_id: int) -> Leg | None:
        """Claim, in the database and in the model."""
        self.verb = "claim"
        self.n_tokens += 1
        token = f"token-{self.n_tokens}"
        job, unit = self.world.find(unit_id)
        is_free = unit.status == "ready" or (unit.status == "running" and unit.late and unit.attempts < MAX_ATTEMPTS)
        got = legs.claim(self.database, unit_id, token)
        assert (got is not None) == (is_free and job.status in LIVE)
        if got is None:
            return None
        job.status = "running"
        unit.status, unit.token, unit.late, unit.attempts = "running", token, False, unit.attempts + 1
        leg = Leg(unit_id, token, got.n_sweeps)
        self.world.legs.append(leg)
        return leg

    def overtaken(self) -> list[Leg]:
        """Legs that do not hold their unit, while another one does."""
        held = {leg.unit_id for leg in self.world.legs if self.world.holds(leg)}
        return [leg for leg in self.world.legs if leg.unit_id in held and not self.world.holds(leg)]

    def do(self, leg: Leg, verb: str) -> None:
        """Let a leg do something."""
        steps = {
            "renew": self.renew,
            "save": self.save,
            "release": self.release,
            "finish": self.finish,
            "fail": self.fail,
        }
        steps[verb](leg)

    def renew(self, leg: Leg) -> None:
        """A heartbeat."""
        self.verb = "renew"
        job, unit = self.world.find(leg.unit_id)
        holds = self.world.holds(leg)
        assert legs.renew(self.database, leg.unit_id, leg.token) == (holds and job.status in LIVE)
        if holds:
            unit.late = False
        leg.believes = holds

    def release(self, leg: Leg) -> None:
        """A leg ends in order, before its unit is done."""
        self.verb = "release"
        job, unit = self.world.find(leg.unit_id)
        holds = self.world.holds(leg)
        assert legs.release(self.database, leg.unit_id, leg.token) == (holds and job.status in LIVE)
        if holds:
            unit.status, unit.token, unit.late, unit.attempts = "ready", None, False, max(unit.attempts - 1, 0)
        leg.believes = False

    def fail(self, leg: Leg) -> None:
        """The work of a leg fails."""
        self.verb = "fail"
        job, unit = self.world.find(leg.unit_id)
        legs.fail(self.database, leg.unit_id, leg.token)
        if self.world.holds(leg):
            unit.status, unit.token, unit.late = "ready", None, False
            job.status = "failed" if job.status in LIVE else job.status
        leg.believes = False

    def save(self, leg: Leg) -> None:
        self.verb = "saved"
        leg.n_sweeps += 1
        job, unit = self.world.find(leg.unit_id)
        leg.believes = self.world.holds(leg)
        if not leg.believes:
            with pytest.raises(LeaseLost):
                legs.save(self.database, leg.unit_id, leg.token, leg.n_sweeps)
            return
        assert legs.save(self.database, leg.unit_id, leg.token, leg.n_sweeps) == (job.status in LIVE)
        unit.late, unit.attempts, unit.n_sweeps = False, 0, leg.n_sweeps

    def finish(self, leg: Leg) -> None:
        self.verb = "finish"
        job, unit = self.world.find(leg.unit_id)
        if not self.world.holds(leg) or (unit.kind in LAST and job.status not in LIVE):
            with pytest.raises(LeaseLost):
                legs.finish(self.database, leg.unit_id, leg.token)
            return
        sent = legs.finish(self.database, leg.unit_id, leg.token)
        unit.status, unit.token, unit.late, unit.attempts = "done", None, False, 0
        leg.believes = False
        if unit.kind in LAST:
            job.status = "succeeded"
        following = FOLLOWING[unit.kind]
        next_kind = next((kind for kind in following if job.has(kind)), "")
        ready = []
        if all(other.status == "done" for other in job.units.values() if other.kind == unit.kind):
            ready = [unit_id for unit_id, other in job.units.items() if other.kind == next_kind]
        for unit_id in ready:
            job.units[unit_id].status = "ready"
        assert sent == (ready if job.status in LIVE else [])

    def let_expire(self, unit_id: int) -> None:
        self.verb = "expire"
        _, unit = self.world.find(unit_id)
        if unit.status in ("ready", "running"):
            expire(self.database, unit_id)
            unit.late = True
            for leg in self.world.legs:
                leg.believes = leg.believes and leg.unit_id != unit_id

    def reaped(self) -> None:
        """Reap, in the database and in the model."""
        self.verb = "reap"
        sent = legs.reap(self.database)
        expected: list[int] = []
        for job in self.world.jobs.values():
            late = {unit_id: unit for unit_id, unit in job.units.items() if unit.late and job.status in LIVE}
            poisoned = any(unit.status == "running" and unit.attempts >= MAX_ATTEMPTS for unit in late.values())
            for unit in late.values():
                unit.status, unit.token, unit.late = "ready", None, False
            if poisoned:
                job.status = "failed"
            else:
                expected += late
        assert sent == sorted(expected)

    def asked(self, job_id: str, verb: str) -> None:
        self.verb = verb
        job = self.world.jobs[job_id]
        function: Any = getattr(legs, verb)
        if job.status not in FROM[verb] or (verb == "power_test" and not job.has("atoms")):
            with pytest.raises(ServiceError):
                function(self.database, job_id)
            return
        sent = function(self.database, job_id)
        if verb == "power_test":
            assert len(sent) == (not job.has("power")), "it is done once"
            job.units |= {unit_id: ModelUnit("power", "ready") for unit_id in sent}
            job.status = "queued" if sent else job.status
            return
        job.status = TO[verb]
        if verb == "extend":
            for unit in job.units.values():
                unit.status = {"chain": "ready", "conclude": "waiting"}.get(unit.kind, unit.status)
        if verb in ("resume", "extend"):
            active = {unit_id: unit for unit_id, unit in job.units.items() if unit.status in ("ready", "running")}
            assert sent == sorted(active)
            for unit in active.values():
                unit.attempts = 0
                unit.late = unit.late and unit.status == "running"

    @invariant()
    def check(self) -> None:
        """The tables are what the model says, and the promises hold."""
        with self.database.readers.begin() as session:
            statuses = {job.id: job.status for job in session.scalars(select(Job))}
            units = session.scalars(select(Unit)).all()
        assert statuses == {job_id: job.status for job_id, job in self.world.jobs.items()}
        assert {u.id: (u.status, u.token, u.attempts, u.n_sweeps) for u in units} == {
            unit_id: (unit.status, unit.token, unit.attempts, unit.n_sweeps)
            for job in self.world.jobs.values()
            for unit_id, unit in job.units.items()
        }
        self.check_changes(statuses)
        owners = [leg.unit_id for leg in self.world.legs if leg.believes]
        assert len(owners) == len(set(owners)), "two legs may work on one unit"
        for unit in units:
            assert unit.n_sweeps >= self.n_sweeps.get(unit.id, 0), "saved sweeps are gone"
            assert (unit.token is not None) == (unit.status == "running")
            assert (unit.lease_until is not None) == (unit.status in ("ready", "running")), "no reaper finds it"
            self.n_sweeps[unit.id] = unit.n_sweeps
        for job_id, status in statuses.items():
            if status in LIVE:
                assert any(u.job_id == job_id and u.lease_until is not None for u in units), "a dead end"

    def check_changes(self, statuses: dict[str, str]) -> None:
        """Each status is as before, or has changed as is allowed."""
        for job_id, status in statuses.items():
            change = (self.verb, self.before[job_id], status)
            if self.before[job_id] != status:
                assert change in ALLOWED
                self.seen[change] += 1
            self.before[job_id] = status
