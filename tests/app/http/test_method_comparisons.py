"""Comparisons of methods: their table against scores from other libraries, and what they refuse."""

import csv
import io
import math
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, f1_score, normalized_mutual_info_score
from sqlalchemy import func, select, update
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.method_comparisons import status_of
from app.core.settings import Settings
from app.core.tables import Comparison, Document, Encoding, Job, Unit
from app.http.main import create_app
from app.http.method_comparisons import plan
from app.schemas.method_comparisons import MethodComparisonIn
from tests.app.http.compared_methods import GOLD, compare, compared, seen
from tests.app.http.test_api import pages
from tests.app.rows import CORPUS, add_corpus
from tests.waits import wait_for
from tests.worker import jobs
from tests.worker.splits import CALIBRATED, KNOWN, LBPL, gold_rows

on_sqlite = pytest.mark.parametrize("kind", ["sqlite"])


@pytest.fixture
def corpus_id(database: Database) -> str:
    return jobs.upload(database, gold_rows())


def scores_by_hand(client: TestClient, job_id: str, seed: int) -> dict[str, float]:
    """The scores of a job on the documents whose label its split hides, by scikit-learn."""
    answers = {row["key"]: row for row in pages(client, f"/v1/jobs/{job_id}/documents", "documents")}
    assert answers.keys() == GOLD.keys() - seen(seed)
    scored = [key for key in answers if key != "blank"]
    gold, found = [GOLD[key] for key in scored], [answers[key]["name"] for key in scored]
    f1 = f1_score(gold, found, labels=KNOWN, average="macro")
    return {
        "nmi": normalized_mutual_info_score(gold, found),
        "ari": adjusted_rand_score(gold, found),
        "mean_f1": f1,
        "categories": len(set(found)),
        "documents": len(scored),
        "without_answer": 0,
    }


@on_sqlite
def test_the_table_has_the_scores_of_each_split_their_means_and_standard_errors(
    client: TestClient, database: Database, settings: Settings
) -> None:
    found = compared(client, database, settings, {**LBPL, "seed": 5}, CALIBRATED)
    assert (found["status"], found["jobs"], found["categories"]) == ("succeeded", {"succeeded": 4}, 3)
    assert [(row["method"], row["model"]) for row in found["table"]] == [(name,) * 2 for name in found["methods"]]
    for row in found["table"]:
        by_hand = [scores_by_hand(client, cell["job"], 3 + cell["split"]) for cell in row["cells"]]
        assert [cell["split"] for cell in row["cells"]] == [0, 1]
        for name in by_hand[0]:
            assert [cell[name] for cell in row["cells"]] == pytest.approx([each[name] for each in by_hand]), name
        for name in ("nmi", "ari", "mean_f1", "categories"):
            values = [each[name] for each in by_hand]
            assert row[name]["mean"] == pytest.approx(np.mean(values))
            assert row[name]["standard_error"] == pytest.approx(np.std(values, ddof=1) / math.sqrt(2))
            assert row[name]["n"] == 2
        for cell in row["cells"]:
            with database.readers.begin() as session:
                worked = select(func.sum(Unit.seconds)).where(Unit.job_id == cell["job"], Unit.kind != "encode")
                assert cell["seconds"] == pytest.approx(session.scalar(worked)) and cell["seconds"] > 0
    settings_of = [client.get(f"/v1/jobs/{cell['job']}").json()["settings"] for cell in found["table"][0]["cells"]]
    assert [each["seed"] for each in settings_of] == [5, 6]
    assert [each["split"] for each in settings_of] == [
        {"seed": seed, "known": KNOWN, "labeled_share": 0.4} for seed in (3, 4)
    ]


@on_sqlite
def test_the_table_is_read_as_csv_and_as_markdown(client: TestClient, database: Database, settings: Settings) -> None:
    found = compared(client, database, settings, {**LBPL, "name": "a | b"}, splits=2)
    [row] = found["table"]
    answer = client.get(found["links"]["table"])
    assert answer.headers["Content-Type"].startswith("text/csv")
    [read] = csv.DictReader(io.StringIO(answer.text))
    assert (read["method"], read["model"]) == ("a | b", "lbpl-ntm")
    for score in ("nmi", "ari", "mean_f1", "categories", "seconds"):
        told = [row[score]["mean"], row[score]["standard_error"], row[score]["n"]]
        assert [float(read[score + part]) for part in ("", "_se", "_n")] == pytest.approx(told)
    markdown = client.get(found["links"]["table"], params={"format": "markdown"})
    assert markdown.headers["Content-Type"].startswith("text/markdown")
    assert markdown.text.splitlines()[2].startswith(
        f"| a \\| b | {row['nmi']['mean']:.3f} ± {row['nmi']['standard_error']:.3f} |"
    )


