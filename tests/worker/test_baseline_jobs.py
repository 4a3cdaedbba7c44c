"""Jobs of the paper's peers: queued, worked on, killed and read like any other."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from app.broker import queue
from app.core.db import Database
from app.core.settings import Settings
from app.core.tables import NumberAnswer
from app.forecasts.sizes import Sizes
from tests.worker import jobs
from tests.worker.jobs import run_to_the_end, with_changes
from worker.baselines import METHODS

pytestmark = pytest.mark.parametrize("kind", ["sqlite"])

FEW: dict[str, dict[str, Any]] = {
    "dlda": {"dlda": {"n_topics": 6}, "sweeps": 100},
    "sl": {"sl": {"n_components": 5, "n_restarts": 2}, "sweeps": 60},
    "cosc": {"sweeps": 30},
    "sskm": {"sweeps": 20},
    "cluto": {"chains": 3},
    "dpgm": {"dpgm": {"n_components": 4, "n_groups": 5}, "chains": 2, "sweeps": 20},
}
N_CATEGORIES = 3  # fruit and metal are known, river is not


@pytest.fixture(autouse=True)
def woken(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The units for which workers were called."""
    found: list[int] = []
    monkeypatch.setattr(queue, "wake", lambda _, unit_ids: found.extend(unit_ids))
    return found


def submitted(client: TestClient, database: Database, model: str, status: int = 202, **given: Any) -> dict[str, Any]:
    """The answer to a request for a job over a small corpus, which is made if need be."""
    corpus_id = "00000000-0000-0000-0000-000000000001"
    if client.get(f"/v1/corpora/{corpus_id}").status_code == 404:
        jobs.upload(database, jobs.rows())
    told = {} if model == "dpgm" else {"n_categories": N_CATEGORIES}
    answer = client.post("/v1/jobs", json={"corpus_id": corpus_id, "model": model, **told, **FEW[model], **given})
    assert answer.status_code == status, answer.text
    return dict(answer.json())


def read(client: TestClient, job_id: str, what: str) -> Any:
    answer = client.get(f"/v1/jobs/{job_id}/{what}")
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize("model", METHODS)
def test_a_job_of_each_method_answers_all_documents(
    client: TestClient, database: Database, settings: Settings, woken: list[int], model: str
) -> None:
    job = submitted(client, database, model)
    run_to_the_end(database, settings, woken)
    found = client.get(f"/v1/jobs/{job['id']}").json()
    assert found["status"] == "succeeded", found["error"]
    categories, documents = read(client, job["id"], "categories"), read(client, job["id"], "documents?limit=1000")
    answers = {each["key"]: each for each in documents["documents"]}
    assert len(answers) == sum(row["label"] is None for row in jobs.rows())
    assert [key for key, each in answers.items() if each["category"] is None] == ["blank"]
    del answers["blank"]
    rivers = [each["name"] for key, each in answers.items() if key.startswith("river")]
    assert sum(name.startswith("new ") for name in rivers) >= 0.9 * len(rivers), rivers
    if model not in ("cluto", "dpgm"):  # which see no labels
        known = {key: each["name"] for key, each in answers.items() if not key.startswith("river")}
        assert sum(name == key.partition("-")[0] for key, name in known.items()) >= 0.9 * len(known)
    if model != "dlda":  # the last state is all that there is
        assert {each["probability"] for each in answers.values()} == {None}
        assert {each["size_interval_90"] for each in categories["categories"]} == {None}
        number = categories["new_categories"]["number"]
        assert categories["new_categories"]["interval_90"] == [number, number]
    assert categories["numbers"] is None and categories["best_chain"] in range(job["settings"]["chains"])
    trace = read(client, job["id"], "trace?limit=10000")["draws"]
    assert len(trace) == found["settings"]["sweeps"] * found["settings"]["chains"]


