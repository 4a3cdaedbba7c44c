"""The servers and processes of the service on either stack, each to be started and ended by itself."""

from collections.abc import Mapping, Sequence

from app.core import db
from tests import guard
from tests.client import Client
from tests.faults.programs import Program
from tests.faults.servers import (
    Broker,
    DatabaseServer,
    FilesystemBroker,
    PostgresServer,
    SqliteFile,
    ValkeyBroker,
    remove,
)
from tests.waits import free_port, wait_for


class Processes:
    """One stack. `settings` are operator settings by their names."""

    def __init__(self, kind: str, settings: Mapping[str, str], workers: Sequence[str]) -> None:
        self.kind = kind
        self.folder = guard.make_folder(kind)
        data = self.folder / "data"
        data.mkdir()
        self.server: DatabaseServer
        self.broker: Broker
        if kind == "embedded":
            self.server, self.broker = SqliteFile(data), FilesystemBroker(data)
        else:
            self.server, self.broker = PostgresServer(guard.make_folder("postgres")), ValkeyBroker(self.folder)
        self.port = free_port()
        variables = {
            "DATABASE_URL": self.server.url,
            "BROKER_URL": self.broker.url,
            "DATA_FOLDER": str(data),
            "PORT": str(self.port),
            **settings,
        }
        self.environment = {f"NEWFOUND_{name}": value for name, value in variables.items()}
        self.api = self.program("api", "api")
        self.workers = {name: self.program(name, "worker", "--name", name) for name in workers}
        self.database = db.connect(self.server.url)

    def program(self, name: str, *arguments: str) -> Program:
        """A process of this stack, not yet started."""
        return Program(name, list(arguments), self.environment, self.folder / f"{name}.log")

    def wait_until_up(self) -> None:
        """Wait until the API answers."""
        client = Client(f"http://127.0.0.1:{self.port}")

        def is_up() -> bool:
            assert self.api.is_running(), self.api.tail()
            return client.is_up()

        with client.http:
            wait_for(is_up, "the API is up")

    def close(self) -> None:
        """End all there is, and delete the data."""
        self.database.engine.dispose()
        for program in (*self.workers.values(), self.api):
            program.stop()
        self.broker.kill()
        self.server.stop()
        remove(self.folder)
