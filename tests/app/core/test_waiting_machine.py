"""Jobs that wait for the one that they continue: whatever becomes of that one, none waits for what never comes."""

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from sqlalchemy import select

from app.core import leases, lifecycle
from app.core.db import Database
from app.core.ends import unfinished_run, waits_for
from app.core.errors import ServiceError
from app.core.kinds import SideKind
from app.core.runs import Run
from app.core.tables import Job, Unit
from tests.app.rows import expire, submit

MAX_JOBS = 4
EXAMPLES = {"sqlite": 20, "postgresql": 5}
ANY = st.integers(0, MAX_JOBS - 1)
OWNERS: dict[str, Any] = {
    "cancel": lambda session, job_id: lifecycle.cancel(session, Run(job_id)),
    "pause": lambda session, job_id: lifecycle.pause(session, Run(job_id)),
    "resume": lambda session, job_id: lifecycle.resume(session, Run(job_id)),
    "extend": lambda session, job_id: lifecycle.extend(session, job_id, 5),
    "cancel the extension": lambda session, job_id: lifecycle.cancel(session, Run(job_id, SideKind.EXTENSION)),
    "resume the extension": lambda session, job_id: lifecycle.resume(session, Run(job_id, SideKind.EXTENSION)),
    "delete": lifecycle.delete,
}


class Waiting(RuleBasedStateMachine):
    """A job, and up to three that continue it or each other."""

    database: Database

    @initialize()
    def begin(self) -> None:
        self.jobs = [submit(self.database, chains=1)[0]]
        self.continue_one(0)

    def job(self, pick: int) -> str:
        return self.jobs[pick % len(self.jobs)]

    @rule(pick=ANY)
    def continue_one(self, pick: int) -> None:
        """A job that continues another one, patiently."""
        if len(self.jobs) < MAX_JOBS:
            self.asked(lambda session: self.jobs.append(self.continued(session, self.job(pick))))

    def continued(self, session: Any, source_id: str) -> str:
        job, source = lifecycle.continue_job(session, source_id, None, wait=True)
        waits = unfinished_run(session, source) is not None
        assert bool(lifecycle.queue(session, job, waits=waits)) is not waits
        return job.id

    @rule(pick=ANY, verb=st.sampled_from(sorted(OWNERS)))
    def ask(self, pick: int, verb: str) -> None:
        """An owner asks for something, which may be refused."""
        self.asked(lambda session: OWNERS[verb](session, self.job(pick)))

    @rule(stopped=ANY, resumed=ANY)
    def resume_another(self, stopped: int, resumed: int) -> None:
        """An owner stops a job, and resumes one that may have waited for it."""
        self.ask(stopped, "cancel")
        self.nobody_waits_for_what_never_comes()
        self.ask(resumed, "resume")

    def asked(self, work: Any) -> None:
        try:
            with self.database.sessions.begin() as session:
                work(session)
        except ServiceError:
            pass

    @rule(pick=ANY, verb=st.sampled_from(["finish", "finish", "finish", "fail"]), times=st.integers(1, 5))
    def work(self, pick: int, verb: str, times: int) -> None:
        """A worker ends units of a job, or fails one."""
        for _ in range(times if verb == "finish" else 1):
            self.leg(self.job(pick), verb)

    def leg(self, job_id: str, verb: str) -> bool:
        """Whether the job had a unit to be worked on."""
        with self.database.sessions.begin() as session:
            free = select(Unit.id).where(Unit.job_id == job_id, leases.is_free()).order_by(Unit.id)
            unit_id = session.scalar(free.limit(1))
            if unit_id is None:
                return False
            assert leases.claim(session, unit_id, "token", 60.0)
        with self.database.sessions.begin() as session:
            if verb == "finish":
                leases.finish(session, unit_id, "token")
            else:
                leases.fail(session, unit_id, "token", "for no reason")
        return True

    @invariant()
    def nobody_waits_for_what_never_comes(self) -> None:
        """A job waits just as long as what it continues is unfinished."""
        with self.database.readers.begin() as session:
            for job in session.scalars(select(Job).where(Job.id.in_(self.jobs), Job.status.in_(lifecycle.LIVE))):
                source_id = waits_for(session, job.id)
                if source_id is not None:
                    assert unfinished_run(session, session.get_one(Job, source_id)) is not None

    def teardown(self) -> None:
        """Those that are left are resumed, the first ones first, and succeed."""
        for job_id in getattr(self, "jobs", []):
            self.asked(lambda session, job_id=job_id: OWNERS["resume"](session, job_id))
            self.asked(lambda session, job_id=job_id: OWNERS["resume the extension"](session, job_id))
            while self.leg(job_id, "finish"):
                continue
        with self.database.sessions.begin() as session:
            rows = session.scalars(select(Job).where(Job.id.in_(getattr(self, "jobs", [])))).all()
            gone = {job.id for job in rows if job.deleted_at is not None}
            left = [job for job in rows if job.deleted_at is None and job.continues not in gone]
            assert {job.status for job in left} <= {"succeeded"}, [(job.id, job.status) for job in rows]


def test_no_job_waits_for_what_never_comes(database: Database, kind: str) -> None:
    machine = type("Machine", (Waiting,), {"database": database})
    limits = settings(
        max_examples=EXAMPLES[kind],
        stateful_step_count=25,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine, settings=limits)


def test_a_reaper_calls_for_workers_when_the_wait_is_over(database: Database) -> None:
    source, [encode] = submit(database, chains=1)
    with database.sessions.begin() as session:
        job, _ = lifecycle.continue_job(session, source, None, wait=True)
        assert lifecycle.queue(session, job, waits=True) == []
        heir = job.id
    expire(database, encode)
    with database.sessions.begin() as session:
        assert leases.reap(session) == [encode], "what waits is not called for"
        lifecycle.cancel(session, Run(source))
    with database.sessions.begin() as session:
        lifecycle.resume(session, Run(source))
        lifecycle.resume(session, Run(heir))
    for kind in ("encode", "chain", "conclude"):
        with database.sessions.begin() as session:
            [unit] = session.scalars(select(Unit).where(Unit.job_id == source, Unit.kind == kind)).all()
            assert leases.claim(session, unit.id, "token", 60.0)
            leases.finish(session, unit.id, "token")
    with database.sessions.begin() as session:
        first = session.scalar(select(Unit.id).where(Unit.job_id == heir, Unit.kind == "encode"))
        assert first in leases.reap(session)
