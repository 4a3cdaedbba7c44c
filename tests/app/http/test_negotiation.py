"""Accept: a list comes as the file that its export is, and what there is not is a 406 that says what there is."""

import csv
import io
import json

import pytest
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.errors import PROBLEM
from app.http.main import create_app, routes
from app.http.negotiation import EXPORTS, Offer, best, readings
from tests.app import rows
from tests.app.exports.documents import documents, fill
from tests.app.http.test_problems import check

CORPUS = f"/v1/corpora/{rows.CORPUS}"
CSV, NDJSON, JSON = "text/csv", "application/x-ndjson", "application/json"
REFUSED = "urn:newfound:problem:not-acceptable"


@pytest.fixture(params=["sqlite"])
def kind(request: pytest.FixtureRequest) -> str:
    """One database is enough here: what is asked of it is asked elsewhere."""
    return str(request.param)


@pytest.fixture
def job(database: Database) -> str:
    """Address of a job with results and a trace."""
    job_id, _ = rows.submit(database)
    fill(database, documents(6, fields={"year": "2024"}))
    rows.add_draws(database, job_id, chains=2, sweeps=3)
    rows.add_results(database, job_id)
    rows.end(database, job_id)
    return f"/v1/jobs/{job_id}"


LISTS = [
    ("{corpus}/documents", "{corpus}/export?format="),
    ("{job}/documents", "{job}/documents/export?format="),
    ("{job}/documents?category=1", "{job}/documents/export?category=1&format="),
    ("{job}/categories", "{job}/categories/export?format="),
    ("{job}/trace", "{job}/trace/export?format="),
    ("{job}/groups?by=year", "{job}/groups?by=year&format="),
    ("{job}/sources?field=year", "{job}/sources?field=year&format="),
]


@pytest.mark.parametrize("path, export", LISTS)
def test_a_list_comes_as_csv_and_ndjson_as_its_export_does(
    client: TestClient, job: str, path: str, export: str
) -> None:
    path, export = (each.format(corpus=CORPUS, job=job) for each in (path, export))
    for accepted, name in ((CSV, "csv"), (NDJSON, "ndjson")):
        if name == "ndjson" and "/export" not in export:
            check(client.get(path, headers={"Accept": accepted}), 406, REFUSED)
            continue
        answer, expected = client.get(path, headers={"Accept": accepted}), client.get(export + name)
        assert answer.status_code == expected.status_code == 200, answer.text
        assert answer.content == expected.content and len(answer.content) > 20
        assert answer.headers["Content-Type"] == expected.headers["Content-Type"]
        assert answer.headers.get("Content-Disposition") == expected.headers.get("Content-Disposition")
        assert "Accept" in answer.headers["Vary"].split(", ")
    for accepted in (JSON, "*/*", "", "application/*", f"{JSON}, text/plain, */*"):
        answer = client.get(path, headers={"Accept": accepted})
        assert isinstance(answer.json(), dict) and "Accept" in answer.headers["Vary"].split(", "), accepted


def test_the_rows_are_those_of_the_list(client: TestClient, job: str) -> None:
    listed = [each["key"] for each in client.get(f"{job}/documents").json()["documents"]]
    table = csv.DictReader(io.StringIO(client.get(f"{job}/documents", headers={"Accept": CSV}).text, newline=""))
    assert [row["key"] for row in table] == listed
    lines = client.get(f"{job}/documents", headers={"Accept": NDJSON}).text.splitlines()
    assert [json.loads(line)["key"] for line in lines] == listed


OFFERS = [Offer(JSON), Offer(CSV, "csv"), Offer(NDJSON, "ndjson")]


