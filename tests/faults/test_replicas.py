"""Two APIs over one database, on both stacks: what the one does the other knows, whatever either remembers."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import func, select

from app.core.tables import Corpus, Document
from tests.client import Client
from tests.faults.programs import Program
from tests.faults.stack import ON_DEPLOYED, Stack
from tests.waits import free_port, wait_for

NDJSON = {"Content-Type": "application/x-ndjson"}


@pytest.fixture(scope="module")
def opened_other(opened_stack: Stack) -> Iterator[Client]:
    """A client of another API beside the stack's; the tests of this file take turns with it."""
    port = free_port()
    environment = {**opened_stack.environment, "NEWFOUND_PORT": str(port)}
    second = Program("api-2", ["api"], environment, opened_stack.folder / "api-2.log")
    other = Client(f"http://127.0.0.1:{port}")

    def is_up() -> bool:
        second.start()  # again, if somebody has just taken its port
        return other.is_up()

    try:
        wait_for(is_up, "the other API is up")
        yield other
    finally:
        other.http.close()
        second.stop()


@pytest.fixture
def both(stack: Stack, opened_other: Client) -> tuple[Client, Client]:
    """Clients of the stack's API and of the other one."""
    return stack.client, opened_other


def upload(client: Client, corpus_id: str, texts: dict[str, str], query: str = "") -> Any:
    """What an upload of texts by their keys is answered."""
    lines = "".join(f'{{"key": "{key}", "text": "{text}"}}\n' for key, text in texts.items())
    path = f"/v1/corpora/{corpus_id}/documents{query}"
    response = client.request("POST", path, content=lines.encode(), headers=NDJSON)
    assert response.status_code in (200, 201), response.text
    return response.json()


def counts(client: Client, corpus_id: str) -> dict[str, int]:
    """Documents and copies of a corpus, by itself and in the list."""
    one = client.get(f"/v1/corpora/{corpus_id}")
    [listed] = [each for each in client.get("/v1/corpora?limit=1000")["corpora"] if each["id"] == corpus_id]
    found = {name: one[name] for name in ("documents", "copies", "distinct_texts")}
    assert {name: listed[name] for name in found} == found
    return found


@ON_DEPLOYED
def test_uploads_by_turns_are_counted_alike_by_both_also_after_a_correction(both: tuple[Client, Client]) -> None:
    one, other = both
    corpus_id = one.post("/v1/corpora", name="by turns")["id"]

    def agree(documents: int, copies: int, distinct_texts: int) -> None:
        expected = {"documents": documents, "copies": copies, "distinct_texts": distinct_texts}
        assert counts(one, corpus_id) == counts(other, corpus_id) == expected

    agree(0, 0, 0)
    upload(one, corpus_id, {"a": "first", "b": "second"})
    agree(2, 0, 2)
    upload(other, corpus_id, {"c": "second", "d": "third"})
    agree(4, 1, 3)
    upload(one, corpus_id, {"e": "third", "f": "fourth"})
    agree(6, 2, 4)
    upload(other, corpus_id, {"a": "fifth"}, "?on_conflict=replace")
    agree(6, 2, 4)
    upload(one, corpus_id, {"g": "first"})
    agree(7, 2, 5)
    upload(other, corpus_id, {"h": "first", "i": "fifth"})
    agree(9, 4, 5)


@ON_DEPLOYED
def test_a_key_of_idempotency_holds_at_both(both: tuple[Client, Client]) -> None:
    headers = {"Idempotency-Key": "a key for both"}

    def create(client: Client) -> tuple[int, str]:
        response = client.request("POST", "/v1/corpora", json={"name": "once"}, headers=headers)
        return response.status_code, response.json()["id"]

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(create, both * 4))
    assert len(set(answers)) == 1
    assert create(both[1]) == answers[0]


