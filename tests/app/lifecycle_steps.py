"""Steps of a machine of random events, each taken in the database and in the model, and compared."""

from collections import Counter
from typing import Any

import pytest
from hypothesis.stateful import RuleBasedStateMachine, invariant
from sqlalchemy import delete, select

from app.core.db import Database
from app.core.errors import LeaseLost, ServiceError
from app.core.tables import Corpus, Job, SideRun, Unit
from tests.app import legs
from tests.app.lifecycle_model import (
    ALLOWED,
    FOLLOWING,
    FROM,
    LAST,
    LIVE,
    MAX_ATTEMPTS,
    SIDES,
    STOPS,
    TO,
    Leg,
    ModelJob,
    ModelUnit,
    World,
)
from tests.app.rows import expire


class LifecycleSteps(RuleBasedStateMachine):
    """Jobs in the database and the model of them: each step is taken in both, and compared."""

    database: Database
    seen: Counter[tuple[str, str | None, str]]

    def __init__(self) -> None:
        super().__init__()
        with self.database.sessions.begin() as session:
            session.execute(delete(Corpus))
        self.world = World()
        self.n_tokens = 0
        self.before: dict[tuple[str, str | None], str] = {}  # status of each run after the last step
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
        assert (got is not None) == (is_free and job.of(unit.side) in LIVE)
        if got is None:
            return None
        job.set(unit.side, "running")
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
        assert legs.renew(self.database, leg.unit_id, leg.token) == (holds and job.of(unit.side) in LIVE)
        if holds:
            unit.late = False
        leg.believes = holds

    def release(self, leg: Leg) -> None:
        """A leg ends in order, before its unit is done."""
        self.verb = "release"
        job, unit = self.world.find(leg.unit_id)
        holds = self.world.holds(leg)
        assert legs.release(self.database, leg.unit_id, leg.token) == (holds and job.of(unit.side) in LIVE)
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
            if job.of(unit.side) in LIVE:
                job.set(unit.side, "failed")
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
        assert legs.save(self.database, leg.unit_id, leg.token, leg.n_sweeps) == (job.of(unit.side) in LIVE)
        unit.late, unit.attempts, unit.n_sweeps = False, 0, leg.n_sweeps

    def finish(self, leg: Leg) -> None:
        self.verb = "finish"
        job, unit = self.world.find(leg.unit_id)
        if not self.world.holds(leg) or (unit.kind in LAST and job.of(unit.side) not in LIVE):
            with pytest.raises(LeaseLost):
                legs.finish(self.database, leg.unit_id, leg.token)
            return
        sent = legs.finish(self.database, leg.unit_id, leg.token)
        unit.status, unit.token, unit.late, unit.attempts = "done", None, False, 0
        leg.believes = False
        side = unit.side
        if unit.kind in LAST:
            job.set(side, "succeeded")
        if unit.kind == "conclude" and side:  # the extension is part of the job now
            for other in job.units.values():
                other.side = None if other.side == side else other.side
        following = FOLLOWING[unit.kind]
        next_kind = next((kind for kind in following if job.has(kind)), "")
        ready = []
        if all(other.status == "done" for other in job.units.values() if other.kind == unit.kind):
            ready = [unit_id for unit_id, other in job.units.items() if other.kind == next_kind]
        for unit_id in ready:
            job.units[unit_id].status = "ready"
        assert sent == (ready if job.of(side) in LIVE else [])

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
            for side in SIDES:
                late = {
                    unit_id: unit
                    for unit_id, unit in job.units.items()
                    if unit.late and unit.side == side and job.of(side) in LIVE
                }
                poisoned = any(unit.status == "running" and unit.attempts >= MAX_ATTEMPTS for unit in late.values())
                for unit in late.values():
                    unit.status, unit.token, unit.late = "ready", None, False
                if poisoned:
                    job.set(side, "failed")
                else:
                    expected += late
        assert sent == sorted(expected)

    def asked(self, job_id: str, verb: str, side: str | None = None) -> None:
        self.verb = verb
        job = self.world.jobs[job_id]
        if verb in STOPS:
            self.asked_to_stop_or_resume(job_id, verb, side)
        elif verb == "extend":
            self.asked_to_extend(job_id, job)
        else:
            self.asked_for_a_power_test(job_id, job)

    def asked_to_stop_or_resume(self, job_id: str, verb: str, side: str | None) -> None:
        job = self.world.jobs[job_id]
        function: Any = getattr(legs, verb)
        if job.of(side) not in FROM[verb]:
            with pytest.raises(ServiceError):
                function(self.database, job_id, side)
            return
        sent = function(self.database, job_id, side)
        job.set(side, TO[verb])
        if verb == "resume":
            self.resumed(job, side, sent)

    def resumed(self, job: ModelJob, side: str | None, sent: list[int]) -> None:
        """What a resume does to the units of a run."""
        active = {
            unit_id: unit
            for unit_id, unit in job.units.items()
            if unit.side == side and unit.status in ("ready", "running")
        }
        assert sent == sorted(active)
        for unit in active.values():
            unit.attempts = 0
            unit.late = unit.late and unit.status == "running"

    def asked_to_extend(self, job_id: str, job: ModelJob) -> None:
        if job.status != "succeeded" or job.of("extension") not in FROM["extend"]:
            with pytest.raises(ServiceError):
                legs.extend(self.database, job_id)
            return
        sent = legs.extend(self.database, job_id)
        job.set("extension", "queued")
        for unit in job.units.values():
            if unit.kind in ("chain", "conclude"):
                unit.side, unit.status = "extension", "ready" if unit.kind == "chain" else "waiting"
        assert sent == sorted(unit_id for unit_id, unit in job.units.items() if unit.kind == "chain")

    def asked_for_a_power_test(self, job_id: str, job: ModelJob) -> None:
        if job.status != "succeeded" or not job.has("atoms"):
            with pytest.raises(ServiceError):
                legs.power_test(self.database, job_id)
            return
        sent = legs.power_test(self.database, job_id)
        if job.of("power") in ("paused", "failed", "cancelled"):
            self.resumed(job, "power", sent)
        else:
            assert len(sent) == (not job.has("power")), "it is done once"
            job.units |= {unit_id: ModelUnit("power", "ready", "power") for unit_id in sent}
        if sent:
            job.set("power", "queued")

    @invariant()
    def check(self) -> None:
        """The tables are what the model says, and the promises hold."""
        with self.database.readers.begin() as session:
            statuses: dict[tuple[str, str | None], str] = {
                (job.id, None): job.status for job in session.scalars(select(Job))
            }
            statuses |= {(side.job_id, side.kind): side.status for side in session.scalars(select(SideRun))}
            units = session.scalars(select(Unit)).all()
        assert statuses == {
            (job_id, side): job.of(side)
            for job_id, job in self.world.jobs.items()
            for side in SIDES
            if job.of(side) is not None
        }
        assert {u.id: (u.side, u.status, u.token, u.attempts, u.n_sweeps) for u in units} == {
            unit_id: (unit.side, unit.status, unit.token, unit.attempts, unit.n_sweeps)
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
        for run, status in statuses.items():
            if status in LIVE:
                is_under_way = any((u.job_id, u.side) == run and u.lease_until is not None for u in units)
                assert is_under_way, "a dead end"

    def check_changes(self, statuses: dict[tuple[str, str | None], str]) -> None:
        """Each status is as before, or has changed as is allowed."""
        for run, status in statuses.items():
            change = (self.verb, self.before.get(run), status)
            if self.before.get(run) != status:
                assert change in ALLOWED
                self.seen[change] += 1
            self.before[run] = status