@on_sqlite
def test_a_deleted_comparison_goes_with_its_jobs_and_what_was_encoded_for_it(
    client: TestClient, database: Database, settings: Settings
) -> None:
    found = compared(client, database, settings, LBPL, {**LBPL, "seed": 9})
    job_ids = [cell["job"] for row in found["table"] for cell in row["cells"]]
    assert client.delete(f"/v1/jobs/{job_ids[0]}").status_code == 204
    left = client.get(found["links"]["self"]).json()
    assert left["table"][0]["cells"][0]["job"] is None and left["table"][0]["nmi"]["n"] == 1
    assert left["table"][0]["nmi"]["standard_error"] is None and left["jobs"] == {"succeeded": 3}
    assert client.delete(found["links"]["self"]).status_code == 204
    assert client.get(found["links"]["self"]).status_code == 404
    assert client.get("/v1/jobs").json()["jobs"] == []

    def rows_left() -> int:
        with database.readers.begin() as session:
            tables = (Job, Encoding, Comparison)
            return sum(session.scalar(select(func.count()).select_from(table)) or 0 for table in tables)

    wait_for(lambda: rows_left() == 0, "the rows of the comparison are removed")


def test_a_comparison_is_followed_and_cancelled_by_its_jobs(
    client: TestClient, database: Database, corpus_id: str
) -> None:
    answer = compare(client, corpus_id, LBPL, {**LBPL, "seed": 1}, name="two seeds")
    made = answer.json()
    assert (made["status"], made["jobs"], made["methods"]) == ("queued", {"queued": 4}, ["lbpl-ntm", "lbpl-ntm 2"])
    assert answer.headers["Location"] == made["links"]["self"] and answer.headers["Retry-After"]
    assert all(row["nmi"] == {"mean": None, "standard_error": None, "n": 0} for row in made["table"])
    listed = client.get("/v1/jobs", params={"name": "two seeds: lbpl-ntm 2, split 1"}).json()["jobs"]
    assert [job["id"] for job in listed] == [made["table"][1]["cells"][1]["job"]]
    assert listed[0]["comparison_id"] == made["id"]
    assert client.delete(made["links"]["self"]).json()["type"].endswith("comparison-not-finished")
    client.post(f"/v1/jobs/{listed[0]['id']}/cancel")
    assert client.get(made["links"]["self"]).json()["status"] == "running"
    cancelled = client.post(f"{made['links']['self']}/cancel").json()
    assert (cancelled["status"], cancelled["jobs"]) == ("cancelled", {"cancelled": 4})
    assert client.post(f"{made['links']['self']}/cancel").json()["type"].endswith("comparison-finished")
    second = compare(client, corpus_id, LBPL).json()
    pages_of = pages(client, "/v1/comparisons", "comparisons", limit=1)
    assert [(each["id"], each["status"]) for each in pages_of] == [
        (second["id"], "queued"),
        (made["id"], "cancelled"),
    ]


def test_a_repeated_request_is_the_same_comparison(client: TestClient, corpus_id: str) -> None:
    body = {"corpus_id": corpus_id, "methods": [LBPL], "splits": 1}
    first, again = (client.post("/v1/comparisons", json=body, headers={"Idempotency-Key": "k"}) for _ in range(2))
    assert first.json() == again.json() and again.headers["Idempotent-Replayed"] == "true"
    client.post(f"{first.json()['links']['self']}/cancel")
    client.delete(first.json()["links"]["self"])
    gone = client.post("/v1/comparisons", json=body, headers={"Idempotency-Key": "k"})
    assert gone.status_code == 410


def test_by_default_the_largest_half_of_the_categories_is_known(client: TestClient, database: Database) -> None:
    sizes = {"a": 3, "b": 5, "c": 4, "d": 4, "e": 2}
    rows = [{"key": f"{name}{n}", "text": f"word {name}", "label": name} for name in sizes for n in range(sizes[name])]
    made = compare(client, jobs.upload(database, rows), {**LBPL, "text": {"min_document_frequency": 1}}, known=None)
    assert (made.json()["known"], made.json()["categories"]) == (["b", "c"], 5)


def test_a_method_can_be_told_the_true_number_of_categories(
    database: Database, corpus_id: str, settings: Settings
) -> None:
    methods = [{"model": "sskm", "n_categories": "true"}, {"model": "sskm", "n_categories": [5, 2]}]
    body = MethodComparisonIn.model_validate({"corpus_id": corpus_id, "methods": methods, "known": KNOWN})
    with database.readers.begin() as session:
        planned = plan(session, body, 1, settings)
    assert [(name, chosen["n_categories"]) for name, chosen in planned.methods] == [("sskm", 3), ("sskm 2", [2, 5])]
    assert planned.settings(planned.methods[0][1], 4)["split"] == {"seed": 4, "known": KNOWN, "labeled_share": 0.4}


