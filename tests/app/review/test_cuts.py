"""Portraits, the tree over new categories and its cuts over HTTP, from rows put straight into the tables."""

import csv
import io
from typing import Any

import pytest
from sqlalchemy import update
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.tables import Category
from app.review.cuts import joined_name
from tests.app.http.answered_jobs import Given, add_job
from tests.app.review.conftest import PARENTS, PORTRAIT, SIZES, TOGETHER


def names(answer: Any) -> list[str]:
    return [category["name"] for category in answer["categories"]]


def test_categories_come_with_ids_words_and_the_nearest_one(client: TestClient, job: str) -> None:
    answer = client.get(f"{job}/categories").json()
    first, second = answer["categories"][2:]
    assert (first["id"], first["size_interval_90"]) == ("c-aaaaaa", [4, 7])
    assert first["words"] == {name: PORTRAIT[name] for name in ("by_probability", "by_lift")}
    assert first["nearest"] == {**PORTRAIT["nearest"], "name": "new 2: enzyme"}  # type: ignore[dict-item]
    assert [second[name] for name in ("size_interval_90", "words", "nearest")] == [None] * 3, "from before"
    assert answer["cut"] is None and first["origin"] is None


def test_a_category_is_read_by_index_or_id_with_its_documents(client: TestClient, job: str) -> None:
    found = client.get(f"{job}/categories/2").json()
    assert found == client.get(f"{job}/categories/c-aaaaaa").json()
    erased, long = found["representative"]
    assert (erased["key"], erased["text"], erased["erased"], erased["shortened"]) == ("p2", "", True, False)
    assert (long["key"], long["text"], long["shortened"], long["probability"]) == ("p1", "x" * 500, True, 0.7)
    [edge] = found["edge"]
    assert edge["runner_up"] == {"category": 3, "name": "new 2: enzyme", "probability": 0.2}
    before = client.get(f"{job}/categories/3").json()
    assert (before["representative"], before["edge"]) == (None, None)


@pytest.mark.parametrize("named", ["4", "-1", "02", "c-cccccc", "new 2", "export "])
def test_a_category_that_is_not_there_is_not_found(client: TestClient, job: str, named: str) -> None:
    refused = client.get(f"{job}/categories/{named}")
    assert (refused.status_code, refused.json()["type"]) == (404, "urn:newfound:problem:category-not-found")


def test_the_export_of_categories_is_not_taken_for_a_category(client: TestClient, job: str) -> None:
    assert client.get(f"{job}/categories/export").text.startswith("category,id,name,")


def test_the_tree_has_leaves_first_and_the_root_last(client: TestClient, job: str) -> None:
    tree = client.get(f"{job}/tree").json()
    assert (tree["leaves"], tree["categories"]) == (3, 2)
    assert [node["parent"] for node in tree["nodes"]] == list(PARENTS)
    assert [node["together"] for node in tree["nodes"]] == list(TOGETHER)
    assert [node["documents"] for node in tree["nodes"]] == list(SIZES)


def test_a_finer_cut_numbers_the_parts_of_a_category(client: TestClient, job: str) -> None:
    answer = client.get(f"{job}/categories", params={"categories": 3}).json()
    assert names(answer) == ["astronomy", "optics", "new 1.1: plasma", "new 1.2: laser", "new 2: enzyme"]
    assert [category["category"] for category in answer["categories"]] == list(range(5))
    assert [category["origin"] for category in answer["categories"]] == [[0], [1], [2], [2], [3]]
    assert [category["documents"] for category in answer["categories"][2:]] == [3, 2, 2]
    assert [category["id"] for category in answer["categories"][2:]] == [None, None, "c-bbbbbb"]
    assert answer["new_categories"]["number"] == 2, "the answer itself is what it was"


def test_a_coarser_cut_joins_categories(client: TestClient, job: str) -> None:
    answer = client.get(f"{job}/categories", params={"categories": 1}).json()
    assert names(answer) == ["astronomy", "optics", "new 1 and 2: science"]
    assert (answer["categories"][2]["origin"], answer["categories"][2]["documents"]) == ([2, 3], 7)


