"""Legs of real units over real databases, run in this process as a worker runs them."""

import random
import shutil
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sqlalchemy import delete, func, select, text, update
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from app.broker import queue
from app.core import disk, leases, lifecycle
from app.core.db import Database
from app.core.settings import Settings
from app.core.tables import Checkpoint, Corpus, Document, Draw, Encoding, EncodingPart, Job, Unit
from sampler.lbpl_ntm import chain
from tests.app.rows import NOBODY_LISTENS
from tests.waits import slowness
from tests.worker import jobs
from worker import corpus_file, encode, encodings, results, runner, store, turns
from worker.corpus_cache import CorpusCache

SAVE_AFTER_EVERY_SWEEP = {"save_seconds": 1e-9}
ONE_SWEEP_A_LEG = {**SAVE_AFTER_EVERY_SWEEP, "leg_seconds": 1e-9}


def with_changes(settings: Settings, **changes: float) -> Settings:
    return settings.model_copy(update=changes)


def test_a_job_gives_every_unlabeled_document_a_category_or_the_reason_why_not(
    database: Database, settings: Settings
) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    job_id, unit_ids = jobs.submit(database, corpus_id, sweeps=40)
    jobs.run_to_the_end(database, settings, unit_ids)

    assert jobs.job(database, job_id).status == "succeeded"
    found = jobs.outcome(database, job_id)
    unlabeled = sorted(row["key"] for row in jobs.rows() if row["label"] is None)
    assert [key for key, _ in found["answers"]] == unlabeled
    answers = dict(found["answers"])
    blank = answers.pop("blank")
    assert blank == {
        "category": None,
        "probability": None,
        "runner_up": None,
        "runner_up_probability": None,
        "reason": results.NO_WORD,
        "stability": None,
    }
    names = {category["category"]: category["name"] for category in found["categories"]}
    subjects = {key: names[answer["category"]] for key, answer in answers.items()}
    assert {name for key, name in subjects.items() if key.startswith("fruit")} == {"fruit"}
    assert {name for key, name in subjects.items() if key.startswith("metal")} == {"metal"}
    assert {name for key, name in subjects.items() if key.startswith("river")} == {"new 1"}
    by_name = {category["name"]: category for category in found["categories"]}
    assert [by_name[name]["n_documents"] for name in ("fruit", "metal", "new 1")] == [10, 10, 20]
    assert [by_name[name]["n_labeled"] for name in ("fruit", "metal", "new 1")] == [10, 10, 0]
    assert {word["word"] for word in by_name["new 1"]["top_words"]} == set(jobs.SUBJECTS["river"].split())


def test_each_sweep_leaves_one_draw_and_the_last_two_checkpoints_are_kept(
    database: Database, settings: Settings
) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    job_id, unit_ids = jobs.submit(database, corpus_id)
    jobs.run_to_the_end(database, with_changes(settings, **SAVE_AFTER_EVERY_SWEEP), unit_ids)
    drawn = [(draw["chain"], draw["sweep"]) for draw in jobs.outcome(database, job_id)["draws"]]
    assert drawn == [(chain_number, sweep) for chain_number in (0, 1) for sweep in range(1, 13)]
    with database.readers.begin() as session:
        kept = list(session.scalars(select(Checkpoint.n_sweeps).order_by(Checkpoint.unit_id, Checkpoint.id)))
    assert kept == [11, 12, 11, 12]


def test_a_job_in_many_legs_leaves_the_same_bytes_as_one_in_few(database: Database, settings: Settings) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    few_id, unit_ids = jobs.submit(database, corpus_id)
    n_few = jobs.run_to_the_end(database, settings, unit_ids)
    many_id, unit_ids = jobs.submit(database, corpus_id)
    n_many = jobs.run_to_the_end(database, with_changes(settings, **ONE_SWEEP_A_LEG), unit_ids)
    assert (n_few, n_many) == (4, 2 + 2 * 12)
    assert jobs.outcome(database, many_id) == jobs.outcome(database, few_id)


