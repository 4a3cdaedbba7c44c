"""What a whole job answers, over real databases, and how its figures are stored."""

import random

import numpy as np
import pytest
from sqlalchemy import delete

from app.core.db import Database
from app.core.settings import Settings
from app.core.tables import Corpus
from tests.worker import jobs
from worker import models, portraits, results


def test_a_job_gives_every_unlabeled_document_a_category_or_the_reason_why_not(
    database: Database, settings: Settings
) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    job_id, unit_ids = jobs.submit(database, corpus_id, sweeps=40)
    jobs.run_to_the_end(database, settings, unit_ids)

    assert jobs.job(database, job_id).status == "succeeded"
    found = jobs.outcome(database, job_id)
    unlabeled = sorted(row["key"] for row in jobs.rows() if row["label"] is None)
    assert [key for key, _ in found["answers"]] == unlabeled
    answers = dict(found["answers"])
    blank = answers.pop("blank")
    assert blank == {
        "category": None,
        "probability": None,
        "known_probability": None,
        "runner_up": None,
        "runner_up_probability": None,
        "reason": results.NO_WORD,
        "stability": None,
        "copy_of": None,
        "others": None,
        "leaf": None,
    }
    names = {category["category"]: category["name"].partition(":")[0] for category in found["categories"]}
    subjects = {key: names[answer["category"]] for key, answer in answers.items()}
    assert {name for key, name in subjects.items() if key.startswith("fruit")} == {"fruit"}
    assert {name for key, name in subjects.items() if key.startswith("metal")} == {"metal"}
    assert {name for key, name in subjects.items() if key.startswith("river")} == {"new 1"}
    by_name = {category["name"].partition(":")[0]: category for category in found["categories"]}
    assert [by_name[name]["n_documents"] for name in ("fruit", "metal", "new 1")] == [10, 10, 20]
    assert [by_name[name]["n_labeled"] for name in ("fruit", "metal", "new 1")] == [10, 10, 0]
    top_words = {word["word"] for word in by_name["new 1"]["top_words"]}
    assert len(top_words) == portraits.TOP_WORDS and top_words <= set(jobs.SUBJECTS["river"].split())


def test_the_order_of_uploads_does_not_change_an_answer(database: Database, settings: Settings) -> None:
    outcomes = []
    for seed in (None, 7):
        documents = jobs.rows()
        if seed is not None:
            random.Random(seed).shuffle(documents)
        corpus_id = jobs.upload(database, documents)
        job_id, unit_ids = jobs.submit(database, corpus_id)
        jobs.run_to_the_end(database, settings, unit_ids)
        outcomes.append(jobs.outcome(database, job_id))
        with database.sessions.begin() as session:
            session.execute(delete(Corpus))
    assert outcomes[0] == outcomes[1]


def test_the_figures_of_chains_are_their_agreement_and_what_their_draws_are_worth() -> None:
    noise = np.random.default_rng(1).normal(size=(2, 400))
    traces = {"noise": noise, "apart": np.array([[1.0] * 400, [2.0] * 400]), "short": noise[:, :3]}
    told = models.figures(np.array([[1.0, 0.25], [0.25, 1.0]]), traces)
    assert told["mean_agreement"] == 0.25
    assert told["r_hat"]["noise"] == pytest.approx(1.0, abs=0.02)  # four standard errors of 800 draws
    assert told["effective_size"]["noise"] == pytest.approx(800, rel=0.25)
    assert (told["r_hat"]["apart"], told["effective_size"]["apart"]) == (float("inf"), 0.0)
    assert (told["r_hat"]["short"], told["effective_size"]["short"]) == (None, None)
    assert models.figures(np.eye(1), {})["mean_agreement"] is None


def test_numbers_that_json_does_not_know_are_stored_as_null() -> None:
    given = {"r_hat": float("inf"), "agreement": [[1.0, float("nan")], (0.5, 2)], "verdict": "sound"}
    assert results.finite(given) == {"r_hat": None, "agreement": [[1.0, None], [0.5, 2]], "verdict": "sound"}
