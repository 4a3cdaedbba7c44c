"""Trace, categories and documents, from rows put straight into the tables of both databases."""

from typing import Any

import pytest
from sqlalchemy import select, update
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.tables import Answer, Document
from app.http.new_categories import posterior
from tests.app.http.test_api import pages
from tests.app.rows import add_draws, add_results, end, submit


@pytest.fixture
def job(database: Database) -> str:
    """Address of a succeeded job over five documents."""
    job_id, _ = submit(database)
    add_draws(database, job_id, chains=2, sweeps=5)
    add_results(database, job_id)
    end(database, job_id)
    return f"/v1/jobs/{job_id}"


def test_the_trace_has_one_row_a_draw_by_chain_and_sweep(client: TestClient, job: str) -> None:
    draws = pages(client, f"{job}/trace", "draws", limit=3)
    assert [(draw["chain"], draw["sweep"]) for draw in draws] == [(c, s) for c in (0, 1) for s in range(1, 6)]
    assert draws[0] == {
        "chain": 0,
        "sweep": 1,
        "n_categories": 5,
        "n_new": 3,
        "n_new_with_documents": 2,
        "n_tables": 40,
        "alpha": 0.5,
        "gamma": 0.001,
        "log_joint": -1234.5,
        "setting": None,
    }


def test_the_trace_of_one_chain_goes_on_after_a_sweep(client: TestClient, job: str) -> None:
    draws = pages(client, f"{job}/trace", "draws", limit=1, chain=1, after=3)
    assert [(draw["chain"], draw["sweep"]) for draw in draws] == [(1, 4), (1, 5)]


def test_the_trace_has_every_second_sweep_alone_where_that_is_asked_for(client: TestClient, job: str) -> None:
    draws = pages(client, f"{job}/trace", "draws", limit=1, every=2)
    assert [(draw["chain"], draw["sweep"]) for draw in draws] == [(0, 2), (0, 4), (1, 2), (1, 4)]
    assert pages(client, f"{job}/trace", "draws", limit=1, every=2, chain=1, after=2) == draws[3:]


def test_the_trace_is_readable_while_the_job_runs_and_results_are_not(client: TestClient, database: Database) -> None:
    job_id, _ = submit(database)
    add_draws(database, job_id, chains=1, sweeps=2)
    assert len(client.get(f"/v1/jobs/{job_id}/trace").json()["draws"]) == 2
    for part in ("categories", "documents"):
        refused = client.get(f"/v1/jobs/{job_id}/{part}")
        assert refused.status_code == 409
        assert refused.json()["type"] == "urn:newfound:problem:results-not-ready"


def test_categories_of_jobs_from_before_there_was_a_map_have_no_place(client: TestClient, job: str) -> None:
    answer = client.get(f"{job}/categories").json()
    assert [(each["nearest"], each["place"]) for each in answer["categories"]] == [(None, None)] * 2
    assert answer["map_fit"] is None


def test_the_answer_begins_with_one_number_of_new_categories_in_a_sentence(client: TestClient, job: str) -> None:
    answer = client.get(f"{job}/categories").json()
    assert list(answer) == [
        "summary",
        "new_categories",
        "categories",
        "n_new",
        "n_new_with_documents",
        "diagnostics",
        "calibration",
        "best_chain",
        "unsure",
        "numbers",
        "map_fit",
        "descriptions",
        "cut",
    ]
    assert answer["new_categories"] == {"number": 1, "interval_90": [1, 4]}, "the posterior alone says 3 to 4"
    assert answer["summary"] == "1 known category and 1 new one; with 90 % probability there are 1 to 4 new ones."


