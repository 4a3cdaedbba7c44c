"""Exports as files from Python: whole ones or none."""

import csv
import io
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from python_calamine import CalamineWorkbook

from app.core.db import Database
from newfound_client import Client, NoAnswer, Refused
from tests.app import rows
from tests.app.rows import CORPUS

FILTERS: dict[str, dict[str, Any]] = {
    "searched": {"search": "text -1 -3 -5"},
    "sorted": {"sort": "unsure"},
    "unsure": {"unsure": True},
}


@pytest.fixture
def job_id(database: Database) -> str:
    """A job with answers."""
    job_id, _ = rows.submit(database)
    rows.add_encoding(database, job_id)
    rows.add_results(database, job_id)
    return job_id


def test_answers_are_the_same_in_files_of_every_format(client: Client, job_id: str, tmp_path: Path) -> None:
    expected = [(answer["key"], answer["text"], answer["name"]) for answer in client.documents(job_id)]
    assert len(expected) == 5
    for ending in ("csv", "CSV", "xlsx", "ndjson", "jsonl", "parquet"):
        path = tmp_path / f"answers.{ending}"
        assert client.export(job_id, path) == path.stat().st_size
    with (tmp_path / "answers.csv").open(encoding="utf-8", newline="") as file:
        table = [(row["key"], row["text"], row["category"] or None) for row in csv.DictReader(file)]
    lines = [json.loads(line) for line in (tmp_path / "answers.jsonl").read_text(encoding="utf-8").splitlines()]
    header, *sheet = CalamineWorkbook.from_path(tmp_path / "answers.xlsx").get_sheet_by_index(0).to_python()
    at = [header.index(name) for name in ("key", "text", "category")]
    parquet = pyarrow.parquet.read_table(tmp_path / "answers.parquet").to_pylist()
    assert table == expected
    assert [(row["key"], row["text"], row["category"]) for row in lines] == expected
    assert [tuple(row[place] or None for place in at) for row in sheet] == expected
    assert [(row["key"], row["text"], row["category"]) for row in parquet] == expected
    assert (tmp_path / "answers.CSV").read_bytes() == (tmp_path / "answers.csv").read_bytes()
    assert (tmp_path / "answers.ndjson").read_bytes() == (tmp_path / "answers.jsonl").read_bytes()


def test_options_and_filters_of_exports_go_along(client: Client, job_id: str, tmp_path: Path) -> None:
    out = io.BytesIO()
    client.export(job_id, out, "csv", bom=True, delimiter="semicolon", known=False)
    lines = out.getvalue().decode("utf-8-sig").splitlines()
    assert out.getvalue().startswith("\ufeff".encode()) and lines[0].startswith("key;text;label;category;")
    assert [line.split(";")[3] for line in lines[1:]] == ["new-1", "new-1"]
    client.export(job_id, tmp_path / "categories.ndjson", what="categories")
    names = [json.loads(line)["name"] for line in (tmp_path / "categories.ndjson").read_text().splitlines()]
    assert names == ["physics", "new-1"]
    rows_of_trace = io.BytesIO()
    client.export(job_id, rows_of_trace, "csv", what="trace")
    assert rows_of_trace.getvalue().startswith(b"chain,sweep,")


def test_answers_are_searched_sorted_and_filtered(client: Client, job_id: str) -> None:
    found = {key: [row["key"] for row in client.documents(job_id, **filters)] for key, filters in FILTERS.items()}
    everything = [f"document-{n}" for n in range(1, 6)]
    assert found["searched"] == ["document-2", "document-4"]
    assert sorted(found["sorted"]) == everything and found["sorted"][0] == "document-3", "it has no category"
    assert found["unsure"] == ["document-3"]


def test_a_refusal_leaves_the_file_as_it_was(client: Client, job_id: str, tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_text("an older one")
    with pytest.raises(Refused, match=f"there is no job {CORPUS}"):
        client.export(CORPUS, path)
    with pytest.raises(ValueError, match=r"should end with one of \.csv, \.xlsx, \.ndjson, \.jsonl, \.parquet"):
        client.export(job_id, tmp_path / "answers.doc")
    with pytest.raises(ValueError, match=r"should end with one of \.csv, \.ndjson, \.jsonl, or a format be chosen"):
        client.categorize_to(job_id, [], io.BytesIO())
    assert [(each.name, each.read_text()) for each in tmp_path.glob("*answers*")] == [("answers.csv", "an older one")]


@contextmanager
def breaking_off(head: bytes) -> Iterator[str]:
    """A server whose answer ends before it is complete; its address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(2**16)
                connection.sendall(b"HTTP/1.1 200 OK\r\n" + head)

        thread = threading.Thread(target=answer)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        thread.join()


@pytest.mark.parametrize(
    "head",
    [b"Content-Length: 9\r\n\r\nkey", b"Transfer-Encoding: chunked\r\n\r\n3\r\nkey\r\n"],
    ids=["length", "chunks"],
)
def test_a_file_that_breaks_off_is_none(head: bytes, tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_text("an older one")
    with breaking_off(head) as url, pytest.raises(NoAnswer, match="broke off"):
        Client(url).export(CORPUS, path)
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("answers.csv", "an older one")]


def test_a_disk_that_takes_no_more_is_no_matter_of_the_service(client: Client, job_id: str) -> None:
    with open("/dev/full", "wb", buffering=0) as full, pytest.raises(OSError, match="No space left"):
        client.export(job_id, full, "csv")
