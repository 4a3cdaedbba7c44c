"""Jobs that are not submitted: the answer says what would become of them, and nothing is stored; on both databases."""

import time
import uuid
from typing import Any

import pytest
from sqlalchemy import func, insert, select
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.kinds import n_units
from app.core.settings import Settings
from app.core.tables import Corpus, Document, IdempotentRequest, Job, Unit
from app.http.main import create_app
from tests.app.forecasts.test_limits import is_refused, make_corpus
from tests.app.rows import CORPUS, submit

PATH = "/v1/jobs"
DRY = {"validate_only": "true"}


def tried(client: TestClient, headers: dict[str, str] | None = None, **given: Any) -> Any:
    body = {"corpus_id": CORPUS, "discover": True, **given}
    return client.post(PATH, params=DRY, json=body, headers=headers)


def n_rows(database: Database) -> list[int]:
    """How many jobs, units and keys of requests are stored."""
    with database.readers.begin() as session:
        tables = (Job, Unit, IdempotentRequest)
        return [session.scalar(select(func.count()).select_from(table)) or 0 for table in tables]


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"sweeps": 70, "chains": 3, "seed": 5, "name": "a name", "tags": ["a"]},
        {"model": "lbpl-ntm", "hyperparameters": {"n_topics": 16}},
        {"model": "sskm", "n_categories": [3, 4]},
        {"text": {"min_document_frequency": 2}},
    ],
)
def test_a_dry_run_has_the_forecast_warnings_and_settings_that_the_job_then_has(
    client: TestClient, database: Database, given: dict[str, Any]
) -> None:
    make_corpus(database)
    answer = tried(client, **given)
    assert answer.status_code == 200 and "Location" not in answer.headers
    told = answer.json()
    assert list(told) == ["forecast", "warnings", "settings"]
    assert n_rows(database) == [0, 0, 0]
    job = client.post(PATH, json={"corpus_id": CORPUS, "discover": True, **given}).json()
    assert told == {name: job[name] for name in told}
    assert told["warnings"], "nothing has a label"


def test_a_dry_run_takes_as_many_units_into_account_as_the_job_has(client: TestClient, database: Database) -> None:
    make_corpus(database)
    for given in ({}, {"model": "lbpl-ntm", "chains": 3}, {"model": "sskm", "n_categories": [3, 4]}):
        settings = tried(client, **given).json()["settings"]
        before = n_rows(database)[1]
        client.post(PATH, json={"corpus_id": CORPUS, "discover": True, **given})
        assert n_rows(database)[1] - before == n_units(settings)


def test_a_dry_run_neither_stores_nor_uses_a_key(client: TestClient, database: Database) -> None:
    make_corpus(database)
    headers = {"Idempotency-Key": "one"}
    assert tried(client, headers).status_code == 200
    body = {"corpus_id": CORPUS, "discover": True, "sweeps": 30}
    made = client.post(PATH, json=body, headers=headers)
    assert (made.status_code, made.headers.get("Idempotent-Replayed")) == (202, None), "no other body has the key"
    again = tried(client, headers, sweeps=40)
    assert (again.status_code, again.headers.get("Idempotent-Replayed")) == (200, None)
    assert again.json()["settings"]["sweeps"] == 40
    assert client.post(PATH, json=body, headers=headers).headers["Idempotent-Replayed"] == "true"


def test_a_dry_run_is_refused_as_the_job_would_be(client: TestClient, database: Database) -> None:
    nowhere = "00000000-0000-0000-0000-000000000000"
    is_refused(tried(client, corpus_id=nowhere), 404, "corpus-not-found")
    make_corpus(database)
    for given in (
        {"discover": False},
        {"text": {"min_document_frequency": 100}},
        {"source_field": "feed"},
        {"sweeps": "many"},
        {"burn_in": 7, "sweeps": 7},
    ):
        told = tried(client, **given).json()
        refused = client.post(PATH, json={"corpus_id": CORPUS, "discover": True, **given}).json()
        assert told["status"] >= 400 and told == {**refused, "request_id": told["request_id"]}
    assert n_rows(database) == [0, 0, 0]


def test_a_dry_run_of_a_job_that_is_too_large_is_refused(settings: Settings, database: Database) -> None:
    make_corpus(database)
    with TestClient(create_app(settings.model_copy(update={"max_job_seconds": 100.0}))) as limited:
        assert tried(limited).status_code == 200
        detail = is_refused(tried(limited, chains=64, sweeps=1_000_000), 409, "job-too-large")
        assert "NEWFOUND_MAX_JOB_SECONDS allows 100 seconds" in detail


@pytest.mark.parametrize("limit, allowed", [("max_live_jobs", 1), ("max_live_units", 9)])
def test_a_dry_run_is_refused_where_the_job_would_be_one_too_many(
    settings: Settings, database: Database, limit: str, allowed: int
) -> None:
    make_corpus(database)
    with TestClient(create_app(settings.model_copy(update={limit: allowed}))) as limited:
        given = {"model": "lbpl-ntm", "chains": 2}
        assert tried(limited, **given).status_code == 200
        submit(database, chains=4)
        detail = is_refused(tried(limited, **given), 429, "too-many-jobs")
        job = limited.post(PATH, json={"corpus_id": CORPUS, "discover": True, **given})
        assert is_refused(job, 429, "too-many-jobs") == detail


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_dry_run_of_many_documents_takes_a_moment_whatever_setting_changes(
    client: TestClient, database: Database
) -> None:
    """Of processor time, which other processes take less part in. Whatever the corpus, a bounded sample is read."""
    corpus_id = str(uuid.uuid4())  # of no other corpus is anything remembered
    with database.sessions.begin() as session:
        session.add(Corpus(id=corpus_id, name="corpus", version=1))
        session.flush()
        given = [
            {
                "corpus_id": corpus_id,
                "version": 1,
                "key": f"k{n}",
                "text": " ".join(f"word{n * i % 4_999}" for i in range(1, 60)),
                "label": f"label {n % 20}" if n % 2 else None,
            }
            for n in range(8_000)
        ]
        session.execute(insert(Document), given)
    tried(client, corpus_id=corpus_id)  # modules are loaded, statements are compiled
    taken = []
    for n in range(5):
        start = time.process_time()
        answer = tried(client, corpus_id=corpus_id, sweeps=50 + n, text={"min_document_frequency": 5 + n})
        taken.append(time.process_time() - start)
        assert answer.status_code == 200 and answer.json()["forecast"]["seconds"] > 1.0
    assert sorted(taken)[2] < 0.5
