"""The client against a real server: what it sends arrives, and what goes wrong is an exception that says why."""

import http.server
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import update

import newfound_client.calls
import newfound_client.client
from app.core.db import Database
from app.core.tables import Job
from app.http import controls
from newfound_client import Client, JobNotSucceeded, NoAnswer, Refused, flat
from tests.app import rows
from tests.app.http.answered_jobs import Given, add_job
from tests.app.rows import CORPUS, add_corpus
from tests.waits import free_port

ROWS = [{"text": f"galaxy {n}", "label": "sky" if n % 2 else None, "key": f"k{n}", "Größe": n} for n in range(9)]
NO_FILTER = {"min_document_frequency": 1}


def documents(client: Client, corpus_id: str) -> list[tuple[Any, ...]]:
    return [
        (row["key"], row["text"], row["label"], row["fields"]) for row in client.corpus_documents(corpus_id, limit=4)
    ]


EXPECTED = [(row["key"], row["text"], row["label"], {"Größe": row["Größe"]}) for row in ROWS]


def test_rows_and_files_arrive_as_they_are(client: Client, tmp_path: Path) -> None:
    corpus_id = client.create_corpus("rows")["id"]
    assert client.upload(corpus_id, iter(ROWS))["added"] == len(ROWS)
    assert documents(client, corpus_id) == EXPECTED
    file = tmp_path / 'Über "alles"\\.csv'
    lines = [f"{row['key']};{row['text']};{row['label'] or 'ohne'};{row['Größe']}\n" for row in ROWS]
    file.write_bytes(("Schlüssel;Inhalt;Kategorie;Größe\n" + "".join(lines)).encode("cp1252"))
    other = client.create_corpus("file")["id"]
    options = {"text": ["Inhalt"], "label": "Kategorie", "key": "Schlüssel", "unlabeled": "ohne", "sheet": None}
    answer = client.upload(other, file, charset="windows-1252", **options)
    assert (answer["format"], answer["delimiter"], answer["unlabeled"]) == ("csv", ";", 5)
    assert [(*row[:3], {"Größe": str(row[3]["Größe"])}) for row in EXPECTED] == documents(client, other)
    assert [(corpus["name"], corpus["documents"]) for corpus in client.corpora()] == [("file", 9), ("rows", 9)]


def test_what_is_no_upload_is_refused_before_it_is_sent(client: Client, tmp_path: Path) -> None:
    for wrong in (b"bytes", 7, {"text": "one mapping"}):
        with pytest.raises(TypeError, match=r"an upload is a path, rows or a frame, not \w+"):
            client.upload(CORPUS, wrong)
    with pytest.raises(FileNotFoundError):
        client.upload(CORPUS, tmp_path / "missing.csv")


def test_a_refusal_carries_its_problem(client: Client) -> None:
    with pytest.raises(Refused) as refused:
        client.job(CORPUS)
    assert (refused.value.status, refused.value.kind) == (404, "job-not-found")
    assert str(refused.value) == f"there is no job {CORPUS}"
    with pytest.raises(Refused, match=r"body\.sweeps: Input should be greater than or equal to 1"):
        client.submit(CORPUS, sweeps=0)


def test_a_file_that_is_too_large_is_refused_though_nobody_reads_it_to_its_end(client: Client, tmp_path: Path) -> None:
    file = tmp_path / "large.txt"
    file.write_bytes(b"galaxy\n" * 2**22)  # 28 MiB, and the limit is one
    corpus_id = client.create_corpus("large")["id"]
    with pytest.raises(Refused) as refused:
        client.upload(corpus_id, file)
    assert (refused.value.status, refused.value.kind) == (413, "upload-too-large")


