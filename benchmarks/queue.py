"""How long it takes to claim, reap, list and submit where thousands of jobs are queued.

    python -m benchmarks.queue [--database sqlite postgresql] [--jobs 10000] [--owners 20] [--rounds 25]

Jobs of several owners, nine units each, are put straight into an empty database, most of them queued; a tenth has
ended. The first owner has half of all. Two workers hold a unit each, as in the embedded service. Prints a JSON line for
each question: milliseconds, the median of all rounds, the least, and the mean time of this process'
processor. Ends with 1 if a median is over the limit.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from sqlalchemy import text
from starlette.testclient import TestClient

from app.core import db, leases, schema
from app.core.db import Database
from app.core.next_unit import next_unit, others_wait
from app.core.quotas import Live
from app.core.settings import Settings
from app.core.tables import LOCAL
from app.forecasts.limits import check_room_for
from app.http.main import create_app
from benchmarks.many_rows import CORPUS, SETTINGS, add_rows, look_over, other_job
from tests.faults.servers import DatabaseServer, PostgresServer, SqliteFile

SERVERS: dict[str, Callable[[Path], DatabaseServer]] = {"sqlite": SqliteFile, "postgresql": PostgresServer}
MAX_MILLISECONDS = 20.0
N_WORKERS = 2
LEASE_SECONDS = 3_600.0
LISTS = (
    *("", "limit=100", "status=queued", "status=running", "status=failed", f"corpus_id={CORPUS}", "name=job%2077"),
    *("name=nothing", "tag=every%20tenth", "tag=nothing", "status=queued&tag=every%20tenth"),
)
UNITS = ("encode", "atoms", "calibrate", *["chain"] * 5, "conclude")
JOB_COLUMNS = (
    *("id", "corpus_id", "corpus_version", "settings", "status", "created_at", "waits_since", "owner", "chains"),
    *("name", "name_folded"),
)


def main() -> int:
    """Measure on each database; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.queue", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--database", nargs="+", choices=list(SERVERS), default=list(SERVERS))
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--owners", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=25)
    given = parser.parse_args()
    misses = [miss for kind in given.database for miss in measure(kind, given.jobs, given.owners, given.rounds)]
    print("\n".join(misses), file=sys.stderr)
    return int(bool(misses))


def measure(kind: str, n_jobs: int, n_owners: int, n_rounds: int) -> list[str]:
    """Fill a database and ask all questions; returns those that took too long, in sentences."""
    with tempfile.TemporaryDirectory(prefix="newfound-queue-") as folder:
        (Path(folder) / "database").mkdir()
        server = SERVERS[kind](Path(folder) / "database")
        try:
            schema.migrate(server.url)
            database = db.connect(server.url)
            fill(database, n_jobs, n_owners)
            settings = Settings(
                data_folder=Path(folder),
                database_url=server.url,
                trusted_hosts="testserver",
                owner_live_jobs=2 * n_jobs,
                owner_live_chains=10 * n_jobs,
                owner_tokens=10**9,
                max_live_jobs=2 * n_jobs,
                max_live_units=2 * n_jobs * len(UNITS),
            )
            with TestClient(create_app(settings)) as client:
                found = dict(timed(database, client, settings, kind, n_rounds))
            database.engine.dispose()
        finally:
            server.stop()
    return [f"{kind}: {what} took {each:.0f} ms" for what, each in found.items() if each > MAX_MILLISECONDS]


def fill(database: Database, n_jobs: int, n_owners: int) -> None:
    """Put a corpus, jobs and their units into an empty database."""
    ids = [other_job(number) for number in range(n_jobs)]
    tags = ((ids[number], 0, "every tenth", "every tenth") for number in range(0, n_jobs, 10))
    of_document = ("id", "corpus_id", "version", "key", "text")
    texts = ((number, CORPUS, 1, f"k{number}", "galaxy plasma neutron") for number in range(1, 101))
    add_rows(database, "corpora", ("id", "name", "version", "created_at"), [(CORPUS, "corpus", 1, 1.0)])
    add_rows(database, "documents", of_document, texts)
    add_rows(database, "jobs", JOB_COLUMNS, jobs(ids, n_owners))
    add_rows(database, "job_tags", ("job_id", "number", "tag", "folded"), tags)
    of_unit = ("id", "job_id", "kind", "chain", "status", "n_sweeps", "attempts", "lease_until")
    add_rows(database, "units", of_unit, units(ids))
    if database.engine.dialect.name == "postgresql":  # nobody does so on SQLite
        with database.sessions.begin() as session:
            session.execute(text("SELECT setval('units_id_seq', (SELECT max(id) FROM units))"))
        look_over(database)


