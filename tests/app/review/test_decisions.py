"""Decisions over HTTP: each changes the answer at once, is undone by another, and refused where it does not apply."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import event, update
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.tables import Answer, Category, Job

PLASMA, ENZYME = "c-aaaaaa", "c-bbbbbb"


@pytest.fixture(autouse=True)
def sizes(database: Database, job: str) -> None:
    """The rows of known categories have the sizes that the answers have."""
    with database.sessions.begin() as session:
        for category, (n_documents, n_labeled) in enumerate(((1, 1), (0, 0))):
            values = {"n_documents": n_documents, "n_labeled": n_labeled}
            session.execute(update(Category).where(Category.category == category).values(**values))


def decide(client: TestClient, job: str, *decisions: dict[str, Any], **headers: str) -> Any:
    """The answer to a request that makes these decisions."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return client.post(f"{job}/decisions", json={"decisions": decisions, "author": "Ada"}, headers=named)


def made(client: TestClient, job: str, *decisions: dict[str, Any]) -> Any:
    """Decisions that are made."""
    answer = decide(client, job, *decisions)
    assert answer.status_code == 201, answer.text
    return answer.json()["decisions"]


def reason_of(answer: Any) -> str:
    """Why a decision was refused."""
    assert (answer.status_code, answer.json()["type"]) == (409, "urn:newfound:problem:decision-refused")
    return str(answer.json()["detail"])


def shown(client: TestClient, job: str, query: str = "") -> dict[str, str | None]:
    """The category of each document, by name."""
    found = client.get(f"{job}/documents?limit=100{query}").json()["documents"]
    return {each["key"]: each["name"] for each in found}


def sizes_of(client: TestClient, job: str) -> dict[str, tuple[int, int]]:
    """Documents and labeled documents of each category."""
    found = client.get(f"{job}/categories").json()["categories"]
    return {each["name"]: (each["documents"], each["labeled"]) for each in found}


def check_filters(client: TestClient, job: str) -> None:
    """Each category lists its documents and no others, and is as large as it says."""
    all_of_them = shown(client, job)
    categories = client.get(f"{job}/categories").json()["categories"]
    for each in categories:
        expected = {key: name for key, name in all_of_them.items() if name == each["name"]}
        for named in {str(each["category"]), each["id"] or str(each["category"])}:
            for sort in ("", "&sort=probability"):
                assert shown(client, job, f"&category={named}{sort}") == expected
        assert each["documents"] == len(expected), each["name"]
        exported = client.get(f"{job}/documents/export?format=ndjson&category={each['category']}").text
        assert len(exported.splitlines()) == len(expected)
    nobody = {key: name for key, name in all_of_them.items() if name is None}
    assert shown(client, job, "&category=none") == nobody
    for known in ("true", "false"):
        expected = [each["name"] for each in categories if each["known"] == (known == "true")]
        assert shown(client, job, f"&known={known}") == {k: n for k, n in all_of_them.items() if n in expected}


def test_a_name_is_shown_everywhere_at_once(client: TestClient, job: str) -> None:
    [told] = made(client, job, {"kind": "name", "category": "new 1: plasma, laser", "name": "plasma physics"})
    assert (told["number"], told["category"], told["author"], told["applies"]) == (1, PLASMA, "Ada", True)
    assert shown(client, job)["p0"] == "plasma physics"
    assert client.get(f"{job}/documents/export?format=ndjson&key=p0").json()["category"] == "plasma physics"
    assert "plasma physics" in client.get(f"{job}/categories/export").text
    assert shown(client, job, "&decisions=false")["p0"] == "new 1: plasma, laser"
    check_filters(client, job)


def test_a_merge_of_new_categories_makes_one_of_them(client: TestClient, job: str) -> None:
    made(client, job, {"kind": "merge", "categories": [ENZYME, PLASMA], "name": "life"})
    assert sizes_of(client, job) == {"astronomy": (1, 1), "optics": (0, 0), "life": (7, 0)}
    answer = client.get(f"{job}/categories").json()
    assert answer["categories"][2]["origin"] == [2, 3]
    assert answer["new_categories"] == {"number": 1, "interval_90": [1, 1]}
    check_filters(client, job)


