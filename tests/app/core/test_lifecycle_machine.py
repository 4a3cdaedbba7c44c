"""Whatever workers, reapers and owners do, in whatever order: a machine that does it at random beside a model.

After each step the tables must be what the model says, and the promises must hold: one owner a unit, no write
under a stale token, no way out of a terminal state but the allowed ones, and no dead end, which each run proves
by going to a good end.
"""

from collections import Counter

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule, run_state_machine_as_test
from sqlalchemy import select

from app.core import leases
from app.core.db import Database
from app.core.tables import Unit
from tests.app.lifecycle_model import ALLOWED, MAX_ATTEMPTS, MAX_JOBS, RARE, SIDES, VERBS, Leg, ModelJob, ModelUnit
from tests.app.lifecycle_steps import LifecycleSteps
from tests.app.rows import add_encoding, submit

MAX_ROUNDS = 4  # of everything that can be done; a job with legs that just died needs one more than without
OF_LEGS = st.sampled_from(["renew", "save", "release", "finish", "fail"])
EXAMPLES = {"sqlite": 80, "postgresql": 15}  # of the former enough to come everywhere, whatever else is imported


class Lifecycle(LifecycleSteps):
    """What may befall the jobs."""

    def unit(self, pick: int) -> int:
        """Any unit, those first that something may happen to."""
        units = self.world.units()
        active = [unit_id for unit_id in units if self.world.find(unit_id)[1].status in ("ready", "running")]
        both = active + [unit_id for unit_id in units if unit_id not in active]
        return both[pick % len(both)]

    def leg(self, pick: int) -> Leg:
        """Any leg, those first that hold a unit, then the newest."""
        newest = self.world.legs[::-1]
        both = [leg for leg in newest if self.world.holds(leg)] + [leg for leg in newest if not self.world.holds(leg)]
        return both[pick % len(both)]

    @precondition(lambda self: len(self.world.jobs) < MAX_JOBS)
    @rule(chains=st.integers(1, 2), model=st.sampled_from(["lbpl-ntm", "calibrated"]))
    def submit(self, chains: int, model: str) -> None:
        job_id, sent = submit(self.database, chains, model)
        with self.database.readers.begin() as session:
            units = session.scalars(select(Unit).where(Unit.job_id == job_id).order_by(Unit.id)).all()
        made = {unit.id: ModelUnit(unit.kind, "ready" if unit.kind == "encode" else "waiting") for unit in units}
        between = ["atoms", "calibrate"] if model == "calibrated" else []
        assert [unit.kind for unit in units] == ["encode", *between, *["chain"] * chains, "conclude"]
        assert sent == [units[0].id]
        add_encoding(self.database, job_id)
        self.world.jobs[job_id] = ModelJob("queued", made)
        self.before[job_id, None] = "queued"

    @precondition(lambda self: self.world.jobs)
    @rule(pick=st.integers(0, 7))
    def claim(self, pick: int) -> None:
        self.claimed(self.unit(pick))

    @precondition(lambda self: self.world.jobs)
    @rule(pick=st.integers(0, 3), times=st.integers(1, 5))
    def work_undisturbed(self, pick: int, times: int) -> None:
        """Legs that nothing befalls, up to a whole job's, so that runs get far."""
        for _ in range(times):
            leg = self.claimed(self.unit(pick))
            if leg is not None:
                self.check()
                self.save(leg)
                self.check()
                self.finish(leg)
                self.check()

    @precondition(lambda self: self.world.jobs)
    @rule(pick=st.integers(0, 3), times=st.integers(2, MAX_ATTEMPTS + 1))
    def die_and_die_again(self, pick: int, times: int) -> None:
        """A unit that kills whoever takes it."""
        unit_id = self.unit(pick)
        for _ in range(times):
            if self.claimed(unit_id):
                self.check()
                self.let_expire(unit_id)
        self.reaped()

    @precondition(lambda self: self.world.legs)
    @rule(pick=st.integers(0, 5), verb=OF_LEGS)
    def go_on(self, pick: int, verb: str) -> None:
        """A leg does something, whether it still holds its unit or not."""
        self.do(self.leg(pick), verb)

    @precondition(lambda self: self.world.jobs)
    @rule(pick=st.integers(0, 7))
    def expire(self, pick: int) -> None:
        """Time passes for one unit: its leg, or the message for it, says nothing for too long."""
        self.let_expire(self.unit(pick))

    @rule()
    def reap(self) -> None:
        self.reaped()

    @precondition(lambda self: self.overtaken())
    @rule(pick=st.integers(0, 5), verb=OF_LEGS)
    def wake_up_too_late(self, pick: int, verb: str) -> None:
        """A leg that was stopped for long goes on, while another holds its unit."""
        late = self.overtaken()
        self.do(late[pick % len(late)], verb)

    @precondition(lambda self: self.world.jobs)
    @rule(pick=st.integers(0, 3), verb=st.sampled_from(["cancel", "pause"]))
    def stop_in_flight(self, pick: int, verb: str) -> None:
        """An owner stops a job just after a leg has begun."""
        leg = self.claimed(self.unit(pick))
        if leg is not None:
            self.check()
            job_id, job = next(item for item in self.world.jobs.items() if leg.unit_id in item[1].units)
            self.asked(job_id, verb, job.units[leg.unit_id].side)

    @precondition(lambda self: self.world.jobs)
    @rule(pick=st.integers(0, MAX_JOBS - 1), verb=st.sampled_from(VERBS), which=st.integers(0, len(SIDES) - 1))
    def ask(self, pick: int, verb: str, which: int) -> None:
        """An owner asks for something, mostly of the last run that there is."""
        job_id, job = list(self.world.jobs.items())[pick % len(self.world.jobs)]
        sides = [side for side in SIDES[::-1] if job.of(side) is not None]
        self.asked(job_id, verb, sides[which % len(sides)])

    def teardown(self) -> None:
        """However it went: what has stopped is resumed, and each job succeeds, is extended twice and tested."""
        self.resume_all("paused", "cancelled", "failed")
        self.work_to_the_end()
        for verb in ("extend", "power_test", "extend"):
            for job_id in self.world.jobs:
                self.asked(job_id, verb)
                self.check()
            self.work_to_the_end()

    def work_to_the_end(self) -> None:
        """All that lives at last works in order."""
        for _ in range(MAX_ROUNDS):
            for unit_id in self.world.units():
                self.let_expire(unit_id)
            self.reap()
            self.check()
            self.resume_all("failed")
            for unit_id in self.world.units():
                # That nobody can claim the others is seen at every other step.
                leg = self.claimed(unit_id) if self.world.find(unit_id)[1].status in ("ready", "running") else None
                if leg is not None:
                    self.check()
                    self.finish(leg)
                    self.check()
            if all(job.of(side) in ("succeeded", None) for job in self.world.jobs.values() for side in SIDES):
                return
        raise AssertionError("a run does not end")

    def resume_all(self, *statuses: str) -> None:
        """Resume all runs in these states."""
        for job_id, job in self.world.jobs.items():
            for side in SIDES:
                if job.of(side) in statuses:
                    self.asked(job_id, "resume", side)
                    self.check()


def test_no_order_of_events_breaks_a_promise(database: Database, kind: str) -> None:
    machine = type("Machine", (Lifecycle,), {"database": database, "seen": Counter()})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=EXAMPLES[kind],
            stateful_step_count=35,
            deadline=None,
            database=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
    assert MAX_ATTEMPTS == leases.MAX_ATTEMPTS
    if kind == "sqlite":
        assert set(machine.seen) >= ALLOWED - RARE, "the machine came everywhere"
