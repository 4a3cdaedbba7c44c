"""Rates: how often one may ask is counted by key, and keys that are no good by address."""

import gc
import logging
import re
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.orm import Session
from starlette.testclient import TestClient

from app.access import keys
from app.core.db import Database
from app.core.settings import Settings
from app.core.tables import ApiKey
from app.http.main import create_app
from tests.app.rows import NOBODY_LISTENS
from tests.faults.servers import ValkeyBroker

PROBLEM = "urn:newfound:problem:too-many-requests"
BAD = "nf_000000000000_" + "A" * 43

pytestmark = pytest.mark.parametrize("kind", ["sqlite"])


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Connections to Redis live as long as their process: those of a test are collected here, warnings and all."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@contextmanager
def service(settings: Settings, **given: Any) -> Iterator[TestClient]:
    """A client of a service with these settings, and no key of its own."""
    with TestClient(create_app(Settings(**{**settings.model_dump(exclude_unset=True), **given}))) as client:
        yield client


def key_of(database: Database, owner: str = "ada") -> dict[str, str]:
    """The header of a new key."""
    with database.sessions.begin() as session:
        return {"Authorization": f"Bearer {keys.create(session, owner, ('read',))}"}


def statuses(client: TestClient, n: int, headers: dict[str, str] | None = None) -> list[int]:
    """What so many requests are answered."""
    return [client.get("/v1/corpora", headers=headers).status_code for _ in range(n)]


def test_a_key_is_refused_beyond_its_rate_and_another_one_is_not(database: Database, settings: Settings) -> None:
    first, second = key_of(database), key_of(database)
    with service(settings, rate_limit="3/hour") as client:
        assert statuses(client, 5, first) == [200, 200, 200, 429, 429]
        assert statuses(client, 1, second) == [200], "though it is of the same owner"
        assert (client.get("/health").status_code, client.get("/livez").status_code) == (200, 204)


def test_a_refusal_says_when_to_come_again_and_every_answer_how_many_are_left(
    database: Database, settings: Settings
) -> None:
    key = key_of(database)
    with service(settings, rate_limit="2/2second;100/minute") as client:
        while time.time() % 2 > 1.0:  # windows begin with even seconds
            time.sleep(0.05)
        answer = client.get("/v1/corpora", headers=key)
        assert answer.headers["RateLimit-Policy"] == '"2 second";q=2;w=2, "minute";q=100;w=60'
        assert re.fullmatch(r'"2 second";r=1;t=\d, "minute";r=99;t=\d+', answer.headers["RateLimit"])
        client.get("/v1/corpora", headers=key)
        refused = client.get("/v1/corpora", headers=key)
        assert (refused.status_code, refused.json()["type"]) == (429, PROBLEM)
        assert "2 per 2 second" in refused.json()["detail"]
        assert refused.headers["RateLimit"].startswith('"2 second";r=0;')
        wait = int(refused.headers["Retry-After"])
        assert 1 <= wait <= 2
        time.sleep(wait)
        assert statuses(client, 1, key) == [200], "it was told the truth"


def test_without_keys_there_is_no_limit_unless_one_is_set(settings: Settings) -> None:
    with service(settings) as client:
        assert "RateLimit" not in client.get("/v1/corpora").headers
    with service(settings, rate_limit="2/hour") as client:
        assert statuses(client, 3) == [200, 200, 429]
    with service(settings, rate_limit="none") as client:
        assert statuses(client, 3) == [200] * 3


def test_what_the_page_asks_within_the_process_is_not_counted(settings: Settings) -> None:
    with service(settings, rate_limit="1/hour") as client:
        assert [client.get("/").status_code for _ in range(5)] == [200] * 5
        assert statuses(client, 2) == [200, 429]


def test_an_address_that_tries_keys_is_refused_before_they_are_looked_up(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, looked_up = key_of(database), list[str]()
    find = keys.find

    def noted(session: Session, presented: str) -> ApiKey | None:
        looked_up.append(presented)
        return find(session, presented)

    monkeypatch.setattr(keys, "find", noted)
    with service(settings, failed_keys_limit="3/hour") as client:
        assert statuses(client, 3, good) == [200] * 3, "good ones are not counted"
        tried = statuses(client, 5, {"Authorization": f"Bearer {BAD}"})
        assert tried == [401, 401, 401, 429, 429]
        assert looked_up.count(BAD) == 3
        refused = client.get("/v1/corpora", headers={"Authorization": f"Bearer {BAD}"})
        assert refused.json()["type"] == PROBLEM and int(refused.headers["Retry-After"]) > 0
        assert client.get("/v1/corpora").status_code == 401, "who presents none is told to"


@pytest.mark.parametrize(
    "address, other, is_same",
    [
        ("192.0.2.1", "192.0.2.2", False),
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
    ],
)
def test_the_addresses_of_one_network_of_ipv6_count_as_one(
    database: Database, settings: Settings, address: str, other: str, is_same: bool
) -> None:
    key_of(database)
    app = create_app(settings.model_copy(update={"failed_keys_limit": "1/hour"}))
    bad = {"Authorization": f"Bearer {BAD}"}
    with TestClient(app, client=(address, 1)) as first:
        assert statuses(first, 2, bad) == [401, 429]
        second = TestClient(app, client=(other, 1))
        assert statuses(second, 1, bad) == [429 if is_same else 401]


def test_replicas_share_their_counts_in_the_redis_of_the_broker(
    database: Database, settings: Settings, tmp_path: Path
) -> None:
    broker, key = ValkeyBroker(tmp_path), key_of(database)
    broker.start()
    try:
        given = {"broker_url": broker.url, "rate_limit": "3/hour"}
        with service(settings, **given) as first:
            assert statuses(first, 2, key) == [200, 200]
        with service(settings, **given) as second:
            assert statuses(second, 2, key) == [200, 429]
            broker.kill()
            assert statuses(second, 4, key) == [200, 200, 200, 429], "it counts by itself while nobody shares"
    finally:
        broker.kill()


def test_a_redis_that_is_away_keeps_nobody_waiting_and_is_told_once(
    database: Database, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    key = key_of(database)
    with service(settings, broker_url=NOBODY_LISTENS, rate_limit="50/hour") as client, caplog.at_level(logging.WARNING):
        began = time.monotonic()
        assert statuses(client, 20, key) == [200] * 20
        assert time.monotonic() - began < 20 * 0.5
    told = [record for record in caplog.records if "Redis does not answer" in record.message]
    assert len(told) == 2, "one of those who count requests, and one of those who count keys"


@pytest.mark.parametrize("value", ["100", "1/fortnight", "5/second,", "-1/second", "1/second; 2/minute"])
def test_a_rate_that_is_none_is_refused(settings: Settings, value: str) -> None:
    with pytest.raises(ValueError, match="rate_limit"):
        Settings(data_folder=settings.data_folder, rate_limit=value)
