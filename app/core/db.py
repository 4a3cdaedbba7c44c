"""The database: engine, sessions and clock, for SQLite and PostgreSQL alike."""

import errno
import json
import sqlite3
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any

from sqlalchemy import (
    ARRAY,
    JSON,
    Column,
    ColumnElement,
    Connection,
    Dialect,
    Double,
    Engine,
    SQLColumnExpression,
    Text,
    TypeDecorator,
    bindparam,
    cast,
    create_engine,
    event,
    func,
    select,
)
from sqlalchemy.engine import make_url
from sqlalchemy.exc import InterfaceError, InvalidatePoolError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import Session, sessionmaker
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeEngine

PRAGMAS = (
    "journal_mode=WAL",
    "synchronous=NORMAL",
    "busy_timeout=10000",
    "foreign_keys=ON",
    "journal_size_limit=67108864",  # of the write-ahead log, once it has been copied back; it would stay at its longest
)

# A database that is cut off is given up within half a minute; the network's own patience is hours.
POSTGRES_TIMEOUTS = {
    "connect_timeout": 10,  # seconds
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 25_000,  # milliseconds
}
# Prepared statements are not kept either: an INSERT of a thousand rows takes a megabyte, and is rarely met again.
SQLITE_STATEMENTS = {"cached_statements": 0}
# Each statement is planned for its own parameters and the table as it is. A plan that was kept from when the
# table was empty reads all of it, again and again, until statistics come; psycopg keeps plans unless told otherwise.
POSTGRES_PLANS = {"prepare_threshold": None}
# A writer that is frozen in mid-transaction holds locks: the server ends it then, and nobody waits longer for one.
LOCK_MILLISECONDS = 30_000

# A full disk: SQLite says the second where it cannot enlarge the index of its write-ahead log.
SQLITE_FULL = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE)
POSTGRES_DISK_FULL = "53100"

# FastAPI answers on 40 threads; each may hold a connection, so none waits for another's answer.
POOL_SIZE, POOL_OVERFLOW = 5, 35
TRUSTED_SECONDS = 1.0  # after its last use a connection is taken to be alive


SQLITE_AWAY = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PROTOCOL,
}  # primary codes of errors that may pass
AWAY = (OperationalError, InterfaceError, PoolTimeout)  # the database does not answer, is locked, or its disk is full


@dataclass(frozen=True)
class Database:
    """An engine and its two kinds of sessions.

    A transaction is always `with database.sessions.begin() as session:`, or `readers` where nothing
    is written: on SQLite a writer takes the one write lock at its start, a reader waits for nobody.
    """

    engine: Engine
    sessions: sessionmaker[Session]
    readers: sessionmaker[Session]


def connect(url: str) -> Database:
    """The database at a URL; nothing is opened before the first transaction."""
    is_sqlite = make_url(url).get_backend_name() == "sqlite"
    arguments = SQLITE_STATEMENTS if is_sqlite else POSTGRES_TIMEOUTS | POSTGRES_PLANS
    engine = create_engine(
        url,
        pool_size=POOL_SIZE,
        max_overflow=POOL_OVERFLOW,
        connect_args=arguments,
        hide_parameters=True,  # in errors: they are what clients sent
    )
    try_idle_connections(engine)
    if is_sqlite:
        make_folder(url)
        event.listen(engine, "connect", set_pragmas)
        take_turns(engine)
    else:
        event.listen(engine, "connect", leave_begin_to_us)
        event.listen(engine, "begin", begin_on_postgresql)
    reading = engine.execution_options(readonly=True)
    return Database(engine, sessionmaker(engine, expire_on_commit=False), sessionmaker(reading, expire_on_commit=False))


def try_idle_connections(engine: Engine) -> None:
    """Let a connection be tried before it is used again, unless it was in use just now, as under load they all are.

    One that the database has ended is replaced, with all that are as old: whoever asked notices nothing.
    """

    def leave(_: Any, record: Any) -> None:
        record.info["left_at"] = time.monotonic()

    def take(connection: Any, record: Any, _: Any) -> None:
        left_at = record.info.get("left_at")  # none of a new one
        if left_at is None or time.monotonic() - left_at < TRUSTED_SECONDS:
            return
        try:
            engine.dialect.do_ping(connection)
        except engine.dialect.loaded_dbapi.Error as error:
            raise InvalidatePoolError from error

    event.listen(engine, "checkin", leave)
    event.listen(engine, "checkout", take)


