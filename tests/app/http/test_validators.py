"""Entity tags: who has an answer already gets a 304, and changes nothing that is not as he has seen it."""

import asyncio
from typing import Any

import pytest
from starlette.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

from app.core.db import Database
from app.http.header_lists import names_tag
from app.http.main import routes
from app.http.preconditions import Preconditions
from app.http.validators import Validators
from tests.app import rows
from tests.app.exports.documents import documents, fill
from tests.app.http.test_problems import check

CHANGED = "urn:newfound:problem:changed-since"
CORPUS = f"/v1/corpora/{rows.CORPUS}"
PLAIN = {"Accept-Encoding": "identity"}


@pytest.fixture(params=["sqlite"])
def kind(request: pytest.FixtureRequest) -> str:
    """One database is enough here: what is asked of it is asked elsewhere."""
    return str(request.param)


@pytest.fixture
def job(database: Database) -> str:
    """Address of a job with results and a trace."""
    job_id, _ = rows.submit(database)
    fill(database, documents(6))
    rows.add_draws(database, job_id, chains=2, sweeps=3)
    rows.add_results(database, job_id)
    rows.end(database, job_id)
    return f"/v1/jobs/{job_id}"


# Reading


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/documents",
        "/documents?limit=2",
        "/categories",
        "/trace",
        "/triage",
        "/decisions",
        "/plots/sizes.svg",
        "/report",
    ],
)
def test_who_has_an_answer_already_gets_a_304_without_a_body(client: TestClient, job: str, path: str) -> None:
    first = client.get(job + path, headers=PLAIN)
    assert first.status_code == 200
    tag = first.headers["ETag"]
    assert tag.startswith('"') and client.get(job + path, headers=PLAIN).headers["ETag"] == tag
    again = client.get(job + path, headers={**PLAIN, "If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")
    assert "content-type" not in again.headers and "content-length" not in again.headers
    for name in ("ETag", "Cache-Control", "Vary", "Link", "Content-Security-Policy", "X-Content-Type-Options"):
        assert again.headers.get(name) == first.headers.get(name), name
    assert client.head(job + path, headers={**PLAIN, "If-None-Match": tag}).status_code == 304


@pytest.mark.parametrize(
    "known, status",
    [
        ("*", 304), ("{}", 304), ("W/{}", 304), ('"other", {}', 304), ('"a,b", W/{}', 304), (' {} , "x"', 304),
        ('"other"', 200), ('W/"other", "another"', 200), ("", 200), ("nonsense", 200), ("{}x", 304),
    ],
)  # fmt: skip
def test_if_none_match_is_a_list_or_a_star_and_weak_tags_count(
    client: TestClient, job: str, known: str, status: int
) -> None:
    tag = client.get(job, headers=PLAIN).headers["ETag"]
    answer = client.get(job, headers={**PLAIN, "If-None-Match": known.replace("{}", tag)})
    assert (answer.status_code, answer.headers["ETag"]) == (status, tag)


def test_another_answer_has_another_tag(client: TestClient, job: str) -> None:
    tag = client.get(job).headers["ETag"]
    assert client.patch(job, json={"name": "other"}).status_code == 200
    answer = client.get(job, headers={"If-None-Match": tag})
    assert (answer.status_code, answer.json()["name"]) == (200, "other")
    assert answer.headers["ETag"] != tag


def test_refusals_and_streams_have_no_tag(client: TestClient, job: str) -> None:
    for path in (f"{job}/documents/export", f"{job}/nothing", f"{job}/documents?limit=0"):
        answer = client.get(path, headers={"If-None-Match": "*"})
        assert "etag" not in answer.headers and answer.status_code != 304 and answer.content, path


def test_the_texts_of_a_triage_are_kept_by_no_browser(client: TestClient, job: str) -> None:
    """They may be erased, which changes nothing about the answer that the tag stands for."""
    assert client.get(f"{job}/triage").headers["Cache-Control"] == "no-store"


def test_of_a_stream_with_a_tag_nothing_is_sent_to_who_has_it() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"etag", b'"one"')]})
        for piece in range(3):
            await send({"type": "http.response.body", "body": b"x", "more_body": piece < 2})

    def asked(known: bytes) -> list[Message]:
        messages: list[Message] = []

        async def send(message: Message) -> None:
            messages.append(message)

        async def receive() -> Message:
            return {"type": "http.request"}

        scope = {"type": "http", "method": "GET", "headers": [(b"if-none-match", known)]}
        asyncio.run(Validators(app)(scope, receive, send))
        return messages

    assert [each.get("status", each.get("body")) for each in asked(b'"one"')] == [304, b""]
    assert [each.get("status", each.get("body")) for each in asked(b'"two"')] == [200, b"x", b"x", b"x"]


