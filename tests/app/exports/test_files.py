"""What a download is called, how it is sent, what is refused, and that nothing stays open or in memory."""

import csv
import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from python_calamine import CalamineWorkbook
from sqlalchemy import update
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.tables import Document
from app.exports import workbook
from app.exports.fields import MAX_COLUMNS
from tests.app import rows
from tests.app.exports.documents import documents, fill

ROOT = Path(__file__).resolve().parents[3]
CORPUS = f"/v1/corpora/{rows.CORPUS}"


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
    assert answer.headers["vary"] == "Accept, Accept-Encoding"
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
            low, high = each.pop("size_interval_90") or (None, None)
            nearest, words = each.pop("nearest") or {"name": None, "distance": None}, each.pop("words")
            described = each.pop("described") or {"name": None, "probability": None}
            each |= {"described": described["name"], "described_probability": described["probability"]}
            by_lift = words and ", ".join(word["word"] for word in words["by_lift"])
            each |= {"documents_low": low, "documents_high": high, "words_by_lift": by_lift}
            each |= {"nearest": nearest["name"], "nearest_distance": nearest["distance"]}
            del each["topics"], each["origin"], each["place"]
        found = records(client, f"{job}/{what}/export?format=ndjson")
        assert found == expected and len(found) > 1
        header, *table = csv.reader(io.StringIO(client.get(f"{job}/{what}/export").text, newline=""))
        assert sorted(header) == sorted(found[0]) == sorted(expected[0])
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
