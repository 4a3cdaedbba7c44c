"""What the database's sessions promise besides SQL."""

import threading
from concurrent.futures import ThreadPoolExecutor
from time import sleep
from typing import Any

import pytest
from sqlalchemy import event, func, select, text, update
from sqlalchemy.exc import OperationalError, PendingRollbackError

from app.core import db
from app.core.db import Database, Turns, insert_missing
from app.core.tables import Corpus, Document, Worker
from tests.app.rows import CORPUS, add_corpus

sqlite_only = pytest.mark.parametrize("kind", ["sqlite"])


def test_a_turn_goes_to_whoever_has_waited_longest() -> None:
    turns, order, n_waiting = Turns(), list[int](), 8
    assert turns.take(1.0)

    def wait(number: int) -> None:
        assert turns.take(30.0)
        order.append(number)
        turns.give()

    threads = [threading.Thread(target=wait, args=(number,)) for number in range(n_waiting)]
    for number, thread in enumerate(threads):
        thread.start()
        while len(turns.waiting) <= number:
            sleep(0.001)
    turns.give()
    for thread in threads:
        thread.join()
    assert order == list(range(n_waiting))
    assert not turns.is_taken


def test_who_gives_up_waiting_for_a_turn_is_passed_over() -> None:
    turns = Turns()
    assert turns.take(1.0)
    assert not turns.take(0.01)
    turns.give()
    assert turns.take(0.0)


@sqlite_only
def test_writers_of_a_process_never_meet_in_the_database(database: Database) -> None:
    """With no patience in SQLite itself, each that met another would fail."""
    event.listen(database.engine, "connect", lambda connection, _: connection.execute("PRAGMA busy_timeout=0"))

    def write(number: int) -> None:
        for n in range(20):
            with database.sessions.begin() as session:
                session.add(Worker(name=f"{number}-{n}", seen_at=0.0))

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(write, range(16)))
    with database.readers.begin() as session:
        assert session.scalar(select(func.count()).select_from(Worker)) == 320


@sqlite_only
def test_a_transaction_that_fails_gives_its_turn_back(database: Database) -> None:
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), database.sessions.begin() as session:
            session.add(Worker(name="worker", seen_at=1 / 0))
    with pytest.raises(PendingRollbackError), database.sessions.begin() as session:
        session.connection().invalidate()  # as SQLAlchemy does when a connection breaks
    with database.sessions.begin() as session:
        session.execute(update(Worker).values(seen_at=1.0))


@sqlite_only
def test_a_writer_that_waits_too_long_is_told_what_sqlite_would_say(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(db, "LOCK_MILLISECONDS", 10)
    with database.sessions.begin() as session:
        session.execute(update(Worker).values(seen_at=1.0))
        with pytest.raises(OperationalError, match="database is locked"), database.sessions.begin() as other:
            other.execute(update(Worker).values(seen_at=2.0))
    with database.sessions.begin() as session:
        session.execute(update(Worker).values(seen_at=3.0))


@sqlite_only
def test_readers_take_no_turn(database: Database) -> None:
    with database.sessions.begin() as writer, database.readers.begin() as reader:
        writer.add(Worker(name="worker", seen_at=0.0))
        writer.flush()
        assert reader.scalar(select(func.count()).select_from(Worker)) == 0


def test_rows_that_are_there_are_passed_over(database: Database) -> None:
    rows = [
        {
            "corpus_id": CORPUS,
            "version": 2,
            "key": key,
            "text": text,
            "label": None,
            "fields": fields,
            "is_counts": False,
        }
        for key, text, fields in (
            ("document-1", "old", None),
            ("new", "first", None),
            ("new", "second", None),
            ("other", "\N{SNOWMAN}", '{"year": 2024}'),
        )
    ]
    with database.sessions.begin() as session:
        add_corpus(session)
        session.flush()
        assert insert_missing(session, Document, rows, "key") == {"new", "other"}
        assert insert_missing(session, Document, rows, "key") == set()
    with database.readers.begin() as session:
        columns = (Document.key, Document.text, Document.fields)
        found = session.execute(select(*columns).order_by(Document.id)).all()
    assert [tuple(row) for row in found[5:]] == [("new", "first", None), ("other", "\N{SNOWMAN}", {"year": 2024})]


@pytest.mark.parametrize("kind", ["postgresql"])
def test_no_plan_of_a_statement_outlives_it(database: Database) -> None:
    with database.sessions.begin() as session:
        add_corpus(session)
    for _ in range(10):
        with database.readers.begin() as session:
            session.scalars(select(Document.key).where(Document.key == "document-1")).all()
            driver: Any = session.connection().connection.dbapi_connection
            prepared = session.connection().exec_driver_sql("SELECT count(*) FROM pg_prepared_statements")
            assert prepared.scalar_one() == 0
            assert driver.prepare_threshold is None
    with database.readers.begin() as session:
        assert session.scalar(select(func.count()).select_from(Corpus)) == 1


def test_a_connection_is_tried_before_its_use_unless_it_was_in_use_just_now(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[Any] = []
    ping = database.engine.dialect.do_ping
    monkeypatch.setattr(
        database.engine.dialect, "do_ping", lambda connection: tried.append(connection) or ping(connection)
    )
    for seconds, n_tried in ((db.TRUSTED_SECONDS, 0), (0.0, 1)):
        monkeypatch.setattr(db, "TRUSTED_SECONDS", seconds)
        with database.readers.begin() as session:
            session.execute(text("SELECT 1"))
        assert len(tried) == n_tried


@pytest.mark.parametrize("kind", ["postgresql"])
def test_connections_that_the_server_has_ended_are_replaced_unnoticed(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with database.readers.begin() as one, database.readers.begin() as other:  # two of the pool
        pids = [session.scalar(text("SELECT pg_backend_pid()")) for session in (one, other)]
    monkeypatch.setattr(db, "TRUSTED_SECONDS", 0.0)
    outside = db.connect(database.engine.url.render_as_string(hide_password=False)).engine
    with outside.connect() as connection:
        for pid in pids:
            connection.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": pid})
    outside.dispose()
    for _ in pids:
        with database.sessions.begin() as session:
            assert session.scalar(text("SELECT pg_backend_pid()")) not in pids