def test_a_merge_with_a_known_category_leaves_the_known_one(client: TestClient, job: str) -> None:
    made(client, job, {"kind": "merge", "categories": [PLASMA, "optics"]})
    assert shown(client, job)["p0"] == "optics"
    assert client.get(f"{job}/documents?key=p0").json()["documents"][0]["known"] is True
    check_filters(client, job)


def test_a_category_that_a_known_one_is_merged_into_is_known(client: TestClient, job: str) -> None:
    made(client, job, {"kind": "merge", "categories": ["astronomy", PLASMA], "into": PLASMA, "name": "stars"})
    assert sizes_of(client, job) == {"optics": (0, 0), "stars": (6, 1), "new 2: enzyme": (2, 0)}
    assert [each["known"] for each in client.get(f"{job}/categories").json()["categories"]] == [True, True, False]
    check_filters(client, job)


def test_a_split_by_the_draws_leaves_the_largest_part_where_it_was(client: TestClient, job: str) -> None:
    [told] = made(client, job, {"kind": "split", "category": PLASMA, "into": 2})
    assert len(told["new"]) == 1
    assert sizes_of(client, job) == {
        "astronomy": (1, 1), "optics": (0, 0), "new 1: plasma, laser": (3, 0), "new 2: enzyme": (2, 0),
        "new 1.1: laser": (2, 0),
    }  # fmt: skip
    found = shown(client, job)
    assert (found["p0"], found["p3"]) == ("new 1: plasma, laser", "new 1.1: laser")
    check_filters(client, job)
    made(client, job, {"kind": "merge", "categories": ["new 1.1: laser", "optics"]})
    check_filters(client, job)


def test_the_tree_is_read_only_if_a_decision_splits_by_it(client: TestClient, job: str) -> None:
    statements: list[str] = []
    engine = client.app.state.database.engine  # type: ignore[attr-defined]
    event.listen(engine, "before_cursor_execute", lambda _, __, statement, *___: statements.append(statement))

    def reads_tree() -> bool:
        statements.clear()
        assert client.get(f"{job}/documents").status_code == 200
        return any("FROM tree_nodes" in statement for statement in statements)

    made(client, job, {"kind": "name", "category": PLASMA, "name": "plasmas"})
    assert not reads_tree()
    made(client, job, {"kind": "split", "category": PLASMA, "into": 2})
    assert reads_tree()


def test_a_split_by_documents_makes_a_category_of_them(client: TestClient, job: str) -> None:
    made(client, job, {"kind": "split", "category": PLASMA, "documents": ["p1", "p4"], "name": "lasers"})
    assert sizes_of(client, job)["lasers"] == (2, 0)
    [document] = client.get(f"{job}/documents?key=p1").json()["documents"]
    assert (document["probability"], document["unsure"], document["decision"]) == (1.0, False, 1)
    check_filters(client, job)


def test_a_promoted_category_is_known(client: TestClient, job: str) -> None:
    made(client, job, {"kind": "promote", "category": PLASMA, "name": "plasma physics"})
    answer = client.get(f"{job}/categories").json()
    assert [each["known"] for each in answer["categories"]] == [True, True, True, False]
    assert answer["new_categories"]["number"] == 1
    assert answer["summary"].startswith("3 known categories and 1 new one")
    check_filters(client, job)
    again = decide(client, job, {"kind": "promote", "category": PLASMA})
    assert "known category already" in reason_of(again)


def test_documents_of_a_dissolved_category_are_of_their_next_likely_one(client: TestClient, job: str) -> None:
    made(client, job, {"kind": "dissolve", "category": PLASMA})
    assert set(shown(client, job).values()) == {"new 2: enzyme", "astronomy", None}
    assert sizes_of(client, job)["new 2: enzyme"] == (7, 0)
    [document] = client.get(f"{job}/documents?key=p0").json()["documents"]
    assert (document["probability"], document["runner_up"]) == (0.2, None)
    check_filters(client, job)
    made(client, job, {"kind": "dissolve", "category": ENZYME})
    assert client.get(f"{job}/documents?key=p0").json()["documents"][0]["reason"].startswith("its category was")
    check_filters(client, job)


