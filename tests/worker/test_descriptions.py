"""New categories that take the names of descriptions, in whole jobs over real rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sqlalchemy import select, update
from sqlalchemy.orm import Session
from starlette.testclient import TestClient

from app.core.category_names import folded, spelled_out
from app.core.db import Database
from app.core.settings import Settings
from app.core.tables import Category, CategoryDescription, Corpus, Job, Unit
from app.core.vectors import to_bytes
from sampler.answers.words import group_words
from sampler.corpus import NO_CATEGORY, Array
from sampler.vectors import Axes
from tests.worker import jobs
from worker import descriptions
from worker.descriptions import Matched, Seen
from worker.store import Names

WATERS = {"name": "running waters", "text": "Danube, Rhine, Volga or Loire."}
TREES = {"name": "trees", "text": "Oaks and birches in a forest."}


def describe(database: Database, corpus_id: str, *described: Mapping[str, str]) -> None:
    """Another version of the corpus, with these descriptions and no others."""
    with database.sessions.begin() as session:
        corpus = session.get_one(Corpus, corpus_id)
        corpus.version += 1
        current = CategoryDescription.corpus_id == corpus_id, CategoryDescription.until > corpus.version
        session.execute(update(CategoryDescription).where(*current).values(until=corpus.version))
        session.add_all(CategoryDescription(corpus_id=corpus_id, version=corpus.version, **each) for each in described)


def run(database: Database, settings: Settings, corpus_id: str, **fields: Any) -> str:
    """The id of a job that has succeeded."""
    job_id, unit_ids = jobs.submit_calibrated(database, corpus_id, sweeps=20, **fields)
    jobs.run_to_the_end(database, settings, unit_ids)
    assert jobs.job(database, job_id).status == "succeeded"
    return job_id


def categories(client: TestClient, job_id: str) -> Any:
    """What is told of the categories of a job."""
    answer = client.get(f"/v1/jobs/{job_id}/categories")
    assert answer.status_code == 200, answer.text
    return answer.json()


def names(told: Any) -> list[str]:
    """The names of the categories, without words."""
    return [each["name"].partition(":")[0] for each in told["categories"]]


@pytest.fixture
def corpus_id(database: Database) -> str:
    """Fruit and metal are known; nobody labeled the rivers."""
    return jobs.upload(database, jobs.rows())


def test_a_new_category_takes_the_name_of_the_description_that_fits(
    database: Database, settings: Settings, client: TestClient, corpus_id: str
) -> None:
    describe(database, corpus_id, WATERS, TREES, {"name": "Fruit", "text": "Apples and pears."})
    told = categories(client, run(database, settings, corpus_id))
    assert [each["name"] for each in told["categories"]] == ["fruit", "metal", "running waters"]
    assert [each["described"] for each in told["categories"][:2]] == [None, None]
    described = told["categories"][2]["described"]
    assert described["name"] == "running waters"
    assert described["probability"] > 0.8
    assert "running waters" not in [other["name"] for other in described["others"]]
    fits = {each.pop("name"): each for each in told["descriptions"]}
    assert list(fits) == ["Fruit", "running waters", "trees"]
    assert fits["Fruit"] == {"known": True, "category": 0, "probability": 1.0}
    assert fits["running waters"] == {"known": False, "category": 2, "probability": described["probability"]}
    assert fits["trees"]["category"] is None
    assert fits["trees"]["probability"] > 0.9
    with database.readers.begin() as session:
        assert session.scalars(select(Category.is_named).where(Category.name == "running waters")).one()


@pytest.mark.parametrize("kind", ["sqlite"])
def test_where_none_fits_categories_are_called_after_their_words(
    database: Database, settings: Settings, client: TestClient, corpus_id: str
) -> None:
    plain = categories(client, run(database, settings, corpus_id))
    assert plain["descriptions"] is None
    assert plain["categories"][2]["described"] is None
    describe(database, corpus_id, TREES)
    told = categories(client, run(database, settings, corpus_id))
    assert [each["name"] for each in told["categories"]] == [each["name"] for each in plain["categories"]]
    described = told["categories"][2]["described"]
    assert described["name"] is None
    assert described["probability"] > 0.9
    assert told["new_categories"] == plain["new_categories"], "descriptions name categories and change none"


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_job_has_the_descriptions_of_its_version_and_a_later_one_does_not_inherit_their_names(
    database: Database, settings: Settings, client: TestClient, corpus_id: str
) -> None:
    describe(database, corpus_id, WATERS)
    first = run(database, settings, corpus_id)
    describe(database, corpus_id, {**WATERS, "name": "rivers"})
    second = run(database, settings, corpus_id)
    describe(database, corpus_id)
    third = run(database, settings, corpus_id)
    assert names(categories(client, first))[2] == "running waters"
    assert names(categories(client, second))[2] == "rivers"
    assert names(categories(client, third))[2] == "new 1"
    ids = {categories(client, job_id)["categories"][2]["id"] for job_id in (first, second, third)}
    assert len(ids) == 1, "it is the same category"


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_name_that_somebody_gave_stays_though_a_description_fits(
    database: Database, settings: Settings, client: TestClient, corpus_id: str
) -> None:
    first = run(database, settings, corpus_id)
    own = categories(client, first)["categories"][2]["id"]
    decision = {"kind": "name", "category": own, "name": "streams"}
    assert client.post(f"/v1/jobs/{first}/decisions", json={"decisions": [decision]}).status_code == 201
    describe(database, corpus_id, WATERS)
    told = categories(client, run(database, settings, corpus_id))
    assert names(told)[2] == "streams"
    assert told["categories"][2]["described"]["name"] == "running waters"
    describe(database, corpus_id, {**WATERS, "name": "streams"})
    run(database, settings, corpus_id)
    describe(database, corpus_id)
    told = categories(client, run(database, settings, corpus_id))
    assert names(told)[2] == "streams", "it was given by a person, whatever descriptions there were since"


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_description_leads_to_what_decisions_have_made_of_its_category(
    database: Database, settings: Settings, client: TestClient, corpus_id: str
) -> None:
    describe(database, corpus_id, WATERS)
    job_id = run(database, settings, corpus_id)
    fruit, _, waters = (each["id"] for each in categories(client, job_id)["categories"])

    def after(kind: str, **body: Any) -> Any:
        decision = {"kind": kind, **body}
        answer = client.post(f"/v1/jobs/{job_id}/decisions", json={"decisions": [decision]})
        assert answer.status_code == 201, answer.text
        return categories(client, job_id)

    merged = after("merge", categories=[waters, fruit], into=fruit)
    assert [each["described"] for each in merged["categories"]] == [None, None]
    assert [each["category"] for each in merged["descriptions"]] == [0]
    assert after("undo", decision=1)["descriptions"][0]["category"] == 2
    assert after("dissolve", category=waters)["descriptions"][0]["category"] is None


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_category_with_a_described_name_is_renamed_promoted_and_then_known(
    database: Database, settings: Settings, client: TestClient, corpus_id: str
) -> None:
    describe(database, corpus_id, WATERS)
    first = run(database, settings, corpus_id)
    own = categories(client, first)["categories"][2]["id"]
    url = f"/v1/jobs/{first}"
    renamed = {"kind": "name", "category": own, "name": "streams"}
    [made] = client.post(f"{url}/decisions", json={"decisions": [renamed]}).json()["decisions"]
    assert names(categories(client, first))[2] == "streams"
    client.post(f"{url}/decisions", json={"decisions": [{"kind": "undo", "decision": made["number"]}]})
    assert names(categories(client, first))[2] == "running waters"
    promoted = client.post(f"{url}/decisions", json={"decisions": [{"kind": "promote", "category": own}]})
    assert promoted.status_code == 201
    following = client.post(f"{url}/continue", json={}).json()["id"]
    with database.readers.begin() as session:
        unit_ids = ready_units(session, following)
    jobs.run_to_the_end(database, settings, unit_ids)
    told = categories(client, following)
    known = {each["name"]: each for each in told["categories"] if each["known"]}
    assert "running waters" in known
    assert told["descriptions"] == [
        {"name": "running waters", "known": True, "category": known["running waters"]["category"], "probability": 1.0}
    ]


def ready_units(session: Session, job_id: str) -> list[int]:
    """The units of a job that are ready."""
    return list(session.scalars(select(Unit.id).where(Unit.job_id == job_id, Unit.status == "ready")))


PLACES = np.array([[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1], [0.6, 0.8, 0]], np.float32)
SEEN = Seen(PLACES, Axes(np.zeros(4), np.eye(4)[:, :3]), None)
OF_TEXTS = np.array([0, 1, 0, NO_CATEGORY, 1])  # the answer: two new categories
NAMES = Names(["word"], [], {"language": None, "stop_words": [], "stemming": None})
WORDS = group_words(csr_array(np.ones((5, 1), np.int32)), OF_TEXTS, 2)


def job_with_vectors(database: Database, **origin: str) -> Job:
    """A job over five texts with vectors; documents have the one word "word"."""
    with database.sessions.begin() as session:
        session.add(Corpus(id="c", name="c", version=1))
        session.flush()
        settings = {"model": "calibrated", "text": {"extra_stop_words": []}, **origin}
        job = Job(id="j", corpus_id="c", corpus_version=1, settings=settings, status="running")
        session.add(job)
        return job


def match(database: Database, job: Job, seen: Seen | None) -> Matched:
    """The descriptions of the corpus against the two categories."""
    with database.readers.begin() as session:
        asked = descriptions.asked(session, job, NAMES)
    return descriptions.match(asked, job, NAMES, OF_TEXTS, WORDS, seen)


def add_descriptions(database: Database, **vectors: list[float] | None) -> None:
    """Descriptions by name, whose texts have no word of the documents."""
    with database.sessions.begin() as session:
        session.add_all(
            CategoryDescription(corpus_id="c", version=1, name=name, text="", vector=vector and to_bytes(vector))
            for name, vector in vectors.items()
        )


@pytest.mark.parametrize("kind", ["sqlite"])
def test_descriptions_fit_by_the_vectors_that_they_bring(database: Database) -> None:
    job = job_with_vectors(database, vectors="brought")
    add_descriptions(database, second=[0.2, 1.0, 0.0, 0.0], first=[1.0, 0.1, 0.0, 0.0], silent=None)
    found = match(database, job, SEEN)
    assert found.names == {0: "first", 1: "second"}
    assert {each["name"]: each["category"] for each in found.listed or ()} == {"first": 0, "second": 1, "silent": None}


@pytest.mark.parametrize("kind", ["sqlite"])
def test_where_the_service_makes_the_vectors_those_of_descriptions_are_made_as_well(database: Database) -> None:
    job = job_with_vectors(database, vectors="made", embedding_model="m" * 64)
    add_descriptions(database, first=[0.0, 0.0, 1.0, 0.0], second=None)
    asked: list[str] = []

    def embed(texts: Sequence[str]) -> Array:
        asked.extend(texts)
        return np.array([[1.0, 0.1, 0.0, 0.0], [0.2, 1.0, 0.0, 0.0]], np.float16)

    found, words_alone = match(database, job, SEEN._replace(embed=embed)), match(database, job, SEEN)
    assert [text.strip() for text in asked] == ["first", "second"]
    assert found.names == {0: "first", 1: "second"}, "vectors that were brought are of another kind, and do not count"
    assert words_alone.names == {}


@pytest.mark.parametrize("kind", ["sqlite"])
def test_where_no_text_has_a_vector_those_of_descriptions_say_nothing(database: Database) -> None:
    job = job_with_vectors(database, vectors="brought")
    add_descriptions(database, first=[1.0, 0.1, 0.0, 0.0])
    assert match(database, job, None).names == {}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("comp.sys.mac", "comp sys mac"),
        ("acceptReservations", "accept Reservations"),
        ("book_flight", "book flight"),
        ("IBM", "IBM"),
        ("culture-arts", "culture arts"),
        ("Rückgabe", "Rückgabe"),
    ],
)
def test_the_words_of_a_name_are_read_out_of_it(name: str, words: str) -> None:
    assert spelled_out(name) == words


def test_names_that_differ_in_case_and_blanks_are_one() -> None:
    assert folded(" Money  Back") == folded("money back") != folded("moneyback")
