"""What became of the categories of one job in another over the same corpus."""

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import update
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.tables import Category, Document, Job
from app.http.comparisons import GROWN, Cell, Table, match
from tests.app import rows
from tests.app.http.compared_jobs import Answers, add_corpus, add_job, document, numbers


def compared(client: TestClient, now: Job, before: Job) -> Any:
    """The comparison of two jobs."""
    answer = client.get(f"/v1/jobs/{now.id}/comparison", params={"compared_with": before.id})
    assert answer.status_code == 200, answer.text
    return answer.json()


def told(found: Any) -> list[tuple[Any, ...]]:
    """Changes in short: the kind, names before, names now, and the four numbers."""
    return [
        (
            *(each["change"], [ref["name"] for ref in each["before"]], [ref["name"] for ref in each["now"]]),
            *(each["documents_before"], each["documents_now"], each["shared"], each["arrived"]),
        )
        for each in found["changes"]
    ]


def test_each_change_of_a_week_is_told_with_its_counts(client: TestClient, database: Database) -> None:
    add_corpus(database, {**dict.fromkeys(range(1, 11), "optics"), **dict.fromkeys(range(11, 101))})
    before = add_job(
        database,
        ["optics", "new 1", "new 2", "new 3", "new 4", "new 5"],
        numbers(0, range(11, 21))
        | numbers(1, range(21, 41))
        | numbers(2, range(41, 61))
        | numbers(3, range(61, 66))
        | numbers(4, range(66, 71))
        | numbers(5, range(71, 77))
        | numbers(None, range(77, 101)),
    )
    with database.sessions.begin() as session:
        session.execute(update(Document).where(Document.id.between(71, 76)).values(until=2))  # deleted
        session.add_all(document(number, version=2) for number in range(101, 121))
    now = add_job(
        database,
        ["optics", "new 1", "new 2", "new 3", "new 4", "new 5"],
        numbers(0, range(11, 21))
        | numbers(1, range(21, 38), range(101, 111))
        | numbers(2, range(41, 50))
        | numbers(3, range(50, 59))
        | numbers(4, range(61, 71), range(38, 41), range(59, 61))
        | numbers(5, range(111, 121)),
        corpus_version=2,
    )
    found = compared(client, now, before)
    assert told(found) == [
        ("kept", ["optics"], ["optics"], 20, 20, 20, 0),
        ("grown", ["new 1"], ["new 1"], 20, 27, 17, 10),
        ("split", ["new 2"], ["new 2", "new 3"], 20, 18, 18, 0),
        ("merged", ["new 3", "new 4"], ["new 4"], 10, 15, 10, 0),
        ("new", [], ["new 5"], 0, 10, 0, 10),
        ("gone", ["new 5"], [], 6, 0, 0, 0),
    ], "by hand: of new 1, 17 of 20 stay (Jaccard .85) and 27 is more than 1.25 times 20"
    assert found["counts"] == dict.fromkeys(("kept", "grown", "split", "merged", "new", "gone"), 1)
    assert (found["documents_before"], found["documents_now"], found["shared"]) == (100, 114, 94)
    pair = {"before": 1, "now": 4, "documents": 3, "share_before": 3 / 20, "share_now": 3 / 15}
    assert pair in found["pairs"]
    assert sum(each["documents"] for each in found["pairs"]) == 94


def test_a_category_that_was_promoted_is_kept(client: TestClient, database: Database) -> None:
    add_corpus(database, {**dict.fromkeys(range(1, 5), "optics"), **dict.fromkeys(range(5, 31))})
    before = add_job(database, ["optics", "new 1"], numbers(1, range(5, 21)) | numbers(0, range(21, 31)))
    now = add_job(
        database,
        ["Optics!", "Rivers"],
        numbers(1, range(9, 21)) | numbers(0, range(22, 31)),
        clamped={**dict.fromkeys(range(5, 9), "Rivers"), 4: "Rivers", 21: None},
        continues=before.id,
        continued={"names": {"optics": "Optics!"}},
    )
    found = compared(client, now, before)
    assert told(found) == [
        ("kept", ["new 1"], ["Rivers"], 16, 17, 16, 0),
        ("kept", ["optics"], ["Optics!"], 14, 12, 12, 0),
    ]
    assert found["changes"][0]["now"][0]["known"] and not found["changes"][0]["before"][0]["known"]


