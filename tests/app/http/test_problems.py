"""Every error is a problem (RFC 9457), whoever raises it."""

import errno
import logging
import sqlite3
from typing import Any, Never

import psycopg
import pytest
from sqlalchemy.exc import DatabaseError, InterfaceError, InternalError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.testclient import TestClient

from app.core.db import Database, is_disk_full
from app.core.errors import PROBLEM, ServiceError, title_of, type_of
from app.core.settings import Settings
from app.http.main import create_app

KINDS = ServiceError.__subclasses__()


def sqlite_error(code: int) -> sqlite3.OperationalError:
    """An error as the driver raises it."""
    error = sqlite3.OperationalError("why")
    error.sqlite_errorcode = code
    return error


SQL = ("SELECT 'a secret'", {"key": "a secret"})
DATABASE_ERRORS: dict[str, Exception] = {
    "refused": OperationalError(*SQL, Exception("connection refused\nDETAIL: a secret")),
    "interface": InterfaceError(*SQL, Exception("connection already closed")),
    "broken": InternalError(*SQL, Exception("terminated"), connection_invalidated=True),
    "pool": PoolTimeout("QueuePool limit reached"),
    "corrupt": DatabaseError(*SQL, Exception("malformed")),
    "full-sqlite": OperationalError(*SQL, sqlite_error(sqlite3.SQLITE_FULL)),
    "full-postgresql": OperationalError(*SQL, psycopg.errors.DiskFull("could not extend file\na secret")),
}


@pytest.fixture(params=["sqlite"])
def kind(request: pytest.FixtureRequest) -> str:
    """One database is enough here: none is asked."""
    return str(request.param)


@pytest.fixture
def broken(settings: Settings) -> TestClient:
    """A client of a service with paths that raise each kind of error."""
    app = create_app(settings)

    def path_that_raises(error: Exception, name: str = "") -> None:
        def endpoint() -> Never:
            raise error

        app.add_api_route(f"/{name or type(error).__name__}", endpoint, response_model=None)

    for kind in KINDS:
        path_that_raises(kind("what it was about"))
    path_that_raises(ZeroDivisionError("a secret"))
    for name, error in DATABASE_ERRORS.items():
        path_that_raises(error, name)
    return TestClient(app, raise_server_exceptions=False)


def check(answer: Any, status: int, type_: str) -> None:
    assert answer.status_code == status
    assert answer.headers["Content-Type"] == PROBLEM
    body = answer.json()
    assert body["type"] == type_
    assert body["status"] == status
    assert {"type", "title", "status", "detail", "instance"} <= body.keys()


@pytest.mark.parametrize("kind_of_error", KINDS, ids=lambda kind: kind.__name__)
def test_each_kind_of_refusal_is_a_problem_of_its_own(broken: TestClient, kind_of_error: type[ServiceError]) -> None:
    answer = broken.get(f"/{kind_of_error.__name__}")
    check(answer, kind_of_error.status, type_of(kind_of_error.__name__))
    assert answer.json()["title"] == title_of(kind_of_error)
    assert answer.json()["detail"] == "what it was about"


def test_types_of_problems_are_stable() -> None:
    assert type_of("JobFinished") == "urn:newfound:problem:job-finished"
    assert len({type_of(kind.__name__) for kind in KINDS}) == len(KINDS)


