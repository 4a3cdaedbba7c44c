"""The one number of new categories, its interval and its sentence, over HTTP on both databases."""

import pytest
from sqlalchemy import delete, select, update
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.tables import Category, Summary
from app.schemas.results import DIAGNOSTICS
from tests.app.rows import add_draws, add_results, end, submit

Draws = dict[str, int]
AGREE_LITTLE = "The chains' answers agree by 0.75 (adjusted Rand index), less than 0.8."


@pytest.fixture
def job_id(database: Database) -> str:
    """A succeeded job."""
    job_id, _ = submit(database, model="calibrated")
    add_draws(database, job_id, chains=2, sweeps=5)
    add_results(database, job_id)
    end(database, job_id)
    return job_id


def answer_with(database: Database, job_id: str, n_known: int, n_new: int, draws: Draws) -> None:
    """Give the job's answer so many categories, and these draws of the number of new ones."""
    row = {"job_id": job_id, "n_documents": 1, "n_labeled": 0, "share": 0.5, "top_words": []}
    with database.sessions.begin() as session:
        session.execute(delete(Category))
        for category in range(n_known + n_new):
            known = category < n_known
            session.add(Category(**row, category=category, name=f"category {category}", known=known))
        session.execute(update(Summary).values(data={"n_new": draws, "n_new_with_documents": {"7": 1}}))


SENTENCES: list[tuple[int, int, Draws, list[int], str]] = [
    (
        4, 6, {"5": 50, "8": 50}, [5, 8],
        "4 known categories and 6 new ones; with 90 % probability there are 5 to 8 new ones.",
    ),
    (
        4, 6, {"6": 96, "9": 4}, [6, 6],
        "4 known categories and 6 new ones; with 90 % probability there are 6 new ones.",
    ),
    (
        1, 1, {"1": 100}, [1, 1],
        "1 known category and 1 new one; with 90 % probability there is 1 new one.",
    ),
    (
        2, 0, {"0": 100}, [0, 0],
        "2 known categories, and no document is of a new category; with 90 % probability there are no new ones.",
    ),
    (
        1, 0, {"0": 80, "1": 20}, [0, 1],
        "1 known category, and no document is of a new category; with 90 % probability there are 0 to 1 new ones.",
    ),
    (
        0, 3, {"2": 50, "3": 50}, [2, 3],
        "No known categories and 3 new ones; with 90 % probability there are 2 to 3 new ones.",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("n_known", "n_new", "draws", "interval", "sentence"), SENTENCES)
def test_the_answer_says_in_a_sentence_how_many_categories_there_are(
    client: TestClient,
    database: Database,
    job_id: str,
    n_known: int,
    n_new: int,
    draws: Draws,
    interval: list[int],
    sentence: str,
) -> None:
    answer_with(database, job_id, n_known, n_new, draws)
    answer = client.get(f"/v1/jobs/{job_id}/categories").json()
    assert answer["new_categories"] == {"number": n_new, "interval_90": interval}
    assert answer["summary"] == sentence


@pytest.mark.parametrize(
    ("n_known", "n_new", "draws", "interval"),
    [
        (4, 6, {"2": 50, "4": 50}, [2, 6]),
        (4, 6, {"8": 50, "9": 50}, [6, 9]),
        (4, 6, {"3": 4, "5": 92, "30": 4}, [5, 6]),
        (4, 0, {"2": 50, "4": 50}, [0, 4]),
    ],
)
def test_the_interval_holds_the_number_and_nine_tenths_of_the_posterior(
    client: TestClient, database: Database, job_id: str, n_known: int, n_new: int, draws: Draws, interval: list[int]
) -> None:
    answer_with(database, job_id, n_known, n_new, draws)
    answer = client.get(f"/v1/jobs/{job_id}/categories").json()
    assert answer["new_categories"] == {"number": n_new, "interval_90": interval}


@pytest.mark.parametrize(("n_new", "interval"), [(1, [1, 2]), (3, [1, 3]), (0, [0, 2])])
def test_where_no_category_is_known_and_a_document_has_one_there_is_at_least_one_new(
    client: TestClient, database: Database, job_id: str, n_new: int, interval: list[int]
) -> None:
    answer_with(database, job_id, n_known=0, n_new=n_new, draws={"0": 50, "2": 50})
    answer = client.get(f"/v1/jobs/{job_id}/categories").json()
    assert answer["new_categories"] == {"number": n_new, "interval_90": interval}


@pytest.mark.parametrize(
    ("verdict", "second"),
    [
        ("sound", ""),
        ("mixed", f" Check before you rely on it: {AGREE_LITTLE}"),
        ("unreliable", f" Do not rely on it: {AGREE_LITTLE}"),
    ],
)
def test_a_second_sentence_says_how_far_to_trust_an_answer_that_is_not_sound(
    client: TestClient, database: Database, job_id: str, verdict: str, second: str
) -> None:
    answer_with(database, job_id, 4, 6, {"6": 100})
    diagnostics = {**DIAGNOSTICS, "verdict": verdict, "reasons": [AGREE_LITTLE, "Another reason."]}
    with database.sessions.begin() as session:
        stored = session.scalars(select(Summary)).one()
        stored.data = {**stored.data, "diagnostics": diagnostics}
    answer = client.get(f"/v1/jobs/{job_id}/categories").json()
    first = "4 known categories and 6 new ones; with 90 % probability there are 6 new ones."
    assert answer["summary"] == first + second