def test_a_category_with_labels_is_not_dissolved(client: TestClient, job: str) -> None:
    assert "has labels" in reason_of(decide(client, job, {"kind": "dissolve", "category": "astronomy"}))


def test_documents_are_pinned_to_a_category_to_a_new_one_or_to_none(client: TestClient, job: str) -> None:
    made(
        client,
        job,
        {"kind": "pin", "documents": ["p0", "star"], "category": "optics"},
        {"kind": "pin", "documents": ["p1"], "new_category": "fusion"},
        {"kind": "none", "documents": ["p2"], "note": "a table of contents"},
    )
    found = shown(client, job)
    assert [found[key] for key in ("p0", "star", "p1", "p2", "p3")] == [
        "optics", "optics", "fusion", None, "new 1: plasma, laser",
    ]  # fmt: skip
    assert sizes_of(client, job) == {
        "astronomy": (0, 1), "optics": (2, 0), "new 1: plasma, laser": (2, 0), "new 2: enzyme": (2, 0),
        "fusion": (1, 0),
    }  # fmt: skip
    check_filters(client, job)
    made(client, job, {"kind": "pin", "documents": ["p0"], "category": ENZYME})
    assert shown(client, job)["p0"] == "new 2: enzyme", "what is said last counts"
    made(client, job, {"kind": "undo", "decision": 4})
    assert shown(client, job)["p0"] == "optics"


def test_a_suggested_label_is_accepted(client: TestClient, job: str) -> None:
    made(client, job, {"kind": "accept", "documents": ["mirror"]})
    assert sizes_of(client, job) == {
        "astronomy": (1, 0), "optics": (0, 1), "new 1: plasma, laser": (5, 0), "new 2: enzyme": (2, 0),
    }  # fmt: skip
    export = client.get(f"{job}/documents/export?format=ndjson&as=labels&include=all&key=mirror").json()
    assert export["label"] == "optics"
    assert "suggests no other" in reason_of(decide(client, job, {"kind": "accept", "documents": ["star"]}))


def test_each_decision_is_undone_and_done_again(client: TestClient, job: str) -> None:
    before = client.get(f"{job}/categories").json()
    asked: list[dict[str, Any]] = [
        {"kind": "name", "category": PLASMA, "name": "plasma physics"},
        {"kind": "merge", "categories": [PLASMA, ENZYME]},
        {"kind": "split", "category": PLASMA, "into": 2},
        {"kind": "split", "category": PLASMA, "documents": ["p0"]},
        {"kind": "promote", "category": PLASMA},
        {"kind": "dissolve", "category": PLASMA},
        {"kind": "pin", "documents": ["p0"], "category": "optics"},
        {"kind": "none", "documents": ["p0"]},
        {"kind": "accept", "documents": ["mirror"]},
    ]
    plain = [{**each, "origin": None} for each in before["categories"]]
    assert before["categories"] == plain
    for each in asked:
        [told] = made(client, job, each)
        after = client.get(f"{job}/categories").json()
        listed = shown(client, job)
        [undo] = made(client, job, {"kind": "undo", "decision": told["number"]})
        assert client.get(f"{job}/categories").json() == before
        made(client, job, {"kind": "undo", "decision": undo["number"]})
        assert client.get(f"{job}/categories").json() == after
        assert shown(client, job) == listed
        made(client, job, {"kind": "undo", "decision": told["number"]})
    listed = client.get(f"{job}/decisions").json()["decisions"]
    assert [each["kind"] for each in listed if each["in_force"] and each["kind"] != "undo"] == []
    assert client.get(f"{job}/categories").json() == before


def test_what_another_decision_builds_on_is_not_undone_before_it(client: TestClient, job: str) -> None:
    made(
        client,
        job,
        {"kind": "pin", "documents": ["p1"], "new_category": "fusion"},
        {"kind": "merge", "categories": ["fusion", ENZYME]},
    )
    refused = reason_of(decide(client, job, {"kind": "undo", "decision": 1}))
    assert "undo 2 first" in refused
    made(client, job, {"kind": "undo", "decision": 2}, {"kind": "undo", "decision": 1})
    assert shown(client, job)["p1"] == "new 1: plasma, laser"


