"""Whatever value a field is given, the service answers or refuses; the fields are those of the OpenAPI document."""

import base64
import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.settings import Settings
from tests.app import rows
from tests.app.openapi.furnished import Furnished, furnish

# As they stand in a URL: NUL, bytes that are no UTF-8, half of a surrogate pair, numbers that no column holds, ...
IN_URL = {
    *(
        "",
        "%00",
        "a%00b",
        "%FF",
        "%ED%A0%80",
        "%F4%8F%BF%BF",
        "%E2%80%AE",
        "%0D%0AX-Injected: 1",
        "%1B[31m",
        "a" * 2_000,
    ),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775809", "1" * 400, "0", "-1", "1.5"),
    *("1e999", "1e308", "NaN", "-Infinity", "0001-01-01", "9999-12-31", "10000-01-01", "2026-02-30"),
    *("'%3B DROP TABLE jobs%3B--", "%25", "%5C", "%2E%2E%2F%2E%2E", "%7B%7B7*7%7D%7D", "(((", "%22a", "[]"),
}
SURROGATE = "\ud800"
IN_JSON: list[Any] = [
    *("", "\0", SURROGATE, "\U0010ffff", "a" * 100_000, "'; DROP TABLE jobs;--", "{{7*7}}", "\r\nX: 1", "\x1b[31m"),
    *(2**31, 2**63 - 1, 2**63, -(2**63) - 1, 10**400, 0, -1, 1.5, 1e308, 5e-324, float("inf"), float("nan"), "1e999"),
    *(None, True, [], {}, [[]], ["\0"], [SURROGATE], [2**63], {"\0": 1}, {SURROGATE: 1}, "9999-12-31"),
]
ZERO_ID = "00000000-0000-0000-0000-000000000000"
CURSORS: list[Any] = [
    *(2**63, -(2**63) - 1, 2**63 - 1, 10**400, -1, 1.5, "\0", None, [], {}, [[[[[1]]]]], ["\0", 1], [1, "\0"]),
    *([1e308, ZERO_ID], [-1e308, ZERO_ID], [2**63, 2**63], [0, 2**63], [2**31, 0], [0.5, 2**63], [None, 2**63]),
]
HEADERS = ("Idempotency-Key", "If-Match", "If-None-Match", "Accept", "X-Request-Id", "Content-Type", "Accept-Encoding")
IN_HEADER = [
    "",
    "\xff",
    '"',
    "*",
    "a" * 5_000,
    "'; DROP TABLE jobs;--",
    "\x1b[31m",
    '"9223372036854775808"',
    ";q=1e999",
]
WITH_HEADERS = ("get_job", "get_documents", "submit_job", "upload_documents", "decide", "export_documents")


class Asked(NamedTuple):
    """A request with a nasty value in one place."""

    method: str
    url: str
    place: str
    content: bytes | None = None
    headers: dict[str, bytes] | None = None


def requests(document: Any, ids: dict[str, str]) -> Iterator[Asked]:
    """Requests of all operations, with every value in every place; those that delete come last."""
    operations = [
        (method, path, each) for path, methods in document["paths"].items() for method, each in methods.items()
    ]
    for method, path, operation in sorted(operations, key=lambda operation: operation[0] == "delete"):
        body = example_of(document, operation)
        content = None if body is None else json.dumps(body).encode()
        yield from of_parameters(method, path, operation, ids, content)
        yield from of_body(method, filled(path, operation, ids), body)


