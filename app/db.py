"""The database: engine, sessions, clock and schema, for SQLite and PostgreSQL alike."""

import errno
import sqlite3
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Double, Engine, create_engine, event, inspect, text
from sqlalchemy.engine import make_url
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import Session, sessionmaker
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

import migrations

if TYPE_CHECKING:
    from alembic.config import Config

PRAGMAS = ("journal_mode=WAL", "synchronous=NORMAL", "busy_timeout=10000", "foreign_keys=ON")

# A database that is cut off is given up within half a minute; the network's own patience is hours.
POSTGRES_TIMEOUTS = {
    "connect_timeout": 10,  # seconds
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 25_000,  # milliseconds
}
# A writer that is frozen in mid-transaction holds locks: the server ends it then, and nobody waits longer for one.
LOCK_MILLISECONDS = 30_000

# A full disk: SQLite says the second where it cannot enlarge the index of its write-ahead log.
SQLITE_FULL = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE)
POSTGRES_DISK_FULL = "53100"

# FastAPI answers on 40 threads; each may hold a connection, so none waits for another's answer.
POOL_SIZE, POOL_OVERFLOW = 5, 35


class SchemaError(RuntimeError):
    """The database does not have the schema that this code needs."""


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
    timeouts = {} if is_sqlite else POSTGRES_TIMEOUTS
    engine = create_engine(
        url, pool_size=POOL_SIZE, max_overflow=POOL_OVERFLOW, pool_pre_ping=True, connect_args=timeouts
    )
    if is_sqlite:
        make_folder(url)
        event.listen(engine, "connect", set_pragmas)
        event.listen(engine, "begin", begin)
    else:
        event.listen(engine, "begin", limit_locks)
    reading = engine.execution_options(readonly=True)
    return Database(engine, sessionmaker(engine, expire_on_commit=False), sessionmaker(reading, expire_on_commit=False))


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


def begin(connection: Connection) -> None:
    """Begin a transaction on SQLite.

    A writer asks for the write lock at once: a reader that turns into a writer later fails without
    waiting when another one wrote in between, whatever the busy_timeout.
    """
    readonly = connection.get_execution_options().get("readonly", False)
    connection.exec_driver_sql("BEGIN" if readonly else "BEGIN IMMEDIATE")


def limit_locks(connection: Connection) -> None:
    """Begin a transaction on PostgreSQL; readers may idle, as one that feeds the tokenizer does."""
    if not connection.get_execution_options().get("readonly", False):
        for limit in ("idle_in_transaction_session_timeout", "lock_timeout"):
            connection.exec_driver_sql(f"SET LOCAL {limit} = {LOCK_MILLISECONDS}")


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


def migration_config() -> "Config":
    """Alembic's configuration, without an ini file."""
    from alembic.config import Config  # takes a third of a second, and no worker needs it

    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent).replace("%", "%%"))
    return config


def migrate(url: str, revision: str = "head") -> None:
    """Upgrade the schema of the database at a URL."""
    from alembic import command

    database = connect(url)
    try:
        with database.engine.connect() as connection:
            config = migration_config()
            config.attributes["connection"] = connection
            command.upgrade(config, revision)
    finally:
        database.engine.dispose()


def schema_revision(database: Database) -> str | None:
    """The revision that the schema is at; None for a database without a schema."""
    with database.readers.begin() as session:
        if not inspect(session.connection()).has_table("alembic_version"):
            return None
        found: str | None = session.scalar(text("SELECT version_num FROM alembic_version"))
        return found


def head_revision() -> str:
    """The revision that the migrations lead to: their files are numbered."""
    files = Path(migrations.__file__).parent.glob("versions/[0-9]*.py")
    return max(file.name for file in files).partition("_")[0]


def check_schema(database: Database) -> None:
    """Raise SchemaError unless the schema is the one that the migrations make."""
    head = head_revision()
    current = schema_revision(database)
    if current != head:
        raise SchemaError(
            f"the schema of {database.engine.url!r} is at {current or 'no revision'}, not at {head}: "
            "run `newfound migrate` first"
        )


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
