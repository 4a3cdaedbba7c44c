"""What was exported is uploaded again, and nothing has changed."""

import csv
import io
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from python_calamine import CalamineWorkbook
from starlette.testclient import TestClient

from app.core.db import Database
from tests.app import rows
from tests.app.exports.documents import ODD, TEXTS, corpora, fill

CORPUS = f"/v1/corpora/{rows.CORPUS}"
FORMATS = ["csv", "csv&safe=false", "csv&delimiter=semicolon&bom=true", "xlsx", "ndjson", "parquet"]
EXAMPLES = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], database=None)
ALL_ODD = [
    {"key": f"k{n}", "text": text if text.strip() else "", "is_counts": False, "label": None, "erased": False,
     "fields": {"odd": text, "other": text or 1, "list": [text]}}
    for n, text in enumerate(ODD)
]  # fmt: skip


def upload(client: TestClient, export: Any, corpus: str = CORPUS) -> Any:
    """Upload an export as its answer says."""
    answer = client.post(
        f"{corpus}/documents?{export.headers['upload-query']}",
        content=export.content,
        headers={"Content-Type": "application/octet-stream"},
    )
    assert answer.status_code == 200, (answer.text, export.content[:2000])
    return answer.json()


@pytest.mark.parametrize("kind", ["sqlite"])
@pytest.mark.parametrize("format", FORMATS)
def test_an_export_of_a_corpus_is_an_upload_that_changes_nothing(
    client: TestClient, database: Database, format: str
) -> None:
    @EXAMPLES
    @given(corpora())
    @example(ALL_ODD)
    def check(documents: list[dict[str, Any]]) -> None:
        fill(database, documents)
        export = client.get(f"{CORPUS}/export?format={format}")
        assert export.status_code == 200, export.text
        told = upload(client, export)
        assert (told["unchanged"], told["errors"]) == (len(documents), []), export.content[:2000]

    check()


@pytest.mark.parametrize("format", FORMATS)
def test_both_databases_export_what_the_list_answers(client: TestClient, database: Database, format: str) -> None:
    fill(database, ALL_ODD)
    export = client.get(f"{CORPUS}/export?format={format}")
    other = client.post("/v1/corpora", json={"name": "other"}).headers["Location"]
    assert upload(client, export, other)["added"] == len(ALL_ODD)
    lists = [client.get(f"{corpus}/documents?limit=1000").json()["documents"] for corpus in (CORPUS, other)]
    assert [{**each, "version": 0} for each in lists[0]] == [{**each, "version": 0} for each in lists[1]]


@pytest.mark.parametrize("kind", ["sqlite"])
@EXAMPLES
@given(texts=st.lists(TEXTS))
def test_no_cell_of_a_safe_csv_is_a_formula(client: TestClient, database: Database, texts: list[str]) -> None:
    documents = [
        {"key": f"k{n}", "text": text, "label": None, "is_counts": False, "fields": {text: text}, "erased": False}
        for n, text in enumerate([*texts, "=1"])
    ]
    fill(database, documents)
    for row in csv.reader(io.StringIO(client.get(f"{CORPUS}/export").text, newline="")):
        assert not [cell for cell in row if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]


@pytest.fixture
def job(database: Database) -> str:
    """Address of a job with an answer for each document."""
    job_id, _ = rows.submit(database)
    documents = [{**each, "fields": each["fields"] if n % 3 else None} for n, each in enumerate(ALL_ODD)]
    documents.append({**ALL_ODD[0], "key": "bag", "text": '{"a":1,"b c":2}', "is_counts": True})
    fill(database, documents)
    rows.add_results(database, job_id)
    return f"/v1/jobs/{job_id}"


def answers(client: TestClient, job: str, query: str = "") -> list[dict[str, Any]]:
    """The documents of a job as GET answers them, but for what depends on the request's thresholds."""
    found = client.get(f"{job}/documents?limit=1000{query}").json()["documents"]
    for each in found:
        second = each["runner_up"] or {"name": None, "probability": None}
        each |= {"label": None, "category": each["name"]}
        each |= {"runner_up": second["name"], "runner_up_probability": second["probability"]}
        del each["name"], each["erased"], each["unsure"], each["likely"], each["evidence"]
    return list(found)


def as_answer(row: dict[str, Any]) -> dict[str, Any]:
    """A row of an export with its fields apart."""
    ours = {name: row.pop(name) for name in (*OURS,)}
    return {**ours, "fields": row}


OURS = (
    "key", "text", "label", "category", "known", "probability", "known_probability", "category_probability",
    "runner_up", "runner_up_probability", "stability", "reason", "copy_of", "decision",
)  # fmt: skip


@pytest.mark.parametrize("query", ["", "&known=true", "&known=false", "&category=1", "&category=none", "&field=odd:@x"])
def test_exported_answers_are_those_of_the_list(client: TestClient, job: str, query: str) -> None:
    export = client.get(f"{job}/documents/export?format=ndjson{query}")
    assert [as_answer(json.loads(line)) for line in export.text.splitlines()] == answers(client, job, query)


def test_csv_and_xlsx_show_the_same_answers(client: TestClient, job: str) -> None:
    expected = answers(client, job)
    text = client.get(f"{job}/documents/export?format=csv&safe=false").text
    found = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [row["text"] for row in found] == [each["text"] for each in expected]
    assert [row["probability"] for row in found] == ["0.75" if each["probability"] else "" for each in expected]
    assert [row["known"] for row in found] == [
        "" if each["known"] is None else json.dumps(each["known"]) for each in expected
    ]
    book = CalamineWorkbook.from_filelike(io.BytesIO(client.get(f"{job}/documents/export?format=xlsx").content))
    header, *sheet = book.get_sheet_by_index(0).to_python()
    cells = [dict(zip(header, row, strict=True)) for row in sheet]
    assert [row["key"] for row in cells] == [each["key"] for each in expected]
    assert [row["probability"] or None for row in cells] == [each["probability"] for each in expected]


@pytest.mark.parametrize("kind", ["sqlite"])
@pytest.mark.parametrize("format", FORMATS)
def test_labels_of_a_job_become_a_labeled_corpus(client: TestClient, job: str, format: str) -> None:
    expected = {each["key"]: each["category"] for each in answers(client, job)}
    export = client.get(f"{job}/documents/export?as=labels&format={format}")
    other = client.post("/v1/corpora", json={"name": "other"}).headers["Location"]
    assert upload(client, export, other)["added"] == len(expected)
    found = client.get(f"{other}/documents?limit=1000").json()["documents"]
    assert {each["key"]: each["label"] for each in found} == expected
    before = client.get(f"{CORPUS}/documents?limit=1000").json()["documents"]
    assert [(each["text"], each["fields"]) for each in found] == [(each["text"], each["fields"]) for each in before]


@pytest.mark.parametrize("kind", ["sqlite"])
@pytest.mark.parametrize("format", ["label-studio", "doccano"])
def test_files_for_labeling_programs_are_uploaded_with_the_categories_as_labels(
    client: TestClient, job: str, format: str
) -> None:
    expected = {each["key"]: (each["text"], each["category"]) for each in answers(client, job)}
    export = client.get(f"{job}/documents/export?format={format}")
    other = client.post("/v1/corpora", json={"name": "other"}).headers["Location"]
    assert upload(client, export, other)["added"] == len(expected)
    found = client.get(f"{other}/documents?limit=1000").json()["documents"]
    assert {each["key"]: (each["text"], each["label"]) for each in found} == expected
