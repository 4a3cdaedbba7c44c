"""What holds for every view of the page: its headers, its files, and how it asks the API."""

import hashlib
import itertools
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import event
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.settings import Settings
from app.http.main import create_app
from app.page import assets
from app.page.rendering import HEADERS, ago, duration, number, percent, plural
from tests.app.rows import submit

VENDORED = assets.STATIC / "vendor"
NOBODY = "00000000-0000-4000-8000-000000000000"


def addresses(html: str) -> set[str]:
    """All that a page loads or leads to."""
    return set(re.findall(r'(?:href|src|action)="([^"#][^"]*)"', html))


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_page_forbids_inline_scripts_and_whatever_is_elsewhere(client: TestClient) -> None:
    answer = client.get("/")
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    policy = answer.headers["Content-Security-Policy"]
    assert "'unsafe" not in policy and "http" not in policy
    assert "<style" not in answer.text and " style=" not in answer.text
    assert not re.search(r"<script(?![^>]*\bsrc=)", answer.text)


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_page_loads_files_of_this_host_alone_and_all_of_them_are_there(client: TestClient) -> None:
    for address in addresses(client.get("/").text):
        assert address.startswith("/") and not address.startswith("//")
        if address.startswith("/static/"):
            answer = client.get(address)
            assert answer.status_code == 200
            assert "immutable" in answer.headers["Cache-Control"]


@pytest.mark.parametrize("kind", ["sqlite"])
@pytest.mark.parametrize(
    "path",
    [
        "/static/{digest}/nothing.css",
        "/static/0/page.css",
        "/static/{digest}/../page.py",
        "/static/{digest}/%2e%2e/api.py",
        "/sample/truth.csv",
        "/sample/..%2flabeled.ndjson",
    ],
)
def test_nothing_but_the_files_of_the_page_and_of_the_sample_is_served(client: TestClient, path: str) -> None:
    assert client.get(path.format(digest=assets.DIGEST)).status_code == 404


@pytest.mark.parametrize("kind", ["sqlite"])
def test_the_sample_is_the_one_of_the_examples(client: TestClient) -> None:
    for name in assets.SAMPLE_FILES:
        assert client.get(f"/sample/{name}").content == (assets.SAMPLES[-1] / name).read_bytes()


def test_vendored_files_are_those_that_their_list_names() -> None:
    lines = [line.split() for line in (VENDORED / "VERSIONS").read_text().splitlines() if not line.startswith("#")]
    listed = {name: digest for name, _, _, _, digest in lines}
    found = {path.name for path in VENDORED.iterdir() if path.suffix in (".js", ".css")}
    assert listed == {name: hashlib.sha256((VENDORED / name).read_bytes()).hexdigest() for name in found}


@pytest.mark.parametrize("kind", ["sqlite"])
@pytest.mark.parametrize("path", ["/jobs/{}", "/jobs/nothing", "/corpora/{}", "/corpora/nothing"])
def test_what_the_api_does_not_know_is_a_page_that_says_so(client: TestClient, path: str) -> None:
    answer = client.get(path.format(NOBODY))
    assert answer.status_code == 404
    assert answer.headers["Content-Type"].startswith("text/html")
    assert "does not exist" in answer.text or "is not the id" in answer.text or "there is no" in answer.text


@pytest.mark.parametrize("kind", ["sqlite"])
@pytest.mark.parametrize(
    "path", ["/jobs/{}/review", "/jobs/{}/documents", "/jobs/{}/documents/one", "/v1/jobs/{}/report"]
)
def test_no_read_of_a_page_goes_on_once_it_has_been_refused(client: TestClient, database: Database, path: str) -> None:
    job_id, _ = submit(database)
    engine, n_reads = client.app.state.database.engine, itertools.count()  # type: ignore[attr-defined]
    event.listen(engine, "begin", lambda _: time.sleep(0.02 * (next(n_reads) % 4)))
    assert client.get(path.format(job_id)).status_code in (404, 409)
    assert next(n_reads) > 1 and engine.pool.checkedout() == 0


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_page_takes_no_offence_at_parameters_that_it_does_not_know(client: TestClient) -> None:
    assert client.get("/?from=a-mail").status_code == 200
    assert client.get("/v1/jobs?from=a-mail").status_code == 422


@pytest.mark.parametrize("kind", ["sqlite"])
def test_the_openapi_document_lists_no_page(client: TestClient) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    assert all(path.startswith("/v1/") or path in ("/health", "/readyz", "/livez", "/metrics") for path in paths)


@pytest.fixture
def below(settings: Settings) -> Iterator[TestClient]:
    """A client of a service below a root path."""
    with TestClient(create_app(settings.model_copy(update={"root_path": "/new/found"}))) as client:
        yield client


@pytest.mark.parametrize("kind", ["sqlite"])
@pytest.mark.parametrize("path", ["/new/found", "/new/found/", "/"])
def test_below_a_root_path_all_that_a_page_names_is_below_it(below: TestClient, path: str) -> None:
    answer = below.get(path)
    assert answer.status_code == 200
    for address in addresses(answer.text):
        assert address.startswith("/new/found/")
        if address.startswith("/new/found/static/"):
            assert below.get(address).status_code == 200


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (number(1234567), "1,234,567"),
        (number(0.125, 2), "0.12"),
        (number(None), "\u2013"),
        (percent(0.5), "50 %"),
        (percent(0.0), "0 %"),
        (percent(0.0001), "< 1 %"),
        (percent(0.9999), "> 99 %"),
        (percent(1.0), "100 %"),
        (percent(0.9999, 2), "99.99 %"),
        (duration(0.2), "1 second"),
        (duration(80), "80 seconds"),
        (duration(600), "10 minutes"),
        (duration(7_000), "2 hours"),
        (duration(300_000), "3 days"),
        (plural(1, "category", "categories"), "1 category"),
        (plural(2_000, "document"), "2,000 documents"),
        (ago(None), "\u2013"),
    ],
)
def test_numbers_are_shown_as_people_write_them(shown: Any, expected: str) -> None:
    assert shown == expected
