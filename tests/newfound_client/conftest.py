"""A client of a real server over SQLite: which database the server has is no matter of the client."""

from collections.abc import Iterator

import pytest

from app.core.settings import Settings
from newfound_client import Client
from tests.app.server import running


@pytest.fixture
def kind() -> str:
    return "sqlite"


@pytest.fixture
def client(settings: Settings) -> Iterator[Client]:
    with running(settings) as server:
        yield Client(f"http://127.0.0.1:{server.port}/", timeout=60.0)
