"""Sources by category against a recount, the categories that are marked, and fields that are no sources."""

import csv
import io
from collections import Counter
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.core.db import Database
from tests.app.http.answered_jobs import CATEGORIES, Given, Made, add_job

FORUM, MAIL = {"source": "=forum"}, {"source": "mail"}


def documents() -> list[Given]:
    """Half of all in each source; of the new categories the first is of one source, the second of both."""
    found = [Given(f"a{n}", label="astronomy", fields=(MAIL, FORUM)[n % 2]) for n in range(20)]
    found += [Given(f"b{n}", category=0, fields=(MAIL, FORUM)[n % 2]) for n in range(10)]
    found += [Given(f"c{n}", category=1, fields=FORUM) for n in range(10)]
    found += [Given(f"d{n}", category=2, fields=FORUM if n else MAIL) for n in range(20)]
    found += [Given(f"e{n}", category=3, fields=(MAIL, FORUM)[n % 2]) for n in range(8)]
    found += [Given(f"f{n}", category=3, fields=MAIL) for n in range(29)]
    return [*found, Given("g", category=3), Given("h", category=None, fields=MAIL)]


GIVEN = documents()


@pytest.fixture
def made(database: Database) -> Made:
    add_job(database, GIVEN[:20])  # of another job and corpus: nobody counts these
    return add_job(database, GIVEN)


def table(client: TestClient, made: Made, **parameters: Any) -> Any:
    answer = client.get(f"{made.job}/sources", params={"field": "source", **parameters})
    assert answer.status_code == 200, answer.text
    return answer.json()


def recount() -> Counter[tuple[str | None, int | None, bool]]:
    """Documents by source, category and whether they are labeled."""
    index = {name: number for number, (name, _) in enumerate(CATEGORIES)}
    return Counter(
        (
            (each.fields or {}).get("source"),
            each.category if each.label is None else index[each.label],
            each.label is not None,
        )
        for each in GIVEN
    )


def test_the_sources_of_categories_are_those_of_a_recount(client: TestClient, made: Made) -> None:
    told, found = table(client, made), Counter[tuple[str | None, int | None, bool]]()
    for category in told["categories"]:
        index = category["category"]
        assert (category["name"], category["known"]) == CATEGORIES[index]
        for of in category["sources"]:
            found[of["source"], index, True] += of["labeled"]
            found[of["source"], index, False] += of["answered"]
            assert of["documents"] == of["labeled"] + of["answered"]
            assert of["share"] == pytest.approx(of["documents"] / category["documents"])
        assert category["documents"] == sum(of["documents"] for of in category["sources"])
    expected = recount()
    assert +found == Counter({key: n for key, n in expected.items() if key[1] is not None})
    assert told["documents"] == expected.total() and told["without_category"] == 1
    of_all = [(of["source"], of["documents"]) for of in told["sources"]]
    assert of_all == [("mail", 50), ("=forum", 48), (None, 1)]
    assert told["field"] == "source" and told["used"] is False


def test_a_new_category_of_one_source_is_marked(client: TestClient, made: Made) -> None:
    marked = {each["name"]: each["one_source"] for each in table(client, made)["categories"]}
    # 19 of 20 are of the forum; optics, which is all of it, is known
    assert marked == {"astronomy": False, "optics": False, "new 1": True, "new 2": False}


def test_a_category_of_the_source_that_most_documents_are_from_is_no_wonder(
    client: TestClient, database: Database
) -> None:
    given = [Given(f"a{n}", category=2, fields=MAIL) for n in range(20)]
    given += [Given(f"b{n}", category=3, fields=FORUM) for n in range(8)]
    told = table(client, add_job(database, given))
    assert {each["name"]: each["one_source"] for each in told["categories"]} == {"new 1": False, "new 2": True}


def test_sources_as_csv_have_a_row_for_each_category_and_source(client: TestClient, made: Made) -> None:
    answer = client.get(f"{made.job}/sources", params={"field": "source", "format": "csv"})
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert answer.headers["content-type"].startswith("text/csv")
    of_table = [
        (str(each["category"]), (of["source"] or "").replace("=", "'="), str(of["documents"]))
        for each in table(client, made)["categories"]
        for of in each["sources"]
    ]
    assert [(row["category"], row["source"], row["documents"]) for row in rows] == of_table
    assert {row["one_source"] for row in rows if row["name"] == "new 1"} == {"true"}


def test_a_field_that_no_document_has_is_refused_with_those_there_are(client: TestClient, made: Made) -> None:
    answer = client.get(f"{made.job}/sources", params={"field": "sauce"})
    assert answer.status_code == 422
    assert answer.json()["detail"] == "no document has a field 'sauce': there are source"


def test_a_job_without_a_source_field_asks_for_a_field(client: TestClient, made: Made) -> None:
    answer = client.get(f"{made.job}/sources")
    assert answer.status_code == 422 and answer.json()["errors"][0]["where"] == "query.field"


def test_a_field_with_a_value_a_document_is_no_source(client: TestClient, database: Database) -> None:
    given = [Given(f"d{n}", category=n % 4, fields={"id": n}) for n in range(150)]
    made = add_job(database, given)
    answer = client.get(f"{made.job}/sources", params={"field": "id"})
    assert answer.status_code == 422 and "more than 100 different values" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("field", "status", "reason"),
    [
        ("source", 202, None),
        ("id", 409, "the field 'id' has 99 different values in 99 documents"),
        ("ticket", 409, "the field 'ticket' has 66 different values in 99 documents"),
        ("sauce", 409, "has a field 'sauce'"),
        ("", 422, "source_field"),
    ],
)
def test_a_job_is_queued_only_with_a_field_whose_values_are_shared(
    client: TestClient, database: Database, field: str, status: int, reason: str | None
) -> None:
    given = [
        Given(f"d{n}", label="astronomy" if n % 2 else None, fields={"source": "ab"[n % 2], "id": n, "ticket": n % 66})
        for n in range(99)
    ]
    corpus_id = add_job(database, given).corpus.rpartition("/")[2]
    body = {"corpus_id": corpus_id, "source_field": field, "text": {"min_document_frequency": 1}}
    answer = client.post("/v1/jobs", json=body)
    assert answer.status_code == status, answer.text
    if reason is None:
        assert answer.json()["settings"]["source_field"] == "source"
    else:
        assert reason in answer.text
        assert ("no-source-field" in answer.json()["type"]) is (status == 409)


def test_a_model_that_knows_no_sources_refuses_their_field(client: TestClient, made: Made) -> None:
    body = {"corpus_id": made.corpus.rpartition("/")[2], "source_field": "source", "model": "lbpl-ntm"}
    answer = client.post("/v1/jobs", json=body)
    assert answer.status_code == 422 and "source_field belongs to model = 'calibrated' only" in answer.text