def test_a_job_is_all_kept_in_itself(client: TestClient, database: Database) -> None:
    add_corpus(database, {1: "optics", 2: None, 3: None})
    job = add_job(database, ["optics", "new 1"], {2: 1, 3: None})
    assert told(compared(client, job, job)) == [
        ("kept", ["optics"], ["optics"], 1, 1, 1, 0),
        ("kept", ["new 1"], ["new 1"], 1, 1, 1, 0),
    ]


def test_counts_equal_a_recount_of_the_documents_by_key(client: TestClient, database: Database) -> None:
    dice = random.Random(4)
    labels = ["optics", "metals", None, None, None]
    add_corpus(database, {number: dice.choice(labels) for number in range(1, 61)})
    with database.sessions.begin() as session:
        for number in range(1, 61, 4):  # corrected, some deleted later, some deleted at once
            session.execute(update(Document).where(Document.id == number).values(until=2))
            if number % 3:
                until = {"until": 3} if number % 5 == 0 else {}
                session.add(document(number + 100, dice.choice(labels), version=2, key=f"key {number}", **until))
        session.add_all(document(number, dice.choice(labels), version=dice.choice([2, 3])) for number in range(61, 81))
    index = {"metals": 0, "Metals!": 0, "optics": 1}
    partitions, made = [], []
    for version, name in ((1, "metals"), (2, "metals"), (3, "metals"), (3, "Metals!")):  # the last one continues
        clamped: dict[int, str | None] = {}
        given: dict[str, Any] = {}
        with database.readers.begin() as session:
            there = session.query(Document).where(Document.version <= version, Document.until > version).all()
        if name == "Metals!":
            given = {"continues": made[1].id, "continued": {"names": {"metals": name}}}
            clamped = {each.id: dice.choice(["optics", name, None]) for each in there if each.id % 3 == 0}
        label = {each.id: clamped.get(each.id, each.label) for each in there}
        free = [each for each in label if label[each] is None and each not in clamped]
        answers: Answers = {each: dice.choice([0, 1, 2, None]) for each in free}
        partitions.append({each.key: answers.get(each.id, index.get(label[each.id] or "")) for each in there})
        made.append(add_job(database, [name, "optics", "new 1"], answers, clamped, corpus_version=version, **given))
    for first, before in zip(partitions, made, strict=True):
        for second, now in zip(partitions, made, strict=True):
            found = compared(client, now, before)
            both = Counter((first[key], second[key]) for key in first.keys() & second.keys())
            assert {(each["before"], each["now"]): each["documents"] for each in found["pairs"]} == both
            assert (found["documents_before"], found["documents_now"]) == (len(first), len(second))
            arrived = Counter(second[key] for key in second.keys() - first.keys())
            for each in found["changes"]:
                indices = [ref["category"] for ref in each["now"]]
                assert each["arrived"] == sum(arrived[index] for index in indices)
                assert each["documents_now"] == sum(list(second.values()).count(index) for index in indices)


def test_what_cannot_be_compared_is_refused(client: TestClient, database: Database) -> None:
    add_corpus(database, {1: None})
    other = "11111111-2222-4333-8444-666666666666"
    add_corpus(database, {2: None}, corpus_id=other)
    job = add_job(database, ["new 1"], {1: 0})
    elsewhere = add_job(database, ["new 1"], {2: 0}, corpus_id=other)
    waiting, _ = rows.submit(database)
    path = f"/v1/jobs/{job.id}/comparison"
    for named, status, kind in (
        (elsewhere.id, 409, "jobs-not-comparable"),
        (waiting, 409, "results-not-ready"),
        ("00000000-0000-4000-8000-000000000000", 404, "job-not-found"),
        ("nobody", 404, "job-not-found"),
    ):
        answer = client.get(path, params={"compared_with": named})
        assert (answer.status_code, answer.json()["type"]) == (status, f"urn:newfound:problem:{kind}")
    assert client.get(path).status_code == 422
    assert client.get(f"/v1/jobs/{waiting}/comparison", params={"compared_with": job.id}).status_code == 409


