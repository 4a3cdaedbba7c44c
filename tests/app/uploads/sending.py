"""Uploads, with a key and without one, whole or broken off, and what a corpus then holds."""

import asyncio
import json
from collections.abc import Iterable
from typing import Any

from sqlalchemy import select
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.tables import IS_CURRENT, Document

NDJSON, CSV = "application/x-ndjson", "text/csv"
REUSED = "urn:newfound:problem:idempotency-key-reused"
BATCH = 4  # rows a transaction, where batches are small


def new_corpus(client: TestClient) -> str:
    """Address of an empty corpus."""
    return str(client.post("/v1/corpora", json={"name": "corpus"}).headers["Location"])


def upload(client: TestClient, corpus: str, content: bytes, kind: str = NDJSON, key: str = "key") -> Any:
    headers = {"Content-Type": kind, "Idempotency-Key": key}
    return client.post(f"{corpus}/documents", content=content, headers=headers)


def send(client: TestClient, corpus: str, content: Any, kind: str = NDJSON) -> Any:
    """Upload without a key."""
    return client.post(f"{corpus}/documents", content=content, headers={"Content-Type": kind})


def lines(*rows: dict[str, Any]) -> bytes:
    """NDJSON of the rows."""
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def break_off(client: TestClient, corpus: str, chunks: Iterable[bytes], kind: str = NDJSON) -> None:
    """Begin an upload as a server sees it, and leave before its end."""
    messages = [*map(chunk_message, chunks), {"type": "http.disconnect"}]
    answer = speak(client, corpus, messages, kind)
    assert answer.get("status", 422) == 422, "nobody is told that the upload has ended"
    assert messages == []


def chunk_message(chunk: bytes) -> dict[str, Any]:
    """A chunk as a server passes it on."""
    return {"type": "http.request", "body": chunk, "more_body": True}


def speak(client: TestClient, corpus: str, messages: list[Any], kind: str = NDJSON) -> dict[str, Any]:
    """Upload messages as a server sees them, those that are functions when they have been called; the answer's start.

    The test's own client sends an upload as a whole.
    """
    path = f"{corpus}/documents"
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [(b"host", b"testserver"), (b"content-type", kind.encode()), (b"idempotency-key", b"key")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
    }
    answers: list[Any] = []

    async def receive() -> Any:
        message = messages.pop(0)
        return message() if callable(message) else message

    async def send(message: Any) -> None:
        answers.append(message)

    asyncio.run(client.app(scope, receive, send))  # type: ignore[arg-type]
    return {key: value for message in reversed(answers) for key, value in message.items()}


def ndjson() -> list[bytes]:
    """Lines with a key, without one, twice the same key, without text, and useless ones."""
    rows: list[Any] = []
    for n in range(8):
        rows += [
            {"text": f"keyed {n}", "key": f"k{n}", "label": "known" if n % 2 else None},
            {"text": f"without a key {n}"},
            {"text": f"again {n}", "key": f"k{n // 2}"},
            {"text": "", "year": n},
        ]
    lines = [json.dumps(row).encode() + b"\n" for row in rows]
    return [*lines[:9], b"nonsense\n", *lines[9:20], b"\n", b'{"text": 1}\n', *lines[20:]]


def csv() -> list[bytes]:
    """The same as records, some of which go over lines."""
    records = [f'"keyed\n{n}",k{n},known\n"without a key {n}",,\nagain {n},k{n // 2},\n,,\n' for n in range(8)]
    return [b"text,key,label\n", *(record.encode() for record in records), b"a,b\n"]


BODIES = {NDJSON: ndjson(), CSV: csv()}


def documents(database: Database, corpus: str) -> list[Any]:
    """What a corpus holds now, by id."""
    columns = (Document.key, Document.text, Document.label, Document.fields)
    with database.readers.begin() as session:
        rows = session.execute(
            select(*columns).where(Document.corpus_id == corpus[-36:], IS_CURRENT).order_by(Document.id)
        )
        return [tuple(row) for row in rows]