def test_a_mistake_of_the_service_is_logged_and_tells_nothing(
    broken: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        answer = broken.get("/ZeroDivisionError")
    check(answer, 500, "urn:newfound:problem:internal-error")
    assert "secret" not in answer.text
    assert "a secret" in caplog.text


@pytest.mark.parametrize("name", ["refused", "interface", "broken", "pool"])
def test_a_database_that_is_away_is_a_503_and_one_line_of_log(
    broken: TestClient, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """What clients sent, which the statement and its parameters may hold, is in neither."""
    answer = broken.get(f"/{name}")
    check(answer, 503, "urn:newfound:problem:database-unavailable")
    assert answer.headers["Retry-After"] == "5"
    [line] = [record for record in caplog.records if record.name == "app.http.problems"]
    assert (line.levelname, line.exc_info) == ("ERROR", None)
    assert line.getMessage().startswith(f"GET /{name}: ")
    assert "\n" not in line.getMessage()
    assert "secret" not in answer.text + caplog.text


def test_another_error_of_the_database_is_an_internal_one(broken: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    answer = broken.get("/corrupt")
    check(answer, 500, "urn:newfound:problem:internal-error")
    assert "Traceback" in caplog.text


@pytest.mark.parametrize("name", ["full-sqlite", "full-postgresql"])
def test_a_full_disk_is_a_507_and_one_line_of_log(
    broken: TestClient, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    answer = broken.get(f"/{name}")
    check(answer, 507, "urn:newfound:problem:storage-full")
    assert answer.json()["title"] == "The disk of the service is full"
    [line] = [record for record in caplog.records if record.name == "app.http.problems"]
    assert line.exc_info is None
    assert "secret" not in answer.text + caplog.text


def test_an_sqlite_database_without_room_says_that_the_disk_is_full(database: Database) -> None:
    """A limit of its pages does to it what a full disk does."""
    with database.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 1")  # as many as there are
        with pytest.raises(OperationalError) as raised:
            for _ in range(100):
                values = "hex(randomblob(9)), zeroblob(9999), 0, 0"
                connection.exec_driver_sql(f"INSERT INTO corpora (id, name, version, created_at) VALUES ({values})")
    assert is_disk_full(raised.value)
    assert is_disk_full(raised.value.orig)  # type: ignore[arg-type]


@pytest.mark.parametrize("number, full", [(errno.ENOSPC, True), (errno.EDQUOT, True), (errno.ENOENT, False)])
def test_a_system_without_room_says_that_the_disk_is_full(number: int, full: bool) -> None:
    assert is_disk_full(OSError(number, "why")) == full
    assert not is_disk_full(sqlite3.OperationalError("database is locked"))


def test_an_unknown_path_is_a_404(client: TestClient) -> None:
    check(client.get("/nothing/here?at=all"), 404, "urn:newfound:problem:not-found")


def test_a_wrong_method_is_a_405_that_allows_the_right_ones(client: TestClient) -> None:
    answer = client.put("/v1/jobs")
    check(answer, 405, "urn:newfound:problem:method-not-allowed")
    assert answer.headers["Allow"] == "GET, HEAD, OPTIONS, POST"


@pytest.mark.parametrize(
    "body", [b"{", b"\xff", b"[]", b"", b'{"name": "a\\u0000"}', b'{"name": "\\ud800"}', b'{"name": ""}']
)
def test_a_body_that_cannot_be_read_is_a_422_with_its_errors(client: TestClient, body: bytes) -> None:
    answer = client.post("/v1/corpora", content=body, headers={"Content-Type": "application/json"})
    check(answer, 422, "urn:newfound:problem:malformed-request")


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_is_too_large_is_a_413_with_and_without_a_length(client: TestClient, chunked: bool) -> None:
    body = b'"' + b"x" * 2**20 + b'"'
    content = iter([body[: 2**19], body[2**19 :]]) if chunked else body
    answer = client.post("/v1/corpora", content=content, headers={"Content-Type": "application/json"})
    check(answer, 413, "urn:newfound:problem:body-too-large")


@pytest.mark.parametrize(
    "job_id", ["1", "%00", "b9a1d7c2-1f6e-4a38-8f0b-6f2f4f1f7e15%0A", "B9A1D7C2-1F6E-4A38-8F0B-6F2F4F1F7E15"]
)
def test_what_is_no_id_is_not_found(client: TestClient, job_id: str) -> None:
    for path in ("", "/trace", "/categories", "/documents"):
        check(client.get(f"/v1/jobs/{job_id}{path}"), 404, "urn:newfound:problem:job-not-found")
    for verb in ("cancel", "pause", "resume", "extend"):
        answer = client.post(f"/v1/jobs/{job_id}/{verb}", json={"sweeps": 1})
        check(answer, 404, "urn:newfound:problem:job-not-found")


def test_a_job_that_nobody_knows_is_not_found(client: TestClient) -> None:
    test_what_is_no_id_is_not_found(client, "b9a1d7c2-1f6e-4a38-8f0b-6f2f4f1f7e15")


def test_every_kind_of_refusal_has_a_docstring_for_its_title() -> None:
    assert all(kind.__doc__ for kind in KINDS)