def test_categories_come_with_the_posterior_of_the_number_of_new_ones(client: TestClient, job: str) -> None:
    answer = client.get(f"{job}/categories").json()
    assert answer["best_chain"] == 1
    assert [(c["category"], c["name"], c["known"], c["documents"]) for c in answer["categories"]] == [
        (0, "physics", True, 2),
        (1, "new-1", False, 1),
    ]
    assert answer["n_new"] == {
        "mode": 3,
        "mean": 3.32,
        "interval_90": [3, 4],
        "frequencies": [
            {"n_new": 2, "frequency": 0.04, "draws": 4},
            {"n_new": 3, "frequency": 0.6, "draws": 60},
            {"n_new": 4, "frequency": 0.36, "draws": 36},
        ],
    }
    assert answer["n_new_with_documents"]["mode"] == 1, "of two as frequent the smaller"


@pytest.mark.parametrize("draws", [[0], [0, 10], [2, 2, 3], list(range(100)), [5] * 19 + [9], [1] + [5] * 18 + [9]])
def test_the_interval_holds_nine_tenths_of_the_draws(draws: list[int]) -> None:
    found = posterior({str(value): draws.count(value) for value in draws})
    low, high = found.interval_90
    assert sum(low <= value <= high for value in draws) >= 0.9 * len(draws)
    assert sum(value < low for value in draws) <= 0.05 * len(draws)
    assert sum(value > high for value in draws) <= 0.05 * len(draws)
    assert found.mean == pytest.approx(sum(draws) / len(draws))


def test_each_unlabeled_document_is_answered_once_in_order(client: TestClient, job: str) -> None:
    documents = pages(client, f"{job}/documents", "documents", limit=2)
    assert [document["key"] for document in documents] == [f"document-{n}" for n in range(1, 6)]
    assert documents[0] == {
        "key": "document-1",
        "text": "text 1",
        "category": 0,
        "name": "physics",
        "known": True,
        "probability": 0.75,
        "known_probability": 0.9,
        "category_probability": 0.75 / 0.9,
        "unsure": False,
        "runner_up": {"category": 1, "name": "new-1", "probability": 0.25},
        "likely": [
            {"category": 0, "name": "physics", "probability": 0.75},
            {"category": 1, "name": "new-1", "probability": 0.25},
        ],
        "evidence": None,
        "reason": None,
        "stability": None,
        "copy_of": None,
        "decision": None,
        "fields": {},
        "erased": False,
    }
    assert documents[2] == {
        "key": "document-3",
        "text": "text 3",
        "category": None,
        "name": None,
        "known": None,
        "probability": None,
        "known_probability": None,
        "category_probability": None,
        "unsure": True,
        "runner_up": None,
        "likely": [],
        "evidence": None,
        "reason": "no word is left after the text options",
        "stability": None,
        "copy_of": None,
        "decision": None,
        "fields": {},
        "erased": False,
    }


@pytest.mark.parametrize(
    ("category", "probability", "known_probability", "expected"),
    [
        (0, 0.75, 1.0, 0.75),
        (1, 0.75, 0.0, 0.75),
        (1, 0.5, 0.375, 0.8),
        (0, 0.75, 0.5, 1.0),  # never more than 1
        (1, 0.75, 1.0, 1.0),  # of what is impossible there is no share
        (0, 0.75, None, None),  # from before it was reported
        (None, None, None, None),
    ],
)
def test_a_documents_probability_comes_in_its_two_parts(
    client: TestClient,
    database: Database,
    job: str,
    category: int | None,
    probability: float | None,
    known_probability: float | None,
    expected: float | None,
) -> None:
    answer = {"category": category, "probability": probability, "known_probability": known_probability}
    with database.sessions.begin() as session:
        session.execute(update(Answer).values(**answer))
    for document in pages(client, f"{job}/documents", "documents", limit=5):
        assert {name: document[name] for name in answer} == answer
        assert document["category_probability"] == expected


def test_a_document_names_the_one_that_it_is_a_copy_of_on_another_page_too(
    client: TestClient, database: Database, job: str
) -> None:
    with database.sessions.begin() as session:
        ids = session.scalars(select(Document.id).order_by(Document.id)).all()
        for copy, original in ((1, 0), (4, 0), (3, 2)):
            of_copy = update(Answer).where(Answer.document_id == ids[copy])
            session.execute(of_copy.values(copy_of=ids[original]))
    for limit in (1, 100):
        documents = pages(client, f"{job}/documents", "documents", limit=limit)
        originals = [document["copy_of"] for document in documents]
        assert originals == [None, "document-1", None, "document-3", "document-1"]