def jobs(ids: list[str], n_owners: int) -> Iterator[tuple[Any, ...]]:
    """Jobs, the last one the newest."""
    settings = json.dumps({**SETTINGS, "text": {"extra_stop_words": [f"word{n}" for n in range(100)]}})
    for number, job_id in enumerate(ids):
        owner = "local" if number % 2 else f"owner {number // 2 % n_owners}"
        times = (1.0 + number, 1.0 + number)
        yield job_id, CORPUS, 1, settings, status_of(number), *times, owner, 5, f"Job {number}", f"job {number}"


def status_of(number: int) -> str:
    """The status of a job by its number."""
    return ("cancelled", "failed")[number // 10 % 2] if number % 10 == 3 else "queued"


def units(ids: list[str]) -> Iterator[tuple[Any, ...]]:
    """The units of all jobs: the first one is ready, and has called for a worker long ago."""
    numbers = count(1)
    for job_id in ids:
        for place, kind in enumerate(UNITS):
            chain = place if kind == "chain" else None
            status, lease_until = ("waiting", None) if place else ("ready", 1.0)
            yield next(numbers), job_id, kind, chain, status, 0, 0, lease_until


def timed(
    database: Database, client: TestClient, settings: Settings, kind: str, n_rounds: int
) -> Iterator[tuple[str, float]]:
    """Each question and the milliseconds that it takes."""
    held = [claim(database, str(number)) for number in range(N_WORKERS)]
    body = {"corpus_id": CORPUS, "discover": True}
    questions: dict[str, Callable[[], object]] = {
        "claim": lambda: taken(database),
        "others_wait": lambda: waits(database, held[0].job_id),
        "reap": lambda: reap(database),
        "limits of submit": lambda: room(database, settings),
        "POST /v1/jobs": lambda: client.post("/v1/jobs", json=body).raise_for_status(),
        "GET /v1/jobs/JOB": partial(read, client, f"/v1/jobs/{held[0].job_id}"),
    }
    questions |= {f"GET /v1/jobs?{query}": partial(read, client, f"/v1/jobs?{query}") for query in LISTS}
    for what, ask in questions.items():
        milliseconds, began_with = [], time.process_time()
        for _ in range(n_rounds):
            began = time.perf_counter()
            ask()
            milliseconds.append((time.perf_counter() - began) * 1000)
        cpu = (time.process_time() - began_with) * 1000 / n_rounds  # of this process: others may keep it waiting
        middle = statistics.median(milliseconds)
        figures = {
            "ms": round(middle, 1),
            "least_ms": round(min(milliseconds), 1),
            "cpu_ms": round(cpu, 1),
        }
        print(json.dumps({"database": kind, "question": what.replace(CORPUS, "CORPUS"), **figures}), flush=True)
        yield what, middle


def read(client: TestClient, path: str) -> None:
    """Get an answer."""
    client.get(path).raise_for_status()


def claim(database: Database, token: str) -> Any:
    """Claim what is next, as a worker does; returns the unit."""
    with database.readers.begin() as session:
        free = next_unit(session)
    assert free is not None
    with database.sessions.begin() as session:
        unit = leases.claim(session, free.unit_id, token, LEASE_SECONDS)
    assert unit is not None
    return unit


def taken(database: Database) -> None:
    """Claim what is next, and give it back."""
    unit = claim(database, "taken")
    with database.sessions.begin() as session:
        leases.release(session, unit.id, "taken")


def waits(database: Database, job_id: str) -> None:
    """Ask whether a leg is to give way."""
    with database.readers.begin() as session:
        others_wait(session, job_id)


def reap(database: Database) -> None:
    """Reap once."""
    with database.sessions.begin() as session:
        assert leases.reap(session), "too few jobs for so many rounds"


def room(database: Database, settings: Settings) -> None:
    """Ask whether a job may be queued."""
    with database.readers.begin() as session:
        check_room_for(session, settings, LOCAL, Live(1, 5, 1_000), len(UNITS))


if __name__ == "__main__":
    sys.exit(main())
