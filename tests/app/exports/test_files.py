"""What a download is called, how it is sent, what is refused, and that nothing stays open or in memory."""

import asyncio
import csv
import gzip
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from python_calamine import CalamineWorkbook
from sqlalchemy import delete, insert, update
from starlette.testclient import TestClient

from app.core import lifecycle
from app.core.db import Database, connect
from app.core.errors import CorpusNotFound
from app.core.settings import Settings
from app.core.tables import Category, Corpus, Document, Job
from app.exports import lots, workbook
from app.exports.documents import Chosen, JobDocuments, answers_table, corpus_table
from app.exports.errors import ResultsReplaced
from app.exports.fields import MAX_COLUMNS
from app.exports.shapes import OBJECTS
from app.http import main
from tests.app import rows
from tests.app.exports.documents import fill
from tests.app.server import running
from tests.waits import wait_for

ROOT = Path(__file__).resolve().parents[3]
CORPUS = f"/v1/corpora/{rows.CORPUS}"


def documents(n: int, **more: Any) -> list[dict[str, Any]]:
    """Some plain documents."""
    plain = {"label": None, "is_counts": False, "fields": None, "erased": False}
    return [{"key": f"k{i}", "text": f"text {i}", **plain, **more} for i in range(n)]


@pytest.fixture
def job(database: Database) -> str:
    """Address of a job over seven documents, the last of which is labeled."""
    job_id, _ = rows.submit(database)
    fill(database, documents(6))
    rows.add_results(database, job_id)
    with database.sessions.begin() as session:
        [labeled] = documents(1, key="labeled", label="physics", fields={"year": 1})
        session.add(Document(corpus_id=rows.CORPUS, version=1, **labeled))
    rows.add_draws(database, job_id, chains=2, sweeps=3)
    return f"/v1/jobs/{job_id}"


def records(client: TestClient, path: str) -> list[dict[str, Any]]:
    """The rows of an NDJSON export."""
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


def cells(client: TestClient, path: str) -> list[list[Any]]:
    """The rows of an XLSX export, empty cells as None."""
    book = CalamineWorkbook.from_filelike(io.BytesIO(client.get(path).content))
    return [[None if cell == "" else cell for cell in row] for row in book.get_sheet_by_index(0).to_python()]


@pytest.mark.parametrize(
    "format, content_type, ending",
    [
        ("csv", "text/csv; charset=utf-8; header=present", "csv"),
        ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"),
        ("ndjson", "application/x-ndjson", "ndjson"),
        ("parquet", "application/vnd.apache.parquet", "parquet"),
        ("label-studio", "application/json", "label-studio.json"),
        ("doccano", "application/x-ndjson", "doccano.jsonl"),
    ],
)
def test_a_file_has_a_name_and_a_type(
    client: TestClient, job: str, format: str, content_type: str, ending: str
) -> None:
    headers = client.get(f"{job}/documents/export?format={format}").headers
    assert headers["content-type"] == content_type
    assert headers["content-disposition"] == f'attachment; filename="documents-{job[-36:-28]}.{ending}"'


@pytest.mark.parametrize("kind", ["sqlite"])
@pytest.mark.parametrize(
    "accepted, is_packed", [("gzip", True), ("br, gzip;q=0.5", True), ("", False), ("gzip;q=0.0", False)]
)
def test_a_file_is_compressed_for_those_who_take_gzip(
    client: TestClient, job: str, accepted: str, is_packed: bool
) -> None:
    plain = client.get(f"{job}/documents/export", headers={"Accept-Encoding": "identity"})
    with client.stream("GET", f"{job}/documents/export", headers={"Accept-Encoding": accepted}) as answer:
        raw = b"".join(answer.iter_raw())
    assert answer.headers["vary"] == "Accept-Encoding"
    assert answer.headers.get("content-encoding") == ("gzip" if is_packed else None)
    assert (gzip.decompress(raw) if is_packed else raw) == plain.content
    packed = client.get(f"{job}/documents/export?format=parquet", headers={"Accept-Encoding": accepted})
    assert "content-encoding" not in packed.headers