@pytest.mark.parametrize(
    "body, status, kind, reason",
    [
        ({"known": ["fruit", "cheese"]}, 409, "labels-not-splittable", "'cheese'"),
        ({"methods": [{"model": "sskm", "n_categories": 1}]}, 409, "labels-not-splittable", "1 categories, but 2"),
        (
            {"methods": [{"model": "calibrated", "source_field": "origin"}]},
            409,
            "no-source-field",
            "has a field 'origin'",
        ),
        ({"methods": [{**LBPL, "text": {"min_document_frequency": 90}}]}, 409, "nothing-to-categorize", "keeps a word"),
        ({"methods": [{"model": "sskm"}]}, 422, "malformed-request", "give n_categories"),
        ({"methods": [{**LBPL, "name": "x"}, {**CALIBRATED, "name": "x"}]}, 422, "malformed-request", "called 'x'"),
        ({"methods": [{**LBPL, "split": {"seed": 1}}]}, 422, "malformed-request", "split"),
        ({"labeled_share": 1.0}, 422, "malformed-request", "labeled_share"),
        ({"splits": 51}, 422, "malformed-request", "splits"),
        ({"corpus_id": "00000000-0000-0000-0000-00000000000f"}, 404, "corpus-not-found", "corpus"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_the_reason(
    client: TestClient, corpus_id: str, body: dict[str, Any], status: int, kind: str, reason: str
) -> None:
    answer = compare(
        client, body.get("corpus_id", corpus_id), LBPL, **{k: v for k, v in body.items() if k != "corpus_id"}
    )
    assert (answer.status_code, answer.json()["type"].rpartition(":")[2]) == (status, kind)
    assert reason in answer.text
    assert client.get("/v1/comparisons").json()["comparisons"] == client.get("/v1/jobs").json()["jobs"] == []


def test_a_corpus_without_labels_or_with_one_category_is_refused(client: TestClient, database: Database) -> None:
    with database.sessions.begin() as session:
        add_corpus(session)
    assert compare(client, CORPUS, LBPL, known=None).json()["type"].endswith("no-labels")
    with database.sessions.begin() as session:
        session.execute(update(Document).values(label="one"))
    assert compare(client, CORPUS, LBPL, known=None).json()["type"].endswith("labels-not-splittable")


@on_sqlite
@pytest.mark.parametrize("limit", ["max_live_jobs", "max_live_units"])
def test_a_comparison_that_would_be_too_many_jobs_queues_none(
    database: Database, settings: Settings, corpus_id: str, limit: str
) -> None:
    with TestClient(create_app(settings.model_copy(update={limit: 3}))) as client:
        answer = compare(client, corpus_id, LBPL, LBPL)
        assert answer.status_code == 429 and f"NEWFOUND_{limit.upper()} allows 3" in answer.json()["detail"]
        assert client.get("/v1/jobs").json()["jobs"] == client.get("/v1/comparisons").json()["comparisons"] == []


@on_sqlite
def test_a_method_whose_jobs_would_be_too_large_is_refused_by_its_name(
    database: Database, settings: Settings, corpus_id: str
) -> None:
    with TestClient(create_app(settings.model_copy(update={"max_job_seconds": 30.0}))) as client:
        answer = compare(client, corpus_id, LBPL, {**LBPL, "name": "long", "sweeps": 100_000})
        assert (answer.status_code, answer.json()["type"].rpartition(":")[2]) == (409, "job-too-large")
        assert answer.json()["detail"].startswith("a job of the method 'long' would take")
        assert client.get("/v1/jobs").json()["jobs"] == []


@pytest.mark.parametrize(
    "counts, status",
    [
        ({"queued": 3}, "queued"),
        ({"queued": 2, "succeeded": 1}, "running"),
        ({"running": 1, "failed": 1}, "running"),
        ({"paused": 1, "failed": 1}, "paused"),
        ({"failed": 1, "cancelled": 1, "succeeded": 5}, "failed"),
        ({"cancelled": 1, "succeeded": 5}, "cancelled"),
        ({"succeeded": 5, "queued": 0}, "succeeded"),
        ({}, "cancelled"),
    ],
)
def test_the_status_of_a_comparison_is_what_its_jobs_say(counts: dict[str, int], status: str) -> None:
    assert status_of(counts) == status
