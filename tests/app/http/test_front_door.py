"""What holds for every request: methods, queries, kinds and sizes of bodies."""

import pytest
from starlette.testclient import TestClient

from app.core.settings import Settings
from app.http.dependencies import MAX_BODY_BYTES
from tests.app.http.test_problems import check
from tests.app.server import running

NO_ID = "00000000-0000-0000-0000-000000000000"


@pytest.fixture(params=["sqlite"])
def kind(request: pytest.FixtureRequest) -> str:
    """One database is enough here: it is asked next to nothing."""
    return str(request.param)


# Queries


@pytest.mark.parametrize(
    "path, name, reason",
    [
        ("/v1/jobs?limt=1", "limt", "there is no parameter 'limt'; did you mean 'limit'?"),
        (
            "/v1/jobs?limit=1&zzz=2",
            "zzz",
            "there is no parameter 'zzz'; the parameters are corpus_id, cursor, limit, name, status, tag",
        ),
        ("/v1/corpora?status=queued", "status", "there is no parameter 'status'; the parameters are cursor, limit"),
        (f"/v1/jobs/{NO_ID}?a", "a", "there is no parameter 'a'; this operation has none"),
        ("/health?verbose=1", "verbose", "there is no parameter 'verbose'; this operation has none"),
        ("/v1/jobs?limit=1&limit=1", "limit", "the parameter 'limit' is given more than once"),
        ("/v1/jobs?Limit=1", "Limit", "there is no parameter 'Limit'; did you mean 'limit'?"),
        ("/v1/jobs?=1", "", "there is no parameter ''; the parameters are corpus_id, cursor, limit, name, status, tag"),
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
    same = {"X-Request-ID": "one", "Accept-Encoding": "identity"}
    head, get = client.head(path, headers=same), client.get(path, headers=same)
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
    f"/v1/corpora/{NO_ID}": "DELETE, GET, HEAD, OPTIONS, PATCH",
    f"/v1/corpora/{NO_ID}/documents": "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT",
    f"/v1/corpora/{NO_ID}/documents/a/b": "DELETE, GET, HEAD, OPTIONS, PATCH",
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
        implied = {"HEAD"} if "get" in methods else set()
        if path.endswith(("/corpora/{corpus_id}/documents", "/score", "/categorize", "/v1/models")):
            implied.add("PUT")  # for `curl -T`
        if path.endswith("/vectors"):
            implied.add("POST")  # for `curl --data-binary`
        assert {method.upper() for method in methods} | {"OPTIONS"} == set(allowed) - implied


def test_options_of_an_unknown_path_is_a_404(client: TestClient) -> None:
    for path in ("/nothing", "/v1", "/v1/nothing", "*"):
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