@pytest.mark.parametrize(
    "accepted, kind",
    [
        (None, JSON), ("", JSON), ("*/*", JSON), ("*/*;q=0.1", JSON), ("application/*", JSON), ("text/*", CSV),
        (CSV, CSV), ("TEXT/CSV", CSV), ("text/csv; header=present", CSV), (f"{CSV};q=0.5, {JSON}", JSON),
        (f"{CSV}, {JSON};q=0.9", CSV), (f"{CSV}, {JSON}", JSON), (f"{CSV}, */*", CSV),
        (f"{JSON}, text/plain, */*", JSON), ("text/html, application/xml;q=0.9, */*;q=0.8", JSON),
        (f"*/*, {JSON};q=0", CSV), (f"{NDJSON}, {JSON};q=0.2", NDJSON), (f"{JSON};q=0.001", JSON),
        (f"{JSON};q=0, {CSV};q=0, */*;q=0.1", NDJSON), (f"application/*;q=0.2, {CSV};q=0.1", JSON),
        ("text/plain", None), (f"{JSON};q=0", None), ("*/*;q=0", None), ("nonsense", None),
        (f"{CSV};q=0.000, image/*", None),
    ],
)  # fmt: skip
def test_the_type_is_the_one_that_is_wanted_most(accepted: str | None, kind: str | None) -> None:
    found = best(accepted, OFFERS)
    assert (found.kind if found else None) == kind


def test_a_406_says_what_there_is_and_is_a_problem_all_the_same(client: TestClient, job: str) -> None:
    answer = client.get(f"{job}/documents", headers={"Accept": "image/png"})
    check(answer, 406, REFUSED)
    assert answer.headers["Content-Type"] == PROBLEM
    for kind in (JSON, CSV, NDJSON, "image/png"):
        assert kind in answer.json()["detail"]
    check(client.get(job, headers={"Accept": CSV}), 406, REFUSED)
    for accepted in (CSV, JSON, "text/html"):
        check(client.get("/v1/nothing", headers={"Accept": accepted}), 404, "urn:newfound:problem:not-found")
    nobody = "/v1/jobs/00000000-0000-0000-0000-000000000000/documents"
    check(client.get(nobody, headers={"Accept": CSV}), 404, "urn:newfound:problem:job-not-found")


def test_a_format_in_the_query_counts_for_more_than_accept(client: TestClient, job: str) -> None:
    answer = client.get(f"{job}/documents/export?format=ndjson", headers={"Accept": CSV})
    assert answer.headers["Content-Type"] == NDJSON
    answer = client.get(f"{job}/documents/export", headers={"Accept": NDJSON})
    assert answer.headers["Content-Type"] == NDJSON
    check(client.get(f"{job}/documents/export", headers={"Accept": "image/png"}), 406, REFUSED)


def test_a_file_has_all_rows_so_it_takes_no_page(client: TestClient, job: str) -> None:
    answer = client.get(f"{job}/documents?limit=2", headers={"Accept": CSV})
    check(answer, 422, "urn:newfound:problem:malformed-request")
    assert answer.json()["errors"][0]["where"] == "query.limit"


def test_requests_that_change_something_are_done_whatever_they_accept(client: TestClient) -> None:
    assert client.post("/v1/corpora", json={"name": "a"}, headers={"Accept": CSV}).status_code == 201
    assert client.get("/livez", headers={"Accept": "text/plain"}).status_code == 204


def test_below_a_root_path_lists_come_as_files_too(database: Database, job: str, settings: object) -> None:
    below = settings.model_copy(update={"root_path": "/newfound"})  # type: ignore[attr-defined]
    with TestClient(create_app(below)) as client:
        for path in (f"/newfound{job}/trace", f"{job}/trace"):
            answer = client.get(path, headers={"Accept": CSV})
            assert answer.headers["Content-Type"].startswith(CSV), answer.text


def test_every_operation_that_reads_offers_something_and_every_export_is_of_a_list() -> None:
    found = readings(routes())
    assert len(found) >= 40 and all(reading.offers for reading in found)
    assert sum(any(offer.path for offer in reading.offers) for reading in found) == len(EXPORTS)
    sizes = {path: len(reading.offers) for path in EXPORTS for reading in found if reading.path.fullmatch(path)}
    assert set(sizes.values()) == {5} and sizes.keys() == EXPORTS.keys()
