"""The topics of a job over HTTP, from rows put straight into the tables of both databases."""

import pytest
from sqlalchemy import select
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.tables import Category, Topic
from tests.app import rows
from tests.app.legs import extend
from tests.app.rows import end

PROBLEM = "urn:newfound:problem:"
OF_CATEGORIES = ([{"topic": 2, "weight": 0.5}, {"topic": 0, "weight": 0.25}], [{"topic": 0, "weight": 0.75}])
WORDS = [{"word": "plasma", "probability": 0.125}, {"word": "tokamak", "probability": 0.0625}]


def with_topics(database: Database, model: str = "calibrated") -> str:
    """Id of a job whose two categories share three topics; another job has topics of its own."""
    job_id, _ = rows.submit(database, model=model)
    other_id, _ = rows.submit(database, model="calibrated")
    rows.add_results(database, job_id)
    with database.sessions.begin() as session:
        session.add(Topic(job_id=other_id, topic=0, share=1.0, top_words=[]))
        session.add_all(
            Topic(job_id=job_id, topic=topic, share=share, top_words=WORDS[:topic])
            for topic, share in ((2, 0.125), (0, 0.5), (1, 0.25))
        )
        categories = session.scalars(select(Category).where(Category.job_id == job_id).order_by(Category.category))
        for category, topics in zip(categories, OF_CATEGORIES, strict=True):
            category.topics = topics
    return job_id


def test_topics_come_largest_first_with_the_categories_that_they_are_in(client: TestClient, database: Database) -> None:
    job_id = with_topics(database)
    end(database, job_id)
    job = f"/v1/jobs/{job_id}"
    assert client.get(job).json()["links"]["topics"] == f"{job}/topics"
    physics, new = ({"category": 0, "name": "physics"}, {"category": 1, "name": "new-1"})
    assert client.get(f"{job}/topics").json()["topics"] == [
        {
            "topic": 0,
            "share": 0.5,
            "top_words": [],
            "categories": [{**new, "weight": 0.75}, {**physics, "weight": 0.25}],
        },
        {"topic": 1, "share": 0.25, "top_words": WORDS[:1], "categories": []},
        {"topic": 2, "share": 0.125, "top_words": WORDS, "categories": [{**physics, "weight": 0.5}]},
    ]
    categories = client.get(f"{job}/categories").json()["categories"]
    assert [category["topics"] for category in categories] == list(OF_CATEGORIES)


def test_a_job_of_a_model_without_topics_says_that_it_tells_none(client: TestClient, database: Database) -> None:
    job_id, _ = rows.submit(database, model="dpgm")
    rows.add_results(database, job_id)
    end(database, job_id)
    job = f"/v1/jobs/{job_id}"
    refused = client.get(f"{job}/topics")
    assert (refused.status_code, refused.json()["type"]) == (409, f"{PROBLEM}no-topics")
    assert refused.headers["Content-Type"] == "application/problem+json"
    assert "has the model dpgm, which reports no topics" in refused.json()["detail"]
    assert client.get(job).json()["links"]["topics"] is None
    assert {category["topics"] for category in client.get(f"{job}/categories").json()["categories"]} == {None}


@pytest.mark.parametrize("kind", ["sqlite"])
def test_there_are_no_topics_before_a_job_has_succeeded(client: TestClient, database: Database) -> None:
    job_id, _ = rows.submit(database, model="calibrated")
    address = f"/v1/jobs/{job_id}/topics"
    assert client.get(address).json()["type"] == f"{PROBLEM}results-not-ready"
    rows.add_results(database, job_id)
    end(database, job_id)
    assert client.get(address).status_code == 200
    extend(database, job_id)
    assert client.get(address).status_code == 200
    assert client.get(f"/v1/jobs/{rows.CORPUS}/topics").json()["type"] == f"{PROBLEM}job-not-found"


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_job_without_topics_answers_with_none(client: TestClient, database: Database) -> None:
    job_id, _ = rows.submit(database, model="calibrated")
    rows.add_results(database, job_id)
    end(database, job_id)
    assert client.get(f"/v1/jobs/{job_id}/topics").json() == {"topics": []}
