"""Under which addresses the service answers: hosts, slashes, a root path, proxies."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.core.settings import Settings
from app.http.hosts import TrustedHosts
from app.http.main import create_app
from tests.app.http.test_problems import check
from tests.app.server import running


@pytest.fixture(params=["sqlite"])
def kind(request: pytest.FixtureRequest) -> str:
    """One database is enough here: it is asked next to nothing."""
    return str(request.param)


def ask(settings: Settings, method: str, path: str, **options: Any) -> Any:
    """The answer of a service with other settings."""
    with TestClient(create_app(settings), follow_redirects=False) as client:
        return client.request(method, path, **options)


@pytest.mark.parametrize(
    "host",
    ["localhost", "LocalHost:8000", "localhost.", "127.0.0.1", "127.0.0.1:80", "[::1]", "[::1]:8000", "[0:0::1]"],
)
def test_a_loopback_service_answers_to_loopback(settings: Settings, host: str) -> None:
    answer = ask(settings.model_copy(update={"trusted_hosts": ""}), "GET", "/health", headers={"Host": host})
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "evil.localhost", "127.0.0.2", "192.0.2.1:8000", "[::2]", "0.0.0.0"],
)
def test_another_host_is_a_421_that_names_the_setting_and_touches_nothing(settings: Settings, host: str) -> None:
    untrusting = settings.model_copy(update={"trusted_hosts": ""})
    for method, path in (
        ("GET", "/health"),
        ("POST", "/v1/corpora"),
        ("GET", "/docs"),
        ("OPTIONS", "/"),
        ("GET", "/no"),
    ):
        answer = ask(untrusting, method, path, headers={"Host": host}, json={"name": "x"})
        check(answer, 421, "urn:newfound:problem:misdirected-request")
        assert "NEWFOUND_TRUSTED_HOSTS" in answer.json()["detail"]
        assert host.partition(":")[0] in answer.json()["detail"]
    assert ask(settings, "GET", "/v1/corpora").json()["corpora"] == []


@pytest.mark.parametrize("host", ["", "a b", "a/b", "a@b", "a:b", "a:1:2", "[::1", "::1", "a:123456", "\xe4", "a,b"])
def test_a_host_that_is_none_is_a_400(client: TestClient, host: str) -> None:
    check(client.get("/health", headers=[("Host", host.encode("latin-1"))]), 400, "urn:newfound:problem:bad-request")


def test_a_request_names_one_host(settings: Settings) -> None:
    with running(settings) as api:
        for hosts in (b"", b"Host: localhost\r\nHost: localhost\r\n"):
            reply = api.ask(b"GET /health HTTP/1.1\r\n" + hosts + b"\r\n")
            assert (reply.status, reply.json()["type"]) == (400, "urn:newfound:problem:bad-request")
        assert api.ask(b"GET /health HTTP/1.1\r\nHost: evil.example\r\n\r\n").status == 421
        assert api.ask(b"GET http://evil.example/health HTTP/1.1\r\nHost: localhost:1\r\n\r\n").status == 200


@pytest.mark.parametrize(
    "bound, more, yes, no",
    [
        ("192.0.2.7", "", ["192.0.2.7", "localhost"], ["192.0.2.8"]),
        ("api.example.org", "", ["api.example.org", "localhost"], ["www.example.org"]),
        ("0.0.0.0", "", ["192.0.2.8", "[2001:db8::1]", "localhost"], ["evil.example", "1.evil.example"]),
        ("::", "api", ["192.0.2.8", "api"], ["evil.example"]),
        ("127.0.0.1", "API, b.example.org", ["api", "b.example.org", "127.0.0.1"], ["c.example.org", "192.0.2.1"]),
        ("127.0.0.1", "*.example.org", ["a.example.org", "a.b.example.org"], ["example.org", "aexample.org"]),
        ("127.0.0.1", "192.0.2.1,2001:db8::1", ["192.0.2.1", "[2001:db8::1]"], ["192.0.2.2"]),
        ("127.0.0.1", "*", ["anything.example", "192.0.2.1"], []),
    ],
)
def test_which_hosts_are_trusted(bound: str, more: str, yes: list[str], no: list[str]) -> None:
    trusted = TrustedHosts(bound, Settings(trusted_hosts=more).trusted_hosts)
    assert [host for host in yes + no if trusted.trusts(host)] == yes


@pytest.mark.parametrize("hosts", ["a b", "http://a", "a:80", "a,,b", "**", "a/b"])
def test_a_list_of_hosts_that_is_none_is_no_setting(hosts: str) -> None:
    with pytest.raises(ValueError, match="trusted_hosts"):
        Settings(trusted_hosts=hosts)


@pytest.mark.parametrize("root", ["", "/new/found"])
def test_a_slash_too_many_leads_to_the_right_path_and_to_no_other_host(settings: Settings, root: str) -> None:
    settings = settings.model_copy(update={"root_path": root, "trusted_hosts": "*"})
    for method, path, location in (
        ("GET", "/v1/jobs/?limit=1", "/v1/jobs?limit=1"),
        ("POST", "/v1/jobs/", "/v1/jobs"),
        ("GET", "/health//", "/health"),
        ("GET", "/v1/jobs/%0d%0aa:b/", "/v1/jobs/%0D%0Aa%3Ab"),
        ("GET", "/docs/", "/docs"),
    ):
        for prefix in {"", root}:
            answer = ask(settings, method, prefix + path, headers={"Host": "evil.example"})
            assert (answer.status_code, answer.headers["Location"]) == (308, root + location)
    for path in ("//evil.example/", "//evil.example/v1/jobs/", "/nothing/"):
        assert ask(settings, "GET", "http://testserver" + path).status_code == 404


@pytest.fixture
def below(settings: Settings) -> Iterator[TestClient]:
    """A client of a service below a root path."""
    with TestClient(create_app(settings.model_copy(update={"root_path": "/new/found"}))) as client:
        yield client


@pytest.mark.parametrize("prefix", ["", "/new/found"], ids=["taken-off", "left-on"])
def test_below_a_root_path_all_addresses_are_those_that_clients_see(below: TestClient, prefix: str) -> None:
    corpus = below.post(f"{prefix}/v1/corpora", json={"name": "a"})
    assert corpus.headers["Location"] == f"/new/found/v1/corpora/{corpus.json()['id']}"
    headers = {"Content-Type": "application/x-ndjson"}
    documents = b'{"text": "galaxy", "label": "a"}\n{"text": "galaxy"}\n' * 5
    assert below.post(f"{corpus.headers['Location']}/documents", content=documents, headers=headers).status_code == 200
    job = below.post(f"{prefix}/v1/jobs", json={"corpus_id": corpus.json()["id"]})
    assert job.headers["Location"] == job.json()["links"]["self"] == f"/new/found/v1/jobs/{job.json()['id']}"
    links = [link for link in job.json()["links"].values() if link is not None]
    assert all(link.startswith("/new/found/v1/jobs/") for link in links)
    assert below.get(job.headers["Location"]).json()["links"] == job.json()["links"]
    assert below.get(f"{prefix}/v1/nothing").json()["instance"] == "/new/found/v1/nothing"


@pytest.mark.parametrize("prefix", ["", "/new/found"], ids=["taken-off", "left-on"])
def test_below_a_root_path_the_pages_of_the_documentation_find_what_they_need(below: TestClient, prefix: str) -> None:
    assert below.get(f"{prefix}/openapi.json").json()["servers"] == [{"url": "/new/found"}]
    for page, asset in (("/docs", "swagger-ui-bundle.js"), ("/redoc", "redoc.standalone.js")):
        html = below.get(prefix + page).text
        assert "/new/found/openapi.json" in html
        assert f"/new/found/static-offline-docs/{asset}" in html
        assert below.get(f"{prefix}/static-offline-docs/{asset}").status_code == 200


@pytest.mark.parametrize("root", ["new", "/new/", "/", "//new", "http://new", "/ne w"])
def test_a_root_path_that_is_none_is_no_setting(root: str) -> None:
    with pytest.raises(ValueError, match="root_path"):
        Settings(root_path=root)


@pytest.mark.parametrize("proxies, client", [("", "127.0.0.1"), ("192.0.2.1", "127.0.0.1"), ("127.0.0.1", "192.0.2.9")])
def test_forwarded_headers_are_believed_of_known_proxies_alone(
    settings: Settings, proxies: str, client: str, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        caplog.at_level(logging.INFO, "app.http.access"),
        running(settings.model_copy(update={"forwarded_allow_ips": proxies})) as api,
    ):
        api.ask(b"GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 192.0.2.9\r\n\r\n")
    told = [record.__dict__["fields"]["client"] for record in caplog.records if record.name == "app.http.access"]
    assert told == [client]