def make_folder(url: str) -> None:
    """Make the folder that an SQLite file is to lie in."""
    file = make_url(url).database
    if file:
        Path(file).parent.mkdir(parents=True, exist_ok=True)


def set_pragmas(connection: Any, _: Any) -> None:
    """Set up a new SQLite connection of the driver."""
    connection.isolation_level = None  # the driver sends no BEGIN of its own: `begin` does
    for pragma in PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")


class Turns:
    """A lock that goes to whoever has waited for it longest; any thread may give it back."""

    def __init__(self) -> None:
        self.mutex = Lock()
        self.waiting: deque[Lock] = deque()
        self.is_taken = False

    def take(self, seconds: float) -> bool:
        """Wait for the turn; False if it did not come in time."""
        with self.mutex:
            if not self.is_taken:
                self.is_taken = True
                return True
            mine = Lock()
            mine.acquire()
            self.waiting.append(mine)
        if mine.acquire(timeout=seconds):
            return True
        with self.mutex:
            if mine not in self.waiting:  # it was given just now
                return True
            self.waiting.remove(mine)
            return False

    def give(self) -> None:
        """Let the next one have it."""
        with self.mutex:
            if self.waiting:
                self.waiting.popleft().release()
            else:
                self.is_taken = False


def take_turns(engine: Engine) -> None:
    """Begin the transactions of an SQLite engine, those of its writers one after the other, first come first served.

    SQLite knows no queue: who waits for its lock looks again from time to time, and among many writers one may
    never find it free. So within a process they wait for their turn here, and for other processes there.

    A writer asks for the write lock at once: a reader that turns into a writer later fails without
    waiting when another one wrote in between, whatever the busy_timeout.
    """
    turns = Turns()

    def begin(connection: Connection) -> None:
        if connection.get_execution_options().get("readonly", False):
            connection.exec_driver_sql("BEGIN")
            return
        # Of the pool's record: what the connection itself knows is forgotten when it breaks.
        info = connection.connection.record_info
        assert info is not None, "connections come from the pool"
        if "has_turn" not in info:
            if not turns.take(LOCK_MILLISECONDS / 1000):
                raise OperationalError("BEGIN IMMEDIATE", {}, locked())
            info["has_turn"] = True
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    def end(_: Any, record: Any) -> None:
        if record.record_info.pop("has_turn", False):
            turns.give()

    event.listen(engine, "begin", begin)
    event.listen(engine, "checkin", end)  # after the transaction, however it ended


def locked() -> sqlite3.OperationalError:
    """What SQLite says when its lock was not to be had in time."""
    error = sqlite3.OperationalError("database is locked")
    error.sqlite_errorcode = sqlite3.SQLITE_BUSY
    return error


def leave_begin_to_us(connection: Any, _: Any) -> None:
    """Let the driver send no BEGIN of its own: it would send it alone, and wait for the answer."""
    connection.autocommit = True


def begin_on_postgresql(connection: Connection) -> None:
    """Begin a transaction, a writer's with its limits in the same message; readers may idle, as a tokenizer's do."""
    is_reader = connection.get_execution_options().get("readonly", False)
    limits = () if is_reader else ("idle_in_transaction_session_timeout", "lock_timeout")
    connection.exec_driver_sql("; ".join(["BEGIN", *(f"SET LOCAL {limit} = {LOCK_MILLISECONDS}" for limit in limits)]))


class DatabaseClock(FunctionElement[float]):
    """Seconds since 1970 by the database's clock, so that hosts with other clocks agree."""

    type = Double()
    inherit_cache = True


def now() -> DatabaseClock:
    """The present time in SQL, as all times are stored: seconds since 1970, a double."""
    return DatabaseClock()


@compiles(DatabaseClock, "sqlite")
def _sqlite_clock(element: DatabaseClock, compiler: SQLCompiler, **options: Any) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(DatabaseClock, "postgresql")
def _postgresql_clock(element: DatabaseClock, compiler: SQLCompiler, **options: Any) -> str:
    # clock_timestamp(), not now(): the latter stands still for the length of a transaction.
    return "CAST(extract(epoch from clock_timestamp()) AS double precision)"