@pytest.mark.parametrize(
    ("parameters", "numbers"),
    [
        ({"category": "0"}, [1, 4]),
        ({"category": "1"}, [2, 5]),
        ({"category": "7"}, []),
        ({"category": "none"}, [3]),
        ({"known": "true"}, [1, 4]),
        ({"known": "false"}, [2, 5]),
        ({"known": "true", "category": "1"}, []),
        ({"name": "physics"}, [1, 4]),
        ({"name": "nothing"}, []),
        ({"unsure": "true"}, [3]),
        ({"unsure": "false"}, [1, 2, 4, 5]),
        ({"unsure": "true", "unsure_known": "0.8"}, [1, 3, 4]),
        ({"unsure": "true", "unsure_new": "0.8"}, [2, 3, 5]),
        ({"unsure": "false", "unsure_new": "0.8", "known": "false"}, []),
    ],
)
def test_documents_are_filtered(client: TestClient, job: str, parameters: dict[str, str], numbers: list[int]) -> None:
    documents = pages(client, f"{job}/documents", "documents", limit=1, **parameters)
    assert [document["key"] for document in documents] == [f"document-{n}" for n in numbers]


OUT_OF_RANGE: list[tuple[str, dict[str, Any]]] = [
    ("trace", {"cursor": "nonsense"}),
    ("trace", {"cursor": "é"}),
    ("trace", {"cursor": "WzEsIDk5OTk5OTk5OTk5XQ"}),  # [1, 99999999999]
    ("documents", {"cursor": "WzEsIDJd"}),  # [1, 2]: of the trace
    ("documents", {"cursor": "OTk5OTk5OTk5OTk5OTk5OTk5OTk"}),  # 99999999999999999999
    ("documents", {"cursor": "\0"}),
    ("documents", {"limit": 0}),
    ("documents", {"limit": 1001}),
    ("documents", {"category": "-1"}),
    ("documents", {"category": "some"}),
    ("documents", {"category": str(2**31)}),
    ("documents", {"known": "perhaps"}),
    ("trace", {"chain": str(10**30)}),
    ("trace", {"after": "-1"}),
    ("trace", {"every": "0"}),
]


def test_parameters_out_of_range_are_a_422_that_says_where(client: TestClient, job: str) -> None:
    for path, parameters in OUT_OF_RANGE:
        answer = client.get(f"{job}/{path}", params=parameters)
        assert answer.status_code == 422, parameters
        [name] = parameters
        assert all(error["where"].startswith(f"query.{name}") for error in answer.json()["errors"])


def test_as_many_answers_are_unsure_as_the_list_has_unsure_documents(client: TestClient, job: str) -> None:
    unsure = client.get(f"{job}/documents", params={"unsure": True}).json()["documents"]
    assert client.get(f"{job}/categories").json()["unsure"] == len(unsure) == 1, "one document has no category"


def test_several_categories_are_read_at_once_in_the_order_in_which_they_are_named(client: TestClient, job: str) -> None:
    found = client.get(f"{job}/portraits", params={"category": ["1", "0"]})
    assert found.status_code == 200
    assert found.json()["categories"] == [client.get(f"{job}/categories/{index}").json() for index in (1, 0)]
    decided = client.get(f"{job}/portraits", params={"category": ["1"], "decisions": False}).json()
    assert [each["category"] for each in decided["categories"]] == [1]
    missing = client.get(f"{job}/portraits", params={"category": ["0", "7"]})
    assert (missing.status_code, missing.json()["type"]) == (404, "urn:newfound:problem:category-not-found")
    for refused in ({}, {"category": ["0"] * 101}, {"category": ["0" * 21]}):
        assert client.get(f"{job}/portraits", params=refused).status_code == 422
