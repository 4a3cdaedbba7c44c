"""What the tests of exports share."""

import pytest

from app.core.db import Database
from app.core.tables import Document
from tests.app import rows
from tests.app.exports.documents import documents, fill


@pytest.fixture
def job(database: Database) -> str:
    """Address of a job over seven documents, the last of which is labeled."""
    job_id, _ = rows.submit(database)
    fill(database, documents(6))
    rows.add_results(database, job_id)
    with database.sessions.begin() as session:
        [labeled] = documents(1, key="labeled", label="physics", fields={"year": 1})
        session.add(Document(corpus_id=rows.CORPUS, version=1, **labeled))
    rows.add_draws(database, job_id, chains=2, sweeps=3)
    return f"/v1/jobs/{job_id}"