def of_parameters(
    method: str, path: str, operation: Any, ids: dict[str, str], content: bytes | None
) -> Iterator[Asked]:
    """Requests with nasty values in the path, the query and the headers."""
    url = filled(path, operation, ids)
    for parameter in operation.get("parameters", []):
        name, place = parameter["name"], f"{operation['operationId']}: {parameter['in']} {parameter['name']}"
        if parameter["in"] == "path":
            for value in IN_URL - {""}:
                yield Asked(method, filled(path, operation, {**ids, name: value}, quoted={name}), place, content)
        elif parameter["in"] == "query":
            for value in IN_URL | {quote(cursor_of(key)) for key in CURSORS if name == "cursor"}:
                yield Asked(method, f"{url}?{name}={value}", place, content)
    for name in HEADERS if operation["operationId"] in WITH_HEADERS else ():
        for value in IN_HEADER:
            place = f"{operation['operationId']}: header {name}"
            yield Asked(method, url, place, content, {name: value.encode("latin-1")})


def of_body(method: str, url: str, body: Any) -> Iterator[Asked]:
    """Requests with a nasty value in each place of a body."""
    for path in places(body):
        for value in IN_JSON:
            changed = deepcopy(body)
            inner = changed
            for step in path[:-1]:
                inner = inner[step]
            if path:
                inner[path[-1]] = value
            else:
                changed = value
            yield Asked(method, url, f"{method} {url}: body {path}", json.dumps(changed).encode())


def places(value: Any, *path: Any) -> Iterator[tuple[Any, ...]]:
    """Where in a body something stands, the body itself included."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for step, item in inner:
        yield from places(item, *path, step)


def example_of(document: Any, operation: Any) -> Any:
    """An example of an operation's JSON body, with all of its fields; None if it has none."""
    content = operation.get("requestBody", {"content": {}})["content"].get("application/json")
    if content is None:
        return None
    schema = content["schema"]
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    example = content.get("example") or schema["examples"][0]
    others = dict.fromkeys(schema.get("properties", {})) if isinstance(example, dict) else {}
    return {**others, **example} if isinstance(example, dict) else example


def filled(path: str, operation: Any, ids: dict[str, str], quoted: Any = ()) -> str:
    """The path with values for its parameters."""
    for parameter in operation.get("parameters", []):
        if parameter["in"] == "path":
            name = parameter["name"]
            value = ids.get(name, str(parameter["schema"].get("examples", ["x"])[0]))
            path = path.replace("{" + name + "}", value if name in quoted else quote(value, safe=""))
    return path


def cursor_of(key: Any) -> str:
    """A cursor as the service writes it."""
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode().rstrip("=")


@pytest.fixture
def furnished(client: TestClient, database: Database, settings: Settings) -> Furnished:
    """A service with one of everything."""
    return furnish(client, database, settings)


@pytest.mark.slow
def test_no_value_in_any_place_of_any_request_is_a_fault_of_the_server(furnished: Furnished) -> None:
    client, document = furnished.client, furnished.client.get("/openapi.json").json()
    faults, n = [], 0
    for asked in requests(document, furnished.ids):
        headers = {"Content-Type": b"application/json", **(asked.headers or {})}
        answer = client.request(asked.method, asked.url, content=asked.content, headers=headers)
        n += 1
        if answer.status_code >= 500 and asked.url.startswith("/readyz"):
            continue
        if answer.status_code >= 500 or (answer.status_code >= 400 and "detail" not in answer.json()):
            faults.append((answer.status_code, asked.place, asked.url[-80:], (asked.content or b"")[:200]))
    assert faults == []
    assert n > 5_000


@pytest.mark.parametrize("place", ["documents?label=", "export?label=", "documents?key=", "documents/"])
def test_a_nul_is_in_no_text_that_could_be_found(client: TestClient, place: str) -> None:
    corpus = client.post("/v1/corpora", json={"name": "corpus"}).headers["Location"]
    method = "DELETE" if "?key" in place else "GET"
    answer = client.request(method, f"{corpus}/{place}a%00b")
    assert answer.status_code == 422 and "NUL" in answer.json()["errors"][0]["reason"]


def test_a_cursor_beyond_all_decisions_is_refused(client: TestClient, database: Database) -> None:
    job_id, _ = rows.submit(database)
    answer = client.get(f"/v1/jobs/{job_id}/decisions", params={"cursor": cursor_of(2**31)})
    assert answer.status_code == 422