def test_the_order_of_uploads_does_not_change_an_answer(database: Database, settings: Settings) -> None:
    outcomes = []
    for seed in (None, 7):
        documents = jobs.rows()
        if seed is not None:
            random.Random(seed).shuffle(documents)
        corpus_id = jobs.upload(database, documents)
        job_id, unit_ids = jobs.submit(database, corpus_id)
        jobs.run_to_the_end(database, settings, unit_ids)
        outcomes.append(jobs.outcome(database, job_id))
        with database.sessions.begin() as session:
            session.execute(delete(Corpus))
    assert outcomes[0] == outcomes[1]


def test_an_encoding_is_made_once_for_jobs_with_the_same_text_options(database: Database, settings: Settings) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    for options in ({}, {}, {"min_document_frequency": 2}):
        _, unit_ids = jobs.submit(database, corpus_id, text=options, sweeps=1)
        jobs.run_to_the_end(database, settings, unit_ids)
    with database.readers.begin() as session:
        assert len(list(session.scalars(select(Encoding.id)))) == 2


def test_an_encode_stores_the_documents_by_key_with_ascending_words(database: Database, settings: Settings) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    job_id, unit_ids = jobs.submit(database, corpus_id)
    runner.run(database, settings, unit_ids[0], lambda: False)
    job, files = jobs.job(database, job_id), CorpusCache(settings.encodings, settings.max_encodings_bytes)
    with database.readers.begin() as session:
        corpus, document_ids = encodings.load(session, job, files)
        names = encodings.names(session, job)
        keys = dict(session.execute(select(Document.id, Document.key)).all())
    texts = {row["key"]: row["text"].split() for row in jobs.rows()}
    assert [keys[document_id] for document_id in document_ids] == sorted(texts)
    for key, words in zip(sorted(texts), np.split(corpus.words, corpus.offsets[1:-1]), strict=True):
        assert [names.vocabulary[word] for word in words] == sorted(texts[key])
    assert names.categories == ["fruit", "metal"]