def test_a_job_is_submitted_once_under_its_key_named_found_and_deleted(client: Client, database: Database) -> None:
    with database.sessions.begin() as session:
        add_corpus(session)
    facts: dict[str, Any] = {"name": "Ärger", "tags": ["herbst"], "note": "n"}
    settings: dict[str, Any] = {"discover": True, "seed": 7, "text": NO_FILTER, **facts}
    job = client.submit(CORPUS, idempotency_key="k", **settings)
    assert client.submit(CORPUS, idempotency_key="k", **settings)["id"] == job["id"]
    assert client.submit(CORPUS, **settings)["id"] != job["id"]
    assert (job["settings"]["seed"], job["name"], job["tags"], job["note"]) == (7, "Ärger", ["herbst"], "n")
    client.change_job(job["id"], name="other")
    assert [found["id"] for found in client.jobs(name="OTHER", tag=["Herbst"])] == [job["id"]]
    with pytest.raises(Refused, match="cancel it first"):
        client.delete_job(job["id"])
    assert client.cancel(job["id"])["status"] == "cancelled"
    with pytest.raises(JobNotSucceeded, match=r"^the job was cancelled$"):
        client.wait(job["id"])
    client.delete_job(job["id"])
    assert len(list(client.jobs(corpus_id=CORPUS))) == 1


def test_a_job_is_tried_before_it_is_submitted(client: Client) -> None:
    corpus_id = client.create_corpus("tried")["id"]
    client.upload(corpus_id, ROWS)
    tried = client.try_job(corpus_id, sweeps=30, text=NO_FILTER)
    assert list(client.jobs()) == []
    job = client.submit(corpus_id, sweeps=30, text=NO_FILTER)
    assert tried == {name: job[name] for name in ("forecast", "warnings", "settings")}
    with pytest.raises(Refused, match="keeps a word"):
        client.try_job(corpus_id, text={"min_document_frequency": 100})


def test_a_document_is_read_by_its_key_whatever_that_is(client: Client, database: Database) -> None:
    keys = ["a/b", "ü ?&#%", "plain"]
    job_id = add_job(database, [Given(key, category=0, probability=0.9) for key in keys]).job.rpartition("/")[2]
    for key in keys:
        found = client.document(job_id, key, decisions=False)
        assert (found["key"], found["text"], found["words"]) == (key, f"text of {key}", None)