@pytest.mark.parametrize("kind", ["sqlite"])
@pytest.mark.parametrize(
    ("decision", "status", "said"),
    [
        ({"kind": "name", "category": "c-zzzzzz", "name": "x"}, 409, "the answer has no category 'c-zzzzzz'"),
        ({"kind": "name", "category": PLASMA, "name": "optics"}, 409, "another category is called 'optics'"),
        ({"kind": "merge", "categories": [PLASMA, PLASMA]}, 409, "there is nothing to merge"),
        ({"kind": "split", "category": "optics", "into": 2}, 409, "name documents instead"),
        ({"kind": "split", "category": PLASMA, "into": 3}, 409, "the draws have not 3 parts"),
        ({"kind": "split", "category": PLASMA, "documents": ["e0"]}, 409, "is of the category 'new 2: enzyme'; pin it"),
        ({"kind": "split", "category": PLASMA, "documents": ["blank"]}, 409, "is of no category; pin it instead"),
        ({"kind": "split", "category": PLASMA}, 422, "give either `documents` or `into`"),
        ({"kind": "pin", "documents": ["p0", "nobody"], "category": PLASMA}, 422, "no document 'nobody'"),
        ({"kind": "pin", "documents": ["p0"]}, 422, "give either `category` or `new_category`"),
        ({"kind": "undo", "decision": 2}, 404, "has no decision 2"),
        ({"kind": "forget"}, 422, "kind"),
    ],
)
def test_what_cannot_be_decided_is_refused_with_the_reason(
    client: TestClient, job: str, decision: dict[str, Any], status: int, said: str
) -> None:
    refused = decide(client, job, {"kind": "promote", "category": ENZYME}, decision)
    assert (refused.status_code, said in refused.text) == (status, True), refused.text
    assert client.get(f"{job}/decisions").json()["decisions"] == [], "all of them, or none"


def test_two_reviewers_at_once_lose_nothing(client: TestClient, job: str) -> None:
    plain = {"Accept-Encoding": "identity"}
    tag = client.get(f"{job}/categories", headers=plain).headers["ETag"]
    assert tag == client.get(f"{job}/decisions", headers=plain).headers["ETag"]
    first = decide(client, job, {"kind": "name", "category": PLASMA, "name": "ours"}, If_Match=tag)
    assert first.status_code == 201 and first.headers["ETag"] != tag
    second = decide(client, job, {"kind": "name", "category": PLASMA, "name": "theirs"}, If_Match=tag)
    assert (second.status_code, second.json()["type"]) == (412, "urn:newfound:problem:answer-changed")
    assert shown(client, job)["p0"] == "ours"
    again = decide(client, job, {"kind": "name", "category": PLASMA, "name": "theirs"}, If_Match=first.headers["ETag"])
    assert again.status_code == 201
    assert shown(client, job)["p0"] == "theirs"


def test_of_ten_reviewers_with_one_tag_one_decides(client: TestClient, job: str) -> None:
    tag = client.get(f"{job}/categories").headers["ETag"]

    def set_aside(n: int, **headers: str) -> int:
        return int(decide(client, job, {"kind": "none", "documents": [f"p{n % 5}"]}, **headers).status_code)

    with ThreadPoolExecutor(10) as pool:
        assert sorted(pool.map(lambda n: set_aside(n, If_Match=tag), range(10))) == [201] + [412] * 9
    with ThreadPoolExecutor(5) as pool:
        assert set(pool.map(set_aside, range(5))) == {201}
    numbers = [each["number"] for each in client.get(f"{job}/decisions").json()["decisions"]]
    assert numbers == list(range(1, 7))


def test_a_repeat_under_one_key_decides_once(client: TestClient, job: str) -> None:
    asked = {"kind": "none", "documents": ["p0"]}
    first, second = (decide(client, job, asked, Idempotency_Key="k") for _ in range(2))
    assert first.json() == second.json() and second.headers["Idempotent-Replayed"] == "true"
    assert len(client.get(f"{job}/decisions").json()["decisions"]) == 1


