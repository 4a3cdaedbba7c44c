"""New documents that bring vectors, to models that know vectors and to those that know none."""

from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.settings import Settings
from app.core.vectors import to_bytes
from app.frozen.documents import vector_of
from app.frozen.models import read_length
from app.uploads.rows import Row
from tests.app.http.test_new_documents import FRUIT, categorize, lines
from tests.worker import jobs

pytestmark = pytest.mark.parametrize("kind", ["sqlite"])
VECTOR = [0.5, -1.0, 2.0, 0.25]


@pytest.fixture
def job(database: Database, settings: Settings) -> str:
    """The address of a calibrated job that has succeeded, over words alone."""
    text = {"min_document_frequency": 1}
    return f"/v1/jobs/{jobs.finished(database, settings, jobs.submit_calibrated, text=text)}"


def know_vectors(client: TestClient, job: str, length: int | None) -> Any:
    """Let the job's model be one that has learned from vectors; returns it."""
    categorize(client, job, [{"text": FRUIT}])
    opened = client.app.state.open_models.models  # type: ignore[attr-defined]
    [(digest, (n_bytes, model))] = opened.items()
    opened[digest] = n_bytes, model._replace(vector_length=length)
    return opened[digest][1]


def test_a_model_of_words_says_once_that_it_ignores_vectors(client: TestClient, job: str) -> None:
    plain = categorize(client, job, [{"key": "a", "text": FRUIT}, {"key": "b", "text": FRUIT}])
    told = categorize(client, job, [{"key": key, "text": FRUIT, "vector": VECTOR} for key in "ab"])
    assert told["documents"] == plain["documents"]
    assert plain["warnings"] == []
    assert told["warnings"] == ["2 vectors were ignored: the model has learned from words alone"]


@pytest.mark.parametrize("answer_format", ["json", "ndjson", "csv"])
def test_a_vector_of_another_length_than_the_model_s_costs_its_line(
    client: TestClient, job: str, answer_format: str
) -> None:
    know_vectors(client, job, 4)
    documents = [{"text": FRUIT, "vector": VECTOR}, {"text": FRUIT, "vector": VECTOR * 2}, {"text": FRUIT}]
    answer = client.post(f"{job}/categorize?answer_format={answer_format}", content=lines(documents))
    assert answer.status_code == 200
    assert "`vector` has 8 numbers, but the model learned from vectors of 4" in answer.text
    if answer_format == "json":
        told = answer.json()
        assert ([row["line"] for row in told["documents"]], [bad["line"] for bad in told["errors"]]) == ([1, 3], [2])
        assert told["warnings"] == [
            "1 document has no vector, from which the model has learned: their words alone were looked at"
        ]
    else:
        assert answer.text.count("fruit") >= 2


def test_the_vector_that_a_model_sees_is_the_one_that_a_corpus_would_store(client: TestClient, job: str) -> None:
    model = know_vectors(client, job, 4)
    row = Row(1, FRUIT, None, None, vector=to_bytes(VECTOR))
    seen = vector_of(model, row)
    assert seen is not None and seen.dtype == np.float64
    np.testing.assert_allclose(seen, np.array(VECTOR) / np.linalg.norm(VECTOR), atol=1e-3)  # float16
    assert vector_of(model, row._replace(vector=None)) is None
    assert vector_of(model._replace(vector_length=None), row) is None


def test_the_length_in_the_file_of_a_model_is_checked(client: TestClient) -> None:
    assert (read_length(None), read_length(384)) == (None, 384)
    for wrong in ("384", True, 3.5, 0, 5_000):
        with pytest.raises((TypeError, ValueError)):
            read_length(wrong)
