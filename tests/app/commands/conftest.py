"""Commands in this process, against a server without workers."""

from collections.abc import Iterator

import pytest

from app.commands import categorize
from app.core.settings import Settings
from tests.app.server import running


@pytest.fixture
def kind() -> str:
    return "sqlite"


@pytest.fixture
def url(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a service."""
    monkeypatch.setattr(categorize, "stop_on_signals", lambda: None)
    with running(settings) as server:
        yield f"http://127.0.0.1:{server.port}"
