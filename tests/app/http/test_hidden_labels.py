"""What is reported of a job of a comparison of methods: hidden labels are nowhere in it."""

import json

import pytest
from sqlalchemy import select, update
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.settings import Settings
from app.core.tables import Answer, Document
from tests.app.http.compared_methods import GOLD, compare, compared, seen
from tests.app.http.test_api import pages
from tests.worker import jobs
from tests.worker.splits import CALIBRATED, KNOWN, LBPL, gold_rows, run_all

pytestmark = pytest.mark.parametrize("kind", ["sqlite"])


def test_what_is_told_of_a_job_shows_no_hidden_label(
    client: TestClient, database: Database, settings: Settings
) -> None:
    found = compared(client, database, settings, {**LBPL, "text": {"min_document_frequency": 1}})
    [row] = found["table"]
    first, second = (f"/v1/jobs/{cell['job']}" for cell in row["cells"])
    # Some documents lose their category, as those of which no word is left: still their labels are not shown.
    taken = [f"{subject}-{number}" for subject in (*KNOWN, "river") for number in range(20)]
    taken = [key for key in taken if key not in seen(3)][::6]
    with database.sessions.begin() as session:
        ids = select(Document.id).where(Document.key.in_(taken))
        job_id = first.rpartition("/")[2]
        session.execute(
            update(Answer).where(Answer.job_id == job_id, Answer.document_id.in_(ids)).values(category=None)
        )
    everything = client.get(f"{first}/documents/export", params={"include": "all", "format": "ndjson"}).text
    rows = [json.loads(line) for line in everything.splitlines()]
    assert {each["key"]: each["label"] for each in rows} == {
        key: label if key in seen(3) else None for key, label in GOLD.items()
    }
    as_labels = client.get(
        f"{first}/documents/export", params={"include": "all", "format": "ndjson", "as": "labels"}
    ).text
    labels = {each["key"]: each.get("label") for each in map(json.loads, as_labels.splitlines())}
    assert [labels[key] for key in taken] == [None] * len(taken)
    categories = client.get(f"{first}/categories").json()["categories"]
    assert {each["name"]: each["labeled"] for each in categories if each["known"]} == {"fruit": 8, "metal": 8}
    for each in categories:
        detail = client.get(f"{first}/categories/{each['category']}").json()
        for shown in (*detail["representative"], *detail["edge"]):
            assert shown["label"] == (GOLD[shown["key"]] if shown["key"] in seen(3) else None)
    gold = "key,label\n" + "".join(f"{key},{label}\n" for key, label in GOLD.items() if label)
    scored = client.post(f"{second}/score", content=gold, headers={"Content-Type": "text/csv"}).json()
    assert scored["documents"]["labeled"] == 16
    assert scored["scores"]["ari"] == pytest.approx(row["cells"][1]["ari"])
    compared_jobs = client.get(f"{second}/comparison", params={"compared_with": first.rpartition("/")[2]}).json()
    assert sum(pair["documents"] for pair in compared_jobs["pairs"] if pair["before"] is None) == len(taken) + 1
    assert client.post(f"{first}/continue", json={}).json()["type"].endswith("job-not-continuable")


def test_hidden_labels_count_nowhere_among_the_labels_of_a_job(
    client: TestClient, database: Database, settings: Settings
) -> None:
    with_fields = [{**row, "fields": {"year": "2020"}} for row in gold_rows()]
    corpus_id = jobs.upload(database, with_fields)
    location = compare(client, corpus_id, CALIBRATED, splits=1).headers["Location"]
    run_all(database, settings)
    job = f"/v1/jobs/{client.get(location).json()['table'][0]['cells'][0]['job']}"
    pairs = client.get(f"{job}/labels/pairs").json()
    assert (pairs["labeled"], pairs["scored"]) == (16, 16)
    assert {row["key"] for row in pages(client, f"{job}/labels", "labels")} == seen(3)
    groups = client.get(f"{job}/groups", params={"by": "year", "labeled": True}).json()["groups"]
    assert [group["documents"] for group in groups] == [len(GOLD)], "each document is counted once"
    hidden = next(key for key, label in GOLD.items() if label == "river")
    [fruit] = [each for each in client.get(f"{job}/categories").json()["categories"] if each["name"] == "fruit"]
    pin = {"kind": "pin", "documents": [hidden], "category": "fruit"}
    assert client.post(f"{job}/decisions", json={"decisions": [pin]}).status_code == 201
    categories = client.get(f"{job}/categories").json()["categories"]
    assert {each["name"]: each["labeled"] for each in categories if each["known"]} == {"fruit": 8, "metal": 8}
    assert [each["documents"] for each in categories if each["name"] == "fruit"] == [fruit["documents"] + 1]
