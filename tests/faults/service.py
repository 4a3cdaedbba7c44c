"""The service as the fault tests run it: recovery in seconds, two workers, and how to talk to it."""

import os
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from tests.client import Client
from tests.faults.processes import Processes
from tests.faults.programs import ROOT, Program
from tests.waits import PATIENCE, slowness, wait_for

LEASE_SECONDS = 3.0 * slowness()
SETTINGS = {
    "LEASE_SECONDS": str(LEASE_SECONDS),
    "HEARTBEAT_SECONDS": str(LEASE_SECONDS / 3),
    "REAP_SECONDS": "0.5",
    "SAVE_SECONDS": "0.2",
    "LEG_SECONDS": "5",
}
WORKERS = ("worker-1", "worker-2")


class Service(Processes):
    """The service on one stack."""

    def __init__(self, kind: str, workers: Sequence[str] = WORKERS) -> None:
        super().__init__(kind, SETTINGS, workers)
        self.client = Client(f"http://127.0.0.1:{self.port}")

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
        self.client.http.close()
        super().close()

    def tails(self) -> str:
        """The ends of the logs."""
        return "\n".join(program.tail() for program in (self.api, *self.workers.values()))

    def post(self, path: str, **fields: Any) -> Any:
        """The answer to a POST that must be well."""
        return self.client.post(path, **fields)

    def get(self, path: str) -> Any:
        """The answer to a GET that must be well."""
        return self.client.get(path)

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
