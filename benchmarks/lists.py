"""How long each list takes where a job has answered many documents, and whether none takes longer than it may.

    python -m benchmarks.lists [--database sqlite postgresql] [--documents 1000000] [--rounds 3] [--decided]

Rows are put straight into an empty database (a fourth as many documents bear a label), then texts are indexed as the
API does it. Each list is read in this process, its first page and one from the middle. Prints a JSON line for each:
milliseconds, the median of all rounds and the least. Ends with 1 if a median is over the limit. With `--decided`,
people have decided about the job before: about 500 documents, and about some categories.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from app.core import db, schema
from app.core.settings import Settings
from app.http.main import create_app
from app.http.pages import to_cursor
from app.search.indexing import Indexing
from benchmarks.many_rows import CORPUS, JOB, N_CHAINS, N_SWEEPS, RARE, fill, sizes
from tests.faults.servers import DatabaseServer, PostgresServer, SqliteFile

SERVERS: dict[str, Callable[[Path], DatabaseServer]] = {"sqlite": SqliteFile, "postgresql": PostgresServer}
MAX_MILLISECONDS = 300.0
COMMON = "ban"  # a word that nearly all documents have
SOME = "banan"  # and one that every three hundredth has

OF_JOB = (
    *("", "known=true", "known=false", "category=0", "category=c-000059", "category=none", "name=new%201"),
    *("unsure=true", "unsure=false", "unsure=true&unsure_known=0.2&unsure_new=0.3", "min_probability=0.9"),
    *("max_probability=0.3", "copies=true", "copies=false", "key=document-00000100", "key_prefix=document-009"),
    *("field=year:2003", "field=source:source%203", "field=year:none", "search=nothing", f"search={COMMON}"),
    *(f"search={SOME}", f"search={RARE[0]}", f"search=%22{COMMON}%20den%22", f"search={RARE[0]}%20-{COMMON}"),
    *(f"search={COMMON}&category=0", f"search={RARE[0]}&known=true&field=year:2007", "limit=1000"),
)
ORDERS = ("", "sort=probability", "sort=unsure")
OF_CORPUS = (
    *("", "labeled=true", "labeled=false", "label=category%203", "label=nothing", "field=year:2003"),
    *("field=year:none", f"search={COMMON}", f"search={RARE[0]}", "search=nothing"),
)


def main() -> int:
    """Measure all lists; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.lists", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--database", nargs="+", choices=list(SERVERS), default=list(SERVERS))
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--decided", action="store_true")
    arguments = parser.parse_args()
    given = (arguments.documents, arguments.rounds, arguments.decided)
    misses = [miss for kind in arguments.database for miss in measure(kind, *given)]
    print("\n".join(misses), file=sys.stderr)
    return int(bool(misses))


def measure(kind: str, n_documents: int, n_rounds: int, is_decided: bool = False) -> list[str]:
    """Fill a database and read all lists; returns those that took too long, in sentences."""
    with tempfile.TemporaryDirectory(prefix="newfound-lists-") as folder:
        (Path(folder) / "database").mkdir()
        server = SERVERS[kind](Path(folder) / "database")
        try:
            make_rows(server.url, n_documents)
            settings = Settings(data_folder=Path(folder), database_url=server.url, trusted_hosts="testserver")
            with TestClient(create_app(settings)) as client:
                if is_decided:
                    decide(client)
                return [
                    f"{kind}: {path} took {milliseconds:.0f} ms"
                    for path, milliseconds in timed(client, kind, sizes(n_documents).answered, n_rounds)
                    if milliseconds > MAX_MILLISECONDS
                ]
        finally:
            server.stop()


def decide(client: TestClient) -> None:
    """Decide about documents all over the job, and about categories, which are known and new in turn."""
    found = client.get(f"/v1/jobs/{JOB}/documents?limit=1000").json()["documents"]
    categories = client.get(f"/v1/jobs/{JOB}/categories").json()["categories"]
    ids, keys = [each["id"] for each in categories if not each["known"]], [each["key"] for each in found]
    decisions = [
        {"kind": "pin", "documents": keys[:250], "category": ids[0]},
        {"kind": "none", "documents": keys[250:500]},
        {"kind": "merge", "categories": ids[1:3]},
        {"kind": "dissolve", "category": ids[3]},
        {"kind": "promote", "category": ids[4], "name": "promoted"},
    ]
    answer = client.post(f"/v1/jobs/{JOB}/decisions", json={"decisions": decisions})
    assert answer.status_code == 201, answer.text


def make_rows(url: str, n_documents: int) -> None:
    """Fill a database, and index its texts."""
    schema.migrate(url)
    database = db.connect(url)
    began = time.monotonic()
    fill(database, n_documents, lambda step: print(f"{time.monotonic() - began:.0f} s: {step}", file=sys.stderr))
    Indexing(database).fill(CORPUS)
    print(f"{time.monotonic() - began:.0f} s: texts are indexed", file=sys.stderr)
    database.engine.dispose()


def timed(client: TestClient, kind: str, n_answered: int, n_rounds: int) -> Iterator[tuple[str, float]]:
    """Each list and the milliseconds that it takes."""
    for path in paths(n_answered):
        milliseconds, answer = [], {}
        for _ in range(n_rounds):
            began = time.perf_counter()
            response = client.get(path)
            milliseconds.append((time.perf_counter() - began) * 1000)
            assert response.status_code == 200, response.text
            answer = response.json()
        n_rows = max((len(value) for value in answer.values() if isinstance(value, list)), default=0)
        figures = {"database": kind, "list": path.replace(JOB, "JOB").replace(CORPUS, "CORPUS"), "rows": n_rows}
        figures |= {"ms": round(statistics.median(milliseconds), 1), "least_ms": round(min(milliseconds), 1)}
        print(json.dumps({**figures, "more": answer.get("next") is not None}), flush=True)
        yield path, statistics.median(milliseconds)


def paths(n_answered: int) -> Iterator[str]:
    """All lists: first pages, and pages from the middle."""
    middle = n_answered // 2
    cursors: dict[str, Any] = {"": middle, "sort=probability": ("probability", 0.85, middle)}
    cursors["sort=unsure"] = ("unsure", 0.85, middle)
    job, corpus = f"/v1/jobs/{JOB}", f"/v1/corpora/{CORPUS}"
    for order in ORDERS:
        for parameters in OF_JOB:
            for cursor in ("", f"cursor={to_cursor(cursors[order])}"):
                yield with_query(f"{job}/documents", order, parameters, cursor)
    for parameters in OF_CORPUS:
        for cursor in ("", f"cursor={to_cursor((middle,))}"):
            yield with_query(f"{corpus}/documents", parameters, cursor)
    for part in ("labels", "audit"):
        for cursor in ("", f"cursor={to_cursor((0.5, middle))}"):
            yield with_query(f"{job}/{part}", cursor)
    yield from (f"{job}/labels/pairs", f"{job}/categories", f"{job}/decisions", f"{job}/triage", f"{job}/trace")
    yield with_query(f"{job}/trace", f"cursor={to_cursor((N_CHAINS // 2, N_SWEEPS // 2))}")
    yield from ("/v1/jobs", "/v1/corpora")


def with_query(path: str, *parts: str) -> str:
    """A path with those parts of a query that say something."""
    query = "&".join(filter(None, parts))
    return f"{path}?{query}" if query else path


if __name__ == "__main__":
    sys.exit(main())
