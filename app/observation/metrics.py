"""What `/metrics` says, in the format of Prometheus: what this process counts itself, and of the service what SQL says.

Each API counts its own requests and uploads. All else is read from the database when it is asked for, at most once in
`STATE_SECONDS`, so that every API says the same of jobs and workers. Counters of workers are rows as well.
"""

import threading
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector
from sqlalchemy.engine import make_url

from app.core.db import AWAY, Database
from app.core.disk import free_bytes
from app.core.settings import Settings
from app.observation.families import counter, gauge, histogram
from app.observation.service_state import ServiceState, read_state

STATE_SECONDS = 3.0  # for which what was read of the database is shown again
REQUEST_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
JOURNALS = ("", "-wal", "-shm")  # endings of the files of an SQLite database

disable_created_metrics()  # type: ignore[no-untyped-call]  # else every counter is two, for the sake of the time at which this process first met it

CallsWaiting = Callable[[], int | None]


class Metrics:
    """The metrics of one application."""

    def __init__(self, database: Database, settings: Settings, calls_waiting: CallsWaiting) -> None:
        self.registry = registry = CollectorRegistry()
        self.requests = Counter(
            "newfound_http_requests",
            "Requests that this API has answered; status 499: the client left before.",
            ("method", "route", "status"),
            registry=registry,
        )
        self.durations = Histogram(
            "newfound_http_request_duration_seconds",
            "From a request's head to the end of its answer.",
            ("method", "route"),
            buckets=REQUEST_BUCKETS,
            registry=registry,
        )
        self.in_flight = Gauge(
            "newfound_http_requests_in_flight", "Requests that are being answered by this API.", registry=registry
        )
        self.uploads = Counter(
            "newfound_uploads", "Uploads of documents, by how they ended.", ("outcome",), registry=registry
        )
        self.uploaded_bytes = Counter(
            "newfound_upload_bytes", "Bytes of uploads of documents that came as a whole, as sent.", registry=registry
        )
        self.uploaded_documents = Counter(
            "newfound_upload_documents", "Rows of uploads of documents, by outcome.", ("outcome",), registry=registry
        )
        for collector in (ServiceCollector(database, settings, calls_waiting), ProcessCollector(registry=None)):
            registry.register(collector)
        PlatformCollector(registry=registry)
        GCCollector(registry=registry)

    def count_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request that has ended."""
        self.requests.labels(method, route, str(status)).inc()
        self.durations.labels(method, route).observe(seconds)

    def count_upload(self, outcome: str, accepted: int = 0, rejected: int = 0) -> None:
        """Count an upload that has ended, with the rows that are documents now, and those that could not be."""
        self.uploads.labels(outcome).inc()
        self.uploaded_documents.labels("accepted").inc(accepted)
        self.uploaded_documents.labels("rejected").inc(rejected)

    def exposed(self, accept: str) -> tuple[bytes, str]:
        """All metrics in the format that a client accepts, and its content type."""
        encode, content_type = choose_encoder(accept)
        return encode(self.registry), content_type


class ServiceCollector(Collector):
    """What is read when metrics are asked for."""

    def __init__(self, database: Database, settings: Settings, calls_waiting: CallsWaiting) -> None:
        self.database, self.settings, self.calls_waiting = database, settings, calls_waiting
        self.lock = threading.Lock()
        self.state: ServiceState | None = None  # None: the database did not answer
        self.read_at: float | None = None

    def describe(self) -> list[Metric]:
        """Nothing: to register must not read the database."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Read what is not known from a moment ago."""
        state, calls = self.current_state(), self.calls_waiting()
        yield gauge("build_info", "The version of this API.", {(version("newfound"),): 1}, ("version",))
        yield gauge("database_up", "Whether the database answers.", {(): int(state is not None)})
        yield gauge("broker_up", "Whether the broker answered when it was last asked.", {(): int(calls is not None)})
        if calls is not None:
            yield gauge("broker_calls_waiting", "Calls for workers that none has heard yet.", {(): calls})
        yield gauge("disk_free_bytes", "Free where each folder of this host is.", self.free(), ("folder",))
        if state is not None:
            yield from of_state(state)
            size = self.size_of_file() if state.database_bytes is None else state.database_bytes
            yield gauge("database_bytes", "Size of the database, with the journal of a file.", {(): size})

    def current_state(self) -> ServiceState | None:
        """The state of the service, read again if it is old; who asks meanwhile waits for it."""
        with self.lock:
            if self.read_at is None or time.monotonic() - self.read_at > STATE_SECONDS:
                self.state, self.read_at = self.read(), time.monotonic()
            return self.state

    def read(self) -> ServiceState | None:
        """The state of the service; None if the database is away."""
        try:
            with self.database.readers.begin() as session:
                return read_state(session, self.settings)
        except AWAY:
            return None

    def free(self) -> dict[tuple[str, ...], float]:
        """Free bytes by folder."""
        folders = {
            "data": self.settings.data_folder.absolute(),
            "encodings": self.settings.encodings,
            "uploads": self.settings.uploads,
        }
        return {(name,): free_bytes(folder) for name, folder in folders.items()}

    def size_of_file(self) -> int:
        """The size of an SQLite database."""
        path = make_url(self.settings.database).database or ""
        files = [Path(path + ending) for ending in JOURNALS]
        return sum(file.stat().st_size for file in files if file.exists())


def of_state(state: ServiceState) -> Iterator[Metric]:
    """The metrics of the service's state."""
    of_workers = {("working",): state.workers, ("starting",): state.starting_workers}
    yield gauge("jobs", "Jobs by status and model.", state.jobs, ("status", "model"))
    yield gauge("units", "Units of live runs that are not done.", state.units, ("status", "kind"))
    yield gauge("queue_age_seconds", "Since a worker turned to the job that waits longest.", {(): state.queue_age})
    yield gauge("workers", "Workers seen recently: at work or idle, or not ready yet.", of_workers, ("state",))
    yield gauge("sweeps_per_second", "Of the chains that are worked at, all together.", {(): state.sweeps_per_second})
    yield gauge("tokens_per_second", "Resampled by these chains.", {(): state.tokens_per_second})
    yield gauge(
        "running_checkpoint_bytes",
        "The largest of the newest checkpoints of these chains.",
        {(): state.checkpoint_bytes},
    )
    yield gauge(
        "save_age_seconds", "Since the last save, of the running unit that saved longest ago.", {(): state.save_age}
    )
    yield counter("lease_losses", "Units whose leg let its lease run out: it died, or was cut off.", state.counts)
    yield counter("legs", "Legs that have ended, by kind of unit and end.", state.counts, ("kind", "end"))
    yield counter("leg_seconds", "Seconds of legs.", state.counts, ("kind",))
    yield counter("sweeps", "Sweeps that were saved.", state.counts)
    yield histogram("checkpoint_bytes", "Sizes of checkpoints that were saved.", state.counts)
    yield histogram("checkpoint_save_seconds", "Time that each of these saves took.", state.counts)