@pytest.mark.parametrize("model", METHODS)
def test_the_same_bytes_in_one_leg_or_in_many(
    client: TestClient, database: Database, settings: Settings, woken: list[int], model: str
) -> None:
    digests = []
    for seconds in (60.0, 0.0):
        woken.clear()
        job = submitted(client, database, model)
        run_to_the_end(database, with_changes(settings, leg_seconds=seconds, save_seconds=min(seconds, 2.0)), woken)
        told = client.get(f"/v1/jobs/{job['id']}").json()
        assert told["status"] == "succeeded", told["error"]
        digests.append([chain["digest"] for chain in told["progress"]["chains"]])
    assert digests[0] == digests[1] and None not in digests[0]


def test_of_several_numbers_the_best_told_apart_answers_and_all_are_kept(
    client: TestClient, database: Database, settings: Settings, woken: list[int]
) -> None:
    job = submitted(client, database, "sskm", n_categories=[5, 3, 2, 3], chains=2)
    assert job["settings"]["n_categories"] == [2, 3, 5] and len(job["progress"]["chains"]) == 6
    run_to_the_end(database, settings, woken)
    categories = read(client, job["id"], "categories")
    numbers = categories["numbers"]
    assert [each["n_categories"] for each in numbers] == [2, 3, 5]
    assert [each["chosen"] for each in numbers] == [False, True, False]
    assert categories["best_chain"] in (2, 3) and categories["new_categories"]["number"] == 1
    with database.readers.begin() as session:
        assert session.query(NumberAnswer).filter_by(job_id=job["id"]).count() == 3
    gold = "key,label\n" + "".join(f"{row['key']},{row['key'].partition('-')[0]}\n" for row in jobs.rows())
    scores = client.post(f"/v1/jobs/{job['id']}/score", content=gold, headers={"Content-Type": "text/csv"}).json()
    by_number = {each["n_categories"]: each for each in scores["numbers"]}
    assert set(by_number) == {2, 3, 5}
    assert by_number[3]["nmi"] == pytest.approx(scores["scores"]["nmi"])
    assert by_number[3]["mean_f1"] == pytest.approx(scores["scores"]["mean_f1"])
    assert by_number[3]["nmi"] > max(by_number[2]["nmi"], by_number[5]["nmi"])


def test_cluto_reports_what_makes_each_category_what_it_is(
    client: TestClient, database: Database, settings: Settings, woken: list[int]
) -> None:
    job = submitted(client, database, "cluto")
    run_to_the_end(database, settings, woken)
    [*_, last] = [each for each in read(client, job["id"], "categories")["categories"] if not each["known"]]
    told = read(client, job["id"], f"categories/{last['category']}")["similarity"]
    assert told["internal"] > told["external"] >= 0.0
    assert {each["word"] for each in told["descriptive"]} & {word["word"] for word in last["top_words"]}


def test_fewer_categories_than_known_ones_are_refused(client: TestClient, database: Database) -> None:
    refused = submitted(client, database, "sskm", status=409, n_categories=[1, 4])
    assert "n_categories = 1 is below 2" in refused["detail"]
    assert submitted(client, database, "cluto", n_categories=1)["settings"]["n_categories"] == 1


def test_a_job_that_begins_anew_is_not_continued(
    client: TestClient, database: Database, settings: Settings, woken: list[int]
) -> None:
    job = submitted(client, database, "cluto")
    run_to_the_end(database, settings, woken)
    refused = client.post(f"/v1/jobs/{job['id']}/continue", json={})
    assert refused.status_code == 409 and "begins anew" in refused.json()["detail"]


def test_what_compares_every_two_documents_is_refused_where_it_cannot_fit(
    client: TestClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = Sizes(n_documents=200_000, n_tokens=200_000, n_words=100, n_known=2)
    monkeypatch.setattr("app.http.routers.jobs.expected_sizes", lambda *_: sizes)
    refused = submitted(client, database, "cosc", status=409)
    assert refused["type"].endswith("job-too-large") and "every two documents" in refused["detail"]
    assert submitted(client, database, "cluto")
