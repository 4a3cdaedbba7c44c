"""Files made to harm, sent to every operation of a real process that takes files: it stays small, quick and clean."""

import json
from collections.abc import Iterator

import pytest

from app.core.errors import PROBLEM
from app.core.settings import Settings
from tests.hostile.files import CSV, FILES, MODELS, NDJSON, VECTORS, Hostile, made
from tests.hostile.watched import MAX_UPLOAD, Watched
from tests.waits import slowness, wait_for
from tests.worker import jobs

pytestmark = pytest.mark.slow

GROWTH = 100_000_000  # bytes over an idle process
HEALTH_SECONDS = 0.25
EVERYWHERE = [
    file for file in FILES if file.name.startswith(("a bomb of gzip", "a workbook with a far", "100,000", "a form of"))
]


@pytest.fixture(scope="module")
def service() -> Iterator[Watched]:
    """The service, with a job that has a model."""
    service = Watched()
    try:
        settings = Settings(data_folder=service.folder / "data", database_url=service.server.url)
        job_id = jobs.finished(service.database, settings, jobs.submit_calibrated, text={"min_document_frequency": 1})
        service.paths = {  # type: ignore[attr-defined]
            "documents": f"/v1/corpora/{new_corpus(service)}/documents",
            "vectors": f"/v1/corpora/{new_corpus(service)}/vectors",
            "categorize": f"/v1/jobs/{job_id}/categorize",
            "score": f"/v1/jobs/{job_id}/score",
            "models": "/v1/models",
        }
        yield service
    finally:
        service.close()


def new_corpus(service: Watched) -> str:
    """The id of an empty corpus."""
    answer = service.send("POST", "/v1/corpora", b'{"name": "hostile"}', {"Content-Type": "application/json"})
    return str(json.loads(answer.body)["id"])


def check(service: Watched, file: Hostile, operation: str, statuses: tuple[int, ...]) -> None:
    """Send a file, and see that the answer is one of these and the process as it was."""
    data = made(file)
    headers = {"Content-Type": file.content_type}
    headers |= {"Content-Encoding": file.encoding} if file.encoding else {}
    path = service.paths[operation]  # type: ignore[attr-defined]
    with service.watching() as seen:
        answer = service.send("PUT" if operation == "vectors" else "POST", path, data, headers)
    assert answer.status in statuses, (answer.status, answer.body[:500])
    assert answer.content_type == (PROBLEM if answer.status >= 400 else "application/json")
    assert len(answer.body) < 200_000
    assert seen[0].grown < GROWTH
    assert seen[0].slowest < HEALTH_SECONDS * slowness()
    wait_for(lambda: service.descriptors() == [], "no file is left open")
    assert list(service.uploads.iterdir()) == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_hostile_file_of_documents_is_refused_or_read_in_flat_memory(service: Watched, file: Hostile) -> None:
    check(service, file, "documents", file.statuses)


@pytest.mark.parametrize("operation", ["vectors", "categorize", "score", "models"])
@pytest.mark.parametrize("file", EVERYWHERE, ids=lambda file: file.name)
def test_so_it_is_wherever_files_are_taken(service: Watched, file: Hostile, operation: str) -> None:
    check(service, file, operation, (413, 415, 422))


@pytest.mark.parametrize("file", VECTORS, ids=lambda file: file.name)
def test_hostile_vectors_are_refused(service: Watched, file: Hostile) -> None:
    check(service, file, "vectors", file.statuses)


@pytest.mark.parametrize("file", MODELS, ids=lambda file: file.name)
def test_a_hostile_model_is_refused(service: Watched, file: Hostile) -> None:
    check(service, file, "models", file.statuses)


@pytest.mark.parametrize("content_type", [NDJSON, CSV])
def test_a_body_of_a_gigabyte_in_chunks_is_refused_at_the_limit(service: Watched, content_type: str) -> None:
    chunks = (b"x" * 999_999 + b"\n" for _ in range(1_000))  # the service reads on, and keeps nothing
    with service.watching() as seen:
        path = service.paths["documents"]  # type: ignore[attr-defined]
        answer = service.send("POST", path, chunks, {"Content-Type": content_type})
    assert (answer.status, answer.content_type) == (413, PROBLEM)
    assert str(MAX_UPLOAD).encode() in answer.body
    assert seen[0].grown < GROWTH and seen[0].slowest < HEALTH_SECONDS * slowness()
