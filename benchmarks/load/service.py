"""The service under load: its processes and servers on either stack, as the fault tests start them."""

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import psutil
from sqlalchemy import create_engine, func, select, text

from app.core.schema import migrate
from app.core.tables import Document
from benchmarks.load.client import Client, well
from tests.faults.processes import Processes
from tests.faults.programs import ROOT, Program
from tests.waits import REQUEST_SECONDS, wait_for

STACKS = ("embedded", "deployed")
WARM_REQUESTS = 20  # of each path, after which the API's memory is that of an idle service
LIVE = ("queued", "running", "paused")


class Service(Processes):
    """One stack, with an API that can be started afresh. `settings` are operator settings by their names."""

    def __init__(self, stack: str, n_workers: int, settings: Mapping[str, str]) -> None:
        super().__init__(stack, settings, [f"worker-{number + 1}" for number in range(n_workers)])
        if stack == "deployed":
            make_durable(self.server.url)
        # Where `newfound compile` puts kernels, so that no worker compiles them again.
        self.environment["NUMBA_CACHE_DIR"] = os.environ.get("NUMBA_CACHE_DIR") or str(ROOT / "data" / "kernels")
        self.client = Client(self.port)
        self.job_path = ""

    def start(self) -> None:
        """Start all there is, and make the job that is polled."""
        self.broker.start()
        migrate(self.server.url)
        for program in (self.api, *self.workers.values()):
            program.start()
        self.wait_until_up()
        for worker in self.workers.values():
            wait_for(worker.takes_messages, f"{worker.name} takes messages")
        self.job_path = self.make_job()

    def start_api_afresh(self) -> None:
        """A new API process with its memory warmed up; what the one before was still busy with does not matter."""
        self.api.stop()
        self.api.start()
        self.wait_until_up()
        self.cancel_jobs()
        for path in (*self.probed, "/v1/jobs?limit=1") * WARM_REQUESTS:
            well(self.client.get(time.monotonic() + REQUEST_SECONDS, path))

    @property
    def probed(self) -> tuple[str, str]:
        """The paths whose answers must not be late."""
        return "/health", self.job_path

    def make_job(self) -> str:
        """The path of a job over a few documents, cancelled at once: no worker computes while others are measured."""
        until = time.monotonic() + REQUEST_SECONDS
        corpus_id = self.client.make_corpus(until)
        body = b'{"text": "one word and another", "label": "known"}\n{"text": "one more word"}\n' * 10
        well(self.client.upload(until, corpus_id, [body]))
        options = {"text": {"stop_words": "none"}}
        path = f"/v1/jobs/{well(self.client.post(until, '/v1/jobs', {'corpus_id': corpus_id, **options})).fields['id']}"
        well(self.client.post(until, f"{path}/cancel"))
        return path

    def cancel_jobs(self) -> None:
        """Let no job of an earlier scenario go on."""
        until = time.monotonic() + REQUEST_SECONDS
        for status in LIVE:
            while jobs := well(self.client.get(until, f"/v1/jobs?limit=1000&status={status}")).fields["jobs"]:
                for job in jobs:
                    self.client.post(until, f"/v1/jobs/{job['id']}/cancel")

    def processes(self) -> dict[str, int]:
        """The processes of the service and its servers, each with children of its own."""
        workers = {name: worker.pid for name, worker in self.workers.items()}
        servers = {"database": self.server.pid, "broker": self.broker.pid}
        return {name: pid for name, pid in {"api": self.api.pid, **workers, **servers}.items() if pid is not None}

    def n_stored(self, corpus_id: str) -> int:
        """Documents of a corpus that are in the database."""
        count = select(func.count()).select_from(Document).where(Document.corpus_id == corpus_id)
        with self.database.readers.begin() as session:
            return session.scalar(count) or 0


class Memory:
    """Resident memory of a program and its children, in MB of a million bytes; by the kernel's own marks (Linux)."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.before = self.now
        for process in program.tree():
            Path(f"/proc/{process.pid}/clear_refs").write_text("5", encoding="ascii")  # the peak begins anew

    @property
    def now(self) -> float:
        """What is held at this moment."""
        return self.held("VmRSS")

    @property
    def peak(self) -> float:
        """The most that was held since this object was made."""
        return self.held("VmHWM")

    def held(self, field: str) -> float:
        """A field of the processes' status, summed."""
        return sum(kilobytes(process.pid, field) for process in self.program.tree()) * 1024 / 1e6


def kilobytes(pid: int, field: str) -> int:
    """A field of a process's status; 0 if it has just ended."""
    with suppress(OSError):
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))
    return 0


def processor_seconds(processes: Mapping[str, int]) -> dict[str, float]:
    """What each process and its children have used so far, those that are gone included."""
    spent = {}
    for name, pid in processes.items():
        root = psutil.Process(pid)
        spent[name] = 0.0
        for process in (root, *root.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                spent[name] += times.user + times.system + times.children_user + times.children_system
    return spent


def make_durable(url: str) -> None:
    """Let a server of the fault tests write to the disk as an operator's does."""
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text("ALTER SYSTEM RESET fsync"))
        connection.execute(text("SELECT pg_reload_conf()"))
    engine.dispose()
