"""What every answer has: an id, headers that keep it harmless, links between pages, and nothing for other origins."""

import logging
import re
from typing import Any, Never

import pytest
from pydantic import ValidationError
from starlette.testclient import TestClient

from app.core import request_ids
from app.core.db import Database
from app.core.settings import Settings
from app.http.main import create_app
from app.http.security_headers import DEFAULTS
from tests.app import rows
from tests.app.exports.documents import documents, fill
from tests.app.http.test_problems import check

CORPUS = f"/v1/corpora/{rows.CORPUS}"
NO_JOB = "/v1/jobs/00000000-0000-0000-0000-000000000000"
ORIGIN = "https://reviews.example"


@pytest.fixture(params=["sqlite"])
def kind(request: pytest.FixtureRequest) -> str:
    """One database is enough here: what is asked of it is asked elsewhere."""
    return str(request.param)


@pytest.fixture
def broken(settings: Settings) -> TestClient:
    """A client of a service with a path whose code has a fault."""
    app = create_app(settings)

    def fail() -> Never:
        raise ZeroDivisionError

    app.add_api_route("/fault", fail, response_model=None)
    return TestClient(app, raise_server_exceptions=False)


# Ids


@pytest.mark.parametrize("given", ["a", "A-b_c.9", "x" * 64])
def test_the_id_of_a_request_is_the_clients_own(client: TestClient, given: str) -> None:
    answer = client.get(NO_JOB, headers={"X-Request-ID": given})
    assert answer.headers["X-Request-ID"] == answer.json()["request_id"] == given
    assert client.get("/livez", headers={"X-Request-ID": given}).headers["X-Request-ID"] == given


@pytest.mark.parametrize("given", ["", "x" * 65, "a b", "a\tb", "é".encode(), "a,b", 'a"', "<a>"])
def test_an_id_that_could_confuse_a_log_is_replaced(client: TestClient, given: str | bytes) -> None:
    answer = client.get(NO_JOB, headers={"X-Request-ID": given})
    made = answer.headers["X-Request-ID"]
    assert re.fullmatch("[0-9a-f]{32}", made) and answer.json()["request_id"] == made
    assert client.get(NO_JOB).headers["X-Request-ID"] != made


def test_two_ids_are_none(client: TestClient) -> None:
    answer = client.get("/livez", headers=[("X-Request-ID", "a"), ("X-Request-ID", "b")])
    assert re.fullmatch("[0-9a-f]{32}", answer.headers["X-Request-ID"])