@pytest.mark.parametrize("kind", ["sqlite"])
def test_csv_is_as_the_client_wants_it(client: TestClient, database: Database) -> None:
    fill(database, documents(1, text="=1;2", fields={"-n": "'+x", "number": -5}))
    table = "key;text;label;'-n;number\r\nk0;\"'=1;2\";;''+x;-5\r\n"
    assert client.get(f"{CORPUS}/export?delimiter=;&bom=true").content.decode() == "\ufeff" + table
    table = "key,text,label,-n,number\r\nk0,=1;2,,'+x,-5\r\n"
    assert client.get(f"{CORPUS}/export?safe=false").content.decode() == table


def test_the_trace_and_the_categories_are_the_same_in_every_format(client: TestClient, job: str) -> None:
    for what, key in (("trace", "draws"), ("categories", "categories")):
        expected = client.get(f"{job}/{what}").json()[key]
        for each in expected if what == "categories" else ():
            each["top_words"] = ", ".join(word["word"] for word in each["top_words"])
            del each["topics"]
        found = records(client, f"{job}/{what}/export?format=ndjson")
        assert found == expected and len(found) > 1
        header, *table = csv.reader(io.StringIO(client.get(f"{job}/{what}/export").text, newline=""))
        assert header == list(found[0])
        assert table == [["" if v is None else v if isinstance(v, str) else json.dumps(v) for v in row.values()]
                         for row in found]  # fmt: skip
        assert cells(client, f"{job}/{what}/export?format=xlsx") == [header, *(list(row.values()) for row in found)]
        parquet = pytest.importorskip("pyarrow.parquet")
        data = io.BytesIO(client.get(f"{job}/{what}/export?format=parquet").content)
        assert parquet.read_table(data).to_pylist() == found


def test_labeled_documents_come_along_if_they_are_wanted(client: TestClient, job: str) -> None:
    path = f"{job}/documents/export?format=ndjson"
    assert [row["key"] for row in records(client, path)] == [f"k{n}" for n in range(6)]
    *others, labeled = records(client, f"{path}&include=all")
    assert len(others) == 6
    assert (labeled["key"], labeled["label"], labeled["category"], labeled["year"]) == ("labeled", "physics", None, 1)
    for query, expected in (
        ("known=true", ["k0", "k3", "labeled"]),
        ("known=false", ["k1", "k4"]),
        ("category=0", ["k0", "k3", "labeled"]),
        ("category=1", ["k1", "k4"]),
        ("category=none", ["k2", "k5"]),
        ("category=7", []),
    ):
        assert [row["key"] for row in records(client, f"{path}&include=all&{query}")] == expected
    labels = {row["key"]: row["label"] for row in records(client, f"{path}&include=all&as=labels")}
    assert labels["labeled"] == "physics" and labels["k1"] == "new-1" and labels["k2"] is None


def test_an_erased_document_has_no_text(client: TestClient, database: Database, job: str) -> None:
    with database.sessions.begin() as session:
        session.execute(update(Document).where(Document.key == "k1").values(text="", fields=None, erased=True))
    first, second, *_ = records(client, f"{job}/documents/export?format=ndjson")
    assert (first["text"], second["text"], second["category"]) == ("text 0", None, "new-1")


def test_tasks_and_lines_for_labeling_are_as_those_programs_read_them(client: TestClient, job: str) -> None:
    tasks = client.get(f"{job}/documents/export?format=label-studio&include=all").json()
    result = {"from_name": "category", "to_name": "text", "type": "choices"}
    prediction = {
        "model_version": f"newfound {job[-36:]} edition 1",
        "score": 0.75,
        "result": [{**result, "value": {"choices": ["new-1"]}}],
    }
    assert tasks[1]["data"]["text"] == "text 1" and tasks[1]["predictions"] == [prediction]
    assert "annotations" not in tasks[1] and "predictions" not in tasks[2]
    assert tasks[6]["annotations"] == [{"result": [{**result, "value": {"choices": ["physics"]}}]}]
    lines = records(client, f"{job}/documents/export?format=doccano&include=all")
    assert [(line["id"], line["text"], line["label"]) for line in lines[1:3]] == [
        ("k1", "text 1", ["new-1"]),
        ("k2", "text 2", []),
    ]
    assert lines[6]["label"] == ["physics"] and lines[1]["probability"] == 0.75


