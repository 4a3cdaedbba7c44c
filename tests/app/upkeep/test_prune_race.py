"""Prune beside clients that extend, continue and resume, on both databases: whoever comes second sees the first."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from sqlalchemy import select
from sqlalchemy.orm import aliased

from app.core import lifecycle
from app.core.db import Database
from app.core.errors import ServiceError
from app.core.runs import UNFINISHED, Run
from app.core.tables import Checkpoint, Job, SideRun, Unit
from app.upkeep.prune import Ages, prune_once
from tests.app.upkeep.aged import ended, set_job

N_JOBS = 12
AT_ONCE = Ages(jobs=0.0, checkpoints=0.0)


def extend(database: Database, job_id: str) -> str:
    with database.sessions.begin() as session:
        lifecycle.extend(session, job_id, 5)
    return "extended"


def go_on(database: Database, job_id: str) -> str:
    with database.sessions.begin() as session:
        job, _ = lifecycle.continue_job(session, job_id, None)
        lifecycle.queue(session, job)
    return "continued"


def resume(database: Database, job_id: str) -> str:
    with database.sessions.begin() as session:
        lifecycle.resume(session, Run(job_id))
    return "resumed"


def test_power(database: Database, job_id: str) -> str:
    with database.sessions.begin() as session:
        lifecycle.begin_power_test(session, job_id)
    return "tested"


test_power.__test__ = False  # type: ignore[attr-defined]
REQUESTS = (extend, go_on, resume, test_power)


def test_nothing_that_lives_is_pruned_whoever_comes_first(database: Database) -> None:
    for ages in (Ages(checkpoints=0.0), AT_ONCE):
        jobs = [ended(database, 1.0) for _ in range(N_JOBS)]
        for job_id in jobs[2 :: len(REQUESTS)]:
            set_job(database, job_id, status="failed")
        start = Barrier(len(REQUESTS) + 2)

        def client(n: int, jobs: list[str] = jobs, start: Barrier = start) -> list[str]:
            start.wait()
            done = []
            for job_id in jobs[n :: len(REQUESTS)]:
                try:
                    done.append(REQUESTS[n](database, job_id))
                except ServiceError as error:
                    done.append(error.detail)
            return done

        def pruner(_: int, ages: Ages = ages, start: Barrier = start) -> None:
            start.wait()
            prune_once(database, ages)

        with ThreadPoolExecutor(len(REQUESTS) + 2) as threads:
            clients = [threads.submit(client, n) for n in range(len(REQUESTS))]
            pruners = [threads.submit(pruner, n) for n in range(2)]
            for each in pruners:
                each.result()
            answers = [answer for each in clients for answer in each.result()]
        refused = [answer for answer in answers if " " in answer]
        assert all("have expired" in answer or "there is no job" in answer for answer in refused), refused
        assert_nothing_alive_is_touched(database, n_alive=len(answers) - len(refused))
        with database.sessions.begin() as session:  # the next round has its own
            for job in session.scalars(select(Job).where(Job.status.in_(UNFINISHED))).all():
                lifecycle.cancel(session, Run(job.id))
            for side in session.scalars(select(SideRun).where(SideRun.status.in_(UNFINISHED))).all():
                lifecycle.cancel(session, Run(side.job_id, side.kind))


def assert_nothing_alive_is_touched(database: Database, n_alive: int) -> None:
    """Whatever is queued has its checkpoints, and so has what it goes on from."""
    source = aliased(Job)
    with database.readers.begin() as session:
        alive = session.scalars(select(Job).where(Job.status.in_(UNFINISHED))).all()
        sides = select(Job).join(SideRun, SideRun.job_id == Job.id).where(SideRun.status.in_(UNFINISHED))
        extended = session.scalars(sides).all()
        sources = session.scalars(
            select(source).join(Job, Job.continues == source.id).where(Job.status.in_(UNFINISHED))
        ).all()
        assert len(alive) + len(extended) == n_alive
        with_states = {unit.job_id for unit in session.scalars(select(Unit).join(Checkpoint)).all()}
    for job in (*alive, *extended, *sources):
        assert job.expired_at is None
        assert job.deleted_at is None
    assert {job.id for job in (*extended, *sources)} <= with_states
    assert sum(job.continues is not None for job in alive) == len(sources)
