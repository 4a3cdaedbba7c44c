"""Webhooks from the submit to the receiver, on both databases: signed, again until they arrive, one for an attempt."""

import logging
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update
from starlette.testclient import TestClient

from app.core import db, lifecycle
from app.core.db import Database, now
from app.core.runs import Run
from app.core.settings import Settings
from app.core.tables import IdempotentRequest, Job, Webhook
from app.http.main import create_app
from app.webhooks import post as posting
from app.webhooks import sending, signing
from app.webhooks.sending import Sending
from tests.app import rows
from tests.app.webhooks.receiver import Receiver, make_certificate, receiving
from tests.waits import wait_for

LOOPBACK = {"webhook_networks": "127.0.0.0/8"}
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # of the specification
BODY = {"corpus_id": rows.CORPUS, "discover": True, "text": {"min_document_frequency": 1}}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses are shorter than a test waits."""
    monkeypatch.setattr(sending, "POLL_SECONDS", 0.02)
    monkeypatch.setattr(sending, "PAUSES", (0.01,) * 3)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def client(settings: Settings) -> Iterator[TestClient]:
    with TestClient(create_app(settings.model_copy(update=LOOPBACK))) as client:
        yield client


def submit(client: TestClient, database: Database, url: str, **webhook: Any) -> Any:
    """The answer to a submit of a job with a webhook."""
    with database.sessions.begin() as session:
        if session.get(rows.Corpus, rows.CORPUS) is None:
            rows.add_corpus(session)
    answer = client.post("/v1/jobs", json={**BODY, "name": "Übung", "webhook": {"url": url, **webhook}})
    assert answer.status_code == 202, answer.text
    return answer.json()


def state_of(client: TestClient, job: Any) -> Any:
    return client.get(f"/v1/jobs/{job['id']}").json()["webhook"]


def wait_until(client: TestClient, job: Any, state: str) -> Any:
    wait_for(lambda: state_of(client, job)["status"] == state, f"the webhook is {state}", seconds=60)
    return state_of(client, job)


def address(receiver: Receiver) -> str:
    return f"http://127.0.0.1:{receiver.port}/hook?token=hidden"


def test_the_end_of_a_job_is_told_once_and_signed(client: TestClient, database: Database, receiver: Receiver) -> None:
    job = submit(client, database, address(receiver))
    secret = job["webhook"]["secret"]
    assert len(signing.key_of(secret)) == 32
    expected = {"url": address(receiver), "status": "waiting", "attempts": 0, "last_error": None, "delivered_at": None}
    assert state_of(client, job) == {**expected, "secret": None}
    assert receiver.messages == []
    client.post(f"/v1/jobs/{job['id']}/cancel")
    state = wait_until(client, job, "delivered")
    assert (state["attempts"], state["last_error"], state["secret"]) == (1, None, None)
    assert state["delivered_at"] is not None
    [message] = receiver.messages
    assert message.path == "/hook?token=hidden"
    assert message.is_signed_with(secret) and not message.is_signed_with(SECRET)
    assert message.headers["Content-Type"] == "application/json"
    finished_at = client.get(f"/v1/jobs/{job['id']}").json()["finished_at"]
    assert message.json() == {
        "type": "job.cancelled",
        "timestamp": finished_at,
        "data": {
            "job_id": job["id"],
            "name": "Übung",
            "corpus_id": rows.CORPUS,
            "status": "cancelled",
            "error": None,
            "links": {"self": f"/v1/jobs/{job['id']}"},
        },
    }


def test_a_secret_that_was_given_signs_and_is_never_shown(
    client: TestClient, database: Database, receiver: Receiver
) -> None:
    job = submit(client, database, address(receiver), secret=SECRET)
    assert job["webhook"]["secret"] is None
    client.post(f"/v1/jobs/{job['id']}/cancel")
    wait_until(client, job, "delivered")
    assert receiver.messages[0].is_signed_with(SECRET)


def test_signatures_are_those_of_the_specification() -> None:
    body = b'{"test": 2432232314}'
    headers = signing.headers(SECRET, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body)
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_repeat_of_the_submit_shows_the_secret_again_and_makes_no_second_webhook(
    client: TestClient, database: Database, receiver: Receiver
) -> None:
    with database.sessions.begin() as session:
        rows.add_corpus(session)
    body, headers = {**BODY, "webhook": {"url": address(receiver)}}, {"Idempotency-Key": "k"}
    first, again = (client.post("/v1/jobs", json=body, headers=headers).json() for _ in range(2))
    assert first == again and first["webhook"]["secret"].startswith("whsec_")
    with database.sessions.begin() as session:
        assert len(session.scalars(select(Webhook)).all()) == len(session.scalars(select(IdempotentRequest)).all()) == 1


def test_a_job_that_continues_another_one_has_a_webhook_of_its_own(
    client: TestClient, database: Database, receiver: Receiver
) -> None:
    job_id, _ = rows.submit(database, model="calibrated")
    answer = client.post(f"/v1/jobs/{job_id}/continue", json={"wait": True, "webhook": {"url": address(receiver)}})
    job = answer.json()
    assert (answer.status_code, job["webhook"]["status"]) == (202, "waiting")
    client.post(f"/v1/jobs/{job_id}/cancel")  # with which the one that waits fails
    wait_until(client, job, "delivered")
    told = receiver.messages[0].json()
    assert (told["type"], told["data"]["job_id"]) == ("job.failed", job["id"])
    assert "was cancelled" in told["data"]["error"]
    assert client.get(f"/v1/jobs/{job_id}").json()["webhook"] is None


def test_a_message_is_sent_until_it_is_taken_under_one_id(
    client: TestClient, database: Database, receiver: Receiver
) -> None:
    receiver.statuses = [500, 302, 404, 200]
    receiver.location = address(receiver)
    job = submit(client, database, address(receiver))
    client.post(f"/v1/jobs/{job['id']}/cancel")
    assert wait_until(client, job, "delivered")["attempts"] == 4
    assert len(receiver.messages) == 4
    assert len({(message.headers["webhook-id"], message.body) for message in receiver.messages}) == 1


@pytest.mark.parametrize("status, n_attempts", [(503, 4), (410, 1)])
def test_a_receiver_that_does_not_want_it_is_left_alone_in_the_end(
    client: TestClient, database: Database, receiver: Receiver, status: int, n_attempts: int
) -> None:
    receiver.statuses = [status]
    job = submit(client, database, address(receiver))
    client.post(f"/v1/jobs/{job['id']}/cancel")
    state = wait_until(client, job, "failed")
    assert (state["attempts"], state["last_error"]) == (n_attempts, f"the receiver answered {status}")
    assert len(receiver.messages) == n_attempts


def test_a_job_that_is_resumed_tells_of_its_next_end_too(
    client: TestClient, database: Database, receiver: Receiver
) -> None:
    job = submit(client, database, address(receiver))
    for verb in ("cancel", "resume", "cancel"):
        assert client.post(f"/v1/jobs/{job['id']}/{verb}").status_code in (200, 202)
        wait_until(client, job, "waiting" if verb == "resume" else "delivered")
    assert len({message.headers["webhook-id"] for message in receiver.messages}) == 2


def test_a_message_over_https_reaches_whom_the_certificate_names(
    client: TestClient, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right, wrong = make_certificate(tmp_path, "localhost"), make_certificate(tmp_path, "elsewhere")
    with receiving(right) as receiver, receiving(wrong) as impostor, receiving(right) as unknown:
        refused = [submit(client, database, f"https://localhost:{impostor.port}/hook")]
        client.post(f"/v1/jobs/{refused[0]['id']}/cancel")
        monkeypatch.setenv("SSL_CERT_FILE", str(wrong[0]))
        refused.append(submit(client, database, f"https://localhost:{unknown.port}/hook"))
        client.post(f"/v1/jobs/{refused[1]['id']}/cancel")
        for each in refused:
            assert "SSLCertVerificationError" in wait_until(client, each, "failed")["last_error"]
        monkeypatch.setenv("SSL_CERT_FILE", str(right[0]))
        job = submit(client, database, f"https://localhost:{receiver.port}/hook")
        client.post(f"/v1/jobs/{job['id']}/cancel")
        wait_until(client, job, "delivered")
        assert (len(receiver.messages), impostor.messages, unknown.messages) == (1, [], [])
        assert receiver.messages[0].headers["Host"] == f"localhost:{receiver.port}"


def test_a_name_that_leads_into_the_own_network_is_refused_at_the_delivery(
    settings: Settings, database: Database, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with TestClient(create_app(settings)) as client:
        job = submit(client, database, f"https://localhost:{receiver.port}/hook?token=hidden")
        client.post(f"/v1/jobs/{job['id']}/cancel")
        state = wait_until(client, job, "failed")
    assert state["last_error"] == "the address is refused: its address is not a public one"
    assert receiver.messages == []
    assert "hidden" not in caplog.text and "whsec_" not in caplog.text


@pytest.mark.parametrize(
    "webhook, where",
    [
        ({"url": "http://example.org"}, "body.webhook.url"),
        ({"url": "https://169.254.169.254/latest"}, "body.webhook.url"),
        ({"url": "https://user:secret@example.org"}, "body.webhook.url"),
        ({"url": "https://example.org", "secret": "abc"}, "body.webhook.secret"),
        ({"url": "https://example.org", "secret": "whsec_YWJj"}, "body.webhook.secret"),
        ({"url": "https://example.org", "secret": "whsec_%%%%"}, "body.webhook.secret"),
    ],
)
def test_a_webhook_that_cannot_be_used_is_refused_at_the_submit(
    settings: Settings, database: Database, webhook: dict[str, str], where: str
) -> None:
    job_id, _ = rows.submit(database)
    with TestClient(create_app(settings)) as client:
        for path in ("/v1/jobs", "/v1/jobs?validate_only=true", f"/v1/jobs/{job_id}/continue"):
            body = {"webhook": webhook} if path.endswith("continue") else {**BODY, "webhook": webhook}
            answer = client.post(path, json=body)
            assert (answer.status_code, answer.json()["errors"][0]["where"]) == (422, where)
        assert len(client.get("/v1/jobs").json()["jobs"]) == 1


def ended_with_webhook(database: Database, url: str) -> str:
    """A job that was cancelled, and a webhook that nobody has sent."""
    job_id, _ = rows.submit(database)
    with database.sessions.begin() as session:
        sending.add(session, job_id, url, SECRET)
        lifecycle.cancel(session, Run(job_id))
    return job_id


def test_of_several_processes_one_makes_each_attempt(
    settings: Settings, database: Database, receiver: Receiver
) -> None:
    receiver.statuses = [500, 500, 204]
    jobs = [ended_with_webhook(database, address(receiver)) for _ in range(6)]
    url = database.engine.url.render_as_string(hide_password=False)
    others = [db.connect(url) for _ in range(3)]
    senders = [Sending(other, settings.model_copy(update=LOOPBACK)) for other in others]
    barrier = threading.Barrier(3)

    def take(sender: Sending) -> list[str]:
        barrier.wait()
        return [attempt.job_id for job_id in jobs if (attempt := sender.take(job_id))]

    with ThreadPoolExecutor(3) as pool:
        taken = [job_id for each in pool.map(take, senders) for job_id in each]
    assert sorted(taken) == sorted(jobs)
    with database.sessions.begin() as session:
        session.execute(update(Webhook).values(next_at=0.0, attempts=0))
    for sender in senders:
        sender.start()

    def states() -> list[tuple[str, int]]:
        with database.readers.begin() as session:
            return [(row.state, row.attempts) for row in session.scalars(select(Webhook))]

    wait_for(lambda: all(state == "delivered" for state, _ in states()), "all are delivered", seconds=60)
    for sender in senders:
        sender.stop()
        sender.database.engine.dispose()
    assert sum(attempts for _, attempts in states()) == len(receiver.messages) == 8


def test_a_sender_that_dies_before_it_notes_the_delivery_leaves_it_to_the_next_one(
    settings: Settings, database: Database, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = ended_with_webhook(database, address(receiver))
    first, second = (Sending(database, settings.model_copy(update=LOOPBACK)) for _ in range(2))
    attempt = first.take(job_id)
    assert attempt is not None
    assert first.send(attempt) == (204, None)  # and dies
    assert second.due(9) == []
    assert second.take(job_id) is None
    with database.sessions.begin() as session:
        session.execute(update(Webhook).values(next_at=now() - 1))
    again = second.take(job_id)
    assert again is not None and again.number == 2
    second.deliver(again)
    first.note(attempt, 500, "late")  # it was only frozen: the row is no longer its own
    with database.readers.begin() as session:
        row = session.get_one(Webhook, job_id)
        assert (row.state, row.attempts, row.last_error) == ("delivered", 2, None)
    one, two = receiver.messages
    assert (one.headers["webhook-id"], one.body) == (two.headers["webhook-id"], two.body)


def test_a_receiver_that_drips_its_answer_is_cut_off(
    settings: Settings, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(posting, "SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        job_id = ended_with_webhook(database, f"http://127.0.0.1:{server.getsockname()[1]}/")

        def drip() -> None:
            connection, _ = server.accept()
            with connection:
                for byte in b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200:
                    try:
                        connection.send(bytes([byte]))
                    except OSError:
                        return
                    time.sleep(0.05)

        thread = threading.Thread(target=drip)
        thread.start()
        sender = Sending(database, settings.model_copy(update=LOOPBACK))
        attempt = sender.take(job_id)
        assert attempt is not None
        began = time.monotonic()
        status, reason = sender.send(attempt)
        took = time.monotonic() - began
        thread.join()
    assert status is None and reason is not None
    assert took < 5


def test_nobody_is_told_of_a_job_that_goes_on_or_was_deleted(
    settings: Settings, database: Database, receiver: Receiver
) -> None:
    sender = Sending(database, settings.model_copy(update=LOOPBACK))
    job_id, _ = rows.submit(database)
    with database.sessions.begin() as session:
        sending.add(session, job_id, address(receiver), SECRET)
    for status in ("queued", "running", "paused"):
        with database.sessions.begin() as session:
            session.execute(update(Job).values(status=status))
        assert sender.due(9) == [] and sender.take(job_id) is None
    with database.sessions.begin() as session:
        lifecycle.cancel(session, Run(job_id))
    assert sender.due(9) == [job_id]
    with database.sessions.begin() as session:
        lifecycle.delete(session, job_id)
    assert sender.due(9) == []
