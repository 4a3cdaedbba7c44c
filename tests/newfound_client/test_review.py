"""The review of an answer from Python: decisions, jobs that continue, and the loop that the documents show."""

import http.client
import http.server
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

import newfound_client.calls
from app.broker import queue
from app.core.db import Database
from app.core.settings import Settings
from app.core.tables import Answer
from newfound_client import Client, Refused
from tests.app.http import compared_jobs
from tests.app.http.answered_jobs import Given, add_job
from tests.waits import PATIENCE
from tests.worker import jobs

PAGE = Path(__file__).resolve().parents[2] / "docs" / "shell-and-python.md"
RENAME = {"kind": "name", "category": "optics", "name": "Optics of lasers"}
PIN = {"kind": "pin", "documents": ["p0"], "category": "astronomy"}


@pytest.fixture
def job_id(database: Database) -> str:
    """A job that has answered three documents with one new category and one with another, none of them surely."""
    given = [Given(f"p{n}", category=2, probability=0.4, known_probability=0.1) for n in range(3)]
    given.append(Given("e0", category=3, probability=0.3, known_probability=0.1))
    found = add_job(database, given).job.rpartition("/")[2]
    with database.sessions.begin() as session:
        session.execute(update(Answer).values(runner_up=0, runner_up_probability=0.2))
    return found


def names_of(client: Client, job_id: str, **filters: Any) -> dict[str, str]:
    return {each["key"]: each["name"] for each in client.documents(job_id, **filters)}


def exported(client: Client, job_id: str, **options: Any) -> str:
    file = BytesIO()
    client.export(job_id, file, "csv", **options)
    return file.getvalue().decode()


