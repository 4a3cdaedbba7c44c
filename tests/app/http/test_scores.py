"""Answers against gold labels from a file, on both databases."""

import io
import json
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet
from sqlalchemy import func, select
from starlette.testclient import TestClient
from xlsxwriter import Workbook

from app.core.db import Database
from app.core.tables import Document
from app.http.routers.scores import EXAMPLE
from app.scores import gold
from tests.app.http.answered_jobs import Given, Made, add_job

GIVEN = (
    Given("a", category=0, probability=0.9, known_probability=0.95),
    Given("b", category=1, probability=0.9, known_probability=0.9),
    Given("c", category=2, probability=0.9, known_probability=0.2),
    Given("d", category=2, probability=0.9, known_probability=0.1),
    Given("e", category=3, probability=0.9, known_probability=0.3),
    Given("blank", category=None),
    Given("taught", label="optics"),
    Given("nobody's", category=0, probability=0.5, known_probability=0.5),
)
GOLD = {"a": "astronomy", "b": "optics", "c": "plasma", "d": "plasma", "e": "plasma", "blank": "optics", "taught": "x"}
CSV = "key,label\n" + "".join(f"{key},{label}\n" for key, label in GOLD.items())


@pytest.fixture
def made(database: Database) -> Made:
    return add_job(database, GIVEN)


def score(client: TestClient, made: Made, content: Any, kind: str = "text/csv", **parameters: Any) -> Any:
    """The answer to gold labels."""
    return client.post(f"{made.job}/score", content=content, headers={"Content-Type": kind}, params=parameters)


def test_gold_labels_are_matched_with_the_answers_by_their_keys(client: TestClient, made: Made) -> None:
    answer = score(client, made, CSV + "zzz,optics\nd,plasma\nnobody's,\n,optics\n")
    assert answer.status_code == 200, answer.text
    told = answer.json()
    assert told["documents"] == {
        "labels": 7,
        "scored": 5,
        "without_answer": 1,
        "labeled": 1,
        "missing": 1,
        "unlabeled": 1,
        "unknown": 1,
        "contradictory": 0,
        "rejected": 1,
    }
    assert (told["unknown_keys"], told["contradictory_keys"]) == (["zzz"], [])
    assert told["errors"] == [{"line": 12, "reason": "the row has no key"}]
    assert told["scores"]["accuracy"] == pytest.approx(4 / 5), "`new 2` stands for nothing, since `new 1` is plasma"
    assert told["scores"]["mean_f1"] == told["scores"]["known_auroc"] == told["scores"]["new_f1"] == 1.0
    assert told["categories"] == {"gold": {"known": 2, "new": 1}, "answer": {"known": 2, "new": 2}}
    assert [(row["name"], row["stands_for"], row["right"]) for row in told["new_categories"]] == [
        ("new 1", "plasma", 2),
        ("new 2", None, 0),
    ]
    assert told["confusion"][0] == {
        "label": "plasma",
        "label_known": False,
        "category": 2,
        "name": "new 1",
        "known": False,
        "documents": 2,
    }
    assert (told["format"], told["columns"]["key"], told["columns"]["label"]) == ("csv", "key", "label")


def workbook() -> bytes:
    """The gold labels as a sheet."""
    file = io.BytesIO()
    with Workbook(file, {"in_memory": True}) as book:
        sheet = book.add_worksheet()
        for number, row in enumerate([("key", "label"), *GOLD.items()]):
            sheet.write_row(number, 0, row)
    return file.getvalue()


def parquet_file() -> bytes:
    """The gold labels as Parquet."""
    file = io.BytesIO()
    parquet.write_table(pyarrow.table({"key": list(GOLD), "label": list(GOLD.values())}), file)
    return file.getvalue()


FORMATS = {
    "text/csv": CSV.encode(),
    "text/tab-separated-values": CSV.replace(",", "\t").encode(),
    "application/x-ndjson": "".join(json.dumps({"key": k, "label": v}) + "\n" for k, v in GOLD.items()).encode(),
    "application/json": json.dumps([{"key": k, "label": v} for k, v in GOLD.items()]).encode(),
    "application/octet-stream": workbook(),
    "application/vnd.apache.parquet": parquet_file(),
}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("kind", ["sqlite"])
def test_every_format_gives_the_same_scores(client: TestClient, made: Made, name: str) -> None:
    expected, found = score(client, made, CSV).json(), score(client, made, FORMATS[name], name).json()
    about_the_file = {"format", "charset", "delimiter", "columns", "warnings"}
    assert {k: v for k, v in found.items() if k not in about_the_file} == {
        k: v for k, v in expected.items() if k not in about_the_file
    }


def test_a_form_with_its_own_columns_is_read_and_texts_do_no_harm(client: TestClient, made: Made) -> None:
    content = "Id;Text;Kategorie\n" + "".join(f"{key};some text;{label}\n" for key, label in GOLD.items())
    data = {"key": "Id", "label": "Kategorie"}
    told = client.post(f"{made.job}/score", files={"file": ("gold.csv", content)}, data=data).json()
    assert told["scores"] == score(client, made, CSV).json()["scores"]