# Changing


CHANGES: list[tuple[str, str, Any]] = [
    ("PATCH", "{corpus}", {"name": "other"}),
    ("PATCH", "{job}", {"note": "other"}),
    ("PATCH", "{corpus}/documents/k0", {"label": "other"}),
    ("DELETE", "{corpus}/documents/k0", None),
    ("DELETE", "{corpus}/documents/k0?erase=true", None),
    ("PUT", "{corpus}/descriptions", {"descriptions": [{"name": "other"}]}),
    ("DELETE", "{job}", None),
]


@pytest.mark.parametrize("method, path, body", CHANGES, ids=lambda value: value if isinstance(value, str) else "")
def test_what_has_changed_since_it_was_read_is_changed_by_nobody_who_says_so(
    client: TestClient, job: str, method: str, path: str, body: Any
) -> None:
    path = path.format(corpus=CORPUS, job=job)
    read = path.partition("?")[0]

    def change(tag: str) -> Any:
        return client.request(method, path, json=body, headers={"If-Match": tag})

    before = client.get(read)
    tag = before.headers["ETag"]
    for stale in ('"other"', f"W/{tag}", "nonsense", ""):  # a weak tag says too little for a change
        refused = change(stale)
        check(refused, 412, CHANGED)
        assert client.get(read).content == before.content, "nothing was done"
    assert refused.headers["ETag"] == client.get(read, headers=PLAIN).headers["ETag"]
    assert change(f'"other", {tag}').status_code in (200, 204)
    after = client.get(read)
    assert after.content != before.content
    if after.status_code == 200:
        assert (change(tag).status_code, change("*").status_code) == (412, 200)


def test_a_description_is_deleted_as_it_was_read_in_the_list(client: TestClient, job: str) -> None:
    client.put(f"{CORPUS}/descriptions", json={"descriptions": [{"name": "one"}]})
    path = f"{CORPUS}/descriptions/one"
    check(client.delete(path, headers={"If-Match": "*"}), 412, CHANGED)  # by itself it cannot be read
    assert client.delete(path).status_code == 204


def test_what_is_not_there_is_a_404_and_what_cannot_be_read_has_no_tag(client: TestClient, job: str) -> None:
    for tag in ("*", '"any"'):
        assert (
            client.patch(f"{CORPUS}/documents/nobody", json={"label": "x"}, headers={"If-Match": tag}).status_code
            == 404
        )
        check(client.delete(f"{CORPUS}/vectors", headers={"If-Match": tag}), 412, CHANGED)


def test_of_ten_changes_of_a_document_as_it_was_one_is_made(client: TestClient, job: str) -> None:
    path = f"{CORPUS}/documents/k0"
    tag = client.get(path).headers["ETag"].encode()
    app = client.app

    async def change(number: int) -> int:
        body = b'{"label": "label %d"}' % number
        messages: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Message) -> None:
            messages.append(message)

        headers = [(b"host", b"testserver"), (b"content-type", b"application/json"), (b"if-match", tag)]
        scope: Scope = {"type": "http", "method": "PATCH", "path": path, "query_string": b"", "headers": headers}
        await app(scope, receive, send)
        return int(messages[0]["status"])

    async def change_at_once() -> list[int]:
        return sorted(await asyncio.gather(*(change(number) for number in range(10))))

    assert asyncio.run(change_at_once()) == [200] + [412] * 9


def test_while_nobody_knows_what_is_there_nothing_is_changed() -> None:
    asked = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        asked.append(scope["method"])
        await send({"type": "http.response.start", "status": 503, "headers": []})
        await send({"type": "http.response.body", "body": b"away"})

    messages: list[Message] = []

    async def send(message: Message) -> None:
        messages.append(message)

    async def receive() -> Message:
        return {"type": "http.request"}

    scope = {"type": "http", "method": "DELETE", "path": "/v1/jobs/1", "headers": [(b"if-match", b"*")]}
    asyncio.run(Preconditions(app, routes(), "")(scope, receive, send))
    assert asked == ["GET"] and messages[0]["status"] == 503


def test_a_weak_tag_never_names_one_strongly() -> None:
    assert names_tag('"a", "b"', '"b"') and names_tag("*", '"b"')
    assert not names_tag('W/"b"', '"b"') and not names_tag('W/"b"', 'W/"b"') and not names_tag('"a"', '"b"')
    assert names_tag('W/"b"', '"b"', weakly=True) and names_tag('"b"', 'W/"b"', weakly=True)
