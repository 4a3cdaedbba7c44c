"""Jobs that have ended, as real legs leave them: made once a process, in it, without workers to be waited for."""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import select
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.schema import migrate
from app.core.settings import Settings
from app.core.tables import Unit
from app.http.main import create_app
from tests.browser.services import Service
from worker import runner

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"
N_LABELED, N_UNLABELED = 240, 360  # documents of the sample
SMALL = {"sweeps": 60, "chains": 2, "seed": 7, "calibrated": {"n_atoms": 60, "n_atom_sweeps": 10}}
MONTH = re.compile(r"(\d\d)(\d\d)\.?\d{3}")  # in the key of a paper of arXiv


class Finished(NamedTuple):
    """A service with a job that has succeeded, over a part of the sample corpus; its documents have a field `date`."""

    service: Service
    corpus: str  # its id
    job: str  # its id


def make_finished(folder: Path) -> tuple[str, str]:
    """Run a job over a part of the sample in an empty data folder; returns the ids of the corpus and of the job."""
    settings = Settings(data_folder=folder, trusted_hosts="testserver")
    migrate(settings.database)
    app = create_app(settings)
    with TestClient(app) as client:
        corpus_id = str(well(client.post("/v1/corpora", json={"name": "arXiv sample"}))["id"])
        documents = [*sample("labeled.ndjson", N_LABELED), *sample("unlabeled.ndjson", N_UNLABELED)]
        well(
            client.post(
                f"/v1/corpora/{corpus_id}/documents",
                content="\n".join(map(json.dumps, documents)),
                headers={"Content-Type": "application/x-ndjson"},
            )
        )
        job = well(client.post("/v1/jobs", json={"corpus_id": corpus_id, "name": "sample", **SMALL}))
        run_to_the_end(app.state.database, settings)
        assert well(client.get(f"/v1/jobs/{job['id']}"))["status"] == "succeeded"
    return corpus_id, str(job["id"])


def well(response: Any) -> Any:
    """The body of an answer to a request that must succeed."""
    assert response.is_success, response.text
    return response.json()


def sample(name: str, n: int) -> list[dict[str, Any]]:
    """The first documents of a file of the sample, each with the month that its key tells."""
    lines = (EXAMPLES / name).read_text(encoding="utf-8").splitlines()[:n]
    return [{**document, "date": month_of(document["key"])} for document in map(json.loads, lines)]


def month_of(key: str) -> str:
    """The month of a paper, as in 2013-08."""
    found = MONTH.search(key)
    assert found is not None, key
    year, month = found.groups()
    return f"{'19' if year > '90' else '20'}{year}-{month}"


def run_to_the_end(database: Database, settings: Settings) -> None:
    """Run legs as workers would, until none is left."""
    while True:
        with database.readers.begin() as session:
            ready = session.scalars(select(Unit.id).where(Unit.status == "ready").order_by(Unit.id)).all()
        if not ready:
            return
        for unit_id in ready:
            runner.run(database, settings, unit_id, lambda: False)