def test_decisions_show_at_once_unless_they_are_left_out_and_can_be_undone(
    client: Client, job_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(newfound_client.calls, "PAGE", 2)
    as_it_was = names_of(client, job_id)
    made = client.decide(job_id, RENAME, PIN, author="Ada")
    assert [each["number"] for each in made["decisions"]] == [1, 2]
    assert names_of(client, job_id) == {**as_it_was, "p0": "astronomy"}
    assert names_of(client, job_id, decisions=False) == as_it_was
    assert "p0,text of p0,,astronomy," in exported(client, job_id)
    assert "p0,text of p0,,new 1," in exported(client, job_id, decisions=False)
    shown, own = (
        {each["name"] for each in client.categories(job_id, decisions=with_them)["categories"]}
        for with_them in (True, False)
    )
    assert (shown - own, own - shown) == ({"Optics of lasers"}, {"optics"})
    client.undo(job_id, 2, author="Grace")
    assert names_of(client, job_id) == as_it_was
    listed = [(each["kind"], each["author"], each["in_force"]) for each in client.decisions(job_id)]
    assert listed == [("name", "Ada", True), ("pin", "Ada", False), ("undo", "Grace", True)], "over two pages"


def test_of_two_reviewers_the_second_is_refused_if_the_answer_has_changed(client: Client, job_id: str) -> None:
    seen = client.triage(job_id)
    assert seen["etag"] == client.categories(job_id)["etag"]
    made = client.decide(job_id, RENAME, if_match=seen["etag"])
    late: tuple[Callable[[], Any], ...] = (
        lambda: client.decide(job_id, PIN, if_match=seen["etag"]),
        lambda: client.undo(job_id, 1, if_match=seen["etag"]),
        lambda: client.continue_job(job_id, if_match=seen["etag"]),
    )
    for act in late:
        with pytest.raises(Refused) as refused:
            act()
        assert (refused.value.status, refused.value.kind) == (412, "answer-changed")
    assert len(list(client.decisions(job_id))) == len(list(client.jobs())) == 1
    assert made["etag"] == client.triage(job_id)["etag"] == client.categories(job_id)["etag"]
    undone = client.undo(job_id, 1, if_match=made["etag"])
    continued = client.continue_job(job_id, if_match=undone["etag"])
    assert continued["continues"] == job_id


def test_under_the_same_key_it_is_decided_and_continued_once(client: Client, job_id: str) -> None:
    first, second = (client.decide(job_id, RENAME, idempotency_key="k") for _ in range(2))
    assert first == second, "with its ETag"
    assert len(list(client.decisions(job_id))) == 1
    with pytest.raises(Refused) as refused:
        client.decide(job_id, PIN, idempotency_key="k")
    assert refused.value.kind == "idempotency-key-reused"
    ids = {client.continue_job(job_id, idempotency_key="k")["id"] for _ in range(2)}
    assert len(ids) == 1
    assert client.continue_job(job_id)["id"] not in ids


@contextmanager
def losing_the_first_answer(client: Client) -> Iterator[Client]:
    """A client whose first request arrives, but whose answer is lost with its connection."""
    address = client.connection.url.removeprefix("http://")
    seen: list[str] = []

    class Relay(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            connection = http.client.HTTPConnection(address, timeout=60.0)
            connection.request("POST", self.path, body, dict(self.headers))
            answer = connection.getresponse()
            content = answer.read()
            connection.close()
            seen.append(self.path)
            if len(seen) > 1:
                self.send_response(answer.status)
                self.send_header("Content-Length", str(len(content)))
                self.send_header("ETag", answer.headers.get("ETag", ""))
                self.end_headers()
                self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with http.server.HTTPServer(("127.0.0.1", 0), Relay) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield Client(f"http://127.0.0.1:{server.server_port}", timeout=60.0)
        finally:  # or a test that fails waits for it forever
            server.shutdown()
            thread.join()
    assert len(seen) == 2, "it was sent again"


def test_a_connection_that_breaks_off_decides_and_continues_once(client: Client, job_id: str) -> None:
    seen = client.triage(job_id)
    with losing_the_first_answer(client) as unlucky:
        made = unlucky.decide(job_id, RENAME, if_match=seen["etag"])
    assert made["etag"] == client.triage(job_id)["etag"]
    assert [each["number"] for each in client.decisions(job_id)] == [1]
    with losing_the_first_answer(client) as unlucky:
        continued = unlucky.continue_job(job_id)
    assert {each["id"] for each in client.jobs()} == {job_id, continued["id"]}


def test_triage_has_a_budget_and_skips_documents(client: Client, job_id: str) -> None:
    asked = [each["key"] for each in client.triage(job_id)["documents"]]
    assert len(asked) > 2
    assert [each["key"] for each in client.triage(job_id, budget=1)["documents"]] == asked[:1]
    left = {each["key"] for each in client.triage(job_id, skip=asked[:2])["documents"]}
    assert left and left.isdisjoint(asked[:2])


def test_a_job_continues_with_facts_and_sweeps_of_its_own(client: Client, job_id: str) -> None:
    continued = client.continue_job(job_id, sweeps=4, name="second week", tags=["tickets"], note="n")
    assert (continued["name"], continued["tags"], continued["note"]) == ("second week", ["tickets"], "n")
    assert (continued["continues"], continued["settings"]["sweeps"]) == (job_id, 4)
    assert client.continue_job(job_id)["settings"]["sweeps"] == client.job(job_id)["settings"]["sweeps"] != 4


def test_categories_are_followed_from_job_to_job(
    client: Client, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(newfound_client.calls, "PAGE", 1)
    compared_jobs.add_corpus(database, {1: "optics", 2: None, 3: None})
    first = compared_jobs.add_job(database, ["optics", "new 1"], {2: 1, 3: 1}, created_at=1.0)
    second = compared_jobs.add_job(database, ["new 1"], {2: 0, 3: 0}, created_at=2.0, continues=first.id)
    assert [each["job"] for each in client.lineage("c-1new1")] == [first.id, second.id]
    assert [each["job"] for each in client.lineage("c-1new1", compared_jobs.CORPUS)] == [first.id, second.id]
    with pytest.raises(Refused, match="no job over corpus"):
        list(client.lineage("c-1new1", "11111111-2222-4333-8444-666666666666"))
    found = client.compare(second.id, first.id)
    assert (found["job"], found["compared_with"]) == (second.id, first.id)
    assert (found["counts"]["kept"], found["counts"]["gone"]) == (1, 1)


def examples() -> list[str]:
    """What the documents show of a review from Python."""
    section = PAGE.read_text(encoding="utf-8").partition("### Review from Python")[2]
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)


def test_what_the_documents_show_decides_nothing_if_somebody_else_has_decided(
    client: Client, job_id: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    read = client.triage

    def read_and_be_late(job_id: str) -> Any:
        seen = read(job_id)
        client.decide(job_id, RENAME)
        return seen

    _, careful = examples()
    names = {"client": client, "job": {"id": job_id}, "decisions": [PIN]}
    with monkeypatch.context() as patched:
        patched.setattr(client, "triage", read_and_be_late)
        exec(compile(careful, PAGE.name, "exec"), names)
    assert "Optics of lasers" in capsys.readouterr().out
    assert [each["kind"] for each in client.decisions(job_id)] == ["name"]
    exec(compile(careful, PAGE.name, "exec"), names)
    assert [each["kind"] for each in client.decisions(job_id)] == ["name", "pin"]
    assert capsys.readouterr().out == ""


@pytest.fixture
def workers(database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A worker comes whenever one is called."""
    threads: list[threading.Thread] = []

    def work(_: object, unit_ids: list[int]) -> None:
        thread = threading.Thread(target=jobs.run_to_the_end, args=(database, settings, unit_ids))
        threads.append(thread)
        thread.start()

    monkeypatch.setattr(queue, "wake", work)
    yield
    for thread in threads:
        thread.join(timeout=PATIENCE)


@pytest.mark.usefixtures("workers")
def test_the_loop_of_the_documents_reviews_a_job_as_pasted(
    client: Client,
    database: Database,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Somebody who knows all subjects answers; the rivers, which nobody has labeled, get their name from them."""
    documents = jobs.rows(60)  # more than five rounds ask about
    first, unit_ids = jobs.submit_calibrated(database, jobs.upload(database, documents), sweeps=20)
    jobs.run_to_the_end(database, settings, unit_ids)
    subjects = {each["text"]: each["key"].partition("-")[0] for each in documents}
    answered: list[str] = []

    def answer(_: str) -> str:
        text = capsys.readouterr().out.splitlines()[-2]
        answered.append(text)
        return subjects[text]

    monkeypatch.setattr("builtins.input", answer)
    loop, _ = examples()
    assert "http://127.0.0.1:8000" in loop
    exec(compile(loop.replace("http://127.0.0.1:8000", client.connection.url), PAGE.name, "exec"), {})
    assert len(answered) == len(set(answered)) > 10, "nobody is asked twice"
    chain = [job["id"] for job in client.jobs(status="succeeded")]
    assert (len(chain), chain[-1]) == (6, first)
    found = {each["text"]: each["name"] for each in client.documents(chain[0])}
    truth = {text: subject for text, subject in subjects.items() if text in found and text.strip()}
    assert {text: found[text] for text in truth} == truth
    assert "river" in truth.values()
