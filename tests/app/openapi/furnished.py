"""A service with one of everything: a job with results, its corpus, a model, a comparison; and things to spend."""

import uuid
from typing import Any, NamedTuple

from sqlalchemy import insert, update
from starlette.testclient import TestClient

from app.core import presence
from app.core.db import Database
from app.core.settings import Settings
from app.core.tables import Corpus, Document, Job
from app.schemas.common import CORPUS_ID
from tests.app import rows
from tests.worker import jobs
from tests.worker.splits import CALIBRATED, KNOWN, gold_rows, run_all

# What an operation that ends, changes or deletes something is given anew each time.
OF_QUEUED_JOBS = {"change_job", "cancel_job", "pause_job"}
OF_PAUSED_JOBS = {"resume_job"}
OF_ENDED_JOBS = {"delete_job", "extend_job", "apply_labels", "test_power"}
OF_SIDE_RUNS = {"cancel_side_run", "pause_side_run", "resume_side_run"}
OF_COMPARISONS = {"cancel_comparison", "delete_comparison"}
OF_CORPORA = {
    *("delete_corpus", "rename_corpus", "put_vectors", "delete_vectors", "delete_documents", "delete_document"),
    *("change_documents", "change_document", "upload_documents", "delete_description", "put_descriptions"),
}
KEYS = ("paper-1", "paper-2", "paper-812")  # of the examples of the OpenAPI document
DESCRIPTIONS = [{"name": "refunds", "text": "danube rhine volga"}]


class Furnished(NamedTuple):
    """The service, and the ids of what is in it."""

    client: TestClient
    database: Database
    corpus_id: str
    job_id: str
    model_id: str
    comparison_id: str

    @property
    def ids(self) -> dict[str, str]:
        """By the names of parameters."""
        return {name: str(getattr(self, name)) for name in ("corpus_id", "job_id", "model_id", "comparison_id")}

    def spare(self, operation: str) -> dict[str, str]:
        """Ids of things that an operation may change or delete without harm to the others."""
        if operation in OF_QUEUED_JOBS | OF_PAUSED_JOBS | OF_ENDED_JOBS:
            return {"job_id": self.spare_job(operation)}
        if operation in OF_SIDE_RUNS:
            return {"job_id": self.job_with_side_run(operation)}
        if operation in OF_COMPARISONS:
            return {"comparison_id": compare(self.client)}
        if operation in OF_CORPORA:
            return {"corpus_id": self.spare_corpus()}
        if operation == "delete_model":
            return {"model_id": import_model(self.client, self.job_id)}
        return {}

    def spare_corpus(self) -> str:
        """A corpus of a few documents, with a description."""
        corpus_id = str(uuid.uuid4())
        add_corpus(self.database, corpus_id, [{"key": key, "text": "apple pear", "label": None} for key in KEYS])
        made(self.client.put(f"/v1/corpora/{corpus_id}/descriptions", json={"descriptions": DESCRIPTIONS}))
        return corpus_id

    def spare_job(self, operation: str) -> str:
        """A job of a few rows: queued, paused, or with results."""
        job_id, _ = rows.submit(self.database)
        if operation in OF_ENDED_JOBS:
            rows.add_draws(self.database, job_id, chains=2, sweeps=3)
            rows.add_results(self.database, job_id)
            rows.end(self.database, job_id)
        elif operation in OF_PAUSED_JOBS:
            with self.database.sessions.begin() as session:
                session.execute(update(Job).where(Job.id == job_id).values(status="paused"))
        return job_id

    def job_with_side_run(self, operation: str) -> str:
        """A job that is being extended, or would be if that were not paused."""
        job_id = self.spare_job("extend_job")
        made(self.client.post(f"/v1/jobs/{job_id}/extend", json={"sweeps": 5}))
        if operation == "resume_side_run":
            made(self.client.post(f"/v1/jobs/{job_id}/extension/pause"))
        return job_id


def furnish(client: TestClient, database: Database, settings: Settings) -> Furnished:
    """Put one of everything into an empty database; the comparison's corpus has the id of the examples."""
    job_id = jobs.finished(database, settings, jobs.submit_calibrated, text={"min_document_frequency": 1})
    corpus_id = made(client.get(f"/v1/jobs/{job_id}"))["corpus_id"]
    add_documents(database, corpus_id, [{"key": key, "text": "danube rhine", "label": None} for key in KEYS])
    add_corpus(database, CORPUS_ID, gold_rows())
    comparison_id = compare(client)
    made(client.post(f"/v1/jobs/{job_id}/power-test", json={"replicates": 20}))
    run_all(database, settings)
    made(client.put(f"/v1/corpora/{corpus_id}/descriptions", json={"descriptions": DESCRIPTIONS}))
    with database.sessions.begin() as session:
        presence.record(session, "worker-1")  # else the service is not ready
    return Furnished(client, database, corpus_id, job_id, import_model(client, job_id), comparison_id)


def add_corpus(database: Database, corpus_id: str, documents: list[dict[str, Any]]) -> None:
    """A corpus of some documents."""
    with database.sessions.begin() as session:
        session.add(Corpus(id=corpus_id, name="corpus", version=1))
    add_documents(database, corpus_id, documents)


def add_documents(database: Database, corpus_id: str, documents: list[dict[str, Any]]) -> None:
    """Some documents of the first version."""
    with database.sessions.begin() as session:
        session.execute(insert(Document), [{"corpus_id": corpus_id, "version": 1, **each} for each in documents])


def compare(client: TestClient) -> str:
    """The id of a new comparison of methods."""
    body = {"corpus_id": CORPUS_ID, "methods": [CALIBRATED], "splits": 1, "seed": 3, "known": KNOWN}
    return str(made(client.post("/v1/comparisons", json=body))["id"])


def import_model(client: TestClient, job_id: str) -> str:
    """The id of a job's model that was exported and imported again."""
    file = client.get(f"/v1/jobs/{job_id}/model").content
    headers = {"Content-Type": "application/octet-stream"}
    return str(made(client.post("/v1/models", content=file, headers=headers))["id"])


def made(answer: Any) -> Any:
    """What a request that must be well is answered."""
    assert answer.status_code < 300, answer.text
    return answer.json()
