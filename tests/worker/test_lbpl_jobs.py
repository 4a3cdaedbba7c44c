"""Jobs of LBPL-NTM from the first unit to the results: their diagnostics, topics, kinds of answers and starts."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.settings import Settings
from sampler.hyperparameters import DEFAULT_ANSWER
from tests.worker import jobs
from worker import topics


@pytest.fixture
def kind() -> str:
    """That both databases serve results is proved by the tests over HTTP."""
    return "sqlite"


def concluded(database: Database, settings: Settings, client: TestClient, **fields: Any) -> tuple[str, dict[str, Any]]:
    """A job that has run to its end; its id and its categories."""
    corpus_id = jobs.upload(database, jobs.rows())
    job_id, unit_ids = jobs.submit(database, corpus_id, sweeps=40, **fields)
    jobs.run_to_the_end(database, settings, unit_ids)
    assert (jobs.job(database, job_id).status, jobs.job(database, job_id).error) == ("succeeded", None)
    return job_id, client.get(f"/v1/jobs/{job_id}/categories").json()


def subjects(database: Database, job_id: str) -> dict[str, set[str]]:
    """The names of the categories that the documents of each subject have."""
    found = jobs.outcome(database, job_id)
    names = {category["category"]: category["name"].partition(":")[0] for category in found["categories"]}
    answers = [(key.partition("-")[0], names[row["category"]]) for key, row in found["answers"] if key != "blank"]
    return {subject: {name for of, name in answers if of == subject} for subject in jobs.SUBJECTS}


RIGHT = {"fruit": {"fruit"}, "metal": {"metal"}, "river": {"new 1"}}


def test_the_best_chain_answers_and_all_chains_say_how_far_it_can_be_trusted(
    database: Database, settings: Settings, client: TestClient
) -> None:
    job_id, told = concluded(database, settings, client)
    assert jobs.job(database, job_id).settings["answer"] == DEFAULT_ANSWER
    assert subjects(database, job_id) == RIGHT
    diagnostics, best = told["diagnostics"], told["best_chain"]
    assert best in (0, 1)
    draws = [draw for draw in jobs.outcome(database, job_id)["draws"] if draw["sweep"] > 20]
    means = [sum(draw["log_joint"] for draw in draws if draw["chain"] == chain) for chain in (0, 1)]
    assert means[best] == max(means)
    assert diagnostics["agreement"] == [[1.0, 1.0], [1.0, 1.0]]
    assert diagnostics["mean_agreement"] == 1.0
    assert list(diagnostics["r_hat"]) == list(diagnostics["effective_size"]) == ["n_categories", "log_joint"]
    assert diagnostics["verdict"] in ("sound", "mixed", "unreliable") and diagnostics["reasons"]
    assert [category["stability"] for category in told["categories"]] == [1.0, 1.0, 1.0]
    assert told["calibration"] is None


def test_the_topics_of_the_answering_chain_are_served(
    database: Database, settings: Settings, client: TestClient
) -> None:
    job_id, told = concluded(database, settings, client)
    link = client.get(f"/v1/jobs/{job_id}").json()["links"]["topics"]
    served = client.get(link).json()["topics"]
    assert sum(topic["share"] for topic in served) == pytest.approx(1.0, abs=6 * topics.LEAST_SHARE)
    vocabulary = {name: set(jobs.SUBJECTS[subject].split()) for subject, [name] in RIGHT.items()}
    for topic in served:
        of = {category["name"].partition(":")[0]: category["weight"] for category in topic["categories"]}
        heaviest = max(of, key=lambda name: of[name])
        # A topic of one subject alone, as subjects share no word and six topics are more than there are subjects.
        probable = {word["word"] for word in topic["top_words"] if word["probability"] > 0.01}
        assert probable and any(probable <= vocabulary[name] for name in of), heaviest
    for category in told["categories"]:
        assert sum(part["weight"] for part in category["topics"]) == pytest.approx(1.0, abs=6 * topics.LEAST_WEIGHT)


def test_the_last_sweep_answers_without_probabilities(
    database: Database, settings: Settings, client: TestClient
) -> None:
    job_id, told = concluded(database, settings, client, answer="last")
    assert subjects(database, job_id) == RIGHT
    answers = dict(jobs.outcome(database, job_id)["answers"])
    assert {answer["probability"] for answer in answers.values()} == {None}
    assert {answer["runner_up"] for answer in answers.values()} == {None}
    assert told["best_chain"] in (0, 1) and len(told["diagnostics"]["agreement"]) == 2
    assert told["categories"][0]["size_interval_90"] is None


def test_pooled_chains_answer_together(database: Database, settings: Settings, client: TestClient) -> None:
    job_id, told = concluded(database, settings, client, answer="pooled", kernel="collapsed")
    assert subjects(database, job_id) == RIGHT
    assert told["best_chain"] is None
    assert len(told["diagnostics"]["agreement"]) == 2
    assert all(category["topics"] for category in told["categories"])
    assert client.get(f"/v1/jobs/{job_id}/topics").json()["topics"]


@pytest.mark.parametrize("kernel", ["blocked", "collapsed"])
def test_a_job_may_start_at_random_and_keep_its_concentrations(
    database: Database, settings: Settings, client: TestClient, kernel: str
) -> None:
    given = {**jobs.FEW_TOPICS, "start": "random", "alpha": 0.2, "gamma": 0.5}
    job_id, _ = concluded(database, settings, client, kernel=kernel, hyperparameters=given, chains=1)
    found = jobs.outcome(database, job_id)
    assert {(draw["alpha"], draw["gamma"]) for draw in found["draws"]} == {(0.2, 0.5)}
    assert len(found["categories"]) >= 3
    shown = client.get(f"/v1/jobs/{job_id}").json()["settings"]["hyperparameters"]
    assert {name: shown[name] for name in given} == given
