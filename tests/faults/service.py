"""The processes of the service on either stack, started one by one, and how to talk to them."""

import os
import subprocess
import sys
from functools import partial
from typing import Any

import httpx2

from app.core import db
from tests import guard
from tests.faults.programs import ROOT, Program
from tests.faults.servers import (
    Broker,
    DatabaseServer,
    FilesystemBroker,
    PostgresServer,
    SqliteFile,
    ValkeyBroker,
    remove,
)
from tests.waits import PATIENCE, REQUEST_SECONDS, free_port, slowness, wait_for

LEASE_SECONDS = 3.0 * slowness()
SETTINGS = {
    "LEASE_SECONDS": str(LEASE_SECONDS),
    "HEARTBEAT_SECONDS": str(LEASE_SECONDS / 3),
    "REAP_SECONDS": "0.5",
    "SAVE_SECONDS": "0.2",
    "LEG_SECONDS": "5",
}
WORKERS = ("worker-1", "worker-2")
N_DOCUMENTS = 300


class Service:
    """The service on one stack."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.folder = guard.make_folder(kind)
        data = self.folder / "data"
        data.mkdir()
        self.server: DatabaseServer
        self.broker: Broker
        if kind == "embedded":
            self.server, self.broker = SqliteFile(data), FilesystemBroker(data)
        else:
            self.server = PostgresServer(guard.make_folder("postgres"))
            self.broker = ValkeyBroker(self.folder)
        self.port = free_port()
        self.environment = {f"NEWFOUND_{name}": value for name, value in SETTINGS.items()} | {
            "NEWFOUND_DATABASE_URL": self.server.url,
            "NEWFOUND_BROKER_URL": self.broker.url,
            "NEWFOUND_DATA_FOLDER": str(data),
            "NEWFOUND_PORT": str(self.port),
        }
        self.api = self.program("api", "api")
        self.workers = {name: self.program(name, "worker", "--name", name) for name in WORKERS}
        self.database = db.connect(self.server.url)
        self.client = httpx2.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=REQUEST_SECONDS)

    def program(self, name: str, *arguments: str) -> Program:
        """A process of this stack, not yet started."""
        return Program(name, list(arguments), self.environment, self.folder / f"{name}.log")

    def heal_processes(self) -> None:
        """Start again each process that is not there."""
        for program in (self.api, *self.workers.values()):
            program.thaw()
            program.start()
        self.wait_until_up()
        self.heal_workers()

    def heal_workers(self) -> None:
        """Start again each worker that is not there, and wait until all take messages."""

        def is_up(worker: Program) -> bool:
            worker.start()
            return worker.takes_messages()

        for name, worker in self.workers.items():
            wait_for(partial(is_up, worker), f"{name} takes messages")

    def kill_broker(self) -> None:
        """Make the broker answer no more; workers that cannot live without it end."""
        self.broker.kill()
        if not self.broker.outlived:
            for name, worker in self.workers.items():
                wait_for(worker.has_ended, f"{name} ends")

    def restart_broker(self) -> None:
        """Bring the broker back, and the workers, as a supervisor would."""
        self.broker.start()
        self.heal_workers()

    def close(self) -> None:
        """End all there is, and delete the data."""
        self.client.close()
        self.database.engine.dispose()
        for program in (*self.workers.values(), self.api):
            program.stop()
        self.broker.kill()
        self.server.stop()
        remove(self.folder)

    def tails(self) -> str:
        """The ends of the logs."""
        return "\n".join(program.tail() for program in (self.api, *self.workers.values()))

    # HTTP

    def wait_until_up(self) -> None:
        """Wait until the API answers."""

        def is_up() -> bool:
            assert self.api.is_running(), self.api.tail()
            try:
                return self.client.get("/health").status_code == 200
            except httpx2.TransportError:
                return False

        wait_for(is_up, "the API is up")

    def post(self, path: str, **fields: Any) -> Any:
        """The answer to a POST that must be well."""
        response = self.client.post(path, json=fields)
        assert response.is_success, response.text
        return response.json()

    def get(self, path: str) -> Any:
        """The answer to a GET that must be well."""
        response = self.client.get(path)
        assert response.status_code == 200, response.text
        return response.json()

    def upload(self) -> str:
        """A corpus of the first documents of the sample, half of them labeled; its id."""
        corpus_id = str(self.post("/v1/corpora", name="sample")["id"])
        for name in ("labeled.ndjson", "unlabeled.ndjson"):
            lines = (ROOT / "examples" / name).read_bytes().splitlines(keepends=True)[: N_DOCUMENTS // 2]
            answer = self.client.post(
                f"/v1/corpora/{corpus_id}/documents",
                content=b"".join(lines),
                headers={"Content-Type": "application/x-ndjson"},
            )
            assert answer.json()["accepted"] == len(lines), answer.text
        return corpus_id

    def flood(self, n_calls: int) -> None:
        """Send calls for workers from a process of its own, however many wait already."""
        code = (
            "import sys; from app.broker import queue; from app.core.settings import Settings; "
            "queue.configure(Settings()); "
            "[queue.celery.send_task(queue.CALL) for _ in range(int(sys.argv[1]))]"
        )
        subprocess.run(
            [sys.executable, "-c", code, str(n_calls)],
            cwd=ROOT,
            env=os.environ | self.environment,
            check=True,
            capture_output=True,
            timeout=PATIENCE,
        )