def cells(*found: tuple[int | None, int | None, int]) -> Table:
    """A table of documents that both jobs have."""
    return Table(Cell(*each) for each in found)


def matched(table: Table, before: int, now: int) -> list[tuple[str, list[int], list[int]]]:
    """What became of categories, numbered from 0."""
    return [(each.change, each.before, each.now) for each in match(table, range(before), range(now))]


def test_what_comes_off_a_category_that_stays_is_told_with_it() -> None:
    assert matched(cells((0, 0, 70), (0, 1, 30)), 1, 2) == [("kept", [0], [0]), ("split", [0], [0, 1])]
    assert matched(cells((0, 0, 70), (1, 0, 30)), 2, 1) == [("grown", [0], [0]), ("merged", [0, 1], [0])]


def test_a_category_that_is_spread_over_others_is_gone_and_one_gathered_from_others_is_new() -> None:
    spread = cells((0, 0, 90), (1, 1, 90), (2, 2, 90), (3, 0, 4), (3, 1, 4), (3, 2, 4))
    assert ("gone", [3], []) in matched(spread, 4, 3)
    gathered = cells((0, 0, 90), (1, 1, 90), (2, 2, 90), (0, 3, 4), (1, 3, 4), (2, 3, 4))
    assert ("new", [], [3]) in matched(gathered, 3, 4)


def test_documents_that_arrived_make_a_category_grow_but_not_another_one() -> None:
    table = Table([Cell(0, 0, 80), Cell(None, 0, 20, was_there=False)])
    assert table.now[0] == GROWN * table.before[0]
    assert [each.change for each in match(table, [0], [0])] == ["grown"]
    one_less = Table([Cell(0, 0, 80), Cell(None, 0, 19, was_there=False)])
    assert [each.change for each in match(one_less, [0], [0])] == ["kept"]


index = st.none() | st.integers(0, 4)
found_cells = st.lists(st.builds(Cell, index, index, st.integers(1, 9), st.booleans(), st.booleans()), max_size=30)


@given(found_cells)
def test_every_category_is_in_a_change_and_is_kept_gone_or_new_only_once(made: list[Cell]) -> None:
    table = Table(made)
    found = match(table, range(5), range(5))
    assert {a for each in found for a in each.before} == set(range(5))
    assert {b for each in found for b in each.now} == set(range(5))
    kept = [(a, b) for each in found if each.change in ("kept", "grown") for a in each.before for b in each.now]
    assert all(table.jaccard(a, b) >= 0.5 for a, b in kept)
    for side in (0, 1):
        ends = [pair[side] for pair in kept]
        once = ends + [c for each in found if each.change in ("new", "gone") for c in (each.before, each.now)[side]]
        assert len(set(once)) == len(once)
    taken_before, taken_now = ({pair[side] for pair in kept} for side in (0, 1))
    for a, b, _ in table.shares():
        assert a in taken_before or b in taken_now or table.jaccard(a, b) < 0.5


@pytest.mark.parametrize("kind", ["sqlite"])
def test_the_answer_has_what_its_documentation_says(client: TestClient, database: Database) -> None:
    add_corpus(database, {1: None})
    job = add_job(database, ["new 1"], {1: 0})
    with database.readers.begin() as session:
        short_id = session.query(Category.short_id).scalar()
    [change] = compared(client, job, job)["changes"]
    assert change["now"] == [{"category": 0, "id": short_id, "name": "new 1", "known": False}]
    schema = client.get("/openapi.json").json()["components"]["schemas"]
    assert change.keys() == schema["ChangeOut"]["properties"].keys()
