"""What holds for every request: hosts, methods, queries, kinds and sizes of bodies, the root path."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.core.settings import Settings
from app.http.dependencies import MAX_BODY_BYTES
from app.http.hosts import TrustedHosts
from app.http.main import create_app
from tests.app.http.test_problems import check
from tests.app.server import running

NO_ID = "00000000-0000-0000-0000-000000000000"


@pytest.fixture(params=["sqlite"])
def kind(request: pytest.FixtureRequest) -> str:
    """One database is enough here: it is asked next to nothing."""
    return str(request.param)


def ask(settings: Settings, method: str, path: str, **options: Any) -> Any:
    """The answer of a service with other settings."""
    with TestClient(create_app(settings), follow_redirects=False) as client:
        return client.request(method, path, **options)


# Hosts


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


# Queries


@pytest.mark.parametrize(
    "path, name, reason",
    [
        ("/v1/jobs?limt=1", "limt", "there is no parameter 'limt'; did you mean 'limit'?"),
        (
            "/v1/jobs?limit=1&zzz=2",
            "zzz",
            "there is no parameter 'zzz'; the parameters are corpus_id, cursor, limit, status",
        ),
        ("/v1/corpora?status=queued", "status", "there is no parameter 'status'; the parameters are cursor, limit"),
        (f"/v1/jobs/{NO_ID}?a", "a", "there is no parameter 'a'; this operation has none"),
        ("/health?verbose=1", "verbose", "there is no parameter 'verbose'; this operation has none"),
        ("/v1/jobs?limit=1&limit=1", "limit", "the parameter 'limit' is given more than once"),
        ("/v1/jobs?Limit=1", "Limit", "there is no parameter 'Limit'; did you mean 'limit'?"),
        ("/v1/jobs?=1", "", "there is no parameter ''; the parameters are corpus_id, cursor, limit, status"),
    ],
)
def test_a_query_is_refused_for_what_the_operation_does_not_have(
    client: TestClient, path: str, name: str, reason: str
) -> None:
    for method in ("GET", "HEAD"):
        assert client.request(method, path).status_code == 422
    answer = client.get(path)
    check(answer, 422, "urn:newfound:problem:malformed-request")
    assert answer.json()["errors"] == [{"where": f"query.{name}", "reason": reason}]


def test_operations_that_write_refuse_any_query_and_do_nothing(client: TestClient) -> None:
    made = client.post("/v1/corpora", json={"name": "a"})
    corpus = made.headers["Location"]
    for answer in (
        client.post("/v1/corpora?dry_run=1", json={"name": "b"}),
        client.delete(f"{corpus}?force=1"),
        client.post(f"{corpus}/documents?label=x", content=b'{"text": "a"}', headers={"Content-Type": "text/csv"}),
        client.post("/v1/jobs?wait=1", json={"corpus_id": made.json()["id"]}),
        client.post(f"/v1/jobs/{NO_ID}/cancel?now=1"),
    ):
        check(answer, 422, "urn:newfound:problem:malformed-request")
    [found] = client.get("/v1/corpora").json()["corpora"]
    assert (found["name"], found["version"]) == ("a", made.json()["version"])


def test_a_query_with_very_many_names_is_refused_for_the_first_ones(client: TestClient) -> None:
    answer = client.get("/v1/jobs?" + "&".join(f"name{n}=1" for n in range(5000)))
    assert (answer.status_code, len(answer.json()["errors"])) == (422, 10)


def test_an_unknown_path_is_a_404_whatever_its_query(client: TestClient) -> None:
    assert client.get("/v1/nothing?limit=1").status_code == 404


# Methods


@pytest.mark.parametrize("path", ["/health", "/v1/jobs", "/v1/corpora", "/openapi.json", "/docs", "/redoc"])
def test_head_has_the_headers_of_get_and_no_body(client: TestClient, path: str) -> None:
    head, get = client.head(path), client.get(path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers == get.headers
    assert int(head.headers["Content-Length"]) == len(get.content)


def test_head_of_what_is_not_there_is_a_404_as_get_is(settings: Settings) -> None:
    with running(settings) as api, api.connect() as connection:
        connection.send(b"HEAD /v1/jobs/%b HTTP/1.1\r\nHost: localhost\r\n\r\n" % NO_ID.encode())
        assert connection.reply(with_body=False).status == 404
        connection.send(b"HEAD /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connection.reply(with_body=False).status == 200
        connection.send(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connection.reply().json()["workers"] == 0


ALLOWED = {
    "/health": "GET, HEAD, OPTIONS",
    "/v1/jobs": "GET, HEAD, OPTIONS, POST",
    f"/v1/corpora/{NO_ID}": "DELETE, GET, HEAD, OPTIONS",
    f"/v1/corpora/{NO_ID}/documents": "OPTIONS, POST",
    f"/v1/jobs/{NO_ID}/cancel": "OPTIONS, POST",
    f"/v1/jobs/{NO_ID}/power-test": "GET, HEAD, OPTIONS, POST",
    "/openapi.json": "GET, HEAD, OPTIONS",
    "/docs": "GET, HEAD, OPTIONS",
    "/static-offline-docs/swagger-ui.css": "GET, HEAD, OPTIONS",
}


@pytest.mark.parametrize("path", ALLOWED)
def test_options_and_a_405_name_the_methods_that_a_path_has(client: TestClient, path: str) -> None:
    answer = client.options(path)
    assert (answer.status_code, answer.headers["Allow"], answer.content) == (204, ALLOWED[path], b"")
    for method in {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE"} - set(ALLOWED[path].split(", ")):
        answer = client.request(method, path)
        assert (answer.status_code, answer.headers["Allow"]) == (405, ALLOWED[path]), method
        if method != "HEAD":
            check(answer, 405, "urn:newfound:problem:method-not-allowed")


def test_every_operation_that_is_described_is_allowed(client: TestClient) -> None:
    for path, methods in client.get("/openapi.json").json()["paths"].items():
        allowed = client.options(path.replace("{", "").replace("}", "")).headers["Allow"].split(", ")
        assert {method.upper() for method in methods} | {"OPTIONS"} == set(allowed) - (
            {"HEAD"} if "get" in methods else set()
        )


def test_options_of_an_unknown_path_is_a_404(client: TestClient) -> None:
    for path in ("/", "/v1", "/v1/nothing", "*"):
        check(client.options(path), 404, "urn:newfound:problem:not-found")


# Bodies


@pytest.mark.parametrize("content_type", [None, "text/plain", "application/x-www-form-urlencoded", "application/jsonx"])
@pytest.mark.parametrize("path", ["/v1/corpora", "/v1/jobs", f"/v1/jobs/{NO_ID}/extend"])
def test_a_body_of_another_kind_is_a_415_that_says_which_is_right(
    client: TestClient, path: str, content_type: str | None
) -> None:
    headers = {} if content_type is None else {"Content-Type": content_type}
    for content in (b'{"name": "x"}', iter([b'{"name":', b' "x"}'])):
        answer = client.post(path, content=content, headers=headers)
        check(answer, 415, "urn:newfound:problem:unsupported-body")
        assert "application/json" in answer.json()["detail"]
        assert (content_type or "there is none") in answer.json()["detail"]


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "Application/JSON; charset=utf-8",
        "application/json;charset=utf-8",
        "application/merge-patch+json",
    ],
)
def test_json_may_be_called_by_all_its_names(client: TestClient, content_type: str) -> None:
    answer = client.post("/v1/corpora", content=b'{"name": "x"}', headers={"Content-Type": content_type})
    assert answer.status_code == 201


@pytest.mark.parametrize("headers", [{}, {"Content-Type": "application/json"}, {"Content-Type": "text/plain"}])
def test_a_body_that_is_missing_is_missed_in_plain_words(client: TestClient, headers: dict[str, str]) -> None:
    answer = client.post("/v1/corpora", headers=headers)
    check(answer, 422, "urn:newfound:problem:malformed-request")
    assert answer.json()["errors"] == [{"where": "body", "reason": "the request has no body; send a JSON object"}]


def test_json_that_is_none_is_refused_with_the_place(client: TestClient) -> None:
    answer = client.post("/v1/corpora", content=b'{"name": x}', headers={"Content-Type": "application/json"})
    check(answer, 422, "urn:newfound:problem:malformed-request")
    assert answer.json()["errors"] == [{"where": "body.9", "reason": "this is not JSON: Expecting value"}]
    for content in (b'{"name": "\xff"}', b"[" * 100_000):
        answer = client.post("/v1/corpora", content=content, headers={"Content-Type": "application/json"})
        check(answer, 422, "urn:newfound:problem:malformed-request")
        assert "JSON" in answer.json()["detail"]


def test_a_413_says_how_large_a_body_may_be_and_was(client: TestClient) -> None:
    body = b'"' + b"x" * MAX_BODY_BYTES + b'"'
    headers = {"Content-Type": "application/json"}
    for path in ("/v1/corpora", "/v1/jobs", f"/v1/jobs/{NO_ID}/extend"):
        answer = client.post(path, content=body, headers=headers)
        check(answer, 413, "urn:newfound:problem:body-too-large")
        assert answer.json()["detail"] == f"the body has {len(body)} bytes; at most {MAX_BODY_BYTES} are accepted"
        answer = client.post(path, content=iter([body[:100], body[100:]]), headers=headers)
        check(answer, 413, "urn:newfound:problem:body-too-large")
        assert answer.json()["detail"] == f"the body is larger than {MAX_BODY_BYTES} bytes"


# Slashes and the root path


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
    for path in ("//evil.example/", "//evil.example/v1/jobs/", "/nothing/", "/"):
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
        caplog.at_level(logging.INFO, "uvicorn.access"),
        running(settings.model_copy(update={"forwarded_allow_ips": proxies})) as api,
    ):
        api.ask(b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 192.0.2.9\r\n\r\n")
    assert [line.startswith(f"{client}:") for line in caplog.messages if "/health" in line] == [True]