def test_answers_come_with_their_texts_over_any_number_of_pages(
    client: Client, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(newfound_client.calls, "PAGE", 2)
    job_id, _ = rows.submit(database)
    rows.add_encoding(database, job_id)
    rows.add_results(database, job_id)
    answers = list(client.documents(job_id))
    expected = {row["key"]: row["text"] for row in client.corpus_documents(CORPUS)}
    assert len(answers) > 2
    assert {answer["key"]: answer["text"] for answer in answers} == expected
    assert client.categories(job_id)["categories"][0]["category"] == 0
    client.call("DELETE", f"/v1/corpora/{CORPUS}/documents/{answers[0]['key']}")
    assert list(client.documents(job_id)) == answers, "of the version that the job was submitted over"


def test_a_job_is_followed_until_it_has_ended(
    client: Client, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id, _ = rows.submit(database)
    seen = []

    def note(job: dict[str, Any]) -> None:
        seen.append(job["status"])
        status = {"queued": "running", "running": "paused", "paused": "succeeded"}.get(job["status"])
        with database.sessions.begin() as session:
            session.execute(update(Job).values(status=status or job["status"]))

    assert client.wait(job_id, note, every=0.0)["id"] == job_id
    assert seen == ["queued", "running", "paused", "succeeded"]
    with database.sessions.begin() as session:
        session.execute(update(Job).values(status="failed", error="no word is left"))
    with pytest.raises(JobNotSucceeded, match=r"^the job failed: no word is left$") as failed:
        client.wait(job_id)
    assert failed.value.job["id"] == job_id


def test_a_job_is_asked_for_as_often_as_the_service_says(
    client: Client, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id, _ = rows.submit(database)
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        with database.sessions.begin() as session:
            session.execute(update(Job).values(status="succeeded"))

    monkeypatch.setattr(newfound_client.client, "time", SimpleNamespace(sleep=sleep, monotonic=time.monotonic))
    monkeypatch.setattr(controls, "POLLS_OF_REST", 1e-6)  # as if its time left were hours
    assert client.wait(job_id)["status"] == "succeeded"
    assert slept == [controls.MOST_POLL_SECONDS]


@pytest.mark.parametrize("size", [0, 2**25])  # the second is more than a connection takes that nobody reads from
def test_a_request_that_nobody_answers_is_given_up(size: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = Client(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=0.2)
        with pytest.raises(NoAnswer, match=r"POST /v1/jobs was not answered by http://127.0.0.1:\d+: .*timed out"):
            client.connection.request("POST", "/v1/jobs", None, b"x" * size)
    with pytest.raises(NoAnswer, match=r"GET /health was not answered .*refused"):
        client.call("GET", "/health")


@contextmanager
def answering(*answers: tuple[int, bytes]) -> Iterator[str]:
    """A server that is none of ours, and gives these answers one after the other; its address."""
    left = list(answers)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = left.pop(0) if len(left) > 1 else left[0]
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:  # or a test that fails waits for it forever
            server.shutdown()
            thread.join()


def test_an_answer_of_something_else_says_what_it_was() -> None:
    with answering((502, b"<html>Bad\n Gateway</html>"), (200, b"<html>")) as url:
        with pytest.raises(Refused, match=r"^the answer was 502 Bad Gateway: <html>Bad Gateway</html>$"):
            Client(url).job(CORPUS)
        with pytest.raises(NoAnswer, match=f"was not answered by a Newfound service at {url}$"):
            Client(url).job(CORPUS)


def test_a_service_that_is_away_for_a_moment_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    running, ended = (b'{"status": "%b"}' % status for status in (b"running", b"succeeded"))
    with answering((200, running), (503, b""), (200, b"?"), (200, ended)) as url:
        statuses = [job["status"] for job in Client(url).follow("j", every=0.0)]
    assert statuses == ["running", "running", "running", "succeeded"]
    monkeypatch.setattr(newfound_client.client, "PATIENCE", 0.05)
    with answering((200, running), (503, b"")) as url, pytest.raises(Refused, match="503"):
        list(Client(url).follow("j", every=0.01))
    with answering((200, running), (404, b"")) as url, pytest.raises(Refused, match="404"):
        list(Client(url).follow("j", every=0.0))


def test_no_proxy_is_asked_for_a_service_on_this_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port()}")
    monkeypatch.delenv("no_proxy", raising=False)
    with answering((200, b'{"id": "a"}')) as url:
        assert Client(url).job("a") == {"id": "a"}
        assert Client(url.replace("127.0.0.1", "localhost")).job("a") == {"id": "a"}
    with pytest.raises(NoAnswer, match="refused"):
        Client("http://newfound.invalid").job("a")


@pytest.mark.parametrize("url", ["", "localhost:8000", "127.0.0.1", "ftp://host", "http://", "http://host/?a=b"])
def test_what_is_no_address_is_refused_at_once(url: str) -> None:
    with pytest.raises(ValueError, match="is not an address such as"):
        Client(url)


ANSWER: dict[str, Any] = {
    "key": "k",
    "category": 6,
    "name": "new 1",
    "known": False,
    "probability": 0.5,
    "known_probability": 0.25,
    "category_probability": 0.6,
    "runner_up": {"category": 2, "name": "optics", "probability": 0.125},
    "reason": None,
    "stability": 0.75,
    "copy_of": None,
    "fields": {"year": 2024, "category": "x"},
    "erased": False,
}


def test_an_answer_in_one_row_has_names_for_categories_and_every_field() -> None:
    assert list(flat({**ANSWER, "text": "t"}).items()) == [
        ("key", "k"),
        ("text", "t"),
        ("category", "new 1"),
        ("known", False),
        ("probability", 0.5),
        ("known_probability", 0.25),
        ("category_probability", 0.6),
        ("runner_up", "optics"),
        ("runner_up_probability", 0.125),
        ("stability", 0.75),
        ("reason", None),
        ("copy_of", None),
        ("year", 2024),
        ("fields.category", "x"),
    ]
    without = flat({**ANSWER, "runner_up": None})
    assert (without["runner_up"], without["runner_up_probability"], "text" in without) == (None, None, False)
