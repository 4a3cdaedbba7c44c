"""Nothing stays open or in memory while a file is sent, and what happens meanwhile does not get into it."""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, insert, update
from starlette.testclient import TestClient

from app.core import lifecycle
from app.core.db import Database, connect
from app.core.errors import CorpusNotFound
from app.core.settings import Settings
from app.core.tables import Category, Corpus, Document, Job
from app.exports import lots
from app.exports.documents import Chosen, JobDocuments, answers_table, corpus_table
from app.exports.errors import ResultsReplaced
from app.exports.shapes import OBJECTS
from app.http import main
from app.review.shown import Own
from tests.app import rows
from tests.app.exports.documents import documents, fill
from tests.app.server import running
from tests.waits import wait_for

ROOT = Path(__file__).resolve().parents[3]
CORPUS = f"/v1/corpora/{rows.CORPUS}"


@pytest.fixture
def small_lots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rows a transaction."""
    monkeypatch.setattr(lots, "LOT_ROWS", 2)


@pytest.mark.usefixtures("small_lots")
def test_results_that_are_replaced_meanwhile_end_the_export(database: Database, job: str) -> None:
    with database.readers.begin() as session:
        found = lifecycle.find_job(session, job[-36:])
        categories = session.query(Category).filter_by(job_id=found.id).all()
    chosen = JobDocuments(database.readers, found, Own(categories), Chosen())
    table = answers_table(chosen, OBJECTS).lots()
    assert len(list(next(table))) == 2
    with database.sessions.begin() as session:
        session.execute(update(Job).values(edition=2))
    with pytest.raises(ResultsReplaced):
        next(table)


@pytest.mark.usefixtures("small_lots")
def test_corrections_that_come_meanwhile_are_not_in_the_export(
    client: TestClient, database: Database, job: str
) -> None:
    table = corpus_table(database.readers, rows.CORPUS, [], OBJECTS).lots()
    keys = [row[0] for row in next(table)]
    client.patch(f"{CORPUS}/documents/k3", json={"text": "another"})
    client.delete(f"{CORPUS}/documents/k4")
    rest = [row for lot in table for row in lot]
    assert keys + [row[0] for row in rest] == [*(f"k{n}" for n in range(6)), "labeled"]
    assert rest[1][1] == "text 3"
    again = corpus_table(database.readers, rows.CORPUS, [], OBJECTS).lots()
    next(again)
    with database.sessions.begin() as session:
        session.execute(delete(Corpus))
    with pytest.raises(CorpusNotFound):
        next(again)


def speak(client: TestClient, path: str, at_piece: Callable[[], Any], pieces: list[bool] | None = None) -> list[bool]:
    """Ask as a server does, and do something at each piece of the body; for each, whether more was to come."""
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"format=ndjson",
        "headers": [(b"host", b"testserver")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
    }
    pieces = [] if pieces is None else pieces

    async def receive() -> Any:
        await asyncio.sleep(600)

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            pieces.append(message.get("more_body", False))
            at_piece()

    asyncio.run(client.app(scope, receive, send))  # type: ignore[arg-type]
    return pieces


@pytest.mark.usefixtures("small_lots")
def test_while_a_file_is_sent_no_transaction_is_open(client: TestClient, job: str) -> None:
    pool = client.app.state.database.engine.pool  # type: ignore[attr-defined]
    wait_for(lambda: pool.checkedout() == 0, "the service has looked for what its last process left undone")
    n_open: list[int] = []
    for path in (f"{CORPUS}/export", f"{job}/documents/export", f"{job}/trace/export"):
        speak(client, path, lambda: n_open.append(pool.checkedout()))
    assert len(n_open) > 9 and not any(n_open)


def test_a_client_that_leaves_in_the_middle_leaves_nothing_open(
    settings: Settings, database: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fill(database, [{**each, "text": "word " * 800} for each in documents(4_000)])
    opened: list[Database] = []

    def noted(url: str) -> Database:
        opened.append(connect(url))
        return opened[-1]

    monkeypatch.setattr(main, "connect", noted)
    with running(settings) as api:
        with api.connect() as connection:
            connection.send(f"GET {CORPUS}/export HTTP/1.1\r\nHost: testserver\r\n\r\n".encode())
            assert connection.reply(with_body=False).status == 200
            assert len(connection.read.read(2**16)) == 2**16
        pool: Any = opened[0].engine.pool
        wait_for(lambda: api.n_connections == 0, "the server knows that the client has left")
        wait_for(lambda: pool.checkedout() == 0, "no transaction is open")
        with database.sessions.begin() as session:  # a writer waits for nobody
            session.execute(delete(Corpus))
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


@pytest.mark.usefixtures("small_lots")
def test_a_file_that_breaks_off_has_no_end(client: TestClient, database: Database, job: str) -> None:
    assert not speak(client, f"{CORPUS}/export", lambda: None)[-1]

    def remove() -> None:
        with database.sessions.begin() as session:
            session.execute(delete(Corpus))

    pieces: list[bool] = []
    with pytest.raises(RuntimeError, match="response already started"):
        speak(client, f"{CORPUS}/export", remove, pieces)
    assert pieces == [True]


MEASURE = """
import resource, sys
from app.core.db import connect
from app.exports.delimited import CsvOptions, csv_pieces
from app.exports.documents import corpus_table
from app.exports.objects import ndjson_pieces
from app.exports.parquet import parquet_pieces
from app.exports.shapes import CSV, OBJECTS, PARQUET, XLSX
from app.exports.workbook import write_workbook

database, format, folder = connect(sys.argv[1]), sys.argv[2], sys.argv[3]
WRITERS = {
    "csv": (CSV, lambda table: csv_pieces(table, CsvOptions())),
    "ndjson": (OBJECTS, ndjson_pieces),
    "parquet": (PARQUET, parquet_pieces),
    "xlsx": (XLSX, lambda table: [write_workbook(table, open(f"{folder}/file", "wb"), folder) or b"."]),
}
shape, write = WRITERS[format]


def export(label):
    from app.core.tables import Document
    table = corpus_table(database.readers, sys.argv[4], [Document.label == label], shape)
    return sum(map(len, write(table)))


export("few")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
n_bytes = export("many")
print(n_bytes, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.parametrize("kind", ["sqlite"])
@pytest.mark.parametrize("format", ["csv", "ndjson", "parquet", "xlsx"])
def test_the_memory_of_an_export_does_not_grow_with_the_corpus(database: Database, tmp_path: Path, format: str) -> None:
    """Of 8 MB of texts in one process, and then of 64 MB: kept, they would show."""
    fill(database, documents(1, key="nobody"))
    with database.sessions.begin() as session:
        for label, n_lots in (("few", 4), ("many", 32)):
            for lot in range(n_lots):
                found = documents(200, label=label, text="word " * 2_000)
                each = {"corpus_id": rows.CORPUS, "version": 1}
                session.execute(insert(Document), [{**d, **each, "key": f"{label}{lot}-{d['key']}"} for d in found])
    url = database.engine.url.render_as_string(hide_password=False)
    command = [sys.executable, "-c", MEASURE, url, format, str(tmp_path), rows.CORPUS]
    output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    n_bytes, growth = map(int, output.split())
    assert format in ("xlsx", "parquet") or n_bytes > 64e6
    assert growth < 24 * 1024, f"{growth} KiB for 64 MB"
