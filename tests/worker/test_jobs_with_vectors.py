"""Whole jobs with vectors, over HTTP and leg by leg: brought or made, in few legs or many, and what they answer."""

import json
import random
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.settings import Settings
from app.core.tables import Unit
from sampler.corpus import Array
from tests.embedding.tiny_model import FOLDER
from tests.worker import jobs
from worker.leg import Leg

SUBJECTS = {subject: place for place, subject in enumerate(jobs.SUBJECTS)}
LENGTH = 8
TEXT = " ".join(words.split()[0] for words in jobs.SUBJECTS.values())  # says nothing of the subject


def vector_of(subject: str, number: int) -> list[float]:
    """A vector near that of its subject."""
    noise: Array = 0.2 * np.random.default_rng(number).standard_normal(LENGTH)
    return [round(float(x), 4) for x in np.eye(LENGTH)[SUBJECTS[subject]] + noise]


def send(client: TestClient, *, with_vectors: bool = True, words_tell: bool = True) -> str:
    """A corpus whose documents bring vectors, but for every seventh."""
    lines, dice = [], random.Random(2)
    for number, row in enumerate(jobs.rows()):
        subject = row["key"].partition("-")[0]
        if row["text"].strip() and not words_tell:
            row = {**row, "text": " ".join(dice.choices(" ".join(jobs.SUBJECTS.values()).split(), k=12))}
        brought = with_vectors and subject in SUBJECTS and number % 7
        row["origin"] = ("mail", "forum")[number % 2]
        lines.append(json.dumps({**row, **({"vector": vector_of(subject, number)} if brought else {})}))
    corpus_id = client.post("/v1/corpora", json={"name": "vectors"}).json()["id"]
    answer = client.post(
        f"/v1/corpora/{corpus_id}/documents",
        content="\n".join(lines),
        headers={"Content-Type": "application/x-ndjson"},
    )
    assert answer.status_code == 200, answer.text
    return str(corpus_id)


def submit(client: TestClient, corpus_id: str, **fields: Any) -> dict[str, Any]:
    body = {"corpus_id": corpus_id, "sweeps": 8, "chains": 2, "calibrated": jobs.FEW_ATOMS, **fields}
    answer = client.post("/v1/jobs", json=body)
    assert answer.status_code == 202, answer.text
    return dict(answer.json())


def run(database: Database, settings: Settings, job_id: str) -> int:
    """Run the job to its end; returns the number of legs."""
    with database.readers.begin() as session:
        ready = session.scalars(select(Unit.id).where(Unit.job_id == job_id, Unit.status == "ready")).all()
    n_legs = jobs.run_to_the_end(database, settings, list(ready))
    assert jobs.job(database, job_id).status == "succeeded"
    return n_legs


def test_a_job_uses_the_vectors_that_documents_brought(
    database: Database, settings: Settings, client: TestClient
) -> None:
    job = submit(client, send(client))
    assert job["settings"]["vectors"] == "brought" and job["settings"]["embedding_model"] is None
    run(database, settings, job["id"])
    answer = client.get(f"/v1/jobs/{job['id']}/categories").json()
    assert set(answer["calibration"]["vector_scales"]) == {"known_or_new", "categories"}
    assert any(setting["vectors"] for setting in answer["calibration"]["settings"])


def test_a_job_that_wants_words_alone_has_them(database: Database, settings: Settings, client: TestClient) -> None:
    """The same bytes as those of a job over a corpus without a vector."""
    outcomes = []
    for with_vectors in (True, False):
        job = submit(client, send(client, with_vectors=with_vectors), vectors="none")
        assert job["settings"]["vectors"] is None
        run(database, settings, job["id"])
        outcomes.append(jobs.outcome(database, job["id"]))
    for outcome in outcomes:
        outcome.pop("categories")  # short ids are drawn from the ids of jobs
    assert outcomes[0] == outcomes[1]


def test_the_same_bytes_in_few_legs_or_many(
    database: Database, settings: Settings, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus_id = send(client)
    whole, parts = (submit(client, corpus_id) for _ in range(2))
    few = run(database, settings, whole["id"])
    monkeypatch.setattr(Leg, "is_over", lambda *_: True)  # each leg saves once
    many = run(database, settings, parts["id"])
    assert many > few
    first, second = (jobs.outcome(database, each["id"]) for each in (whole, parts))
    assert first["draws"] == second["draws"] and first["checkpoints"] == second["checkpoints"]
    assert first["answers"] == second["answers"] and first["units"] == second["units"]


def test_vectors_sources_and_descriptions_go_together_and_into_a_job_that_continues(
    database: Database, settings: Settings, client: TestClient
) -> None:
    corpus_id = send(client)
    described = [{"name": "waters", "text": "Danube, Rhine, Volga", "vector": vector_of("river", 500)}]
    assert client.put(f"/v1/corpora/{corpus_id}/descriptions", json={"descriptions": described}).status_code == 200
    job = submit(client, corpus_id, source_field="origin")
    run(database, settings, job["id"])
    arrived = {"key": "late", "text": TEXT, "vector": vector_of("metal", 600), "origin": "mail"}
    headers = {"Content-Type": "application/x-ndjson"}
    client.post(f"/v1/corpora/{corpus_id}/documents", content=json.dumps(arrived), headers=headers)
    later = client.post(f"/v1/jobs/{job['id']}/continue", json={})
    assert later.status_code == 202, later.text
    run(database, settings, later.json()["id"])
    for each in (job, later.json()):
        told = client.get(f"/v1/jobs/{each['id']}/categories").json()
        assert told["calibration"]["vector_scales"] is not None
        assert [fits["name"] for fits in told["descriptions"]] == ["waters"]
        assert [category["name"] for category in told["categories"]][2] == "waters"
        assert client.get(f"/v1/jobs/{each['id']}/sources").json()["field"] == "origin"


def test_new_documents_are_answered_by_their_vectors(
    database: Database, settings: Settings, client: TestClient
) -> None:
    job = submit(client, send(client, words_tell=False))
    run(database, settings, job["id"])
    rows = [
        {"key": subject, "text": TEXT, "vector": vector_of(subject, 900 + place)} for subject, place in SUBJECTS.items()
    ]
    rows.append({"key": "none", "text": TEXT})
    answer = client.post(
        f"/v1/jobs/{job['id']}/categorize",
        content="\n".join(map(json.dumps, rows)),
        headers={"Content-Type": "application/x-ndjson"},
    )
    assert answer.status_code == 200, answer.text
    told = answer.json()
    assert any("1 document has no vector" in warning for warning in told["warnings"])
    assert len({each["probability"] for each in told["documents"]}) > 1, "one text with different vectors"


def test_a_service_with_an_embedding_model_makes_the_vectors(
    database: Database, settings: Settings, client: TestClient
) -> None:
    """In a whole job; and of new documents, which have no vector then."""
    able = jobs.with_changes(settings, embedding_model_folder=FOLDER)
    client.app.state.settings = able  # type: ignore[attr-defined]
    job = submit(client, send(client, with_vectors=False))
    assert job["settings"]["vectors"] == "made" and len(job["settings"]["embedding_model"]) == 64
    run(database, able, job["id"])
    answer = client.get(f"/v1/jobs/{job['id']}/categories").json()
    assert answer["calibration"]["vector_scales"] is not None
    told = client.post(
        f"/v1/jobs/{job['id']}/categorize",
        content=json.dumps({"key": "new", "text": f"{TEXT} and something else"}),
        headers={"Content-Type": "application/x-ndjson"},
    ).json()
    assert not any("vector" in warning for warning in told["warnings"])
    assert told["documents"][0]["category"] is not None
