"""What whole jobs say of their categories, and the tree over the new ones, read back over HTTP."""

import re
from typing import Any

import pytest
from sqlalchemy import select
from starlette.testclient import TestClient

from app.core import lifecycle
from app.core.db import Database
from app.core.settings import Settings
from app.core.tables import Answer, Document, TreeNode
from tests.worker import jobs
from worker.store import Names


def run(database: Database, settings: Settings, **fields: Any) -> str:
    """The id of a calibrated job that has succeeded."""
    corpus_id = jobs.upload(database, jobs.rows())
    job_id, unit_ids = jobs.submit_calibrated(database, corpus_id, **fields)
    jobs.run_to_the_end(database, settings, unit_ids)
    return job_id


def leaves(database: Database, job_id: str) -> dict[str, int]:
    """The leaf of each document of a new category, by key."""
    with database.readers.begin() as session:
        query = select(Document.key, Answer.leaf).join(Answer, Answer.document_id == Document.id)
        return dict(session.execute(query.where(Answer.job_id == job_id, Answer.leaf.is_not(None))).all())


def test_a_job_describes_its_categories(client: TestClient, database: Database, settings: Settings) -> None:
    job_id = run(database, settings, sweeps=20)
    categories = client.get(f"/v1/jobs/{job_id}/categories").json()["categories"]
    assert [category["known"] for category in categories] == [True, True, False]
    assert re.fullmatch(r"new 1: \w+, \w+, \w+", categories[2]["name"])
    assert len({category["id"] for category in categories}) == 3
    for category, (subject, words) in zip(categories, jobs.SUBJECTS.items(), strict=True):
        assert re.fullmatch("c-[0-9a-z]{6}", category["id"])
        low, high = category["size_interval_90"]
        assert low <= category["documents"] <= high
        listed = category["words"]["by_probability"] + category["words"]["by_lift"] + category["nearest"]["words"]
        assert {word["word"] for word in listed} <= set(words.split())
        assert all(
            word["lift"] == pytest.approx(61 * 16 / (20.0 * 16), rel=0.1) for word in category["words"]["by_lift"]
        )
        assert 0.7 < category["nearest"]["distance"] <= 1.0, "no word in common, but for what is smoothed"
        found = client.get(f"/v1/jobs/{job_id}/categories/{category['id']}").json()
        keys = [document["key"] for document in found["representative"]]
        assert len(keys) == 5 and all(key.startswith(subject) for key in keys)
        assert all(document["label"] is None for document in found["edge"])


@pytest.mark.parametrize("kind", ["sqlite"])
def test_categories_stand_on_a_map_as_far_from_each_other_as_their_words_are_unlike(
    client: TestClient, database: Database, settings: Settings
) -> None:
    """Three categories are a triangle, so that a plane shows all distances, those to the nearest ones among them."""
    job_id = run(database, settings, sweeps=20)
    answer = client.get(f"/v1/jobs/{job_id}/categories").json()
    places = [complex(category["place"]["x"], category["place"]["y"]) for category in answer["categories"]]
    assert len(places) == 3 and answer["map_fit"] == pytest.approx(1.0, abs=1e-5)
    for place, category in zip(places, answer["categories"], strict=True):
        nearest = category["nearest"]
        assert abs(place - places[nearest["category"]]) == pytest.approx(nearest["distance"], abs=1e-4)
        found = client.get(f"/v1/jobs/{job_id}/categories/{category['id']}").json()
        assert found["place"] == category["place"]
    cut = client.get(f"/v1/jobs/{job_id}/categories", params={"categories": 2}).json()
    assert [each["place"] for each in cut["categories"]] == [
        *(each["place"] for each in answer["categories"][:2]), None, None
    ], "parts of a category were not on the map"  # fmt: skip
    assert cut["map_fit"] == answer["map_fit"]