def test_a_document_with_two_gold_labels_is_left_out_and_named(client: TestClient, made: Made) -> None:
    told = score(client, made, CSV + "a,optics\nblank,plasma\n").json()
    assert (told["documents"]["contradictory"], told["contradictory_keys"]) == (2, ["a", "blank"])
    assert (told["documents"]["scored"], told["documents"]["without_answer"]) == (4, 0)
    assert told["documents"]["missing"] == 1, "a has an answer, and gold labels"


def test_what_is_not_defined_says_why(client: TestClient, made: Made) -> None:
    told = score(client, made, "key,label\nc,plasma\nd,plasma\n").json()
    undefined = {"nmi", "ari", "mean_f1", "accuracy_of_known", "known_auroc"}
    assert set(told["undefined"]) == undefined
    assert {name for name, value in told["scores"].items() if value is None} == undefined
    told = score(client, made, "key,label\nzzz,plasma\n").json()
    assert set(told["undefined"].values()) == {"no document has both a gold label and an answer"}
    told = score(client, made, "key,label\na,astronomy\nb,optics\n").json()
    assert told["undefined"]["new_f1"] == "no scored document has a gold label that is new to the job"


def test_batches_do_not_show(client: TestClient, made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = score(client, made, CSV + "a,optics\n").json()
    monkeypatch.setattr(gold, "BATCH", 2)
    assert score(client, made, CSV + "a,optics\n").json() == whole


@pytest.mark.parametrize(
    ("content", "parameters", "detail"),
    [
        ("key,value\na,b\n", {}, "no column `label`"),
        ("label\nb\n", {}, "no column `key`"),
        ("key,Category\na,b\n", {}, "did you mean label=Category"),
        ("key,label\na,b\n", {"label": ""}, "no column `label`"),
        ("key,label\na,b\n", {"text": "key"}, "query.text"),
        ("key,label\na,b\n", {"sheet": "x"}, "sheet means nothing here"),
        ("just a text\nand another\n", {}, "no column `key`"),
        ("", {}, "empty"),
    ],
)
@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_file_without_keys_or_labels_is_refused_with_what_is_missing(
    client: TestClient, made: Made, content: str, parameters: dict[str, str], detail: str
) -> None:
    answer = score(client, made, content, "application/octet-stream", **parameters)
    assert (answer.status_code, answer.json()["type"]) == (422, "urn:newfound:problem:malformed-request")
    assert detail in answer.text


@pytest.mark.parametrize("kind", ["sqlite"])
def test_more_labels_than_any_scheme_has_are_refused(
    client: TestClient, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gold, "MAX_LABELS", 2)
    rows = "".join(f"{key},label {n}\n" for n, key in enumerate("abcd"))
    answer = score(client, made, f"key,label\n{rows}")
    assert (answer.status_code, "more than 2 different labels" in answer.text) == (422, True)
    assert score(client, made, "key,label\na,x\nb,y\nc,optics\n").status_code == 200, "known ones do not count"


def test_a_job_without_results_is_refused(client: TestClient, database: Database) -> None:
    made = add_job(database, GIVEN, is_over=False)
    answer = score(client, made, CSV)
    assert (answer.status_code, answer.json()["type"]) == (409, "urn:newfound:problem:results-not-ready")
    nobody = Made("/v1/jobs/00000000-0000-0000-0000-000000000000", "")
    assert score(client, nobody, CSV).status_code == 404


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_file_that_is_too_large_is_a_413(client: TestClient, made: Made) -> None:
    assert score(client, made, CSV + "x" * 2**20).status_code == 413


def test_nothing_is_stored_and_later_corrections_do_not_matter(
    client: TestClient, database: Database, made: Made
) -> None:
    before = score(client, made, CSV).json()
    client.patch(f"{made.corpus}/documents/a", json={"label": "optics"})
    client.delete(f"{made.corpus}/documents/b")
    assert score(client, made, CSV).json() == before
    with database.readers.begin() as session:
        assert session.scalar(select(func.count()).select_from(Document)) == len(GIVEN) + 1


@pytest.mark.parametrize("kind", ["sqlite"])
def test_the_example_is_a_file_of_gold_labels(client: TestClient, made: Made) -> None:
    answer = score(client, made, EXAMPLE, "application/octet-stream")
    assert (answer.status_code, answer.json()["documents"]["unknown"]) == (200, 2)


def test_decisions_are_scored_unless_they_are_left_out(client: TestClient, database: Database) -> None:
    made = add_job(database, [Given("a", category=2, probability=0.9), Given("b", category=3, probability=0.9)])
    gold = "key,label\na,plasma\nb,plasma\n"
    merge = {"kind": "merge", "categories": ["new 1", "new 2"]}
    assert client.post(f"{made.job}/decisions", json={"decisions": [merge]}).status_code == 201
    told = client.post(f"{made.job}/score", content=gold).json()
    assert (told["documents"]["scored"], told["documents"]["missing"]) == (2, 0)
    assert [each["documents"] for each in told["new_categories"]] == [2]
    told = client.post(f"{made.job}/score?decisions=false", content=gold).json()
    assert [each["documents"] for each in told["new_categories"]] == [1, 1]