def test_the_nearest_category_is_named_if_the_cut_has_it(client: TestClient, job: str) -> None:
    found = []
    for n in (1, 2, 3):
        category = client.get(f"{job}/categories", params={"categories": n}).json()["categories"][0]
        found.append(category["nearest"] and (category["nearest"]["category"], category["nearest"]["name"]))
    assert found == [None, (3, "new 2: enzyme"), (4, "new 2: enzyme")]


def test_the_cut_into_as_many_is_the_answer(client: TestClient, job: str) -> None:
    own, cut = (client.get(f"{job}/categories", params=asked).json() for asked in ({}, {"categories": 2}))
    for category in cut["categories"]:
        assert category.pop("origin") == [category["category"]]
        assert {**category, "origin": None} == own["categories"][category["category"]]
    assert cut["cut"]["loss"] == cut["cut"]["answer"]


def test_losses_are_counted_over_pairs(client: TestClient, job: str) -> None:
    """Pairs that draws join: 2.7, 1 and 0.8 within the leaves, 0.5 of 6 between those of new 1, 0.1 of 10 above."""
    lost = {n: client.get(f"{job}/categories", params={"categories": n}).json()["cut"] for n in (1, 2, 3)}
    assert lost[2]["loss"] == {
        "categories": 2,
        "joined_pairs": 11,
        "joined_apart": pytest.approx((11 - 2.7 - 1.0 - 3.0 - 0.8) / 11),
        "parted_pairs": 10,
        "parted_together": pytest.approx(0.1),
    }
    assert lost[3]["loss"]["joined_apart"] == pytest.approx((5 - 2.7 - 1.0 - 0.8) / 5)
    assert lost[3]["loss"]["parted_together"] == pytest.approx((3.0 + 1.0) / 16)
    assert (lost[1]["loss"]["joined_pairs"], lost[1]["loss"]["parted_pairs"]) == (21, 0)
    assert lost[1]["loss"]["parted_together"] is None
    assert [(cut["answer"]["categories"], cut["least"], cut["most"]) for cut in lost.values()] == [(2, 1, 3)] * 3


@pytest.mark.parametrize("part", ["categories", "documents", "documents/export"])
def test_more_categories_than_the_tree_has_leaves_are_refused_with_the_range(
    client: TestClient, job: str, part: str
) -> None:
    refused = client.get(f"{job}/{part}", params={"categories": 4})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["where"] == "query.categories"
    assert "between 1 and 3" in refused.json()["detail"]
    assert client.get(f"{job}/{part}", params={"categories": 0}).status_code == 422


def test_results_without_a_tree_refuse_a_cut(client: TestClient, database: Database) -> None:
    made = add_job(database, [Given("a", category=2, probability=0.9)])
    refused = client.get(f"{made.job}/categories", params={"categories": 1})
    assert refused.status_code == 422 and "before there was a tree" in refused.json()["detail"]
    assert client.get(f"{made.job}/tree").json() == {"leaves": 0, "categories": 0, "nodes": []}


def test_documents_are_of_their_category_in_the_cut(client: TestClient, job: str) -> None:
    finer = client.get(f"{job}/documents", params={"categories": 3}).json()["documents"]
    found = {document["key"]: (document["category"], document["name"]) for document in finer}
    assert found["p0"] == found["p2"] == (2, "new 1.1: plasma")
    assert found["p3"] == found["p4"] == (3, "new 1.2: laser")
    assert found["e0"] == (4, "new 2: enzyme")
    assert (found["star"], found["blank"]) == ((0, "astronomy"), (None, None))
    second = {document["key"]: document["runner_up"] for document in finer}
    assert second["p0"] == {"category": 4, "name": "new 2: enzyme", "probability": 0.2}
    assert second["e0"] is None, "new 1 is in two parts"
    coarser = client.get(f"{job}/documents", params={"categories": 1}).json()["documents"]
    assert {document["name"] for document in coarser if document["known"] is False} == {"new 1 and 2: science"}
    assert all(document["runner_up"] is None for document in coarser), "the second choice is joined with the first"