@pytest.mark.parametrize("kind", ["sqlite"])
@pytest.mark.parametrize("model", ["calibrated", "lbpl-ntm"])
def test_each_document_of_a_new_category_copies_too_is_in_a_leaf_of_it(
    client: TestClient, database: Database, settings: Settings, model: str
) -> None:
    copied = {row["key"]: row["text"] for row in jobs.rows() if row["key"] in ("fruit-1", "river-1")}
    copies = [{"key": f"{key}-{n}", "text": text, "label": None} for key, text in copied.items() for n in range(8)]
    corpus_id = jobs.upload(database, jobs.rows() + copies)
    submit = jobs.submit_calibrated if model == "calibrated" else jobs.submit
    job_id, unit_ids = submit(database, corpus_id, sweeps=40 if model == "lbpl-ntm" else 20)
    jobs.run_to_the_end(database, settings, unit_ids)
    documents = client.get(f"/v1/jobs/{job_id}/documents").json()["documents"]
    tree = client.get(f"/v1/jobs/{job_id}/tree").json()
    for category in client.get(f"/v1/jobs/{job_id}/categories").json()["categories"]:
        low, high = category["size_interval_90"]
        assert low <= category["documents"] <= high, "copies of labeled documents count as well"
    leaf_of = leaves(database, job_id)
    assert leaf_of.keys() == {document["key"] for document in documents if document["known"] is False}
    for document in documents:
        if document["known"] is False:
            assert tree["nodes"][leaf_of[document["key"]]]["category"] == document["category"]
    assert [node["documents"] for node in tree["nodes"][: tree["leaves"]]] == [
        list(leaf_of.values()).count(leaf) for leaf in range(tree["leaves"])
    ]
    for n in range(1, tree["leaves"] + 1):
        answer = client.get(f"/v1/jobs/{job_id}/categories", params={"categories": n}).json()
        assert sum(not category["known"] for category in answer["categories"]) == n
        assert sum(category["documents"] for category in answer["categories"] if not category["known"]) == len(leaf_of)


@pytest.mark.parametrize("kind", ["sqlite"])
def test_an_extension_keeps_the_ids_of_categories_and_replaces_the_tree(
    client: TestClient, database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = run(database, settings, sweeps=6, chains=2)
    before = client.get(f"/v1/jobs/{job_id}/categories").json()["categories"]
    with database.sessions.begin() as session:
        _, unit_ids = lifecycle.extend(session, job_id, 2)
    monkeypatch.setattr("sampler.answers.portraits.N_DOCUMENTS", 3)  # others stand for the categories now
    jobs.run_to_the_end(database, settings, unit_ids)
    after = client.get(f"/v1/jobs/{job_id}/categories").json()["categories"]
    assert [category["id"] for category in after] == [category["id"] for category in before]
    assert len(client.get(f"/v1/jobs/{job_id}/categories/2").json()["representative"]) == 3
    with database.readers.begin() as session:
        editions = set(session.scalars(select(TreeNode.edition).where(TreeNode.job_id == job_id)))
    assert editions == {2}


@pytest.mark.parametrize("kind", ["sqlite"])
def test_what_is_told_of_categories_does_not_depend_on_the_order_of_uploads(
    database: Database, settings: Settings
) -> None:
    outcomes = []
    for step in (1, -1):
        corpus_id = jobs.upload(database, jobs.rows()[::step])
        job_id, unit_ids = jobs.submit_calibrated(database, corpus_id, sweeps=6, chains=2)
        jobs.run_to_the_end(database, settings, unit_ids)
        found = jobs.outcome(database, job_id)["categories"]
        outcomes.append((found, leaves(database, job_id)))
        with database.sessions.begin() as session:
            session.delete(session.get_one(jobs.Corpus, corpus_id))
    assert outcomes[0] == outcomes[1]
    assert all(category["short_id"] and category["portrait"] for category in outcomes[0][0])


def test_stop_words_that_short_texts_keep_are_in_no_name_if_there_are_others() -> None:
    names = Names(["a", "flight", "from", "der", "to"], ["hotel"], {"language": None})
    words = [(4, 9), (1, 8), (2, 7), (3, 6)]
    of_words = [[], words, [(4, 9), (2, 7)]]
    assert names.of_categories(of_words, {}) == ["hotel", "new 1: flight, der, to", "new 2: to, from"]
    assert names.telling_first(words) == [(1, 8), (3, 6), (4, 9), (2, 7)]
    german = names._replace(facts={"language": "de"})
    assert german.telling_first(words) == [(4, 9), (1, 8), (2, 7), (3, 6)]