def test_a_decision_about_documents_of_a_job_that_is_sampling_waits_for_its_end(
    client: TestClient, database: Database, job: str
) -> None:
    with database.sessions.begin() as session:
        session.execute(update(Job).values(edition=0, status="running"))
    made(
        client,
        job,
        {"kind": "none", "documents": ["p0"]},
        {"kind": "pin", "documents": ["p1"], "category": "optics"},
        {"kind": "pin", "documents": ["p2"], "category": "no such label"},
        {"kind": "none", "documents": ["p3"]},
        {"kind": "undo", "decision": 4},
    )
    listed = client.get(f"{job}/decisions").json()["decisions"]
    assert [each["applies"] for each in listed] == [None] * 5
    refused = decide(client, job, {"kind": "name", "category": "optics", "name": "light"})
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:newfound:problem:results-not-ready")
    with database.sessions.begin() as session:
        session.execute(update(Job).values(edition=1, status="succeeded"))
    found = shown(client, job)
    assert [found[key] for key in ("p0", "p1", "p2", "p3")] == [None, "optics", *["new 1: plasma, laser"] * 2]
    listed = client.get(f"{job}/decisions").json()["decisions"]
    assert [each["applies"] for each in listed] == [True, True, False, False, None]
    check_filters(client, job)


def test_a_job_that_ended_without_results_has_nothing_to_decide_about(
    client: TestClient, database: Database, job: str
) -> None:
    with database.sessions.begin() as session:
        session.execute(update(Job).values(edition=0, status="failed"))
    assert decide(client, job, {"kind": "none", "documents": ["p0"]}).status_code == 409


def test_a_category_is_read_with_what_was_decided_about_it(client: TestClient, job: str) -> None:
    made(client, job, {"kind": "name", "category": PLASMA, "name": "plasma physics"})
    found = client.get(f"{job}/categories/{PLASMA}").json()
    assert (found["name"], found["documents"], len(found["representative"])) == ("plasma physics", 5, 2)
    made(client, job, {"kind": "merge", "categories": [ENZYME, PLASMA]})
    assert client.get(f"{job}/categories/{PLASMA}").status_code == 404
    assert client.get(f"{job}/categories/{ENZYME}").json()["origin"] == [2, 3]


def test_decisions_wait_for_categories_that_come_back(client: TestClient, database: Database, job: str) -> None:
    """After an extension the answer has another edition: what is not there any more is idle, and says why."""
    made(
        client,
        job,
        {"kind": "name", "category": PLASMA, "name": "plasma physics"},
        {"kind": "pin", "documents": ["e0"], "category": PLASMA},
    )
    with database.sessions.begin() as session:
        session.execute(update(Category).where(Category.short_id == PLASMA).values(short_id="c-cccccc"))
    first, _ = client.get(f"{job}/decisions").json()["decisions"]
    assert (first["in_force"], first["applies"]) == (True, False)
    assert first["reason"] == f"the answer has no category '{PLASMA}'"
    assert shown(client, job)["e0"] == "new 2: enzyme"
    with database.sessions.begin() as session:
        session.execute(update(Category).where(Category.short_id == "c-cccccc").values(short_id=PLASMA))
    assert shown(client, job)["e0"] == "plasma physics"


def test_unsure_documents_are_those_that_nobody_decided_about(client: TestClient, database: Database, job: str) -> None:
    with database.sessions.begin() as session:
        session.execute(update(Answer).where(Answer.category == 2).values(probability=0.3))
    assert set(shown(client, job, "&unsure=true")) == {"p0", "p1", "p2", "p3", "p4", "blank"}
    made(client, job, {"kind": "pin", "documents": ["p0"], "category": PLASMA}, {"kind": "none", "documents": ["p1"]})
    assert set(shown(client, job, "&unsure=true")) == {"p2", "p3", "p4", "blank"}
    assert set(shown(client, job, "&unsure=false")) == {"p0", "p1", "e0", "e1", "star"}
