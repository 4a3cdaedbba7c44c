"""What the tests of the page share."""

import pytest


@pytest.fixture(params=["sqlite"])
def kind(request: pytest.FixtureRequest) -> str:
    """One database is enough here: views ask the API, which is tested on both."""
    return str(request.param)
