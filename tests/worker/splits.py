"""A corpus all of whose documents bear a label, and comparisons of methods over it."""

from pathlib import Path
from typing import Any

from sqlalchemy import select

from app.core import method_comparisons
from app.core.db import Database
from app.core.method_comparisons import Planned
from app.core.settings import Settings
from app.core.tables import Job, Unit
from app.schemas.job_settings import JobIn
from tests.worker import jobs

KNOWN = ["fruit", "metal"]
LBPL = {"model": "lbpl-ntm", "sweeps": 12, "chains": 2, "hyperparameters": jobs.FEW_TOPICS}
CALIBRATED = {"model": "calibrated", "sweeps": 12, "chains": 2, "calibrated": jobs.FEW_ATOMS}


def gold_rows() -> list[dict[str, Any]]:
    """Documents of three subjects, each with its subject as its label, and one without a word or a label."""
    rows = jobs.rows()
    return [{**row, "label": None if row["key"] == "blank" else row["key"].partition("-")[0]} for row in rows]


def settings_of(method: dict[str, Any]) -> dict[str, Any]:
    """The settings of a job in full."""
    return JobIn(corpus_id="", **method).settings()


def compare(database: Database, corpus_id: str, *methods: dict[str, Any], splits: int = 1) -> list[list[Job]]:
    """Queue a comparison; returns its jobs by method and split."""
    named = [(f"method {number}", settings_of(method)) for number, method in enumerate(methods)]
    with database.sessions.begin() as session:
        planned = Planned(named, splits, 3, KNOWN, 0.4, 3)
        return method_comparisons.submit(session, corpus_id, "gold", planned).jobs


def run_all(database: Database, settings: Settings) -> None:
    """Run all jobs to the end."""
    with database.readers.begin() as session:
        ready = session.scalars(select(Unit.id).where(Unit.status == "ready").order_by(Unit.id)).all()
    jobs.run_to_the_end(database, settings, list(ready))


def other_settings(settings: Settings, folder: Path) -> Settings:
    """Settings of a service that keeps its files elsewhere."""
    folder.mkdir()
    return settings.model_copy(update={"data_folder": folder})
