"""What the tests of HTTP share."""

from collections.abc import Iterator

import pytest

from app.core.settings import Settings
from tests.app.server import Running, running


@pytest.fixture
def api(settings: Settings) -> Iterator[Running]:
    """A service that takes eight connections, and waits for clients longer than any test does."""
    with running(settings.model_copy(update={"client_seconds": 60.0, "max_connections": 8})) as api:
        yield api
