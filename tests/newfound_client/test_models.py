"""Frozen models from Python: files and frames of new documents there, answers back, and the model as a file."""

import csv
import io
import json
from pathlib import Path

import pandas
import pytest

from app.core.db import Database
from app.core.settings import Settings
from newfound_client import Client, Refused, flat
from tests.worker import jobs

FRUIT, RIVER = "apple pear plum cherry peach grape", "danube rhine volga loire tagus ebro"


@pytest.fixture
def job_id(database: Database, settings: Settings) -> str:
    """A calibrated job that has succeeded."""
    corpus_id = jobs.upload(database, jobs.rows())
    job_id, unit_ids = jobs.submit_calibrated(database, corpus_id, text={"min_document_frequency": 1})
    jobs.run_to_the_end(database, settings, unit_ids)
    return job_id


def test_new_documents_are_answered_as_rows_as_a_file_and_as_a_frame(
    client: Client, job_id: str, tmp_path: Path
) -> None:
    rows = [{"text": FRUIT, "key": "a", "year": 2024}, {"text": ["x"]}, {"text": RIVER, "key": "c"}, {"text": "quark"}]
    first, unusable, second, unknown = client.categorize(job_id, iter(rows))
    assert (first["key"], first["name"], first["known"], first["fields"]) == ("a", "fruit", True, {"year": 2024})
    assert set(unusable) == {"line", "reason"} and unusable["line"] == 2
    assert (second["key"], second["known"]) == ("c", False) and second["name"].startswith("new 1")
    assert (unknown["category"], unknown["unknown_words"]) == (None, 1.0)

    assert client.categorize_to(job_id, rows, tmp_path / "out.csv") == (tmp_path / "out.csv").stat().st_size
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    assert [row["category"] for row in table] == ["fruit", "", second["name"], ""]
    by_model = io.BytesIO()
    client.categorize_to(client.drift(job_id)["model"], rows, by_model, "ndjson")
    assert [json.loads(line) for line in by_model.getvalue().splitlines()] == [first, unusable, second, unknown]

    frame = pandas.DataFrame(rows[:3], index=[7, 7, 9])
    found = client.categorize_frame(job_id, frame)
    assert list(found.index) == [7, 7, 9]
    assert list(found["category"].fillna("")) == ["fruit", "", second["name"]]
    assert list(found["reason"].fillna("")) == ["", unusable["reason"], ""]
    assert {"probability", "novelty", "novel", "unsure", "evidence"} <= set(found.columns)
    assert client.categorize_frame(job_id, frame, unsure_known=1.0)["unsure"].iloc[0]


def test_the_row_of_a_new_document_has_what_the_table_of_the_service_has(client: Client, job_id: str) -> None:
    documents = [{"text": FRUIT, "key": "a", "year": "2024"}, {"text": RIVER, "key": "b", "year": "x"}]
    file = io.BytesIO()
    client.categorize_to(job_id, documents, file, "csv")
    table = list(csv.DictReader(io.StringIO(file.getvalue().decode(), newline="")))
    for row, answer in zip(table, client.categorize(job_id, documents), strict=True):
        told = flat(answer)
        assert set(row) - {"text"} <= set(told), "the client has the text itself"
        assert {name: str(told[name]) for name in ("key", "category", "runner_up", "evidence", "line", "year")} == {
            name: row[name] for name in ("key", "category", "runner_up", "evidence", "line", "year")
        }
        for name in ("probability", "novelty", "runner_up_probability"):
            assert float(row[name]) == told[name]


def test_a_model_is_a_file_that_answers_alike_where_it_is_imported(client: Client, job_id: str, tmp_path: Path) -> None:
    file, again = tmp_path / "a.newfound-model", tmp_path / "b.newfound-model"
    assert client.export_model(job_id, file) == file.stat().st_size > 0
    imported = client.import_model(file, "elsewhere")
    assert (imported["name"], imported["imported"], imported["job"]) == ("elsewhere", True, job_id)
    assert [model["id"] for model in client.models(imported=True)] == [imported["id"]]
    documents = [{"text": FRUIT}, {"text": RIVER}]
    assert client.categorize(imported["id"], documents) == client.categorize(job_id, documents)
    assert client.export_model(imported["id"], again) and again.read_bytes() == file.read_bytes()
    [day] = client.drift(imported["id"])["days"]
    assert day["documents"] == 2
    client.delete_model(imported["id"])
    with pytest.raises(Refused, match="there is no job"):
        client.categorize(imported["id"], documents)
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(Refused) as refused:
        client.import_model(file)
    assert refused.value.kind == "unusable-model"
    assert sorted(path.name for path in tmp_path.glob("*.newfound-model")) == [file.name, again.name]


def test_a_job_is_read_with_another_number_of_categories_by_its_tree(client: Client, job_id: str) -> None:
    tree = client.tree(job_id)
    assert tree["categories"] == sum(not each["known"] for each in client.categories(job_id)["categories"])
    assert tree["leaves"] >= 2, "there is another number"
    wanted = tree["leaves"] if tree["categories"] == 1 else 1
    found = client.categories(job_id, wanted)
    assert sum(not each["known"] for each in found["categories"]) == wanted
    names = {each["name"] for each in found["categories"] if not each["known"]}
    assert {answer["name"] for answer in client.documents(job_id, categories=wanted, known=False)} == names
    short_id = client.categories(job_id)["categories"][0]["id"]
    assert client.category(job_id, short_id)["id"] == short_id == client.category(job_id, 0)["id"]