def test_whatever_works_on_a_request_knows_its_id(broken: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    seen: list[str | None] = []
    caplog.handler.addFilter(lambda record: seen.append(request_ids.current.get()) is None)
    with caplog.at_level(logging.ERROR):
        answer = broken.get("/fault", headers={"X-Request-ID": "mine"})
    check(answer, 500, "urn:newfound:problem:internal-error")
    assert answer.headers["X-Request-ID"] == answer.json()["request_id"] == "mine"
    assert "mine" in seen and request_ids.current.get() is None


def test_what_the_page_asks_within_the_process_has_the_id_of_its_request(
    client: TestClient, database: Database
) -> None:
    answer = client.get(f"{NO_JOB}/plots/trace.svg", headers={"X-Request-ID": "outer"})
    assert answer.status_code == 404
    assert answer.headers.get_list("X-Request-ID") == ["outer"] and answer.json()["request_id"] == "outer"


# Harmlessness


def test_every_answer_is_kept_harmless(broken: TestClient, database: Database) -> None:
    rows.submit(database)
    paths = ["/v1/corpora", NO_JOB, "/nothing", "/livez", "/health", "/fault", "/v1/jobs?limit=0", "/v1/jobs/", "/docs"]
    for path in [*paths, "/redoc", "/openapi.json", "/", "/static-offline-docs/swagger-ui.css", f"{CORPUS}/export"]:
        for method in ("GET", "HEAD", "OPTIONS", "DELETE"):
            answer = broken.request(method, path, follow_redirects=False)
            for name in DEFAULTS:
                assert len(answer.headers.get_list(name)) == 1, (method, path, name)
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    misdirected = broken.get("/v1/jobs", headers={"Host": "elsewhere.example"})
    assert misdirected.status_code == 421 and misdirected.headers["X-Frame-Options"] == "DENY"


def test_answers_are_kept_by_no_cache_but_the_clients_own(client: TestClient) -> None:
    assert client.get("/v1/corpora").headers["Cache-Control"] == "private, no-cache"
    asset = re.search(r'"(/static/[^"]*page\.js)"', client.get("/").text)
    assert asset is not None
    assert "immutable" in client.get(asset[1]).headers["Cache-Control"]


def test_the_pages_of_the_documentation_run_their_own_scripts_alone(client: TestClient) -> None:
    for path in ("/docs", "/redoc"):
        policy = client.get(path).headers["Content-Security-Policy"]
        scripts = next(part for part in policy.split("; ") if part.startswith("script-src"))
        assert "'self'" in scripts and "unsafe" not in scripts
        assert ("sha256-" in scripts) is (path == "/docs")


# Links


def links(answer: Any) -> dict[str, str]:
    """The addresses of an answer's links, by their relations."""
    return {name: url for url, name in re.findall(r'<([^>]*)>; rel="(\w+)"', answer.headers["Link"])}


def test_a_list_is_read_to_its_end_along_its_links(client: TestClient, database: Database) -> None:
    rows.submit(database)
    fill(database, documents(7, label="a b&c"))
    start = f"{CORPUS}/documents?limit=3&label=a%20b%26c"
    answer, keys = client.get(start), []
    first = links(answer)["first"]
    while True:
        keys += [each["key"] for each in answer.json()["documents"]]
        found = links(answer)
        assert found["first"] == first
        if answer.json()["next"] is None:
            assert found.keys() == {"first"}
            break
        answer = client.get(found["next"])
    assert keys == [f"k{n}" for n in range(7)]
    assert client.get(first).content == client.get(start).content


PAGED = ["/v1/corpora", "/v1/jobs", "/v1/models", "/v1/comparisons", f"{CORPUS}/documents"]
OF_JOB = ["/trace", "/documents", "/audit", "/labels", "/decisions"]


def test_every_list_has_links(client: TestClient, database: Database) -> None:
    job_id, _ = rows.submit(database)
    rows.submit(database)
    rows.add_draws(database, job_id, chains=2, sweeps=3)
    rows.add_results(database, job_id)
    described = client.get("/openapi.json").json()["paths"]
    paged = {
        path
        for path, methods in described.items()
        for method in methods.values()
        if "cursor" in {each["name"] for each in method.get("parameters", [])}
    }
    assert len(paged) == len(PAGED) + len(OF_JOB) + 1, "and the lineage of a category"
    for path in [*PAGED, *(f"/v1/jobs/{job_id}{each}" for each in OF_JOB)]:
        answer = client.get(f"{path}?limit=1")
        found = links(answer)
        assert found["first"] == f"{path}?limit=1"
        assert ("next" in found) is (answer.json()["next"] is not None), path
        if "next" in found:
            assert client.get(found["next"]).status_code == 200


def test_links_lead_below_the_root_path(settings: Settings, database: Database) -> None:
    rows.submit(database)
    with TestClient(create_app(settings.model_copy(update={"root_path": "/newfound"}))) as client:
        for path in (f"/newfound{CORPUS}/documents?limit=2", f"{CORPUS}/documents?limit=2"):
            assert links(client.get(path))["next"].startswith(f"/newfound{CORPUS}/documents?limit=2&cursor=")


# Other origins


def preflight(client: TestClient, origin: str = ORIGIN) -> Any:
    """The answer to what a browser asks before it sends a request of another origin's page."""
    headers = {
        "Origin": origin,
        "Access-Control-Request-Method": "PATCH",
        "Access-Control-Request-Headers": "authorization,if-match,content-type",
    }
    return client.options("/v1/jobs", headers=headers)


def test_pages_of_other_origins_read_nothing_by_default(client: TestClient) -> None:
    for answer in (preflight(client), client.get("/v1/jobs", headers={"Origin": ORIGIN})):
        assert not [name for name in answer.headers if name.startswith("access-control-")]


def test_pages_of_origins_that_the_operator_names_read_answers_and_their_headers(settings: Settings) -> None:
    named = settings.model_copy(update={"cors_origins": f"http://localhost:3000, {ORIGIN}"})
    with TestClient(create_app(named)) as client:
        asked = preflight(client)
        assert asked.status_code == 200 and asked.headers["Access-Control-Allow-Origin"] == ORIGIN
        assert "authorization" in asked.headers["Access-Control-Allow-Headers"]
        assert "PATCH" in asked.headers["Access-Control-Allow-Methods"]
        assert preflight(client, "https://elsewhere.example").status_code == 400
        for path, status in (("/v1/jobs", 200), (NO_JOB, 404), ("/v1/jobs?limit=0", 422)):
            answer = client.get(path, headers={"Origin": ORIGIN})
            assert (answer.status_code, answer.headers["Access-Control-Allow-Origin"]) == (status, ORIGIN)
            assert "Access-Control-Allow-Credentials" not in answer.headers and "Origin" in answer.headers["Vary"]
            exposed = answer.headers["Access-Control-Expose-Headers"].split(", ")
            assert {"ETag", "Link", "Location", "Retry-After", "X-Request-ID", "Idempotent-Replayed"} <= set(exposed)
        stranger = client.get("/v1/jobs", headers={"Origin": "https://elsewhere.example"})
        assert "Access-Control-Allow-Origin" not in stranger.headers


@pytest.mark.parametrize("origins", ["*", "", ORIGIN, f"{ORIGIN}, http://[::1]:3000", "http://localhost:3000"])
def test_origins_are_written_as_browsers_write_them(origins: str) -> None:
    assert Settings(cors_origins=origins).cors_origins == origins


@pytest.mark.parametrize(
    "origins", ["reviews.example", f"{ORIGIN}/", f"{ORIGIN}/path", "ftp://a.b", "null", "https://*", f"{ORIGIN};"]
)
def test_what_is_no_origin_is_refused(origins: str) -> None:
    with pytest.raises(ValidationError, match="cors_origins"):
        Settings(cors_origins=origins)
