"""All that the OpenAPI document says is asked of the service in all phases of Schemathesis, and answered as it says."""

import pytest
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.settings import Settings
from app.schemas.labels import MAX_APPLIED
from tests.app.openapi.engine import Run, run
from tests.app.openapi.furnished import Furnished, furnish
from tests.app.server import running

SEED = 20261130
# Their bodies have so many fields that every value of each takes minutes: `make test-slow` has them.
LARGE = ("submit_job", "compare_methods", "continue_job", "preview_corpus", "decide", "score_job")
MOST = 60  # of 77 operations that are seen to succeed; of others what fits is too rare to be generated
PHASES = {"examples", "coverage", "fuzzing", "stateful"}

# Hypothesis says so of its own notes, of a request with hundreds of documents.
pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr:hypothesis.errors.HypothesisWarning")


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Room for the jobs of all that is asked."""
    return settings.model_copy(update={"max_live_jobs": 100_000, "max_live_units": 1_000_000})


@pytest.fixture
def furnished(client: TestClient, database: Database, settings: Settings) -> Furnished:
    """A service with one of everything."""
    return furnish(client, database, settings)


def check(found: Run, furnished: Furnished) -> None:
    """Nothing was found, and not for lack of seeing anything."""
    assert found.errors == []
    assert {kind: told[0] for kind, told in found.failures.items()} == {}
    assert set(found.seconds) == PHASES
    document = furnished.client.get("/openapi.json").json()
    operations = {operation["operationId"] for methods in document["paths"].values() for operation in methods.values()}
    went_well = {name for name in operations if min(+found.statuses[name], default=500) < 300}
    assert len(went_well) >= MOST


@pytest.mark.parametrize("kind", ["sqlite"])
def test_whatever_is_asked_the_answer_is_one_that_the_document_describes(furnished: Furnished) -> None:
    check(run(furnished, 20, SEED, LARGE), furnished)


@pytest.mark.slow
def test_so_it_is_with_ten_times_as_many_questions(furnished: Furnished) -> None:
    check(run(furnished, 200, SEED), furnished)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite"])
def test_so_it_is_on_a_real_server(furnished: Furnished, settings: Settings) -> None:
    with running(settings) as api:
        check(run(furnished, 20, SEED, base_url=f"http://127.0.0.1:{api.port}"), furnished)


@pytest.mark.parametrize("kind", ["sqlite"])
@pytest.mark.parametrize("since", ["0", "1e9", "2026-1-1", "2026-01-01T00:00:00", "\u0662\u0660\u0662\u0666-01-01"])
def test_a_day_is_a_day_and_no_number_of_seconds(furnished: Furnished, since: str) -> None:
    address = f"/v1/jobs/{furnished.job_id}/drift"
    assert furnished.client.get(address, params={"since": "2026-01-01"}).status_code == 200
    answer = furnished.client.get(address, params={"since": since})
    assert (answer.status_code, answer.json()["errors"][0]["where"]) == (422, "query.since")


@pytest.mark.parametrize("kind", ["sqlite"])
def test_more_labels_than_a_request_may_apply_are_refused(furnished: Furnished) -> None:
    body = {"keys": ["a"] * (MAX_APPLIED + 1)}
    assert furnished.client.post(f"/v1/jobs/{furnished.job_id}/labels/apply", json=body).status_code == 422
