"""Comparisons of methods over a small corpus all of whose documents bear a label."""

from typing import Any

from starlette.testclient import TestClient

from app.core.db import Database
from app.core.settings import Settings
from app.core.splits import Split, choose
from tests.worker import jobs
from tests.worker.splits import KNOWN, gold_rows, run_all

GOLD = {row["key"]: row["label"] for row in gold_rows()}


def compare(client: TestClient, corpus_id: str, *methods: dict[str, Any], **body: Any) -> Any:
    """The answer to a comparison of methods over two splits, unless the body says otherwise."""
    asked = {"corpus_id": corpus_id, "methods": list(methods), "splits": 2, "seed": 3, "known": KNOWN, **body}
    return client.post("/v1/comparisons", json=asked)


def compared(client: TestClient, database: Database, settings: Settings, *methods: dict[str, Any], **body: Any) -> Any:
    """A comparison whose jobs have succeeded."""
    corpus_id = jobs.upload(database, gold_rows())
    answer = compare(client, corpus_id, *methods, **body)
    assert answer.status_code == 202, answer.text
    run_all(database, settings)
    return client.get(answer.headers["Location"]).json()


def seen(seed: int) -> set[str]:
    """The keys of the documents whose label a split shows."""
    labeled = [(number, key, label) for number, (key, label) in enumerate(GOLD.items()) if label is not None]
    chosen = choose(labeled, Split(seed, KNOWN, 0.4))
    return {key for number, key, _ in labeled if number in chosen}