@ON_DEPLOYED
def test_a_corpus_that_one_deletes_while_the_other_uploads_is_gone_for_both_with_all_its_rows(
    both: tuple[Client, Client], stack: Stack
) -> None:
    one, other = both
    corpus_id = one.post("/v1/corpora", name="to go")["id"]
    path = f"/v1/corpora/{corpus_id}"
    upload(one, corpus_id, {f"first-{n}": f"text {n}" for n in range(50)})
    lines = "".join(f'{{"key": "{n}", "text": "some text {n}"}}\n' for n in range(20_000)).encode()
    with ThreadPoolExecutor(1) as threads:
        sent = threads.submit(one.request, "POST", f"{path}/documents", content=lines, headers=NDJSON)
        wait_for(lambda: other.get(path)["version"] > 1 or sent.done(), "the upload has begun")
        assert other.request("DELETE", path).status_code == 204
        assert sent.result().status_code in (200, 201, 404)
    for client in both:
        assert client.request("GET", path).status_code == 404
        assert client.request("POST", f"{path}/documents", content=lines[:50], headers=NDJSON).status_code == 404

    def is_gone() -> bool:
        with stack.database.readers.begin() as session:
            documents = select(func.count()).where(Document.corpus_id == corpus_id)
            return session.get(Corpus, corpus_id) is None and session.scalar(documents) == 0

    wait_for(is_gone, "the rows are removed")


@ON_DEPLOYED
def test_decisions_by_one_show_in_what_the_other_has_counted_before(both: tuple[Client, Client], stack: Stack) -> None:
    one, other = both
    corpus_id = one.post("/v1/corpora", name="with fields")["id"]
    words = ("apple pear plum cherry peach grape", "iron copper zinc silver nickel gold", "volga rhine elbe oder loire")
    rows = [
        f'{{"key": "{kind}-{n}", "text": "{text} {n}", "year": {n % 3}, "label": {label}}}\n'
        for kind, text in enumerate(words)
        for n, label in ((n, f'"label-{kind}"' if kind < 2 and n % 2 else "null") for n in range(30))
    ]
    sent = one.request("POST", f"/v1/corpora/{corpus_id}/documents", content="".join(rows).encode(), headers=NDJSON)
    assert sent.json()["accepted"] == len(rows), sent.text
    job_id = one.submit(corpus_id, 20, chains=1, model="lbpl-ntm", text={"join_copies": False})
    job = stack.wait_for_end(job_id)
    assert job["status"] == "succeeded", job["error"]
    groups = f"/v1/jobs/{job_id}/groups?by=year"
    for turn, (decider, reader) in enumerate([(one, other), (other, one)] * 2):
        reader.get(groups)
        [first, *_] = decider.get(f"/v1/jobs/{job_id}/categories")["categories"]
        decision = {"kind": "name", "category": first["id"], "name": f"name {turn}"}
        decider.post(f"/v1/jobs/{job_id}/decisions", decisions=[decision])
        names = {each["name"] for group in reader.get(groups)["groups"] for each in group["categories"]}
        assert f"name {turn}" in names | {
            each["name"] for each in reader.get(f"/v1/jobs/{job_id}/categories")["categories"]
        }
        assert not names & {f"name {before}" for before in range(turn)}
        assert reader.get(groups) == decider.get(groups)


@ON_DEPLOYED
def test_a_model_that_one_deletes_answers_nowhere(both: tuple[Client, Client], stack: Stack) -> None:
    one, other = both
    job_id = stack.submit()
    assert stack.wait_for_end(job_id)["status"] == "succeeded"
    file = one.request("GET", f"/v1/jobs/{job_id}/model").content
    imported = one.request("POST", "/v1/models?name=both", content=file)
    path = f"/v1/models/{imported.json()['id']}"
    question = {"content": b'{"key": "new", "text": "A grammar of words in sentences"}\n', "headers": NDJSON}
    answers = [client.request("POST", f"{path}/categorize", **question) for client in both]
    assert [answer.status_code for answer in answers] == [200, 200], answers[0].text
    assert answers[0].content == answers[1].content
    assert other.request("DELETE", path).status_code == 204
    for client in both:
        assert client.request("POST", f"{path}/categorize", **question).status_code == 404