@pytest.mark.parametrize(
    ("asked", "keys"),
    [
        ({"categories": 3, "category": 2}, ["p0", "p1", "p2"]),
        ({"categories": 3, "category": 4}, ["e0", "e1"]),
        ({"categories": 3, "category": 5}, []),
        ({"categories": 3, "category": 0}, ["star"]),
        ({"categories": 3, "category": "none"}, ["blank"]),
        ({"categories": 3, "name": "new 1.2: laser"}, ["p3", "p4"]),
        ({"categories": 3, "name": "new 1: plasma, laser"}, []),
        ({"categories": 1, "category": 2}, ["p0", "p1", "p2", "p3", "p4", "e0", "e1"]),
        ({"name": "new 1: plasma, laser"}, ["p0", "p1", "p2", "p3", "p4"]),
    ],
)
def test_documents_are_filtered_by_the_categories_of_the_cut(
    client: TestClient, job: str, asked: dict[str, Any], keys: list[str]
) -> None:
    found = client.get(f"{job}/documents", params=asked).json()["documents"]
    assert [document["key"] for document in found] == keys
    if "name" not in asked:
        exported = client.get(f"{job}/documents/export", params=asked).text
        assert [row["key"] for row in csv.DictReader(io.StringIO(exported))] == keys


def test_categories_are_exported_as_they_are_read(client: TestClient, job: str) -> None:
    for asked in ({}, {"categories": 3}, {"categories": 1}):
        told = client.get(f"{job}/categories", params=asked).json()["categories"]
        file = client.get(f"{job}/categories/export", params=asked).text
        rows = list(csv.DictReader(io.StringIO(file)))
        assert [row["name"] for row in rows] == [category["name"] for category in told]
        for row, category in zip(rows, told, strict=True):
            assert row["id"] == (category["id"] or "")
            assert row["nearest"] == (category["nearest"] or {"name": ""})["name"]
            low, high = category["size_interval_90"] or ("", "")
            assert (row["documents_low"], row["documents_high"]) == (str(low), str(high))


def test_exports_name_the_categories_of_the_cut(client: TestClient, job: str) -> None:
    for kind in ("answers", "labels"):
        column = {"answers": "category", "labels": "label"}[kind]
        file = client.get(f"{job}/documents/export", params={"categories": 3, "as": kind}).text
        named = {row["key"].strip('"'): row[column].strip('"') for row in csv.DictReader(io.StringIO(file))}
        assert (named["p0"], named["p3"], named["e1"]) == ("new 1.1: plasma", "new 1.2: laser", "new 2: enzyme")
        assert (named["star"], named["blank"]) == ("astronomy", "")


@pytest.mark.parametrize(
    ("n_parts", "name"), [(2, "new 1 and 2"), (4, "new 1, 2, 3 and 4"), (6, "new 1, 2, 3 and 3 more")]
)
def test_what_joins_many_categories_names_the_first(n_parts: int, name: str) -> None:
    assert joined_name([Category(name=f"new {n}: word") for n in range(1, n_parts + 1)]) == name


def test_a_cut_calls_categories_by_the_names_that_somebody_gave_them(
    client: TestClient, database: Database, job: str
) -> None:
    with database.sessions.begin() as session:
        given = {"name": "beams: all", "is_named": True}
        session.execute(update(Category).where(Category.short_id == "c-aaaaaa").values(**given))
    names = {
        n: [each["name"] for each in client.get(f"{job}/categories", params={"categories": n}).json()["categories"][2:]]
        for n in (1, 2, 3)
    }
    assert names[1] == ["beams: all and new 2: science"]
    assert names[2] == ["beams: all", "new 2: enzyme"]
    assert sorted(names[3]) == ["beams: all.1: plasma", "beams: all.2: laser", "new 2: enzyme"]
    joined = [Category(name="new 1: word"), Category(name="rivers", is_named=True), Category(name="new 3: word")]
    assert joined_name(joined) == "rivers, new 1 and 3"