class TextList(TypeDecorator[Sequence[str]]):
    """Texts as one parameter, however many: as single ones, a hundred cost a driver milliseconds."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """An array where there are arrays."""
        return dialect.type_descriptor(ARRAY(Text()) if dialect.name == "postgresql" else Text())

    def process_bind_param(self, value: Sequence[str] | None, dialect: Dialect) -> Any:
        """What the driver takes."""
        return list(value or ()) if dialect.name == "postgresql" else json.dumps(list(value or ()))


class Items(FunctionElement[str]):
    """The rows of a list of texts."""

    type = Text()
    inherit_cache = True


@compiles(Items, "sqlite")
def _items_on_sqlite(element: Items, compiler: SQLCompiler, **options: Any) -> str:
    return f"(SELECT value FROM json_each({compiler.process(element.clauses, **options)}))"


@compiles(Items, "postgresql")
def _items_on_postgresql(element: Items, compiler: SQLCompiler, **options: Any) -> str:
    return f"(SELECT unnest({compiler.process(element.clauses, **options)}))"


def is_among(column: SQLColumnExpression[str], parameter: str) -> ColumnElement[bool]:
    """The condition, in SQL, that a column has one of the texts of a parameter."""
    return column.bool_op("IN")(Items(bindparam(parameter, type_=TextList())))


def upsert(session: Session, table: type[Any]) -> Any:
    """An INSERT that knows ON CONFLICT, in the words of the session's database."""
    return import_module(f"sqlalchemy.dialects.{session.get_bind().dialect.name}").insert(table)


def is_disk_full(error: BaseException) -> bool:
    """Whether an error, of SQLAlchemy, a driver or the system, says that no room is left on a disk."""
    cause = getattr(error, "orig", None) or error
    return (
        getattr(cause, "sqlite_errorcode", None) in SQLITE_FULL
        or getattr(cause, "sqlstate", None) == POSTGRES_DISK_FULL
        or (isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT))
    )


def insert_missing(session: Session, table: type[Any], rows: Sequence[Mapping[str, Any]], returned: str) -> set[Any]:
    """Insert the rows that meet no other by a unique constraint, in order; what those have in a column.

    All rows have the same columns, which hold what drivers take as it is; what is JSON comes as text. PostgreSQL takes
    them as one array a column: as single values, a thousand rows cost it several times as much. For SQLite, which runs
    in this process, the statement is written here: to have SQLAlchemy write it takes as long as a quarter of its work.
    """
    names = list(rows[0])
    if session.get_bind().dialect.name == "sqlite":
        row = f"({', '.join('?' * len(names))})"
        statement = (
            f"INSERT INTO {table.__tablename__} ({', '.join(names)}) VALUES {', '.join([row] * len(rows))} "
            f"ON CONFLICT DO NOTHING RETURNING {returned}"
        )
        values = tuple([value for row in rows for value in row.values()])
        return set(session.connection().exec_driver_sql(statement, values).scalars())
    insert = upsert(session, table)
    columns = [table.__table__.c[name] for name in names]
    types = [Text() if isinstance(column.type, JSON) else column.type for column in columns]
    # The values are no part of the statement, whose objects refer to one another until they are collected.
    arrays = [bindparam(f"{name}_array", type_=ARRAY(kind)) for name, kind in zip(names, types, strict=True)]
    source = func.unnest(*arrays).table_valued(*map(Column, names, types)).render_derived()
    insert = insert.from_select(names, select(*(cast(source.c[column.name], column.type) for column in columns)))
    parameters = {f"{name}_array": [row[name] for row in rows] for name in names}
    insert = insert.on_conflict_do_nothing().returning(table.__table__.c[returned])
    return set(session.connection().execute(insert, parameters).scalars())


def is_away(error: Exception) -> bool:
    """Whether the database did not answer, was locked or had no room; not if a row is of a kind that cannot be read."""
    if not isinstance(error, AWAY):
        return False
    cause = getattr(error, "orig", None)
    if not isinstance(cause, sqlite3.Error):
        return True
    code = getattr(cause, "sqlite_errorcode", None)  # the driver's own errors have none
    return code is not None and code & 0xFF in SQLITE_AWAY
