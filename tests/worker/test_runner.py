"""Legs of any kind, over real databases: full disks, rows that cannot be read, errors, databases that are away."""

import threading

import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import OperationalError

from app.broker import queue
from app.core import disk, leases, lifecycle
from app.core.db import Database
from app.core.runs import Run
from app.core.settings import Settings
from app.core.tables import Job, Unit
from tests.app.rows import NOBODY_LISTENS
from tests.worker import jobs
from worker import encode, encodings, runner, turns


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_leg_does_not_write_on_a_disk_that_is_nearly_full(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    job_id, unit_ids = jobs.submit(database, corpus_id, chains=1)
    free = iter([100, 100, 600])
    monkeypatch.setattr(disk, "free_bytes", lambda folder: next(free, 600))
    small = jobs.with_changes(settings, min_free_bytes=1_000, save_seconds=0.01)
    jobs.run_to_the_end(database, small, unit_ids)
    assert next(free, None) is None
    assert jobs.job(database, job_id).status == "succeeded"


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_full_disk_does_not_keep_the_worker_of_a_job_that_is_cancelled(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    job_id, unit_ids = jobs.submit(database, corpus_id, chains=1)
    waited: list[str] = []

    def cancel(folder: object) -> int:
        if not waited:
            with database.sessions.begin() as session:
                lifecycle.cancel(session, Run(job_id))
        waited.append("")
        return 0

    monkeypatch.setattr(disk, "free_bytes", cancel)
    assert runner.run(database, jobs.with_changes(settings, save_seconds=0.1), unit_ids[0], lambda: False) == []
    with database.readers.begin() as session:
        assert session.get_one(Unit, unit_ids[0]).status == "ready"
    assert waited


@pytest.mark.parametrize("kind", ["sqlite"])
@pytest.mark.parametrize(
    ("table", "values"),
    [
        ("jobs", "settings = '[1'"),
        ("jobs", "settings = '{}'"),
        ("units", "seconds = 'long'"),
        ("units", "digest = CAST(x'ff' AS TEXT)"),
    ],
)
def test_a_row_that_cannot_be_read_fails_its_job_with_the_reason_and_no_other(
    database: Database, settings: Settings, table: str, values: str
) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    job_id, unit_ids = jobs.submit(database, corpus_id, chains=1)
    other_id, _ = jobs.submit(database, corpus_id, chains=1)
    runner.run(database, settings, unit_ids[0], lambda: False)
    column = "id" if table == "jobs" else "job_id"
    chain_alone = "" if table == "jobs" else " AND kind = 'chain'"
    with database.sessions.begin() as session:
        session.execute(text(f"UPDATE {table} SET {values} WHERE {column} = '{job_id}'{chain_alone}"))
    turns.work(database, settings, lambda: False)
    with database.readers.begin() as session:
        statuses = dict(session.execute(select(Job.id, Job.status)).all())
        error = session.scalars(select(Job.error).where(Job.id == job_id)).one()
    assert statuses == {job_id: "failed", other_id: "succeeded"}
    assert error is not None and "want of memory" not in error


def test_an_error_of_the_work_fails_the_job_with_the_reason(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    job_id, unit_ids = jobs.submit(database, corpus_id)

    def fail(*_: object) -> None:
        raise ValueError("the corpus is cursed")

    monkeypatch.setattr(encode.text, "encode", fail)
    assert runner.run(database, settings, unit_ids[0], lambda: False) == []
    job = jobs.job(database, job_id)
    assert (job.status, job.error) == ("failed", "encode: ValueError: the corpus is cursed")


def test_a_worker_that_leaves_does_not_wait_for_a_database_that_is_away(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    job_id, unit_ids = jobs.submit(database, corpus_id)
    is_away = threading.Event()

    def go_away(*_: object) -> None:
        is_away.set()
        raise OperationalError("INSERT", {}, Exception("the server closed the connection"))

    monkeypatch.setattr(encodings, "begin", go_away)
    assert runner.run(database, settings, unit_ids[0], is_away.is_set) == []
    assert jobs.job(database, job_id).status == "running"


def test_a_unit_whose_message_was_not_sent_is_due_at_once(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    _, unit_ids = jobs.submit(database, corpus_id)
    with database.sessions.begin() as session:
        assert leases.reap(session) == []
    queue.configure(settings.model_copy(update={"broker_url": NOBODY_LISTENS}))  # nobody listens there
    queue.wake(database.sessions, unit_ids)
    with database.sessions.begin() as session:
        assert leases.reap(session) == unit_ids
