"""Comparisons of methods from Python, against a real server."""

import pytest

from app.core.db import Database
from newfound_client import Client, Refused
from tests.worker import jobs
from tests.worker.splits import LBPL, gold_rows


def test_methods_are_compared_followed_cancelled_and_deleted(client: Client, database: Database) -> None:
    corpus_id = jobs.upload(database, gold_rows())
    asked = {"splits": 3, "known": ["river"], "name": "seeds", "idempotency_key": "once"}
    made = client.compare_methods(corpus_id, [LBPL, {**LBPL, "seed": 7, "name": "other"}], **asked)
    again = client.compare_methods(corpus_id, [LBPL, {**LBPL, "seed": 7, "name": "other"}], **asked)
    assert made == again
    found = client.comparison(made["id"])
    assert (found["name"], found["known"], found["jobs"]) == ("seeds", ["river"], {"queued": 6})
    assert [(row["method"], len(row["cells"])) for row in found["table"]] == [("lbpl-ntm", 3), ("other", 3)]
    assert [each["id"] for each in client.comparisons()] == [made["id"]]
    with pytest.raises(Refused, match="queued; cancel it first"):
        client.delete_comparison(made["id"])
    assert client.cancel_comparison(made["id"])["status"] == "cancelled"
    client.delete_comparison(made["id"])
    assert list(client.comparisons()) == list(client.jobs()) == []
