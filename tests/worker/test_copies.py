"""Copies from the upload to the answers, over HTTP on both databases, by jobs of both models."""

from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.settings import Settings
from tests.app.http.test_api import pages
from tests.app.uploads.sending import lines, new_corpus, send
from tests.worker import jobs

OWN = ("key", "text", "copy_of")  # what each of several equal texts has for itself; they may differ in white space
CONTRADICTED = 3  # labeled documents, with a copy that has another label


def corpus_with_copies() -> list[dict[str, Any]]:
    """Each unlabeled document twice, some labeled ones once more without their label or with a wrong one."""
    rows = jobs.rows()
    again = [{**row, "key": f"{row['key']} again", "text": f" {row['text']}\n"} for row in rows if row["label"] is None]
    labeled = [row for row in rows if row["label"] is not None]
    nameless = [{**row, "key": f"{row['key']} nameless", "label": None} for row in labeled[-5:]]
    other = {"fruit": "metal", "metal": "fruit"}
    wrong = [{**row, "key": f"{row['key']} wrong", "label": other[row["label"]]} for row in labeled[:CONTRADICTED]]
    return [*rows, *again, *nameless, *wrong]


@pytest.fixture(params=["calibrated", "lbpl-ntm"])
def job(request: pytest.FixtureRequest, client: TestClient, database: Database, settings: Settings) -> str:
    """Address of a succeeded job over the corpus with copies."""
    corpus = new_corpus(client)
    rows = corpus_with_copies()
    n_texts = len(jobs.rows()) - 1  # one is blank
    assert send(client, corpus, lines(*rows)).json()["copies"] == len(rows) - 2 - n_texts
    submit = jobs.submit_calibrated if request.param == "calibrated" else jobs.submit
    job_id, unit_ids = submit(database, corpus[-36:])
    jobs.run_to_the_end(database, settings, unit_ids)
    assert client.get(f"/v1/jobs/{job_id}").json()["status"] == "succeeded"
    return f"/v1/jobs/{job_id}"


def test_equal_texts_have_equal_answers_to_the_bit_and_copies_of_labeled_ones_their_label(
    client: TestClient, job: str
) -> None:
    rows = {row["key"]: row for row in corpus_with_copies()}
    documents = {found["key"]: found for found in pages(client, f"{job}/documents", "documents", limit=7)}
    assert set(documents) == {key for key, row in rows.items() if row["label"] is None}
    for key, document in documents.items():
        original, _, kind = key.partition(" ")
        if original == "blank":
            assert (document["copy_of"], document["category"]) == (None, None), "what has no word is no copy"
            continue
        if not kind:
            assert document["copy_of"] is None
            continue
        assert document["copy_of"] == original
        if kind == "again":
            answers = [{**document, **dict.fromkeys(OWN)}, {**documents[original], **dict.fromkeys(OWN)}]
            assert answers[0] == answers[1]
        else:
            assert (document["name"], document["known"]) == (rows[original]["label"], True)
            assert document["probability"] > 0.9


def test_the_audit_lists_both_sides_of_a_contradiction_with_its_reason(client: TestClient, job: str) -> None:
    rows = {row["key"]: row for row in corpus_with_copies()}
    by_copies = {
        found["key"]: found
        for found in pages(client, f"{job}/audit", "documents", limit=2)
        if found["reason"] == "copies"
    }
    wrong = {key for key in rows if key.endswith(" wrong")}
    assert len(wrong) == CONTRADICTED
    assert set(by_copies) == wrong | {key.removesuffix(" wrong") for key in wrong}
    for key, found in by_copies.items():
        others = {"fruit": "metal", "metal": "fruit"}
        assert (found["label"], found["probability"]) == (rows[key]["label"], 0.5)
        assert (found["suggestion"]["name"], found["suggestion"]["probability"]) == (others[found["label"]], 0.5)


@pytest.mark.parametrize("submit", [jobs.submit_calibrated, jobs.submit])
def test_where_all_unlabeled_documents_are_copies_of_labeled_ones_they_have_their_labels(
    client: TestClient, database: Database, settings: Settings, submit: Callable[..., tuple[str, list[int]]]
) -> None:
    corpus = new_corpus(client)
    labeled = [row for row in jobs.rows() if row["label"] is not None]
    send(client, corpus, lines(*labeled, *({**row, "key": f"{row['key']} again", "label": None} for row in labeled)))
    job_id, unit_ids = submit(database, corpus[-36:])
    jobs.run_to_the_end(database, settings, unit_ids)
    assert client.get(f"/v1/jobs/{job_id}").json()["status"] == "succeeded"
    found = client.get(f"/v1/jobs/{job_id}/categories").json()
    names = {category["category"]: category["name"] for category in found["categories"]}
    assert set(names.values()) == {"fruit", "metal"} and found["new_categories"]["number"] == 0
    for document in pages(client, f"/v1/jobs/{job_id}/documents", "documents", limit=50):
        assert names[document["category"]] == document["key"].partition("-")[0]
        assert document["probability"] == 1.0