@pytest.mark.parametrize("kind", ["sqlite"])
def test_fields_without_a_column_are_an_object_in_one(client: TestClient, database: Database) -> None:
    fields = {f"n{n}": n for n in range(MAX_COLUMNS + 5)} | {"x" * 101: "long", "Key": "ours has a suffix"}
    fill(database, documents(1, fields=fields))
    [found] = records(client, f"{CORPUS}/export?format=ndjson")
    assert found["key_newfound"] == "k0" and found["Key"] == "ours has a suffix"
    assert len(found["fields"]) == 6 and found["fields"]["x" * 101] == "long"


@pytest.mark.parametrize("kind", ["sqlite"])
def test_what_means_nothing_is_refused(client: TestClient, job: str) -> None:
    for path in (f"{CORPUS}/export", *(f"{job}/{what}/export" for what in ("documents", "categories", "trace"))):
        answer = client.get(f"{path}?format=pdf")
        assert answer.status_code == 422 and "'csv', 'xlsx', 'ndjson'" in answer.json()["errors"][0]["reason"]
        answer = client.get(f"{path}?format=ndjson&bom=true")
        assert answer.status_code == 422 and answer.json()["errors"][0]["where"] == "query.bom"
    answer = client.get(f"{job}/documents/export?format=doccano&as=labels")
    assert answer.status_code == 422 and answer.json()["errors"][0]["where"] == "query.as"


def test_a_job_without_results_has_nothing_to_export(client: TestClient, database: Database) -> None:
    job_id, _ = rows.submit(database)
    for what in ("documents", "categories"):
        answer = client.get(f"/v1/jobs/{job_id}/{what}/export")
        assert (answer.status_code, answer.json()["type"]) == (409, "urn:newfound:problem:results-not-ready")
    assert client.get(f"/v1/jobs/{job_id}/trace/export").text.count("\r\n") == 1
    for path in ("jobs/{}/trace", "jobs/{}/documents", "corpora/{}"):
        assert client.get(f"/v1/{path.format('0' * 8 + job_id[8:])}/export").status_code == 404


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_sheet_that_is_too_small_is_refused_before_it_is_sent(
    client: TestClient, job: str, monkeypatch: pytest.MonkeyPatch, database: Database
) -> None:
    monkeypatch.setattr(workbook, "MAX_ROWS", 7)
    assert len(cells(client, f"{job}/documents/export?format=xlsx")) == 7
    answer = client.get(f"{job}/documents/export?format=xlsx&include=all")
    assert (answer.status_code, answer.json()["type"]) == (409, "urn:newfound:problem:export-too-large")
    assert "csv" in answer.json()["detail"]
    fill(database, [*documents(1, text="a" * 32_767), *documents(1, key="😀", text="😀" * 16_384)])
    answer = client.get(f"{CORPUS}/export?format=xlsx")
    assert answer.status_code == 409 and "text of row 3 is longer than the 32767" in answer.json()["detail"]


@pytest.mark.parametrize("kind", ["sqlite"])
def test_without_its_library_parquet_says_how_to_install_it(
    client: TestClient, job: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    answer = client.get(f"{job}/trace/export?format=parquet")
    assert (answer.status_code, answer.json()["type"]) == (409, "urn:newfound:problem:format-not-installed")
    assert "newfound[parquet]" in answer.json()["detail"]


@pytest.fixture
def small_lots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rows a transaction."""
    monkeypatch.setattr(lots, "LOT_ROWS", 2)


@pytest.mark.usefixtures("small_lots")
def test_results_that_are_replaced_meanwhile_end_the_export(database: Database, job: str) -> None:
    with database.readers.begin() as session:
        found = lifecycle.find_job(session, job[-36:])
        categories = session.query(Category).filter_by(job_id=found.id).all()
    chosen = JobDocuments(database.readers, found, categories, Chosen())
    table = answers_table(chosen, OBJECTS, lambda *_: None).lots()
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
    n_open: list[int] = []
    for path in (f"{CORPUS}/export", f"{job}/documents/export", f"{job}/trace/export"):
        speak(client, path, lambda: n_open.append(pool.checkedout()))
    assert len(n_open) > 9 and not any(n_open)


def test_a_client_that_leaves_in_the_middle_leaves_nothing_open(
    settings: Settings, database: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fill(database, [{**each, "text": "word " * 800} for each in documents(4_000)])
    opened: list[Database] = []
    monkeypatch.setattr(main, "connect", lambda url: opened.append(connect(url)) or opened[0])
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
