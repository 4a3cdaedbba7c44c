"""Without keys the API is for this machine alone, unless somebody insists."""

import logging

import pytest

from app.access import keys
from app.access.callers import is_reachable
from app.access.opening import OpenToAll, check_opening
from app.core.db import Database
from app.core.settings import Settings


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_an_address_of_this_machine_alone_is_not_reachable(host: str) -> None:
    assert not is_reachable(Settings(host=host))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "2001:db8::1", "newfound.example.org"])
def test_any_other_address_and_one_behind_a_proxy_is_reachable(host: str) -> None:
    assert is_reachable(Settings(host=host))
    assert is_reachable(Settings(trusted_hosts="newfound.example.org"))
    assert is_reachable(Settings(forwarded_allow_ips="127.0.0.1"))


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_reachable_api_without_keys_is_refused_with_what_to_do(database: Database) -> None:
    for reachable in (Settings(host="0.0.0.0"), Settings(trusted_hosts="newfound.example.org")):
        with pytest.raises(OpenToAll, match=r"newfound keys create.*NEWFOUND_API_KEYS to required.*off"):
            check_opening(database, reachable)
    check_opening(database, Settings(host="0.0.0.0", api_keys="required"))
    with database.sessions.begin() as session:
        keys.create(session, "ada", ["read"])
    check_opening(database, Settings(host="0.0.0.0"))


@pytest.mark.parametrize("kind", ["sqlite"])
def test_an_api_that_asks_for_no_keys_says_so(database: Database, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        check_opening(database, Settings())
        check_opening(database, Settings(host="0.0.0.0", api_keys="off"))
    assert [record.levelname for record in caplog.records] == ["INFO", "WARNING"]
    assert "no API keys are asked for" in caplog.text and "may read and delete everything" in caplog.text
    caplog.clear()
    with database.sessions.begin() as session:
        keys.create(session, "ada", ["read"])
    check_opening(database, Settings())
    assert not caplog.records
