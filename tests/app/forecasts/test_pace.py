"""The pace of the service, by the jobs that it has done; on both databases."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from sqlalchemy import update
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.tables import Unit
from app.forecasts import pace
from app.forecasts.corpus_sizes import sizes_of
from app.forecasts.forecast import forecast
from tests.app.rows import add_encoding, end, job_of, submit


@pytest.fixture(autouse=True)
def nothing_measured() -> Iterator[None]:
    """Each test measures for itself, and leaves nothing to the next."""
    pace.SHOWN.clear()
    yield
    pace.SHOWN.clear()


def work(database: Database, slowness: float, **settings: Any) -> None:
    """Let a job succeed whose units worked so many times as long as is forecast."""
    job_id, _ = submit(database, **settings)
    add_encoding(database, job_id)
    end(database, job_id)
    with database.sessions.begin() as session:
        job = job_of(database, job_id)
        works = forecast(sizes_of(session, job), job.settings).works
        for kind, due in works.items():
            seconds = slowness * due.seconds
            session.execute(update(Unit).where(Unit.job_id == job_id, Unit.kind == kind).values(seconds=seconds))


def measured(database: Database, model: str = "lbpl-ntm") -> Mapping[str, float]:
    """The paces of a model as they would be measured now."""
    pace.SHOWN.clear()
    with database.readers.begin() as session:
        return pace.expected_paces(pace.shown_by_jobs(session), model, seconds=1.0)


def test_the_pace_is_that_of_the_middle_one_of_the_last_jobs(database: Database) -> None:
    assert measured(database) == {}
    work(database, 3.0)
    assert measured(database) == pytest.approx({"encode": 3.0, "chain": 3.0, "conclude": 3.0})
    work(database, 2.0)
    assert measured(database)["chain"] == pytest.approx(2.0), "of two the faster one"
    work(database, 1.0)
    work(database, 9.0)
    assert measured(database)["chain"] == pytest.approx(2.0)
    for _ in range(pace.N_JOBS):
        work(database, 5.0)
    assert measured(database)["chain"] == pytest.approx(5.0), "the others were long ago"


def test_each_model_has_paces_of_its_own(database: Database) -> None:
    work(database, 2.0)
    work(database, 3.0, model="calibrated")
    assert measured(database, "calibrated")["calibrate"] == pytest.approx(3.0)
    assert measured(database, "lbpl-ntm")["chain"] == pytest.approx(2.0)


def test_a_job_is_expected_to_have_the_paces_of_those_nearest_to_its_size() -> None:
    shown = [pace.Shown("calibrated", seconds, {"chain": seconds}) for seconds in (1.0, 2.0, 3.0, 40.0, 50.0, 60.0)]
    assert pace.expected_paces(shown, "calibrated", 2.5) == {"chain": 2.0}
    assert pace.expected_paces(shown, "calibrated", 55.0) == {"chain": 50.0}
    assert pace.expected_paces(shown, "lbpl-ntm", 55.0) == {}


def test_work_that_an_earlier_job_had_done_shows_no_pace(database: Database) -> None:
    work(database, 0.1, model="calibrated")
    assert measured(database, "calibrated").keys() == {"calibrate", "chain", "conclude"}


def test_jobs_that_noted_no_seconds_show_no_pace(database: Database) -> None:
    work(database, 0.0)
    assert measured(database) == {}


def test_what_is_told_of_a_job_follows_the_pace(client: TestClient, database: Database) -> None:
    job_id, _ = submit(database)
    job = f"/v1/jobs/{job_id}"
    before = client.get(job).json()
    work(database, 4.0)
    pace.SHOWN.clear()
    after = client.get(job).json()
    assert after["forecast"]["seconds"] == pytest.approx(4.0 * before["forecast"]["seconds"], abs=0.2)
    assert after["progress"]["seconds_left"] > 2.0 * before["progress"]["seconds_left"]
    assert after["progress"]["fraction"] == before["progress"]["fraction"] == 0.0
