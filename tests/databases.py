"""Databases that tests connect to, one after the other, by the same few addresses.

SQLAlchemy keeps what it has compiled with the engine, and to compile a test's statements takes longer than to execute
them. So an engine that one test has closed is the next one's, unless that test has changed it.
"""

from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, Pool, QueuePool, Table, event, insert, select
from sqlalchemy.events import ConnectionEvents, PoolEvents

from app.core import db
from app.core.db import Database
from app.core.tables import Base

Rows = dict[Table, list[dict[str, Any]]]

EVENTS = [name for events in (ConnectionEvents, PoolEvents) for name in vars(events) if not name.startswith("_")]

at_rest: defaultdict[str, list[Database]] = defaultdict(list)


def connect(url: str) -> Database:
    """The database at a URL, for one user until it disposes of the engine."""
    while at_rest[url]:
        database = at_rest[url].pop()
        if is_unused(database.engine.pool):
            return database
    return new(url)


def is_unused(pool: Pool) -> bool:
    """Whether no connection was made since the engine was disposed of: one may lead to the file of an earlier test."""
    assert isinstance(pool, QueuePool)
    return pool.checkedin() == pool.checkedout() == 0


def new(url: str) -> Database:
    """A database that rests when its engine is disposed of as it was made, with every connection given back."""
    database = db.connect(url)
    engine, out = database.engine, set[int]()
    event.listen(engine, "checkout", lambda _, record, __: out.add(id(record)))
    event.listen(engine, "checkin", lambda _, record: out.discard(id(record)))

    def rest(_: Engine) -> None:
        others = at_rest[url]
        if not out and listeners(engine) == own and all(other is not database for other in others):
            others.append(database)

    event.listen(engine, "engine_disposed", rest)
    own = listeners(engine)
    return database


def listeners(engine: Engine) -> list[Any]:
    """All that listens to an engine."""
    found = []
    for part in (engine, engine.pool):
        for name in EVENTS:
            with suppress(AttributeError):  # an event of the other one
                found += list(getattr(part.dispatch, name))
    return found


def remove(path: Path) -> None:
    """Delete an SQLite file, and what lies beside it while it is open."""
    for ending in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + ending).unlink(missing_ok=True)


def rows_of(database: Database) -> Rows:
    """All rows of all tables."""
    with database.readers.begin() as session:
        found = {table: session.execute(select(table)).mappings().all() for table in Base.metadata.sorted_tables}
    return {table: [dict(row) for row in rows] for table, rows in found.items() if rows}


def fill(database: Database, rows: Rows) -> None:
    """Put rows into empty tables."""
    with database.sessions.begin() as session:
        for table, of_table in rows.items():
            session.execute(insert(table), of_table)