def test_an_encode_that_was_broken_off_goes_on_in_another_leg(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    calm_id, unit_ids = jobs.submit(database, corpus_id, chains=1)
    jobs.run_to_the_end(database, settings, unit_ids)
    with database.sessions.begin() as session:
        session.execute(update(Job).values(encoding_id=None))
        session.execute(delete(Encoding))

    monkeypatch.setattr(corpus_file, "PIECE_BYTES", 64)  # so that there are many parts
    monkeypatch.setattr(encodings, "PARTS_AT_ONCE", 5)
    job_id, unit_ids = jobs.submit(database, corpus_id, chains=1)
    n_stored = []
    for n_questions in range(1, 4):  # before the first document; after the first parts, and after some more
        assert runner.run(database, settings, unit_ids[0], jobs.Asked(*[False] * (n_questions - 1), True)) == unit_ids
        with database.readers.begin() as session:
            unit = session.get_one(Unit, unit_ids[0])
            assert (unit.status, unit.token, unit.attempts) == ("ready", None, 0)
            assert encodings.find(session, session.get_one(Job, job_id)) is None, "it is not whole yet"
            n_stored.append(session.scalar(select(func.count()).select_from(EncodingPart)))
    assert n_stored == [0, 5, 10]
    jobs.run_to_the_end(database, settings, unit_ids)
    assert jobs.outcome(database, job_id) == jobs.outcome(database, calm_id)


def test_an_encode_whose_job_is_cancelled_stops(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    job_id, unit_ids = jobs.submit(database, corpus_id)
    save_parts = encodings.save_parts

    def save_and_be_cancelled(session: Session, rows: Any) -> None:
        save_parts(session, rows)
        lifecycle.cancel(session, leases.Run(job_id))

    monkeypatch.setattr(corpus_file, "PIECE_BYTES", 64)
    monkeypatch.setattr(encodings, "save_parts", save_and_be_cancelled)
    assert runner.run(database, settings, unit_ids[0], jobs.Asked(False)) == []
    monkeypatch.setattr(encodings, "save_parts", save_parts)
    with database.sessions.begin() as session:
        _, unit_ids = lifecycle.resume(session, leases.Run(job_id))
    jobs.run_to_the_end(database, settings, unit_ids)
    assert jobs.job(database, job_id).status == "succeeded"


def test_two_legs_that_encode_the_same_at_once_leave_one_encoding(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    (job_id, first), (other_id, second) = (jobs.submit(database, corpus_id, chains=1) for _ in range(2))

    def encode_twice(*arguments: Any) -> encodings.Draft:
        monkeypatch.setattr(encode, "encode_documents", encode_documents)
        draft = encode_documents(*arguments)
        jobs.run_to_the_end(database, settings, second)  # meanwhile the other one comes to its end
        return draft

    encode_documents = encode.encode_documents
    monkeypatch.setattr(encode, "encode_documents", encode_twice)
    jobs.run_to_the_end(database, settings, first)
    assert jobs.outcome(database, job_id) == jobs.outcome(database, other_id)
    with database.readers.begin() as session:
        assert len(list(session.scalars(select(Encoding.id)))) == 1
        assert len(set(session.scalars(select(Job.encoding_id)))) == 1


def turn_a_bit(session: Session) -> None:
    part = session.scalars(select(EncodingPart)).one()
    part.data = part.data[:50] + bytes([part.data[50] ^ 1]) + part.data[51:]


def lose_a_part(session: Session) -> None:
    session.execute(delete(EncodingPart))


def miscount(session: Session) -> None:
    session.execute(update(Encoding).values(n_tokens=Encoding.n_tokens + 1))


@pytest.mark.parametrize("damage", [turn_a_bit, lose_a_part, miscount])
def test_an_encoding_that_is_damaged_is_made_again(
    database: Database, settings: Settings, damage: Callable[[Session], None]
) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    calm_id, unit_ids = jobs.submit(database, corpus_id, chains=1)
    jobs.run_to_the_end(database, settings, unit_ids)
    job_id, unit_ids = jobs.submit(database, corpus_id, chains=1)
    chain_units = runner.run(database, settings, unit_ids[0], lambda: False)
    shutil.rmtree(settings.encodings)
    with database.sessions.begin() as session:
        damage(session)
    jobs.run_to_the_end(database, settings, chain_units)
    assert jobs.job(database, job_id).status == "succeeded"
    assert jobs.outcome(database, job_id) == jobs.outcome(database, calm_id)


def test_a_full_folder_of_encodings_makes_a_leg_wait_and_say_so(database: Database, settings: Settings) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    job_id, unit_ids = jobs.submit(database, corpus_id, chains=1)
    [chain_unit] = runner.run(database, settings, unit_ids[0], lambda: False)
    shutil.rmtree(settings.encodings)
    full = with_changes(settings, min_free_bytes=2**60, save_seconds=0.01, database_url="postgresql://elsewhere")
    seen: list[str | None] = []

    def look() -> None:
        with database.readers.begin() as session:
            seen.append(session.get_one(Unit, chain_unit).error)

    assert runner.run(database, full, chain_unit, jobs.Asked(False, look, True)) == [chain_unit]
    [note] = seen
    assert note is not None and note.startswith(f"{leases.WAITS}the folder of encoded corpora is full")
    jobs.run_to_the_end(database, settings, [chain_unit])
    assert jobs.job(database, job_id).status == "succeeded"


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_leg_does_not_write_on_a_disk_that_is_nearly_full(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    job_id, unit_ids = jobs.submit(database, corpus_id, chains=1)
    free = iter([100, 100, 600])
    monkeypatch.setattr(disk, "free_bytes", lambda folder: next(free, 600))
    small = with_changes(settings, min_free_bytes=1_000, save_seconds=0.01)
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
                lifecycle.cancel(session, leases.Run(job_id))
        waited.append("")
        return 0

    monkeypatch.setattr(disk, "free_bytes", cancel)
    assert runner.run(database, with_changes(settings, save_seconds=0.1), unit_ids[0], lambda: False) == []
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


@pytest.mark.parametrize("kernel", sorted(chain.KERNELS))
def test_threads_change_no_result(database: Database, settings: Settings, kernel: str) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    outcomes = []
    for threads in (1, 2):
        job_id, unit_ids = jobs.submit(database, corpus_id, kernel=kernel, chains=1)
        jobs.run_to_the_end(database, with_changes(settings, threads=threads), unit_ids)
        outcomes.append(jobs.outcome(database, job_id))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("told", ["blocked", "collapsed", None])
def test_a_chain_starts_under_the_kernel_of_its_job(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch, told: str | None
) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    job_id, unit_ids = jobs.submit(database, corpus_id, chains=1, kernel=told or "blocked")
    if told is None:  # as a job has it from before there was a choice
        with database.sessions.begin() as session:
            job = session.get_one(Job, job_id)
            job.settings = {name: value for name, value in job.settings.items() if name != "kernel"}
    started: list[object] = []

    def start(*arguments: object) -> None:
        started.append(arguments[4])
        raise ValueError("it is only looked at")

    monkeypatch.setattr(chain, "start", start)
    jobs.run_to_the_end(database, settings, unit_ids)
    assert started == [told or "collapsed"]


def test_a_leg_that_is_told_to_leave_saves_and_is_sent_again(database: Database, settings: Settings) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    job_id, unit_ids = jobs.submit(database, corpus_id, chains=1)
    [chain_unit] = runner.run(database, settings, unit_ids[0], lambda: False)
    assert runner.run(database, settings, chain_unit, jobs.Asked(False, True)) == [chain_unit]
    with database.readers.begin() as session:
        unit = session.get_one(Unit, chain_unit)
    assert (unit.status, unit.token, unit.n_sweeps) == ("ready", None, 2)
    assert len(jobs.outcome(database, job_id)["draws"]) == 2


def test_a_cancelled_job_keeps_its_draws_and_a_resumed_one_ends_as_if_undisturbed(
    database: Database, settings: Settings
) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    calm_id, unit_ids = jobs.submit(database, corpus_id, chains=1)
    jobs.run_to_the_end(database, settings, unit_ids)

    job_id, unit_ids = jobs.submit(database, corpus_id, chains=1)
    [chain_unit] = runner.run(database, settings, unit_ids[0], lambda: False)

    def cancel() -> None:
        with database.sessions.begin() as session:
            lifecycle.cancel(session, leases.Run(job_id))

    one_sweep_a_save = with_changes(settings, **SAVE_AFTER_EVERY_SWEEP)
    assert runner.run(database, one_sweep_a_save, chain_unit, jobs.Asked(*[False] * 4, cancel, False)) == []
    assert jobs.job(database, job_id).status == "cancelled"
    n_draws = len(jobs.outcome(database, job_id)["draws"])
    assert 4 <= n_draws < 12
    assert runner.run(database, settings, chain_unit, lambda: False) == []  # a late message finds nothing to do

    with database.sessions.begin() as session:
        _, unit_ids = lifecycle.resume(session, leases.Run(job_id))
    jobs.run_to_the_end(database, settings, unit_ids)
    assert jobs.job(database, job_id).status == "succeeded"
    assert jobs.outcome(database, job_id) == jobs.outcome(database, calm_id)


def test_a_leg_whose_lease_was_taken_over_writes_nothing(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    _, unit_ids = jobs.submit(database, corpus_id, chains=1)
    [chain_unit] = runner.run(database, settings, unit_ids[0], lambda: False)
    sweep = chain.sweep

    def sweep_while_another_takes_over(*arguments: object) -> object:
        with database.sessions.begin() as session:
            session.execute(update(Unit).where(Unit.id == chain_unit).values(lease_until=0.0))
            assert leases.claim(session, chain_unit, "another", 60.0) is not None
        monkeypatch.setattr(chain, "sweep", sweep)
        return sweep(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(chain, "sweep", sweep_while_another_takes_over)
    assert runner.run(database, with_changes(settings, **SAVE_AFTER_EVERY_SWEEP), chain_unit, lambda: False) == []
    with database.readers.begin() as session:
        assert session.get_one(Unit, chain_unit).token == "another"
        assert list(session.scalars(select(Draw))) == []
        assert list(session.scalars(select(Checkpoint))) == []


def test_a_damaged_checkpoint_is_passed_over_for_the_one_before_it(database: Database, settings: Settings) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    calm_id, unit_ids = jobs.submit(database, corpus_id, chains=1)
    jobs.run_to_the_end(database, settings, unit_ids)

    job_id, unit_ids = jobs.submit(database, corpus_id, chains=1)
    [chain_unit] = runner.run(database, settings, unit_ids[0], lambda: False)
    one_sweep_a_leg = with_changes(settings, **ONE_SWEEP_A_LEG)
    for _ in range(5):
        runner.run(database, one_sweep_a_leg, chain_unit, lambda: False)
    with database.sessions.begin() as session:
        newest = session.scalars(
            select(Checkpoint).where(Checkpoint.unit_id == chain_unit).order_by(Checkpoint.id.desc()).limit(1)
        ).one()
        newest.data = newest.data[:50] + bytes([newest.data[50] ^ 1]) + newest.data[51:]
    jobs.run_to_the_end(database, settings, [chain_unit])
    assert jobs.outcome(database, job_id) == jobs.outcome(database, calm_id)


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


def test_a_job_that_could_answer_no_document_fails_with_what_to_do(database: Database, settings: Settings) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    job_id, unit_ids = jobs.submit(database, corpus_id, text={"min_document_frequency": 1_000})
    jobs.run_to_the_end(database, settings, unit_ids)
    job = jobs.job(database, job_id)
    assert job.status == "failed"
    assert job.error is not None and "lower min_document_frequency (now 1000)" in job.error


def test_a_save_waits_for_a_database_that_is_away(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    calm_id, unit_ids = jobs.submit(database, corpus_id, chains=1)
    jobs.run_to_the_end(database, settings, unit_ids)

    job_id, unit_ids = jobs.submit(database, corpus_id, chains=1)
    save_chain, times_away = store.save_chain, iter(range(3))

    def save_when_it_is_back(*arguments: Any) -> None:
        save_chain(*arguments)  # what is written in this transaction is undone
        for _ in times_away:
            raise OperationalError("COMMIT", {}, Exception("the server closed the connection"))

    monkeypatch.setattr(store, "save_chain", save_when_it_is_back)
    jobs.run_to_the_end(database, with_changes(settings, save_seconds=0.01), unit_ids)
    assert next(times_away, None) is None
    assert jobs.outcome(database, job_id) == jobs.outcome(database, calm_id)


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


def test_the_heartbeat_keeps_the_lease_through_a_long_sweep(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    job_id, unit_ids = jobs.submit(database, corpus_id, chains=1, sweeps=1)
    lease = 0.6 * slowness()
    short = with_changes(settings, lease_seconds=lease, heartbeat_seconds=lease / 6)
    [chain_unit] = runner.run(database, short, unit_ids[0], lambda: False)
    sweep = chain.sweep

    def long_sweep(*arguments: object) -> object:
        time.sleep(2.5 * lease)
        with database.sessions.begin() as session:
            assert leases.reap(session) == []
            assert leases.claim(session, chain_unit, "another", 60.0) is None
        return sweep(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(chain, "sweep", long_sweep)
    jobs.run_to_the_end(database, short, [chain_unit])
    assert jobs.job(database, job_id).status == "succeeded"
