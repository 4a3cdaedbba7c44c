"""The numbers of one answer do not contradict each other: whole jobs of both models, over HTTP on both databases."""

import random
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.settings import Settings
from sampler.answers import verdict
from tests.app.http.test_api import pages
from tests.worker import jobs

SUBMIT = {"calibrated": jobs.submit_calibrated, "lbpl-ntm": jobs.submit}
ROUNDING = 1e-6

both_models = pytest.mark.parametrize("model", list(SUBMIT))


def doubtful_rows() -> list[dict[str, Any]]:
    """Documents of two known subjects and a new one, and some with words of two subjects, which may be of either."""
    dice = random.Random(2)
    made = jobs.rows()
    for number in range(12):
        one, other = dice.sample(sorted(jobs.SUBJECTS), 2)
        words = dice.choices(jobs.SUBJECTS[one].split(), k=8) + dice.choices(jobs.SUBJECTS[other].split(), k=8)
        made.append({"key": f"between-{number}", "text": " ".join(words), "label": None})
    return made


def run(database: Database, settings: Settings, model: str, rows: list[dict[str, Any]], **fields: Any) -> str:
    """Address of a succeeded job."""
    job_id, unit_ids = SUBMIT[model](database, jobs.upload(database, rows), **fields)
    jobs.run_to_the_end(database, settings, unit_ids)
    assert jobs.job(database, job_id).status == "succeeded"
    return f"/v1/jobs/{job_id}"


@both_models
def test_the_number_of_new_categories_is_that_of_the_list_and_within_its_interval(
    client: TestClient, database: Database, settings: Settings, model: str
) -> None:
    job = run(database, settings, model, doubtful_rows(), sweeps=30)
    answer = client.get(f"{job}/categories").json()
    number, (low, high) = answer["new_categories"]["number"], answer["new_categories"]["interval_90"]
    assert number == sum(not category["known"] for category in answer["categories"]) > 0
    assert low <= number <= high
    assert answer["summary"].startswith(f"2 known categories and {number} new one")
    verdict = answer["diagnostics"] and answer["diagnostics"]["verdict"]
    if verdict in (None, "sound"):
        assert answer["summary"].count(". ") == 0
    else:
        assert answer["summary"].endswith(f": {answer['diagnostics']['reasons'][0]}")


@both_models
def test_no_runner_up_is_more_probable_than_the_answer_and_parts_give_the_probability(
    client: TestClient, database: Database, settings: Settings, model: str
) -> None:
    job = run(database, settings, model, doubtful_rows(), sweeps=30)
    documents = pages(client, f"{job}/documents", "documents", limit=100)
    answered = [document for document in documents if document["category"] is not None]
    assert {document["known"] for document in answered} == {True, False}
    assert any(document["runner_up"] for document in answered)
    for document in answered:
        probability, known = document["probability"], document["known_probability"]
        assert 0.0 <= known <= 1.0
        assert document["runner_up"] is None or document["runner_up"]["probability"] <= probability
        of_side = known if document["known"] else 1.0 - known
        assert probability <= of_side + ROUNDING
        assert document["category_probability"] * of_side == pytest.approx(probability, abs=ROUNDING)
    parts = ("probability", "known_probability", "category_probability")
    assert {document[part] for document in documents if document["category"] is None for part in parts} == {None}


@both_models
def test_without_a_label_there_is_at_least_one_new_category(
    client: TestClient, database: Database, settings: Settings, model: str
) -> None:
    rows = [{**row, "label": None} for row in jobs.rows()]
    job = run(database, settings, model, rows, sweeps=6)
    answer = client.get(f"{job}/categories").json()
    assert 1 <= answer["new_categories"]["interval_90"][0] <= answer["new_categories"]["number"]
    assert answer["summary"].startswith("No known categories and ")
    if model == "calibrated":
        assert (answer["calibration"]["labeling_rate"], answer["calibration"]["labeling_rates"]) == (None, {})
    for document in pages(client, f"{job}/documents", "documents", limit=100):
        assert document["known_probability"] == (None if document["key"] == "blank" else 0.0)
        assert document["category_probability"] == document["probability"]


def test_each_known_category_has_its_labeling_rate_by_name(
    client: TestClient, database: Database, settings: Settings
) -> None:
    rows = jobs.rows(n_documents=60)
    for row in rows:  # of the fruit one in four is labeled, of the metals three in four
        subject, _, number = row["key"].partition("-")
        if subject in ("fruit", "metal"):
            row["label"] = subject if (int(number) % 4 == 0) == (subject == "fruit") else None
    calibration = client.get(f"{run(database, settings, 'calibrated', rows)}/categories").json()["calibration"]
    rates = calibration["labeling_rates"]
    assert list(rates) == ["fruit", "metal"]
    assert 0.0 < rates["fruit"] < 0.5 < rates["metal"] < 1.0, "each is shrunk to the common rate, and does not reach it"


def test_reasons_call_categories_by_the_names_that_the_answer_has(
    client: TestClient, database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verdict, "STABLE", 1.1)  # no category is as stable as that
    rows = [{**row, "label": "new 1" if row["label"] == "metal" else row["label"]} for row in jobs.rows()]
    job = run(database, settings, "calibrated", rows)
    answer = client.get(f"{job}/categories").json()
    names = [category["name"] for category in answer["categories"]]
    numbers = [name.partition(":")[0] for name in names]
    assert numbers[:3] == ["fruit", "new 1", "new 2"], "a new category takes no name that a label has"
    [reason] = [reason for reason in answer["diagnostics"]["reasons"] if "stability below" in reason]
    assert reason.endswith(f": {', '.join(names)}.")
