"""What the tests of uploads share."""

import pytest
from starlette.testclient import TestClient

from app.uploads import store
from tests.app.uploads import sending


@pytest.fixture
def corpus(client: TestClient) -> str:
    """Address of an empty corpus."""
    return sending.new_corpus(client)


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows a transaction, so that small uploads have many."""
    monkeypatch.setattr(store, "BATCH_ROWS", sending.BATCH)
