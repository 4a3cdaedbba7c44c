"""Topics of a job's categories: learned when it concludes, and served."""

from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from app.core import lifecycle
from app.core.db import Database
from app.core.settings import Settings
from app.core.tables import Job, Topic
from sampler.answers.consensus import Consensus
from sampler.answers.others import no_others
from sampler.corpus import UNLABELED, Corpus
from sampler.lbpl_ntm.topics_of_categories import Topics
from sampler.numerics.threads import Threads
from tests.worker import jobs
from worker import topics

NAMES = {"fruit": "fruit", "metal": "metal", "new 1": "river"}  # subject of each category
VOCABULARY = [f"word-{w}" for w in range(12)]


@pytest.fixture
def kind() -> str:
    """That both databases serve topics is proved by the tests over HTTP."""
    return "sqlite"


def test_the_topics_of_a_job_are_those_of_its_categories_known_and_new(
    database: Database, settings: Settings, client: TestClient
) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    job_id, unit_ids = jobs.submit_calibrated(database, corpus_id, sweeps=20)
    jobs.run_to_the_end(database, settings, unit_ids)
    told = client.get(f"/v1/jobs/{job_id}/topics").json()["topics"]
    assert [topic["topic"] for topic in told] == list(range(len(told)))
    assert 3 <= len(told) <= jobs.FEW_ATOMS["n_topics"]
    shares = [topic["share"] for topic in told]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1.0, abs=6 * topics.LEAST_SHARE)
    for topic in told:
        heaviest = topic["categories"][0]
        subject = NAMES[heaviest["name"].partition(":")[0]]
        probable = [word["word"] for word in topic["top_words"] if word["probability"] > 0.01]
        assert probable and set(probable) <= set(jobs.SUBJECTS[subject].split())

    answer = client.get(f"/v1/jobs/{job_id}/categories").json()["categories"]
    for category in answer:
        weights = [part["weight"] for part in category["topics"]]
        assert weights == sorted(weights, reverse=True) and min(weights) > topics.LEAST_WEIGHT
        # Each subject has words of its own: all but the prior's 6 of 240 tokens and more lies on its own topics.
        own = [t["topic"] for t in told if t["categories"][0]["name"] == category["name"]]
        assert sum(part["weight"] for part in category["topics"] if part["topic"] in own) > 0.9
        for part in category["topics"]:
            of_topic = {c["name"]: c["weight"] for c in told[part["topic"]]["categories"]}
            assert of_topic[category["name"]] == part["weight"]


def test_an_extended_job_has_the_topics_of_its_last_conclusion_alone(database: Database, settings: Settings) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    job_id, unit_ids = jobs.submit_calibrated(database, corpus_id, sweeps=4, chains=1)
    jobs.run_to_the_end(database, settings, unit_ids)
    with database.sessions.begin() as session:
        session.add(Topic(job_id=job_id, topic=99, share=0.5, top_words=[]))
        _, unit_ids = lifecycle.extend(session, job_id, 1)
    jobs.run_to_the_end(database, settings, unit_ids)
    assert [row["topic"] for row in jobs.outcome(database, job_id)["topics"]] == list(range(6))


@pytest.mark.parametrize("label", ["fruit", None])
def test_a_job_with_one_category_or_no_label_at_all_succeeds(
    database: Database, settings: Settings, client: TestClient, label: str | None
) -> None:
    documents: list[dict[str, Any]] = [
        {**row, "label": row["label"] and label} for row in jobs.rows() if row["key"].startswith("fruit")
    ]
    corpus_id = jobs.upload(database, documents)
    job_id, unit_ids = jobs.submit_calibrated(database, corpus_id, sweeps=4, chains=1)
    jobs.run_to_the_end(database, settings, unit_ids)
    assert (jobs.job(database, job_id).status, jobs.job(database, job_id).error) == ("succeeded", None)
    told = client.get(f"/v1/jobs/{job_id}/topics").json()["topics"]
    categories = client.get(f"/v1/jobs/{job_id}/categories").json()["categories"]
    assert (len(told) > 0) == (len(categories) > 1)
    assert all(category["topics"] == [] for category in categories if not told)


def corpus_of(n_documents: int, n_tokens: int) -> Corpus:
    """Documents of which the first one has all tokens, of one word."""
    offsets = np.array([0] + [n_tokens] * n_documents, np.int64)
    labels = np.full(n_documents, UNLABELED, np.int32)
    return Corpus(np.zeros(n_tokens, np.int32), offsets, labels, n_words=12, n_known=0)


@pytest.mark.parametrize(("n_categories", "n_tokens"), [(0, 0), (1, 0), (2, 0), (1, 7)])
def test_nothing_is_learned_without_a_word_or_a_second_category(n_categories: int, n_tokens: int) -> None:
    category = np.full(3, -1, np.int32)
    category[0] = 0 if n_tokens else -1
    nothing = np.full(3, np.nan)
    consensus = Consensus(n_categories, category, nothing, np.full(3, -1, np.int32), nothing, nothing, *no_others(3))
    learned = topics.learn(corpus_of(3, n_tokens), consensus, 4, 0, Threads())
    assert list(topics.topic_rows(Job(id="job"), VOCABULARY, learned)) == []
    assert topics.of_categories(learned) == [[]] * n_categories


def some_topics() -> Topics:
    """Three categories of fourteen topics, the first of which is too small to be told, and the last the largest."""
    share = np.append(0.0009, np.linspace(0.01, 0.2, 13))
    theta = np.zeros((3, 14))
    theta[0, :2] = 0.75, 0.25
    theta[1, 1:] = 1 / 13
    theta[2, 11:] = 0.02, 0.0201, 0.9599
    phi = np.full((12, 14), 1e-3)
    phi[np.arange(12), np.arange(12)] = 1 - 0.011
    return Topics(theta, phi, share)


def test_topics_are_numbered_by_falling_share_without_the_small_ones() -> None:
    given = some_topics()
    [rows] = topics.topic_rows(Job(id="job"), VOCABULARY, given)
    assert [row["topic"] for row in rows] == list(range(13))
    assert [row["share"] for row in rows] == given.share[:0:-1].tolist()
    assert all(len(row["top_words"]) == 10 for row in rows)
    assert rows[12]["top_words"][0] == {"word": "word-1", "probability": 1 - 0.011}, "of the second smallest topic"


def test_a_category_has_at_most_ten_topics_that_weigh_enough_heaviest_first() -> None:
    few, many, heavy = topics.of_categories(some_topics())
    assert few == [{"topic": 12, "weight": 0.25}], "the topic with three quarters of it is too small to be told"
    assert [part["topic"] for part in many] == list(range(10))
    assert heavy == [{"topic": 0, "weight": 0.9599}, {"topic": 1, "weight": 0.0201}]


def test_a_model_that_learns_no_topics_has_no_rows_of_them() -> None:
    assert list(topics.topic_rows(Job(id="job"), VOCABULARY, None)) == []
